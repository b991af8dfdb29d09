/**
 * Draining: each subscription holds a place in its lane, a budget and a pace. When it may send it takes the run from
 * its place; before a critical event it drains everything first; when that is too much, it is told so and goes on from
 * there (5.6.1; CON-06, CON-24). One schedule serves them all. The clock is passed in.
 */
import type { Ids } from "../protocol/ids.ts";
import type { Terms } from "../protocol/terms.ts";
import { createBudget, mayAt, mayOwe, speakingTime, spend } from "./budget.ts";
import { type Cursor, decodeId } from "./cursor.ts";
import type { Piece } from "./cut.ts";
import type { LogEntry, LogIdentity } from "./entry.ts";
import { type Heard, heardAt, heardAtLeast, trim, unheard } from "./heard.ts";
import { type Delivery, deliveryOf, Lane, type Run, type View } from "./lane.ts";
import { ENGLISH_WORDS, type GapReason, type NoticeContext, type NoticeWords, openQuestions, standing } from "./notices.ts";
import { Schedule } from "./schedule.ts";
import { dress, type ExtensionRegistry, type Shape, shapeOf } from "./shape.ts";
import { type Group, type Sink, Subscription } from "./subscription.ts";
import { isTerminal, type Question, type SessionTrack } from "./track.ts";
import { LogWindow } from "./window.ts";

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
  /** Go on after this event. The terms it was delivered under make the place exact even under new ones. */
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
  readonly #context: NoticeContext;
  readonly #lagBound: number;
  readonly #groups = new Map<string, Group>();
  readonly #schedule = new Schedule<Subscription>();
  readonly #inbox: LogEntry[] = [];
  #busy = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#registry = options.registry ?? {};
    this.#lagBound = options.lag_bound ?? 256;
    this.window = new LogWindow(options.window);
    const { ids, timestamp, words = ENGLISH_WORDS } = options;
    this.#context = { ids, timestamp, registry: this.#registry, words };
  }

  /** Entries the log has acknowledged, in order. What may go goes now; critical events always may. */
  append(entries: readonly LogEntry[]): void {
    this.#inbox.push(...entries);
    // A sink may answer at once and cause the next entry: it waits its turn, so that everyone keeps the same order.
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#inbox.length > 0) this.#feed(this.#inbox.splice(0));
    } finally {
      this.#busy = false;
    }
  }

  /** When the schedule wants to be run next; Infinity if nobody waits. */
  get next(): number {
    return this.#schedule.next;
  }

  run(): void {
    const now = this.#options.now();
    for (const [member, at] of this.#schedule.due(now)) {
      // New terms may have moved the appointment: an old one is void.
      if (member.gone || member.wakeAt !== at) continue;
      member.wakeAt = 0;
      this.#drain(member, now);
    }
  }

  attach({ sink, terms, view, resume }: AttachOptions): Attachment {
    const now = this.#options.now();
    const member = new Subscription(sink, view, terms);
    this.#join(member, shapeOf(terms, this.#registry));
    member.place = member.group.lane.end;
    let start: Attachment["start"] = "joined";
    let since: number | undefined;
    if (resume) {
      const cursor = this.#read(resume.event_id);
      if (typeof cursor === "string") start = cursor;
      else {
        start = "resumed";
        since = cursor.kind === "event" ? cursor.seq + 1 : cursor.from.seq;
        this.#place(member, cursor, resume.previous && shapeOf(resume.previous, this.#registry));
      }
    }
    this.#preface(member, start === "joined" || start === "resumed" ? undefined : start, since, now);
    this.#goOn(member, now, isOpenQuestion);
    return {
      start,
      renegotiate: (changed) => this.#renegotiate(member, changed),
      standing: (session_id) => this.#preface(member, undefined, undefined, this.#options.now(), session_id),
      detach: () => this.#detach(member),
    };
  }

  #feed(entries: readonly LogEntry[]): void {
    const marked = entries.map((entry) => this.window.append(entry));
    const now = this.#options.now();
    for (const group of this.#groups.values()) {
      const { lane } = group;
      const before = lane.end;
      for (const entry of marked) lane.push(entry);
      if (lane.end === before) continue;
      if (lane.criticalsFrom(before).length > 0) for (const member of group.members) this.#flush(member, now);
      const ready = group.idle;
      group.idle = [];
      for (const member of ready) {
        member.idle = false;
        this.#drain(member, now);
      }
      if (lane.end - lane.start > 2 * MOST_HELD) this.#forget(group);
    }
  }

  #join(member: Subscription, shape: Shape): void {
    const key = `${member.view.key}\n${shape.key}`;
    let group = this.#groups.get(key);
    if (!group) {
      const lane = new Lane(member.view, shape, this.#options.log, this.window, this.window.next);
      group = { key, lane, members: new Set(), idle: [] };
      this.#groups.set(key, group);
    }
    group.members.add(member);
    member.group = group;
  }

  #leave(member: Subscription): void {
    const { group } = member;
    group.members.delete(member);
    if (member.idle) group.idle = group.idle.filter((other) => other !== member);
    member.idle = false;
    if (group.members.size === 0) this.#groups.delete(group.key);
  }

  #detach(member: Subscription): void {
    if (member.gone) return;
    member.gone = true;
    this.#leave(member);
  }

  #forget({ lane, members }: Group): void {
    let needed = lane.end;
    for (const member of members) {
      const place = member.run ? member.run.from : member.place;
      if (lane.end - place > MOST_HELD) member.lost = true;
      else needed = Math.min(needed, place);
    }
    lane.forget(needed);
  }

  #read(event_id: string): Cursor | GapReason {
    const cursor = decodeId(this.#options.log, event_id);
    if (typeof cursor === "string") return cursor;
    const [first, last] = cursor.kind === "event" ? [cursor.seq + 1, cursor.seq] : [cursor.from.seq, cursor.to.seq];
    if (last >= this.window.next) return "forged";
    return first < this.window.first ? "aged" : cursor;
  }

  /** Puts a subscription right after a delivered event. */
  #place(member: Subscription, cursor: Cursor, previous: Shape | undefined): void {
    const { lane } = member.group;
    const { shape } = lane;
    const tag = cursor.kind === "run" ? cursor.tag : undefined;
    if ((previous ? previous.key === shape.key : true) && (tag === undefined || tag === shape.tag)) {
      const { place, run, index } = standAt(lane, cursor);
      member.place = place;
      member.run = run;
      member.index = index;
      return;
    }
    let heard: Heard;
    if (previous && (tag === undefined || tag === previous.tag)) {
      const old = new Lane(member.view, previous, this.#options.log, this.window, this.window.next);
      const { place, run, index } = standAt(old, cursor);
      heard = heardAt(old, place, run, index, this.window.next);
    } else {
      const seq = cursor.kind === "run" ? cursor.from.seq : cursor.seq + 1;
      heard = heardAtLeast(this.window, seq, (track) => member.view.hears(track));
    }
    this.#restart(member, heard);
  }

  /** Starts where the new lane may hold something unheard, a little before the old place. */
  #restart(member: Subscription, heard: Heard): void {
    const { lane } = member.group;
    member.place = lane.indexOf({ seq: this.window.floor(heard.before), sub: 0 });
    member.run = undefined;
    member.index = 0;
    member.heard = heard;
    member.settled = lane.end;
  }

  #renegotiate(member: Subscription, terms: Terms): void {
    if (member.gone) return;
    const now = this.#options.now();
    const shape = shapeOf(terms, this.#registry);
    const { due } = member.budget;
    member.budget = createBudget(terms.max_events_per_second);
    member.budget.due = Math.min(due, now + member.budget.debt + member.budget.interval);
    member.pace = terms.pace_wpm;
    if (member.pace === undefined) member.quietUntil = -Infinity;
    member.wakeAt = 0;
    const { lane } = member.group;
    if (shape.key !== lane.shape.key) {
      const heard = heardAt(lane, member.place, member.run, member.index, this.window.next);
      // Changed twice before the first change settled: what was heard before both still counts.
      if (member.heard) for (const [output, start] of member.heard.texts) heard.texts.set(output, Math.max(start, heard.texts.get(output) ?? 0));
      this.#leave(member);
      this.#join(member, shape);
      this.#restart(member, heard);
    }
    if (member.idle) return;
    this.#goOn(member, now);
  }

  /** What stands, before anything that happens: on joining, on coming back, and after a gap (CON-16). */
  #preface(member: Subscription, gap: GapReason | undefined, since: number | undefined, now: number, only?: string): void {
    const { shape } = member.group.lane;
    for (const track of this.window.tracks.values()) {
      if (track.ended || !member.view.hears(track) || (only !== undefined && track.session_id !== only)) continue;
      // A session that begins after the cursor is heard from its start.
      if (since !== undefined && (track.entries[0]?.entry.seq ?? 0) >= since) continue;
      if (gap || shape.passes("aaep:agent.state.changed")) this.#send(member, standing(track, shape, this.#context, gap), now);
      for (const question of openQuestions(track, shape, since)) this.#send(member, question, now);
    }
  }

  /** Sends one event and accounts for it. A sink that fails takes nobody else along. */
  #send(member: Subscription, delivery: Delivery, now: number): void {
    if (!delivery.critical && member.budget.interval > 0) spend(member.budget, now);
    if (member.pace !== undefined) member.quietUntil = Math.max(now, member.quietUntil) + speakingTime(delivery.words, member.pace);
    let wait: Promise<void> | undefined;
    try {
      wait = member.sink.send(delivery);
    } catch {
      return this.#detach(member);
    }
    if (wait === undefined) return;
    member.blocked = true;
    wait.then(
      () => {
        member.blocked = false;
        this.#goOn(member, this.#options.now());
      },
      () => this.#detach(member),
    );
  }

  #goOn(member: Subscription, now: number, pressing?: (piece: Piece) => boolean): void {
    if (member.gone) return;
    this.#flush(member, now, pressing);
    if (member.wakeAt === 0 && !member.idle) this.#drain(member, now);
  }

  /** The next run from a subscription's place, less what it heard under another shape. */
  #take(member: Subscription, limit: number): Run | undefined {
    const { lane } = member.group;
    while (member.heard && member.place < Math.min(limit, member.settled)) {
      const index = member.place++;
      const piece = lane.piece(index)!;
      const rest = unheard(piece, member.heard);
      if (rest) return rest === piece ? lane.single(index) : lane.trimmed(index, [rest]);
    }
    if (member.place >= limit) return undefined;
    const run = member.limited ? lane.take(member.place, limit) : lane.single(member.place);
    member.place = run.to;
    return member.heard ? this.#trim(member, member.heard, run) : run;
  }

  /** Past the settled part only text that was cut across the change can still overlap. */
  #trim(member: Subscription, { texts }: Heard, run: Run): Run {
    const { lane } = member.group;
    let touched = false;
    const pieces: Piece[] = [];
    for (let index = run.from; index < run.to; index++) {
      const piece = lane.piece(index)!;
      const floor = piece.text && texts.get(piece.text.output);
      const overlaps = floor !== undefined && piece.text!.start < floor;
      touched ||= overlaps;
      pieces.push(overlaps ? trim(piece, floor) : piece);
      if (floor !== undefined && piece.text!.start + piece.text!.text.length >= floor) texts.delete(piece.text!.output);
    }
    if (texts.size > 0) {
      // An output the new lane has nothing uncut of cannot overlap any more.
      const uncut = new Map(lane.uncut());
      for (const [output, floor] of texts) if (run.to >= lane.end && (uncut.get(output) ?? floor) >= floor) texts.delete(output);
    }
    if (texts.size === 0) member.heard = undefined;
    return touched ? lane.trimmed(run.from, pieces) : run;
  }

  /** Sends what may be sent now, then waits for budget, pace, the socket, or news. */
  #drain(member: Subscription, now: number): void {
    const { lane } = member.group;
    const { budget, limited } = member;
    while (!member.blocked && !member.gone) {
      if (!member.run) {
        if (member.place >= lane.end) return this.#rest(member);
        if (member.lost || (limited && lane.backlog(member.place, lane.end) > this.#lagBound)) {
          this.#skip(member, lane.end, now);
          continue;
        }
      }
      if (limited && (member.run || !lane.piece(member.place)!.critical)) {
        const at = Math.max(mayAt(budget), member.quietUntil);
        if (at > now) {
          member.wakeAt = this.#schedule.add(member, at);
          return;
        }
      }
      if (!this.#sendNext(member, lane.end, now)) return this.#rest(member);
    }
  }

  /** The next event of the run at hand, or of the next one; false if there is none before `limit`. */
  #sendNext(member: Subscription, limit: number, now: number): boolean {
    if (!member.run || member.index >= member.run.deliveries.length) {
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

  #rest(member: Subscription): void {
    if (member.idle || member.gone) return;
    member.idle = true;
    member.group.idle.push(member);
  }

  /** Before a critical event everything that precedes it goes out, merged; then it goes, at once (CON-06). */
  #flush(member: Subscription, now: number, pressing?: (piece: Piece) => boolean): void {
    const { lane } = member.group;
    if (member.lost && !member.blocked) this.#skip(member, lane.criticalsFrom(lane.start)[0] ?? lane.end, now);
    const criticals = lane.criticalsFrom(member.place);
    const last = pressing ? criticals.filter((at) => pressing(lane.piece(at)!)).at(-1) : criticals.at(-1);
    if (last === undefined) return;
    for (const critical of criticals) {
      if (critical > last || member.blocked || member.gone) return;
      if (critical < member.place) continue;
      const most = this.#lagBound;
      const owed = (member.run ? member.run.deliveries.length - member.index : 0) + lane.count(member.place, critical, most);
      if (member.limited && (owed > most || !mayOwe(member.budget, owed, now))) this.#skip(member, critical, now);
      while (!member.blocked && !member.gone && (member.run || member.place < critical)) {
        if (!this.#sendNext(member, critical, now)) break;
      }
      if (member.blocked || member.gone) return;
      member.place = critical + 1;
      this.#send(member, lane.single(critical).deliveries[0]!, now);
    }
  }

  /** The lagging outcome: what is skipped is said, what stands is told, and what ended is known to have ended. */
  #skip(member: Subscription, to: number, now: number): void {
    const { lane } = member.group;
    const from = member.run ? member.run.from : member.place;
    const touched = new Map<SessionTrack, Piece | undefined>();
    if (member.lost) for (const track of this.window.tracks.values()) if (!track.ended && member.view.hears(track)) touched.set(track, undefined);
    for (let at = Math.max(from, lane.start); at < to; at++) {
      const piece = lane.piece(at)!;
      touched.set(piece.track, isTerminal(piece.event.type) ? piece : undefined);
    }
    member.lost = false;
    member.run = undefined;
    member.index = 0;
    member.place = to;
    member.heard = undefined;
    const next = lane.piece(to)?.seq;
    for (const [track, terminal] of touched) {
      this.#send(member, standing(track, lane.shape, this.#context, "lagging"), now);
      for (const question of openQuestions(track, lane.shape, next)) this.#send(member, question, now);
      const marked = terminal && this.window.at(terminal.seq);
      const event = marked && dress(marked.entry, lane.shape, marked.variants);
      if (event) this.#send(member, deliveryOf(event as unknown as Record<string, unknown>, event.event_id, terminal!.critical, false), now);
    }
  }
}

const isOpenQuestion = ({ track, event }: Piece): boolean => track.questions.has((event as Question).reply_token);

/** Where someone stands in a lane who got this event last. */
function standAt(lane: Lane, cursor: Cursor): { place: number; run: Run | undefined; index: number } {
  if (cursor.kind === "event") return { place: lane.indexOf({ seq: cursor.seq + 1, sub: 0 }), run: undefined, index: 0 };
  const from = lane.indexOf(cursor.from);
  const to = lane.indexOf(cursor.to);
  if (to <= from) return { place: to, run: undefined, index: 0 };
  const run = lane.between(from, to);
  const index = cursor.index + 1;
  return index < run.deliveries.length ? { place: to, run, index } : { place: to, run: undefined, index: 0 };
}
