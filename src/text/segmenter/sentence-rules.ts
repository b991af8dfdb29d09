/**
 * The decision whether a full stop, question mark or ellipsis ends its sentence: from the token before it
 * (abbreviation, initial, number, ordinary word) and the text after it, with per-language data. Pure functions of the
 * buffer.
 */

import {
  ABBREVIATIONS,
  AFTER_TIME,
  BEFORE_NO,
  BEFORE_YEAR,
  GERMAN_AFTER_ORDINAL,
  GERMAN_BEFORE_ORDINAL,
  HEADED,
  HESITATIONS,
  LABELS,
  LOWERCASE_NAMES,
  ORDINAL,
  REPLIES,
  SHARED,
  SHOUTED_NAMES,
  SPEECH,
  STARTERS,
  UNITS,
} from "./language-data.ts";
import {
  BANG,
  CJK,
  CLOSE,
  COLON,
  DIGIT,
  DOT,
  ELLIPSIS,
  EMOJI,
  EOF,
  EXTEND,
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
  SURROGATE,
  type TextBuffer,
  UPPER,
} from "./scan-state.ts";

const NEVER = 1;
const NUMBER = 2;
const STARTER = 3;
const END = 4;
const AFTER_NUMBER = 5;

export interface Profile {
  language: string;
  kinds: ReadonlyMap<string, number>;
  starters: ReadonlySet<string>;
  ordinal: boolean;
  /** Cache: how tokens before a stop were classified. */
  shapes: Map<string, number>;
}

const profiles = new Map<string, Profile>();

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

function addKinds(kinds: Map<string, number>, data: string): void {
  data.split("|").forEach((group, index) => {
    for (const word of group.split(" ")) if (word) kinds.set(word.normalize("NFC"), index + 1);
  });
}

export function profileFor(tag: string): Profile {
  const language = (tag.split(/[-_]/)[0] ?? "").toLowerCase();
  const known = profiles.get(language);
  if (known) return known;
  const kinds = new Map<string, number>();
  addKinds(kinds, SHARED);
  if (Object.hasOwn(ABBREVIATIONS, language)) addKinds(kinds, ABBREVIATIONS[language]!);
  const starters = Object.hasOwn(STARTERS, language) ? STARTERS[language]! : "";
  const ordinal = wordSet(ORDINAL).has(language);
  const profile = {
    language,
    kinds,
    starters: wordSet(starters),
    ordinal,
    shapes: new Map<string, number>(),
  };
  // Peers choose the tag, so the cache is bounded.
  if (profiles.size < 64) profiles.set(language, profile);
  return profile;
}

/** Kind of an abbreviation (without its last stop), or 0. */
function kindOfAbbreviation(profile: Profile, token: string): number {
  const { kinds } = profile;
  return kinds.get(`=${token}`) ?? kinds.get(token) ?? kinds.get(token.toLowerCase()) ?? 0;
}

// Before the stop: an abbreviation, an initial, a number, or an ordinary word. Looks back over a bounded window, and
// never across a flush.

export const ORDINARY = 0;
const INITIAL = 6;
const NUMERAL = 7;
const TIME = 8;
const ROMAN = 9;

// A conjunct such as క్రీ counts as one letter.
const ACRONYM = /^\p{L}(?:\p{M}+\p{Lo})?\p{M}*(?:[.-]+\p{L}(?:\p{M}+\p{Lo})?\p{M}*)+$/u;
const SHORT_PARTS = /^\p{Ll}{1,2}(?:\.\p{Ll}{1,2})+$/u;
const HOURS_AND_ERAS = /^(?:[ap]\.m|a\.d|b?\.?c\.e|b\.c)$/;
const ROMAN_NUMERAL = /^[IVXLC]{2,}$/;
/** Consonants only, so not a word: "plkst.", "bldg.", "hlm.". */
const CONSONANTS = /^[bcdfghjklmnpqrstvwxzçćčłńśšťźžżбвгджзклмнпрстфхцчшщ]{2,5}$/;
const BREATH = /^(?:h?m+|s?h+|p[sf]+t|[bg]?r+|tsk|z+|nth|thx|pls|btw)$/;
/** Languages that have words without vowel letters. */
const SYLLABIC = wordSet("cs sk hr sr bs sl mk bg cy");
const units = wordSet(UNITS);
const noAnswer = wordSet(BEFORE_NO);
const DATE = /^\p{Nd}{1,2}\.\p{Nd}{1,2}$/u;
const MAX_CACHED_SHAPES = 1024;
const MAX_TOKEN = 40;
const DASH = 0x2d;
const APOSTROPHE = 0x2019;

export interface Token {
  text: string;
  start: number;
}

function isTokenUnit(buffer: TextBuffer, offset: number): boolean {
  const kind = buffer.pastKind(offset);
  if (kind === 0) return false;
  if (isWordClass(kind) || kind === EXTEND || kind === DOT || kind === SURROGATE) return true;
  const unit = buffer.past(offset);
  if (unit === DASH || unit === APOSTROPHE || unit === 0xb0 || unit === 0xba) return true;
  // c:a, s:t
  return (kind === COLON || kind === QUOTE) && isWordClass(buffer.pastKind(offset - 1));
}

export function tokenBefore(buffer: TextBuffer, end: number): Token {
  let start = end;
  while (end - start < MAX_TOKEN && isTokenUnit(buffer, start - 1)) start--;
  if (end - start >= MAX_TOKEN) return { text: "", start };
  while (start < end && buffer.pastKind(start) === QUOTE) start++;
  return { text: buffer.composed(start, end), start };
}

interface TokenBefore {
  kind: number;
  text: string;
  start: number;
  /** The token before this one. */
  previous: string;
}

/** Runs as soon as the marks are passed: after a long run of spaces the token may have left the ring buffer. */
export function classifyBefore(buffer: TextBuffer, profile: Profile, stopAt: number): TokenBefore {
  const { text, start } = tokenBefore(buffer, stopAt);
  // The end of an address or a path is not an abbreviation.
  const tail = "@/\\_=".includes(String.fromCharCode(buffer.past(start - 1) & 0xffff));
  const kind = text === "" || tail ? ORDINARY : kindOf(buffer, profile, text, start);
  if (kind === ORDINARY) return { kind, text, start, previous: "" };
  let end = start;
  while (start - end < 3 && buffer.pastKind(end - 1) === SPACE) end--;
  return correctEnglish(profile, { kind, text, start, previous: tokenBefore(buffer, end).text });
}

/** Shapes of a token by itself; the text around it decides which kind it is. */
const HOUR = 20; // 5 P.M., 44 B.C.: but "P.M. Sunak" has no number before it
const UNIT = 21; // 6 ft. 2 in.
const VOWELLESS = 22; // probably an abbreviation in mid-sentence

function kindOf(buffer: TextBuffer, profile: Profile, text: string, from: number): number {
  const shape = shapeOf(profile, text);
  if (shape === TIME) return TIME;
  const chained = buffer.pastKind(from - 1) === SPACE ? kindOfChain(buffer, profile, text, from) : 0;
  if (chained !== 0) return chained;
  if (shape < HOUR) return shape;
  const spaced = buffer.pastKind(from - 1) === SPACE;
  const inside = buffer.pastKind(spaced ? from - 2 : from - 1);
  if (shape === HOUR) return inside === DIGIT ? TIME : STARTER;
  if (inside === DIGIT) return shape === UNIT && spaced ? NUMBER : ORDINARY;
  return shape === VOWELLESS && spaced && inside > 0 && inside <= LETTER ? STARTER : ORDINARY;
}

/** "z. B.", "i. d. R.": the longest known chain of short parts wins. */
function kindOfChain(buffer: TextBuffer, profile: Profile, text: string, from: number): number {
  let kind = 0;
  let chain = text;
  let start = from;
  for (let part = 0; part < 3 && chain.length < 12; part++) {
    let end = start;
    while (start - end < 2 && buffer.pastKind(end - 1) === SPACE) end--;
    if (end === start || buffer.pastKind(end - 1) !== DOT) break;
    const previous = tokenBefore(buffer, end - 1);
    if (previous.text === "") break;
    chain = `${previous.text}.${chain}`;
    start = previous.start;
    kind = kindOfAbbreviation(profile, chain) || kind;
  }
  return kind;
}

/** Cached: texts repeat the same few tokens before stops, and classifying one is costly. */
function shapeOf(profile: Profile, text: string): number {
  const { shapes } = profile;
  const known = shapes.get(text);
  if (known !== undefined) return known;
  if (shapes.size >= MAX_CACHED_SHAPES) shapes.clear();
  const shape = findShape(profile, text);
  shapes.set(text, shape);
  return shape;
}

function findShape(profile: Profile, text: string): number {
  const { language } = profile;
  const lower = text.toLowerCase();
  if (language !== "de" && (text === "a.m" || text === "p.m")) return TIME;
  if (language !== "de" && HOURS_AND_ERAS.test(lower)) return HOUR;
  const kind =
    kindOfAbbreviation(profile, text) ||
    // l'Ing., dell'art.
    kindOfAbbreviation(profile, text.slice(text.search(/[^'’]*$/))) ||
    // Mon.-Fri. 9-5
    kindOfAbbreviation(profile, /-(\p{L}{3,})$/u.exec(text)?.[1] ?? "");
  if (kind !== 0) return kind;
  // dipl.ins.
  const parts = text.split(".");
  if (parts.length > 1 && parts.every((part) => kindOfAbbreviation(profile, part) !== 0))
    return kindOfAbbreviation(profile, parts.at(-1)!);
  // Kungsg. 5, but not Göteborg
  if (language === "sv" && /^\p{Lu}\p{Ll}{3,}(?<!b[eo]r)g$/u.test(text)) return NUMBER;
  // Bahnhofstr. 5
  if (language === "de" && text.endsWith("str")) return STARTER;
  if (isSingleLetter(text)) return INITIAL;
  if (/^\p{Nd}+$/u.test(text) || (profile.ordinal && DATE.test(text))) return NUMERAL;
  if (ROMAN_NUMERAL.test(text)) return ROMAN;
  if (ACRONYM.test(text) || SHORT_PARTS.test(text)) return STARTER;
  if (units.has(text)) return UNIT;
  const vowelless = CONSONANTS.test(text.slice(0, 1).toLowerCase() + text.slice(1));
  return vowelless && !BREATH.test(lower) && !SYLLABIC.has(language) ? VOWELLESS : ORDINARY;
}

/** English tokens that are an abbreviation only in some places: "Dr. Oak" and "Oak Dr.", "no. 5" and "I said no." */
function correctEnglish(profile: Profile, before: TokenBefore): TokenBefore {
  if (profile.language !== "en" || before.kind === ORDINARY) return before;
  const { text, previous } = before;
  if (text === "Dr" && before.kind === NEVER && /^\p{Lu}\p{Ll}+$/u.test(previous)) before.kind = STARTER;
  if (text === "no" && noAnswer.has(previous.toLowerCase())) before.kind = ORDINARY;
  return before;
}

/** One capital, or one letter of a script without case. Not Hangul, where one syllable can be a word. */
function isSingleLetter(text: string): boolean {
  return /^(?:[\p{Lu}\p{Lt}]\p{M}*|(?!\p{Script=Hangul})\p{Lo})$/u.test(text);
}

// The decision itself, made once the next significant character is known. Where a capital alone is ambiguous ("the
// U.S. Army", "the U.S. He"), it also reads the next word.

export interface Stop {
  /** DOT, BANG, STRONG or ELLIPSIS. */
  kind: number;
  /** Offset of the first mark. */
  at: number;
  marks: number;
  /** A space precedes it. */
  apart: boolean;
  /** An opening bracket directly precedes it. */
  opened: boolean;
  before: TokenBefore | undefined;
  /** A quotation mark, or any closing mark, follows. */
  quote: boolean;
  closer: boolean;
  emoji: boolean;
  /** It is in a bracket inside the sentence. */
  bracketed: boolean;
}

export interface Sentence {
  start: number;
  /** Words so far, without the current one. */
  words: number;
  /** It starts with a lowercase letter, so this writer does not capitalize. */
  lower: boolean;
  /** It starts with a quotation mark. */
  quoted: boolean;
  /** Its first word can introduce a time of day ("At 5 p.m."). */
  leadIn: boolean;
  /** A bracket or quotation opened inside it prevents a boundary up to this offset. */
  bracketUntil: number;
  /** It starts with an emoji, so an emoji after the stop starts the next sentence. */
  startsWithEmoji: boolean;
}

const NO_CHARACTER = 0;
const NO_TOKEN: TokenBefore = { kind: ORDINARY, text: "", start: 0, previous: "" };
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
/** Signs that can start a sentence, as a capital can. */
const NAME_SIGNS = "#@/`\\<$€£¥₹₽₩§&•";
const NUMBER_SIGNS = "$€£¥₹₽₩~+-−±#§≈<>";
const QUOTATIVE = "とっをにがのもでへやかなだじ、";
const CHINESE_SPEECH = "说說道问問喊叫答笑";
const MAX_SPEECH_LOOKAHEAD = 32;
const SAID =
  /물었|말했|말하|대답|답했|외쳤|소리|하고|했다|속삭|אמר|שאל|ענ[הת]|צעק|לחש|השיב|कह|पूछ|बोल|चिल्ला|म्हण|विचार|ओरड|भन|सोध|বল|জিজ্ঞ|চিৎকার|கேட்|சொன்|என்ற|అడిగ|అన్న|చెప్ప|ಕೇಳಿ|ಹೇಳಿ|ചോദി|പറഞ്ഞ|પૂછ|કહ|બોલ|ਪੁੱਛ|ਕਿਹਾ|قال|سأل|صاح|أجاب|هتف|گفت|پرسید|فریاد|کہا|پوچھا|بول|თქვა|კითხა|უპასუხა|አለ|ጠየቀ/;
const ARABIC_SPEECH = /^(?:قال|قالت|سأل|سألت|صاح|أجاب|يقول|گفت|پرسید)/;

interface Next {
  kind: number;
  at: number;
  dashed: boolean;
}

/** The next significant character after an offset, skipping quotes, brackets, dashes and emphasis. */
function nextSignificant(buffer: TextBuffer, offset: number): Next {
  let at = offset;
  let dashed = false;
  for (let seen = 0; seen < 8; seen++) {
    const unit = buffer.at(at);
    if (unit === EOF) return { kind: NO_CHARACTER, at, dashed };
    const kind = buffer.kind(at);
    const sign = String.fromCharCode(unit);
    if (kind === OPEN || kind === QUOTE || kind === FORMAT || MARKUP_OPENERS.includes(sign)) {
      if (unit === 0xbf || unit === 0xa1) return { kind: UPPER, at, dashed };
      at = buffer.skipSpaces(at + 1, 2);
    } else if (kind === CLOSE && isWordClass(buffer.kind(at + 1))) {
      at++; // »So«, ”So”
    } else if (DASHES.includes(sign)) {
      if (buffer.kind(at + 1) === DIGIT) return { kind: DIGIT, at, dashed };
      dashed = true;
      at = buffer.skipSpaces(at + 1, 2);
    } else if (NUMBER_SIGNS.includes(sign) && buffer.kind(at + 1) === DIGIT) {
      return { kind: DIGIT, at, dashed };
    } else if (unit === 0x26 && buffer.at(at + 1 + buffer.word(at + 1, 8).length) === 0x3b) {
      const name = buffer.word(at + 1, 8); // &mdash;
      dashed ||= name.endsWith("dash");
      at = buffer.skipSpaces(at + name.length + 2, 2);
    } else if (NAME_SIGNS.includes(sign) && !buffer.isBlank(at + 1)) {
      return { kind: UPPER, at, dashed };
    } else if (kind === DOT || kind === ELLIPSIS) {
      // ".NET", "...and then": a word that starts with stops.
      let i = at;
      while (i < at + 4 && (buffer.kind(i) === DOT || buffer.kind(i) === ELLIPSIS)) i++;
      return { kind: isWordClass(buffer.kind(i)) ? UPPER : NO_CHARACTER, at, dashed };
    } else if (kind === CJK || kind === SEA) {
      return { kind: LETTER, at, dashed };
    } else if (kind === EMOJI) {
      return { kind: UPPER, at, dashed };
    } else {
      return { kind: kind <= DIGIT ? kind : NO_CHARACTER, at, dashed };
    }
  }
  return { kind: NO_CHARACTER, at, dashed };
}

/** A name that starts with a lowercase letter: iPhone, example.com, foo_bar, npm. */
function isLowercaseName(buffer: TextBuffer, at: number): boolean {
  let i = at;
  while (i < at + 16 && buffer.kind(i) === LOWER) i++;
  const kind = buffer.kind(i);
  if (kind === UPPER) return true;
  const unit = buffer.at(i);
  if (unit === 0x5f || unit === 0x28) return true;
  if (kind === DOT) return i > at + 1 && isWordClass(buffer.kind(i + 1)); // not p.o.
  if (kind === COLON) return buffer.at(i + 1) === 0x2f;
  return lowercaseNames.has(buffer.text(at, Math.min(i, buffer.end)));
}

export function isStarter(buffer: TextBuffer, profile: Profile, at: number): boolean {
  const word = buffer.word(at);
  // "И. И. Иванов", "A. A. Milne": another initial, not a word.
  if (word.length === 1 && buffer.kind(at + 1) === DOT) return false;
  // "Don't", "Isn’t": never a name.
  const mark = buffer.at(at + word.length);
  if (profile.language === "en" && word.endsWith("n") && (mark === 0x27 || mark === 0x2019))
    return buffer.at(at + word.length + 1) === 0x74;
  return profile.starters.has(word);
}

function smallLetterFollows(
  buffer: TextBuffer,
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
    if (profile.language === "nl" && buffer.kind(next.at - 1) === QUOTE)
      return buffer.kind(next.at + 1) === SPACE;
    return !stop.closer && isLowercaseName(buffer, next.at);
  }
  // "Didn't I? yes, you did."
  return stop.kind === BANG && !stop.closer && profile.language === "en" && replies.has(buffer.word(next.at));
}

/** What follows the letter of "p. A-3", "Fig. S1", "sc. B, ap. 3". */
function isCode(buffer: TextBuffer, at: number): boolean {
  const unit = buffer.at(at);
  return buffer.kind(at) === DIGIT || (unit !== EOF && "-,;)".includes(String.fromCharCode(unit)));
}

function dotEnds(
  buffer: TextBuffer,
  profile: Profile,
  sentence: Sentence,
  next: Next,
  before: TokenBefore,
): boolean {
  const { kind, text } = before;
  const digit = next.kind === DIGIT;
  switch (kind) {
    case NEVER:
      return false;
    case NUMBER: {
      const word = buffer.word(next.at);
      const coded = word.length === 1 && isCode(buffer, next.at + 1);
      if (digit || coded || ROMAN_NEXT.test(word) || (afterTime.has(text) && afterTime.has(word)))
        return false;
      return text.length > 1 || text.toLowerCase() === text || isStarter(buffer, profile, next.at);
    }
    case STARTER:
      return !digit && isStarter(buffer, profile, next.at);
    case END:
      return !digit;
    case AFTER_NUMBER:
      // "W 2004 r. Polska weszła": too short for a sentence.
      return !digit && sentence.words > 2 && /\p{Nd}$|^[IVXLC]+$/u.test(before.previous);
    case INITIAL:
      if (labels.has(before.previous.toLowerCase().replace(":", ""))) return true;
      return sentence.start < before.start && !digit && isStarter(buffer, profile, next.at);
    case TIME:
      // "At 5 a.m. Mr. Smith left."
      return !digit && !afterTime.has(buffer.word(next.at)) && (sentence.words > 2 || !sentence.leadIn);
    case ROMAN:
      // Karel IV. Lucemburský
      return !profile.ordinal || profile.starters.size < 9 || isStarter(buffer, profile, next.at);
    case NUMERAL:
      // "Step 1. Unplug it."
      if (sentence.words === 1 && headed.has(before.previous.toLowerCase())) return false;
      return numeralEnds(buffer, profile, next, before);
    default:
      return true;
  }
}

function numeralEnds(buffer: TextBuffer, profile: Profile, next: Next, before: TokenBefore): boolean {
  if (!profile.ordinal) return true;
  if (beforeYear.has(before.previous.toLowerCase())) return isStarter(buffer, profile, next.at);
  const short = before.text.length <= 2 || before.text.includes(".");
  // 2024. 5. 12. 일요일
  if (profile.language === "ko" && /^\p{Nd}+\.$/u.test(before.previous)) return false;
  if (next.kind === DIGIT) return !short && profile.language !== "ko" && profile.language !== "hu";
  if (profile.language !== "de" || !short) return true;
  if (afterOrdinal.has(buffer.word(next.at))) return false;
  // "mit: 1. Ausweis, 2. Foto"
  if (before.previous === "" || before.previous.endsWith(":")) return false;
  return !beforeOrdinal.has(before.previous.toLowerCase()) || isStarter(buffer, profile, next.at);
}

/** Thai: 9.00 น. ถึง 18.00 น. */
function thaiHourEnds(buffer: TextBuffer, at: number, before: TokenBefore): boolean {
  if (before.text !== "น" || !/\p{Nd}$/u.test(before.previous)) return false;
  const unit = buffer.at(at);
  for (const word of THAI_LINKS) if (unit === word.charCodeAt(0) && matchesAt(buffer, at, word)) return false;
  return true;
}

function matchesAt(buffer: TextBuffer, at: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) if (buffer.at(at + i) !== word.charCodeAt(i)) return false;
  return true;
}

function ellipsisEnds(buffer: TextBuffer, profile: Profile, stop: Stop, next: Next): boolean {
  if (next.kind !== UPPER) return false;
  if (stop.apart && stop.marks <= 3 && !stop.quote) return false;
  // "Hmm... I think so."
  if (profile.language !== "en") return true;
  return buffer.word(next.at) !== "I" || !hesitations.has((stop.before?.text ?? "").toLowerCase());
}

/** “Stop!” John said. “Why?” Mr. A. Hill asked. */
function saidBySomeone(buffer: TextBuffer, profile: Profile, next: Next): boolean {
  if (next.kind !== UPPER || profile.language !== "en") return false;
  let at = next.at;
  for (let part = 0; part < 4; part++) {
    const word = buffer.word(at);
    if (part > 0 && speech.has(word)) return true;
    if (buffer.kind(at) !== UPPER || (word !== "I" && profile.starters.has(word))) return false;
    at += word.length;
    if (buffer.kind(at) === DOT) at++;
    if (buffer.kind(at) !== SPACE) return false;
    at++;
  }
  return false;
}

/** Whether the words after a quotation name the speaker ("he said"), in scripts without capitals. */
function speechFollows(buffer: TextBuffer, at: number): boolean {
  let end = at;
  while (end < at + MAX_SPEECH_LOOKAHEAD) {
    const kind = buffer.kind(end);
    if (kind === 0 || kind >= NEWLINE) break;
    end++;
  }
  return SAID.test(buffer.text(at, end));
}

export function isParticle(unit: number): boolean {
  return QUOTATIVE.includes(String.fromCharCode(unit));
}

function quotationGoesOn(
  buffer: TextBuffer,
  profile: Profile,
  stop: Stop,
  sentence: Sentence,
  next: Next,
): boolean {
  if (!stop.quote) return false;
  const direct = buffer.kind(next.at);
  if (direct === CJK) {
    if (isParticle(buffer.at(next.at))) return true;
    for (let i = next.at; i < next.at + 4 && buffer.kind(i) === CJK; i++)
      if (CHINESE_SPEECH.includes(String.fromCharCode(buffer.at(i)))) return true;
    return false;
  }
  if (next.kind === LETTER)
    return sentence.quoted ? speechFollows(buffer, next.at) : ARABIC_SPEECH.test(buffer.word(next.at));
  return sentence.quoted && saidBySomeone(buffer, profile, next);
}

/** Whether the sentence ends at `stop`; `offset` is where the next text that is not space starts. */
export function endsSentence(
  buffer: TextBuffer,
  profile: Profile,
  stop: Stop,
  sentence: Sentence,
  offset: number,
): boolean {
  const next = nextSignificant(buffer, offset);
  if (next.kind === NO_CHARACTER) return false;
  if (quotationGoesOn(buffer, profile, stop, sentence, next)) return false;
  if (stop.kind === STRONG) return !next.dashed || next.kind !== LOWER;
  const dot = stop.kind === DOT && stop.marks === 1;
  const before = stop.before ?? NO_TOKEN;
  const kind = dot ? before.kind : ORDINARY;
  if (next.kind === LOWER) return smallLetterFollows(buffer, profile, stop, sentence, next, kind);
  if (stop.emoji && kind === ORDINARY) return true;
  if (stop.kind === ELLIPSIS) return ellipsisEnds(buffer, profile, stop, next);
  if (stop.kind === BANG) {
    if (next.kind !== UPPER || !shoutedNames.has(before.text)) return true;
    return isStarter(buffer, profile, next.at);
  }
  // Armenian: he said. «I am coming»
  if (dot && profile.language === "hy" && buffer.kind(offset) === OPEN) return false;
  if (next.kind === LETTER && kind === INITIAL)
    return profile.language === "th" && thaiHourEnds(buffer, next.at, before);
  return !dot || dotEnds(buffer, profile, sentence, next, before);
}
