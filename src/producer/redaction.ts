/** Redaction: removes keys and passwords of common formats from text meant for people (EVT-16, SEC-09). */
export interface Redactor {
  /** The text with every secret replaced. */
  redact(text: string): string;
}

/** Known key formats: a prefix, then at least `least` of these characters. */
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

const FORMATS: readonly RegExp[] = [
  ...KEYS.map(([start, rest, least]) => new RegExp(`\\b${start}${rest}{${least},}`, "g")),
  new RegExp(`\\bey[JK]${JWT}{8,}\\.${JWT}{8,}\\.${JWT}{8,}`, "g"),
  new RegExp(`${BEGIN}[A-Z ]*PRIVATE KEY-----[\\s\\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`, "g"),
  /\bbearer\s+[A-Za-z0-9._~+/-]{16,}=*/gi,
  new RegExp(`\\b(?:${NAMES.join("|")})["']?\\s*[:=]\\s*["']?${VALUE}{4,}`, "gi"),
];

const prefixes = (start: string): string[] => Array.from(start, (_, i) => start.slice(0, i + 1)).reverse();

/** An unfinished secret at the end of a text. */
const UNFINISHED: readonly RegExp[] = [
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
/** The shortest secret: a name, a colon and a value. */
const SHORTEST = Math.min(...NAMES.map(({ length }) => length)) + 1 + 4;

/**
 * `hook` gets the text after known formats were removed, and may remove more. If it fails, the whole text is withheld,
 * because nobody knows what it would have removed.
 */
export function createRedactor(
  hook?: (text: string) => string,
  warn: (sentence: string) => void = () => {},
): Redactor {
  const applyHook = (text: string): string => {
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
    redact(text) {
      // Fast path: most text comes token by token, and no secret is that short.
      if (text.length < SHORTEST) return applyHook(text);
      let redacted = text;
      for (const format of FORMATS) redacted = redacted.replace(format, REMOVED);
      return applyHook(redacted);
    },
  };
}

/** The most text that is held back: longer than any secret. */
const MOST_HELD = 12_288;

/**
 * How much of streamed text can be sent: a secret may arrive in pieces, so what looks like the start of one is held back
 * until it is complete or turns out to be none. `before` is the last character sent, for a word that began there.
 */
export function safeLength(text: string, before = ""): number {
  const from = Math.max(0, text.length - MOST_HELD);
  const tail = before + text.slice(from);
  let held = tail.length;
  for (const pattern of UNFINISHED) {
    const match = pattern.exec(tail);
    if (match && match.index < held) held = match.index;
  }
  return from + Math.max(0, held - before.length);
}
