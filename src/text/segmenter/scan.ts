// The scan itself: one pass over the text with a handful of states. Ordinary characters are skipped by table in
// the TEXT state; only marks, spaces and line openings reach the rules. A rule that needs text which has not come
// leaves the position where it is and is asked again with the next token.
import { atFirst, inFence } from "./blocks.ts";
import {
  BANG,
  CJK,
  CLOSE,
  COLON,
  classOfUnit,
  EMOJI,
  isWordClass,
  LETTER,
  MARK,
  NEWLINE,
  OPEN,
  QUOTE,
  SEA,
  SPACE,
  SURROGATE,
  unitClasses,
} from "./classes.ts";
import { isParticle } from "./decide.ts";
import { CODE, LINK_TEXT, passEmoji, passFace, stepSpan } from "./inline.ts";
import { runLength } from "./lines.ts";
import { FENCED, FRESH, GAP, KEY_MOST, RUN, Scan, SENTENCE, SPAN, STOP, TEXT } from "./state.ts";
import { afterStop, beginStop, inGap } from "./stops.ts";
import { SLICE } from "./tape.ts";
import { beginRun, inRun } from "./words.ts";

/** A bracket or quotation that has not closed within so many units does not hold its sentence together. */
const BRACKET_MOST = 160;
const QUOTATION_MOST = 48;
const QUOTATIONS = '"“«„';

export class Scanner {
  private readonly scan: Scan;

  constructor(
    language: string,
    contentType: string,
    finest: number,
    report: (offset: number, level: 1 | 2 | 3) => void,
  ) {
    this.scan = new Scan(language, contentType, finest, report);
  }

  get length(): number {
    return this.scan.tape.end;
  }

  push(text: string): void {
    for (let from = 0; from < text.length; from += SLICE) {
      this.scan.tape.append(text, from, Math.min(text.length, from + SLICE));
      run(this.scan);
    }
  }

  end(): void {
    const s = this.scan;
    s.tape.closed = true;
    run(s);
    if (s.state === RUN) inRun(s);
  }

  flush(): void {
    const s = this.scan;
    const { tape } = s;
    // What is left is read to its end for the sake of the blocks: a fence may just have closed.
    s.muted = true;
    tape.closed = true;
    run(s);
    s.muted = tape.closed = false;
    s.restart();
  }
}

function run(s: Scan) {
  const { tape } = s;
  while (s.at < tape.end) {
    step(s);
    if (tape.starved) {
      tape.starved = false;
      return;
    }
  }
}

function step(s: Scan) {
  switch (s.state) {
    case TEXT:
      return inText(s);
    case STOP:
      return afterStop(s);
    case GAP:
      return inGap(s);
    case FRESH:
      return atFirst(s);
    case SPAN:
      return inSpan(s);
    case FENCED:
      return inFence(s);
    default:
      return inRun(s);
  }
}

function inText(s: Scan) {
  const { tape, active } = s;
  const { units, mask, end } = tape;
  let at = s.at;
  while (at < end && active[unitClasses[units[at & mask]!]!] === 0) at++;
  s.at = at;
  if (at === end) return;
  const unit = units[at & mask]!;
  const kind = classOfUnit(unit);
  if (active[kind] === 0) return; // first time this character is seen
  if (kind === SPACE || kind === NEWLINE) s.beginGap(at);
  else if (kind === COLON) atColon(s, unit);
  else if (kind === MARK) atMark(s, unit);
  else if (kind === OPEN || kind === CLOSE || kind === QUOTE) atBracket(s, kind, unit);
  else if (kind === EMOJI || kind === SURROGATE) atEmoji(s);
  else if (kind === CJK || kind === SEA) beginRun(s);
  else beginStop(s, kind);
}

function atBracket(s: Scan, kind: number, unit: number) {
  const { tape, at, sentence } = s;
  s.at++;
  if (kind === CLOSE) {
    sentence.heldUntil = -1;
    return;
  }
  if (at <= sentence.start || unit === 0x27) return;
  const before = tape.pastKind(at - 1);
  if (unit === 0x28 || unit === 0xff08) {
    if (before !== COLON) sentence.heldUntil = at + BRACKET_MOST; // not the mouth of a face :(
  } else if (unit === 0x22 && before !== SPACE && before !== OPEN) sentence.heldUntil = -1;
  // After a comma or a colon someone speaks, in sentences of their own.
  else if (
    before === SPACE &&
    isWordClass(tape.pastKind(at - 2)) &&
    QUOTATIONS.includes(String.fromCharCode(unit))
  )
    sentence.heldUntil = at + QUOTATION_MOST;
}

function atEmoji(s: Scan) {
  const { tape, at } = s;
  const next = passEmoji(tape, at);
  const particle = next > at && !closesWithEmoji(s, at, next);
  if (tape.starved) return;
  if (next === at) s.at += tape.width(at);
  else {
    s.at = s.emojiEnd = next;
    if (!particle) s.finish(SENTENCE);
  }
}

/** ありがとう😊またね: between words of Japanese an emoji stands for the full stop, unless a particle follows it. */
function closesWithEmoji(s: Scan, at: number, next: number): boolean {
  const { tape, profile } = s;
  if (profile.language !== "ja" || s.isUnit() || tape.pastKind(at - 1) !== CJK) return false;
  return tape.kind(next) === CJK && !isParticle(tape.at(next));
}

function atColon(s: Scan, unit: number) {
  const { tape, at } = s;
  const blank = tape.isBlank(at + 1) || tape.kind(at + 1) === CLOSE || tape.kind(at + 1) === QUOTE;
  if (tape.starved) return;
  const language = s.profile.language;
  const before = tape.past(at - 1);
  const open = tape.pastKind(at - 1);
  const face = open === 0 || open === SPACE || open === NEWLINE ? passFace(tape, at) : at;
  if (tape.starved) return;
  if (face > at) {
    s.at = s.emojiEnd = face;
    return;
  }
  if (blank && unit === 0x3b && language === "el" && tape.pastKind(at - 1) <= LETTER)
    return beginStop(s, BANG);
  if (blank && unit === 0x3a && before >= 0x0531 && before <= 0x0587) return beginStop(s, BANG);
  if (unit === 0x3a && blank && at - s.lineStart <= KEY_MOST) s.keyed = true;
  s.at++;
}

function atMark(s: Scan, unit: number) {
  const { tape, at, span } = s;
  if (unit === 0x5c) {
    const blank = tape.isBlank(at + 1);
    if (!tape.starved) s.at += blank ? 1 : 2;
    return;
  }
  const depth = unit === 0x60 ? runLength(tape, at, unit, 32) : 1;
  if (tape.starved) return;
  span.kind = unit === 0x60 ? CODE : LINK_TEXT;
  span.depth = depth;
  span.start = at;
  s.at += depth;
  s.state = SPAN;
}

function inSpan(s: Scan) {
  const { tape, span } = s;
  while (s.at < tape.end && span.kind !== 0) {
    const next = stepSpan(tape, span, s.at);
    if (tape.starved) return;
    s.at = next;
  }
  if (span.kind === 0) s.state = TEXT;
}
