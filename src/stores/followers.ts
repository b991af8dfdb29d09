/** Fan-out from a store to those who follow it, shared by all stores. */
import type { LogEntry } from "../hub/store.ts";

interface Follower {
  readonly receive: (entries: readonly LogEntry[]) => void;
  /** The position it receives next. */
  next: number;
  stopped: boolean;
}

export class Followers {
  #all: readonly Follower[] = [];

  /** `held` are the stored entries in memory. */
  add(from: number, receive: Follower["receive"], held: readonly LogEntry[]): () => void {
    const follower = { receive, next: from, stopped: false };
    deliver(follower, held);
    this.#all = [...this.#all, follower];
    return () => {
      follower.stopped = true;
      this.#all = this.#all.filter((one) => one !== follower);
    };
  }

  publish(entries: readonly LogEntry[]): void {
    if (entries.length === 0) return;
    for (const follower of this.#all) deliver(follower, entries);
  }

  clear(): void {
    for (const follower of this.#all) follower.stopped = true;
    this.#all = [];
  }
}

function deliver(follower: Follower, entries: readonly LogEntry[]): void {
  const [first] = entries;
  const last = entries.at(-1);
  if (follower.stopped || !first || !last || last.seq < follower.next) return;
  // Entries stored but not yet published when it started to follow were delivered then: deduplicate.
  const due = first.seq >= follower.next ? entries : entries.slice(follower.next - first.seq);
  follower.next = last.seq + 1;
  try {
    follower.receive(due);
  } catch {
    // Followers report their own failures. The entries are stored, so the append succeeded.
  }
}
