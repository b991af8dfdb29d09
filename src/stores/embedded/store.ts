/**
 * The store on disk: an append-only log in segment files, with group commit. Acknowledged means on disk: `append`
 * resolves after fdatasync, and everything that arrived meanwhile shares the next one. One process writes at a time.
 */
import { join } from "node:path";
import type { LogIdentity, LogStore } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type Clock, type RandomBytes, systemClock, systemRandom } from "../../protocol/platform.ts";
import { Followers } from "../memory.ts";
import { type FilePort, nodeFiles, readText, replaceFile } from "./file-port.ts";
import { lockDirectory, type ProcessMark, processMark } from "./lock.ts";
import { CLOSED, type LogIndex, readEntries, recover, type Segment } from "./log-index.ts";
import { type LogRecord, recordOf, recordsAhead, repairTail, SegmentWriter } from "./segment.ts";

/** Options of `openEmbeddedStore`. */
export interface EmbeddedStoreOptions {
  readonly directory: string;
  /** What may be removed, and when; by default everything is kept. */
  readonly retain?: Retention;
  /** "sync": acknowledged means on disk. "none": acknowledged means passed to the system; a power cut may lose it. */
  readonly durability?: "sync" | "none";
  /** A new segment starts beyond this size: 64 MiB, or an eighth of what `retain` allows. */
  readonly segmentBytes?: number;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Receives warnings for the operator; console.warn by default. */
  readonly warn?: (sentence: string) => void;
  /** Called once if the log can no longer be written: nothing more is acknowledged, so the process should exit. */
  readonly failed?: (error: EarshotError) => void;
  readonly files?: FilePort;
  readonly processMark?: ProcessMark;
}

/** A log on disk. Pass it to `createProducer({ store })`. */
export interface EmbeddedStore extends LogStore {
  /** Bytes of an unfinished write that were cut off on opening, and saved in a file next to the log. */
  readonly tornBytes: number;
  /** Removes what `retain` allows now. Also happens automatically. */
  compact(): Promise<Compaction>;
  /** Waits for writes in progress. Opening is faster and stricter after an orderly close. */
  close(): Promise<void>;
}

export interface Retention {
  /** Segments older than this may be removed. */
  readonly ageMs?: number;
  /** Beyond this size the oldest segments are removed. */
  readonly bytes?: number;
}

export interface Compaction {
  /** How many files were removed. */
  readonly removed: number;
  /** Open sessions that keep the next file that was due. */
  readonly heldBy: readonly string[];
}

interface Waiting {
  /** Absent if there is nothing to write: then it only waits for its turn. */
  readonly record: LogRecord | undefined;
  readonly compact: ((done: Compaction) => void) | undefined;
  /** The position of its first entry. */
  readonly first: number;
  resolve(first: number): void;
  reject(error: unknown): void;
}

const MIB = 1024 * 1024;
/** Smaller groups are not split. */
const GROUP_BYTES = 64 * 1024;

/** Opens the log in a directory for writing, and repairs an unfinished write. One process at a time may hold it. */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, retain, files = nodeFiles, clock = systemClock, random = systemRandom } = options;
  const { durability = "sync", warn = (sentence: string) => console.warn(sentence) } = options;
  const { segmentBytes = Math.min(64 * MIB, Math.max(MIB, Math.floor((retain?.bytes ?? 512 * MIB) / 8))) } =
    options;
  const sync = durability === "sync";
  const unlock = await files
    .ensureDirectory(directory)
    .then(() => lockDirectory(directory, files, options.processMark ?? processMark))
    .catch((error: Error) => {
      throw error instanceof EarshotError ? error : cannotOpen(directory, error);
    });
  const { index, torn, identity, writer } = await prepare().catch(async (error) => {
    await unlock();
    throw error;
  });

  async function prepare() {
    const found = await recover(directory, files);
    const identity = await identify(directory, files, random);
    await files.remove(join(directory, CLOSED));
    await files.syncDirectory(directory);
    const sentence = await repairTail(directory, files, found);
    if (sentence !== undefined) warn(sentence);
    const writer = new SegmentWriter({
      directory,
      files,
      index: found.index,
      segmentBytes,
      segmentMs: (retain?.ageMs ?? Number.POSITIVE_INFINITY) / 8,
      sync,
      wallTime: () => Date.parse(clock.timestamp()),
    });
    await writer.open(found.torn?.header === true);
    return { ...found, identity, writer };
  }

  const followers = new Followers();
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let failure: EarshotError | undefined;
  let closing: Promise<void> | undefined;
  /** The position that must come next, queued writes included. */
  let expected = index.last === 0 ? undefined : index.last + 1;
  let cancelTimer: (() => void) | undefined;

  function put(
    record: LogRecord | undefined,
    compact?: Waiting["compact"],
    first = expected ?? 1,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      waiting.push({ record, compact, first, resolve, reject });
      writing ??= Promise.resolve().then(writeAll);
    });
  }

  /**
   * The next group commit: up to the next compaction, which runs alone. Of a long queue only half, so that one half is
   * delivered while the other is being synced.
   */
  function nextGroup(): Waiting[] {
    const most = Math.max(
      GROUP_BYTES,
      waiting.reduce((sum, { record }) => sum + (record?.text.length ?? 0), 0) / 2,
    );
    let size = 0;
    let count = 0;
    for (const { record, compact } of waiting) {
      if (count > 0 && (compact || size > most)) break;
      count++;
      if (compact) break;
      size += record?.text.length ?? 0;
    }
    const group = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return group;
  }

  /** After a failed write or sync the state of the file is unknown: nothing is acknowledged any more (F03, F04). */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const group = nextGroup();
      try {
        if (failure !== undefined) throw failure;
        const [first] = group;
        if (first?.compact) first.compact(await compactNow());
        else await writer.write(recordsIn(group));
        for (const one of group) {
          if (one.record) followers.publish(one.record.batch.entries);
          one.resolve(one.first);
        }
      } catch (error) {
        const first = failure === undefined;
        failure ??= cannotWrite(directory, error as Error);
        for (const one of group) one.reject(failure);
        if (first) options.failed?.(failure);
      }
      if (retain && writer.hasStartedSegment() && failure === undefined) compactSoon();
    }
    writing = undefined;
  }

  /** Rewrites current facts at the end before it removes the files they were in. */
  async function compactNow(): Promise<Compaction> {
    const now = Date.parse(clock.timestamp());
    const plan = (what: Retention) => {
      const { segments, heldBy } = removable(index, what, now);
      const kept = index.segments[segments.length]?.first ?? 0;
      const ahead = segments.length > 0 ? recordsAhead(kept, index.factsBefore(kept)) : [];
      return { segments, heldBy, ahead };
    };
    let chosen = plan(retain ?? {});
    // If most facts are current, rewriting them would free no space and never end.
    const rewritten = chosen.ahead.reduce((sum, { text }) => sum + text.length, 0);
    const removed = chosen.segments.reduce((sum, { size }) => sum + size, 0);
    if (rewritten * 2 > removed) chosen = plan({ ...retain, bytes: Number.POSITIVE_INFINITY });
    const { segments, heldBy, ahead } = chosen;
    if (segments.length === 0) return { removed: 0, heldBy };
    // One at a time: together they may exceed a segment.
    for (const record of ahead) await writer.write([record]);
    for (const { name } of segments) {
      await files.remove(join(directory, name));
      index.segments.shift();
    }
    await files.syncDirectory(directory);
    return { removed: segments.length, heldBy };
  }

  const compact = async (): Promise<Compaction> => {
    let result: Compaction = { removed: 0, heldBy: [] };
    const done = (compaction: Compaction) => {
      result = compaction;
    };
    await put(undefined, done);
    return result;
  };
  // A failed removal fails the log, so later appends are rejected.
  const compactSoon = (): void => void compact().catch(() => undefined);

  /** Segments age even while nothing is written. */
  function scheduleCompaction(): void {
    if (retain?.ageMs === undefined || closing) return;
    cancelTimer = clock.timer(clock.now() + Math.min(retain.ageMs / 8, 3_600_000), () => {
      compactSoon();
      scheduleCompaction();
    });
  }
  if (retain) compactSoon();
  scheduleCompaction();

  async function closeNow(): Promise<void> {
    cancelTimer?.();
    await writing;
    followers.clear();
    try {
      await writer.close();
      const last = index.segments.at(-1);
      if (last && failure === undefined) {
        const closed = Buffer.from(JSON.stringify({ segment: last.name, size: last.size }));
        await replaceFile(files, directory, join(directory, CLOSED), closed);
      }
    } finally {
      await unlock();
    }
  }

  const isClosed = () => new EarshotError("log_closed", "The log has been closed.");
  return {
    identity,
    durable: true,
    tornBytes: torn?.bytes ?? 0,
    append(entries, facts = []) {
      if (closing) return Promise.reject(isClosed());
      let next = expected;
      for (const { seq } of entries) {
        if (next !== undefined && seq !== next) return Promise.reject(outOfOrder(seq, next));
        next = seq + 1;
      }
      try {
        const record = recordOf(entries, facts);
        const first = entries[0]?.seq ?? expected ?? 1;
        expected = next;
        return put(record, undefined, first);
      } catch (error) {
        return Promise.reject(error as Error);
      }
    },
    recent: () => index.snapshot(),
    follow: (from, receive) => followers.add(from, receive, index.recent),
    read: (from) => readEntries({ directory, files, index, from, ready: () => writing }),
    facts: (kind) => index.facts(kind),
    compact: () => (closing ? Promise.reject(isClosed()) : compact()),
    close() {
      closing ??= closeNow();
      return closing;
    },
  };
}

function recordsIn(group: readonly Waiting[]): LogRecord[] {
  const records: LogRecord[] = [];
  for (const { record } of group) if (record) records.push(record);
  return records;
}

const cannotOpen = (directory: string, cause: Error): EarshotError =>
  new EarshotError(
    "log_unwritable",
    `The log cannot be stored in ${directory}: ${cause.message}. Name a directory that this process may write to.`,
    { cause },
  );

const cannotWrite = (directory: string, cause: Error): EarshotError =>
  new EarshotError(
    "log_failed",
    `The log in ${directory} can no longer be written: ${cause.message} Nothing more is acknowledged; fix the disk and start again.`,
    { cause },
  );

/** A log with a hole could not be opened again, so it is refused now. */
const outOfOrder = (seq: number, expected: number): EarshotError =>
  new EarshotError(
    "log_out_of_order",
    `Entry ${seq} was appended where ${expected} is next. Continue after the newest entry that read() returns.`,
  );

/** The segments that retention allows to remove: from the front, and never one with an open session in it. */
function removable(
  { segments, open, last }: LogIndex,
  { ageMs, bytes }: Retention,
  now: number,
): { segments: Segment[]; heldBy: string[] } {
  let size = segments.reduce((sum, segment) => sum + segment.size, 0);
  const due: Segment[] = [];
  for (const [i, segment] of segments.entries()) {
    const next = segments[i + 1];
    // The newest entry stays, whatever its age: it holds the position at which the log continues.
    if (!next || (segment.lastSeq === last && last !== 0)) break;
    // It was written to until the next one was created.
    const old = ageMs !== undefined && next.header.created <= now - ageMs;
    if (!old && (bytes === undefined || size <= bytes)) break;
    const heldBy = [...open].filter(([, first]) => first <= segment.lastSeq).map(([id]) => id);
    if (heldBy.length > 0) return { segments: due, heldBy };
    due.push(segment);
    size -= segment.size;
  }
  return { segments: due, heldBy: [] };
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const IDENTITY = "identity.json";

interface Kept extends LogIdentity {
  /** The inode of the file when it was written: a copy has another one. */
  readonly inode?: string;
  /** The file's birth time in milliseconds: a log that was deleted and put back may get the same inode. */
  readonly born?: number;
}

/** Some file systems report another time instead, which changes a little while the file is created. */
const SAME_TIME_MS = 10_000;

async function identify(directory: string, files: FilePort, random: RandomBytes): Promise<LogIdentity> {
  const path = join(directory, IDENTITY);
  const kept = await readIdentity(directory, files);
  if (kept) {
    const { inode, born } = await files.stat(path);
    // Written by an older version without the inode: the same log, from now on with it.
    if (kept.inode === undefined) return write(directory, files, kept);
    if (kept.inode === inode && Math.abs(born - (kept.born ?? born)) < SAME_TIME_MS)
      return { epoch: kept.epoch, key: kept.key };
  }
  return renewIdentity(directory, files, random);
}

export function renewIdentity(directory: string, files: FilePort, random: RandomBytes): Promise<LogIdentity> {
  const bytes = random(10);
  const epoch = Array.from(bytes.subarray(0, 6), (byte) => DIGITS[byte % 62]).join("");
  const key = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6);
  return write(directory, files, { epoch, key });
}

export async function readIdentity(directory: string, files: FilePort): Promise<Kept | undefined> {
  const path = join(directory, IDENTITY);
  const text = await readText(files, path);
  if (text === undefined) return undefined;
  try {
    const { epoch, key, inode, born } = JSON.parse(text) as Kept;
    if (/^[A-Za-z0-9]{6}$/.test(epoch) && Number.isInteger(key))
      return {
        epoch,
        key,
        ...(inode === undefined ? {} : { inode }),
        ...(born === undefined ? {} : { born }),
      };
  } catch {
    // Reported below.
  }
  throw new EarshotError(
    "log_damaged",
    `${path} is damaged. Remove it and start again: the log gets a new identity, and listeners are told of a gap.`,
  );
}

async function write(directory: string, files: FilePort, { epoch, key }: LogIdentity): Promise<LogIdentity> {
  await replaceFile(files, directory, join(directory, IDENTITY), ({ inode, born }) =>
    JSON.stringify({ epoch, key, inode, born }),
  );
  return { epoch, key };
}
