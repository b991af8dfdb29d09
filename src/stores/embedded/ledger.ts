/** What the log on disk holds, by place: its segments, the facts that count, and the sessions that are still open. */
import type { Fact, LogEntry } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import type { Batch, SegmentHeader, WrittenFact } from "./segment.ts";

/** Where a stretch of a segment begins, and the first entry in it. */
interface Point {
  readonly at: number;
  readonly seq: number;
}

export interface Segment {
  readonly name: string;
  /** The number of its first record. */
  readonly first: number;
  readonly header: SegmentHeader;
  readonly points: Point[];
  readonly sessions: Set<string>;
  records: number;
  /** Acknowledged bytes. */
  size: number;
  /** Its newest entry; 0 if it holds facts only. */
  lastSeq: number;
}

interface KeptFact {
  readonly fact: Fact;
  /** Where it stands among the others of its kind. */
  readonly order: number;
  /** The first record of the segment its newest value is in. */
  readonly segment: number;
}

const ENDS = new Set([
  "aaep:agent.session.completed",
  "aaep:agent.session.errored",
  "aaep:agent.session.cancelled",
]);
/** Reading begins at most this far before the place that is asked for. */
const STRETCH = 256 * 1024;
/** A fact's order is its record's number and its place in it, so that it stays the same whatever is removed before it. */
const MOST_FACTS = 2 ** 20;
/** As many as delivery holds on to: they are the same objects, so that they cost no further memory. */
const MOST_RECENT = 100_000;
/** UTF-16 units of streamed text that an agent takes up when it starts: it looks at every letter of it again. */
const MOST_TEXT = 4 * 1024 * 1024;

export class Ledger {
  readonly segments: Segment[] = [];
  /** The newest entries. */
  readonly recent: LogEntry[] = [];
  /** Sessions without an end, by the place they begin at. */
  readonly open = new Map<string, number>();
  /** The newest entry. */
  last = 0;
  /** The first record that a compaction said it kept. */
  base: number | undefined;
  readonly #kinds = new Map<string, Map<string, KeptFact>>();

  begin(name: string, first: number, header: SegmentHeader): Segment {
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

  /** The number the next record gets. */
  get next(): number {
    const segment = this.segments.at(-1);
    return segment ? segment.first + segment.records : 1;
  }

  take(segment: Segment, batch: Batch, at: number): void {
    const number = segment.first + segment.records++;
    const [first] = batch.entries;
    if (first) {
      const point = segment.points.at(-1);
      if (!point || at - point.at >= STRETCH) segment.points.push({ at, seq: first.seq });
    }
    for (const entry of batch.entries) this.#takeEntry(segment, entry);
    if (batch.facts.length > 0) this.#takeFacts(segment.first, batch.facts, number);
    if (batch.base !== undefined) this.base = batch.base;
  }

  #takeEntry(segment: Segment, entry: LogEntry): void {
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

  #takeFacts(segment: number, facts: readonly WrittenFact[], number: number): void {
    for (const [i, [kind, key, value, order]] of facts.entries())
      this.#takeFact({ kind, key, value }, order ?? number * MOST_FACTS + i, segment);
  }

  #takeFact(fact: Fact, order: number, segment: number): void {
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

  /** Facts a compaction wrote again were read behind younger ones: called once, when everything has been read. */
  settle(): void {
    for (const [name, kind] of this.#kinds) {
      const sorted = [...kind].sort(([, a], [, b]) => a.order - b.order);
      this.#kinds.set(name, new Map(sorted));
    }
  }

  /**
   * What an agent that starts goes on from: the newest entries, back to the oldest session that is open, and so much
   * text beyond that as takes a moment. Whoever was further behind than that is told of a gap.
   */
  latest(): LogEntry[] {
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

  /** Facts whose newest value lies before this record, as a compaction writes them again. */
  factsBefore(first: number): WrittenFact[] {
    const found: WrittenFact[] = [];
    for (const kind of this.#kinds.values()) {
      for (const { fact, order, segment } of kind.values())
        if (segment < first) found.push([fact.kind, fact.key, fact.value, order]);
    }
    return found;
  }
}
