/** Replaces all catalogs in the element's bundle: English is included, other languages are added when loaded (messages.ts). */
import { type Catalog, type CatalogMatch, findCatalog } from "../subscriber/catalogs/catalog.ts";
import { en } from "../subscriber/catalogs/en.ts";

export const CATALOGS: Catalog[] = [en];

export const catalogFor = (languages: readonly string[], can?: (language: string) => boolean): CatalogMatch =>
  findCatalog(CATALOGS, languages, can);
