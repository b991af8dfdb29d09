// After a mark that may end a sentence: its closing quotes, notes and emoji, the space that follows, and the
// question whether the sentence is over. Also the plain space between words.
import { ORDINARY, tokenBefore, whatStandsBefore } from "./before.ts";
import { openLine } from "./blocks.ts";
import {
  BANG,
  CJK,
  CLOSE,
  COLON,
  DIGIT,
  DOT,
  ELLIPSIS,
  EMOJI,
  EXTEND,
  FORMAT,
  isWordClass,
  LOWER,
  NEWLINE,
  OPEN,
  QUOTE,
  SPACE,
  STRONG,
  UPPER,
} from "./classes.ts";
import { endsSentence, isStarter, type Stop } from "./decide.ts";
import { passEmoji, passEntity, passFace, passNote, passSource } from "./inline.ts";
import { ITEM, nextInList, opensList, TABLE } from "./lines.ts";
import { isStop, pauses, type Scan, SENTENCE, STOP, WORD } from "./state.ts";

/** A run of marks longer than this has left the window: what stood before it no longer counts. */
const RUN_MOST = 64;

export function beginStop(s: Scan, kind: number) {
  const { tape, at } = s;
  s.stop = {
    kind,
    at,
    marks: kind === ELLIPSIS ? 3 : 1,
    apart: tape.pastKind(at - 1) === SPACE,
    opened: tape.pastKind(at - 1) === OPEN || tape.past(at - 1) === 0x5b,
    before: undefined,
    quote: false,
    closer: false,
    emoji: false,
    bracketed: false,
  };
  s.at++;
  s.state = STOP;
}

function addMark(s: Scan, stop: Stop, kind: number) {
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

export function afterStop(s: Scan) {
  const { tape, at } = s;
  const stop = s.stop!;
  const kind = tape.kind(at);
  if (tape.starved) return;
  if (isStop(kind)) return addMark(s, stop, kind);
  if (kind === EXTEND || kind === FORMAT) {
    s.at += tape.width(at);
    return;
  }
  const near = at - stop.at <= RUN_MOST;
  if (!stop.before && near && !(stop.kind === DOT && isWordClass(kind)))
    stop.before = whatStandsBefore(tape, s.profile, stop.at);
  if (kind === SPACE || kind === NEWLINE) return s.beginGap(at);
  const unit = tape.at(at);
  const blank = kind === OPEN && tape.isBlank(at + 1);
  if (tape.starved) return;
  if (isCloser(kind, unit, stop, blank)) {
    // (!) and [...] comment on the sentence, they do not end it.
    if (stop.opened) return s.cancelStop();
    stop.closer = true;
    if (unit === 0x300b || unit === 0x3009) return s.cancelStop(); // 《你好！》 is a title
    if (s.isHeld() && unit === 0xff09) stop.bracketed = true;
    s.sentence.heldUntil = -1;
    if (kind !== CLOSE || "”’»›」』〟﹂﹄".includes(String.fromCharCode(unit)))
      stop.quote ||= unit !== 0x2a && unit !== 0x5f && unit !== 0x7e;
    s.at++;
    return;
  }
  if (kind === EMOJI) {
    const next = passEmoji(tape, at);
    if (tape.starved) return;
    stop.emoji = true;
    s.at = next;
    return;
  }
  const note = passNote(tape, at);
  if (tape.starved) return;
  const entity = passEntity(tape, at);
  const digits = passDigits(s, stop, at);
  if (tape.starved) return;
  if (entity > at) stop.quote = stop.closer = true;
  if (Math.max(note, entity, digits) > at) {
    s.at = Math.max(note, entity, digits);
    return;
  }
  textAfterStop(s, stop, kind);
}

/** A note set as a plain number: "rose by half.5 Tea fell". */
function passDigits(s: Scan, stop: Stop, at: number): number {
  const { tape } = s;
  if (stop.kind !== DOT || tape.kind(at) !== DIGIT || at !== stop.at + 1) return at;
  const end = tape.kind(at + 1) === DIGIT ? at + 2 : at + 1;
  if (tape.kind(end) !== SPACE || tape.kind(end + 1) !== UPPER) return at;
  const before = whatStandsBefore(tape, s.profile, stop.at);
  if (before.kind !== ORDINARY || !/^\p{Ll}{4,}$/u.test(before.text)) return at;
  stop.before = before;
  return end;
}

function isCloser(kind: number, unit: number, stop: Stop, blank: boolean): boolean {
  if (kind === CLOSE || kind === QUOTE || unit === 0x2a || unit === 0x5f || unit === 0x7e) return true;
  // “ closes in German and Urdu, but after 。 it opens.
  return (stop.kind !== STRONG || blank) && kind === OPEN && "“‘«‹".includes(String.fromCharCode(unit));
}

/** Text stands right after the stop: it ends the sentence only in scripts that write no space there. */
function textAfterStop(s: Scan, stop: Stop, kind: number) {
  const { tape, at } = s;
  let ends = false;
  const near = at - stop.at <= RUN_MOST;
  if (stop.kind === STRONG || stop.emoji) {
    // Khmer writes "etc." as a letter between two stops.
    const khmer = tape.at(at) === 0x179b && tape.past(at - 1) === 0x17d4 && tape.at(at + 1) === 0x17d4;
    ends = !khmer && endsSentence(tape, s.profile, stop, s.sentence, at);
  } else if (near && stop.kind === BANG && kind === UPPER && tape.pastKind(stop.at - 1) === LOWER) {
    const token = tokenBefore(tape, stop.at);
    const before = tape.pastKind(token.start - 1);
    ends = /^\p{L}+$/u.test(token.text) && (before === 0 || before === SPACE || before === NEWLINE);
  } else if (near && kind === CJK) {
    ends = stop.kind !== ELLIPSIS && tape.pastKind(stop.at - 1) === CJK;
  }
  if (tape.starved) return;
  if (ends && !s.isUnit() && !s.isHeld() && !stop.bracketed) s.finish(SENTENCE);
  else s.cancelStop();
}

export function inGap(s: Scan) {
  const { tape, at } = s;
  const kind = tape.kind(at);
  const unit = tape.at(at);
  if (kind === NEWLINE) {
    const width = unit === 13 && tape.at(at + 1) === 10 ? 2 : 1;
    if (tape.starved) return;
    if (s.newlines++ === 0 && s.markdown)
      s.hardBreak = tape.past(at - 1) === 0x5c || (tape.past(at - 1) === 0x20 && tape.past(at - 2) === 0x20);
    s.indent = 0;
    s.at += width;
    return;
  }
  if (tape.starved) return;
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

function resolveStop(s: Scan, stop: Stop, kind: number) {
  const { tape, at } = s;
  if (isStop(kind)) {
    const word = isWordClass(tape.kind(at + 1)) || isStop(tape.kind(at + 1));
    if (tape.starved) return;
    if (!word || (kind !== DOT && kind !== ELLIPSIS)) {
      s.state = STOP;
      return addMark(s, stop, kind);
    }
  }
  if (kind === EMOJI && !s.sentence.pictured)
    return hangOn(s, passEmoji(tape, at), () => (stop.emoji = true));
  if (tape.at(at) === 0x7e && tape.isBlank(at + 1)) return hangOn(s, at + 1, () => {});
  if (kind === COLON) {
    const face = passFace(tape, at);
    if (tape.starved) return;
    if (face > at) return hangOn(s, face, () => (stop.emoji = true));
  }
  if (kind === CLOSE) {
    const after = tape.kind(at + 1);
    if (tape.starved) return;
    if (!isWordClass(after)) {
      stop.closer = stop.quote = true;
      s.state = STOP;
      s.at++;
      return;
    }
  }
  const note = passNote(tape, at) > at || !stop.quote ? passNote(tape, at) : passSource(tape, at);
  const alone = note > at && tape.isBlank(note);
  if (tape.starved) return;
  if (alone) return hangOn(s, note, () => {});
  const ends = !s.isUnit() && !s.isHeld() && endsSentence(tape, s.profile, stop, s.sentence, at);
  if (!tape.starved) s.finish(ends ? SENTENCE : WORD);
}

/** An emoji or a note after the stop belongs to the sentence before it. */
function hangOn(s: Scan, next: number, note: () => void) {
  if (s.tape.starved) return;
  note();
  if (s.block !== TABLE) s.emit(s.at, WORD);
  s.at = next;
  s.state = STOP;
}

function resolveSpace(s: Scan, kind: number, unit: number) {
  const { tape, at, list } = s;
  let level = WORD;
  if (pauses(unit) && pauses(s.lastUnit)) level = SENTENCE;
  else if (
    s.emojiEnd === s.gapStart &&
    s.sentence.words > 0 &&
    kind === UPPER &&
    isStarter(tape, s.profile, at)
  )
    level = SENTENCE;
  else if (list.style !== 0 && !(s.markdown && s.block === ITEM) && nextInList(tape, at, list))
    level = SENTENCE;
  else if (s.lastUnit === 0x3a && s.profile.language !== "de") {
    // (In German a noun after a number says nothing.)
    const marker = opensList(tape, at);
    if (tape.starved) return;
    if (marker && !s.isUnit()) {
      // The value before, so that this marker is read as its successor.
      s.list = { style: marker.style, value: marker.value - 1 };
      level = SENTENCE;
    }
  } else if (isStop(kind) || kind === CLOSE || kind === COLON) {
    // "Bonjour !": a mark set off by a space stays with its word.
    if (!isWordClass(tape.kind(at + 1))) level = 0;
  }
  if (!tape.starved) s.finish(level === SENTENCE && s.isUnit() ? WORD : level);
}
