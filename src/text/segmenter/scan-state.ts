/** The state of the segmenter between two characters, and how a boundary changes it. segmenter.ts runs the states. */

import { type Fence, HEADING, ITEM, type List, PROSE, type Span, TABLE } from "./blocks.ts";
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
  EOF,
  MARK,
  NEWLINE,
  OPEN,
  QUOTE,
  SEA,
  SPACE,
  STRONG,
  SURROGATE,
  TextBuffer,
} from "./buffer.ts";
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
