/**
 * Text as an agent's author writes it: one string, one per verbosity, one per language, or both. It becomes the text
 * fields of an event, with variants by language suffix (CON-08); each listener gets the variant that fits.
 */
import { EarshotError } from "../protocol/errors.ts";
import type { Verbosity } from "../protocol/types.ts";
import { variantSuffix } from "../text/language.ts";

/** One text in up to three lengths. `normal` is required; it stands in for the others. */
export interface ByVerbosity {
  readonly terse?: string;
  readonly normal: string;
  readonly detailed?: string;
}
/** Text by language tag. */
export type ByLanguage<Words> = Readonly<Record<string, Words>>;
/** A summary, in one or more verbosities and languages. */
export type Summary = string | ByVerbosity | ByLanguage<string | ByVerbosity>;
/** A question, an action, a consequence: one wording, in one or more languages. */
export type Sentence = string | ByLanguage<string>;

const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];

const isByVerbosity = (words: object): words is ByVerbosity =>
  Object.keys(words).every((key) => VERBOSITIES.includes(key as Verbosity));

type OneLanguage = string | ByVerbosity;

/** By lower-cased tag, with the tag as written; undefined for text without language tags. */
function languagesOf(words: Summary | Sentence): Map<string, [tag: string, words: OneLanguage]> | undefined {
  if (typeof words === "string" || isByVerbosity(words)) return undefined;
  return new Map(Object.entries(words).map(([tag, one]) => [tag.toLowerCase(), [tag, one as OneLanguage]]));
}

export interface TextFields {
  readonly fields: Readonly<Record<string, string>>;
  /** The language of the unsuffixed fields. */
  readonly language: string;
  /** All languages, that one first. */
  readonly languages: readonly string[];
}

/**
 * The text fields of one event. All unsuffixed fields are in one language, which the event names: the primary one if all
 * texts have it, else the first language they share.
 */
export function textFields(
  primary: string,
  words: Readonly<Record<string, Summary | Sentence | undefined>>,
): TextFields {
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
      `Give these texts in ${primary} too, or all of them in one other language: ${given.map(([name]) => name).join(", ")}.`,
    );
  }
  const fields: Record<string, string> = {};
  for (const [name, one] of given) {
    const languages = languagesOf(one) ?? new Map([[base, [primary, one as OneLanguage] as const]]);
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

function lengthsOf(text: OneLanguage, suffix: string): Record<string, string> {
  const lengths: Partial<Record<Verbosity, string>> = typeof text === "string" ? { normal: text } : text;
  return Object.fromEntries(
    VERBOSITIES.flatMap((verbosity) => {
      const value = lengths[verbosity];
      return value === undefined ? [] : [[`summary_${verbosity}${suffix}`, value]];
    }),
  );
}

/** The text in one language, for fields that take one string. */
export const inLanguage = (words: Sentence, language: string): string =>
  typeof words === "string" ? words : (words[language] ?? Object.values(words)[0] ?? "");
