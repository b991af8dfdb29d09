/** The languages a page can speak in, each fetched when it is first asked for. */

import type { Catalog } from "../subscriber/catalogs/catalog.ts";
import { CATALOGS } from "../subscriber/catalogs/index.ts";
import { matchLanguage } from "../text/language.ts";
import { english, type Words } from "./words.ts";

type Loaded = { readonly words?: Words; readonly [name: string]: unknown };

/** As people call their own language. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  en: "English",
  es: "Español",
  fr: "Français",
  pt: "Português",
  ar: "العربية",
  ja: "日本語",
  yo: "Yorùbá",
  ha: "Hausa",
  ig: "Igbo",
  sw: "Kiswahili",
};

const CATALOG_OF: Readonly<Record<string, () => Promise<Loaded>>> = {
  es: () => import("../subscriber/catalogs/es.ts"),
  fr: () => import("../subscriber/catalogs/fr.ts"),
  pt: () => import("../subscriber/catalogs/pt.ts"),
  ar: () => import("../subscriber/catalogs/ar.ts"),
  ja: () => import("../subscriber/catalogs/ja.ts"),
  yo: () => import("../subscriber/catalogs/yo.ts"),
  ha: () => import("../subscriber/catalogs/ha.ts"),
  ig: () => import("../subscriber/catalogs/ig.ts"),
  sw: () => import("../subscriber/catalogs/sw.ts"),
};

const WORDS_OF: Readonly<Record<string, () => Promise<Loaded>>> = {
  es: () => import("./words/es.ts"),
  fr: () => import("./words/fr.ts"),
  pt: () => import("./words/pt.ts"),
  ar: () => import("./words/ar.ts"),
  ja: () => import("./words/ja.ts"),
  yo: () => import("./words/yo.ts"),
  ha: () => import("./words/ha.ts"),
  ig: () => import("./words/ig.ts"),
  sw: () => import("./words/sw.ts"),
};

const loaded = new Map<string, Words>([["en", english]]);

/** The first of these languages there are words in; English otherwise. */
export const supported = (languages: readonly string[]): string =>
  matchLanguage(languages, Object.keys(LANGUAGES))?.available ?? "en";

/** A language that cannot be fetched is said in English: that is better than silence. */
export async function loadLanguage(languages: readonly string[]): Promise<void> {
  const language = supported(languages);
  if (loaded.has(language)) return;
  try {
    const [catalog, words] = await Promise.all([CATALOG_OF[language]!(), WORDS_OF[language]!()]);
    if (!CATALOGS.some((one) => one.language === language))
      (CATALOGS as Catalog[]).push(catalog[language] as Catalog);
    loaded.set(language, words.words!);
  } catch {
    // Offline, or the files were not deployed beside the element.
  }
}

export interface Wording {
  readonly words: Words;
  readonly language: string;
}

export function wordsFor(languages: readonly string[]): Wording {
  const language = supported(languages);
  const words = loaded.get(language);
  return words ? { words, language } : { words: english, language: "en" };
}
