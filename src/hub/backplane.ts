/**
 * The port between the log and whoever delivers from it: it carries entries from where they were appended to every hub
 * that has listeners.
 *
 * One engine in memory is all that one process needs. One that joins several processes has to know three things. It
 * carries what the store has acknowledged, so it may forget: whoever missed something reads it from the store by its
 * place in the log. Only one process appends at a time, because places have no holes. And a person's answer may arrive
 * where the question was not asked: it must be carried to the hub that asked, or the store must take an answer only if
 * there is none yet, in one step. Today each question lives in one hub, which settles it once; see questions.ts.
 */
import type { LogEntry } from "../delivery/entry.ts";

export type { LogEntry };

export interface Backplane {
  /**
   * Hands on what the store has acknowledged, in the order of the log. It gives back nothing to wait for and does not
   * throw: what is acknowledged is true, whoever hears of it.
   */
  announce(entries: readonly LogEntry[]): void;
  /**
   * From here on `hear` gets every entry once, in order. What one listener throws touches neither the others nor what
   * it hears next. Gives back how to stop.
   */
  listen(hear: (entries: readonly LogEntry[]) => void): () => void;
  /** Nobody hears anything any more. */
  close(): Promise<void>;
}
