/**
 * A lane is one view of the log under one shape: its pieces in log order, and the serialized runs, made once and shared
 * by all its subscriptions. A view is the set of sessions a subscription may receive; lanes of different views share
 * nothing (SEC-15).
 */

import type { Delivery } from "../protocol/hub-port.ts";
import type { AgentEvent, OutputStreaming, StateChanged } from "../protocol/types.ts";
import {
  checksum,
  comparePositions,
  encodeEventId,
  encodeResentId,
  encodeRunId,
  type Position,
  TAG_LENGTH,
} from "./cursor.ts";
import { Cutter, MAX_CHUNK_BYTES, type Piece, type TextPart } from "./cut.ts";
import { countWords } from "./drain.ts";
import type { LogIdentity } from "./entry.ts";
import { type Heard, unheard } from "./heard.ts";
import {
  isTerminal,
  type LogWindow,
  type OutputTrack,
  type SessionTrack,
  type TrackedEntry,
} from "./log-window.ts";
import type { Shape } from "./shape.ts";

/** The sessions a subscription may receive. */
export interface View {
  /** Equal keys mean equal sets of sessions. */
  readonly key: string;
  hears(track: SessionTrack): boolean;
}

/** A delivery with what pacing and the hub need to know about it. */
export interface LaneDelivery extends Delivery {
  /** Number of words to be spoken, for pacing. */
  readonly words: number;
  /** The reply token, if this asks a question: only a subscription that was sent it may reply. */
  readonly token?: string;
}

export interface Run {
  readonly from: number;
  readonly to: number;
  readonly deliveries: readonly LaneDelivery[];
  /** The pieces of each delivery. */
  readonly parts: readonly (readonly Piece[])[];
}

const SPOKEN = { terse: "summary_terse", normal: "summary_normal", detailed: "summary_detailed" } as const;

export function encodeDelivery(
  event: Record<string, unknown>,
  event_id: string,
  critical: boolean,
  cursor = true,
): LaneDelivery {
  const summary = event[SPOKEN[event["verbosity"] as keyof typeof SPOKEN]] ?? event["summary_normal"];
  const spoken = event["chunk"] ?? summary ?? "";
  const json = JSON.stringify(event["event_id"] === event_id ? event : { ...event, event_id });
  const words = typeof spoken === "string" ? countWords(spoken) : 0;
  const token = event["reply_token"];
  return typeof token === "string"
    ? { event_id, json, critical, words, cursor, token }
    : { event_id, json, critical, words, cursor };
}

/** The fields that all chunks of an output share, serialized once instead of once per chunk. */
interface SharedFields {
  /** The JSON up to the value of `event_id`. */
  readonly text: string;
  /** All fields in order with their values; ANY for those that differ per chunk. */
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}
const sharedFields = new WeakMap<OutputTrack, SharedFields>();
const OWN = ["event_id", "timestamp", "chunk", "position", "complete", "coalesce_hint"];
const ANY = Symbol("any");

function sharedFieldsOf(output: OutputTrack, given: AgentEvent): string {
  const event = given as unknown as Record<string, unknown>;
  const known = sharedFields.get(output);
  if (known && fits(known, event)) return known.text;
  const shared = { ...event };
  for (const name of OWN) shared[name] = undefined;
  const text = `${JSON.stringify(shared).slice(0, -1)},"event_id":"`;
  const names = Object.keys(event);
  const values = names.map((name) => (OWN.includes(name) ? ANY : event[name]));
  sharedFields.set(output, { names, values, text });
  return text;
}

/** Compares objects by identity: chunks of one session share theirs. */
function fits({ names, values }: SharedFields, event: Record<string, unknown>): boolean {
  let at = 0;
  for (const name in event) {
    const value = values[at];
    if (name !== names[at++] || (value !== ANY && value !== event[name])) return false;
  }
  return at === names.length;
}

/** Many chunks share a timestamp. */
let lastTimestamp = { timestamp: "", json: "" };
const timestampJson = (timestamp: string): string => {
  if (timestamp !== lastTimestamp.timestamp)
    lastTimestamp = { timestamp, json: `","timestamp":${JSON.stringify(timestamp)},"chunk":` };
  return lastTimestamp.json;
};
const NOT_COMPLETE = `,"complete":false,"coalesce_hint":"none"}`;

/** Like `encodeDelivery`, but faster, for text chunks, which are most of the traffic. */
function encodeTextDelivery(parts: readonly Piece[], event_id: string): LaneDelivery {
  const first = parts[0]!;
  const { event, text } = parts.at(-1)!;
  const { output, timestamp, complete, hint } = text!;
  const chunk = parts.length === 1 ? text!.text : parts.map((part) => part.text!.text).join("");
  const rest =
    hint === "none" && !complete ? NOT_COMPLETE : `,"complete":${complete},"coalesce_hint":"${hint}"}`;
  const json =
    sharedFieldsOf(output, event) +
    event_id +
    timestampJson(timestamp) +
    JSON.stringify(chunk) +
    `,"position":${first.text!.position}` +
    rest;
  return { event_id, json, critical: first.critical, words: countWords(chunk), cursor: true };
}

const MAX_RUNS = 512;
const LONGEST_RUN = 65_536;
const NONE: readonly number[] = Object.freeze([]);

/** How many sent pieces a lane keeps for resuming subscriptions; older ones are cut again from the log. */
const KEPT_PIECES = 64;
/** How many serialized single pieces are cached, for subscriptions that take them one after the other. */
const RECENT = 32;

/** A short tag of view and shape for ids: under another view or shape a run has other events. */
export const tagOf = (view: View, shape: Shape): string =>
  checksum(`${view.key}\n${shape.key}`, 0).slice(0, TAG_LENGTH);

export class Lane {
  readonly view: View;
  readonly shape: Shape;
  readonly tag: string;
  readonly #log: LogIdentity;
  readonly #window: LogWindow;
  readonly #cutters = new Map<SessionTrack, Cutter>();
  #pieces: Piece[] = [];
  readonly #singles = new Array<Run | undefined>(RECENT).fill(undefined);
  /** Running count of coalesced groups up to each piece: the size of a backlog is a subtraction. */
  #groups: number[] = [];
  #grouping = new Grouping();
  #base = 0;
  /** Serialized runs by start and length: many subscriptions at the same position ask for the same few. */
  readonly #runs = new Map<number, Run>();
  #criticals: number[] = [];

  constructor(view: View, shape: Shape, log: LogIdentity, window: LogWindow, at: number) {
    this.view = view;
    this.shape = shape;
    this.tag = tagOf(view, shape);
    this.#log = log;
    this.#window = window;
    // A subscription that joins mid-sentence gets the whole sentence: read the open text, discard what was already cut.
    for (const tracked of window.from(window.floor(at, shape.level), at)) this.#cut(tracked, this.#cutters);
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

  push(tracked: TrackedEntry): void {
    for (const piece of this.#cut(tracked, this.#cutters)) this.#add(piece);
  }

  piece(index: number): Piece | undefined {
    return this.#pieces[index - this.#base];
  }

  /** The approximate number of coalesced events in a backlog: exact enough to detect lag. */
  backlog(from: number, to: number): number {
    const at = (index: number) =>
      this.#groups[index - this.#base - 1] ?? (index <= this.#base ? (this.#groups[0] ?? 1) - 1 : 0);
    return to <= from ? 0 : at(to) - at(from);
  }

  /** The exact number of coalesced events in a range, counted up to `most`. */
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

  /** One piece, not coalesced, for a subscription without a rate limit. */
  single(index: number): Run {
    const slot = index & (RECENT - 1);
    let run = this.#singles[slot];
    if (run?.from !== index) {
      run = this.#encode(index, index + 1);
      this.#singles[slot] = run;
    }
    return run;
  }

  /** Everything from here that may be coalesced, up to the next piece that must be sent alone (CON-76). */
  take(from: number, limit = this.end): Run {
    let to = from + 1;
    const most = Math.min(limit, from + LONGEST_RUN - 1);
    if (this.piece(from)!.kind !== "single") while (to < most && this.piece(to)!.kind !== "single") to++;
    if (to === from + 1) return this.single(from);
    const key = from * LONGEST_RUN + (to - from);
    let run = this.#runs.get(key);
    if (!run) {
      run = this.#encode(from, to);
      if (this.#runs.size >= MAX_RUNS) this.#runs.delete(this.#runs.keys().next().value!);
      this.#runs.set(key, run);
    }
    return run;
  }

  between(from: number, to: number): Run {
    return to === from + 1 ? this.single(from) : this.#encode(from, to);
  }

  /**
   * The part of a run that is new to a subscription whose shape changed; serialized for that subscription alone. Its
   * ids are cursors like any other, unless it is late: catch-up events precede the position the subscription had
   * reached, so they do not move the cursor, and carry the timestamp the subscription had reached.
   */
  unheardPart(run: Run, heard: Heard, late: boolean): Run | undefined {
    const deliveries: LaneDelivery[] = [];
    const kept: (readonly Piece[])[] = [];
    for (const [index, parts] of run.parts.entries()) {
      const rest = parts.flatMap((piece) => unheard(piece, heard) ?? []);
      if (rest.length === 0) continue;
      const delivery = run.deliveries[index]!;
      const resent = rest[0]!.seq <= heard.reached;
      const same = !resent && rest.every((piece, i) => piece === parts[i]) && rest.length === parts.length;
      kept.push(rest);
      deliveries.push(same ? delivery : this.#encodeAgain(rest, delivery, resent, late ? heard : undefined));
    }
    return deliveries.length === 0 ? undefined : { from: run.from, to: run.to, deliveries, parts: kept };
  }

  #encodeAgain(parts: readonly Piece[], delivery: LaneDelivery, resent: boolean, late?: Heard): LaneDelivery {
    const { critical } = delivery;
    const event = eventOf(parts);
    const event_id = resent
      ? encodeResentId(this.#log, delivery.event_id, JSON.stringify(event))
      : delivery.event_id;
    const timestamp = late?.times.get(parts[0]!.track) ?? event.timestamp;
    return encodeDelivery({ ...event, timestamp }, event_id, critical, late === undefined);
  }

  /** The index of the first piece at or after a position; reads older entries again as far as the window allows. */
  indexOf(position: Position): number {
    const first = this.#pieces[0];
    if (!first || comparePositions(position, first) < 0) this.#readBack(position);
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePositions(this.#pieces[middle]!, position) < 0) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }

  /** Where the text that is not cut yet starts, per output. */
  *uncut(): Iterable<[OutputTrack, number]> {
    for (const cutter of this.#cutters.values()) yield* cutter.open();
  }

  /** Drops pieces that no member needs, except a margin for resuming subscriptions. */
  release(before: number): void {
    const count = before - KEPT_PIECES - this.#base;
    if (count <= 0) return;
    this.#pieces.splice(0, count);
    this.#groups.splice(0, count);
    this.#base += count;
    this.#criticals = this.#criticals.filter((at) => at >= this.#base);
  }

  #cut(tracked: TrackedEntry, cutters: Map<SessionTrack, Cutter>): Piece[] {
    const { track } = tracked;
    if (!this.view.hears(track)) return [];
    let cutter = cutters.get(track);
    if (!cutter) {
      cutter = new Cutter(this.shape);
      cutters.set(track, cutter);
    }
    const pieces = cutter.cut(tracked);
    if (isTerminal(tracked.entry.event.type)) {
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

  #readBack(position: Position): void {
    const first = this.#pieces[0];
    const until = first ? first.seq + 1 : this.#window.next;
    const cutters = new Map<SessionTrack, Cutter>();
    const older: Piece[] = [];
    for (const tracked of this.#window.from(this.#window.floor(position.seq, this.shape.level), until)) {
      for (const piece of this.#cut(tracked, cutters)) {
        if (comparePositions(piece, position) >= 0 && (!first || comparePositions(piece, first) < 0))
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
      return {
        from,
        to,
        deliveries: [encodeTextDelivery(pieces, encodeEventId(this.#log, last.seq))],
        parts,
      };
    }
    const after: Position = { seq: last.seq, sub: last.sub + 1 };
    const alone = pieces.length === 1 && last.whole;
    const groups = groupsOf(pieces);
    const deliveries = groups.map((parts, index) => {
      const id = alone
        ? encodeEventId(this.#log, last.seq)
        : encodeRunId(this.#log, pieces[0]!, after, index, this.tag);
      if (parts[0]!.text) return encodeTextDelivery(parts, id);
      return encodeDelivery(eventOf(parts) as unknown as Record<string, unknown>, id, parts[0]!.critical);
    });
    return { from, to, deliveries, parts: groups };
  }
}

interface MergeGroup {
  readonly parts: Piece[];
  bytes: number;
}

interface SessionGroups {
  /** Text that more text can join: only text and progress followed it so far. */
  readonly texts: Map<OutputTrack, MergeGroup>;
  progress: MergeGroup | undefined;
  state: MergeGroup | undefined;
}

/** Decides which pieces merge; also used to count a backlog without building it. */
export class Grouping {
  readonly #sessions = new Map<SessionTrack, SessionGroups>();
  readonly #started: ((group: MergeGroup) => void) | undefined;
  readonly #collect: boolean;

  /** Without a callback it only counts, and groups keep only their first part. */
  constructor(started?: (group: MergeGroup) => void) {
    this.#started = started;
    this.#collect = started !== undefined;
  }

  /** Returns the group the piece joined, or undefined if it started a new one. */
  add(piece: Piece): MergeGroup | undefined {
    const group = this.#joins(piece);
    if (!group) this.#start(piece);
    else {
      if (this.#collect) group.parts.push(piece);
      if (piece.text) group.bytes += piece.text.bytes;
    }
    // Nothing joins a complete output. Dropping it bounds memory in a session that only writes.
    if (piece.text?.complete) this.#sessions.get(piece.track)?.texts.delete(piece.text.output);
    return group;
  }

  /** The session has ended: drop its groups. */
  end(track: SessionTrack): void {
    this.#sessions.delete(track);
  }

  #joins(piece: Piece): MergeGroup | undefined {
    const session = this.#sessions.get(piece.track);
    if (!session) return undefined;
    if (piece.kind === "state") return session.state;
    if (piece.kind === "progress") return session.progress;
    if (piece.kind !== "text") return undefined;
    const group = session.texts.get(piece.text!.output);
    const fits = group && group.bytes + piece.text!.bytes <= MAX_CHUNK_BYTES;
    return fits && sameFormat(group.parts[0]!, piece) ? group : undefined;
  }

  #start(piece: Piece): void {
    let session = this.#sessions.get(piece.track);
    if (!session) {
      session = { texts: new Map(), progress: undefined, state: undefined };
      this.#sessions.set(piece.track, session);
    }
    const group: MergeGroup = { parts: [piece], bytes: piece.text?.bytes ?? 0 };
    if (piece.kind === "text") {
      session.texts.set(piece.text!.output, group);
      session.state = undefined;
    } else {
      if (piece.kind !== "progress") session.texts.clear();
      session.progress = piece.kind === "progress" ? group : undefined;
      session.state = piece.kind === "state" ? group : undefined;
    }
    this.#started?.(group);
  }
}

const languageOf = ({ language, localization_hints }: OutputStreaming) =>
  language ?? localization_hints?.primary_language;

function sameFormat({ event: a }: Piece, { event: b }: Piece): boolean {
  if (a === b) return true;
  const [one, other] = [a as OutputStreaming, b as OutputStreaming];
  return one.content_type === other.content_type && languageOf(one) === languageOf(other);
}

/** The groups of pieces that become one event each. */
export function groupsOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  if (pieces.length === 1) return [pieces];
  const groups = new Set<MergeGroup>();
  const grouping = new Grouping((group) => groups.add(group));
  for (const piece of pieces) {
    const group = grouping.add(piece);
    if (!group) continue;
    // Move it to the position of its last part.
    groups.delete(group);
    groups.add(group);
  }
  return [...groups].map(({ parts }) => parts);
}

/** Merges the parts of a group into one event, without its id. */
export function eventOf(parts: readonly Piece[]): AgentEvent {
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (first.text)
    return textEvent(
      last.event as OutputStreaming,
      parts.map(({ text }) => text!),
    );
  if (parts.length === 1) return first.event;
  if (first.kind === "progress") return last.event;
  const urgency = parts.some(({ event }) => event.urgency !== "background") ? "normal" : "background";
  return { ...(last.event as StateChanged), from_state: (first.event as StateChanged).from_state, urgency };
}

function textEvent(event: OutputStreaming, parts: readonly TextPart[]): AgentEvent {
  const last = parts.at(-1)!;
  return {
    ...event,
    chunk: parts.length === 1 ? last.text : parts.map(({ text }) => text).join(""),
    position: parts[0]!.position,
    complete: last.complete,
    coalesce_hint: last.hint,
    timestamp: last.timestamp,
  };
}
