// Turns the language strings into lookups, once per language, and answers what kind of thing stands before a full
// stop. Only the primary subtag matters; an unknown language has the international list alone.
import { ABBREVIATIONS, ORDINAL, SHARED, STARTERS } from "./data.ts";

export const NEVER = 1;
export const NUMBER = 2;
export const STARTER = 3;
export const END = 4;
export const DATED = 5;

export interface Profile {
  language: string;
  kinds: ReadonlyMap<string, number>;
  starters: ReadonlySet<string>;
  ordinal: boolean;
  /** What has been found out about tokens before a stop. */
  shapes: Map<string, number>;
}

const profiles = new Map<string, Profile>();

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

function addKinds(kinds: Map<string, number>, data: string): void {
  data.split("|").forEach((group, index) => {
    for (const word of group.split(" ")) if (word) kinds.set(word.normalize("NFC"), index + 1);
  });
}

export function profileFor(tag: string): Profile {
  const language = (tag.split(/[-_]/)[0] ?? "").toLowerCase();
  const known = profiles.get(language);
  if (known) return known;
  const kinds = new Map<string, number>();
  addKinds(kinds, SHARED);
  if (Object.hasOwn(ABBREVIATIONS, language)) addKinds(kinds, ABBREVIATIONS[language]!);
  const starters = Object.hasOwn(STARTERS, language) ? STARTERS[language]! : "";
  const ordinal = wordSet(ORDINAL).has(language);
  const profile = {
    language,
    kinds,
    starters: wordSet(starters),
    ordinal,
    shapes: new Map<string, number>(),
  };
  // The tag comes from outside; a cache without a bound would be a leak.
  if (profiles.size < 64) profiles.set(language, profile);
  return profile;
}

/** Kind of an abbreviation (without its last stop), or 0. */
export function kindOfAbbreviation(profile: Profile, token: string): number {
  const { kinds } = profile;
  return kinds.get(`=${token}`) ?? kinds.get(token) ?? kinds.get(token.toLowerCase()) ?? 0;
}
