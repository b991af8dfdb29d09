/**
 * Deduplication when the shape of a subscription changes (renegotiation, or resuming under other terms). The new lane
 * cuts the same log differently, so delivery restarts a little earlier and drops what was already heard. Nothing is
 * lost and, if the old terms are known, nothing is repeated.
 */

import { utf8Length } from "../protocol/limits.ts";
import type { OutputStreaming } from "../protocol/types.ts";
import { codePoints } from "../text/language.ts";
import type { Cursor } from "./cursor.ts";
import type { Piece } from "./cut.ts";
import type { Lane, Run, View } from "./lane.ts";
import type { LogWindow, OutputTrack, SessionTrack } from "./log-window.ts";

export interface Heard {
  /** The first log position that may hold something unheard. */
  readonly from: number;
  /** Events other than text before this log position were delivered… */
  readonly before: number;
  /** …except these, which were about to be sent. */
  readonly unsent: ReadonlyMap<number, SessionTrack>;
  /** Where the unheard text of these outputs starts; Infinity if the output was heard to its end. */
  readonly texts: Map<OutputTrack, number>;
  /** The last log position of which at least one piece may have been sent. */
  readonly reached: number;
  /** The timestamp each session had reached there. Kept here because the entry may age out. */
  readonly times: ReadonlyMap<SessionTrack, string>;
}

/** A position in a lane: the next piece, and the run that is partly sent, if any. */
export interface LanePosition {
  readonly pieceIndex: number;
  readonly run: Run | undefined;
  readonly runIndex: number;
  /** The next log position, if known more exactly than by the next piece: a filter may hide entries in between. */
  readonly next?: number;
  /** From an earlier change that is still catching up. */
  readonly heard?: Heard | undefined;
}

export function heardAt(lane: Lane, stand: LanePosition, window: LogWindow): Heard {
  const { run, runIndex, heard: earlier } = stand;
  // A member that fell behind a blocked socket may point before what the lane still holds.
  const pieceIndex = Math.max(stand.pieceIndex, lane.start);
  const next = stand.next ?? lane.piece(pieceIndex)?.seq ?? window.next;
  const texts = new Map<OutputTrack, number>();
  const unsent = new Map<number, SessionTrack>();
  let from = next;
  for (const [seq, track] of earlier?.unsent ?? []) if (seq >= next) unsent.set(seq, track);
  for (const parts of run?.parts.slice(runIndex) ?? []) {
    for (const { seq, text, track } of parts) {
      from = Math.min(from, seq);
      if (text) texts.set(text.output, Math.min(text.start, texts.get(text.output) ?? Infinity));
      else unsent.set(seq, track);
    }
  }
  const since = (output: OutputTrack, start: number) => void (texts.has(output) || texts.set(output, start));
  const dropped = new Set<OutputTrack>();
  for (let at = pieceIndex; at < lane.end; at++) {
    const piece = lane.piece(at)!;
    if (!piece.text) continue;
    const { output } = piece.text;
    const rest = earlier ? unheard(piece, earlier) : piece;
    if (rest) since(output, rest.text!.start);
    else dropped.add(output);
  }
  for (const [output, start] of lane.uncut()) since(output, Math.max(start, earlier?.texts.get(output) ?? 0));
  // One entry may be several pieces: some of the next entry's may have been sent already.
  for (let at = pieceIndex - 1; lane.piece(at)?.seq === next; at--) {
    const { text } = lane.piece(at)!;
    if (text) since(text.output, text.start + text.text.length);
  }
  const passes = lane.shape.passes("aaep:agent.output.streaming");
  // Open text that was sent completely may become part of a longer piece of the new lane.
  const open = passes ? openTexts(window, next, lane.view) : [];
  for (const [output, { end }] of open) {
    const floor = earlier?.texts.get(output);
    // While catching up, outputs that the earlier change does not name were delivered as far as it reached.
    if (floor !== undefined || next >= (earlier?.before ?? 0)) since(output, Math.max(end, floor ?? 0));
  }
  for (const [output, start] of earlier?.texts ?? []) {
    // If text was filtered meanwhile, skip what was said by now; else keep only what this lane dropped as heard.
    if (!passes) since(output, Math.max(start, lengthAt(output, next)));
    else if (dropped.has(output)) since(output, start);
  }
  const sent = lane.piece(pieceIndex - 1)?.seq === next ? next : next - 1;
  const reached = Math.max(sent, earlier?.reached ?? 0);
  const times = timesAt(reached, unsent, texts, earlier?.times);
  return { from, before: Math.max(next, earlier?.before ?? 0), unsent, texts, reached, times };
}

function timesAt(
  reached: number,
  unsent: Heard["unsent"],
  texts: Heard["texts"],
  earlier?: Heard["times"],
): Heard["times"] {
  const times = new Map<SessionTrack, string>();
  const note = (track: SessionTrack) => {
    const time = track.before(reached + 1)?.entry.event.timestamp ?? earlier?.get(track);
    if (time !== undefined) times.set(track, time);
  };
  for (const track of unsent.values()) note(track);
  for (const { track } of texts.keys()) note(track);
  return times;
}

/** Without the old terms: text counts as unheard from the last position where every shape has closed it. */
export function heardAtLeast(window: LogWindow, cursor: Cursor, view: View): Heard {
  const before = cursor.kind === "run" ? cursor.from.seq : cursor.seq + 1;
  const texts = new Map<OutputTrack, number>();
  for (const [output, { start, end, seq }] of openTexts(window, before, view)) {
    // A chunk sent whole, under its log id, leaves no unheard text of its output.
    texts.set(output, cursor.kind === "event" && cursor.seq === seq ? end : start);
  }
  const unsent = new Map<number, SessionTrack>();
  const reached = before - 1;
  return { from: before, before, unsent, texts, reached, times: timesAt(reached, unsent, texts) };
}

interface OpenText {
  /** Where the text starts that a shape may still hold back, and where it ends so far. */
  readonly start: number;
  end: number;
  /** The log position of its last chunk. */
  seq: number;
}

/** The text at a log position that no earlier entry has closed for all shapes. */
function openTexts(window: LogWindow, before: number, view: View): Map<OutputTrack, OpenText> {
  const open = new Map<OutputTrack, OpenText>();
  for (const { entry, output, start, closes, track, breaks } of window.from(window.floor(before), before)) {
    if (closes) for (const known of [...open.keys()]) if (known.track === track) open.delete(known);
    if (!output || !view.hears(track)) continue;
    const { seq, event } = entry;
    const { chunk, complete } = event as OutputStreaming;
    const known = breaks ? undefined : open.get(output);
    // Urgent text closes itself.
    if (complete || closes) open.delete(output);
    else open.set(output, { start: known?.start ?? start, end: start + chunk.length, seq });
  }
  return open;
}

/** The length of an output before a log position; Infinity if it was complete. */
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

/** The sessions of which something unheard has aged out of the window. */
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
export function unheard(piece: Piece, { before, unsent, texts }: Heard): Piece | undefined {
  const { text, seq } = piece;
  if (!text) return seq >= before || unsent.has(seq) ? piece : undefined;
  const floor = texts.get(text.output);
  if (floor === undefined) return seq >= before ? piece : undefined;
  if (text.start >= floor) return piece;
  const end = text.start + text.text.length;
  // The completion of an output is new even if its last words are not.
  return end > floor || (end === floor && text.complete) ? trimStart(piece, floor - text.start) : undefined;
}

function trimStart(piece: Piece, length: number): Piece {
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
