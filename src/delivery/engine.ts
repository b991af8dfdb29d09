/**
 * The fan-out from one log to many subscriptions: the engine cuts every entry once per lane, and each subscription
 * drains its lane at its own rate limit and pace. One schedule serves all of them. The clock is passed in.
 */

import type { Terms } from "../protocol/negotiate.ts";
import type { Ids } from "../protocol/platform.ts";
import { type Cursor, decodeId, encodeEventId } from "./cursor.ts";
import type { Piece } from "./cut.ts";
import { createBudget, Drain, type LaneGroup, LaneMember, maxBurst, Schedule, type Sink } from "./drain.ts";
import type { LogEntry, LogIdentity } from "./entry.ts";
import { agedOut, type Heard, heardAt, heardAtLeast, type LanePosition } from "./heard.ts";
import { Lane, tagOf, type View } from "./lane.ts";
import { LogWindow, type SessionTrack, type TrackedQuestion } from "./log-window.ts";
import {
  ENGLISH_WORDS,
  type GapReason,
  gapNotices,
  mostRecent,
  type NoticeWords,
  openQuestions,
} from "./notices.ts";
import { type ExtensionRegistry, type Shape, shapeOf } from "./shape.ts";

/** Options of the delivery engine. */
export interface EngineOptions {
  readonly log: LogIdentity;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Wall clock time, as written into events. */
  readonly timestamp: () => string;
  readonly ids: Ids;
  readonly registry?: ExtensionRegistry;
  readonly words?: NoticeWords;
  /** A subscription more than this many (coalesced) events behind skips ahead with the outcome "lagging". */
  readonly lagBound?: number;
  /** Most log entries kept in memory for resuming subscriptions. */
  readonly window?: number;
}

/** Options of `engine.attach`: where to start, and where deliveries go. */
export interface AttachOptions {
  readonly sink: Sink;
  readonly terms: Terms;
  readonly view: View;
  /**
   * Resume after this event. `previous` are the terms under which it was delivered: with them the position is exact
   * even if the terms have changed since. Without them nothing is lost, but text that was open then may be repeated.
   */
  readonly resume?: { readonly event_id: string; readonly previous?: Terms };
}

/** One subscription's place in the delivery engine. */
export interface Attachment {
  /** How it started: at the end of the log, exactly after the last event, or after a gap that was announced. */
  readonly start: "joined" | "resumed" | GapReason;
  /** Everything sent from now on follows the new terms (HS-16); nothing is lost or repeated. */
  renegotiate(terms: Terms): void;
  /** Sends a summary and the open questions of all running sessions, or of one. */
  summarize(session_id?: string): void;
  detach(): void;
}

/** A lane keeps at most this many pieces for a subscription whose socket is blocked (backpressure). */
const MAX_HELD = 16_384;

/** Delivers one log to many subscriptions, each by its own terms. */
export class Engine {
  readonly window: LogWindow;
  readonly #options: EngineOptions;
  readonly #registry: ExtensionRegistry;
  readonly #groups = new Map<string, LaneGroup>();
  readonly #schedule = new Schedule<LaneMember>();
  readonly #drain: Drain;
  readonly #queue: (() => void)[] = [];
  #busy = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#registry = options.registry ?? {};
    this.window = new LogWindow(options.window);
    const { ids, timestamp, words = ENGLISH_WORDS } = options;
    this.#drain = new Drain({
      window: this.window,
      schedule: this.#schedule,
      context: { ids, timestamp, registry: this.#registry, words },
      lagBound: options.lagBound ?? 256,
      unblocked: (member) => this.#enqueue(() => this.#proceed(member)),
      failed: (member) => this.#detach(member),
    });
  }

  /**
   * Delivers entries that the log has acknowledged, in order: at once where the rate limit allows, critical ones
   * always.
   */
  append(entries: readonly LogEntry[]): void {
    this.#enqueue(() => this.#appendEntries(entries));
  }

  /** When `run` is due next; Infinity if no subscription waits. */
  get next(): number {
    return this.#schedule.next;
  }

  /** Pieces held in memory for all subscriptions together. */
  get held(): number {
    let held = 0;
    for (const { lane } of this.#groups.values()) held += lane.end - lane.start;
    return held;
  }

  run(): void {
    this.#enqueue(() => {
      const now = this.#options.now();
      for (const [member, at] of this.#schedule.due(now)) {
        // Renegotiation may have moved the wake-up time; ignore the old one.
        if (member.detached || member.wakeAt !== at) continue;
        member.wakeAt = 0;
        this.#drain.drain(member, now);
      }
    });
  }

  /** The end of the log as a cursor. */
  get endCursor(): string {
    return encodeEventId(this.#options.log, this.window.next - 1);
  }

  attach({ sink, terms, view, resume }: AttachOptions): Attachment {
    const member = new LaneMember(sink, view, terms);
    let start: Attachment["start"] = "joined";
    this.#runExclusive(() => {
      this.#join(member, shapeOf(terms, this.#registry));
      member.pieceIndex = member.group.lane.end;
      if (resume) start = this.#resume(member, resume);
      else this.#queueSummaries(member);
      this.#proceed(member, isOpenQuestion);
    });
    return {
      start,
      renegotiate: (changed) => {
        member.renegotiating = this.#busy;
        this.#enqueue(() => this.#renegotiate(member, changed));
      },
      summarize: (session_id) =>
        this.#enqueue(() => {
          this.#queueSummaries(member, 0, session_id);
          this.#proceed(member);
        }),
      detach: () => this.#detach(member),
    };
  }

  /** A sink may cause the next append synchronously: it is queued, so that all subscriptions see the same order. */
  #enqueue(job: () => void): void {
    this.#queue.push(job);
    if (!this.#busy) this.#runExclusive(() => undefined);
  }

  /** Runs a job now, then everything it queued. */
  #runExclusive(job: () => void): void {
    const outer = this.#busy;
    this.#busy = true;
    try {
      job();
      if (!outer) for (let next = this.#queue.shift(); next; next = this.#queue.shift()) next();
    } finally {
      this.#busy = outer;
    }
  }

  #proceed(member: LaneMember, urgent?: (piece: Piece) => boolean): void {
    if (!member.detached) this.#drain.proceed(member, this.#options.now(), urgent);
  }

  #appendEntries(entries: readonly LogEntry[]): void {
    const tracked = entries.map((entry) => this.window.append(entry));
    const now = this.#options.now();
    // All lanes first, then the sinks: a subscription that joins because of a delivery finds all lanes up to date.
    const grown: [LaneGroup, number][] = [];
    for (const group of this.#groups.values()) {
      const { lane } = group;
      const before = lane.end;
      for (const entry of tracked) lane.push(entry);
      if (lane.end > before) grown.push([group, before]);
    }
    for (const [group, before] of grown) {
      const { lane, members } = group;
      if (lane.criticalsFrom(before).length > 0) for (const member of members) this.#drain.flush(member, now);
      const ready = group.idle;
      group.idle = [];
      for (const member of ready) {
        if (member.group !== group) continue;
        member.idle = false;
        this.#drain.drain(member, now);
      }
      if (lane.end - lane.start > group.held) this.#release(group);
    }
  }

  #join(member: LaneMember, shape: Shape): void {
    const key = `${member.view.key}\n${shape.key}`;
    let group = this.#groups.get(key);
    if (!group) {
      const lane = new Lane(member.view, shape, this.#options.log, this.window, this.window.next);
      group = { key, lane, members: new Set(), idle: [], held: 256 };
      this.#groups.set(key, group);
    }
    group.members.add(member);
    member.group = group;
  }

  #leave(member: LaneMember): void {
    const { group } = member;
    group.members.delete(member);
    if (group.idle[member.idleAt] === member) {
      const last = group.idle.pop()!;
      if (last !== member) {
        group.idle[member.idleAt] = last;
        last.idleAt = member.idleAt;
      }
    }
    member.idle = false;
    if (group.members.size === 0) this.#groups.delete(group.key);
  }

  #detach(member: LaneMember): void {
    if (member.detached) return;
    member.detached = true;
    this.#leave(member);
  }

  #release(group: LaneGroup): void {
    const { lane, members } = group;
    let needed = lane.end;
    for (const member of members) {
      const pieceIndex = member.run ? member.run.from : member.pieceIndex;
      if (lane.end - pieceIndex <= MAX_HELD) needed = Math.min(needed, pieceIndex);
      else if (member.lostFrom === 0) member.lostFrom = Math.max(1, lane.piece(pieceIndex)?.seq ?? 0);
    }
    lane.release(needed);
    // Check again when it has doubled: amortizes the cost.
    group.held = 2 * Math.max(128, lane.end - lane.start);
  }

  /** Positions a subscription right after a delivered event, or announces a gap if that position is unknown. */
  #resume(
    member: LaneMember,
    { event_id, previous }: NonNullable<AttachOptions["resume"]>,
  ): Attachment["start"] {
    const cursor = decodeId(this.#options.log, event_id);
    if (typeof cursor === "string") return this.#queueGap(member, cursor);
    const [first, last] = extent(cursor);
    if (last >= this.window.next) return this.#queueGap(member, "forged");
    const known = this.#moveTo(member, cursor, first, previous && shapeOf(previous, this.#registry));
    if (!known) return this.#queueGap(member, "aged", first);
    this.#queueSummaries(member, first);
    return "resumed";
  }

  /** False if the entries needed for this have aged out of the window. */
  #moveTo(member: LaneMember, cursor: Cursor, first: number, previous: Shape | undefined): boolean {
    const { lane } = member.group;
    const { shape } = lane;
    const before = previous && tagOf(member.view, previous);
    const tag = cursor.kind === "run" ? cursor.tag : before;
    const old = tag === lane.tag ? shape : tag === before ? previous : undefined;
    if (this.window.floor(first, old?.level) < this.window.first) return false;
    if (old === shape) {
      const { pieceIndex, run, runIndex } = positionAt(lane, cursor);
      member.pieceIndex = pieceIndex;
      member.run = run;
      member.runIndex = runIndex;
    } else if (old) {
      const other = new Lane(member.view, old, this.#options.log, this.window, this.window.next);
      this.#restart(member, heardAt(other, positionAt(other, cursor), this.window), old.level);
    } else {
      this.#restart(member, heardAtLeast(this.window, cursor, member.view));
    }
    return true;
  }

  /** Starts at the first piece of the new lane that may contain something undelivered. */
  #restart(member: LaneMember, heard: Heard, level?: number): void {
    const { lane } = member.group;
    member.pieceIndex = lane.indexOf({ seq: this.window.floor(heard.from, level), sub: 0 });
    member.catchUpEnd = lane.indexOf({ seq: heard.before, sub: 0 });
    member.run = undefined;
    member.runIndex = 0;
    member.heard = heard;
    // The old lane may have held pieces of entries that have since aged out.
    for (const track of agedOut(this.window, heard, member.view))
      member.notices.push({ track, gap: "lagging" });
  }

  #renegotiate(member: LaneMember, terms: Terms): void {
    if (member.detached) return;
    member.renegotiating = false;
    const now = this.#options.now();
    const { due } = member.budget;
    member.budget = createBudget(terms.max_events_per_second);
    member.budget.due = Math.min(due, now + member.budget.debt + member.budget.interval);
    member.pace = terms.pace_wpm;
    if (member.pace === undefined) member.quietUntil = -Infinity;
    member.wakeAt = 0;
    const shape = shapeOf(terms, this.#registry);
    const { lane } = member.group;
    if (shape.key !== lane.shape.key) {
      const heard = heardAt(lane, member, this.window);
      this.#leave(member);
      this.#join(member, shape);
      this.#restart(member, heard, lane.shape.level);
      this.#requeueQuestions(member, lane.shape, shape, heard.before);
    }
    if (!member.idle) this.#proceed(member);
  }

  /**
   * Gaining the capability to reply counts as joining: open questions are sent again, now with their token (CON-01).
   */
  #requeueQuestions(member: LaneMember, old: Shape, shape: Shape, before: number): void {
    const gained = new Set<string>();
    if (shape.confirmation && !old.confirmation) gained.add("aaep:agent.awaiting.confirmation");
    if (shape.clarification && !old.clarification) gained.add("aaep:agent.awaiting.clarification");
    if (gained.size === 0) return;
    for (const track of this.window.tracks.values()) {
      if (!member.view.hears(track)) continue;
      member.notices.push(
        ...openQuestions(track, before).filter(({ resend }) => gained.has(resend!.entry.event.type)),
      );
    }
  }

  /** Summaries and open questions come before any event, on joining and on resuming (CON-16). */
  #queueSummaries(member: LaneMember, since = 0, only?: string): void {
    const running: SessionTrack[] = [];
    for (const track of this.window.running) {
      if (track.ended || !member.view.hears(track) || (only !== undefined && track.session_id !== only))
        continue;
      // A session that starts after the cursor is delivered from its start anyway.
      if (since === 0 || track.begins < since) running.push(track);
    }
    for (const track of mostRecent(running, maxBurst(member.budget)))
      member.notices.push({ track }, ...openQuestions(track, since || Infinity));
  }

  /** The resume position is unknown: announce the gap, summaries and open questions, and what ended since, if known. */
  #queueGap(member: LaneMember, gap: GapReason, since = Infinity): GapReason {
    const heard = [...this.window.tracks.values()].filter((track) => member.view.hears(track));
    const lastOf = (track: SessionTrack) => track.entries.at(-1)?.entry.seq ?? 0;
    const missed = heard.filter((track) => !track.ended || lastOf(track) >= since);
    // If nothing is running and the cursor says nothing, report how the last session ended (SSE-06).
    if (missed.length === 0 && since === Infinity)
      missed.push(...heard.sort((a, b) => lastOf(a) - lastOf(b)).slice(-1));
    const known = { reason: gap, most: maxBurst(member.budget) };
    const notices = gapNotices(missed, since < Infinity ? { ...known, since } : known);
    for (const notice of notices) member.notices.push(notice);
    return gap;
  }
}

const isOpenQuestion = ({ track, event }: Piece): boolean =>
  track.questions.has((event as TrackedQuestion).reply_token);

/** The log positions of a cursor: where to continue reading, and the last one it covers. */
const extent = (cursor: Cursor): [first: number, last: number] =>
  cursor.kind === "event" ? [cursor.seq + 1, cursor.seq] : [cursor.from.seq, cursor.to.seq];

/** The position in a lane right after the event that a cursor names. */
function positionAt(lane: Lane, cursor: Cursor): Required<Omit<LanePosition, "heard">> {
  if (cursor.kind === "event") {
    const next = cursor.seq + 1;
    return { pieceIndex: lane.indexOf({ seq: next, sub: 0 }), run: undefined, runIndex: 0, next };
  }
  const from = lane.indexOf(cursor.from);
  const pieceIndex = lane.indexOf(cursor.to);
  const { seq } = cursor.to;
  const next = lane.piece(pieceIndex)?.seq === seq ? seq : seq + 1;
  const run = pieceIndex > from ? lane.between(from, pieceIndex) : undefined;
  const runIndex = cursor.index + 1;
  return run && runIndex < run.deliveries.length
    ? { pieceIndex, run, runIndex, next }
    : { pieceIndex, run: undefined, runIndex: 0, next };
}
