// Whether a full stop, question mark or ellipsis ends its sentence, asked once the next significant character is
// known. A pure function of the text around the stop; where a capital alone cannot tell ("the U.S. Army", "the
// U.S. He"), it reads the next word as well.
import { type Before, INITIAL, NUMERAL, ORDINARY, ROMAN, TIME } from "./segment-before.ts";
import {
  BANG,
  CJK,
  CLOSE,
  COLON,
  DIGIT,
  DOT,
  ELLIPSIS,
  EMOJI,
  FORMAT,
  isWordClass,
  LETTER,
  LOWER,
  OPEN,
  QUOTE,
  SEA,
  SPACE,
  STRONG,
  UPPER,
} from "./segment-classes.ts";
import {
  AFTER_TIME,
  GERMAN_AFTER_ORDINAL,
  GERMAN_BEFORE_ORDINAL,
  LABELS,
  LOWERCASE_NAMES,
  REPLIES,
  SHOUTED_NAMES,
  SPEECH,
} from "./segment-data.ts";
import { DATED, END, NEVER, NUMBER, type Profile, STARTER, wordSet } from "./segment-language.ts";
import { EOF, type Tape } from "./segment-tape.ts";

export interface Stop {
  /** DOT, BANG, STRONG or ELLIPSIS. */
  kind: number;
  /** Offset of the first mark. */
  at: number;
  marks: number;
  /** A space stands before it. */
  apart: boolean;
  /** An opening bracket stands right before it. */
  opened: boolean;
  before: Before | undefined;
  /** A quotation mark, or any closing mark, follows. */
  quote: boolean;
  closer: boolean;
  emoji: boolean;
}

export interface Sentence {
  start: number;
  /** Words so far, the current one not counted. */
  words: number;
  /** It opened with a small letter: the writer does without capitals. */
  lower: boolean;
  /** It opened with a quotation mark. */
  quoted: boolean;
  /** Its first word, if that may lead in a time of day. */
  leadIn: boolean;
  /** Offset of a round bracket that opened inside it and has not closed, or -1. */
  bracket: number;
}

const NOTHING = 0;
const NOTHING_BEFORE: Before = { kind: ORDINARY, text: "", start: 0, previous: "" };
const afterTime = wordSet(AFTER_TIME);
const beforeOrdinal = wordSet(GERMAN_BEFORE_ORDINAL);
const afterOrdinal = wordSet(GERMAN_AFTER_ORDINAL);
const lowercaseNames = wordSet(LOWERCASE_NAMES);
const shoutedNames = wordSet(SHOUTED_NAMES);
const labels = wordSet(LABELS);
const speech = wordSet(SPEECH);
const replies = wordSet(REPLIES);
const ROMAN_NEXT = /^(?:[IVXLC]{2,}|[VX])$/;
const DASHES = "-–—―";
const MARKUP_OPENERS = "*_~[";
/** Signs that open something the way a capital opens a word. */
const NAME_SIGNS = "#@/`\\<$€£¥₹₽₩§&•";
const NUMBER_SIGNS = "$€£¥₹₽₩~+-−±#§≈<>";
const QUOTATIVE = "とっをにがのもでへやかなだじ、";
const CHINESE_SPEECH = "说說道问問喊叫答笑";
const ARABIC_SPEECH = /^(?:قال|قالت|سأل|سألت|صاح|أجاب|يقول|گفت|پرسید)/;

interface Next {
  kind: number;
  at: number;
  dashed: boolean;
}

/** The next significant character after an offset, seen through quotes, brackets, dashes and emphasis. */
function nextSignificant(tape: Tape, offset: number): Next {
  let at = offset;
  let dashed = false;
  for (let seen = 0; seen < 8; seen++) {
    const unit = tape.at(at);
    if (unit === EOF) return { kind: NOTHING, at, dashed };
    const kind = tape.kind(at);
    const sign = String.fromCharCode(unit);
    if (kind === OPEN || kind === QUOTE || kind === FORMAT || MARKUP_OPENERS.includes(sign)) {
      if (unit === 0xbf || unit === 0xa1) return { kind: UPPER, at, dashed };
      at = tape.skipSpaces(at + 1, 2);
    } else if (kind === CLOSE && isWordClass(tape.kind(at + 1))) {
      at++; // »So«, ”So”
    } else if (DASHES.includes(sign)) {
      if (tape.kind(at + 1) === DIGIT) return { kind: DIGIT, at, dashed };
      dashed = true;
      at = tape.skipSpaces(at + 1, 2);
    } else if (NUMBER_SIGNS.includes(sign) && tape.kind(at + 1) === DIGIT) {
      return { kind: DIGIT, at, dashed };
    } else if (NAME_SIGNS.includes(sign) && !tape.isBlank(at + 1)) {
      return { kind: UPPER, at, dashed };
    } else if (kind === DOT || kind === ELLIPSIS) {
      // ".NET", "...and then": a word that opens with stops.
      let i = at;
      while (i < at + 4 && (tape.kind(i) === DOT || tape.kind(i) === ELLIPSIS)) i++;
      return { kind: isWordClass(tape.kind(i)) ? UPPER : NOTHING, at, dashed };
    } else if (kind === CJK || kind === SEA) {
      return { kind: LETTER, at, dashed };
    } else if (kind === EMOJI) {
      return { kind: UPPER, at, dashed };
    } else {
      return { kind: kind <= DIGIT ? kind : NOTHING, at, dashed };
    }
  }
  return { kind: NOTHING, at, dashed };
}

/** A word that opens small though it is a name: iPhone, example.com, foo_bar, npm. */
function isLowercaseName(tape: Tape, at: number): boolean {
  let i = at;
  while (i < at + 16 && tape.kind(i) === LOWER) i++;
  const kind = tape.kind(i);
  if (kind === UPPER) return true;
  const unit = tape.at(i);
  if (unit === 0x5f || unit === 0x28) return true;
  if (kind === DOT) return isWordClass(tape.kind(i + 1));
  if (kind === COLON) return tape.at(i + 1) === 0x2f;
  return lowercaseNames.has(tape.text(at, Math.min(i, tape.end)));
}

export function isStarter(tape: Tape, profile: Profile, at: number): boolean {
  const word = tape.word(at);
  // "И. И. Иванов", "A. A. Milne": one more initial, not the word.
  if (word.length === 1 && tape.kind(at + 1) === DOT) return false;
  // "Don't", "Isn’t": no name does that.
  const mark = tape.at(at + word.length);
  if (profile.language === "en" && word.endsWith("n") && (mark === 0x27 || mark === 0x2019))
    return tape.at(at + word.length + 1) === 0x74;
  return profile.starters.has(word);
}

function smallLetterFollows(
  tape: Tape,
  profile: Profile,
  stop: Stop,
  sentence: Sentence,
  next: Next,
  before: number,
) {
  if (next.dashed) return false;
  if (stop.emoji) return before === ORDINARY;
  if (before !== ORDINARY || stop.quote) return false;
  if (stop.kind !== ELLIPSIS && sentence.lower) return true;
  if (stop.kind === DOT) {
    // Dutch: 's Avonds
    if (profile.language === "nl" && tape.kind(next.at - 1) === QUOTE)
      return tape.kind(next.at + 1) === SPACE;
    return !stop.closer && isLowercaseName(tape, next.at);
  }
  // "Didn't I? yes, you did."
  return stop.kind === BANG && !stop.closer && profile.language === "en" && replies.has(tape.word(next.at));
}

/** What follows the letter of "p. A-3", "Fig. S1", "sc. B, ap. 3". */
function isCode(tape: Tape, at: number): boolean {
  const unit = tape.at(at);
  return tape.kind(at) === DIGIT || (unit !== EOF && "-,;)".includes(String.fromCharCode(unit)));
}

function dotEnds(tape: Tape, profile: Profile, sentence: Sentence, next: Next, before: Before): boolean {
  const { kind, text } = before;
  const digit = next.kind === DIGIT;
  switch (kind) {
    case NEVER:
      return false;
    case NUMBER: {
      const word = tape.word(next.at);
      const coded = word.length === 1 && isCode(tape, next.at + 1);
      if (digit || coded || ROMAN_NEXT.test(word) || (afterTime.has(text) && afterTime.has(word)))
        return false;
      return text.length > 1 || text.toLowerCase() === text || isStarter(tape, profile, next.at);
    }
    case STARTER:
      return !digit && isStarter(tape, profile, next.at);
    case END:
      return !digit;
    case DATED:
      return !digit && /\p{Nd}$|^[IVXLC]+$/u.test(before.previous);
    case INITIAL:
      if (before.previous.endsWith(":") || labels.has(before.previous.toLowerCase())) return true;
      return sentence.start < before.start && !digit && isStarter(tape, profile, next.at);
    case TIME:
      // "At 5 a.m. Mr. Smith left."
      return !digit && !afterTime.has(tape.word(next.at)) && (sentence.words > 2 || !sentence.leadIn);
    case ROMAN:
      return profile.language !== "de" || isStarter(tape, profile, next.at);
    case NUMERAL:
      return numeralEnds(tape, profile, next, before);
    default:
      return true;
  }
}

function numeralEnds(tape: Tape, profile: Profile, next: Next, before: Before): boolean {
  if (!profile.ordinal) return true;
  const short = before.text.length <= 2;
  // 2024. 5. 12. 일요일
  if (profile.language === "ko" && /^\p{Nd}+\.$/u.test(before.previous)) return false;
  if (next.kind === DIGIT) return !short && profile.language !== "ko" && profile.language !== "hu";
  if (profile.language !== "de" || !short) return true;
  if (afterOrdinal.has(tape.word(next.at))) return false;
  return !beforeOrdinal.has(before.previous.toLowerCase()) || isStarter(tape, profile, next.at);
}

function ellipsisEnds(tape: Tape, profile: Profile, stop: Stop, sentence: Sentence, next: Next): boolean {
  if (next.kind !== UPPER) return false;
  if (stop.apart && stop.marks <= 3 && !stop.quote) return false;
  // "Hmm... I think so."
  return !(profile.language === "en" && sentence.words === 0 && tape.word(next.at) === "I");
}

/** “Stop!” John said. */
function saidBySomeone(tape: Tape, profile: Profile, next: Next): boolean {
  if (next.kind !== UPPER || profile.language !== "en") return false;
  const name = tape.word(next.at);
  if (name.length < 2 || profile.starters.has(name) || tape.kind(next.at + name.length) !== SPACE)
    return false;
  return speech.has(tape.word(next.at + name.length + 1));
}

export function isParticle(unit: number): boolean {
  return QUOTATIVE.includes(String.fromCharCode(unit));
}

function quotationGoesOn(tape: Tape, profile: Profile, stop: Stop, sentence: Sentence, next: Next): boolean {
  if (!stop.quote) return false;
  const direct = tape.kind(next.at);
  if (direct === CJK) {
    if (isParticle(tape.at(next.at))) return true;
    for (let i = next.at; i < next.at + 4 && tape.kind(i) === CJK; i++)
      if (CHINESE_SPEECH.includes(String.fromCharCode(tape.at(i)))) return true;
    return false;
  }
  if (next.kind === LETTER) return sentence.quoted || ARABIC_SPEECH.test(tape.word(next.at));
  return saidBySomeone(tape, profile, next);
}

/** Whether the sentence ends at `stop`, when the next text that is not space begins at `offset`. */
export function endsSentence(
  tape: Tape,
  profile: Profile,
  stop: Stop,
  sentence: Sentence,
  offset: number,
): boolean {
  const next = nextSignificant(tape, offset);
  if (next.kind === NOTHING) return false;
  if (quotationGoesOn(tape, profile, stop, sentence, next)) return false;
  if (stop.kind === STRONG) return !next.dashed || next.kind !== LOWER;
  const dot = stop.kind === DOT && stop.marks === 1;
  const before = stop.before ?? NOTHING_BEFORE;
  const kind = dot ? before.kind : ORDINARY;
  if (next.kind === LOWER) return smallLetterFollows(tape, profile, stop, sentence, next, kind);
  if (stop.emoji && kind === ORDINARY) return true;
  if (stop.kind === ELLIPSIS) return ellipsisEnds(tape, profile, stop, sentence, next);
  if (stop.kind === BANG) {
    if (next.kind !== UPPER || !shoutedNames.has(before.text)) return true;
    return isStarter(tape, profile, next.at);
  }
  // Armenian: he said. «I am coming»
  if (dot && profile.language === "hy" && tape.kind(offset) === OPEN) return false;
  if (next.kind === LETTER && kind === INITIAL) return false;
  return !dot || dotEnds(tape, profile, sentence, next, before);
}
