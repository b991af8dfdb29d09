/**
 * Incremental text segmenter: reports word, sentence and paragraph boundaries of streamed text as offsets. One pass
 * with a few states. The TEXT state skips ordinary characters by table; only marks, spaces and line starts reach the
 * rules. A rule that needs text which has not arrived leaves the position unchanged and runs again on the next push, so
 * boundaries never depend on how the text was split into tokens.
 */

import {
  acceptsMarker,
  BLANK_QUOTE,
  BULLET,
  blockBoundary,
  CLOSED,
  CODE,
  FENCE,
  follows,
  HEADING,
  ITEM,
  LINK_TEXT,
  type Line,
  NOT_A_FENCE,
  nextInList,
  OPENING_LINE,
  opensList,
  PROSE,
  readMarkdownLine,
  readMarker,
  readNumber,
  readPlainLine,
  runLength,
  skipCitation,
  skipEmoji,
  skipEmoticon,
  skipFootnoteMark,
  skipQuoteEntity,
  stepFence,
  stepSpan,
  TABLE,
  UNDERLINE,
} from "./blocks.ts";
import { TIME_LEAD_IN } from "./language-data.ts";
import {
  BANG,
  CJK,
  CLOSE,
  COLON,
  classOfUnit,
  DIGIT,
  DOT,
  ELLIPSIS,
  EMOJI,
  EXTEND,
  FENCED,
  FORMAT,
  isStop,
  isThaiOrLao,
  isWordClass,
  LETTER,
  LOWER,
  MARK,
  MAX_APPEND,
  MAX_KEY_LENGTH,
  NEWLINE,
  OPEN,
  PARAGRAPH,
  QUOTE,
  ScanState,
  SEA,
  SENTENCE,
  SENTENCE_START,
  SPACE,
  SPACES,
  SPAN,
  STOP,
  STRONG,
  SURROGATE,
  TEXT,
  UNSPACED,
  UPPER,
  unitClasses,
  WORD,
} from "./scan-state.ts";
import {
  classifyBefore,
  endsSentence,
  isParticle,
  isStarter,
  ORDINARY,
  type Stop,
  tokenBefore,
  wordSet,
} from "./sentence-rules.ts";
import { beginUnspaced, inUnspaced } from "./unspaced-words.ts";

/** 1 word, 2 sentence, 3 paragraph. */
export type BoundaryLevel = 1 | 2 | 3;

export interface SegmenterOptions {
  /** BCP 47. */
  language: string;
  /** Default "text/plain"; "text/markdown" keeps blocks, links and code whole. */
  content_type?: string;
  /** The finest level to report, default WORD. Words in Chinese or Thai need a dictionary, which costs time. */
  finest?: BoundaryLevel;
}

export interface Segmenter {
  /** Accepts text split anywhere, even inside a surrogate pair. */
  push(text: string): void;
  /** Forces a boundary here: drops a pending decision, and later text starts a new sentence. */
  flush(): void;
  /** No more text. */
  end(): void;
  /** UTF-16 units pushed so far. */
  readonly length: number;
}

export function createSegmenter(
  options: SegmenterOptions,
  emit: (offset: number, level: BoundaryLevel) => void,
): Segmenter {
  const { language, content_type = "text/plain", finest = WORD } = options;
  const s = new ScanState(language, content_type, finest, emit);
  const { buffer } = s;
  return {
    get length() {
      return buffer.end;
    },
    push(text) {
      for (let from = 0; from < text.length; from += MAX_APPEND) {
        buffer.append(text, from, Math.min(text.length, from + MAX_APPEND));
        run(s);
      }
    },
    end() {
      buffer.closed = true;
      run(s);
      if (s.state === UNSPACED) inUnspaced(s);
    },
    flush() {
      // Scan the rest without reporting, to keep track of blocks: a code fence may have just closed.
      s.silent = buffer.closed = true;
      run(s);
      s.silent = buffer.closed = false;
      s.restart();
    },
  };
}

/** Splits a complete text at the boundaries of a level. */
export function segmentText(text: string, options: SegmenterOptions, level: BoundaryLevel): string[] {
  const pieces: string[] = [];
  let from = 0;
  const segmenter = createSegmenter({ ...options, finest: level }, (offset, found) => {
    if (found < level) return;
    pieces.push(text.slice(from, offset));
    from = offset;
  });
  segmenter.push(text);
  segmenter.end();
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

/** A bracket or quotation left open for longer than this no longer keeps its sentence together. */
const MAX_BRACKET = 160;
const MAX_QUOTATION = 48;
const QUOTATIONS = '"“«„';

function run(s: ScanState) {
  const { buffer } = s;
  while (s.at < buffer.end) {
    step(s);
    if (buffer.needsMore) {
      buffer.needsMore = false;
      return;
    }
  }
}

function step(s: ScanState) {
  switch (s.state) {
    case TEXT:
      return inText(s);
    case STOP:
      return afterStop(s);
    case SPACES:
      return inSpaces(s);
    case SENTENCE_START:
      return atSentenceStart(s);
    case SPAN:
      return inSpan(s);
    case FENCED:
      return inFence(s);
    default:
      return inUnspaced(s);
  }
}

function inText(s: ScanState) {
  const { buffer, active } = s;
  const { units, mask, end } = buffer;
  let at = s.at;
  while (at < end && active[unitClasses[units[at & mask]!]!] === 0) at++;
  s.at = at;
  if (at === end) return;
  const unit = units[at & mask]!;
  const kind = classOfUnit(unit);
  if (active[kind] === 0) return; // its class was not cached yet
  if (kind === SPACE || kind === NEWLINE) s.beginSpaces(at);
  else if (kind === COLON) atColon(s, unit);
  else if (kind === MARK) atMarkdownMark(s, unit);
  else if (kind === OPEN || kind === CLOSE || kind === QUOTE) atBracket(s, kind, unit);
  else if (kind === EMOJI || kind === SURROGATE) atEmoji(s);
  else if (kind === CJK || kind === SEA) beginUnspaced(s);
  else beginStop(s, kind);
}

function atBracket(s: ScanState, kind: number, unit: number) {
  const { buffer, at, sentence } = s;
  s.at++;
  if (kind === CLOSE) {
    sentence.bracketUntil = -1;
    return;
  }
  if (at <= sentence.start || unit === 0x27) return;
  const before = buffer.pastKind(at - 1);
  if (unit === 0x28 || unit === 0xff08) {
    if (before !== COLON) sentence.bracketUntil = at + MAX_BRACKET; // not the emoticon :(
  } else if (unit === 0x22 && before !== SPACE && before !== OPEN) sentence.bracketUntil = -1;
  // After a comma or a colon the quotation is direct speech with sentences of its own.
  else if (
    before === SPACE &&
    isWordClass(buffer.pastKind(at - 2)) &&
    QUOTATIONS.includes(String.fromCharCode(unit))
  )
    sentence.bracketUntil = at + MAX_QUOTATION;
}

function atEmoji(s: ScanState) {
  const { buffer, at } = s;
  const next = skipEmoji(buffer, at);
  const particle = next > at && !closesWithEmoji(s, at, next);
  if (buffer.needsMore) return;
  if (next === at) s.at += buffer.width(at);
  else {
    s.at = s.emojiEnd = next;
    if (!particle) s.closeSpaces(SENTENCE);
  }
}

/** ありがとう😊またね: in Japanese an emoji between words replaces the full stop, unless a particle follows it. */
function closesWithEmoji(s: ScanState, at: number, next: number): boolean {
  const { buffer, profile } = s;
  if (profile.language !== "ja" || s.inUnit() || buffer.pastKind(at - 1) !== CJK) return false;
  return buffer.kind(next) === CJK && !isParticle(buffer.at(next));
}

function atColon(s: ScanState, unit: number) {
  const { buffer, at } = s;
  const blank = buffer.isBlank(at + 1) || buffer.kind(at + 1) === CLOSE || buffer.kind(at + 1) === QUOTE;
  if (buffer.needsMore) return;
  const language = s.profile.language;
  const before = buffer.past(at - 1);
  const open = buffer.pastKind(at - 1);
  const emoticon = open === 0 || open === SPACE || open === NEWLINE ? skipEmoticon(buffer, at) : at;
  if (buffer.needsMore) return;
  if (emoticon > at) {
    s.at = s.emojiEnd = emoticon;
    return;
  }
  if (blank && unit === 0x3b && language === "el" && buffer.pastKind(at - 1) <= LETTER)
    return beginStop(s, BANG);
  if (blank && unit === 0x3a && before >= 0x0531 && before <= 0x0587) return beginStop(s, BANG);
  if (unit === 0x3a && blank && at - s.lineStart <= MAX_KEY_LENGTH) s.keyed = true;
  s.at++;
}

function atMarkdownMark(s: ScanState, unit: number) {
  const { buffer, at, span } = s;
  if (unit === 0x5c) {
    const blank = buffer.isBlank(at + 1);
    if (!buffer.needsMore) s.at += blank ? 1 : 2;
    return;
  }
  const depth = unit === 0x60 ? runLength(buffer, at, unit, 32) : 1;
  if (buffer.needsMore) return;
  span.kind = unit === 0x60 ? CODE : LINK_TEXT;
  span.depth = depth;
  span.start = at;
  s.at += depth;
  s.state = SPAN;
}

function inSpan(s: ScanState) {
  const { buffer, span } = s;
  while (s.at < buffer.end && span.kind !== 0) {
    const next = stepSpan(buffer, span, s.at);
    if (buffer.needsMore) return;
    s.at = next;
  }
  if (span.kind === 0) s.state = TEXT;
}

// After a mark that may end a sentence: skip closing quotes, footnotes, emoji and space, then decide whether the
// sentence is over. Also handles plain space between words.

/** After a longer run of marks, the text before it may have left the buffer and is not examined. */
const MAX_MARK_RUN = 64;

function beginStop(s: ScanState, kind: number) {
  const { buffer, at } = s;
  s.stop = {
    kind,
    at,
    marks: kind === ELLIPSIS ? 3 : 1,
    apart: buffer.pastKind(at - 1) === SPACE,
    opened: buffer.pastKind(at - 1) === OPEN || buffer.past(at - 1) === 0x5b,
    before: undefined,
    quote: false,
    closer: false,
    emoji: false,
    bracketed: false,
  };
  s.at++;
  s.state = STOP;
}

function addMark(s: ScanState, stop: Stop, kind: number) {
  if (stop.kind === STRONG || kind === STRONG) stop.kind = STRONG;
  else if (stop.kind === BANG || kind === BANG) stop.kind = BANG;
  else if (kind === ELLIPSIS) {
    stop.kind = ELLIPSIS;
    stop.marks = 3;
  } else {
    stop.marks++;
    stop.kind = stop.marks < 4 ? ELLIPSIS : DOT;
  }
  s.at++;
}

function afterStop(s: ScanState) {
  const { buffer, at } = s;
  const stop = s.stop!;
  const kind = buffer.kind(at);
  if (buffer.needsMore) return;
  if (isStop(kind)) return addMark(s, stop, kind);
  if (kind === EXTEND || kind === FORMAT) {
    s.at += buffer.width(at);
    return;
  }
  const near = at - stop.at <= MAX_MARK_RUN;
  if (!stop.before && near && !(stop.kind === DOT && isWordClass(kind)))
    stop.before = classifyBefore(buffer, s.profile, stop.at);
  if (kind === SPACE || kind === NEWLINE) return s.beginSpaces(at);
  const unit = buffer.at(at);
  const blank = kind === OPEN && buffer.isBlank(at + 1);
  if (buffer.needsMore) return;
  if (isCloser(kind, unit, stop, blank)) {
    // (!) and [...] are remarks; they do not end the sentence.
    if (stop.opened) return s.cancelStop();
    stop.closer = true;
    if (unit === 0x300b || unit === 0x3009) return s.cancelStop(); // 《你好！》 is a title
    if (s.inBracket() && unit === 0xff09) stop.bracketed = true;
    s.sentence.bracketUntil = -1;
    if (kind !== CLOSE || "”’»›」』〟﹂﹄".includes(String.fromCharCode(unit)))
      stop.quote ||= unit !== 0x2a && unit !== 0x5f && unit !== 0x7e;
    s.at++;
    return;
  }
  if (kind === EMOJI) {
    const next = skipEmoji(buffer, at);
    if (buffer.needsMore) return;
    stop.emoji = true;
    s.at = next;
    return;
  }
  const note = skipFootnoteMark(buffer, at);
  if (buffer.needsMore) return;
  const entity = skipQuoteEntity(buffer, at);
  const digits = skipFootnoteNumber(s, stop, at);
  if (buffer.needsMore) return;
  if (entity > at) stop.quote = stop.closer = true;
  if (Math.max(note, entity, digits) > at) {
    s.at = Math.max(note, entity, digits);
    return;
  }
  textAfterStop(s, stop, kind);
}

/** A footnote mark written as a plain number: "rose by half.5 Tea fell". */
function skipFootnoteNumber(s: ScanState, stop: Stop, at: number): number {
  const { buffer } = s;
  if (stop.kind !== DOT || buffer.kind(at) !== DIGIT || at !== stop.at + 1) return at;
  const end = buffer.kind(at + 1) === DIGIT ? at + 2 : at + 1;
  if (buffer.kind(end) !== SPACE || buffer.kind(end + 1) !== UPPER) return at;
  const before = classifyBefore(buffer, s.profile, stop.at);
  if (before.kind !== ORDINARY || !/^\p{Ll}{4,}$/u.test(before.text)) return at;
  stop.before = before;
  return end;
}

function isCloser(kind: number, unit: number, stop: Stop, blank: boolean): boolean {
  if (kind === CLOSE || kind === QUOTE || unit === 0x2a || unit === 0x5f || unit === 0x7e) return true;
  // “ closes in German and Urdu, but after 。 it opens.
  return (stop.kind !== STRONG || blank) && kind === OPEN && "“‘«‹".includes(String.fromCharCode(unit));
}

/** Text follows the stop without a space, which ends the sentence only in scripts that write no space there. */
function textAfterStop(s: ScanState, stop: Stop, kind: number) {
  const { buffer, at } = s;
  let ends = false;
  const near = at - stop.at <= MAX_MARK_RUN;
  if (stop.kind === STRONG || stop.emoji) {
    // Khmer writes "etc." as a letter between two stops.
    const khmer = buffer.at(at) === 0x179b && buffer.past(at - 1) === 0x17d4 && buffer.at(at + 1) === 0x17d4;
    ends = !khmer && endsSentence(buffer, s.profile, stop, s.sentence, at);
  } else if (near && stop.kind === BANG && kind === UPPER && buffer.pastKind(stop.at - 1) === LOWER) {
    const token = tokenBefore(buffer, stop.at);
    const before = buffer.pastKind(token.start - 1);
    ends = /^\p{L}+$/u.test(token.text) && (before === 0 || before === SPACE || before === NEWLINE);
  } else if (near && kind === CJK) {
    ends = stop.kind !== ELLIPSIS && buffer.pastKind(stop.at - 1) === CJK;
  }
  if (buffer.needsMore) return;
  if (ends && !s.inUnit() && !s.inBracket() && !stop.bracketed) s.closeSpaces(SENTENCE);
  else s.cancelStop();
}

function inSpaces(s: ScanState) {
  const { buffer, at } = s;
  const kind = buffer.kind(at);
  const unit = buffer.at(at);
  if (kind === NEWLINE) {
    const width = unit === 13 && buffer.at(at + 1) === 10 ? 2 : 1;
    if (buffer.needsMore) return;
    if (s.newlines++ === 0 && s.markdown)
      s.hardBreak =
        buffer.past(at - 1) === 0x5c || (buffer.past(at - 1) === 0x20 && buffer.past(at - 2) === 0x20);
    s.indent = 0;
    s.at += width;
    return;
  }
  if (buffer.needsMore) return;
  if (kind === SPACE) {
    s.indent++;
    s.at++;
    return;
  }
  if (s.newlines > 0 || !s.content) return openLine(s);
  if (kind === EXTEND) return s.cancelStop();
  if (s.stop) resolveStop(s, s.stop, kind);
  else resolveSpace(s, kind, unit);
}

function resolveStop(s: ScanState, stop: Stop, kind: number) {
  const { buffer, at } = s;
  if (isStop(kind)) {
    const word = isWordClass(buffer.kind(at + 1)) || isStop(buffer.kind(at + 1));
    if (buffer.needsMore) return;
    if (!word || (kind !== DOT && kind !== ELLIPSIS)) {
      s.state = STOP;
      return addMark(s, stop, kind);
    }
  }
  if (kind === EMOJI && !s.sentence.startsWithEmoji)
    return keepWithSentence(s, skipEmoji(buffer, at), () => (stop.emoji = true));
  if (buffer.at(at) === 0x7e && buffer.isBlank(at + 1)) return keepWithSentence(s, at + 1, () => {});
  if (kind === COLON) {
    const emoticon = skipEmoticon(buffer, at);
    if (buffer.needsMore) return;
    if (emoticon > at) return keepWithSentence(s, emoticon, () => (stop.emoji = true));
  }
  if (kind === CLOSE) {
    const after = buffer.kind(at + 1);
    if (buffer.needsMore) return;
    if (!isWordClass(after)) {
      stop.closer = stop.quote = true;
      s.state = STOP;
      s.at++;
      return;
    }
  }
  const note =
    skipFootnoteMark(buffer, at) > at || !stop.quote
      ? skipFootnoteMark(buffer, at)
      : skipCitation(buffer, at);
  const alone = note > at && buffer.isBlank(note);
  if (buffer.needsMore) return;
  if (alone) return keepWithSentence(s, note, () => {});
  const ends = !s.inUnit() && !s.inBracket() && endsSentence(buffer, s.profile, stop, s.sentence, at);
  if (!buffer.needsMore) s.closeSpaces(ends ? SENTENCE : WORD);
}

/** An emoji or a footnote mark after the stop belongs to the sentence before it. */
function keepWithSentence(s: ScanState, next: number, note: () => void) {
  if (s.buffer.needsMore) return;
  note();
  if (s.block !== TABLE) s.emit(s.at, WORD);
  s.at = next;
  s.state = STOP;
}

function resolveSpace(s: ScanState, kind: number, unit: number) {
  const { buffer, at, list } = s;
  let level = WORD;
  if (isThaiOrLao(unit) && isThaiOrLao(s.lastUnit)) level = SENTENCE;
  else if (
    s.emojiEnd === s.spacesStart &&
    s.sentence.words > 0 &&
    kind === UPPER &&
    isStarter(buffer, s.profile, at)
  )
    level = SENTENCE;
  else if (list.style !== 0 && !(s.markdown && s.block === ITEM) && nextInList(buffer, at, list))
    level = SENTENCE;
  else if (s.lastUnit === 0x3a && s.profile.language !== "de") {
    // Not in German, where every noun is capitalized.
    const marker = opensList(buffer, at);
    if (buffer.needsMore) return;
    if (marker && !s.inUnit()) {
      // The previous value, so that this marker counts as its successor.
      s.list = { style: marker.style, value: marker.value - 1 };
      level = SENTENCE;
    }
  } else if (isStop(kind) || kind === CLOSE || kind === COLON) {
    // "Bonjour !": a mark after a space stays with its word.
    if (!isWordClass(buffer.kind(at + 1))) level = 0;
  }
  if (!buffer.needsMore) s.closeSpaces(level === SENTENCE && s.inUnit() ? WORD : level);
}

// At the start of a line or sentence: which block the line belongs to, whether the line break was only a wrap, and
// what the sentence starts with.

/** A line up to this length may be a list item without a marker. */
const MAX_UNMARKED_ITEM = 40;

const leadIns = wordSet(TIME_LEAD_IN);

function openLine(s: ScanState) {
  const { buffer, at, list, newlines, markdown } = s;
  const first = !s.content;
  // A blank line is a paragraph boundary whatever follows, so report it without waiting for the next line.
  if (!first && newlines > 1 && buffer.at(at) !== 0x3e && buffer.kind(at) !== EXTEND && !buffer.needsMore)
    s.emit(at, PARAGRAPH);
  const prose = !first && newlines === 1 && (s.block === PROSE || s.block === ITEM);
  const line = markdown ? readMarkdownLine(buffer, at, prose) : readPlainLine(buffer, at);
  const opensParagraph = first || newlines > 1;
  const free = opensParagraph || s.block !== PROSE || s.lastUnit === 0x3a || s.stop !== undefined;
  if (line.marker && !acceptsMarker(line.marker, list, free, opensParagraph)) {
    line.kind = PROSE;
    delete line.marker;
  }
  // Indented code (not a continued list item).
  if (
    markdown &&
    s.indent >= 4 &&
    list.style === 0 &&
    (opensParagraph || s.block === TABLE) &&
    line.content === at
  ) {
    line.kind = TABLE;
    delete line.marker;
  }
  if (line.kind === BLANK_QUOTE) {
    if (buffer.needsMore) return;
    s.newlines = 2;
    s.at = line.content;
    return;
  }
  if (buffer.kind(at) === EXTEND) return s.cancelStop();
  let level = 0;
  if (!first) {
    const known = blockBoundary(s.block, line.kind, newlines);
    level = known >= 0 ? known : proseBoundary(s, line.content, line.content > at);
  }
  if (buffer.needsMore) return;
  s.content = true;
  enterLine(s, line, level, first);
}

/** A single line break between two lines of prose (or of an item): a wrapped line, or the next sentence. */
function proseBoundary(s: ScanState, content: number, quoted: boolean): number {
  const { buffer, stop, lastUnit } = s;
  if (s.hardBreak || (quoted && !s.quoted)) return SENTENCE;
  const kind = buffer.kind(content);
  if (kind === EMOJI) return SENTENCE;
  if (s.block === ITEM && s.indent === 0 && kind !== LOWER) return SENTENCE;
  if (stop) {
    const ends = !s.inUnit() && endsSentence(buffer, s.profile, stop, s.sentence, content);
    return ends ? SENTENCE : WORD;
  }
  if (isThaiOrLao(lastUnit) && isThaiOrLao(buffer.at(content))) return SENTENCE;
  if (s.inUnit()) return WORD;
  // "Shopping list:" followed by short lines.
  const short = s.at - s.lineStart <= MAX_UNMARKED_ITEM;
  s.unmarkedList = short && (s.unmarkedList || lastUnit === 0x3a);
  if (s.unmarkedList) return SENTENCE;
  if (kind === LOWER) return WORD;
  return lastUnit === 0x3a || (s.keyed && kind === UPPER) ? SENTENCE : WORD;
}

function enterLine(s: ScanState, line: Line, level: number, first: boolean) {
  const { at, list } = s;
  s.stop = undefined;
  s.emit(at, level);
  const fresh = first || level >= SENTENCE;
  if (line.kind !== PROSE || fresh) s.block = line.kind === UNDERLINE ? HEADING : line.kind;
  if (fresh || line.kind === TABLE) s.lineStart = at;
  s.quoted = s.markdown && line.content > at;
  s.keyed = false;
  if (level === PARAGRAPH || line.marker) s.unmarkedList = false;
  if (line.marker) {
    list.style = line.marker.style;
    list.value = line.marker.value;
  } else if (level === PARAGRAPH && line.kind !== FENCE) {
    list.style = 0;
    list.value = -1;
  }
  if (line.kind === FENCE) {
    s.fence = { mark: line.mark, length: line.length, place: OPENING_LINE };
    s.state = FENCED;
  } else if (fresh) s.beginSentence(line.marker !== undefined);
  else {
    s.sentence.words++;
    s.state = TEXT;
  }
  s.at = line.marker?.end ?? line.content;
}

function inFence(s: ScanState) {
  const { buffer, fence } = s;
  const next = stepFence(buffer, fence, s.at);
  if (buffer.needsMore) return;
  s.at = next;
  if (fence.place === CLOSED || fence.place === NOT_A_FENCE) {
    s.state = TEXT;
    if (fence.place === NOT_A_FENCE) s.block = PROSE;
  }
}

function atSentenceStart(s: ScanState) {
  const { buffer, list } = s;
  if (s.marked) return readOpening(s, s.at);
  const bullet = list.style === BULLET;
  const marker = bullet ? readMarker(buffer, s.at, false) : readNumber(buffer, s.at);
  // "Do this. 1. Open it. 2. Close it."
  const opens = marker?.value === 1 && opensList(buffer, s.at) !== undefined;
  if (buffer.needsMore) return;
  const goesOn = marker && (bullet ? marker.style === BULLET : follows(list, marker));
  const next = goesOn || opens ? marker : undefined;
  readOpening(s, next?.end ?? s.at);
  if (!next || buffer.needsMore) return;
  list.style = next.style;
  list.value = next.value;
}

function readOpening(s: ScanState, from: number) {
  const { buffer, sentence } = s;
  let at = from;
  let kind = buffer.kind(at);
  const quoted =
    kind === QUOTE || (kind === OPEN && "“‘«‹„‚「『".includes(String.fromCharCode(buffer.at(at))));
  if (quoted) kind = buffer.kind(++at);
  const leadIn = kind === UPPER && leadIns.has(buffer.word(at, 9));
  if (buffer.needsMore) return;
  sentence.quoted = quoted;
  sentence.startsWithEmoji = kind === EMOJI;
  sentence.lower = kind === LOWER;
  sentence.leadIn = leadIn;
  s.at = from;
  s.state = TEXT;
}
