/** `earshot/subscriber/catalogs`: every language the announcer has words of its own in. Where there are none, English is spoken, and marked as English. */
import { matchLanguage } from "../../text/language.ts";
import { ar } from "./ar.ts";
import type { Catalog } from "./catalog.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ha } from "./ha.ts";
import { ig } from "./ig.ts";
import { ja } from "./ja.ts";
import { pt } from "./pt.ts";
import { sw } from "./sw.ts";
import { yo } from "./yo.ts";

export type { Catalog, Message, MessageKey } from "./catalog.ts";

export const CATALOGS: readonly Catalog[] = [en, es, fr, pt, ar, ja, yo, ha, ig, sw];

const tags = CATALOGS.map(({ language }) => language);

/** The best catalog for these languages, best first, of those a voice can read. */
export function catalogFor(
  languages: readonly string[],
  can: (language: string) => boolean = () => true,
): { readonly catalog: Catalog; readonly language: string; readonly fitting: boolean } {
  for (const wanted of languages) {
    const match = matchLanguage([wanted], tags);
    const catalog = match && CATALOGS.find(({ language }) => language === match.available);
    // Spoken with the region asked for: Portuguese words by a Brazilian voice, if that was the wish.
    if (catalog && can(wanted)) return { catalog, language: wanted, fitting: wanted === languages[0] };
  }
  return { catalog: en, language: "en", fitting: false };
}
