/**
 * Language matching (chapter 11; CON-33), text direction (CON-34) and language variants of text fields (CON-08).
 * Scripts come from the likely subtags of Intl.Locale; a malformed tag is read up to the first invalid part.
 */
import type { LocalizationHints } from "../protocol/types.ts";

interface Locale {
  /** As written, in lower case. */
  readonly written: string;
  /** Canonical (iw is he), in lower case. */
  readonly tag: string;
  readonly language: string;
  /** Given or likely; undefined if unknown. */
  readonly script: string | undefined;
  /** Only if given in the tag. */
  readonly region: string | undefined;
  /** The given region, else the likely one. */
  readonly home: string | undefined;
  /** With script and region filled in, if the tag has a region: zh-TW and zh-Hant-TW are equal. */
  readonly full: string | undefined;
}

/** The languages a producer has, and which one stands in for others. */
export interface LanguageOffer {
  readonly available: readonly string[];
  readonly primary: string;
  readonly fallback_chain?: readonly string[];
}

// Peers choose the tags: real ones are far shorter, and parsing longer ones would only cost time.
const LONGEST_TAG = 100;
const CACHED = 512;
const cache = new Map<string, Locale>();

function localeOf(tag: string): Locale {
  const known = cache.get(tag);
  if (known) return known;
  const locale = readLocale(tag.length > LONGEST_TAG ? "" : tag.toLowerCase());
  if (tag.length > LONGEST_TAG) return locale;
  if (cache.size >= CACHED) cache.delete(cache.keys().next().value!);
  cache.set(tag, locale);
  return locale;
}

function readLocale(written: string): Locale {
  const tag = written.replace(/^(?:zh|ar|ms|sw|sgn)-(?=[a-z]{3}(?:-|$))/, ""); // zh-yue is yue (RFC 5646, 4.5)
  for (let part = tag; part !== ""; part = shorter(part)) {
    try {
      const locale = new Intl.Locale(part);
      const language = locale.language || "und"; // engines differ
      const { region } = locale;
      const likely = language === "und" ? locale : locale.maximize(); // `maximize` would make "und" English
      return {
        written,
        tag: part === tag ? locale.toString().toLowerCase() : tag,
        language,
        script: likely.script,
        region,
        home: likely.region,
        full: region && likely.toString(),
      };
    } catch {
      // Malformed: try without the last part.
    }
  }
  return {
    written,
    tag,
    language: tag,
    script: undefined,
    region: undefined,
    home: undefined,
    full: undefined,
  };
}

/** RFC 4647, 3.4: removes the last subtag, and a single-letter subtag before it. */
const shorter = (tag: string): string =>
  tag.slice(0, Math.max(0, tag.lastIndexOf("-"))).replace(/-[a-z0-9]$/, "");

/**
 * CLDR's parent locales, as far as they decide between regions: the regions of these languages form two groups, and
 * readers in the first prefer its head regions. Numeric heads are areas that contain the region.
 */
const GROUPS: Readonly<Record<string, readonly [regions: RegExp, heads: readonly string[]]>> = {
  en: [/^(?!(?:US|AS|GU|MH|MP|PH|PR|UM|VI)$)/, ["001", "GB"]],
  es: [/^(?:419|AR|BO|BR|BZ|CL|CO|CR|CU|DO|EC|GT|HN|MX|NI|PA|PE|PR|PY|SV|US|UY|VE)$/, ["419"]],
  pt: [/^(?!BR$)/, ["PT"]],
  zh: [/^(?:HK|MO)$/, ["HK"]],
};

/** Languages of one macrolanguage that their readers share in writing. */
const MACROLANGUAGE: Readonly<Record<string, string>> = { nb: "no", nn: "no" };

const SIBLING = 300;

const family = (language: string): string => MACROLANGUAGE[language] ?? language;

/** Distance of an offered language from a wanted one; from SIBLING on it is another region of the same language. */
function distance(wanted: Locale, offered: Locale): number {
  if (wanted.language === "" || offered.language === "") return Infinity;
  if (wanted.written === offered.written) return 0;
  if (wanted.script !== offered.script) return Infinity;
  if (wanted.tag === offered.tag || (wanted.full && wanted.full === offered.full)) return 1;
  if (wanted.tag.startsWith(`${offered.tag}-`)) return 1 + wanted.tag.length - offered.tag.length;
  if (family(wanted.language) !== family(offered.language)) return Infinity;

  const same = wanted.language === offered.language;
  const region = offered.region ?? "";
  const [regions, heads = []] = GROUPS[wanted.language] ?? [];
  const grouped = wanted.region !== undefined && regions?.test(wanted.region);
  const head = grouped ? heads.indexOf(region) : -1;
  if (same && region === "") return 201; // zh-Hant for zh-TW
  if (family(wanted.language) === offered.language && (region === "" || region === wanted.region)) return 202; // no for nb
  if (head >= 0 && /^\d/.test(region)) return 203; // es-419 for es-MX
  if (!wanted.region && (same || family(offered.language) === wanted.language)) {
    return region === wanted.home || offered.language === "nb" ? 204 : 205;
  }

  if (region === wanted.region) return SIBLING;
  if (head >= 0) return SIBLING + 1 + head;
  if (regions && regions.test(region) === grouped) return SIBLING + 10;
  return region === localeOf(`${wanted.language}-${wanted.script}`).home ? SIBLING + 11 : SIBLING + 12;
}

/**
 * The first requested tag that matches an available one. Each tag is first looked up by itself (RFC 4647 lookup; a bare
 * language also matches any region); sibling regions count only if all lookups failed. Scripts must be equal.
 */
export function matchLanguage(
  requested: readonly string[],
  available: readonly string[],
): { requested: string; available: string } | undefined {
  const offered = available.map(localeOf);
  for (const limit of [SIBLING, Infinity]) {
    for (const tag of requested) {
      const wanted = localeOf(tag);
      const distances = offered.map((one) => distance(wanted, one));
      const nearest = Math.min(...distances);
      if (nearest < limit) return { requested: tag, available: available[distances.indexOf(nearest)]! };
    }
  }
  return undefined;
}

/** The languages of an offer, including the primary one even if it is not listed. */
export const spokenLanguages = ({ available, primary }: LanguageOffer): readonly string[] =>
  available.includes(primary) ? available : [...available, primary];

/** Always returns a language: without a match, from the producer's fallback chain, then its primary one (I18N-06). */
export function resolveLanguage(requested: readonly string[], offered: LanguageOffer): string {
  const spoken = spokenLanguages(offered);
  const match = matchLanguage(requested, spoken) ?? matchLanguage(offered.fallback_chain ?? [], spoken);
  return match?.available ?? offered.primary;
}

/** The script a language is written in, e.g. `Latn`; undefined if the tag does not tell. */
export const scriptOf = (tag: string): string | undefined => localeOf(tag).script;

const RIGHT_TO_LEFT = /^(?:Adlm|Ara[bn]|Gara|Hebr|Mand|Mend|Nkoo|Rohg|Samr|Syr[cejn]|Thaa|Yezi)$/;

/** The writing direction of a language. */
export const directionOf = (tag: string): "ltr" | "rtl" =>
  RIGHT_TO_LEFT.test(scriptOf(tag) ?? "") ? "rtl" : "ltr";

const BCP47 = /^(?:[a-z]{2,8}|[ix]-[a-z0-9]{1,8})(?:-[a-z0-9]{1,8})*$/i;

const wellFormed = (tags: readonly string[], most: number): string[] =>
  [...new Set(tags)].filter((tag) => BCP47.test(tag)).slice(0, most);

/** Language and direction of a text (CON-32); an invalid tag becomes "und" (undetermined). */
export function localizationHints(
  tag: string,
  available: readonly string[] = [],
  fallback_chain: readonly string[] = [],
): LocalizationHints {
  const languages = wellFormed(available, 32);
  const chain = wellFormed(fallback_chain, 16);
  return {
    primary_language: BCP47.test(tag) ? tag : "und",
    text_direction: scriptOf(tag) ? directionOf(tag) : "auto",
    ...(languages.length > 0 && { available_languages: languages }),
    ...(chain.length > 0 && { fallback_chain: chain }),
  };
}

/** The text fields that may have variants: elsewhere a suffix such as `_id` or `_ms` is not a language. */
export const VARIANT_BASES = [
  "summary_terse",
  "summary_normal",
  "summary_detailed",
  "action",
  "consequence",
  "question",
  "context",
  "reason",
  "description",
  "error_message",
  "remediation_hint",
  "output_summary",
  "partial_result",
] as const;
/** A text field that may have variants by language. */
export type VariantBase = (typeof VARIANT_BASES)[number];

/** `yo-NG` is written `summary_normal_yo_ng`. */
export const variantSuffix = (tag: string): string => tag.toLowerCase().replaceAll("-", "_");

/**
 * The text of a field in the best language: one of its `<base>_<tag>` variants, or the field itself if the event is in
 * that language or no variant matches better. `language` is undefined if the event does not state it.
 */
export function pickVariant(
  event: object,
  base: VariantBase,
  languages: readonly string[],
): { text: string; language: string | undefined } | undefined {
  const fields = event as Record<string, unknown>;
  const texts = new Map<string, string>();
  if (VARIANT_BASES.includes(base)) {
    for (const key of Object.keys(fields).sort((a, b) => b.length - a.length)) {
      const value = fields[key];
      if (typeof value !== "string" || !key.toLowerCase().startsWith(`${base}_`)) continue;
      const tag = key.slice(base.length + 1).replaceAll("_", "-");
      if (BCP47.test(tag)) texts.set(tag, value);
    }
  }
  const own =
    Object.hasOwn(fields, base) && typeof fields[base] === "string" ? (fields[base] as string) : undefined;
  const language = (fields["localization_hints"] as LocalizationHints | undefined)?.primary_language;
  if (own !== undefined && language !== undefined) texts.set(language, own);
  const match = matchLanguage(languages, [...texts.keys()])?.available;
  if (match !== undefined) return { text: texts.get(match)!, language: match };
  return own === undefined ? undefined : { text: own, language };
}

/** The length of a text as AAEP counts positions and JSON Schema counts lengths: in code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  }
  return count;
}
