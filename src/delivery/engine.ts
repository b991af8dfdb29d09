/**
 * One log, many listeners: the engine cuts every entry once per lane and lets each subscription drain at its own rate.
 * One schedule serves them all. The clock is passed in.
 */
import type { Ids } from "../protocol/ids.ts";
import type { Terms } from "../protocol/negotiate.ts";
import { createBudget, mostOwed } from "./budget.ts";
import { type Cursor, decodeId, encodeEventId } from "./cursor.ts";
import type { Piece } from "./cut.ts";
import { Drain, type Group, Schedule, type Sink, Subscription } from "./drain.ts";
import type { LogEntry, LogIdentity } from "./entry.ts";
import { agedOut, type Heard, heardAt, heardAtLeast, type Standpoint } from "./heard.ts";
import { Lane, tagOf, type View } from "./lane.ts";
import { LogWindow, type Question, type SessionTrack } from "./log-window.ts";
import {
  ENGLISH_WORDS,
  type GapReason,
  mostRecent,
  type NoticeWords,
  noticesOfGap,
  openQuestions,
} from "./notices.ts";
import { type ExtensionRegistry, type Shape, shapeOf } from "./shape.ts";

export interface EngineOptions {
  readonly log: LogIdentity;
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
  /** The wall clock, as events write it. */
  readonly timestamp: () => string;
  readonly ids: Ids;
  readonly registry?: ExtensionRegistry;
  readonly words?: NoticeWords;
  /** Most events a slow subscription may be behind, merged as far as they can be. */
  readonly lag_bound?: number;
  /** Most log entries held for those who come back. */
  readonly window?: number;
}

export interface AttachOptions {
  readonly sink: Sink;
  readonly terms: Terms;
  readonly view: View;
  /**
   * Go on after this event. `previous` are the terms it was delivered under: with them the place is exact, whatever the
   * terms are now. Without them nothing is lost, but text that was still open then may come again.
   */
  readonly resume?: { readonly event_id: string; readonly previous?: Terms };
}

export interface Attachment {
  /** How it began: at the end of the log, exactly where it was, or with a gap it has been told of. */
  readonly start: "joined" | "resumed" | GapReason;
  /** New terms govern everything sent from now on (HS-16); nothing is lost or repeated. */
  renegotiate(terms: Terms): void;
  /** Tells this listener where things stand, in all open sessions or one. */
  standing(session_id?: string): void;
  detach(): void;
}

/** A lane holds at most this many pieces for a subscription whose socket is blocked. */
const MOST_HELD = 16_384;

export class Engine {
  readonly window: LogWindow;
  readonly #options: EngineOptions;
  readonly #registry: ExtensionRegistry;
  readonly #groups = new Map<string, Group>();
  readonly #schedule = new Schedule<Subscription>();
  readonly #drain: Drain;
  readonly #jobs: (() => void)[] = [];
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
      lag_bound: options.lag_bound ?? 256,
      unblocked: (member) => this.#work(() => this.#goOn(member)),
      failed: (member) => this.#detach(member),
    });
  }

  /** Entries the log has acknowledged, in order. What may go goes now; critical events always may. */
  append(entries: readonly LogEntry[]): void {
    this.#work(() => this.#feed(entries));
  }

  /** When the schedule wants to be run next; Infinity if nobody waits. */
  get next(): number {
    return this.#schedule.next;
  }

  /** Pieces held in memory for all listeners together. */
  get held(): number {
    let held = 0;
    for (const { lane } of this.#groups.values()) held += lane.end - lane.start;
    return held;
  }

  run(): void {
    this.#work(() => {
      const now = this.#options.now();
      for (const [member, at] of this.#schedule.due(now)) {
        // New terms may have moved the appointment: an old one is void.
        if (member.gone || member.wakeAt !== at) continue;
        member.wakeAt = 0;
        this.#drain.drain(member, now);
      }
    });
  }

  /** The end of the log as a cursor: who joins now has heard everything before it. */
  get here(): string {
    return encodeEventId(this.#options.log, this.window.next - 1);
  }

  attach({ sink, terms, view, resume }: AttachOptions): Attachment {
    const member = new Subscription(sink, view, terms);
    let start: Attachment["start"] = "joined";
    this.#inTurn(() => {
      this.#join(member, shapeOf(terms, this.#registry));
      member.place = member.group.lane.end;
      if (resume) start = this.#resume(member, resume);
      else this.#preface(member);
      this.#goOn(member, isOpenQuestion);
    });
    return {
      start,
      renegotiate: (changed) => {
        member.changing = this.#busy;
        this.#work(() => this.#renegotiate(member, changed));
      },
      standing: (session_id) =>
        this.#work(() => {
          this.#preface(member, 0, session_id);
          this.#goOn(member);
        }),
      detach: () => this.#detach(member),
    };
  }

  /** A sink may answer at once and cause the next entry: it waits its turn, so that everyone keeps the same order. */
  #work(job: () => void): void {
    this.#jobs.push(job);
    if (!this.#busy) this.#inTurn(() => undefined);
  }

  /** Does something at once; what it causes comes right after it. */
  #inTurn(job: () => void): void {
    const outer = this.#busy;
    this.#busy = true;
    try {
      job();
      if (!outer) for (let next = this.#jobs.shift(); next; next = this.#jobs.shift()) next();
    } finally {
      this.#busy = outer;
    }
  }

  #goOn(member: Subscription, pressing?: (piece: Piece) => boolean): void {
    if (!member.gone) this.#drain.goOn(member, this.#options.now(), pressing);
  }

  #feed(entries: readonly LogEntry[]): void {
    const marked = entries.map((entry) => this.window.append(entry));
    const now = this.#options.now();
    // Every lane first, then the sinks: whoever joins because of what a sink got finds all lanes at the same place.
    const grown: [Group, number][] = [];
    for (const group of this.#groups.values()) {
      const { lane } = group;
      const before = lane.end;
      for (const entry of marked) lane.push(entry);
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
      if (lane.end - lane.start > group.held) this.#forget(group);
    }
  }

  #join(member: Subscription, shape: Shape): void {
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

  #leave(member: Subscription): void {
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

  #detach(member: Subscription): void {
    if (member.gone) return;
    member.gone = true;
    this.#leave(member);
  }

  #forget(group: Group): void {
    const { lane, members } = group;
    let needed = lane.end;
    for (const member of members) {
      const place = member.run ? member.run.from : member.place;
      if (lane.end - place <= MOST_HELD) needed = Math.min(needed, place);
      else if (member.lost === 0) member.lost = Math.max(1, lane.piece(place)?.seq ?? 0);
    }
    lane.forget(needed);
    // Looked at again when it has doubled, so that the cost of looking stays small.
    group.held = 2 * Math.max(128, lane.end - lane.start);
  }

  /** Puts a subscription right after a delivered event, or tells it that this place is not known (any more). */
  #resume(
    member: Subscription,
    { event_id, previous }: NonNullable<AttachOptions["resume"]>,
  ): Attachment["start"] {
    const cursor = decodeId(this.#options.log, event_id);
    if (typeof cursor === "string") return this.#prefaceGap(member, cursor);
    const [first, last] = extent(cursor);
    if (last >= this.window.next) return this.#prefaceGap(member, "forged");
    const known = this.#place(member, cursor, first, previous && shapeOf(previous, this.#registry));
    if (!known) return this.#prefaceGap(member, "aged", first);
    this.#preface(member, first);
    return "resumed";
  }

  /** False where the log is no longer held as far back as this takes. */
  #place(member: Subscription, cursor: Cursor, first: number, previous: Shape | undefined): boolean {
    const { lane } = member.group;
    const { shape } = lane;
    const before = previous && tagOf(member.view, previous);
    const tag = cursor.kind === "run" ? cursor.tag : before;
    const old = tag === lane.tag ? shape : tag === before ? previous : undefined;
    if (this.window.floor(first, old?.level) < this.window.first) return false;
    if (old === shape) {
      const { place, run, index } = standAt(lane, cursor);
      member.place = place;
      member.run = run;
      member.index = index;
    } else if (old) {
      const other = new Lane(member.view, old, this.#options.log, this.window, this.window.next);
      this.#restart(member, heardAt(other, standAt(other, cursor), this.window), old.level);
    } else {
      this.#restart(member, heardAtLeast(this.window, cursor, member.view));
    }
    return true;
  }

  /** Starts where the new lane may hold something unheard, a little before the old place. */
  #restart(member: Subscription, heard: Heard, level?: number): void {
    const { lane } = member.group;
    member.place = lane.indexOf({ seq: this.window.floor(heard.from, level), sub: 0 });
    member.settled = lane.indexOf({ seq: heard.before, sub: 0 });
    member.run = undefined;
    member.index = 0;
    member.heard = heard;
    // The old lane may have held more than the log does.
    for (const track of agedOut(this.window, heard, member.view))
      member.notices.push({ track, gap: "lagging" });
  }

  #renegotiate(member: Subscription, terms: Terms): void {
    if (member.gone) return;
    member.changing = false;
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
      this.#askAgain(member, lane.shape, shape, heard.before);
    }
    if (!member.idle) this.#goOn(member);
  }

  /** Gaining the right to answer counts as joining: what was only mentioned so far is asked (CON-01). */
  #askAgain(member: Subscription, old: Shape, shape: Shape, before: number): void {
    const gained = new Set<string>();
    if (shape.confirmation && !old.confirmation) gained.add("aaep:agent.awaiting.confirmation");
    if (shape.clarification && !old.clarification) gained.add("aaep:agent.awaiting.clarification");
    if (gained.size === 0) return;
    for (const track of this.window.tracks.values()) {
      if (!member.view.hears(track)) continue;
      member.notices.push(
        ...openQuestions(track, before).filter(({ again }) => gained.has(again!.entry.event.type)),
      );
    }
  }

  /** What stands, before anything that happens: on joining and on coming back (CON-16). */
  #preface(member: Subscription, since = 0, only?: string): void {
    const standing: SessionTrack[] = [];
    for (const track of this.window.running) {
      if (track.ended || !member.view.hears(track) || (only !== undefined && track.session_id !== only))
        continue;
      // A session that begins after the cursor is heard from its start.
      if (since === 0 || track.begins < since) standing.push(track);
    }
    for (const track of mostRecent(standing, mostOwed(member.budget)))
      member.notices.push({ track }, ...openQuestions(track, since || Infinity));
  }

  /** The place to go on from is not known: what stands, what is missing, and what ended since, if that can be told. */
  #prefaceGap(member: Subscription, gap: GapReason, since = Infinity): GapReason {
    const heard = [...this.window.tracks.values()].filter((track) => member.view.hears(track));
    const lastOf = (track: SessionTrack) => track.entries.at(-1)?.entry.seq ?? 0;
    const missed = heard.filter((track) => !track.ended || lastOf(track) >= since);
    // Where nothing runs and nobody knows since when, how the last one ended is where things stand (SSE-06).
    if (missed.length === 0 && since === Infinity)
      missed.push(...heard.sort((a, b) => lastOf(a) - lastOf(b)).slice(-1));
    const known = { reason: gap, most: mostOwed(member.budget) };
    const notices = noticesOfGap(missed, since < Infinity ? { ...known, since } : known);
    for (const notice of notices) member.notices.push(notice);
    return gap;
  }
}

const isOpenQuestion = ({ track, event }: Piece): boolean =>
  track.questions.has((event as Question).reply_token);

/** The log places a cursor stands for: where to go on reading from, and the last one it has seen. */
const extent = (cursor: Cursor): [first: number, last: number] =>
  cursor.kind === "event" ? [cursor.seq + 1, cursor.seq] : [cursor.from.seq, cursor.to.seq];

/** Where someone stands in a lane who got this event last. */
function standAt(lane: Lane, cursor: Cursor): Required<Omit<Standpoint, "heard">> {
  if (cursor.kind === "event") {
    const next = cursor.seq + 1;
    return { place: lane.indexOf({ seq: next, sub: 0 }), run: undefined, index: 0, next };
  }
  const from = lane.indexOf(cursor.from);
  const place = lane.indexOf(cursor.to);
  const { seq } = cursor.to;
  const next = lane.piece(place)?.seq === seq ? seq : seq + 1;
  const run = place > from ? lane.between(from, place) : undefined;
  const index = cursor.index + 1;
  return run && index < run.deliveries.length
    ? { place, run, index, next }
    : { place, run: undefined, index: 0, next };
}
