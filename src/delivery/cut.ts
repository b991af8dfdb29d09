/**
 * Cutting: one session's log under one shape becomes pieces, each the smallest thing that may be sent on its own. A
 * pure function of log and shape; no clock, no budget. Pieces of one entry are numbered, so (seq, sub) is a place.
 */

import { isCritical } from "../protocol/filters.ts";
import { codePoints } from "../protocol/formats.ts";
import { utf8Length } from "../protocol/limits.ts";
import type { AgentEvent, Boundary, OutputStreaming } from "../protocol/types.ts";
import type { Marked, OutputTrack, SessionTrack } from "./log-window.ts";
import { BOUNDARIES, dress, dressText, type Shape } from "./shape.ts";

export interface TextPart {
  readonly output: OutputTrack;
  readonly text: string;
  /** UTF-8 length, kept because merging asks for it again and again. */
  readonly bytes: number;
  /** UTF-16 offset in the output, for trimming; code points for the wire. */
  readonly start: number;
  readonly position: number;
  readonly complete: boolean;
  readonly hint: Boundary;
  /** When it was cut, not when it was said: something may have been sent in between, and time never runs backwards. */
  readonly timestamp: string;
}

export interface Piece {
  readonly seq: number;
  readonly sub: number;
  readonly track: SessionTrack;
  readonly kind: "single" | "text" | "state" | "progress";
  readonly critical: boolean;
  /** The event as it will be sent, but for the text fields of a text piece. */
  readonly event: AgentEvent;
  readonly text?: TextPart;
  /** Whether, alone, it may carry the log's own id: all there is of the entry, as it was said, only dressed. */
  whole: boolean;
}

/** Chunks stay below both caps of CON-41 (bytes and code points). */
export const MOST_CHUNK_BYTES = 16_384;

const MERGED: Partial<Record<string, Piece["kind"]>> = {
  "aaep:agent.state.changed": "state",
  "aaep:agent.progress.updated": "progress",
};

interface Pending {
  text: string;
  bytes: number;
  start: number;
  position: number;
  /** The entry the text last came from: its words are the event's words. */
  last: Marked;
}

export class Cutter {
  readonly #shape: Shape;
  readonly #threshold: number;
  readonly #pending = new Map<OutputTrack, Pending>();

  constructor(shape: Shape) {
    this.#shape = shape;
    this.#threshold = shape.level;
  }

  /** Where each output's unsent text begins. */
  *open(): Iterable<[OutputTrack, number]> {
    for (const [output, { start }] of this.#pending) yield [output, start];
  }

  cut(marked: Marked): Piece[] {
    if (this.#threshold === 0 && marked.output && !marked.closes) {
      const token = this.#token(marked, marked.output);
      if (token) return [token];
    }
    const pieces: Piece[] = [];
    const { entry, track } = marked;
    if (marked.closes) {
      for (const [output, pending] of this.#pending.size > 1 ? this.#inOrder() : this.#pending) {
        if (output.track === track) this.#close(output, pending, marked, pieces);
      }
    }
    if (marked.output) {
      if (this.#shape.passes(entry.event.type) || isCritical(entry.event))
        this.#cutText(marked, marked.output, pieces);
      return pieces;
    }
    const event = dress(entry, this.#shape, marked.variants);
    if (!event) return pieces;
    const critical = isCritical(event);
    // What must reach everyone must reach them whole: how a question ended is not to be merged away.
    const kind = critical || entry.insist ? "single" : (MERGED[event.type] ?? "single");
    // What stands in for a question is another event than the question: a listener that gains the right to answer
    // must not take the question for a repeat.
    const whole = event.type === entry.event.type;
    pieces.push({ seq: entry.seq, sub: pieces.length, track, kind, critical, event, whole });
    return pieces;
  }

  /** Where text is cut everywhere, an ordinary chunk goes as it came, and nothing of it waits. */
  #token({ entry, start, breaks, variants }: Marked, output: OutputTrack): Piece | undefined {
    const event = entry.event as OutputStreaming;
    const { chunk: text, position, timestamp } = event;
    if (text === "" || event.complete || breaks || this.#pending.has(output)) return undefined;
    const bytes = utf8Length(text);
    if (bytes > MOST_CHUNK_BYTES || !this.#shape.passes(event.type)) return undefined;
    return {
      seq: entry.seq,
      sub: 0,
      track: output.track,
      kind: "text",
      critical: false,
      event: dressText(event, this.#shape, variants),
      text: { output, text, bytes, start, position, complete: false, hint: "none", timestamp },
      whole: true,
    };
  }

  /**
   * By the last chunk of each, which every reader of the log has read: where the first one was depends on where reading
   * began, and a place must be the same for all.
   */
  #inOrder(): [OutputTrack, Pending][] {
    return [...this.#pending].sort(([, a], [, b]) => a.last.entry.seq - b.last.entry.seq);
  }

  #cutText(marked: Marked, output: OutputTrack, pieces: Piece[]): void {
    const event = marked.entry.event as OutputStreaming;
    let pending = this.#pending.get(output);
    if (pending && marked.breaks) {
      this.#close(output, pending, marked, pieces);
      pending = undefined;
    }
    const { chunk, complete = false } = event;
    const own = pieces.length;
    if (!pending) {
      pending = { text: "", bytes: 0, start: marked.start, position: event.position, last: marked };
      this.#pending.set(output, pending);
    }
    let read = marked.start;
    const readTo = (offset: number) => {
      if (offset <= read) return;
      this.#append(pending, chunk.slice(read - marked.start, offset - marked.start), marked, output, pieces);
      read = offset;
    };
    const end = marked.start + chunk.length;
    if (this.#threshold > 0) {
      for (const { offset, level } of marked.marks) {
        // The end of an output is its completion, not a sentence and then an empty completion.
        if (level < this.#threshold || (complete && offset === end)) continue;
        readTo(offset);
        const length = offset - pending.start;
        if (length > 0) this.#emit(output, pending, length, this.#hint(level), false, marked, pieces);
      }
    }
    readTo(end);
    if (complete) {
      this.#emit(output, pending, pending.text.length, "completion", true, marked, pieces);
      this.#pending.delete(output);
    } else if (pending.text.length > 0 && (this.#threshold === 0 || isCritical(event))) {
      const hint = this.#threshold === 0 ? "none" : (this.#shape.honored[0] ?? "sentence");
      this.#emit(output, pending, pending.text.length, hint, false, marked, pieces);
    }
    if (this.#threshold === 0) this.#pending.delete(output);
    const only = pieces.length === 1 && own === 0 ? pieces[0]!.text! : undefined;
    if (only && only.start === marked.start && only.text === chunk) pieces[0]!.whole = true;
  }

  /** Adds a chunk; what would not fit into one event any more goes out before it, as it stands. */
  #append(pending: Pending, chunk: string, marked: Marked, output: OutputTrack, pieces: Piece[]): void {
    const bytes = utf8Length(chunk);
    if (pending.bytes + bytes <= MOST_CHUNK_BYTES) {
      pending.text += chunk;
      pending.bytes += bytes;
      pending.last = marked;
      return;
    }
    for (const part of splitText(chunk)) {
      const size = utf8Length(part);
      if (pending.bytes + size > MOST_CHUNK_BYTES)
        this.#emit(output, pending, pending.text.length, "none", false, marked, pieces);
      pending.text += part;
      pending.bytes += size;
      pending.last = marked;
    }
  }

  #close(output: OutputTrack, pending: Pending, by: Marked, pieces: Piece[]): void {
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
    by: Marked,
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
      event: dressText(entry.event as OutputStreaming, this.#shape, variants),
      text: { output, text, bytes, start, position, complete, hint, timestamp },
      whole: false,
    });
    pending.text = pending.text.slice(length);
    pending.bytes -= bytes;
    pending.start += length;
    pending.position += codePoints(text);
  }

  /** The highest honored name for a boundary of this level. */
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

/** Text in parts that fit one event each, cut between grapheme clusters. */
function splitText(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = start;
    // Whole code points while they fit.
    for (let bytes = 0; end < text.length; ) {
      const point = text.codePointAt(end)!;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (bytes > MOST_CHUNK_BYTES) break;
      end += point < 0x10000 ? 1 : 2;
    }
    if (end < text.length) {
      // Asking for one cluster is quick; walking over all of them is not.
      const cluster = graphemes.segment(text.slice(start, end + 64)).containing(end - start);
      // A cluster that fills a whole event is no script's: size is a limit and taste is not.
      if (cluster && cluster.index > 0) end = start + cluster.index;
    }
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts.length > 0 ? parts : [text];
}
