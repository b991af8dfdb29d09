// How a line opens: list markers in any text, and the blocks of markdown (headings, fences, tables, rules). Reads
// only the opening of the line, so the kind of a line is known long before its end.
import { CJK, classOfUnit, DIGIT, DOT, EXTEND, LETTER, LOWER, NEWLINE, SPACE, UPPER } from "./classes.ts";
import { EOF, type Tape } from "./tape.ts";

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

export interface Marker {
  /** Offset of the item's own text. */
  end: number;
  style: number;
  /** The number, or the letter's code; -1 when it has no successor. */
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

/** 1. 1) 1.) (1) a. b) (iv) 1.2. — with the space after it. */
export function readNumber(tape: Tape, at: number): Marker | undefined {
  const paren = tape.at(at) === OPEN_PAREN;
  let i = paren ? at + 1 : at;
  const from = i;
  let style = 0;
  let value = -1;
  if (tape.kind(i) === DIGIT) {
    style = NUMBERED;
    while (i < from + 12 && tape.kind(i) === DIGIT) i++;
    const digits = i - from;
    if (digits <= 3) value = Number(tape.text(from, i).replace(/\D/g, "") || -1);
    while (i < from + 12 && tape.kind(i) === DOT && tape.kind(i + 1) === DIGIT) {
      style = LEVELLED;
      i += 2;
      while (i < from + 12 && tape.kind(i) === DIGIT) i++;
    }
    if (digits > 3) return undefined;
  } else {
    const kind = tape.kind(i);
    if (kind !== LOWER && kind !== UPPER && kind !== LETTER && kind !== CJK) return undefined;
    style = LETTERED;
    value = tape.at(i++);
    while (tape.kind(i) === EXTEND && i < from + 4) i++;
    if (ROMAN_UNITS.includes(char(value)) && ROMAN_UNITS.includes(char(tape.at(i)))) {
      while (i < from + 5 && ROMAN_UNITS.includes(char(tape.at(i)))) i++;
      style = ROMAN;
      value = -1;
    }
  }
  if (tape.at(i) === 0x2e) {
    i++;
    style += 1;
  }
  if (tape.at(i) === CLOSE_PAREN) {
    i++;
    style += paren ? 4 : 2;
  } else if (paren || tape.at(i - 1) !== 0x2e) return undefined;
  if (tape.kind(i) !== SPACE) return undefined;
  return { end: tape.skipSpaces(i), style, value };
}

function isCheckbox(tape: Tape, at: number): boolean {
  return tape.at(at) === 0x5b && " xX✓".includes(char(tape.at(at + 1))) && tape.at(at + 2) === 0x5d;
}

/** The marker of a list item at the opening of a line. */
export function readMarker(tape: Tape, at: number, markdown: boolean): Marker | undefined {
  const sign = char(tape.at(at));
  if (sign === "[" && isCheckbox(tape, at)) return { end: tape.skipSpaces(at + 3), style: BULLET, value: -1 };
  if (!BULLETS.includes(sign) && !(markdown && sign === "+")) return readNumber(tape, at);
  const after = tape.kind(at + 1);
  if (after !== SPACE && !(TIGHT_BULLETS.includes(sign) && after !== 0)) return undefined;
  let end = tape.skipSpaces(at + 1);
  // A checkbox belongs to the marker.
  if (isCheckbox(tape, end)) end = tape.skipSpaces(end + 3);
  if (tape.kind(end) === DIGIT) end = readNumber(tape, end)?.end ?? end;
  return { end, style: BULLET, value: -1 };
}

/** Whether only these marks and spaces stand between an offset and the end of its line; how many. */
function onlyMarks(tape: Tape, at: number, mark: number): number {
  let count = 0;
  for (let i = at; i < at + 120; i++) {
    const unit = tape.at(i);
    if (unit === mark) count++;
    else if (unit === EOF || tape.kind(i) === NEWLINE) return count;
    else if (tape.kind(i) !== SPACE) return 0;
  }
  return count;
}

export function runLength(tape: Tape, at: number, mark: number, most: number): number {
  let i = at;
  while (i < at + most && tape.at(i) === mark) i++;
  return i - at;
}

/** Offset after any "> " marks. */
export function skipQuoteMarks(tape: Tape, at: number): number {
  let i = at;
  while (i < at + 16 && tape.at(i) === 0x3e) i = tape.skipSpaces(i + 1, 4);
  return i;
}

/** Reads the opening of a markdown line. `prose` says that prose stands on the line above. */
export function readMarkdownLine(tape: Tape, at: number, prose: boolean): Line {
  const start = skipQuoteMarks(tape, at);
  const line: Line = { kind: PROSE, content: start, mark: 0, length: 0 };
  if (start > at && tape.isBlank(start)) {
    line.kind = BLANK_QUOTE;
    return line;
  }
  const unit = tape.at(start);
  const sign = char(unit);
  // > [!NOTE]
  if (sign === "[" && start > at && char(tape.at(start + 1)) === "!") {
    line.kind = HEADING;
    return line;
  }
  // [^1]: a note
  if (sign === "[" && char(tape.at(start + 1)) === "^") {
    line.kind = ITEM;
    line.marker = { end: start, style: BULLET, value: -1 };
    return line;
  }
  if (sign === "#") {
    const hashes = runLength(tape, start, unit, 7);
    if (hashes < 7 && tape.isBlank(start + hashes)) {
      line.kind = HEADING;
      line.content = tape.skipSpaces(start + hashes);
    }
    return line;
  }
  if (sign === "`" || sign === "~") {
    const length = runLength(tape, start, unit, 32);
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
  if (sign === "=" && prose && onlyMarks(tape, start, unit) > 0) {
    line.kind = UNDERLINE;
    return line;
  }
  if (sign === "-" || sign === "*" || sign === "_") {
    const count = onlyMarks(tape, start, unit);
    if (count >= 3 || (count >= 2 && prose && sign === "-")) {
      line.kind = sign === "-" && prose && tape.at(start + 1) === unit ? UNDERLINE : RULE;
      return line;
    }
  }
  return withMarker(tape, line, true);
}

/** Reads the opening of a line of plain text. */
export function readPlainLine(tape: Tape, at: number): Line {
  return withMarker(tape, { kind: PROSE, content: at, mark: 0, length: 0 }, false);
}

function withMarker(tape: Tape, line: Line, markdown: boolean): Line {
  const marker = readMarker(tape, line.content, markdown);
  if (marker) {
    line.kind = ITEM;
    line.marker = marker;
  }
  return line;
}

/** The list in hand: style and value of its last marker. */
export interface List {
  style: number;
  value: number;
}

export function follows(list: List, marker: Marker): boolean {
  return list.value >= 0 && marker.style === list.style && marker.value === list.value + 1;
}

/**
 * Whether a marker at the opening of a line is one: a wrapped line may well begin with "1999. Then" or with the
 * initial of a name. `free` says that the line above is over.
 */
export function acceptsMarker(marker: Marker, list: List, free: boolean, opensParagraph: boolean): boolean {
  const { style, value } = marker;
  if (style === BULLET || style >= LEVELLED || follows(list, marker)) return true;
  if (style < LETTERED) return free || value <= 1;
  if (FIRST_LETTERS.includes(char(value))) return true;
  // "J. Smith" may open a paragraph too, but then its initial is no stop either.
  return style === LETTERED + 1 ? opensParagraph && isCased(value) : free;
}

/** Inside a line only a capital tells an item from a mere enumeration: (1) a book, (2) a film. */
function opensItem(tape: Tape, marker: Marker): boolean {
  const kind = tape.kind(marker.end);
  return kind === UPPER || kind === LETTER || kind === CJK;
}

/** Whether a list begins here, inside a line: "You need: 1. Flour 2. Milk". */
export function opensList(tape: Tape, at: number): Marker | undefined {
  const unit = tape.at(at);
  if (unit !== OPEN_PAREN && unit !== 0x31 && unit !== 0x61 && unit !== 0x41) return undefined;
  const marker = readNumber(tape, at);
  if (!marker || (marker.value !== 1 && marker.value !== 0x61 && marker.value !== 0x41)) return undefined;
  return opensItem(tape, marker) ? marker : undefined;
}

/** Whether the next item of a list in hand begins here, inside a line: "1. One 2. Two". */
export function nextInList(tape: Tape, at: number, list: List): boolean {
  if (list.style === BULLET) return TIGHT_BULLETS.includes(char(tape.at(at)));
  if (list.value < 0) return false;
  const numbered = list.style < LETTERED;
  const unit = tape.at(at);
  if (
    numbered ? unit !== OPEN_PAREN && tape.kind(at) !== DIGIT : unit !== OPEN_PAREN && unit !== list.value + 1
  )
    return false;
  const marker = readNumber(tape, at);
  if (!marker || !follows(list, marker)) return false;
  return opensItem(tape, marker);
}

/**
 * Level of the boundary before a line by the kinds of the two lines, 0 for none; -1 when both are prose, so that
 * the words decide.
 */
export function levelOfBlocks(before: number, kind: number, newlines: number): number {
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

/** One step through a fence: the new offset, with `fence.place` telling where it is. */
export function stepFence(tape: Tape, fence: Fence, at: number): number {
  if (fence.place === LINE_START) {
    const start = skipQuoteMarks(tape, tape.skipSpaces(at, 40));
    const run = runLength(tape, start, fence.mark, 128);
    const closes = run >= fence.length && onlyMarks(tape, start, fence.mark) === run;
    if (tape.starved) return at;
    fence.place = closes ? CLOSED : INSIDE_LINE;
    return closes ? start + run : at;
  }
  for (let i = at; i < tape.end; i++) {
    const unit = tape.at(i);
    if (tape.kind(i) === NEWLINE) {
      fence.place = LINE_START;
      return i + 1;
    }
    if (unit === 0x60 && fence.mark === unit && fence.place === OPENING_LINE) {
      // ```code``` on one line is inline code.
      const run = runLength(tape, i, unit, 32);
      if (!tape.starved) fence.place = NOT_A_FENCE;
      return i + run;
    }
  }
  tape.starved = false;
  return tape.end;
}
