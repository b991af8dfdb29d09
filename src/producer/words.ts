/**
 * Words as an agent's author gives them: one string, one per verbosity, one per language, or both. They become the text
 * fields of an event, with variants by language suffix (CON-08); each listener gets the ones that fit.
 */
import { EarshotError } from "../protocol/errors.ts";
import type { Verbosity } from "../protocol/types.ts";
import { variantSuffix } from "../text/language.ts";

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

const isByVerbosity = (words: object): words is ByVerbosity =>
  Object.keys(words).every((key) => VERBOSITIES.includes(key as Verbosity));

type One = string | ByVerbosity;

/** By lower-cased tag, with the tag as written; undefined for words that are in one language, whichever it is. */
function languagesOf(words: Summary | Sentence): Map<string, [tag: string, words: One]> | undefined {
  if (typeof words === "string" || isByVerbosity(words)) return undefined;
  return new Map(Object.entries(words).map(([tag, one]) => [tag.toLowerCase(), [tag, one as One]]));
}

export interface Spoken {
  readonly fields: Readonly<Record<string, string>>;
  /** The language of the unsuffixed fields. */
  readonly language: string;
  /** All languages there are words for, that one first. */
  readonly languages: readonly string[];
}

/**
 * The text fields of one event. All unsuffixed fields are in one language, which the event will name: the primary one
 * if all words come in it, else the first that they share.
 */
export function speak(
  primary: string,
  words: Readonly<Record<string, Summary | Sentence | undefined>>,
): Spoken {
  const given = Object.entries(words).filter(
    (entry): entry is [string, Summary | Sentence] => entry[1] !== undefined,
  );
  const many = given.flatMap(([, one]) => languagesOf(one) ?? []);
  const isSingle = many.length < given.length;
  const shared = [...(many[0]?.keys() ?? [])].filter((key) => many.every((one) => one.has(key)));
  const own = primary.toLowerCase();
  const base = many.length === 0 || shared.includes(own) ? own : isSingle ? undefined : shared[0];
  if (base === undefined) {
    throw new EarshotError(
      "I18N-01",
      `Give these words in ${primary} too, or all of them in one other language: ${given.map(([name]) => name).join(", ")}.`,
    );
  }
  const fields: Record<string, string> = {};
  for (const [name, one] of given) {
    const languages = languagesOf(one) ?? new Map([[base, [primary, one as One] as const]]);
    for (const [key, [tag, text]] of languages) {
      const suffix = key === base ? "" : `_${variantSuffix(tag)}`;
      if (name !== "summary") fields[`${name}${suffix}`] = text as string;
      else Object.assign(fields, lengthsOf(text, suffix));
    }
  }
  const tags = shared.map((key) => many[0]!.get(key)![0]);
  const language = many.length === 0 || base === own ? primary : many[0]!.get(base)![0];
  return { fields, language, languages: [language, ...tags.filter((tag) => tag.toLowerCase() !== base)] };
}

function lengthsOf(text: One, suffix: string): Record<string, string> {
  const lengths: Partial<Record<Verbosity, string>> = typeof text === "string" ? { normal: text } : text;
  return Object.fromEntries(
    VERBOSITIES.flatMap((verbosity) => {
      const value = lengths[verbosity];
      return value === undefined ? [] : [[`summary_${verbosity}${suffix}`, value]];
    }),
  );
}

/** The wording in one language, for places that take one string. */
export const inLanguage = (words: Sentence, language: string): string =>
  typeof words === "string" ? words : (words[language] ?? Object.values(words)[0] ?? "");
