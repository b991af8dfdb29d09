/** The messages of `earshot listen` and the language they are in. */
import type { Phrases } from "../../../subscriber/announcer.ts";
import { type Io, usage } from "../../command.ts";
import { ar } from "./ar.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ja } from "./ja.ts";
import { pt } from "./pt.ts";

/**
 * What `earshot listen` itself says, about typing and leaving, one file per language. What agents do is announced from
 * the announcer's catalogs, which also have the words a person types; the English words always work too.
 */
export interface ListenMessages {
  readonly language: string;
  greeting(names: string): string;
  greetingKeys(names: string): string;
  readonly typedAhead: string;
  readonly pieceWaits: string;
  readonly pieceNoAnswer: string;
  readonly pipedNoYes: string;
  dropped(count: number): string;
  unknown(word: string): string;
  gone(name: string): string;
  readonly answerWaits: string;
  readonly speechFailed: string;
  readonly nothingWaits: string;
  readonly waits: string;
  readonly urgentWaits: string;
  /** Appended to another sentence. */
  moreWait(count: number): string;
  readonly noPages: string;
  readonly left: string;
  /** `word`: what a person types, in their language and in English where that differs. */
  help(word: (name: "yes" | "no" | "confirm" | "more" | "repeat" | "what") => string): readonly string[];
  readonly stepHelp: string;
  readonly brailleHelp: string;
  readonly keyHelp: string;
}

const ALL: ReadonlyMap<string, ListenMessages> = new Map(
  [en, es, fr, pt, ar, ja].map((one) => [one.language, one]),
);

/** In the language of the announcer's catalog, so that the voice does not change between sentences; else in English. */
export const messagesFor = ({ catalog }: Pick<Phrases, "catalog">): ListenMessages =>
  ALL.get(catalog.language) ?? en;

/** For messages before there is an announcer. */
export const messagesIn = (language: string): ListenMessages =>
  ALL.get(language.toLowerCase().split("-")[0]!) ?? en;

/** The help text, with each word in the person's language and in English. */
export function helpLines(phrases: Phrases): readonly string[] {
  return messagesFor(phrases).help((name) => {
    const own = phrases.text(`word_${name}`);
    return own === name ? own : `${own}, ${name}`;
  });
}

/** A language tag from the command line, normalized. */
export function asTag(text: string): string {
  try {
    return Intl.getCanonicalLocales(text.replaceAll("_", "-"))[0]!;
  } catch {
    throw usage(`--lang needs a language tag such as en, es or pt-BR, not "${text}".`);
  }
}

/** The language of the environment (LC_ALL, LC_MESSAGES, LANG); English if none is set. */
export function systemLanguage({ env }: Io): string {
  const set = env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  const tag = /^([a-z]{2,3}(?:[_-][A-Za-z]{2,4})?)(?:[.@]|$)/u.exec(set)?.[1];
  try {
    return (tag && Intl.getCanonicalLocales(tag.replace("_", "-"))[0]) || "en";
  } catch {
    return "en";
  }
}
