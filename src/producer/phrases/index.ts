/** `earshot/producer/phrases`: the library's own sentences in every language, for `createProducer({ phrases: PHRASES })`. */
import { ENGLISH, type Phrases } from "../phrases.ts";
import { ar } from "./ar.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ja } from "./ja.ts";

export type { Phrases } from "../phrases.ts";

/** Every language there are sentences for, by tag. */
export const PHRASES: Readonly<Record<string, Phrases>> = { en: ENGLISH, es, fr, ar, ja };
