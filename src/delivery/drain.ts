/** What the engine knows of one subscription: a place in its lane, a budget, a pace. Nothing here grows with the backlog. */
import type { Terms } from "../protocol/negotiate.ts";
import { type Budget, createBudget, mayAt, mayOwe, mostOwed, quietAfter, spend } from "./budget.ts";
import type { Piece } from "./cut.ts";
import { type Heard, unheard } from "./heard.ts";
import type { Delivery, Lane, Run, View } from "./lane.ts";
import { type LogWindow, type Marked, resolves, type SessionTrack } from "./log-window.ts";
import { deliveryOfNotice, type Notice, type NoticeContext, noticesOfGap } from "./notices.ts";

/** Where deliveries go. A promise means: wait until it settles before sending more. */
export interface Sink {
  send(delivery: Delivery): Promise<void> | undefined;
}

/** The subscriptions of one lane. */
export interface Group {
  readonly key: string;
  readonly lane: Lane;
  readonly members: Set<Subscription>;
  /** Those who are up to date and may send at once. */
  idle: Subscription[];
  /** How many pieces the lane may hold before somebody looks which are still needed. */
  held: number;
}

export class Subscription {
  group!: Group;
  place = 0;
  /** A run that was taken but not sent whole, and its next event. */
  run: Run | undefined;
  index = 0;
  /** What is told before anything else. Waits only for a blocked sink, so it is as long as what stands. */
  readonly notices: Notice[] = [];
  /** Set after a change of shape, until the new lane holds nothing that was heard before. */
  heard: Heard | undefined;
  /** Before this index of the lane the listener is catching up with what it had reached under the old shape. */
  settled = 0;
  quietUntil = -Infinity;
  blocked = false;
  /** New terms were agreed on while an event was on its way: nothing more goes out on the old ones. */
  changing = false;
  /** When the schedule will call; 0 if it will not. */
  wakeAt = 0;
  idle = false;
  /** Where it lies among the idle of its group, so that whoever leaves need not be searched for. */
  idleAt = 0;
  gone = false;
  /** So far behind that what it missed, from this log place on, is no longer held; 0 if it is not. */
  lost = 0;
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

  /** Nothing may be sent now. */
  get halted(): boolean {
    return this.blocked || this.gone || this.changing;
  }
}

/** One schedule for all subscriptions: whoever waits lies in the slot of its millisecond; slots are found by a heap. */
export class Schedule<Item> {
  readonly #slots = new Map<number, Item[]>();
  /** A binary heap of the slots in use. */
  readonly #times: number[] = [];

  /** Answers with the slot: an item may be added again, and whoever takes it can tell the valid appointment. */
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

  /** When something falls due next; Infinity if nothing waits. */
  get next(): number {
    return this.#times[0] ?? Infinity;
  }

  /** Takes everything that is due. */
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

/**
 * Draining: when a subscription may send it takes the run from its place; before a critical event it drains everything
 * first; when that is too much, it is told so and goes on from there (5.6.1; CON-06, CON-24).
 */

export interface DrainOptions {
  readonly window: LogWindow;
  readonly schedule: Schedule<Subscription>;
  readonly context: NoticeContext;
  /** Most events a slow subscription may be behind, merged as far as they can be. */
  readonly lag_bound: number;
  /** A sink that waited may be written to again. */
  readonly unblocked: (member: Subscription) => void;
  /** A sink failed. */
  readonly failed: (member: Subscription) => void;
}

export class Drain {
  readonly #options: DrainOptions;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** Says what is to be said first, what presses, then what may be sent. */
  goOn(member: Subscription, now: number, pressing?: (piece: Piece) => boolean): void {
    this.#tell(member, now);
    if (member.halted) return;
    this.flush(member, now, pressing);
    if (member.wakeAt === 0 && !member.idle) this.drain(member, now);
  }

  /** Sends what may be sent now, then waits for budget, pace, the socket, or news. */
  drain(member: Subscription, now: number): void {
    const { lane } = member.group;
    const { budget, limited } = member;
    while (!member.halted) {
      if (!member.run) {
        if (member.heard) this.#passHeard(member, lane);
        if (member.place >= lane.end) return this.#rest(member);
        if (member.lost > 0 || (limited && this.#lags(member, lane))) {
          this.#skip(member, lane.end, now);
          continue;
        }
      }
      if (limited && (member.run || !lane.piece(member.place)!.critical)) {
        const at = Math.max(mayAt(budget), member.quietUntil);
        if (at > now) {
          member.wakeAt = this.#options.schedule.add(member, at);
          return;
        }
      }
      if (!this.#sendNext(member, lane.end, now)) return this.#rest(member);
    }
  }

  /** Before a critical event everything that precedes it goes out, merged; then it goes, at once (CON-06). */
  flush(member: Subscription, now: number, pressing?: (piece: Piece) => boolean): void {
    if (member.halted) return;
    const { lane } = member.group;
    // What lies before the place the listener had reached under other terms was heard.
    const from = member.heard ? Math.max(member.place, member.settled) : member.place;
    if (member.lost > 0)
      this.#skip(member, lane.criticalsFrom(Math.max(from, lane.start))[0] ?? lane.end, now);
    const criticals = lane.criticalsFrom(Math.max(from, member.place));
    const last = pressing ? criticals.filter((at) => pressing(lane.piece(at)!)).at(-1) : criticals.at(-1);
    if (last === undefined) return;
    const most = this.#options.lag_bound;
    for (const critical of criticals) {
      if (critical > last || member.halted) return;
      const waiting = member.run ? member.run.deliveries.length - member.index : 0;
      const owed = waiting + lane.count(member.place, critical, most, member.heard);
      if (member.limited && (owed > most || !mayOwe(member.budget, owed, now)))
        this.#skip(member, critical, now);
      while (!member.halted && member.place <= critical) this.#sendNext(member, critical + 1, now);
    }
  }

  #lags(member: Subscription, lane: Lane): boolean {
    const bound = this.#options.lag_bound;
    if (member.heard) return lane.count(member.place, lane.end, bound, member.heard) > bound;
    return lane.backlog(member.place, lane.end) > bound;
  }

  /** Sends one event and accounts for it. A sink that fails takes nobody else along. */
  #send(member: Subscription, delivery: Delivery, now: number): void {
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

  #tell(member: Subscription, now: number): void {
    const { shape } = member.group.lane;
    while (member.notices.length > 0 && !member.halted) {
      const delivery = deliveryOfNotice(member.notices.shift()!, shape, this.#options.context);
      if (delivery) this.#send(member, delivery, now);
    }
  }

  /** The next event of the run at hand, or of the next one; false if there is none before `limit`. */
  #sendNext(member: Subscription, limit: number, now: number): boolean {
    if (!member.run) {
      member.run = this.#take(member, limit);
      member.index = 0;
      if (!member.run) return false;
    }
    const { deliveries } = member.run;
    const delivery = deliveries[member.index++]!;
    if (member.index === deliveries.length) member.run = undefined;
    this.#send(member, delivery, now);
    return true;
  }

  /** The next run from a subscription's place. */
  #take(member: Subscription, limit: number): Run | undefined {
    const { lane } = member.group;
    while (member.place < limit) {
      const { heard } = member;
      if (!heard) {
        const run = member.limited ? lane.take(member.place, limit) : lane.single(member.place);
        member.place = run.to;
        return run;
      }
      const late = member.place < member.settled;
      const to = late ? Math.min(limit, member.settled) : limit;
      const run = member.limited || late ? lane.take(member.place, to) : lane.single(member.place);
      member.place = run.to;
      const news = lane.news(run, heard, late);
      if (member.place >= lane.end) settle(member, lane);
      if (news) return news;
    }
    return undefined;
  }

  #passHeard(member: Subscription, lane: Lane): void {
    while (member.heard && member.place < lane.end && !unheard(lane.piece(member.place)!, member.heard))
      member.place++;
    if (member.heard && member.place >= lane.end) settle(member, lane);
  }

  #rest(member: Subscription): void {
    if (member.idle || member.gone) return;
    member.idle = true;
    member.idleAt = member.group.idle.push(member) - 1;
  }

  /** The lagging outcome: what is skipped is said, what stands is told, and what ended is known to have ended. */
  #skip(member: Subscription, to: number, now: number): void {
    const { lane } = member.group;
    const { window } = this.#options;
    const next = lane.piece(to)?.seq ?? window.next;
    const missed = new Set<SessionTrack>();
    if (member.lost > 0) {
      for (const track of window.tracks.values()) {
        if ((track.before(next)?.entry.seq ?? 0) >= member.lost && member.view.hears(track))
          missed.add(track);
      }
    }
    let since = member.lost || next;
    const outcomes: Marked[] = [];
    const miss = ({ seq, track }: Piece) => {
      missed.add(track);
      since = Math.min(since, seq);
      const marked = window.at(seq);
      if (marked?.entry.insist && resolves(marked.entry.event)) outcomes.push(marked);
    };
    for (const parts of member.run?.parts.slice(member.index) ?? []) parts.forEach(miss);
    for (let at = Math.max(member.place, lane.start); at < to; at++) {
      const piece = lane.piece(at)!;
      if (!member.heard || unheard(piece, member.heard)) miss(piece);
    }
    member.lost = 0;
    member.run = undefined;
    member.place = to;
    const most = mostOwed(member.budget);
    for (const notice of noticesOfGap(missed, { reason: "lagging", since, next, most, outcomes }))
      member.notices.push(notice);
    this.#tell(member, now);
  }
}

/** At the end of the lane only text that is not cut yet can still overlap with what was heard. */
function settle(member: Subscription, lane: Lane): void {
  const { texts } = member.heard!;
  const uncut = new Map(lane.uncut());
  for (const [output, floor] of texts) if ((uncut.get(output) ?? floor) >= floor) texts.delete(output);
  if (texts.size === 0) member.heard = undefined;
}
