/** The state of the segmenter between two characters: character classes, recent text, and how a boundary changes it. */

import { type Fence, HEADING, ITEM, type List, PROSE, type Span, TABLE } from "./blocks.ts";
import { type Profile, profileFor, type Sentence, type Stop } from "./sentence-rules.ts";

export const TEXT = 1; // inside words
export const STOP = 2; // after a mark that may end a sentence
export const SPACES = 3; // in the space after words or after a stop
export const SENTENCE_START = 4; // at the first character of a sentence
export const SPAN = 5; // in inline code or a link
export const FENCED = 6;
export const UNSPACED = 7; // in words of a script that writes no spaces

export const WORD = 1;
export const SENTENCE = 2;
export const PARAGRAPH = 3;

/**
 * A list item up to this length is one unit; a longer one is split into sentences, so that nobody waits for its end.
 */
const MAX_ITEM_UNIT = 400;
/** "Name: Ana": a colon this close to the start of the line makes it a key and a value. */
export const MAX_KEY_LENGTH = 32;

export function isStop(kind: number): boolean {
  return kind >= DOT && kind <= ELLIPSIS;
}

/** A Thai or Lao letter: there a space ends a sentence, except around digits, repetition and abbreviation marks. */
export function isThaiOrLao(unit: number): boolean {
  return (
    unit >= 0x0e01 &&
    unit <= 0x0edd &&
    unit !== 0x0e46 &&
    unit !== 0x0e2f &&
    unit !== 0x0ec6 &&
    unit !== 0x0e3f &&
    classOfUnit(unit) !== DIGIT
  );
}

function newSentence(start: number): Sentence {
  return {
    start,
    words: 0,
    lower: false,
    quoted: false,
    leadIn: false,
    bracketUntil: -1,
    startsWithEmoji: false,
  };
}

export class ScanState {
  readonly buffer = new TextBuffer();
  readonly profile: Profile;
  readonly markdown: boolean;
  readonly words: boolean;
  readonly active = new Uint8Array(CLASS_COUNT);
  readonly report: (offset: number, level: 1 | 2 | 3) => void;
  at = 0;
  state = SPACES;
  last = 0;
  silent = false;

  stop: Stop | undefined;
  sentence: Sentence = newSentence(0);
  list: List = { style: 0, value: -1 };
  /** Offset after the last emoji in running text. */
  emojiEnd = -1;
  spacesStart = 0;
  /** In the short lines that follow "Shopping list:". */
  unmarkedList = false;

  /** Anything but space has arrived since the start or the last flush. */
  content = false;
  newlines = 0;
  indent = 0;
  hardBreak = false;
  lastUnit = EOF;
  lineStart = 0;
  keyed = false;
  block = PROSE;
  quoted = false;

  span: Span = { kind: 0, start: 0, depth: 0 };
  fence: Fence = { mark: 0, length: 0, place: 0 };
  unspacedStart = 0;
  marked = false; // the marker of this line has been read

  constructor(
    language: string,
    contentType: string,
    finest: number,
    report: (offset: number, level: 1 | 2 | 3) => void,
  ) {
    this.profile = profileFor(language);
    this.markdown = /^text\/(?:x-)?markdown\b/i.test(contentType);
    this.words = finest <= WORD;
    this.report = report;
    const { active } = this;
    for (const kind of [
      0,
      COLON,
      SPACE,
      NEWLINE,
      DOT,
      BANG,
      STRONG,
      ELLIPSIS,
      OPEN,
      CLOSE,
      QUOTE,
      EMOJI,
      SURROGATE,
    ])
      active[kind] = 1;
    if (this.markdown) active[MARK] = 1;
    if (this.words) active[CJK] = active[SEA] = 1;
  }

  emit(offset: number, level: number): void {
    if (level === 0 || offset <= this.last || this.silent || (level === WORD && !this.words)) return;
    this.last = offset;
    this.report(offset, level as 1 | 2 | 3);
  }

  /** Inside a bracket that was opened in mid-sentence: "the plan (it is new. It works.) and". */
  inBracket(): boolean {
    return this.at < this.sentence.bracketUntil;
  }

  /** Inside a block that is never split. */
  inUnit(): boolean {
    const { block } = this;
    return (
      block === HEADING ||
      block === TABLE ||
      (block === ITEM && this.markdown && this.at - this.lineStart < MAX_ITEM_UNIT)
    );
  }

  /** Ends the spaces before the current character with a boundary of this level; 0 for none. */
  closeSpaces(level: number): void {
    const { at } = this;
    this.stop = undefined;
    if (level >= SENTENCE) {
      this.emit(at, level);
      this.beginSentence();
      return;
    }
    if (level === WORD && this.block !== TABLE) this.emit(at, WORD);
    this.sentence.words++;
    this.state = TEXT;
  }

  beginSentence(marked = false): void {
    this.marked = marked;
    this.sentence = newSentence(this.at);
    this.state = SENTENCE_START;
  }

  cancelStop(): void {
    this.stop = undefined;
    this.state = TEXT;
  }

  beginSpaces(at: number): void {
    this.state = SPACES;
    this.newlines = this.indent = 0;
    this.hardBreak = false;
    this.lastUnit = this.buffer.past(at - 1);
    this.spacesStart = at;
  }

  /** Later text starts from scratch, except inside an open code fence. */
  restart(): void {
    this.buffer.floor = this.at = this.buffer.end;
    if (this.state === FENCED) return;
    this.state = SPACES;
    this.stop = undefined;
    this.content = this.hardBreak = this.quoted = false;
    this.newlines = this.indent = 0;
    this.block = PROSE;
    this.lastUnit = EOF;
    this.list = { style: 0, value: -1 };
  }
}

export const LOWER = 1;
export const UPPER = 2;
export const LETTER = 3; // a letter without case, in a script that writes spaces
export const DIGIT = 4;
const PUNCT = 5; // any other punctuation
export const EXTEND = 6; // never preceded by a boundary
export const OPEN = 7;
export const CLOSE = 8;
export const QUOTE = 9; // straight quotes, opening or closing
export const FORMAT = 10; // invisible
export const EMOJI = 11;
export const SURROGATE = 12;
export const PREPEND = 13; // never followed by a boundary
export const COLON = 14; // : and ; which end sentences in Armenian and Greek
export const MARK = 15; // [ ` and \ which start something in Markdown
export const CJK = 16;
export const SEA = 17; // Thai, Lao, Khmer, Burmese: words without spaces
export const SPACE = 18;
export const NEWLINE = 19;
export const DOT = 20;
export const BANG = 21; // ends a sentence, if a space follows
export const STRONG = 22; // ends a sentence even without a space
export const ELLIPSIS = 23;
const CLASS_COUNT = 24;

const EXTENDING = /^(?:\p{M}|\p{Grapheme_Extend}|\p{Emoji_Modifier}|\u200d|\u0e33|\u0eb3)$/u;
// There is no property escape for prepended marks, so they are listed.
const PREPENDED =
  /^[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\u{110bd}\u{110cd}\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]$/u;
const IDEOGRAPHIC =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3005-\u3007\u30fc\uff70]$/u;
const SOUTH_EAST = /^(?=\p{L})[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const TESTS: readonly (readonly [RegExp, number])[] = [
  [EXTENDING, EXTEND],
  [PREPENDED, PREPEND],
  [/^\p{Nd}$/u, DIGIT],
  [/^[\n\r\v\f\u0085\u2028\u2029]$/u, NEWLINE],
  [/^[\t\u200b\p{Zs}]$/u, SPACE],
  [/^[.\u2024\uff0e\ufe52]$/u, DOT],
  [/^[!?\u203c\u203d\u2047-\u2049\u0f0d\u0f0e\u2e2e\ufe56\ufe57]$/u, BANG],
  [/^[\u2025\u2026\u22ef]$/u, ELLIPSIS],
  [/^[:;]$/u, COLON],
  [/^[[`\\]$/u, MARK],
  [/^["'\uff02\uff07]$/u, QUOTE],
  // U+104A is the Burmese comma and U+0701/0702 are Syriac colons, though Unicode calls them terminal.
  [/^(?![\u104a\u0701\u0702\u2cfa\u2cfb])[\p{Sentence_Terminal}\uff61]$/u, STRONG],
  [/^[\p{Ps}\p{Pi}\u00bf\u00a1]$/u, OPEN],
  [/^[\p{Pe}\p{Pf}]$/u, CLOSE],
  [IDEOGRAPHIC, CJK],
  [SOUTH_EAST, SEA],
  // Georgian has had capitals since 2018, but sentences do not start with them.
  [/^\p{Script=Georgian}$/u, LETTER],
  [/^\p{Ll}$/u, LOWER],
  [/^[\p{Lu}\p{Lt}]$/u, UPPER],
  [/^\p{L}$/u, LETTER],
  // Pictographs below U+2190 are signs such as © and ™, not emoji.
  [/^(?![\0-\u218f])[\p{Extended_Pictographic}\p{Regional_Indicator}]$/u, EMOJI],
  [/^\p{Cf}$/u, FORMAT],
];

const units = new Uint8Array(65536);
const astral = new Map<number, number>();

function lookUp(text: string): number {
  for (const [test, kind] of TESTS) if (test.test(text)) return kind;
  return PUNCT;
}

/** The cache itself, for the hot loop: 0 means not looked up yet. */
export const unitClasses: Readonly<Uint8Array> = units;

/** Class of one UTF-16 code unit. */
export function classOfUnit(unit: number): number {
  const known = units[unit];
  if (known) return known;
  let kind: number;
  if (unit >= 0xd840 && unit <= 0xd8bf) kind = CJK;
  else if (unit >= 0xd800 && unit <= 0xdfff) kind = SURROGATE;
  else kind = lookUp(String.fromCharCode(unit));
  units[unit] = kind;
  return kind;
}

/** Class of a code point beyond the basic plane. */
function classOfPair(point: number): number {
  let kind = astral.get(point);
  if (kind === undefined) {
    kind = lookUp(String.fromCodePoint(point));
    if (astral.size < 4096) astral.set(point, kind);
  }
  return kind;
}

/** Whether a class counts as part of a word. */
export function isWordClass(kind: number): boolean {
  return (kind > 0 && kind <= DIGIT) || kind === CJK || kind === SEA;
}

// A ring buffer of the most recent code units. Rules read it through `at`, which sets `needsMore` when a rule asks for
// text that has not arrived. The segmenter then runs that rule again after the next push.

export const EOF = -1;
const SIZE = 4096;
const MASK = SIZE - 1;
/** Most units to append before scanning: leaves room for look-back, and for look-ahead of a waiting rule. */
export const MAX_APPEND = 2048;

export class TextBuffer {
  readonly units: Uint16Array = new Uint16Array(SIZE);
  readonly mask: number = MASK;
  end = 0;
  floor = 0;
  closed = false;
  needsMore = false;

  append(text: string, from: number, to: number): void {
    const units = this.units;
    let end = this.end;
    for (let i = from; i < to; i++) units[end++ & MASK] = text.charCodeAt(i);
    this.end = end;
  }

  at(offset: number): number {
    if (offset < this.end) return this.units[offset & MASK]!;
    if (!this.closed) this.needsMore = true;
    return EOF;
  }

  /** The unit at an offset already scanned (recent ones only), or EOF before the last flush. */
  past(offset: number): number {
    return offset < this.floor ? EOF : this.units[offset & MASK]!;
  }

  /** Class of the code point starting at an offset; 0 at the end. */
  kind(offset: number): number {
    const unit = this.at(offset);
    if (unit === EOF) return 0;
    if ((unit & 0xfc00) !== 0xd800) return classOfUnit(unit);
    const low = this.at(offset + 1);
    if ((low & 0xfc00) !== 0xdc00) return SURROGATE;
    return classOfPair(((unit - 0xd800) << 10) + (low - 0xdc00) + 0x10000);
  }

  pastKind(offset: number): number {
    const unit = this.past(offset);
    if (unit === EOF) return 0;
    if ((unit & 0xfc00) === 0xdc00) return this.kind(offset - 1);
    return classOfUnit(unit);
  }

  width(offset: number): number {
    return (this.at(offset) & 0xfc00) === 0xd800 && (this.at(offset + 1) & 0xfc00) === 0xdc00 ? 2 : 1;
  }

  text(from: number, to: number): string {
    let out = "";
    for (let i = from; i < to; i++) out += String.fromCharCode(this.units[i & MASK]!);
    return out;
  }

  /** The text in NFC. Text without combining marks, the usual case, needs no normalization. */
  composed(from: number, to: number): string {
    let high = 0;
    for (let i = from; i < to; i++) high |= this.units[i & MASK]!;
    const text = this.text(from, to);
    return high < 0x300 ? text : text.normalize("NFC");
  }

  /** The letters starting at an offset, at most `most` units. */
  word(offset: number, most = 16): string {
    let i = offset;
    while (i < offset + most) {
      const kind = this.kind(i);
      if (kind === 0 || (kind > 3 && kind !== EXTEND)) break;
      i += this.width(i);
    }
    return this.composed(offset, Math.min(i, this.end));
  }

  /** The first offset from here on that is not horizontal space; looks at most `most` units ahead. */
  skipSpaces(offset: number, most = 12): number {
    let i = offset;
    while (i < offset + most && this.kind(i) === SPACE) i++;
    return i;
  }

  isBlank(offset: number): boolean {
    const kind = this.kind(offset);
    return kind === 0 || kind === SPACE || kind === NEWLINE;
  }
}
