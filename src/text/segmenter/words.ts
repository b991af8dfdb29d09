// Words in scripts that write none apart (Chinese, Japanese, Thai, Lao, Khmer, Burmese): the engine's dictionary,
// asked about short windows. A window is cut by the text alone (the end of the run, or a fixed length), so the
// same text gives the same words however it arrived.
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
  SEA,
} from "./classes.ts";
import { TABLE } from "./lines.ts";
import { RUN, type Scan, TEXT, WORD } from "./state.ts";

/** Window length, and how much of a full window is settled: the rest is the dictionary's look-ahead. */
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

/** Marks that join the letter after them: Indic viramas and their kin. */
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

export function beginRun(s: Scan) {
  const { tape, at } = s;
  const kind = tape.kind(at);
  if (tape.starved) return;
  // The first half of a pair only hints at an ideograph.
  if (kind !== CJK && kind !== SEA) {
    s.at += tape.width(at);
    return;
  }
  const before = tape.pastKind(at - 1);
  const unit = tape.past(at - 1);
  const joined =
    before === OPEN ||
    before === QUOTE ||
    before === PREPEND ||
    before === EXTEND ||
    before === DIGIT ||
    before === MARK;
  if (before !== 0 && !joined && unit !== 0x2a && unit !== 0x5f && unit !== 0x23 && s.block !== TABLE)
    s.emit(at, WORD);
  s.runStart = at;
  s.state = RUN;
}

export function inRun(s: Scan) {
  const { tape } = s;
  let kind = 0;
  while (s.at < tape.end) {
    kind = tape.kind(s.at);
    if (tape.starved) return;
    if (kind !== CJK && kind !== SEA && kind !== EXTEND) break;
    s.at += tape.width(s.at);
    if (s.at - s.runStart >= WINDOW) cutRun(s, s.runStart + WINDOW, SETTLED);
  }
  if (s.at === tape.end && !tape.closed) return;
  cutRun(s, s.at, WINDOW);
  if (
    s.at < tape.end &&
    (isWordClass(kind) || kind === OPEN) &&
    s.block !== TABLE &&
    (kind !== LETTER || tape.pastKind(s.at - 1) !== EXTEND)
  )
    s.emit(s.at, WORD);
  s.state = TEXT;
}

function cutRun(s: Scan, end: number, limit: number) {
  const from = s.runStart;
  s.runStart = from + limit;
  if (s.block === TABLE) return;
  for (const start of wordStarts(s.tape.text(from, end), limit)) {
    s.emit(from + start, WORD);
    if (limit === SETTLED) s.runStart = from + start;
  }
}
