/**
 * What a listener already heard when its shape changes (renegotiation, or resuming under other terms): the new lane
 * cuts the same log differently, so it starts a little earlier and leaves out what is known. Nothing is lost and,
 * where the old terms are known, nothing is repeated.
 */
import { codePoints } from "../protocol/formats.ts";
import { utf8Length } from "../protocol/limits.ts";
import type { OutputStreaming } from "../protocol/types.ts";
import type { Cursor } from "./cursor.ts";
import type { Piece } from "./cut.ts";
import type { Lane, Run, View } from "./lane.ts";
import type { LogWindow, OutputTrack, SessionTrack } from "./log-window.ts";

export interface Heard {
  /** The first log place that may hold something unheard. */
  readonly from: number;
  /** Whatever is not text and stands before this log place is past… */
  readonly before: number;
  /** …but for these places, which were about to be sent. */
  readonly owed: ReadonlyMap<number, SessionTrack>;
  /** Where the unheard text of these outputs starts; Infinity where the end of the output was heard too. */
  readonly texts: Map<OutputTrack, number>;
  /** The last log place of which something may have been sent: one of several pieces is enough. */
  readonly reached: number;
  /** The time each session with something unheard had reached there. Kept, because the log may let go of the place. */
  readonly times: ReadonlyMap<SessionTrack, string>;
}

/** Where someone stands in a lane: at a piece, perhaps with a run taken of which only the first events were sent. */
export interface Standpoint {
  readonly place: number;
  readonly run: Run | undefined;
  readonly index: number;
  /** The log place that follows, where it is known better than by the next piece: a filter may hide what lies between. */
  readonly next?: number;
  /** Left over from an earlier change that has not settled yet. */
  readonly heard?: Heard | undefined;
}

export function heardAt(lane: Lane, stand: Standpoint, window: LogWindow): Heard {
  const { run, index, heard: earlier } = stand;
  // Whoever was lost behind a blocked socket stands before what the lane still holds.
  const place = Math.max(stand.place, lane.start);
  const next = stand.next ?? lane.piece(place)?.seq ?? window.next;
  const texts = new Map<OutputTrack, number>();
  const owed = new Map<number, SessionTrack>();
  let from = next;
  for (const [seq, track] of earlier?.owed ?? []) if (seq >= next) owed.set(seq, track);
  for (const parts of run?.parts.slice(index) ?? []) {
    for (const { seq, text, track } of parts) {
      from = Math.min(from, seq);
      if (text) texts.set(text.output, Math.min(text.start, texts.get(text.output) ?? Infinity));
      else owed.set(seq, track);
    }
  }
  const since = (output: OutputTrack, start: number) => void (texts.has(output) || texts.set(output, start));
  const dropped = new Set<OutputTrack>();
  for (let at = place; at < lane.end; at++) {
    const piece = lane.piece(at)!;
    if (!piece.text) continue;
    const { output } = piece.text;
    const rest = earlier ? unheard(piece, earlier) : piece;
    if (rest) since(output, rest.text!.start);
    else dropped.add(output);
  }
  for (const [output, start] of lane.uncut()) since(output, Math.max(start, earlier?.texts.get(output) ?? 0));
  // One entry may be several pieces; those of the next one that were sent are the only sent text at or after `before`.
  for (let at = place - 1; lane.piece(at)?.seq === next; at--) {
    const { text } = lane.piece(at)!;
    if (text) since(text.output, text.start + text.text.length);
  }
  const passes = lane.shape.passes("aaep:agent.output.streaming");
  // Text that was sent to its end may yet be part of a longer piece of the new lane.
  const open = passes ? openTexts(window, next, lane.view) : [];
  for (const [output, { end }] of open) {
    const floor = earlier?.texts.get(output);
    // While catching up, what the earlier change does not name is past as far as it reached.
    if (floor !== undefined || next >= (earlier?.before ?? 0)) since(output, Math.max(end, floor ?? 0));
  }
  for (const [output, start] of earlier?.texts ?? []) {
    // Where text was filtered meanwhile, what was said by now is past; else only what this lane left out still counts.
    if (!passes) since(output, Math.max(start, lengthAt(output, next)));
    else if (dropped.has(output)) since(output, start);
  }
  const sent = lane.piece(place - 1)?.seq === next ? next : next - 1;
  const reached = Math.max(sent, earlier?.reached ?? 0);
  const times = timesAt(reached, owed, texts, earlier?.times);
  return { from, before: Math.max(next, earlier?.before ?? 0), owed, texts, reached, times };
}

function timesAt(
  reached: number,
  owed: Heard["owed"],
  texts: Heard["texts"],
  earlier?: Heard["times"],
): Heard["times"] {
  const times = new Map<SessionTrack, string>();
  const note = (track: SessionTrack) => {
    const time = track.before(reached + 1)?.entry.event.timestamp ?? earlier?.get(track);
    if (time !== undefined) times.set(track, time);
  };
  for (const track of owed.values()) note(track);
  for (const { track } of texts.keys()) note(track);
  return times;
}

/** Without the old terms: text counts as unheard since the last place where every shape must have closed it. */
export function heardAtLeast(window: LogWindow, cursor: Cursor, view: View): Heard {
  const before = cursor.kind === "run" ? cursor.from.seq : cursor.seq + 1;
  const texts = new Map<OutputTrack, number>();
  for (const [output, { start, end, seq }] of openTexts(window, before, view)) {
    // A chunk that went out whole, under the log's own id, leaves nothing of its output behind.
    texts.set(output, cursor.kind === "event" && cursor.seq === seq ? end : start);
  }
  const owed = new Map<number, SessionTrack>();
  const reached = before - 1;
  return { from: before, before, owed, texts, reached, times: timesAt(reached, owed, texts) };
}

interface OpenText {
  /** Where the text begins that a shape may still hold back, and where it ends by now. */
  readonly start: number;
  end: number;
  /** The log place of its last chunk. */
  seq: number;
}

/** The text at a log place that no entry before it has closed for all shapes. */
function openTexts(window: LogWindow, before: number, view: View): Map<OutputTrack, OpenText> {
  const open = new Map<OutputTrack, OpenText>();
  for (const { entry, output, start, closes, track, breaks } of window.from(window.floor(before), before)) {
    if (closes) for (const known of [...open.keys()]) if (known.track === track) open.delete(known);
    if (!output || !view.hears(track)) continue;
    const { seq, event } = entry;
    const { chunk, complete } = event as OutputStreaming;
    const known = breaks ? undefined : open.get(output);
    // Urgent text is closed by itself.
    if (complete || closes) open.delete(output);
    else open.set(output, { start: known?.start ?? start, end: start + chunk.length, seq });
  }
  return open;
}

/** How much of an output had been said before a log place; Infinity if it was complete. */
function lengthAt(output: OutputTrack, before: number): number {
  const { entries } = output.track;
  for (let at = entries.length - 1; at >= 0; at--) {
    const { entry, output: own, start } = entries[at]!;
    if (own !== output || entry.seq >= before) continue;
    const { chunk, complete } = entry.event as OutputStreaming;
    return complete ? Infinity : start + chunk.length;
  }
  return 0;
}

/** The sessions of which something unheard has aged out of the log meanwhile. */
export function agedOut(window: LogWindow, { from, before, texts }: Heard, view: View): Set<SessionTrack> {
  const aged = new Set<SessionTrack>();
  const add = (track: SessionTrack) => {
    const isOver = track.ended && (track.entries.at(-1)?.entry.seq ?? 0) < before;
    if (!isOver && view.hears(track)) aged.add(track);
  };
  if (from < window.first)
    for (const track of window.tracks.values()) if (track.begins < window.first) add(track);
  for (const [output, start] of texts) {
    const { entries, begins } = output.track;
    if (entries[0]?.entry.seq === begins) continue;
    const held = entries.find((one) => one.output === output)?.start ?? output.length;
    if (start < held) add(output.track);
  }
  return aged;
}

/** The part of a piece that is new; undefined if none is. */
export function unheard(piece: Piece, { before, owed, texts }: Heard): Piece | undefined {
  const { text, seq } = piece;
  if (!text) return seq >= before || owed.has(seq) ? piece : undefined;
  const floor = texts.get(text.output);
  if (floor === undefined) return seq >= before ? piece : undefined;
  if (text.start >= floor) return piece;
  const end = text.start + text.text.length;
  // The end of an output is news even where its last words are not.
  return end > floor || (end === floor && text.complete) ? trim(piece, floor - text.start) : undefined;
}

function trim(piece: Piece, length: number): Piece {
  const text = piece.text!;
  const rest = text.text.slice(length);
  return {
    ...piece,
    whole: false,
    text: {
      ...text,
      text: rest,
      bytes: utf8Length(rest),
      start: text.start + length,
      position: text.position + codePoints(text.text.slice(0, length)),
    },
  };
}
