// Character classes for the text segmenter. Everything the scan knows about a character is its class; the
// Unicode facts come from the engine's own property tables (so nothing is shipped), asked once per code unit
// and remembered, because a regular expression per character would be the whole cost of the scan.

export const LOWER = 1;
export const UPPER = 2;
export const LETTER = 3; // a letter without case, in a script that writes spaces
export const DIGIT = 4;
const PUNCT = 5; // anything that neither ends nor opens nor closes
export const EXTEND = 6; // never preceded by a boundary
export const OPEN = 7;
export const CLOSE = 8;
export const QUOTE = 9; // straight quotes: side unknown
export const FORMAT = 10; // invisible
export const EMOJI = 11;
export const SURROGATE = 12;
export const PREPEND = 13; // never followed by a boundary
export const COLON = 14; // : and ; which end sentences in Armenian and Greek
export const MARK = 15; // [ ` and \ which open something in markdown
export const CJK = 16;
export const SEA = 17; // Thai, Lao, Khmer, Burmese: words without spaces
export const SPACE = 18;
export const NEWLINE = 19;
export const DOT = 20;
export const BANG = 21; // ends a sentence, if a space follows
export const STRONG = 22; // ends a sentence even without a space
export const ELLIPSIS = 23;
export const CLASS_COUNT = 24;

const EXTENDING = /^(?:\p{M}|\p{Grapheme_Extend}|\p{Emoji_Modifier}|\u200d|\u0e33|\u0eb3)$/u;
// Prepended marks have no property escape of their own; this is the short list, plus room for new ones.
const PREPENDED =
  /^[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\u{110bd}\u{110cd}\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]$/u;
const IDEOGRAPHIC =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3005-\u3007\u30fc\uff70]$/u;
const SOUTH_EAST = /^(?=\p{L})[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const TESTS: readonly (readonly [RegExp, number])[] = [
  [EXTENDING, EXTEND],
  [PREPENDED, PREPEND],
  [/^\p{Nd}$/u, DIGIT],
  [/^[\n\r\v\f\u0085\u2028\u2029]$/u, NEWLINE],
  [/^[\t\u200b\p{Zs}]$/u, SPACE],
  [/^[.\u2024\uff0e\ufe52]$/u, DOT],
  [/^[!?\u203c\u203d\u2047-\u2049\u0f0d\u0f0e\u2e2e\ufe56\ufe57]$/u, BANG],
  [/^[\u2025\u2026\u22ef]$/u, ELLIPSIS],
  [/^[:;]$/u, COLON],
  [/^[[`\\]$/u, MARK],
  [/^["'\uff02\uff07]$/u, QUOTE],
  // U+104A is the Burmese comma and U+0701/0702 are Syriac colons, though Unicode calls them terminal.
  [/^(?![\u104a\u0701\u0702\u2cfa\u2cfb])[\p{Sentence_Terminal}\uff61]$/u, STRONG],
  [/^[\p{Ps}\p{Pi}\u00bf\u00a1]$/u, OPEN],
  [/^[\p{Pe}\p{Pf}]$/u, CLOSE],
  [IDEOGRAPHIC, CJK],
  [SOUTH_EAST, SEA],
  // Georgian has had capitals since 2018, and nobody opens a sentence with them.
  [/^\p{Script=Georgian}$/u, LETTER],
  [/^\p{Ll}$/u, LOWER],
  [/^[\p{Lu}\p{Lt}]$/u, UPPER],
  [/^\p{L}$/u, LETTER],
  // The first pictographs of Unicode are everyday signs such as (c) and (tm), not emoji.
  [/^(?![\0-\u218f])[\p{Extended_Pictographic}\p{Regional_Indicator}]$/u, EMOJI],
  [/^\p{Cf}$/u, FORMAT],
];

const units = new Uint8Array(65536);
const astral = new Map<number, number>();

function lookUp(text: string): number {
  for (const [test, kind] of TESTS) if (test.test(text)) return kind;
  return PUNCT;
}

/** The table itself, for the hot loop: 0 means not asked yet. */
export const unitClasses: Readonly<Uint8Array> = units;

/** Class of one UTF-16 code unit. */
export function classOfUnit(unit: number): number {
  const known = units[unit];
  if (known) return known;
  let kind: number;
  if (unit >= 0xd840 && unit <= 0xd8bf) kind = CJK;
  else if (unit >= 0xd800 && unit <= 0xdfff) kind = SURROGATE;
  else kind = lookUp(String.fromCharCode(unit));
  units[unit] = kind;
  return kind;
}

/** Class of a code point beyond the basic plane. */
export function classOfPair(point: number): number {
  let kind = astral.get(point);
  if (kind === undefined) {
    kind = lookUp(String.fromCodePoint(point));
    if (astral.size < 4096) astral.set(point, kind);
  }
  return kind;
}

/** Whether a class counts as part of a word. */
export function isWordClass(kind: number): boolean {
  return (kind > 0 && kind <= DIGIT) || kind === CJK || kind === SEA;
}
