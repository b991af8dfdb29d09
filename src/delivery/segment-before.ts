// What stands before a full stop: an abbreviation, an initial, a number, or an ordinary word. Looks back over a
// bounded window, and never across a flush.
import {
  COLON,
  DIGIT,
  DOT,
  EXTEND,
  isWordClass,
  LETTER,
  QUOTE,
  SPACE,
  SURROGATE,
} from "./segment-classes.ts";
import { BEFORE_NO, UNITS } from "./segment-data.ts";
import { kindOfAbbreviation, NEVER, NUMBER, type Profile, STARTER, wordSet } from "./segment-language.ts";
import type { Tape } from "./segment-tape.ts";

export const ORDINARY = 0;
export const INITIAL = 6;
export const NUMERAL = 7;
export const TIME = 8;
export const ROMAN = 9;

const ACRONYM = /^\p{L}\p{M}*(?:[.-]+\p{L}\p{M}*)+$/u;
const SHORT_PARTS = /^\p{Ll}{1,2}(?:\.\p{Ll}{1,2})+$/u;
const ROMAN_NUMERAL = /^[IVXLC]{2,}$/;
/** Letters that make no word: "plkst.", "bldg.", "hlm.". */
const CONSONANTS = /^[bcdfghjklmnpqrstvwxzçćčłńśšťźžżбвгджзклмнпрстфхцчшщ]{2,5}$/;
const BREATH = /^(?:h?m+|s?h+|p[sf]+t|[bg]?r+|tsk|z+|nth|thx|pls|btw)$/;
/** Languages that sing on r and l, or spell with w. */
const SYLLABIC = wordSet("cs sk hr sr bs sl mk bg cy");
const units = wordSet(UNITS);
const noAnswer = wordSet(BEFORE_NO);
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
  return { text: tape.text(start, end).normalize("NFC"), start };
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

function kindOf(tape: Tape, profile: Profile, text: string, from: number): number {
  const lower = text.toLowerCase();
  if ((lower === "a.m" || lower === "p.m") && profile.language !== "de") return TIME;
  let kind = 0;
  // "z. B.", "i. d. R.": the longest known chain of short parts wins.
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
  if (kind === 0) kind = kindOfAbbreviation(profile, text);
  // l'Ing., dell'art.
  if (kind === 0) kind = kindOfAbbreviation(profile, text.slice(text.search(/[^'’]*$/)));
  // Bahnhofstr. 5
  if (kind === 0 && profile.language === "de" && text.endsWith("str")) kind = STARTER;
  if (kind !== 0) return kind;
  if (isSingleLetter(text)) return INITIAL;
  if (/^\p{Nd}+$/u.test(text)) return NUMERAL;
  if (ROMAN_NUMERAL.test(text)) return ROMAN;
  if (ACRONYM.test(text) || SHORT_PARTS.test(text)) return STARTER;
  const inside = tape.pastKind(from - 1) === SPACE ? tape.pastKind(from - 2) : 0;
  if (inside === DIGIT) return units.has(text) ? NUMBER : ORDINARY;
  const unknown =
    inside > 0 && inside <= LETTER && CONSONANTS.test(text.slice(0, 1).toLowerCase() + text.slice(1));
  return unknown && !BREATH.test(lower) && !SYLLABIC.has(profile.language) ? STARTER : ORDINARY;
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
