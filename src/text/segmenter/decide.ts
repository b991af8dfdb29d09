// Whether a full stop, question mark or ellipsis ends its sentence, asked once the next significant character is
// known. A pure function of the text around the stop; where a capital alone cannot tell ("the U.S. Army", "the
// U.S. He"), it reads the next word as well.
import { type Before, INITIAL, NUMERAL, ORDINARY, ROMAN, TIME } from "./before.ts";
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
  NEWLINE,
  OPEN,
  QUOTE,
  SEA,
  SPACE,
  STRONG,
  UPPER,
} from "./classes.ts";
import {
  AFTER_TIME,
  BEFORE_YEAR,
  GERMAN_AFTER_ORDINAL,
  GERMAN_BEFORE_ORDINAL,
  HEADED,
  HESITATIONS,
  LABELS,
  LOWERCASE_NAMES,
  REPLIES,
  SHOUTED_NAMES,
  SPEECH,
} from "./data.ts";
import { DATED, END, NEVER, NUMBER, type Profile, STARTER, wordSet } from "./language.ts";
import { EOF, type Tape } from "./tape.ts";

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
  /** It stood in a bracket inside the sentence. */
  bracketed: boolean;
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
  /** A bracket or a quotation that opened inside it holds it together up to this offset. */
  heldUntil: number;
  /** It opened with an emoji, so that an emoji after a stop opens the next. */
  pictured: boolean;
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
const headed = wordSet(HEADED);
const beforeYear = wordSet(BEFORE_YEAR);
const hesitations = wordSet(HESITATIONS);
const THAI_LINKS = ["ถึง", "และ", "หรือ", "ของ", "ที่", "ใน", "จน", "ณ"];
const ROMAN_NEXT = /^(?:[IVXLC]{2,}|[VX])$/;
const DASHES = "-–—―";
const MARKUP_OPENERS = "*_~[";
/** Signs that open something the way a capital opens a word. */
const NAME_SIGNS = "#@/`\\<$€£¥₹₽₩§&•";
const NUMBER_SIGNS = "$€£¥₹₽₩~+-−±#§≈<>";
const QUOTATIVE = "とっをにがのもでへやかなだじ、";
const CHINESE_SPEECH = "说說道问問喊叫答笑";
const SPEECH_MOST = 32;
const SAID =
  /물었|말했|말하|대답|답했|외쳤|소리|하고|했다|속삭|אמר|שאל|ענ[הת]|צעק|לחש|השיב|कह|पूछ|बोल|चिल्ला|म्हण|विचार|ओरड|भन|सोध|বল|জিজ্ঞ|চিৎকার|கேட்|சொன்|என்ற|అడిగ|అన్న|చెప్ప|ಕೇಳಿ|ಹೇಳಿ|ചോദി|പറഞ്ഞ|પૂછ|કહ|બોલ|ਪੁੱਛ|ਕਿਹਾ|قال|سأل|صاح|أجاب|هتف|گفت|پرسید|فریاد|کہا|پوچھا|بول|თქვა|კითხა|უპასუხა|አለ|ጠየቀ/;
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
    } else if (unit === 0x26 && tape.at(at + 1 + tape.word(at + 1, 8).length) === 0x3b) {
      const name = tape.word(at + 1, 8); // &mdash;
      dashed ||= name.endsWith("dash");
      at = tape.skipSpaces(at + name.length + 2, 2);
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
  if (kind === DOT) return i > at + 1 && isWordClass(tape.kind(i + 1)); // not p.o.
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
  if ((before !== ORDINARY && (before !== NUMERAL || profile.ordinal)) || stop.quote) return false;
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
      // "W 2004 r. Polska weszła": too short for a sentence.
      return !digit && sentence.words > 2 && /\p{Nd}$|^[IVXLC]+$/u.test(before.previous);
    case INITIAL:
      if (labels.has(before.previous.toLowerCase().replace(":", ""))) return true;
      return sentence.start < before.start && !digit && isStarter(tape, profile, next.at);
    case TIME:
      // "At 5 a.m. Mr. Smith left."
      return !digit && !afterTime.has(tape.word(next.at)) && (sentence.words > 2 || !sentence.leadIn);
    case ROMAN:
      // Karel IV. Lucemburský
      return !profile.ordinal || profile.starters.size < 9 || isStarter(tape, profile, next.at);
    case NUMERAL:
      // "Step 1. Unplug it."
      if (sentence.words === 1 && headed.has(before.previous.toLowerCase())) return false;
      return numeralEnds(tape, profile, next, before);
    default:
      return true;
  }
}

function numeralEnds(tape: Tape, profile: Profile, next: Next, before: Before): boolean {
  if (!profile.ordinal) return true;
  if (beforeYear.has(before.previous.toLowerCase())) return isStarter(tape, profile, next.at);
  const short = before.text.length <= 2 || before.text.includes(".");
  // 2024. 5. 12. 일요일
  if (profile.language === "ko" && /^\p{Nd}+\.$/u.test(before.previous)) return false;
  if (next.kind === DIGIT) return !short && profile.language !== "ko" && profile.language !== "hu";
  if (profile.language !== "de" || !short) return true;
  if (afterOrdinal.has(tape.word(next.at))) return false;
  // "mit: 1. Ausweis, 2. Foto"
  if (before.previous === "" || before.previous.endsWith(":")) return false;
  return !beforeOrdinal.has(before.previous.toLowerCase()) || isStarter(tape, profile, next.at);
}

/** Thai: 9.00 น. ถึง 18.00 น. */
function hourEnds(tape: Tape, at: number, before: Before): boolean {
  if (before.text !== "น" || !/\p{Nd}$/u.test(before.previous)) return false;
  const unit = tape.at(at);
  for (const word of THAI_LINKS) if (unit === word.charCodeAt(0) && readsAs(tape, at, word)) return false;
  return true;
}

function readsAs(tape: Tape, at: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) if (tape.at(at + i) !== word.charCodeAt(i)) return false;
  return true;
}

function ellipsisEnds(tape: Tape, profile: Profile, stop: Stop, next: Next): boolean {
  if (next.kind !== UPPER) return false;
  if (stop.apart && stop.marks <= 3 && !stop.quote) return false;
  // "Hmm... I think so."
  if (profile.language !== "en") return true;
  return tape.word(next.at) !== "I" || !hesitations.has((stop.before?.text ?? "").toLowerCase());
}

/** “Stop!” John said. “Why?” Mr. A. Hill asked. */
function saidBySomeone(tape: Tape, profile: Profile, next: Next): boolean {
  if (next.kind !== UPPER || profile.language !== "en") return false;
  let at = next.at;
  for (let part = 0; part < 4; part++) {
    const word = tape.word(at);
    if (part > 0 && speech.has(word)) return true;
    if (tape.kind(at) !== UPPER || (word !== "I" && profile.starters.has(word))) return false;
    at += word.length;
    if (tape.kind(at) === DOT) at++;
    if (tape.kind(at) !== SPACE) return false;
    at++;
  }
  return false;
}

/** Whether the words after a quotation tell who spoke, in scripts without capitals. */
function speechFollows(tape: Tape, at: number): boolean {
  let end = at;
  while (end < at + SPEECH_MOST) {
    const kind = tape.kind(end);
    if (kind === 0 || kind >= NEWLINE) break;
    end++;
  }
  return SAID.test(tape.text(at, end));
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
  if (next.kind === LETTER)
    return sentence.quoted ? speechFollows(tape, next.at) : ARABIC_SPEECH.test(tape.word(next.at));
  return sentence.quoted && saidBySomeone(tape, profile, next);
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
  if (stop.kind === ELLIPSIS) return ellipsisEnds(tape, profile, stop, next);
  if (stop.kind === BANG) {
    if (next.kind !== UPPER || !shoutedNames.has(before.text)) return true;
    return isStarter(tape, profile, next.at);
  }
  // Armenian: he said. «I am coming»
  if (dot && profile.language === "hy" && tape.kind(offset) === OPEN) return false;
  if (next.kind === LETTER && kind === INITIAL)
    return profile.language === "th" && hourEnds(tape, next.at, before);
  return !dot || dotEnds(tape, profile, sentence, next, before);
}
