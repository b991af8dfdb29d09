/**
 * A lane is one view of the log under one shape: the pieces its subscriptions get, in log order, and the bytes of the
 * runs they take, made once and shared. A view is the set of sessions a subscription hears; lanes of different views
 * share nothing (SEC-15).
 */

import type { AgentEvent } from "../protocol/types.ts";
import { countWords } from "./budget.ts";
import { eventOf, Grouping, groupsOf } from "./coalesce.ts";
import {
  comparePlaces,
  encodeEventId,
  encodeRetoldId,
  encodeRunId,
  type Place,
  seal,
  TAG_LENGTH,
} from "./cursor.ts";
import { Cutter, type Piece } from "./cut.ts";
import type { LogIdentity } from "./entry.ts";
import { type Heard, unheard } from "./heard.ts";
import {
  isTerminal,
  type LogWindow,
  type Marked,
  type OutputTrack,
  type SessionTrack,
} from "./log-window.ts";
import type { Shape } from "./shape.ts";

export interface View {
  /** Equal keys, equal sessions. */
  readonly key: string;
  hears(track: SessionTrack): boolean;
}

/** One event on its way: the bytes are made once, however many get it. */
export interface Delivery {
  readonly event_id: string;
  readonly json: string;
  readonly critical: boolean;
  /** Words a voice would speak, for pacing. */
  readonly words: number;
  /** False for summaries and re-sent questions: they never move a cursor. */
  readonly cursor: boolean;
  /** The question this delivery asks, where it asks one: only who was sent it may answer. */
  readonly token?: string;
  /** A transport may keep its framed bytes here, so that they too are made once. */
  frame?: unknown;
}

export interface Run {
  readonly from: number;
  readonly to: number;
  readonly deliveries: readonly Delivery[];
  /** The pieces each delivery was made of. */
  readonly parts: readonly (readonly Piece[])[];
}

const SPOKEN = { terse: "summary_terse", normal: "summary_normal", detailed: "summary_detailed" } as const;

export function deliveryOf(
  event: Record<string, unknown>,
  event_id: string,
  critical: boolean,
  cursor = true,
): Delivery {
  const summary = event[SPOKEN[event["verbosity"] as keyof typeof SPOKEN]] ?? event["summary_normal"];
  const spoken = event["chunk"] ?? summary ?? "";
  const json = JSON.stringify(event["event_id"] === event_id ? event : { ...event, event_id });
  const words = typeof spoken === "string" ? countWords(spoken) : 0;
  const token = event["reply_token"];
  return typeof token === "string"
    ? { event_id, json, critical, words, cursor, token }
    : { event_id, json, critical, words, cursor };
}

/** What all chunks of an output share, as text: written once for every shape, every sentence and every token. */
interface Envelope {
  /** Up to the value of `event_id`. */
  readonly text: string;
  /** All fields in their order, and their values; those of a chunk's own are not looked at. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}
const envelopes = new WeakMap<OutputTrack, Envelope>();
const OWN = ["event_id", "timestamp", "chunk", "position", "complete", "coalesce_hint"];
const ANY = Symbol("any");

function envelopeOf(output: OutputTrack, given: AgentEvent): string {
  const event = given as unknown as Record<string, unknown>;
  const known = envelopes.get(output);
  if (known && fits(known, event)) return known.text;
  const shared = { ...event };
  for (const name of OWN) shared[name] = undefined;
  const text = `${JSON.stringify(shared).slice(0, -1)},"event_id":"`;
  const names = Object.keys(event);
  const values = names.map((name) => (OWN.includes(name) ? ANY : event[name]));
  envelopes.set(output, { names, values, text });
  return text;
}

/** Objects must be the very same, which those of one session are. */
function fits({ names, values }: Envelope, event: Record<string, unknown>): boolean {
  let at = 0;
  for (const name in event) {
    const value = values[at];
    if (name !== names[at++] || (value !== ANY && value !== event[name])) return false;
  }
  return at === names.length;
}

/** Many chunks share their time. */
let stamp = { timestamp: "", json: "" };
const stampOf = (timestamp: string): string => {
  if (timestamp !== stamp.timestamp)
    stamp = { timestamp, json: `","timestamp":${JSON.stringify(timestamp)},"chunk":` };
  return stamp.json;
};
const GOES_ON = `,"complete":false,"coalesce_hint":"none"}`;

/** As `deliveryOf`, for text, which is most of what is sent. */
function textDelivery(parts: readonly Piece[], event_id: string): Delivery {
  const first = parts[0]!;
  const { event, text } = parts.at(-1)!;
  const { output, timestamp, complete, hint } = text!;
  const chunk = parts.length === 1 ? text!.text : parts.map((part) => part.text!.text).join("");
  const rest = hint === "none" && !complete ? GOES_ON : `,"complete":${complete},"coalesce_hint":"${hint}"}`;
  const json =
    envelopeOf(output, event) +
    event_id +
    stampOf(timestamp) +
    JSON.stringify(chunk) +
    `,"position":${first.text!.position}` +
    rest;
  return { event_id, json, critical: first.critical, words: countWords(chunk), cursor: true };
}

const MOST_RUNS = 512;
const LONGEST_RUN = 65_536;
const NONE: readonly number[] = Object.freeze([]);

/** How many sent pieces a lane remembers for those who come back; further back it reads the log again. */
const REMEMBERED = 64;
/** How many encoded pieces are kept: those that several listeners take one after the other. */
const RECENT = 32;

/** Names view and shape in short, for ids: under another view a run holds other events, in other places. */
export const tagOf = (view: View, shape: Shape): string =>
  seal(`${view.key}\n${shape.key}`, 0).slice(0, TAG_LENGTH);

export class Lane {
  readonly view: View;
  readonly shape: Shape;
  readonly tag: string;
  readonly #log: LogIdentity;
  readonly #window: LogWindow;
  readonly #cutters = new Map<SessionTrack, Cutter>();
  #pieces: Piece[] = [];
  readonly #singles = new Array<Run | undefined>(RECENT).fill(undefined);
  /** Groups a single merged run would have up to each piece: the size of a backlog by subtraction. */
  #groups: number[] = [];
  #grouping = new Grouping();
  #base = 0;
  /** Runs by start and length: with many listeners at the same place, most ask for the same few. */
  readonly #runs = new Map<number, Run>();
  #criticals: number[] = [];

  constructor(view: View, shape: Shape, log: LogIdentity, window: LogWindow, at: number) {
    this.view = view;
    this.shape = shape;
    this.tag = tagOf(view, shape);
    this.#log = log;
    this.#window = window;
    // Whoever joins mid-sentence hears the whole sentence: read the open text, keep nothing that was already cut.
    for (const marked of window.from(window.floor(at, shape.level), at)) this.#cut(marked, this.#cutters);
  }

  get start(): number {
    return this.#base;
  }
  get end(): number {
    return this.#base + this.#pieces.length;
  }

  /** The critical pieces at or after an index. */
  criticalsFrom(index: number): readonly number[] {
    const { length } = this.#criticals;
    if (length === 0 || this.#criticals[length - 1]! < index) return NONE;
    return this.#criticals.slice(this.#criticals.findIndex((at) => at >= index));
  }

  push(marked: Marked): void {
    for (const piece of this.#cut(marked, this.#cutters)) this.#add(piece);
  }

  piece(index: number): Piece | undefined {
    return this.#pieces[index - this.#base];
  }

  /** About how many events a backlog would be, by subtraction: exact enough to notice that somebody lags. */
  backlog(from: number, to: number): number {
    const at = (index: number) =>
      this.#groups[index - this.#base - 1] ?? (index <= this.#base ? (this.#groups[0] ?? 1) - 1 : 0);
    return to <= from ? 0 : at(to) - at(from);
  }

  /** Exactly how many events the runs of a stretch would be, counted no further than `most`. */
  count(from: number, to: number, most: number, heard?: Heard): number {
    let events = 0;
    let grouping = new Grouping();
    for (let at = from; at < to && events <= most; at++) {
      const piece = this.piece(at)!;
      if (heard && !unheard(piece, heard)) continue;
      if (piece.kind === "single") {
        events++;
        grouping = new Grouping();
      } else if (!grouping.add(piece)) events++;
    }
    return events;
  }

  /** One piece, unmerged: what a listener without a limit takes. */
  single(index: number): Run {
    const slot = index & (RECENT - 1);
    let run = this.#singles[slot];
    if (run?.from !== index) {
      run = this.#encode(index, index + 1);
      this.#singles[slot] = run;
    }
    return run;
  }

  /** Everything from here that may be merged, up to what must stand alone (CON-76). */
  take(from: number, limit = this.end): Run {
    let to = from + 1;
    const most = Math.min(limit, from + LONGEST_RUN - 1);
    if (this.piece(from)!.kind !== "single") while (to < most && this.piece(to)!.kind !== "single") to++;
    if (to === from + 1) return this.single(from);
    const key = from * LONGEST_RUN + (to - from);
    let run = this.#runs.get(key);
    if (!run) {
      run = this.#encode(from, to);
      if (this.#runs.size >= MOST_RUNS) this.#runs.delete(this.#runs.keys().next().value!);
      this.#runs.set(key, run);
    }
    return run;
  }

  between(from: number, to: number): Run {
    return to === from + 1 ? this.single(from) : this.#encode(from, to);
  }

  /**
   * What of a run is new to someone who changed shape; its bytes are for one listener only. Ids name the place of the
   * run, so that it can be gone on from like any other. Unless it is late: catching up tells of a time before the place
   * the listener had reached, so its events are no place to go on from, and bear the time that the listener had reached.
   */
  news(run: Run, heard: Heard, late: boolean): Run | undefined {
    const deliveries: Delivery[] = [];
    const kept: (readonly Piece[])[] = [];
    for (const [index, parts] of run.parts.entries()) {
      const rest = parts.flatMap((piece) => unheard(piece, heard) ?? []);
      if (rest.length === 0) continue;
      const delivery = run.deliveries[index]!;
      const retold = rest[0]!.seq <= heard.reached;
      const same = !retold && rest.every((piece, i) => piece === parts[i]) && rest.length === parts.length;
      kept.push(rest);
      deliveries.push(same ? delivery : this.#retell(rest, delivery, retold, late ? heard : undefined));
    }
    return deliveries.length === 0 ? undefined : { from: run.from, to: run.to, deliveries, parts: kept };
  }

  #retell(parts: readonly Piece[], delivery: Delivery, retold: boolean, late?: Heard): Delivery {
    const { critical } = delivery;
    const event = eventOf(parts);
    const event_id = retold
      ? encodeRetoldId(this.#log, delivery.event_id, JSON.stringify(event))
      : delivery.event_id;
    const timestamp = late?.times.get(parts[0]!.track) ?? event.timestamp;
    return deliveryOf({ ...event, timestamp }, event_id, critical, late === undefined);
  }

  /** The index of the first piece at or after a place; the lane reads back as far as the window allows. */
  indexOf(place: Place): number {
    const first = this.#pieces[0];
    if (!first || comparePlaces(place, first) < 0) this.#readBack(place);
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePlaces(this.#pieces[middle]!, place) < 0) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }

  /** Where the text of each output starts that is not cut yet. */
  *uncut(): Iterable<[OutputTrack, number]> {
    for (const cutter of this.#cutters.values()) yield* cutter.open();
  }

  /** Forgets pieces nobody attached still needs, beyond a margin for those who come back. */
  forget(before: number): void {
    const count = before - REMEMBERED - this.#base;
    if (count <= 0) return;
    this.#pieces.splice(0, count);
    this.#groups.splice(0, count);
    this.#base += count;
    this.#criticals = this.#criticals.filter((at) => at >= this.#base);
  }

  #cut(marked: Marked, cutters: Map<SessionTrack, Cutter>): Piece[] {
    const { track } = marked;
    if (!this.view.hears(track)) return [];
    let cutter = cutters.get(track);
    if (!cutter) {
      cutter = new Cutter(this.shape);
      cutters.set(track, cutter);
    }
    const pieces = cutter.cut(marked);
    if (isTerminal(marked.entry.event.type)) {
      cutters.delete(track);
      if (cutters === this.#cutters) this.#grouping.end(track);
    }
    return pieces;
  }

  #add(piece: Piece): void {
    if (piece.critical) this.#criticals.push(this.end);
    this.#groups.push((this.#groups.at(-1) ?? 0) + (this.#grouping.add(piece) ? 0 : 1));
    this.#pieces.push(piece);
  }

  #readBack(place: Place): void {
    const first = this.#pieces[0];
    const until = first ? first.seq + 1 : this.#window.next;
    const cutters = new Map<SessionTrack, Cutter>();
    const older: Piece[] = [];
    for (const marked of this.#window.from(this.#window.floor(place.seq, this.shape.level), until)) {
      for (const piece of this.#cut(marked, cutters)) {
        if (comparePlaces(piece, place) >= 0 && (!first || comparePlaces(piece, first) < 0))
          older.push(piece);
      }
    }
    if (older.length === 0) return;
    const newer = this.#pieces;
    this.#base -= older.length;
    this.#pieces = [];
    this.#groups = [];
    this.#criticals = [];
    this.#grouping = new Grouping();
    for (const piece of [...older, ...newer]) this.#add(piece);
  }

  #encode(from: number, to: number): Run {
    if (to === from + 1) return this.#runOf(from, to, [this.piece(from)!]);
    return this.#runOf(from, to, this.#pieces.slice(from - this.#base, to - this.#base));
  }

  #runOf(from: number, to: number, pieces: readonly Piece[]): Run {
    const last = pieces.at(-1)!;
    if (pieces.length === 1 && last.whole && last.text) {
      const parts = [pieces];
      return { from, to, deliveries: [textDelivery(pieces, encodeEventId(this.#log, last.seq))], parts };
    }
    const after: Place = { seq: last.seq, sub: last.sub + 1 };
    const alone = pieces.length === 1 && last.whole;
    const groups = groupsOf(pieces);
    const deliveries = groups.map((parts, index) => {
      const id = alone
        ? encodeEventId(this.#log, last.seq)
        : encodeRunId(this.#log, pieces[0]!, after, index, this.tag);
      if (parts[0]!.text) return textDelivery(parts, id);
      return deliveryOf(eventOf(parts) as unknown as Record<string, unknown>, id, parts[0]!.critical);
    });
    return { from, to, deliveries, parts: groups };
  }
}
