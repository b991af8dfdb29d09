/**
 * Word boundaries in scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), from the
 * dictionary of Intl.Segmenter, applied to short windows. Window limits depend only on the text, so the same text gives
 * the same words however it was split into tokens.
 */

import { TABLE } from "./blocks.ts";
import {
  CJK,
  classOfUnit,
  DIGIT,
  EXTEND,
  isWordClass,
  LETTER,
  MARK,
  OPEN,
  PREPEND,
  QUOTE,
  type ScanState,
  SEA,
  TEXT,
  UNSPACED,
  WORD,
} from "./scan-state.ts";

/** Window length, and how much of a full window is final: the rest is look-ahead for the dictionary. */
const WINDOW = 32;
const SETTLED = 20;

let dictionary: Intl.Segmenter | undefined;

function cutPoints(text: string): number[] {
  if (typeof Intl === "object" && Intl.Segmenter) {
    dictionary ??= new Intl.Segmenter("en", { granularity: "word" });
    const points: number[] = [];
    for (const part of dictionary.segment(text)) points.push(part.index);
    return points;
  }
  return Array.from(text, (_, index) => index);
}

/** Marks that join the next letter: Indic viramas and similar. */
const LINKERS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0c4d\u0ccd\u0d4d\u1039\u17d2\u1a60\u1b44\ua9c0\uaaf6";

function joinsBackward(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if ((unit & 0xfc00) === 0xdc00 || classOfUnit(unit) === EXTEND) return true;
  for (let i = index - 1; i >= 0 && classOfUnit(text.charCodeAt(i)) === EXTEND; i--)
    if (LINKERS.includes(text[i]!)) return true;
  return false;
}

/** Offsets inside `text` where a word begins, at most `limit`. */
function wordStarts(text: string, limit: number): number[] {
  return cutPoints(text).filter((index) => index > 0 && index <= limit && !joinsBackward(text, index));
}

export function beginUnspaced(s: ScanState) {
  const { buffer, at } = s;
  const kind = buffer.kind(at);
  if (buffer.needsMore) return;
  // The first half of a surrogate pair may or may not be an ideograph.
  if (kind !== CJK && kind !== SEA) {
    s.at += buffer.width(at);
    return;
  }
  const before = buffer.pastKind(at - 1);
  const unit = buffer.past(at - 1);
  const joined =
    before === OPEN ||
    before === QUOTE ||
    before === PREPEND ||
    before === EXTEND ||
    before === DIGIT ||
    before === MARK;
  if (before !== 0 && !joined && unit !== 0x2a && unit !== 0x5f && unit !== 0x23 && s.block !== TABLE)
    s.emit(at, WORD);
  s.unspacedStart = at;
  s.state = UNSPACED;
}

export function inUnspaced(s: ScanState) {
  const { buffer } = s;
  let kind = 0;
  while (s.at < buffer.end) {
    kind = buffer.kind(s.at);
    if (buffer.needsMore) return;
    if (kind !== CJK && kind !== SEA && kind !== EXTEND) break;
    s.at += buffer.width(s.at);
    if (s.at - s.unspacedStart >= WINDOW) cutUnspaced(s, s.unspacedStart + WINDOW, SETTLED);
  }
  if (s.at === buffer.end && !buffer.closed) return;
  cutUnspaced(s, s.at, WINDOW);
  if (
    s.at < buffer.end &&
    (isWordClass(kind) || kind === OPEN) &&
    s.block !== TABLE &&
    (kind !== LETTER || buffer.pastKind(s.at - 1) !== EXTEND)
  )
    s.emit(s.at, WORD);
  s.state = TEXT;
}

function cutUnspaced(s: ScanState, end: number, limit: number) {
  const from = s.unspacedStart;
  s.unspacedStart = from + limit;
  if (s.block === TABLE) return;
  for (const start of wordStarts(s.buffer.text(from, end), limit)) {
    s.emit(from + start, WORD);
    if (limit === SETTLED) s.unspacedStart = from + start;
  }
}
