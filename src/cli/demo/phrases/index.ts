/** The library's own phrases in the demo's languages. Without them a Spanish session would be half English. */
import type { Phrases } from "../../../index.ts";
import { ar } from "./ar.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ja } from "./ja.ts";

export const PHRASES: Readonly<Record<string, Phrases>> = { es, fr, ar, ja };
