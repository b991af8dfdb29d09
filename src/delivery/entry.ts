/** What delivery reads: the log, one hub-wide sequence of events as they were said, before any shaping. */
import type { AgentEvent } from "../protocol/types.ts";

export interface LogEntry {
  /** Place in the hub-wide log, from 1, without holes. */
  readonly seq: number;
  /** Its `event_id` is the cursor of this place. Text variants of all languages and verbosities are still in it. */
  readonly event: AgentEvent;
  /** Where a filter or the load would drop it, a copy goes out as critical instead (CON-13, CON-48, CON-74). */
  readonly insist?: boolean;
  /** Fields that are not text and still differ by language, by lower-cased tag: they replace the event's own (CON-49). */
  readonly localized?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** On a session's first entry: who may hear it; absent means everyone who is connected. Never on the wire. */
  readonly audience?: readonly string[];
}

/** Names a log: a wiped or restored one has another epoch, and ids are sealed with its key. */
export interface LogIdentity {
  /** Six letters or digits. */
  readonly epoch: string;
  readonly key: number;
}
