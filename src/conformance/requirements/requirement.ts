// The type of a requirement, and how many ids each section of AAEP 1.0.0 has.

/** Ids per section, whatever their keyword: `ENV: 40` means that ENV-01 to ENV-40 exist. */
export const ALL_IDS = {
  ENV: 40,
  EVT: 24,
  SEQ: 28,
  HS: 30,
  CAP: 15,
  DEL: 29,
  CNF: 43,
  MAN: 11,
  TRN: 18,
  SSE: 8,
  WS: 7,
  IPC: 11,
  GRPC: 5,
  RPC: 5,
  SEC: 22,
  I18N: 21,
  EXT: 13,
  VER: 10,
  SUB: 20,
  LVL: 11,
  LIM: 9,
} as const;

/** A section of the requirements: the first part of an id. */
export type Section = keyof typeof ALL_IDS;

/** One MUST or MUST NOT of the specification. */
export interface Requirement {
  readonly id: `${Section}-${string}`;
  readonly keyword: "MUST" | "MUST NOT";
  /** Whom it binds: producer, subscriber, both, the transport, an extension's author, a conformance suite. */
  readonly who: "P" | "S" | "B" | "T" | "X" | "suite";
  /** The lowest conformance level at which it binds; null when it belongs to no level. */
  readonly level: 1 | 2 | 3 | null;
  /** How a conforming implementation behaves. Reads the same way for MUST and MUST NOT. */
  readonly text: string;
  /**
   * Sections of the specification; A. and B. are appendices, `sch` a JSON Schema, `suite` upstream's suite, T1 to T8
   * the threats of 10.2.
   */
  readonly source: string;
}
