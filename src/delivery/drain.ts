/**
 * Draining: a lane member (one subscription) sends the next run of pieces whenever its token bucket, pace and socket
 * allow it. Before a critical event it sends everything pending, coalesced; if that is too much, it skips ahead and
 * announces a gap (5.6.1; CON-06, CON-24). Backpressure: while a sink's promise is pending, nothing is sent and the
 * backlog stays a position in the lane.
 */
import type { Terms } from "../protocol/negotiate.ts";
import type { Piece } from "./cut.ts";
import { type Heard, unheard } from "./heard.ts";
import type { Lane, LaneDelivery, Run, View } from "./lane.ts";
import { type LogWindow, resolves, type SessionTrack, type TrackedEntry } from "./log-window.ts";
import { encodeNotice, gapNotices, type Notice, type NoticeContext } from "./notices.ts";

/** Where deliveries go. A returned promise is backpressure: nothing more is sent until it settles. */
export interface Sink {
  send(delivery: LaneDelivery): Promise<void> | undefined;
}

/** A lane and its members. */
export interface LaneGroup {
  readonly key: string;
  readonly lane: Lane;
  readonly members: Set<LaneMember>;
  /** Members that are up to date and may send at once. */
  idle: LaneMember[];
  /** How many pieces the lane may hold before unneeded ones are released. */
  held: number;
}

/** Delivery state of one subscription. Its size does not depend on the backlog. */
export class LaneMember {
  group!: LaneGroup;
  pieceIndex = 0;
  /** A run that was taken but not completely sent, and the index of its next event. */
  run: Run | undefined;
  runIndex = 0;
  /** Sent before anything else. Waits only for a blocked sink, so it is bounded by the number of sessions. */
  readonly notices: Notice[] = [];
  /** Set after a change of shape, until no piece of the new lane can overlap with what was delivered before. */
  heard: Heard | undefined;
  /** Before this lane index the member is catching up with what it had reached under the old shape. */
  catchUpEnd = 0;
  quietUntil = -Infinity;
  blocked = false;
  /** New terms were agreed on while a send was in progress: nothing more is sent under the old ones. */
  renegotiating = false;
  /** Scheduled wake-up time; 0 if none. */
  wakeAt = 0;
  idle = false;
  /** Its index in the idle list of its group, so that removal needs no search. */
  idleAt = 0;
  detached = false;
  /** The first log position it missed, if it is so far behind that its pieces were released; else 0. */
  lostFrom = 0;
  budget: Budget;
  pace: number | undefined;
  readonly sink: Sink;
  readonly view: View;

  constructor(sink: Sink, view: View, terms: Terms) {
    this.sink = sink;
    this.view = view;
    this.budget = createBudget(terms.max_events_per_second);
    this.pace = terms.pace_wpm;
  }

  get limited(): boolean {
    return this.budget.interval > 0 || this.pace !== undefined;
  }

  /** Whether sending is suspended. */
  get halted(): boolean {
    return this.blocked || this.detached || this.renegotiating;
  }
}

/** A timer queue for all members: one slot per millisecond, ordered by a binary heap. */
export class Schedule<Item> {
  readonly #slots = new Map<number, Item[]>();
  /** A binary heap of the times in use. */
  readonly #times: number[] = [];

  /** Returns the slot's time. An item may be added more than once; the caller compares times to find the valid one. */
  add(item: Item, at: number): number {
    const time = Math.max(1, Math.ceil(at));
    const slot = this.#slots.get(time);
    if (slot) slot.push(item);
    else {
      this.#slots.set(time, [item]);
      this.#push(time);
    }
    return time;
  }

  /** The time of the first slot; Infinity if there is none. */
  get next(): number {
    return this.#times[0] ?? Infinity;
  }

  /** Removes and returns everything that is due. */
  *due(now: number): Iterable<[item: Item, at: number]> {
    while (this.next <= now) {
      const time = this.#pop();
      const slot = this.#slots.get(time)!;
      this.#slots.delete(time);
      for (const item of slot) yield [item, time];
    }
  }

  #push(time: number): void {
    const heap = this.#times;
    let at = heap.push(time) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= time) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = time;
  }

  #pop(): number {
    const heap = this.#times;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
        if (heap[child]! >= last) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
    }
    return top;
  }
}

interface DrainOptions {
  readonly window: LogWindow;
  readonly schedule: Schedule<LaneMember>;
  readonly context: NoticeContext;
  /** Most events a slow subscription may be behind, merged as far as they can be. */
  readonly lagBound: number;
  /** A sink is ready again after backpressure. */
  readonly unblocked: (member: LaneMember) => void;
  /** A sink failed. */
  readonly failed: (member: LaneMember) => void;
}

export class Drain {
  readonly #options: DrainOptions;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** Sends notices first, then urgent pieces, then what the rate limit allows. */
  proceed(member: LaneMember, now: number, urgent?: (piece: Piece) => boolean): void {
    this.#sendNotices(member, now);
    if (member.halted) return;
    this.flush(member, now, urgent);
    if (member.wakeAt === 0 && !member.idle) this.drain(member, now);
  }

  /** Sends what may be sent now, then waits for the token bucket, pace, the socket, or new entries. */
  drain(member: LaneMember, now: number): void {
    const { lane } = member.group;
    const { budget, limited } = member;
    while (!member.halted) {
      if (!member.run) {
        if (member.heard) this.#skipHeard(member, lane);
        if (member.pieceIndex >= lane.end) return this.#markIdle(member);
        if (member.lostFrom > 0 || (limited && this.#lags(member, lane))) {
          this.#skip(member, lane.end, now);
          continue;
        }
      }
      if (limited && (member.run || !lane.piece(member.pieceIndex)!.critical)) {
        const at = Math.max(nextSendAt(budget), member.quietUntil);
        if (at > now) {
          member.wakeAt = this.#options.schedule.add(member, at);
          return;
        }
      }
      if (!this.#sendNext(member, lane.end, now)) return this.#markIdle(member);
    }
  }

  /** Sends a critical event at once, and before it everything that precedes it, coalesced (CON-06). */
  flush(member: LaneMember, now: number, urgent?: (piece: Piece) => boolean): void {
    if (member.halted) return;
    const { lane } = member.group;
    // Pieces before the position reached under the old terms were delivered already.
    const from = member.heard ? Math.max(member.pieceIndex, member.catchUpEnd) : member.pieceIndex;
    if (member.lostFrom > 0)
      this.#skip(member, lane.criticalsFrom(Math.max(from, lane.start))[0] ?? lane.end, now);
    const criticals = lane.criticalsFrom(Math.max(from, member.pieceIndex));
    const last = urgent ? criticals.filter((at) => urgent(lane.piece(at)!)).at(-1) : criticals.at(-1);
    if (last === undefined) return;
    const most = this.#options.lagBound;
    for (const critical of criticals) {
      if (critical > last || member.halted) return;
      const waiting = member.run ? member.run.deliveries.length - member.runIndex : 0;
      const owed = waiting + lane.count(member.pieceIndex, critical, most, member.heard);
      if (member.limited && (owed > most || !allowsBurst(member.budget, owed, now)))
        this.#skip(member, critical, now);
      while (!member.halted && member.pieceIndex <= critical) this.#sendNext(member, critical + 1, now);
    }
  }

  #lags(member: LaneMember, lane: Lane): boolean {
    const bound = this.#options.lagBound;
    if (member.heard) return lane.count(member.pieceIndex, lane.end, bound, member.heard) > bound;
    return lane.backlog(member.pieceIndex, lane.end) > bound;
  }

  /** Sends one event and charges it to rate limit and pace. A failing sink affects only its own member. */
  #send(member: LaneMember, delivery: LaneDelivery, now: number): void {
    if (!delivery.critical && member.budget.interval > 0) spend(member.budget, now);
    if (member.pace !== undefined)
      member.quietUntil = quietAfter(member.quietUntil, delivery.words, member.pace, now);
    let wait: Promise<void> | undefined;
    try {
      wait = member.sink.send(delivery);
    } catch {
      return this.#options.failed(member);
    }
    if (wait === undefined) return;
    member.blocked = true;
    wait.then(
      () => {
        member.blocked = false;
        this.#options.unblocked(member);
      },
      () => this.#options.failed(member),
    );
  }

  #sendNotices(member: LaneMember, now: number): void {
    const { shape } = member.group.lane;
    while (member.notices.length > 0 && !member.halted) {
      const delivery = encodeNotice(member.notices.shift()!, shape, this.#options.context);
      if (delivery) this.#send(member, delivery, now);
    }
  }

  /** Sends the next event of the current or next run; false if there is none before `limit`. */
  #sendNext(member: LaneMember, limit: number, now: number): boolean {
    if (!member.run) {
      member.run = this.#take(member, limit);
      member.runIndex = 0;
      if (!member.run) return false;
    }
    const { deliveries } = member.run;
    const delivery = deliveries[member.runIndex++]!;
    if (member.runIndex === deliveries.length) member.run = undefined;
    this.#send(member, delivery, now);
    return true;
  }

  /** Takes the next run. */
  #take(member: LaneMember, limit: number): Run | undefined {
    const { lane } = member.group;
    while (member.pieceIndex < limit) {
      const { heard } = member;
      if (!heard) {
        const run = member.limited ? lane.take(member.pieceIndex, limit) : lane.single(member.pieceIndex);
        member.pieceIndex = run.to;
        return run;
      }
      const late = member.pieceIndex < member.catchUpEnd;
      const to = late ? Math.min(limit, member.catchUpEnd) : limit;
      const run = member.limited || late ? lane.take(member.pieceIndex, to) : lane.single(member.pieceIndex);
      member.pieceIndex = run.to;
      const fresh = lane.unheardPart(run, heard, late);
      if (member.pieceIndex >= lane.end) settle(member, lane);
      if (fresh) return fresh;
    }
    return undefined;
  }

  #skipHeard(member: LaneMember, lane: Lane): void {
    while (
      member.heard &&
      member.pieceIndex < lane.end &&
      !unheard(lane.piece(member.pieceIndex)!, member.heard)
    )
      member.pieceIndex++;
    if (member.heard && member.pieceIndex >= lane.end) settle(member, lane);
  }

  #markIdle(member: LaneMember): void {
    if (member.idle || member.detached) return;
    member.idle = true;
    member.idleAt = member.group.idle.push(member) - 1;
  }

  /** The "lagging" outcome: skips ahead and announces the gap, a summary, open questions, and sessions that ended. */
  #skip(member: LaneMember, to: number, now: number): void {
    const { lane } = member.group;
    const { window } = this.#options;
    const next = lane.piece(to)?.seq ?? window.next;
    const missed = new Set<SessionTrack>();
    if (member.lostFrom > 0) {
      for (const track of window.tracks.values()) {
        if ((track.before(next)?.entry.seq ?? 0) >= member.lostFrom && member.view.hears(track))
          missed.add(track);
      }
    }
    let since = member.lostFrom || next;
    const outcomes: TrackedEntry[] = [];
    const miss = ({ seq, track }: Piece) => {
      missed.add(track);
      since = Math.min(since, seq);
      const tracked = window.at(seq);
      if (tracked?.entry.required && resolves(tracked.entry.event)) outcomes.push(tracked);
    };
    for (const parts of member.run?.parts.slice(member.runIndex) ?? []) parts.forEach(miss);
    for (let at = Math.max(member.pieceIndex, lane.start); at < to; at++) {
      const piece = lane.piece(at)!;
      if (!member.heard || unheard(piece, member.heard)) miss(piece);
    }
    member.lostFrom = 0;
    member.run = undefined;
    member.pieceIndex = to;
    const most = maxBurst(member.budget);
    for (const notice of gapNotices(missed, { reason: "lagging", since, next, most, outcomes }))
      member.notices.push(notice);
    this.#sendNotices(member, now);
  }
}

/** At the end of the lane only text that is not cut yet can still overlap with what was delivered before. */
function settle(member: LaneMember, lane: Lane): void {
  const { texts } = member.heard!;
  const uncut = new Map(lane.uncut());
  for (const [output, floor] of texts) if ((uncut.get(output) ?? floor) >= floor) texts.delete(output);
  if (texts.size === 0) member.heard = undefined;
}

/**
 * When a subscription may send (5.6.1; CON-06, CON-23): its rate limit, a token bucket stored as the time the next
 * event is due instead of a counter, and its pace, which leaves time to speak what was sent last. Times are monotonic
 * milliseconds.
 */
export interface Budget {
  /** Milliseconds between two events; 0 if unlimited. */
  readonly interval: number;
  /** How early an event may be sent: bucket depth 1, or 10 ms worth of events above 100 per second. */
  readonly slack: number;
  /** How far a flush before a critical event may overdraw the bucket. */
  readonly debt: number;
  /** When the next event is due. */
  due: number;
}

export function createBudget(rate: number): Budget {
  if (rate === Infinity) return { interval: 0, slack: 0, debt: Infinity, due: -Infinity };
  const interval = 1000 / rate;
  const depth = Math.max(1, rate / 100);
  return { interval, slack: (depth - 1) * interval, debt: Math.max(5, rate) * interval, due: -Infinity };
}

export const nextSendAt = (budget: Budget): number => budget.due - budget.slack;

export function spend(budget: Budget, now: number): void {
  budget.due = (budget.due > now ? budget.due : now) + budget.interval;
}

/** Whether `count` events may be sent at once before a critical one without overdrawing the bucket too far. */
export const allowsBurst = (budget: Budget, count: number, now: number): boolean =>
  budget.interval === 0 ||
  Math.max(budget.due, now) + count * budget.interval - now <= budget.debt + budget.interval;

/** Most events in such a burst: also the most sessions summarized at once. */
export const maxBurst = ({ interval, debt }: Budget): number =>
  interval === 0 ? Infinity : Math.round(debt / interval);

/** Upper bound of a pause, however long the text (CON-23). */
export const LONGEST_PAUSE_MS = 30_000;

const UNSPACED =
  /(?!\p{M})[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/** Counts words to be spoken: by spaces, and two characters per word in scripts without spaces. */
export function countWords(text: string): number {
  let words = 0;
  let inside = false;
  let beyondLatin = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const space = unit <= 32 || unit === 0xa0 || unit === 0x3000;
    if (!space && !inside) words++;
    inside = !space;
    if (unit >= 0xe00) beyondLatin = true;
  }
  if (!beyondLatin) return words;
  const unspaced = text.match(UNSPACED)?.length ?? 0;
  return unspaced === 0 ? words : Math.max(words, Math.ceil(unspaced / 2));
}

/** A flush or a long text may add up speaking time: the upper bound holds for the sum as well (CON-23). */
export const quietAfter = (quietUntil: number, words: number, wordsPerMinute: number, now: number): number =>
  Math.min(now + LONGEST_PAUSE_MS, Math.max(now, quietUntil) + speakingTime(words, wordsPerMinute));

const speakingTime = (words: number, wordsPerMinute: number): number =>
  Math.min(LONGEST_PAUSE_MS, (words / wordsPerMinute) * 60_000);
