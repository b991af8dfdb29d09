// Small things met inside a line: emoji and note marks after a stop, and the spans of markdown (code, links) that
// are never cut.
import { BANG, DIGIT, EMOJI, EXTEND, LOWER, NEWLINE } from "./classes.ts";
import { skipQuoteMarks } from "./lines.ts";
import { EOF, type Tape } from "./tape.ts";

const ZWJ = 0x200d;
const SUPERSCRIPTS = "¹²³⁰⁴⁵⁶⁷⁸⁹†‡";

/** Offset after the emoji at `at`, with its modifiers and joined parts; `at` itself when there is none. */
export function passEmoji(tape: Tape, at: number): number {
  let i = at;
  if (tape.kind(i) !== EMOJI) return at;
  i += tape.width(i);
  while (i < at + 48) {
    const kind = tape.kind(i);
    if (kind === EXTEND || (kind === EMOJI && tape.at(i - 1) === ZWJ)) i += tape.width(i);
    else break;
  }
  return i;
}

/** Offset after a face such as :-) that stands alone; `at` itself when there is none. */
export function passFace(tape: Tape, at: number): number {
  const eyes = tape.at(at);
  if (eyes !== 0x3a && eyes !== 0x3b) return at;
  const mouth = tape.at(at + 1) === 0x2d ? at + 2 : at + 1;
  const unit = tape.at(mouth);
  if (unit === EOF || !")(DPpO|/*3".includes(String.fromCharCode(unit))) return at;
  return tape.isBlank(mouth + 1) ? mouth + 1 : at;
}

/** Offset after a written-out quotation mark such as &quot;; `at` itself when there is none. */
export function passEntity(tape: Tape, at: number): number {
  if (tape.at(at) !== 0x26) return at;
  let i = at + 1;
  while (i < at + 8 && tape.at(i) !== EOF && tape.at(i) !== 0x3b) i++;
  return tape.at(i) === 0x3b && /^&(?:quot|[lr]aquo|[rl][sd]quo|#3[49]|apos)$/.test(tape.text(at, i))
    ? i + 1
    : at;
}

/** Offset after a note mark such as [12], [^a] or a raised number; `at` itself when there is none. */
export function passNote(tape: Tape, at: number): number {
  const unit = tape.at(at);
  if (unit !== EOF && SUPERSCRIPTS.includes(String.fromCharCode(unit))) return at + 1;
  if (unit !== 0x5b) return at;
  let i = at + 1;
  if (tape.at(i) === 0x5e) i++;
  const from = i;
  while (i < from + 4 && tape.kind(i) === DIGIT) i++;
  // [a], [citation needed]
  if (i === from) while (i < from + 20 && (tape.kind(i) === LOWER || (i > from && tape.at(i) === 0x20))) i++;
  return i > from && tape.at(i) === 0x5d ? i + 1 : at;
}

/** Offset after the source of a quotation, “To be.” (Hamlet); `at` itself when there is none. */
export function passSource(tape: Tape, at: number): number {
  if (tape.at(at) !== 0x28) return at;
  let i = at + 1;
  while (i < at + 40) {
    const kind = tape.kind(i);
    if (tape.at(i) === 0x29) return i + 1;
    if (kind === 0 || kind === NEWLINE || kind >= BANG) return at;
    i++;
  }
  return at;
}

export const CODE = 1;
export const LINK_TEXT = 2;
const LINK_TARGET = 3;
/** A span that is not closed within this many units was never one. */
const SPAN_MOST = 1000;
const BLOCK_MARKS = "-*+#>|`~";

export interface Span {
  kind: number;
  start: number;
  /** Backticks, or nesting of brackets. */
  depth: number;
}

/** Whether the line after the newline at `at` cannot belong to an inline span. */
function breaksSpan(tape: Tape, at: number): boolean {
  let i = at + (tape.at(at) === 13 && tape.at(at + 1) === 10 ? 2 : 1);
  i = tape.skipSpaces(i);
  const unit = tape.at(i);
  if (unit === EOF || tape.kind(i) === NEWLINE) return true;
  if (unit === 0x3e) return tape.isBlank(skipQuoteMarks(tape, i));
  return BLOCK_MARKS.includes(String.fromCharCode(unit));
}

/** One step through a span: the new offset, with `span.kind` 0 when the span is over. */
export function stepSpan(tape: Tape, span: Span, at: number): number {
  const unit = tape.at(at);
  const newline = tape.kind(at) === NEWLINE;
  if (at - span.start > SPAN_MOST || (newline && (span.kind === LINK_TARGET || breaksSpan(tape, at)))) {
    if (!tape.starved) span.kind = 0;
    return at;
  }
  if (newline) return at + 1;
  if (span.kind === CODE) {
    if (unit !== 0x60) return at + 1;
    let run = 1;
    while (run < 32 && tape.at(at + run) === 0x60) run++;
    if (!tape.starved && run === span.depth) span.kind = 0;
    return at + run;
  }
  if (unit === 0x5c) return tape.at(at + 1) === EOF || tape.kind(at + 1) === NEWLINE ? at + 1 : at + 2;
  const text = span.kind === LINK_TEXT;
  if (unit === (text ? 0x5b : 0x28)) span.depth++;
  else if (unit === (text ? 0x5d : 0x29)) {
    if (span.depth > 1) span.depth--;
    else {
      const after = text ? tape.at(at + 1) : EOF;
      if (tape.starved) return at;
      if (after === 0x28 || after === 0x5b) {
        span.kind = after === 0x28 ? LINK_TARGET : LINK_TEXT;
        return at + 2;
      }
      span.kind = 0;
    }
  }
  return at + 1;
}
