/** The port behind the log: something that keeps entries and says when they are safe. */
import type { LogEntry, LogIdentity } from "../delivery/entry.ts";

export type { LogEntry, LogIdentity };

export interface LogStore {
  readonly identity: LogIdentity;
  /** Resolves once the entries are kept. Calls are made in order and answered in order. */
  append(entries: readonly LogEntry[]): Promise<void>;
  /** Everything kept from a place on. */
  read(from: number): AsyncIterable<LogEntry>;
}
