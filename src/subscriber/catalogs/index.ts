/** `earshot/subscriber/catalogs`: the announcer's sentences in every available language. */
import { ar } from "./ar.ts";
import { type Catalog, type CatalogMatch, findCatalog } from "./catalog.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ha } from "./ha.ts";
import { ig } from "./ig.ts";
import { ja } from "./ja.ts";
import { pt } from "./pt.ts";
import { sw } from "./sw.ts";
import { yo } from "./yo.ts";

export type { Catalog, CatalogMatch, Message, MessageKey } from "./catalog.ts";

/** Every built-in catalog. English comes first. */
export const CATALOGS: readonly Catalog[] = [en, es, fr, pt, ar, ja, yo, ha, ig, sw];

/** The best catalog for these languages, preferred first, that a voice can speak; English if there is none. */
export const catalogFor = (languages: readonly string[], can?: (language: string) => boolean): CatalogMatch =>
  findCatalog(CATALOGS, languages, can);
