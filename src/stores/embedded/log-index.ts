/** The index of a log on disk: what is in it, how a directory is read into it, and how entries are read through it. */
import { join } from "node:path";
import type { Fact, LogEntry } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, readText } from "./file-port.ts";
import {
  type Batch,
  decodeRecords,
  type ScannedSegment,
  type SegmentHeader,
  scanSegment,
  segmentNumber,
  type WrittenFact,
} from "./segment.ts";

/** A sparse index into a segment: a byte offset and the first entry from there. */
interface IndexPoint {
  readonly at: number;
  readonly seq: number;
}

export interface Segment {
  readonly name: string;
  /** The number of its first record. */
  readonly first: number;
  readonly header: SegmentHeader;
  readonly points: IndexPoint[];
  readonly sessions: Set<string>;
  records: number;
  /** Acknowledged bytes. */
  size: number;
  /** Its newest entry; 0 if it holds facts only. */
  lastSeq: number;
}

interface KeptFact {
  readonly fact: Fact;
  /** Its order among the facts of its kind. */
  readonly order: number;
  /** The first record of the segment its newest value is in. */
  readonly segment: number;
}

const ENDS = new Set([
  "aaep:agent.session.completed",
  "aaep:agent.session.errored",
  "aaep:agent.session.cancelled",
]);
/** Bytes between index points: reading starts at most this far before the requested entry. */
const POINT_BYTES = 256 * 1024;
/** A fact's order is its record's number and its index in it, which stay the same whatever is removed before it. */
const MOST_FACTS = 2 ** 20;
/** As many as delivery keeps. They are the same objects, so they cost no further memory. */
const MOST_RECENT = 100_000;
/** UTF-16 units of streamed text that are restored at start, because delivery segments them again. */
const MOST_TEXT = 4 * 1024 * 1024;

/** In memory: the segments, the current facts, the newest entries and the open sessions. */
export class LogIndex {
  readonly segments: Segment[] = [];
  /** The newest entries. */
  readonly recent: LogEntry[] = [];
  /** Open sessions, with the position of their first entry. */
  readonly open = new Map<string, number>();
  /** The newest entry. */
  last = 0;
  /** The first record that the last compaction kept. */
  base: number | undefined;
  readonly #kinds = new Map<string, Map<string, KeptFact>>();

  addSegment(name: string, first: number, header: SegmentHeader): Segment {
    const segment: Segment = {
      name,
      first,
      header,
      points: [],
      sessions: new Set(),
      records: 0,
      size: header.size,
      lastSeq: 0,
    };
    this.segments.push(segment);
    return segment;
  }

  /** The number of the next record. */
  get next(): number {
    const segment = this.segments.at(-1);
    return segment ? segment.first + segment.records : 1;
  }

  add(segment: Segment, batch: Batch, at: number): void {
    const number = segment.first + segment.records++;
    const [first] = batch.entries;
    if (first) {
      const point = segment.points.at(-1);
      if (!point || at - point.at >= POINT_BYTES) segment.points.push({ at, seq: first.seq });
    }
    for (const entry of batch.entries) this.#addEntry(segment, entry);
    if (batch.facts.length > 0) this.#addFacts(segment.first, batch.facts, number);
    if (batch.base !== undefined) this.base = batch.base;
  }

  #addEntry(segment: Segment, entry: LogEntry): void {
    const { seq, event } = entry;
    const { session_id, type } = event;
    if (this.last !== 0 && seq !== this.last + 1) {
      throw new EarshotError(
        "log_damaged",
        `The log file ${segment.name} jumps from entry ${this.last} to ${seq}. Restore it from a backup.`,
      );
    }
    this.last = seq;
    segment.lastSeq = seq;
    this.recent.push(entry);
    // A quarter at a time: moving the array on every append would cost more than it saves.
    if (this.recent.length > MOST_RECENT * 1.25) this.recent.splice(0, this.recent.length - MOST_RECENT);
    segment.sessions.add(session_id);
    if (ENDS.has(type)) this.open.delete(session_id);
    else if (!this.open.has(session_id)) this.open.set(session_id, seq);
  }

  #addFacts(segment: number, facts: readonly WrittenFact[], number: number): void {
    for (const [i, [kind, key, value, order]] of facts.entries())
      this.#addFact({ kind, key, value }, order ?? number * MOST_FACTS + i, segment);
  }

  #addFact(fact: Fact, order: number, segment: number): void {
    let kind = this.#kinds.get(fact.kind);
    if (!kind) {
      kind = new Map();
      this.#kinds.set(fact.kind, kind);
    }
    if (fact.value === null) {
      kind.delete(fact.key);
      return;
    }
    kind.set(fact.key, { fact, order: kind.get(fact.key)?.order ?? order, segment });
  }

  /** Restores the order of facts that a compaction rewrote. Called once, when everything has been read. */
  sortFacts(): void {
    for (const [name, kind] of this.#kinds) {
      const sorted = [...kind].sort(([, a], [, b]) => a.order - b.order);
      this.#kinds.set(name, new Map(sorted));
    }
  }

  /**
   * The snapshot a starting hub restores: the newest entries, back to the oldest open session, with a limit on the text
   * beyond that. A subscriber that was further behind is told of a gap.
   */
  snapshot(): LogEntry[] {
    const { recent } = this;
    let from = recent.length;
    for (let text = 0; from > 0 && text < MOST_TEXT; from--)
      text += ((recent[from - 1]!.event as { chunk?: string }).chunk ?? "").length;
    const first = recent[0]?.seq ?? 0;
    for (const begins of this.open.values()) from = Math.min(from, Math.max(0, begins - first));
    return recent.slice(from);
  }

  facts(kind: string): Fact[] {
    return Array.from(this.#kinds.get(kind)?.values() ?? [], ({ fact }) => fact);
  }

  /** Facts whose newest value is before this record, for a compaction to rewrite. */
  factsBefore(first: number): WrittenFact[] {
    const found: WrittenFact[] = [];
    for (const kind of this.#kinds.values()) {
      for (const { fact, order, segment } of kind.values())
        if (segment < first) found.push([fact.kind, fact.key, fact.value, order]);
    }
    return found;
  }
}

/** Written on an orderly close: no unfinished write can be before the size it names. */
export const CLOSED = "closed.json";

export interface Closed {
  readonly segment: string;
  readonly size: number;
}

export interface Recovered {
  readonly index: LogIndex;
  readonly torn?: {
    readonly bytes: number;
    readonly what: string;
    /** Even the header of the last file is incomplete. */
    readonly header: boolean;
  };
}

export const segmentNames = async (directory: string, files: FilePort): Promise<string[]> =>
  (await files.list(directory)).filter((name) => segmentNumber(name) !== undefined).sort();

/** Reads a log directory into an index: everything is checked, nothing is changed. */
export async function recover(directory: string, files: FilePort): Promise<Recovered> {
  const names = await segmentNames(directory, files);
  const index = new LogIndex();
  const closed = await readClosed(directory, files);
  if (closed && !names.includes(closed.segment)) throw missing(directory, closed.segment);
  let torn: Recovered["torn"];
  for (const [i, name] of names.entries()) {
    const first = segmentNumber(name)!;
    if (i > 0 && first !== index.next) throw missing(directory, `before ${name}`);
    const bytes = await files.read(join(directory, name));
    const last = i === names.length - 1;
    const whole = closed?.segment === name ? closed.size : 0;
    if (bytes.byteLength < whole) {
      throw new EarshotError(
        "log_damaged",
        `The log file ${name} had ${whole} bytes when it was closed and has ${bytes.byteLength} now. Restore it from a backup; nothing was changed.`,
      );
    }
    const scanned = scanInto(index, bytes, name, last ? whole : Number.POSITIVE_INFINITY);
    const cut = bytes.byteLength - scanned.sound;
    if (scanned.torn !== undefined) torn = { bytes: cut, what: scanned.torn, header: scanned.sound === 0 };
  }
  const [oldest] = index.segments;
  const expected = index.base ?? (oldest?.header.version === 1 ? oldest.first : 1);
  if (oldest && oldest.first > expected) throw missing(directory, `before ${oldest.name}`);
  index.sortFacts();
  return { index, ...(torn ? { torn } : {}) };
}

/** Adds a segment and every complete record of it to the index. */
export function scanInto(index: LogIndex, bytes: Uint8Array, name: string, tornFrom: number): ScannedSegment {
  let segment: Segment | undefined;
  const first = segmentNumber(name)!;
  const scanned = scanSegment(bytes, { name, tornFrom }, (header, batch, at) => {
    segment ??= index.addSegment(name, first, header);
    index.add(segment, batch, at);
  });
  segment ??= index.addSegment(name, first, scanned.header);
  segment.size = scanned.sound;
  return scanned;
}

const missing = (directory: string, what: string): EarshotError =>
  new EarshotError(
    "log_damaged",
    `The log in ${directory} is incomplete: a file is missing (${what}). Restore it from a backup; nothing was changed.`,
  );

async function readClosed(directory: string, files: FilePort): Promise<Closed | undefined> {
  const text = await readText(files, join(directory, CLOSED));
  if (text === undefined) return undefined;
  try {
    const { segment, size } = JSON.parse(text) as Closed;
    if (segmentNumber(segment) !== undefined && Number.isInteger(size)) return { segment, size };
  } catch {
    // Reported below.
  }
  throw new EarshotError(
    "log_damaged",
    `${join(directory, CLOSED)} is damaged. Remove it and start again: then the end of the log is checked less strictly.`,
  );
}

interface ReadOptions {
  readonly directory: string;
  readonly files: FilePort;
  readonly index: LogIndex;
  readonly from: number;
  /** Only segments that hold something of this session. */
  readonly session_id?: string | undefined;
  /** Awaited first: the write in progress. */
  readonly ready?: () => Promise<void> | undefined;
}

/** Reads entries from a position on, one range of a file at a time. */
export async function* readEntries(options: ReadOptions): AsyncIterable<LogEntry> {
  const { directory, files, index, from, session_id, ready } = options;
  await ready?.();
  const { last } = index;
  for (const segment of [...index.segments]) {
    if (segment.lastSeq < from || (session_id !== undefined && !segment.sessions.has(session_id))) continue;
    for (const [start, end] of byteRanges(segment, from)) {
      // Retention may remove a file while it is read: skip the rest of it.
      if (!index.segments.includes(segment)) break;
      const bytes = await files.read(join(directory, segment.name), start, end);
      const { name, header } = segment;
      for (const { batch } of decodeRecords(bytes, { name, version: header.version })) {
        for (const entry of batch.entries) {
          if (entry.seq > last) return;
          if (entry.seq >= from && (session_id === undefined || entry.event.session_id === session_id))
            yield entry;
        }
      }
    }
  }
}

function* byteRanges({ points, size }: Segment, from: number): Iterable<[start: number, end: number]> {
  for (const [i, { at }] of points.entries()) {
    const next = points[i + 1];
    if (!next || next.seq > from) yield [at, next?.at ?? size];
  }
}
