/** The store in memory: the default, and the reference for the store contract. Also the fan-out that all stores share. */
import type { Fact, LogEntry, LogStore } from "../hub/store.ts";
import { type RandomBytes, systemRandom } from "../protocol/platform.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export interface MemoryStoreOptions {
  readonly random?: RandomBytes;
  /** Most entries kept; the oldest are removed first. */
  readonly most?: number;
}

export function createMemoryStore({
  random = systemRandom,
  most = 100_000,
}: MemoryStoreOptions = {}): LogStore {
  const entries: LogEntry[] = [];
  const kinds = new Map<string, Map<string, Fact>>();
  const followers = new Followers();
  const bytes = random(10);
  const epoch = Array.from(bytes.subarray(0, 6), (byte) => DIGITS[byte % 62]).join("");
  const key = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6);
  return {
    identity: { epoch, key },
    async append(added, facts = []) {
      const first = added[0]?.seq ?? (entries.at(-1)?.seq ?? 0) + 1;
      for (const fact of facts) keep(kinds, fact);
      for (const entry of added) entries.push(entry);
      // A quarter at a time: moving the array on every append would cost more than it saves.
      if (entries.length > most * 1.25) entries.splice(0, entries.length - most);
      // Asynchronous like every store: the caller of append continues before the entry is delivered.
      await undefined;
      followers.publish(added);
      return first;
    },
    recent: () => [...entries],
    follow: (from, receive) => followers.add(from, receive, entries),
    async *read(from) {
      for (const entry of [...entries]) if (entry.seq >= from) yield entry;
    },
    facts: (kind) => [...(kinds.get(kind)?.values() ?? [])],
  };
}

function keep(kinds: Map<string, Map<string, Fact>>, fact: Fact): void {
  const kind = kinds.get(fact.kind) ?? new Map<string, Fact>();
  kinds.set(fact.kind, kind);
  if (fact.value === null) kind.delete(fact.key);
  else kind.set(fact.key, fact);
}

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
