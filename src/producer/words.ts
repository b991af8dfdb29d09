/**
 * Words as an agent's author gives them: one string, one per verbosity, one per language, or both. They become the text
 * fields of an event, with variants by language suffix (CON-08); each listener gets the ones that fit.
 */
import { variantSuffix } from "../protocol/language.ts";
import type { Verbosity } from "../protocol/types.ts";

export interface ByVerbosity {
  readonly terse?: string;
  readonly normal: string;
  readonly detailed?: string;
}
/** Keyed by language tag. */
export type ByLanguage<Words> = Readonly<Record<string, Words>>;
/** A summary: heard by everyone, in as many lengths and languages as given. */
export type Summary = string | ByVerbosity | ByLanguage<string | ByVerbosity>;
/** A question, an action, a consequence: one wording, in as many languages as given. */
export type Sentence = string | ByLanguage<string>;

const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];

const isByVerbosity = (words: object): words is ByVerbosity => Object.keys(words).every((key) => VERBOSITIES.includes(key as Verbosity));

/** The languages given, the primary one first. */
function byLanguage<Words>(words: Words | ByLanguage<Words>, primary: string, single: boolean): [language: string, words: Words][] {
  if (single) return [[primary, words as Words]];
  const entries = Object.entries(words as ByLanguage<Words>);
  const first = entries.find(([tag]) => tag === primary) ?? entries[0];
  return first ? [first, ...entries.filter((entry) => entry !== first)] : [];
}

type Fields = Record<string, string>;

/** The fields of a summary, and the language its unsuffixed fields are in. */
export function summaryFields(words: Summary, primary: string): { fields: Fields; language: string } {
  const single = typeof words === "string" || isByVerbosity(words);
  const given = byLanguage<string | ByVerbosity>(words as never, primary, single);
  const fields: Fields = {};
  for (const [i, [tag, text]] of given.entries()) {
    const suffix = i === 0 ? "" : `_${variantSuffix(tag)}`;
    const lengths = typeof text === "string" ? { normal: text } : text;
    for (const verbosity of VERBOSITIES) {
      const value = (lengths as Partial<Record<Verbosity, string>>)[verbosity];
      if (value) fields[`summary_${verbosity}${suffix}`] = value;
    }
  }
  return { fields, language: given[0]?.[0] ?? primary };
}

export function sentenceFields(name: string, words: Sentence, primary: string): Fields {
  const fields: Fields = {};
  for (const [i, [tag, text]] of byLanguage<string>(words as never, primary, typeof words === "string").entries()) {
    fields[i === 0 ? name : `${name}_${variantSuffix(tag)}`] = text;
  }
  return fields;
}

/** The wording in the primary language, for places that take one string. */
export const plain = (words: Sentence, primary: string): string =>
  typeof words === "string" ? words : (words[primary] ?? Object.values(words)[0] ?? "");
