/**
 * What a listener already heard when its shape changes (renegotiation, or resuming under other terms): the new lane
 * cuts the same log differently, so it starts a little earlier and leaves out what is known. Nothing is lost and,
 * where the old terms are known, nothing is repeated.
 */
import { codePoints } from "../protocol/formats.ts";
import type { Piece } from "./cut.ts";
import type { Lane, Run } from "./lane.ts";
import type { OutputTrack, SessionTrack } from "./track.ts";
import type { LogWindow } from "./window.ts";

export interface Heard {
  /** Everything before this log place was heard, but for the text below. */
  readonly before: number;
  /** Where the unheard text of these outputs starts. */
  readonly texts: Map<OutputTrack, number>;
  /** Log places from `before` on whose events were heard all the same. */
  readonly also: ReadonlySet<number>;
}

/** What someone has heard who stands at an index of a lane, with a run taken but only its first events sent. */
export function heardAt(lane: Lane, index: number, run: Run | undefined, sent: number, end: number): Heard {
  const texts = lane.unsentFrom(index);
  let before = lane.piece(index)?.seq ?? end;
  const also = new Set<number>();
  if (run) {
    const first = lane.piece(run.from);
    if (first) before = first.seq;
    for (const [i, parts] of run.parts.entries()) {
      for (const piece of [...parts].reverse()) {
        if (i < sent && !piece.text) also.add(piece.seq);
        if (i >= sent && piece.text) texts.set(piece.text.output, piece.text.start);
      }
    }
  }
  return { before, texts, also };
}

/** Without the old terms: text counts as unheard since the last place where every shape must have closed it. */
export function heardAtLeast(window: LogWindow, seq: number, hears: (track: SessionTrack) => boolean): Heard {
  const texts = new Map<OutputTrack, number>();
  for (const { output, start, closes, track, breaks } of window.from(window.floor(seq), seq)) {
    if (closes) for (const known of [...texts.keys()]) if (known.track === track) texts.delete(known);
    if (output && hears(track) && (breaks || !texts.has(output))) texts.set(output, start);
  }
  return { before: seq, texts, also: new Set() };
}

/** The part of a piece that is new; undefined if none is. */
export function unheard(piece: Piece, heard: Heard): Piece | undefined {
  const { text } = piece;
  const floor = text && heard.texts.get(text.output);
  if (text === undefined || floor === undefined) return piece.seq >= heard.before && !heard.also.has(piece.seq) ? piece : undefined;
  const end = text.start + text.text.length;
  // The end of an output is news even where its last words are not.
  if (end < floor || (end === floor && !text.complete)) return undefined;
  return text.start >= floor ? piece : trim(piece, floor);
}

export function trim(piece: Piece, floor: number): Piece {
  const text = piece.text!;
  const cut = Math.min(floor - text.start, text.text.length);
  return {
    ...piece,
    whole: false,
    text: { ...text, text: text.text.slice(cut), start: text.start + cut, position: text.position + codePoints(text.text.slice(0, cut)) },
  };
}
