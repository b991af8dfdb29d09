/** The log in memory: the library's default, and the reference the store contract is written against. */
import type { LogEntry, LogStore } from "../hub/store.ts";
import { type RandomBytes, systemRandom } from "../protocol/ids.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export interface MemoryStoreOptions {
  readonly random?: RandomBytes;
  /** Most entries kept; the oldest go first. */
  readonly most?: number;
}

export function createMemoryStore({
  random = systemRandom,
  most = 100_000,
}: MemoryStoreOptions = {}): LogStore {
  const entries: LogEntry[] = [];
  const bytes = random(10);
  const epoch = Array.from(bytes.subarray(0, 6), (byte) => DIGITS[byte % 62]).join("");
  const key = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6);
  return {
    identity: { epoch, key },
    async append(added) {
      for (const entry of added) entries.push(entry);
      if (entries.length > most * 1.25) entries.splice(0, entries.length - most);
    },
    async *read(from) {
      for (const entry of [...entries]) if (entry.seq >= from) yield entry;
    },
  };
}
