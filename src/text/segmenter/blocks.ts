/**
 * Block structure at the start of a line (list markers in any text; Markdown headings, code fences, tables, rules) and
 * spans inside a line that are never split (emoji, footnote marks, inline code, links). Reads only the start of a line,
 * so its kind is known long before its end.
 */
import {
  BANG,
  CJK,
  classOfUnit,
  DIGIT,
  DOT,
  EMOJI,
  EOF,
  EXTEND,
  LETTER,
  LOWER,
  NEWLINE,
  SPACE,
  type TextBuffer,
  UPPER,
} from "./scan-state.ts";

export const PROSE = 0;
export const ITEM = 1;
export const HEADING = 2;
export const TABLE = 3;
const RULE = 4;
export const FENCE = 5;
export const UNDERLINE = 6; // of a heading above it
export const BLANK_QUOTE = 7; // a lone >

export const BULLET = 1;
const NUMBERED = 2;
const LETTERED = 16;
const LEVELLED = 32;
const ROMAN = 64;

interface Marker {
  /** Offset of the item's text. */
  end: number;
  style: number;
  /** The number, or the letter's code; -1 if it has no known successor. */
  value: number;
}

export interface Line {
  kind: number;
  /** Offset of the text after the marks. */
  content: number;
  marker?: Marker;
  /** Fence mark and its length. */
  mark: number;
  length: number;
}

const BULLETS = "-*•‣◦⁃∙●○▪▫·–—";
const TIGHT_BULLETS = "•‣◦⁃∙●▪▫";
const OPEN_PAREN = 0x28;
const CLOSE_PAREN = 0x29;
/** First letters of lettered lists. */
const FIRST_LETTERS = "aAiIаАαΑ가אأक";
const ROMAN_UNITS = "ivxIVX";

function char(unit: number): string {
  return unit === EOF ? "\0" : String.fromCharCode(unit);
}

function isCased(unit: number): boolean {
  const kind = classOfUnit(unit);
  return kind === LOWER || kind === UPPER;
}

/** Reads 1. 1) 1.) (1) a. b) (iv) or 1.2. with the space after it. */
export function readNumber(buffer: TextBuffer, at: number): Marker | undefined {
  const paren = buffer.at(at) === OPEN_PAREN;
  let i = paren ? at + 1 : at;
  const from = i;
  let style = 0;
  let value = -1;
  if (buffer.kind(i) === DIGIT) {
    style = NUMBERED;
    while (i < from + 12 && buffer.kind(i) === DIGIT) i++;
    const digits = i - from;
    if (digits <= 3) value = Number(buffer.text(from, i).replace(/\D/g, "") || -1);
    while (i < from + 12 && buffer.kind(i) === DOT && buffer.kind(i + 1) === DIGIT) {
      style = LEVELLED;
      i += 2;
      while (i < from + 12 && buffer.kind(i) === DIGIT) i++;
    }
    if (digits > 3) return undefined;
  } else {
    const kind = buffer.kind(i);
    if (kind !== LOWER && kind !== UPPER && kind !== LETTER && kind !== CJK) return undefined;
    style = LETTERED;
    value = buffer.at(i++);
    while (buffer.kind(i) === EXTEND && i < from + 4) i++;
    if (ROMAN_UNITS.includes(char(value)) && ROMAN_UNITS.includes(char(buffer.at(i)))) {
      while (i < from + 5 && ROMAN_UNITS.includes(char(buffer.at(i)))) i++;
      style = ROMAN;
      value = -1;
    }
  }
  if (buffer.at(i) === 0x2e) {
    i++;
    style += 1;
  }
  if (buffer.at(i) === CLOSE_PAREN) {
    i++;
    style += paren ? 4 : 2;
  } else if (paren || buffer.at(i - 1) !== 0x2e) return undefined;
  if (buffer.kind(i) !== SPACE) return undefined;
  return { end: buffer.skipSpaces(i), style, value };
}

function isCheckbox(buffer: TextBuffer, at: number): boolean {
  return buffer.at(at) === 0x5b && " xX✓".includes(char(buffer.at(at + 1))) && buffer.at(at + 2) === 0x5d;
}

/** The marker of a list item at the start of a line. */
export function readMarker(buffer: TextBuffer, at: number, markdown: boolean): Marker | undefined {
  const sign = char(buffer.at(at));
  if (sign === "[" && isCheckbox(buffer, at))
    return { end: buffer.skipSpaces(at + 3), style: BULLET, value: -1 };
  if (!BULLETS.includes(sign) && !(markdown && sign === "+")) return readNumber(buffer, at);
  const after = buffer.kind(at + 1);
  if (after !== SPACE && !(TIGHT_BULLETS.includes(sign) && after !== 0)) return undefined;
  let end = buffer.skipSpaces(at + 1);
  // A checkbox belongs to the marker.
  if (isCheckbox(buffer, end)) end = buffer.skipSpaces(end + 3);
  if (buffer.kind(end) === DIGIT) end = readNumber(buffer, end)?.end ?? end;
  return { end, style: BULLET, value: -1 };
}

/** How many of these marks follow up to the end of the line; 0 if anything but marks and spaces does. */
function onlyMarks(buffer: TextBuffer, at: number, mark: number): number {
  let count = 0;
  for (let i = at; i < at + 120; i++) {
    const unit = buffer.at(i);
    if (unit === mark) count++;
    else if (unit === EOF || buffer.kind(i) === NEWLINE) return count;
    else if (buffer.kind(i) !== SPACE) return 0;
  }
  return count;
}

export function runLength(buffer: TextBuffer, at: number, mark: number, most: number): number {
  let i = at;
  while (i < at + most && buffer.at(i) === mark) i++;
  return i - at;
}

/** Offset after any "> " marks. */
function skipQuoteMarks(buffer: TextBuffer, at: number): number {
  let i = at;
  while (i < at + 16 && buffer.at(i) === 0x3e) i = buffer.skipSpaces(i + 1, 4);
  return i;
}

/** Reads the start of a Markdown line. `prose`: the line above is prose. */
export function readMarkdownLine(buffer: TextBuffer, at: number, prose: boolean): Line {
  const start = skipQuoteMarks(buffer, at);
  const line: Line = { kind: PROSE, content: start, mark: 0, length: 0 };
  if (start > at && buffer.isBlank(start)) {
    line.kind = BLANK_QUOTE;
    return line;
  }
  const unit = buffer.at(start);
  const sign = char(unit);
  // > [!NOTE]
  if (sign === "[" && start > at && char(buffer.at(start + 1)) === "!") {
    line.kind = HEADING;
    return line;
  }
  // [^1]: a footnote
  if (sign === "[" && char(buffer.at(start + 1)) === "^") {
    line.kind = ITEM;
    line.marker = { end: start, style: BULLET, value: -1 };
    return line;
  }
  if (sign === "#") {
    const hashes = runLength(buffer, start, unit, 7);
    if (hashes < 7 && buffer.isBlank(start + hashes)) {
      line.kind = HEADING;
      line.content = buffer.skipSpaces(start + hashes);
    }
    return line;
  }
  if (sign === "`" || sign === "~") {
    const length = runLength(buffer, start, unit, 32);
    if (length >= 3) {
      line.kind = FENCE;
      line.mark = unit;
      line.length = length;
      line.content = start + length;
    }
    return line;
  }
  if (sign === "|") {
    line.kind = TABLE;
    return line;
  }
  if (sign === "=" && prose && onlyMarks(buffer, start, unit) > 0) {
    line.kind = UNDERLINE;
    return line;
  }
  if (sign === "-" || sign === "*" || sign === "_") {
    const count = onlyMarks(buffer, start, unit);
    if (count >= 3 || (count >= 2 && prose && sign === "-")) {
      line.kind = sign === "-" && prose && buffer.at(start + 1) === unit ? UNDERLINE : RULE;
      return line;
    }
  }
  return withMarker(buffer, line, true);
}

/** Reads the start of a line of plain text. */
export function readPlainLine(buffer: TextBuffer, at: number): Line {
  return withMarker(buffer, { kind: PROSE, content: at, mark: 0, length: 0 }, false);
}

function withMarker(buffer: TextBuffer, line: Line, markdown: boolean): Line {
  const marker = readMarker(buffer, line.content, markdown);
  if (marker) {
    line.kind = ITEM;
    line.marker = marker;
  }
  return line;
}

/** The current list: style and value of its last marker. */
export interface List {
  style: number;
  value: number;
}

export function follows(list: List, marker: Marker): boolean {
  return list.value >= 0 && marker.style === list.style && marker.value === list.value + 1;
}

/**
 * Whether something that looks like a marker is one: a wrapped line may also start with "1999. Then" or with the
 * initial of a name. `free`: the line above has ended.
 */
export function acceptsMarker(marker: Marker, list: List, free: boolean, opensParagraph: boolean): boolean {
  const { style, value } = marker;
  if (style === BULLET || style >= LEVELLED || follows(list, marker)) return true;
  if (style < LETTERED) return free || value <= 1;
  if (FIRST_LETTERS.includes(char(value))) return true;
  // "J. Smith" can start a paragraph too; treating its initial as a marker avoids a boundary after it.
  return style === LETTERED + 1 ? opensParagraph && isCased(value) : free;
}

/** Inside a line only a capital distinguishes an item from an enumeration: (1) a book, (2) a film. */
function opensItem(buffer: TextBuffer, marker: Marker): boolean {
  const kind = buffer.kind(marker.end);
  return kind === UPPER || kind === LETTER || kind === CJK;
}

/** Whether a list starts here, inside a line: "You need: 1. Flour 2. Milk". */
export function opensList(buffer: TextBuffer, at: number): Marker | undefined {
  const unit = buffer.at(at);
  if (unit !== OPEN_PAREN && unit !== 0x31 && unit !== 0x61 && unit !== 0x41) return undefined;
  const marker = readNumber(buffer, at);
  if (!marker || (marker.value !== 1 && marker.value !== 0x61 && marker.value !== 0x41)) return undefined;
  return opensItem(buffer, marker) ? marker : undefined;
}

/** Whether the next item of the current list starts here, inside a line: "1. One 2. Two". */
export function nextInList(buffer: TextBuffer, at: number, list: List): boolean {
  if (list.style === BULLET) return TIGHT_BULLETS.includes(char(buffer.at(at)));
  if (list.value < 0) return false;
  const numbered = list.style < LETTERED;
  const unit = buffer.at(at);
  if (
    numbered
      ? unit !== OPEN_PAREN && buffer.kind(at) !== DIGIT
      : unit !== OPEN_PAREN && unit !== list.value + 1
  )
    return false;
  const marker = readNumber(buffer, at);
  if (!marker || !follows(list, marker)) return false;
  return opensItem(buffer, marker);
}

/** Level of the boundary between lines of two kinds; 0 for none, -1 if both are prose and the words decide. */
export function blockBoundary(before: number, kind: number, newlines: number): number {
  if (kind === UNDERLINE) return 0;
  if (newlines > 1) return 3;
  const apart = (block: number) => block === HEADING || block === FENCE || block === RULE;
  if (apart(before) || apart(kind)) return 3;
  if (before === TABLE || kind === TABLE) return before === kind ? 1 : 3;
  return kind === ITEM ? 2 : -1;
}

export const OPENING_LINE = 0;
const INSIDE_LINE = 1;
const LINE_START = 2;
export const CLOSED = 3;
export const NOT_A_FENCE = 4;

export interface Fence {
  mark: number;
  length: number;
  place: number;
}

/** One step through a code fence: returns the new offset and updates `fence.place`. */
export function stepFence(buffer: TextBuffer, fence: Fence, at: number): number {
  if (fence.place === LINE_START) {
    const start = skipQuoteMarks(buffer, buffer.skipSpaces(at, 40));
    const run = runLength(buffer, start, fence.mark, 128);
    const closes = run >= fence.length && onlyMarks(buffer, start, fence.mark) === run;
    if (buffer.needsMore) return at;
    fence.place = closes ? CLOSED : INSIDE_LINE;
    return closes ? start + run : at;
  }
  for (let i = at; i < buffer.end; i++) {
    const unit = buffer.at(i);
    if (buffer.kind(i) === NEWLINE) {
      fence.place = LINE_START;
      return i + 1;
    }
    if (unit === 0x60 && fence.mark === unit && fence.place === OPENING_LINE) {
      // ```code``` on one line is inline code.
      const run = runLength(buffer, i, unit, 32);
      if (!buffer.needsMore) fence.place = NOT_A_FENCE;
      return i + run;
    }
  }
  buffer.needsMore = false;
  return buffer.end;
}

// Inside a line. Each skip function returns the offset after what it found, or `at` itself.

const ZWJ = 0x200d;
const SUPERSCRIPTS = "¹²³⁰⁴⁵⁶⁷⁸⁹†‡";

/** An emoji with its modifiers and joined parts. */
export function skipEmoji(buffer: TextBuffer, at: number): number {
  let i = at;
  if (buffer.kind(i) !== EMOJI) return at;
  i += buffer.width(i);
  while (i < at + 48) {
    const kind = buffer.kind(i);
    if (kind === EXTEND || (kind === EMOJI && buffer.at(i - 1) === ZWJ)) i += buffer.width(i);
    else break;
  }
  return i;
}

/** An emoticon such as :-) followed by space. */
export function skipEmoticon(buffer: TextBuffer, at: number): number {
  const eyes = buffer.at(at);
  if (eyes !== 0x3a && eyes !== 0x3b) return at;
  const mouth = buffer.at(at + 1) === 0x2d ? at + 2 : at + 1;
  const unit = buffer.at(mouth);
  if (unit === EOF || !")(DPpO|/*3".includes(String.fromCharCode(unit))) return at;
  return buffer.isBlank(mouth + 1) ? mouth + 1 : at;
}

/** A quotation mark written as an HTML entity such as &quot;. */
export function skipQuoteEntity(buffer: TextBuffer, at: number): number {
  if (buffer.at(at) !== 0x26) return at;
  let i = at + 1;
  while (i < at + 8 && buffer.at(i) !== EOF && buffer.at(i) !== 0x3b) i++;
  return buffer.at(i) === 0x3b && /^&(?:quot|[lr]aquo|[rl][sd]quo|#3[49]|apos)$/.test(buffer.text(at, i))
    ? i + 1
    : at;
}

/** A footnote mark such as [12], [^a] or a superscript number. */
export function skipFootnoteMark(buffer: TextBuffer, at: number): number {
  const unit = buffer.at(at);
  if (unit !== EOF && SUPERSCRIPTS.includes(String.fromCharCode(unit))) return at + 1;
  if (unit !== 0x5b) return at;
  let i = at + 1;
  if (buffer.at(i) === 0x5e) i++;
  const from = i;
  while (i < from + 4 && buffer.kind(i) === DIGIT) i++;
  // [a], [citation needed]
  if (i === from)
    while (i < from + 20 && (buffer.kind(i) === LOWER || (i > from && buffer.at(i) === 0x20))) i++;
  return i > from && buffer.at(i) === 0x5d ? i + 1 : at;
}

/** The source of a quotation in brackets: “To be.” (Hamlet). */
export function skipCitation(buffer: TextBuffer, at: number): number {
  if (buffer.at(at) !== 0x28) return at;
  let i = at + 1;
  while (i < at + 40) {
    const kind = buffer.kind(i);
    if (buffer.at(i) === 0x29) return i + 1;
    if (kind === 0 || kind === NEWLINE || kind >= BANG) return at;
    i++;
  }
  return at;
}

export const CODE = 1;
export const LINK_TEXT = 2;
const LINK_TARGET = 3;
/** A span that is not closed within this many units is ordinary text. */
const MAX_SPAN = 1000;
const BLOCK_MARKS = "-*+#>|`~";

export interface Span {
  kind: number;
  start: number;
  /** Backticks, or nesting of brackets. */
  depth: number;
}

/** Whether the line after the newline at `at` cannot belong to an inline span. */
function breaksSpan(buffer: TextBuffer, at: number): boolean {
  let i = at + (buffer.at(at) === 13 && buffer.at(at + 1) === 10 ? 2 : 1);
  i = buffer.skipSpaces(i);
  const unit = buffer.at(i);
  if (unit === EOF || buffer.kind(i) === NEWLINE) return true;
  if (unit === 0x3e) return buffer.isBlank(skipQuoteMarks(buffer, i));
  return BLOCK_MARKS.includes(String.fromCharCode(unit));
}

/** One step through a span: returns the new offset; sets `span.kind` to 0 at its end. */
export function stepSpan(buffer: TextBuffer, span: Span, at: number): number {
  const unit = buffer.at(at);
  const newline = buffer.kind(at) === NEWLINE;
  if (at - span.start > MAX_SPAN || (newline && (span.kind === LINK_TARGET || breaksSpan(buffer, at)))) {
    if (!buffer.needsMore) span.kind = 0;
    return at;
  }
  if (newline) return at + 1;
  if (span.kind === CODE) {
    if (unit !== 0x60) return at + 1;
    let run = 1;
    while (run < 32 && buffer.at(at + run) === 0x60) run++;
    if (!buffer.needsMore && run === span.depth) span.kind = 0;
    return at + run;
  }
  if (unit === 0x5c) return buffer.at(at + 1) === EOF || buffer.kind(at + 1) === NEWLINE ? at + 1 : at + 2;
  const text = span.kind === LINK_TEXT;
  if (unit === (text ? 0x5b : 0x28)) span.depth++;
  else if (unit === (text ? 0x5d : 0x29)) {
    if (span.depth > 1) span.depth--;
    else {
      const after = text ? buffer.at(at + 1) : EOF;
      if (buffer.needsMore) return at;
      if (after === 0x28 || after === 0x5b) {
        span.kind = after === 0x28 ? LINK_TARGET : LINK_TEXT;
        return at + 2;
      }
      span.kind = 0;
    }
  }
  return at + 1;
}
