/** What is wrong with a message, said so that a person can act on it. */

export interface Issue {
  /** JSON Pointer to the place; "" is the message itself. */
  path: string;
  /** Stable, for programs. */
  code: string;
  /** A sentence: what was expected and what was found. */
  message: string;
  /** The requirement or ruling behind it (ENV-09, CON-14, …), where there is one beyond the schema. */
  ruling?: string;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * Something a peer sent, fit to stand in a sentence that ends up in a log or on a terminal: short, on one line, and
 * with control, bidi and other invisible characters written out (A08, A16).
 */
export function quote(text: string, most = 60): string {
  const short = text.length > most ? `${text.slice(0, most - 3)}…` : text;
  return short.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Two kinds of error. One crosses the wire and says only what a peer may know; the other stays here with its cause. */

/** A fault in a message. Its text is safe to send to the peer. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: string;
  readonly issues: readonly Issue[];
  constructor(code: string, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.code = code;
    this.issues = issues;
  }
}

/** A fault on our side or in how the library is used. Never sent to a peer; `code` is stable. */
export class EarshotError extends Error {
  override readonly name = "EarshotError";
  readonly code: string;
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Issues as lines a person can read, for errors and command-line tools. */
export const describeIssues = (issues: readonly Issue[]): string =>
  issues
    .map(
      ({ path, message, ruling }) =>
        `${quote(path, 200) || "message"}: ${message}${ruling ? ` (${ruling})` : ""}`,
    )
    .join("\n");
