/** In the element's own bundle this takes the place of all catalogs: English is there, others come when they are asked for. */

import type { Catalog } from "../subscriber/catalogs/catalog.ts";
import { en } from "../subscriber/catalogs/en.ts";
import { matchLanguage } from "../text/language.ts";

export const CATALOGS: Catalog[] = [en];

export function catalogFor(
  languages: readonly string[],
  can: (language: string) => boolean = () => true,
): { readonly catalog: Catalog; readonly language: string; readonly fitting: boolean } {
  for (const wanted of languages) {
    const match = matchLanguage(
      [wanted],
      CATALOGS.map(({ language }) => language),
    );
    const catalog = match && CATALOGS.find(({ language }) => language === match.available);
    if (catalog && can(wanted)) return { catalog, language: wanted, fitting: wanted === languages[0] };
  }
  return { catalog: en, language: "en", fitting: false };
}
