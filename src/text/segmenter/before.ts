// What stands before a full stop: an abbreviation, an initial, a number, or an ordinary word. Looks back over a
// bounded window, and never across a flush.
import { COLON, DIGIT, DOT, EXTEND, isWordClass, LETTER, QUOTE, SPACE, SURROGATE } from "./classes.ts";
import { BEFORE_NO, UNITS } from "./data.ts";
import { kindOfAbbreviation, NEVER, NUMBER, type Profile, STARTER, wordSet } from "./language.ts";
import type { Tape } from "./tape.ts";

export const ORDINARY = 0;
export const INITIAL = 6;
export const NUMERAL = 7;
export const TIME = 8;
export const ROMAN = 9;

// A conjunct such as క్రీ counts as one letter.
const ACRONYM = /^\p{L}(?:\p{M}+\p{Lo})?\p{M}*(?:[.-]+\p{L}(?:\p{M}+\p{Lo})?\p{M}*)+$/u;
const SHORT_PARTS = /^\p{Ll}{1,2}(?:\.\p{Ll}{1,2})+$/u;
const HOURS_AND_ERAS = /^(?:[ap]\.m|a\.d|b?\.?c\.e|b\.c)$/;
const ROMAN_NUMERAL = /^[IVXLC]{2,}$/;
/** Letters that make no word: "plkst.", "bldg.", "hlm.". */
const CONSONANTS = /^[bcdfghjklmnpqrstvwxzçćčłńśšťźžżбвгджзклмнпрстфхцчшщ]{2,5}$/;
const BREATH = /^(?:h?m+|s?h+|p[sf]+t|[bg]?r+|tsk|z+|nth|thx|pls|btw)$/;
/** Languages that sing on r and l, or spell with w. */
const SYLLABIC = wordSet("cs sk hr sr bs sl mk bg cy");
const units = wordSet(UNITS);
const noAnswer = wordSet(BEFORE_NO);
const DATE = /^\p{Nd}{1,2}\.\p{Nd}{1,2}$/u;
const SHAPES_MOST = 1024;
const TOKEN_MOST = 40;
const DASH = 0x2d;
const APOSTROPHE = 0x2019;

export interface Token {
  text: string;
  start: number;
}

function isTokenUnit(tape: Tape, offset: number): boolean {
  const kind = tape.pastKind(offset);
  if (kind === 0) return false;
  if (isWordClass(kind) || kind === EXTEND || kind === DOT || kind === SURROGATE) return true;
  const unit = tape.past(offset);
  if (unit === DASH || unit === APOSTROPHE || unit === 0xb0 || unit === 0xba) return true;
  // c:a, s:t
  return (kind === COLON || kind === QUOTE) && isWordClass(tape.pastKind(offset - 1));
}

export function tokenBefore(tape: Tape, end: number): Token {
  let start = end;
  while (end - start < TOKEN_MOST && isTokenUnit(tape, start - 1)) start--;
  if (end - start >= TOKEN_MOST) return { text: "", start };
  while (start < end && tape.pastKind(start) === QUOTE) start++;
  return { text: tape.composed(start, end), start };
}

export interface Before {
  kind: number;
  text: string;
  start: number;
  /** The word before that. */
  previous: string;
}

/**
 * Asked as soon as the marks are passed, not when the decision falls: any amount of space may lie between, and
 * the window would be gone.
 */
export function whatStandsBefore(tape: Tape, profile: Profile, stopAt: number): Before {
  const { text, start } = tokenBefore(tape, stopAt);
  // The tail of an address or a path is no abbreviation.
  const tail = "@/\\_=".includes(String.fromCharCode(tape.past(start - 1) & 0xffff));
  const kind = text === "" || tail ? ORDINARY : kindOf(tape, profile, text, start);
  if (kind === ORDINARY) return { kind, text, start, previous: "" };
  let end = start;
  while (start - end < 3 && tape.pastKind(end - 1) === SPACE) end--;
  return correct(profile, { kind, text, start, previous: tokenBefore(tape, end).text });
}

/** What a token looks like by itself, beside the kinds it may turn out to be. */
const HOUR = 20; // 5 P.M., 44 B.C.: but "P.M. Sunak" has no number before it
const UNIT = 21; // 6 ft. 2 in.
const VOWELLESS = 22; // in the middle of a sentence probably an abbreviation

function kindOf(tape: Tape, profile: Profile, text: string, from: number): number {
  const shape = shapeOf(profile, text);
  if (shape === TIME) return TIME;
  const chained = tape.pastKind(from - 1) === SPACE ? kindOfChain(tape, profile, text, from) : 0;
  if (chained !== 0) return chained;
  if (shape < HOUR) return shape;
  const spaced = tape.pastKind(from - 1) === SPACE;
  const inside = tape.pastKind(spaced ? from - 2 : from - 1);
  if (shape === HOUR) return inside === DIGIT ? TIME : STARTER;
  if (inside === DIGIT) return shape === UNIT && spaced ? NUMBER : ORDINARY;
  return shape === VOWELLESS && spaced && inside > 0 && inside <= LETTER ? STARTER : ORDINARY;
}

/** "z. B.", "i. d. R.": the longest known chain of short parts wins. */
function kindOfChain(tape: Tape, profile: Profile, text: string, from: number): number {
  let kind = 0;
  let chain = text;
  let start = from;
  for (let part = 0; part < 3 && chain.length < 12; part++) {
    let end = start;
    while (start - end < 2 && tape.pastKind(end - 1) === SPACE) end--;
    if (end === start || tape.pastKind(end - 1) !== DOT) break;
    const previous = tokenBefore(tape, end - 1);
    if (previous.text === "") break;
    chain = `${previous.text}.${chain}`;
    start = previous.start;
    kind = kindOfAbbreviation(profile, chain) || kind;
  }
  return kind;
}

/** A text uses few words before its stops, and asking about one costs more than remembering it. */
function shapeOf(profile: Profile, text: string): number {
  const { shapes } = profile;
  const known = shapes.get(text);
  if (known !== undefined) return known;
  if (shapes.size >= SHAPES_MOST) shapes.clear();
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

/** English words that are an abbreviation in one place only: "Dr. Oak" and "Oak Dr.", "no. 5" and "I said no." */
function correct(profile: Profile, before: Before): Before {
  if (profile.language !== "en" || before.kind === ORDINARY) return before;
  const { text, previous } = before;
  if (text === "Dr" && before.kind === NEVER && /^\p{Lu}\p{Ll}+$/u.test(previous)) before.kind = STARTER;
  if (text === "no" && noAnswer.has(previous.toLowerCase())) before.kind = ORDINARY;
  return before;
}

/** One capital, or one bare letter of a script without case. Not Hangul, where one syllable is a word. */
function isSingleLetter(text: string): boolean {
  return /^(?:[\p{Lu}\p{Lt}]\p{M}*|(?!\p{Script=Hangul})\p{Lo})$/u.test(text);
}
