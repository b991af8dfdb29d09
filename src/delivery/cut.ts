/**
 * Cutting turns the log of one session into pieces for one shape; a piece is the smallest unit that may be sent alone.
 * A pure function of log and shape: no clock, no rate limit. Pieces of one entry are numbered, so (seq, sub) is a
 * position.
 */

import { isCritical } from "../protocol/filters.ts";
import { utf8Length } from "../protocol/limits.ts";
import type { AgentEvent, Boundary, OutputStreaming } from "../protocol/types.ts";
import { codePoints } from "../text/language.ts";
import type { OutputTrack, SessionTrack, TrackedEntry } from "./log-window.ts";
import { applyShape, applyShapeToText, BOUNDARIES, type Shape } from "./shape.ts";

export interface TextPart {
  readonly output: OutputTrack;
  readonly text: string;
  /** UTF-8 length, stored because coalescing needs it repeatedly. */
  readonly bytes: number;
  /** `start`: UTF-16 offset in the output, for trimming. `position`: code points, for the wire. */
  readonly start: number;
  readonly position: number;
  readonly complete: boolean;
  readonly hint: Boundary;
  /** When it was cut, not when it was written: other events may have been sent in between, and time never goes back. */
  readonly timestamp: string;
}

export interface Piece {
  readonly seq: number;
  readonly sub: number;
  readonly track: SessionTrack;
  readonly kind: "single" | "text" | "state" | "progress";
  readonly critical: boolean;
  /** The event as it will be sent, except the text fields of a text piece. */
  readonly event: AgentEvent;
  readonly text?: TextPart;
  /** The piece is the entire entry, so that, sent alone, it carries the id of the log entry. */
  whole: boolean;
}

/** Keeps chunks below both limits of CON-41 (bytes and code points). */
export const MAX_CHUNK_BYTES = 16_384;

const MERGED: Partial<Record<string, Piece["kind"]>> = {
  "aaep:agent.state.changed": "state",
  "aaep:agent.progress.updated": "progress",
};

interface Pending {
  text: string;
  bytes: number;
  start: number;
  position: number;
  /** The entry of the last chunk: its other fields are used for the event. */
  last: TrackedEntry;
}

export class Cutter {
  readonly #shape: Shape;
  readonly #threshold: number;
  readonly #pending = new Map<OutputTrack, Pending>();

  constructor(shape: Shape) {
    this.#shape = shape;
    this.#threshold = shape.level;
  }

  /** Where the pending text of each output starts. */
  *open(): Iterable<[OutputTrack, number]> {
    for (const [output, { start }] of this.#pending) yield [output, start];
  }

  cut(tracked: TrackedEntry): Piece[] {
    if (this.#threshold === 0 && tracked.output && !tracked.closes) {
      const token = this.#token(tracked, tracked.output);
      if (token) return [token];
    }
    const pieces: Piece[] = [];
    const { entry, track } = tracked;
    if (tracked.closes) {
      for (const [output, pending] of this.#pending.size > 1 ? this.#inOrder() : this.#pending) {
        if (output.track === track) this.#close(output, pending, tracked, pieces);
      }
    }
    if (tracked.output) {
      if (this.#shape.passes(entry.event.type) || isCritical(entry.event))
        this.#cutText(tracked, tracked.output, pieces);
      return pieces;
    }
    const event = applyShape(entry, this.#shape, tracked.variants);
    if (!event) return pieces;
    const critical = isCritical(event);
    // Required events, such as the outcome of a question, are never merged.
    const kind = critical || entry.required ? "single" : (MERGED[event.type] ?? "single");
    // The notice that replaces a question is a different event: if the subscription later gains the capability to
    // reply,
    // it must not take the question for a duplicate.
    const whole = event.type === entry.event.type;
    pieces.push({ seq: entry.seq, sub: pieces.length, track, kind, critical, event, whole });
    return pieces;
  }

  /** Fast path: for shapes that cut everywhere, an ordinary chunk is one piece and nothing is pending. */
  #token({ entry, start, breaks, variants }: TrackedEntry, output: OutputTrack): Piece | undefined {
    const event = entry.event as OutputStreaming;
    const { chunk: text, position, timestamp } = event;
    if (text === "" || event.complete || breaks || this.#pending.has(output)) return undefined;
    const bytes = utf8Length(text);
    if (bytes > MAX_CHUNK_BYTES || !this.#shape.passes(event.type)) return undefined;
    return {
      seq: entry.seq,
      sub: 0,
      track: output.track,
      kind: "text",
      critical: false,
      event: applyShapeToText(event, this.#shape, variants),
      text: { output, text, bytes, start, position, complete: false, hint: "none", timestamp },
      whole: true,
    };
  }

  /**
   * Ordered by last chunk, which every cutter has read: the order of first chunks depends on where a cutter started
   * reading, and positions must be the same for all.
   */
  #inOrder(): [OutputTrack, Pending][] {
    return [...this.#pending].sort(([, a], [, b]) => a.last.entry.seq - b.last.entry.seq);
  }

  #cutText(tracked: TrackedEntry, output: OutputTrack, pieces: Piece[]): void {
    const event = tracked.entry.event as OutputStreaming;
    let pending = this.#pending.get(output);
    if (pending && tracked.breaks) {
      this.#close(output, pending, tracked, pieces);
      pending = undefined;
    }
    const { chunk, complete = false } = event;
    const own = pieces.length;
    if (!pending) {
      pending = { text: "", bytes: 0, start: tracked.start, position: event.position, last: tracked };
      this.#pending.set(output, pending);
    }
    let read = tracked.start;
    const readTo = (offset: number) => {
      if (offset <= read) return;
      this.#append(
        pending,
        chunk.slice(read - tracked.start, offset - tracked.start),
        tracked,
        output,
        pieces,
      );
      read = offset;
    };
    const end = tracked.start + chunk.length;
    if (this.#threshold > 0) {
      for (const { offset, level } of tracked.boundaries) {
        // Report the end of an output as completion, not as a sentence followed by an empty completion.
        if (level < this.#threshold || (complete && offset === end)) continue;
        readTo(offset);
        const length = offset - pending.start;
        if (length > 0) this.#emit(output, pending, length, this.#hint(level), false, tracked, pieces);
      }
    }
    readTo(end);
    if (complete) {
      this.#emit(output, pending, pending.text.length, "completion", true, tracked, pieces);
      this.#pending.delete(output);
    } else if (pending.text.length > 0 && (this.#threshold === 0 || isCritical(event))) {
      const hint = this.#threshold === 0 ? "none" : (this.#shape.honored[0] ?? "sentence");
      this.#emit(output, pending, pending.text.length, hint, false, tracked, pieces);
    }
    if (this.#threshold === 0) this.#pending.delete(output);
    const only = pieces.length === 1 && own === 0 ? pieces[0]!.text! : undefined;
    if (only && only.start === tracked.start && only.text === chunk) pieces[0]!.whole = true;
  }

  /** Adds a chunk to the pending text; emits the pending text first if one event cannot hold both. */
  #append(
    pending: Pending,
    chunk: string,
    tracked: TrackedEntry,
    output: OutputTrack,
    pieces: Piece[],
  ): void {
    const bytes = utf8Length(chunk);
    if (pending.bytes + bytes <= MAX_CHUNK_BYTES) {
      pending.text += chunk;
      pending.bytes += bytes;
      pending.last = tracked;
      return;
    }
    for (const part of splitText(chunk)) {
      const size = utf8Length(part);
      if (pending.bytes + size > MAX_CHUNK_BYTES)
        this.#emit(output, pending, pending.text.length, "none", false, tracked, pieces);
      pending.text += part;
      pending.bytes += size;
      pending.last = tracked;
    }
  }

  #close(output: OutputTrack, pending: Pending, by: TrackedEntry, pieces: Piece[]): void {
    if (pending.text.length > 0) {
      this.#emit(
        output,
        pending,
        pending.text.length,
        this.#shape.honored[0] ?? "sentence",
        false,
        by,
        pieces,
      );
    }
    this.#pending.delete(output);
  }

  #emit(
    output: OutputTrack,
    pending: Pending,
    length: number,
    hint: Boundary,
    complete: boolean,
    by: TrackedEntry,
    pieces: Piece[],
  ): void {
    const text = length === pending.text.length ? pending.text : pending.text.slice(0, length);
    const { entry, variants } = pending.last;
    const bytes = text === pending.text ? pending.bytes : utf8Length(text);
    const critical = by.entry === entry && isCritical(entry.event);
    const { position, start } = pending;
    const { timestamp } = by.entry.event;
    pieces.push({
      seq: by.entry.seq,
      sub: pieces.length,
      track: output.track,
      kind: critical ? "single" : "text",
      critical,
      event: applyShapeToText(entry.event as OutputStreaming, this.#shape, variants),
      text: { output, text, bytes, start, position, complete, hint, timestamp },
      whole: false,
    });
    pending.text = pending.text.slice(length);
    pending.bytes -= bytes;
    pending.start += length;
    pending.position += codePoints(text);
  }

  /** The coarsest honored boundary up to this level. */
  #hint(level: number): Boundary {
    let hint: Boundary = this.#shape.boundary;
    for (const boundary of this.#shape.honored) {
      const own = BOUNDARIES.indexOf(boundary);
      if (own <= level && own >= this.#threshold) hint = boundary;
    }
    return hint;
  }
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

/** Splits text into parts that fit one event each, between grapheme clusters. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = start;
    // As many code points as fit.
    for (let bytes = 0; end < text.length; ) {
      const point = text.codePointAt(end)!;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (bytes > MAX_CHUNK_BYTES) break;
      end += point < 0x10000 ? 1 : 2;
    }
    if (end < text.length) {
      // Looking up one cluster is fast; iterating over all of them is not.
      const cluster = graphemes.segment(text.slice(start, end + 64)).containing(end - start);
      // A cluster larger than an event is not real text: split it.
      if (cluster && cluster.index > 0) end = start + cluster.index;
    }
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts.length > 0 ? parts : [text];
}
