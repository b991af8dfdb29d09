/** The listener's own words in the person's language; where there are none, in English, and said by an English voice. */
import type { Phrases } from "../../subscriber/announcer.ts";
import { ar } from "./says/ar.ts";
import { en } from "./says/en.ts";
import { es } from "./says/es.ts";
import { fr } from "./says/fr.ts";
import { ja } from "./says/ja.ts";
import { pt } from "./says/pt.ts";
import type { Says } from "./says/says.ts";

export type { Says };

const ALL: ReadonlyMap<string, Says> = new Map([en, es, fr, pt, ar, ja].map((one) => [one.language, one]));

/** In the language the announcer speaks, so that one sentence is not in another voice than the next. */
export const saysIn = ({ catalog }: Pick<Phrases, "catalog">): Says => ALL.get(catalog.language) ?? en;

/** For what is said before there is an announcer. */
export const saysFor = (language: string): Says => ALL.get(language.toLowerCase().split("-")[0]!) ?? en;

/** What a person types: their own word, and the English one, which always works. */
export function helpLines(phrases: Phrases): readonly string[] {
  return saysIn(phrases).help((name) => {
    const own = phrases.text(`word_${name}`);
    return own === name ? own : `${own}, ${name}`;
  });
}
