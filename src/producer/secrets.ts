/** Keys and passwords do not belong in text meant for people (EVT-16, SEC-09): common shapes are caught before they leave. */
export interface SecretCatcher {
  /** The text with every secret replaced. */
  clean(text: string): string;
}

/** How a secret begins, and what may follow; `least` of it makes it one. `words` begin at a word's start, in any case. */
const KEYS: readonly [start: string, rest: string, least: number][] = [
  ["sk-", "[A-Za-z0-9_-]", 16],
  ["ghp_", "[A-Za-z0-9]", 20],
  ["gho_", "[A-Za-z0-9]", 20],
  ["ghu_", "[A-Za-z0-9]", 20],
  ["ghs_", "[A-Za-z0-9]", 20],
  ["ghr_", "[A-Za-z0-9]", 20],
  ["github_pat_", "[A-Za-z0-9_]", 20],
  ["glpat-", "[A-Za-z0-9_-]", 16],
  ["xoxa-", "[A-Za-z0-9-]", 10],
  ["xoxb-", "[A-Za-z0-9-]", 10],
  ["xoxp-", "[A-Za-z0-9-]", 10],
  ["xoxr-", "[A-Za-z0-9-]", 10],
  ["xoxs-", "[A-Za-z0-9-]", 10],
  ["AKIA", "[A-Z0-9]", 16],
  ["ASIA", "[A-Z0-9]", 16],
  ["AIza", "[A-Za-z0-9_-]", 30],
];
const NAMES = [
  "password",
  "passwd",
  "api_key",
  "api-key",
  "apikey",
  "secret",
  "access_token",
  "access-token",
];
const VALUE = `[^\\s"',;]`;
const JWT = "[A-Za-z0-9_-]";
const BEGIN = "-----BEGIN ";

const SHAPES: readonly RegExp[] = [
  ...KEYS.map(([start, rest, least]) => new RegExp(`\\b${start}${rest}{${least},}`, "g")),
  new RegExp(`\\bey[JK]${JWT}{8,}\\.${JWT}{8,}\\.${JWT}{8,}`, "g"),
  new RegExp(`${BEGIN}[A-Z ]*PRIVATE KEY-----[\\s\\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`, "g"),
  /\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*/gi,
  new RegExp(`\\b(?:${NAMES.join("|")})["']?\\s*[:=]\\s*["']?${VALUE}{4,}`, "gi"),
];

const prefixes = (start: string): string[] => Array.from(start, (_, i) => start.slice(0, i + 1)).reverse();

/** Ends that might become one of the shapes, or go on being one. */
const BEGINNINGS: readonly RegExp[] = [
  new RegExp(
    `\\b(?:${KEYS.flatMap(([start, rest]) => [`${start}${rest}*`, ...prefixes(start)]).join("|")})$`,
  ),
  new RegExp(`\\b(?:ey[JK]${JWT}*(?:\\.${JWT}*){0,2}|ey|e)$`),
  new RegExp(
    `${BEGIN}(?:[A-Z ]*-{0,5}|[A-Z ]*PRIVATE KEY-----(?:(?!-----END [A-Z ]*PRIVATE KEY-----)[\\s\\S])*)$`,
  ),
  new RegExp(`(?<![A-Z-])(?:${prefixes(BEGIN).join("|")})$`),
  new RegExp(`\\b(?:bearer\\s*|bearer\\s+[A-Za-z0-9._~+/-]+=*|${prefixes("bearer").join("|")})$`, "i"),
  new RegExp(
    `\\b(?:(?:${NAMES.join("|")})["']?\\s*(?:[:=]\\s*["']?${VALUE}*)?|${NAMES.flatMap(prefixes).join("|")})$`,
    "i",
  ),
];

const REMOVED = "[secret removed]";
/** The shortest name there is, a colon, and a value. */
const SHORTEST = Math.min(...NAMES.map(({ length }) => length)) + 1 + 4;

/**
 * `hook` sees text after the known shapes were removed, and may remove more. Where it fails, nobody knows what it would
 * have removed: that text stays here, and everything else goes on.
 */
export function createSecretCatcher(
  hook?: (text: string) => string,
  warn: (sentence: string) => void = () => {},
): SecretCatcher {
  const redact = (text: string): string => {
    if (!hook || text === "") return text;
    let why: unknown = "it returned no text";
    try {
      const redacted: unknown = hook(text);
      if (typeof redacted === "string") return redacted;
    } catch (error) {
      why = error;
    }
    warn(`A text was withheld, because \`redact\` failed on it: ${String(why)}`);
    return REMOVED;
  };
  return {
    clean(text) {
      // Most text comes token by token, and no secret is as short as that.
      if (text.length < SHORTEST) return redact(text);
      let clean = text;
      for (const shape of SHAPES) clean = clean.replace(shape, REMOVED);
      return redact(clean);
    },
  };
}

/** The most text that is held back: longer than any secret, short enough not to matter. */
const MOST_HELD = 12_288;

/**
 * How much of streamed text may go on: a secret may arrive in pieces, so what looks like the start of one waits until
 * it is known to be none, or whole. `before` is the character that went out last, for a word that began there.
 */
export function heldFrom(text: string, before = ""): number {
  const from = Math.max(0, text.length - MOST_HELD);
  const tail = before + text.slice(from);
  let held = tail.length;
  for (const beginning of BEGINNINGS) {
    const match = beginning.exec(tail);
    if (match && match.index < held) held = match.index;
  }
  return from + Math.max(0, held - before.length);
}
