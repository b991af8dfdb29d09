/**
 * The log on disk: one append-only sequence in segment files, synced in groups. Acknowledged means on disk: `append`
 * resolves after fdatasync, and everything that arrived meanwhile shares the next one. One process writes at a time.
 */
import { join } from "node:path";
import type { LogStore } from "../../hub/store.ts";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type RandomBytes, systemRandom } from "../../protocol/ids.ts";
import { Followers } from "../followers.ts";
import { type FilePort, nodeFiles, replaceFile } from "./file-port.ts";
import { identify } from "./identity.ts";
import { lockDirectory, type ProcessMark, processMark } from "./lock.ts";
import { readEntries } from "./reading.ts";
import { CLOSED, recover } from "./recover.ts";
import { type Compaction, type Retention, removable } from "./retention.ts";
import { type LogRecord, recordOf, recordsAhead } from "./segment.ts";
import { repairTail, SegmentWriter } from "./writer.ts";

/** Options of `openEmbeddedStore`. */
export interface EmbeddedStoreOptions {
  readonly directory: string;
  /** What may go, and when; without it everything is kept. */
  readonly retain?: Retention;
  /** "sync": acknowledged means on disk. "none": acknowledged means handed to the system; a power cut may lose it. */
  readonly durability?: "sync" | "none";
  /** A new segment is begun beyond this size: 64 MiB, or an eighth of what `retain` allows. */
  readonly segment_bytes?: number;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Sentences for whoever operates the agent; console.warn by default. */
  readonly warn?: (sentence: string) => void;
  /** Called once if the log cannot be written any more: nothing further is acknowledged, so the process should end. */
  readonly failed?: (error: EarshotError) => void;
  readonly files?: FilePort;
  readonly processMark?: ProcessMark;
}

/** A log on disk. Pass it to `createProducer({ store })`. */
export interface EmbeddedStore extends LogStore {
  /** Bytes of an unfinished write that were cut off on opening, and kept in a file beside the log. */
  readonly torn_bytes: number;
  /** Removes what may go now. It also happens by itself, where `retain` asks for it. */
  compact(): Promise<Compaction>;
  /** Waits for what is under way. Opening again is quicker and stricter after this. */
  close(): Promise<void>;
}

interface Waiting {
  /** Absent where there is nothing to write: then it waits for its turn only. */
  readonly record: LogRecord | undefined;
  readonly compact: ((done: Compaction) => void) | undefined;
  /** The position of its first entry. */
  readonly first: number;
  resolve(first: number): void;
  reject(error: unknown): void;
}

const MIB = 1024 * 1024;
/** Less than this is not worth dividing. */
const GROUP_BYTES = 64 * 1024;

/** Opens the log in a directory for writing, and repairs an unfinished write. One process at a time may hold it. */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, retain, files = nodeFiles, clock = systemClock, random = systemRandom } = options;
  const { durability = "sync", warn = (sentence: string) => console.warn(sentence) } = options;
  const { segment_bytes = Math.min(64 * MIB, Math.max(MIB, Math.floor((retain?.bytes ?? 512 * MIB) / 8))) } =
    options;
  const sync = durability === "sync";
  const unlock = await files
    .ensureDirectory(directory)
    .then(() => lockDirectory(directory, files, options.processMark ?? processMark))
    .catch((error: Error) => {
      throw error instanceof EarshotError ? error : cannotKeep(directory, error);
    });
  const { ledger, torn, identity, writer } = await prepare().catch(async (error) => {
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
      ledger: found.ledger,
      segment_bytes,
      segment_ms: (retain?.age_ms ?? Number.POSITIVE_INFINITY) / 8,
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
  /** The entry that must come next, what is still on its way included. */
  let expected = ledger.last === 0 ? undefined : ledger.last + 1;
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
   * What is written together: up to the next compaction, which wants the log for itself. Of much, only half: it is handed
   * on to listeners while the other half is being made safe.
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

  /** After a failed write or sync nothing is known about the file any more: stop acknowledging for good (F03, F04). */
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
      if (retain && writer.hasBegunSegment() && failure === undefined) compactSoon();
    }
    writing = undefined;
  }

  /** Live facts are written again at the end, safely, before the files they were in go. */
  async function compactNow(): Promise<Compaction> {
    const now = Date.parse(clock.timestamp());
    const plan = (what: Retention) => {
      const { segments, held_by } = removable(ledger, what, now);
      const kept = ledger.segments[segments.length]?.first ?? 0;
      const ahead = segments.length > 0 ? recordsAhead(kept, ledger.factsBefore(kept)) : [];
      return { segments, held_by, ahead };
    };
    let chosen = plan(retain ?? {});
    // Where most of it still counts, writing it again would make no room, and would not end.
    const rewritten = chosen.ahead.reduce((sum, { text }) => sum + text.length, 0);
    const removed = chosen.segments.reduce((sum, { size }) => sum + size, 0);
    if (rewritten * 2 > removed) chosen = plan({ ...retain, bytes: Number.POSITIVE_INFINITY });
    const { segments, held_by, ahead } = chosen;
    if (segments.length === 0) return { removed: 0, held_by };
    // One at a time: together they may be more than a segment takes.
    for (const record of ahead) await writer.write([record]);
    for (const { name } of segments) {
      await files.remove(join(directory, name));
      ledger.segments.shift();
    }
    await files.syncDirectory(directory);
    return { removed: segments.length, held_by };
  }

  const compact = async (): Promise<Compaction> => {
    let result: Compaction = { removed: 0, held_by: [] };
    const done = (compaction: Compaction) => {
      result = compaction;
    };
    await put(undefined, done);
    return result;
  };
  // A failure to remove is a failure of the log, and everyone who appends hears of it.
  const compactSoon = (): void => void compact().catch(() => undefined);

  /** The age of what is kept grows while nothing is written. */
  function watchAge(): void {
    if (retain?.age_ms === undefined || closing) return;
    cancelTimer = clock.timer(clock.now() + Math.min(retain.age_ms / 8, 3_600_000), () => {
      compactSoon();
      watchAge();
    });
  }
  if (retain) compactSoon();
  watchAge();

  async function closeNow(): Promise<void> {
    cancelTimer?.();
    await writing;
    followers.clear();
    try {
      await writer.close();
      const last = ledger.segments.at(-1);
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
    torn_bytes: torn?.bytes ?? 0,
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
    recent: () => ledger.latest(),
    follow: (from, receive) => followers.add(from, receive, ledger.recent),
    read: (from) => readEntries({ directory, files, ledger, from, ready: () => writing }),
    facts: (kind) => ledger.facts(kind),
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

const cannotKeep = (directory: string, cause: Error): EarshotError =>
  new EarshotError(
    "log_unwritable",
    `No log can be kept in ${directory}: ${cause.message}. Name a directory that this process may write to.`,
    { cause },
  );

const cannotWrite = (directory: string, cause: Error): EarshotError =>
  new EarshotError(
    "log_failed",
    `The log in ${directory} cannot be written any more: ${cause.message} Nothing further is acknowledged; fix the disk and start again.`,
    { cause },
  );

/** A log with a hole could not be opened again: better to refuse it now. */
const outOfOrder = (seq: number, expected: number): EarshotError =>
  new EarshotError(
    "log_out_of_order",
    `Entry ${seq} was to be appended where ${expected} comes next. Go on after the newest entry that read() gives.`,
  );
