/**
 * The format of a segment file: a header, then records, each with its length and a checksum over both. One record is one
 * `append`, so a torn record is dropped as a whole. An incomplete or mismatching record at the very end of the last
 * segment is a write that never finished and was never acknowledged; anywhere else it is damage, which is reported and
 * never skipped (F05).
 */

import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Fact, LogEntry } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, type OpenFile, replaceFile } from "./file-port.ts";
import type { LogIndex, Recovered } from "./log-index.ts";

/** Version 1 had one bare entry per record, and a header without time and number. */
const VERSION = 2;
const MAGIC = Buffer.from("EARSHOT", "latin1");
const OLD_HEADER = 8;
const HEADER = 28;
const PREFIX = 8;
const LARGEST_RECORD = 64 * 1024 * 1024;
const AHEAD_BYTES = 1024 * 1024;
/** A UTF-16 unit takes at most three bytes in UTF-8. */
const MOST_PER_UNIT = 3;
const KEPT_SCRATCH = 4 * 1024 * 1024;
const NO_FACTS: readonly WrittenFact[] = [];

/** A fact as it is written; a compaction adds the order, so that a rewritten fact keeps its place. */
export type WrittenFact = readonly [kind: string, key: string, value: unknown, order?: number];

export interface Batch {
  readonly entries: readonly LogEntry[];
  readonly facts: readonly WrittenFact[];
  /** Written by a compaction: the number of the first record that was kept. */
  readonly base?: number;
}

export interface SegmentHeader {
  readonly version: number;
  /** The offset of the first record. */
  readonly size: number;
  /** When it was created, in wall-clock milliseconds; 0 if unknown. */
  readonly created: number;
}

export interface ScannedSegment {
  readonly header: SegmentHeader;
  /** Bytes up to the end of the last complete record; 0 if even the header is incomplete. */
  readonly sound: number;
  readonly records: number;
  /** What is wrong with the rest, if there is any. */
  readonly torn?: string;
}

const SEGMENT = /^log-(\d{16})\.seg$/;
/** A segment is named by the number of its first record. */
const segmentName = (first: number): string => `log-${String(first).padStart(16, "0")}.seg`;
export const segmentNumber = (name: string): number | undefined => {
  const found = SEGMENT.exec(name);
  return found ? Number(found[1]) : undefined;
};

function encodeHeader(first: number, created: number): Buffer {
  const header = Buffer.alloc(HEADER);
  MAGIC.copy(header);
  header[7] = VERSION;
  header.writeDoubleLE(created, 8);
  header.writeDoubleLE(first, 16);
  header.writeUInt32LE(crc32(header.subarray(0, 24)) >>> 0, 24);
  return header;
}

/** A batch, and the text it is written as. */
export interface LogRecord {
  readonly batch: Batch;
  readonly text: string;
}

/** Undefined if there is nothing to write. */
export function recordOf(entries: readonly LogEntry[], kept: readonly Fact[]): LogRecord | undefined {
  if (entries.length === 0 && kept.length === 0) return undefined;
  const facts =
    kept.length === 0 ? NO_FACTS : kept.map(({ kind, key, value }): WrittenFact => [kind, key, value]);
  const written =
    facts.length === 0 ? { e: entries } : entries.length === 0 ? { f: facts } : { e: entries, f: facts };
  return record({ entries, facts }, written);
}

/** The facts that a compaction rewrites before it removes segments; the last record says which one is kept first. */
export function recordsAhead(base: number, facts: readonly WrittenFact[]): LogRecord[] {
  const records: LogRecord[] = [];
  let part: WrittenFact[] = [];
  let size = 0;
  for (const fact of facts) {
    part.push(fact);
    size += JSON.stringify(fact).length;
    if (size < AHEAD_BYTES) continue;
    records.push(record({ entries: [], facts: part }, { f: part }));
    part = [];
    size = 0;
  }
  records.push(record({ entries: [], facts: part, base }, { b: base, f: part }));
  return records;
}

function record(batch: Batch, written: unknown): LogRecord {
  const text = JSON.stringify(written);
  if (text.length * MOST_PER_UNIT > LARGEST_RECORD && Buffer.byteLength(text) > LARGEST_RECORD) {
    throw new EarshotError(
      "log_too_large",
      `One append is larger than the log allows (${LARGEST_RECORD} bytes). Append it in parts.`,
    );
  }
  return { batch, text };
}

/** Encodes records into a reused buffer: a copy per record and one more for all would cost as much as the disk. */
class RecordEncoder {
  #scratch = Buffer.allocUnsafeSlow(64 * 1024);

  /** The result is valid until the next call. `places` receives the offset of each record. */
  encode(records: readonly LogRecord[], places: number[]): Buffer {
    let room = 0;
    for (const { text } of records) room += PREFIX + text.length * MOST_PER_UNIT;
    const scratch = room <= KEPT_SCRATCH ? this.#roomy(room) : Buffer.allocUnsafeSlow(room);
    let at = 0;
    for (const { text } of records) {
      const size = scratch.write(text, at + PREFIX, "utf8");
      scratch.writeUInt32LE(size, at);
      scratch.writeUInt32LE(checksum(scratch, at, size), at + 4);
      places.push(at);
      at += PREFIX + size;
    }
    return scratch.subarray(0, at);
  }

  #roomy(room: number): Buffer {
    if (this.#scratch.length < room) this.#scratch = Buffer.allocUnsafeSlow(room * 2);
    return this.#scratch;
  }
}

/** Covers the length too: a corrupt length must not pass for another record. */
const checksum = (bytes: Uint8Array, at: number, size: number): number =>
  crc32(bytes.subarray(at + PREFIX, at + PREFIX + size), size) >>> 0;

/** Logs written before the flag was renamed call it `insist`. */
type WrittenEntry = LogEntry & { readonly insist?: boolean };
function entryOf(entry: WrittenEntry): LogEntry {
  if (entry.insist === undefined) return entry;
  const { insist, ...rest } = entry;
  return { ...rest, required: insist };
}

function decodeBatch(text: string, version: number): Batch {
  const value = JSON.parse(text);
  if (version === 1) return { entries: [entryOf(value as WrittenEntry)], facts: [] };
  const { e = [], f = [], b } = value as { e?: WrittenEntry[]; f?: WrittenFact[]; b?: number };
  return { entries: e.map(entryOf), facts: f, ...(b === undefined ? {} : { base: b }) };
}

const damaged = (name: string, at: number, what: string): EarshotError =>
  new EarshotError(
    "log_damaged",
    `The log file ${name} is damaged at byte ${at}: ${what}. Restore it from a backup; nothing was changed.`,
  );

interface ScanOptions {
  readonly name: string;
  /** From this byte on the end may be torn; only the segment that was being written can be. */
  readonly tornFrom: number;
}

/** Passes every complete record to `take`, in order, with its offset. */
export function scanSegment(
  bytes: Uint8Array,
  { name, tornFrom }: ScanOptions,
  take: (header: SegmentHeader, batch: Batch, at: number) => void,
): ScannedSegment {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = readHeader(buffer, name, tornFrom);
  if (!header) {
    const empty = { version: VERSION, size: HEADER, created: 0 };
    return { header: empty, sound: 0, records: 0, torn: "its header is incomplete" };
  }
  let at = header.size;
  let records = 0;
  while (at < buffer.length) {
    const what = brokenAt(buffer, at);
    if (what !== undefined) {
      if (at >= tornFrom && hasNoRecordAfter(buffer, at)) return { header, sound: at, records, torn: what };
      throw damaged(name, at, what);
    }
    const size = buffer.readUInt32LE(at);
    take(header, decodeBatch(buffer.toString("utf8", at + PREFIX, at + PREFIX + size), header.version), at);
    at += PREFIX + size;
    records++;
  }
  return { header, sound: at, records };
}

/**
 * The records in a range of bytes that starts with one, each with its offset. `growing`: the range may end in the middle
 * of a write; otherwise it is known to be complete.
 */
export function* decodeRecords(
  bytes: Uint8Array,
  { name, version, growing = false }: { name: string; version: number; growing?: boolean },
): Iterable<{ batch: Batch; at: number; end: number }> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; ) {
    const what = brokenAt(buffer, at);
    if (what !== undefined && growing) return;
    if (what !== undefined) throw damaged(name, at, what);
    const end = at + PREFIX + buffer.readUInt32LE(at);
    yield { batch: decodeBatch(buffer.toString("utf8", at + PREFIX, end), version), at, end };
    at = end;
  }
}

/** Undefined for a header that was never completed. */
function readHeader(buffer: Buffer, name: string, tornFrom: number): SegmentHeader | undefined {
  const known = buffer.subarray(0, MAGIC.length).equals(MAGIC.subarray(0, buffer.length));
  const version = buffer[7];
  if (known && version === 1) return { version, size: OLD_HEADER, created: 0 };
  if (known && version !== undefined && version > VERSION) {
    throw new EarshotError(
      "log_unreadable",
      `The log file ${name} has version ${version}, which this release cannot read. Use the release that wrote it, or a newer one.`,
    );
  }
  const whole = buffer.length >= HEADER;
  if (whole && known && crc32(buffer.subarray(0, 24)) >>> 0 === buffer.readUInt32LE(24)) {
    if (buffer.readDoubleLE(16) !== segmentNumber(name)) throw damaged(name, 0, "it has another file's name");
    return { version: VERSION, size: HEADER, created: buffer.readDoubleLE(8) };
  }
  if (tornFrom === 0 && (known || !whole) && hasNoRecordAfter(buffer, 0)) return undefined;
  if (!known) throw new EarshotError("log_unreadable", `The log file ${name} is not an Earshot log.`);
  throw damaged(name, 0, whole ? "its header does not match its checksum" : "it is cut off in its header");
}

function brokenAt(buffer: Buffer, at: number): string | undefined {
  if (buffer.length - at < PREFIX) return "a record is cut off";
  const size = buffer.readUInt32LE(at);
  if (size > LARGEST_RECORD || at + PREFIX + size > buffer.length) return "a record is longer than the file";
  if (size === 0 || checksum(buffer, at, size) !== buffer.readUInt32LE(at + 4))
    return "a record does not match its checksum";
  return undefined;
}

/** Nothing follows a torn write. A valid record after a broken one means that the broken one was acknowledged once. */
function hasNoRecordAfter(buffer: Buffer, broken: number): boolean {
  for (let at = broken + 1; at + PREFIX < buffer.length; at++) {
    if (brokenAt(buffer, at) === undefined) return false;
  }
  return true;
}

interface WriterOptions {
  readonly directory: string;
  readonly files: FilePort;
  readonly index: LogIndex;
  readonly segmentBytes: number;
  /** A segment older than this gets no more records, so that retention can remove it in time. */
  readonly segmentMs: number;
  readonly sync: boolean;
  readonly wallTime: () => number;
}

const CHECK_MS = 1000;

/** Truncates an unfinished write, and keeps its bytes in a file next to the log for inspection. */
export async function repairTail(
  directory: string,
  files: FilePort,
  { index, torn }: Recovered,
): Promise<string | undefined> {
  const last = index.segments.at(-1);
  if (!torn || !last || torn.bytes === 0) return undefined;
  const path = join(directory, last.name);
  const kept = join(directory, `cut-${last.name.slice(4, -4)}-${last.size}.bytes`);
  const bytes = await files.read(path, last.size, last.size + torn.bytes);
  await replaceFile(files, directory, kept, bytes);
  const file = await files.open(path);
  try {
    await file.truncate(last.size);
    await file.sync();
  } finally {
    await file.close();
  }
  return `The last write to the log was not finished (${torn.what}): ${torn.bytes} bytes were cut off ${last.name} and saved in ${kept}. Unless the machine lost power or the disk was full, check the disk.`;
}

/** Appends to the last segment, and starts a new one when it is full or old. */
export class SegmentWriter {
  readonly #options: WriterOptions;
  readonly #encoder = new RecordEncoder();
  #file: OpenFile | undefined;
  #started = false;
  #checkedAt = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Continues the last segment, unless it has an older version: those are never changed. */
  async open(headerMissing: boolean): Promise<void> {
    const { directory, files, index, sync, wallTime } = this.#options;
    const last = index.segments.at(-1);
    if (!last) return;
    if (headerMissing) {
      index.segments.pop();
      this.#file = await files.open(join(directory, last.name), false, sync);
      const created = wallTime();
      await this.#file.append(encodeHeader(last.first, created));
      if (sync) await this.#file.sync();
      index.addSegment(last.name, last.first, { version: 2, size: HEADER, created });
    } else if (last.header.version > 1)
      this.#file = await files.open(join(directory, last.name), false, sync);
  }

  /** One write and one sync for all records; then they are added to the index. */
  async write(records: readonly LogRecord[]): Promise<void> {
    if (records.length === 0) return;
    const places: number[] = [];
    const bytes = this.#encoder.encode(records, places);
    const file = await this.#fileFor(bytes.byteLength);
    await this.#checkFile();
    await file.append(bytes);
    if (this.#options.sync) await file.sync();
    const { index } = this.#options;
    const segment = index.segments.at(-1)!;
    const { size } = segment;
    for (let i = 0; i < records.length; i++) index.add(segment, records[i]!.batch, size + places[i]!);
    segment.size = size + bytes.byteLength;
  }

  /**
   * Appending to a file that was removed succeeds silently, and the data is lost. Checking each time would cost as much
   * as writing, so this checks once a second.
   */
  async #checkFile(): Promise<void> {
    const now = this.#options.wallTime();
    if (Math.abs(now - this.#checkedAt) < CHECK_MS) return;
    this.#checkedAt = now;
    const { directory, files, index } = this.#options;
    const { name, size } = index.segments.at(-1)!;
    const found = await files.stat(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw new Error(`${name} was removed while it was in use.`);
      throw error;
    });
    if (found.size !== size)
      throw new Error(`${name} has ${found.size} bytes in place of ${size}: something else writes to it.`);
  }

  /** Whether a segment was started since the last call: then an older one may be due for removal. */
  hasStartedSegment(): boolean {
    const started = this.#started;
    this.#started = false;
    return started;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #fileFor(bytes: number): Promise<OpenFile> {
    const { directory, files, index, segmentBytes, segmentMs, sync, wallTime } = this.#options;
    const last = index.segments.at(-1);
    if (this.#file && last) {
      const empty = last.size === last.header.size;
      const fits = last.size + bytes <= segmentBytes && wallTime() - last.header.created < segmentMs;
      if (fits || empty) return this.#file;
    }
    await this.close();
    const first = index.next;
    const name = segmentName(first);
    const created = wallTime();
    this.#file = await files.open(join(directory, name), true, sync);
    await this.#file.append(encodeHeader(first, created));
    if (sync) await this.#file.sync();
    await files.syncDirectory(directory);
    index.addSegment(name, first, { version: 2, size: HEADER, created });
    this.#started = true;
    return this.#file;
  }
}
