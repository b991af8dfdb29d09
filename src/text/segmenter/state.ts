// The state of the scan, and the few ways in which it changes at a boundary. The states themselves live in the
// files beside this one; each is a function of this record.
import {
  BANG,
  CJK,
  CLASS_COUNT,
  CLOSE,
  COLON,
  classOfUnit,
  DIGIT,
  DOT,
  ELLIPSIS,
  EMOJI,
  MARK,
  NEWLINE,
  OPEN,
  QUOTE,
  SEA,
  SPACE,
  STRONG,
  SURROGATE,
} from "./classes.ts";
import type { Sentence, Stop } from "./decide.ts";
import type { Span } from "./inline.ts";
import { type Profile, profileFor } from "./language.ts";
import { type Fence, HEADING, ITEM, type List, PROSE, TABLE } from "./lines.ts";
import { EOF, Tape } from "./tape.ts";

export const TEXT = 1; // inside words
export const STOP = 2; // after a mark that may end a sentence
export const GAP = 3; // in the space after words or after a stop
export const FRESH = 4; // at the first character of a sentence
export const SPAN = 5; // in inline code or a link
export const FENCED = 6;
export const RUN = 7; // in words that no spaces divide

export const WORD = 1;
export const SENTENCE = 2;
export const PARAGRAPH = 3;

/** A list item is one unit, but a listener is not kept waiting for a long one. */
const ITEM_MOST = 400;
/** "Name: Ana": a colon this near the opening of the line makes it an entry. */
export const KEY_MOST = 32;

export function isStop(kind: number): boolean {
  return kind >= DOT && kind <= ELLIPSIS;
}

/** Thai or Lao, where a space is a pause: not their digits, repetition marks and abbreviation mark. */
export function pauses(unit: number): boolean {
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

function freshSentence(start: number): Sentence {
  return { start, words: 0, lower: false, quoted: false, leadIn: false, heldUntil: -1, pictured: false };
}

export class Scan {
  readonly tape = new Tape();
  readonly profile: Profile;
  readonly markdown: boolean;
  readonly words: boolean;
  readonly active = new Uint8Array(CLASS_COUNT);
  readonly report: (offset: number, level: 1 | 2 | 3) => void;
  at = 0;
  state = GAP;
  last = 0;
  muted = false;

  stop: Stop | undefined;
  sentence: Sentence = freshSentence(0);
  list: List = { style: 0, value: -1 };
  /** Where the last emoji that stood in the text ended. */
  emojiEnd = -1;
  gapStart = 0;
  /** In the short lines after "Shopping list:". */
  bare = false;

  /** Something other than space has come since the beginning or the last flush. */
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
  runStart = 0;
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
    if (level === 0 || offset <= this.last || this.muted || (level === WORD && !this.words)) return;
    this.last = offset;
    this.report(offset, level as 1 | 2 | 3);
  }

  /** Inside a bracket that opened in the middle of the sentence: "the plan (it is new. It works.) and". */
  isHeld(): boolean {
    return this.at < this.sentence.heldUntil;
  }

  /** Inside a block that is heard as a whole. */
  isUnit(): boolean {
    const { block } = this;
    return (
      block === HEADING ||
      block === TABLE ||
      (block === ITEM && this.markdown && this.at - this.lineStart < ITEM_MOST)
    );
  }

  /** Closes the gap before the current character with a boundary of this level, or none. */
  finish(level: number): void {
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
    this.sentence = freshSentence(this.at);
    this.state = FRESH;
  }

  cancelStop(): void {
    this.stop = undefined;
    this.state = TEXT;
  }

  beginGap(at: number): void {
    this.state = GAP;
    this.newlines = this.indent = 0;
    this.hardBreak = false;
    this.lastUnit = this.tape.past(at - 1);
    this.gapStart = at;
  }

  /** Later text begins afresh; only an open fence goes on. */
  restart(): void {
    this.tape.floor = this.at = this.tape.end;
    if (this.state === FENCED) return;
    this.state = GAP;
    this.stop = undefined;
    this.content = this.hardBreak = this.quoted = false;
    this.newlines = this.indent = 0;
    this.block = PROSE;
    this.lastUnit = EOF;
    this.list = { style: 0, value: -1 };
  }
}
