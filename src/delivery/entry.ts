/** An entry of the log: one hub-wide sequence of events as the producer emitted them, before shaping. */
import type { AgentEvent } from "../protocol/types.ts";

/** One event in the log, with what delivery needs to know about it. */
export interface LogEntry {
  /** Position in the hub-wide log, from 1, without holes. */
  readonly seq: number;
  /** Its `event_id` is the cursor of this position. Contains the text variants of all languages and verbosities. */
  readonly event: AgentEvent;
  /**
   * Must reach every subscription: where a filter or cognitive load would drop it, it is sent as critical (CON-13,
   * CON-48, CON-74).
   */
  readonly required?: boolean;
  /** Fields other than text that differ by language, per lower-case tag: they replace those of the event (CON-49). */
  readonly localized?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** On a session's first entry: who may receive it; absent means every subscriber. Never sent. */
  readonly audience?: readonly string[];
}

/** Identifies a log: a wiped or restored one has a new epoch. `key` is the key of the checksum in ids. */
export interface LogIdentity {
  /** Six letters or digits. */
  readonly epoch: string;
  readonly key: number;
}
