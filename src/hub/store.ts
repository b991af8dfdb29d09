/** The port behind the log: something that keeps entries and facts, and says when they are safe. */
import type { LogEntry, LogIdentity } from "../delivery/entry.ts";

export type { LogEntry, LogIdentity };

/**
 * What must outlive the process and is no event: a question and its token, a reply, a grant, an intent, a subscription,
 * an entry of the record. The newest value of a kind and key counts; `null` removes it.
 */
export interface Fact {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
}

export interface LogStore {
  readonly identity: LogIdentity;
  /** What it keeps outlives the process: an agent that is stopped leaves things open for the next one. */
  readonly durable?: boolean;
  /**
   * Resolves once entries and facts are kept: all of one call or none of it. Calls are made in order and answered in
   * order.
   */
  append(entries: readonly LogEntry[], facts?: readonly Fact[]): Promise<void>;
  /** The newest entries it holds, oldest first, without holes: what a hub that starts here goes on from. */
  recent(): readonly LogEntry[];
  /** Everything kept from a place on. */
  read(from: number): AsyncIterable<LogEntry>;
  /** The acknowledged facts of a kind that have not been removed, each key where it was first written. */
  facts(kind: string): readonly Fact[];
}
