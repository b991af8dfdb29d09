/**
 * The content of an event: the envelope that all events of a session share, and the text fields. An author gives text as
 * one string, one per verbosity, one per language, or both; it becomes fields with variants by language suffix (CON-08),
 * and each listener gets the variant that fits. Text is sanitized, and timestamps never run backwards.
 */
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_URI } from "../protocol/extension.ts";
import { EMIT_LIMITS, fitsBytes, utf8Length } from "../protocol/limits.ts";
import type { Clock } from "../protocol/platform.ts";
import {
  AAEP_VERSION,
  CORE_CONTEXT,
  type CoreEventType,
  type LocalizationHints,
  type ProducerIdentity,
  type Verbosity,
} from "../protocol/types.ts";
import { codePoints, localizationHints, VARIANT_BASES, variantSuffix } from "../text/language.ts";
import type { Redactor } from "./redaction.ts";

type Fields = Readonly<Record<string, unknown>>;

interface EnvelopeOptions {
  readonly session_id: string;
  readonly producer: ProducerIdentity;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly correlation_id: string | undefined;
  /** The timestamp of the last event before a restart. */
  readonly after?: string | undefined;
}

const URGENCY: Partial<Record<CoreEventType, string>> = {
  "aaep:agent.session.errored": "critical",
  "aaep:agent.awaiting.confirmation": "critical",
  "aaep:agent.awaiting.clarification": "critical",
  "aaep:agent.handoff.requested": "critical",
  "aaep:agent.progress.updated": "background",
};

/** Fields with text for people. Ids, tokens and codes stay as they are. */
const TEXT = new RegExp(`^(?:${VARIANT_BASES.join("|")}|args_summary|request_text)(?:_|$)`);
const SHORT_TEXT = /^(?:summary_terse|description|context|error_message|remediation_hint)(?:_|$)/;
const MOST = 16_384;
const MOST_SHORT = 4_096;

/** A cache: there are few field names, and they come again with every token. */
const kinds = new Map<string, "text" | "short" | "other">();
function kindOf(key: string): "text" | "short" | "other" {
  let kind = kinds.get(key);
  if (kind === undefined) {
    kind = TEXT.test(key) ? (SHORT_TEXT.test(key) ? "short" : "text") : "other";
    if (kinds.size < 1000) kinds.set(key, kind);
  }
  return kind;
}

/** Control characters and bidi overrides, which make text look like other text, are removed (CON-67). Isolates stay. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202d\u202e]/g;
const LONE_SURROGATE = /\p{Surrogate}/gu;

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

/** The start of the grapheme cluster at an index: cutting there splits no character. */
export const clusterStart = (text: string, index: number): number =>
  graphemes.segment(text).containing(index)?.index ?? index;

/** Truncates between grapheme clusters, with an ellipsis (CON-41). */
function cutToFit(text: string, most = MOST): string {
  const fitsIn = fitsBytes(text, EMIT_LIMITS.stringBytes);
  if (fitsIn && (text.length <= most || codePoints(text) <= most)) return text;
  const sign = "…";
  let end = 0;
  let points = 1;
  let bytes = utf8Length(sign);
  for (const point of text) {
    points++;
    bytes += utf8Length(point);
    if (points > most || bytes > EMIT_LIMITS.stringBytes) break;
    end += point.length;
  }
  return `${text.slice(0, clusterStart(text.slice(0, 2 * most), end))}${sign}`;
}

function createSanitizer(redactor: Redactor) {
  return (text: string, most?: number): string => {
    // Fast path: most tokens are plain ASCII.
    const clean = PLAIN.test(text)
      ? text
      : text.normalize("NFC").replace(LONE_SURROGATE, "\ufffd").replace(CONTROL_CHARACTERS, "");
    return cutToFit(redactor.redact(clean), most);
  };
}

export function createEnvelope(options: EnvelopeOptions) {
  const { session_id, producer, clock, redactor, correlation_id, after = "" } = options;
  const sanitize = createSanitizer(redactor);
  const hints = new Map<string, LocalizationHints>();
  const hintsOf = (language: string): LocalizationHints => {
    const known = hints.get(language) ?? localizationHints(language);
    hints.set(language, known);
    return known;
  };
  let last = after;
  const timestamp = (): string => {
    const now = clock.timestamp();
    if (now > last) last = now;
    return last;
  };
  const envelope = (
    type: CoreEventType,
    fields: Record<string, unknown>,
    language: string,
  ): Record<string, unknown> => {
    const event: Record<string, unknown> = {
      "@context": fields["extensions"] ? [CORE_CONTEXT, EXTENSION_URI] : CORE_CONTEXT,
      aaep_version: AAEP_VERSION,
      type,
      session_id,
      timestamp: timestamp(),
      producer,
      urgency: URGENCY[type] ?? "normal",
      localization_hints: hintsOf(language),
    };
    if (correlation_id !== undefined) event["correlation_id"] = correlation_id;
    for (const key of Object.keys(fields)) {
      const value = fields[key];
      if (value === undefined) continue;
      const kind = typeof value === "string" ? kindOf(key) : "other";
      event[key] = kind === "other" ? value : sanitize(value as string, kind === "short" ? MOST_SHORT : MOST);
    }
    // The log assigns it.
    event["event_id"] = "";
    return event;
  };
  return Object.assign(envelope, {
    /** Reuses the event of the previous chunk: only timestamp, chunk and position change. */
    setChunk: (event: Record<string, unknown>, { chunk, position }: Fields): void => {
      event["timestamp"] = timestamp();
      event["chunk"] = chunk;
      event["position"] = position;
    },
  });
}

export type Envelope = ReturnType<typeof createEnvelope>;

/** One text in up to three lengths. `normal` is required; it stands in for the others. */
export interface ByVerbosity {
  readonly terse?: string;
  readonly normal: string;
  readonly detailed?: string;
}
/** Text by language tag. */
export type ByLanguage<Words> = Readonly<Record<string, Words>>;
/** A summary, in one or more verbosities and languages. */
export type Summary = string | ByVerbosity | ByLanguage<string | ByVerbosity>;
/** A question, an action, a consequence: one wording, in one or more languages. */
export type Sentence = string | ByLanguage<string>;

const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];

const isByVerbosity = (words: object): words is ByVerbosity =>
  Object.keys(words).every((key) => VERBOSITIES.includes(key as Verbosity));

type OneLanguage = string | ByVerbosity;

/** By lower-cased tag, with the tag as written; undefined for text without language tags. */
function languagesOf(words: Summary | Sentence): Map<string, [tag: string, words: OneLanguage]> | undefined {
  if (typeof words === "string" || isByVerbosity(words)) return undefined;
  return new Map(Object.entries(words).map(([tag, one]) => [tag.toLowerCase(), [tag, one as OneLanguage]]));
}

export interface TextFields {
  readonly fields: Readonly<Record<string, string>>;
  /** The language of the unsuffixed fields. */
  readonly language: string;
  /** All languages, that one first. */
  readonly languages: readonly string[];
}

/**
 * The text fields of one event. All unsuffixed fields are in one language, which the event names: the primary one if all
 * texts have it, else the first language they share.
 */
export function textFields(
  primary: string,
  words: Readonly<Record<string, Summary | Sentence | undefined>>,
): TextFields {
  const given = Object.entries(words).filter(
    (entry): entry is [string, Summary | Sentence] => entry[1] !== undefined,
  );
  const many = given.flatMap(([, one]) => languagesOf(one) ?? []);
  const isSingle = many.length < given.length;
  const shared = [...(many[0]?.keys() ?? [])].filter((key) => many.every((one) => one.has(key)));
  const own = primary.toLowerCase();
  const base = many.length === 0 || shared.includes(own) ? own : isSingle ? undefined : shared[0];
  if (base === undefined) {
    throw new EarshotError(
      "I18N-01",
      `Give these texts in ${primary} too, or all of them in one other language: ${given.map(([name]) => name).join(", ")}.`,
    );
  }
  const fields: Record<string, string> = {};
  for (const [name, one] of given) {
    const languages = languagesOf(one) ?? new Map([[base, [primary, one as OneLanguage] as const]]);
    for (const [key, [tag, text]] of languages) {
      const suffix = key === base ? "" : `_${variantSuffix(tag)}`;
      if (name !== "summary") fields[`${name}${suffix}`] = text as string;
      else Object.assign(fields, lengthsOf(text, suffix));
    }
  }
  const tags = shared.map((key) => many[0]!.get(key)![0]);
  const language = many.length === 0 || base === own ? primary : many[0]!.get(base)![0];
  return { fields, language, languages: [language, ...tags.filter((tag) => tag.toLowerCase() !== base)] };
}

function lengthsOf(text: OneLanguage, suffix: string): Record<string, string> {
  const lengths: Partial<Record<Verbosity, string>> = typeof text === "string" ? { normal: text } : text;
  return Object.fromEntries(
    VERBOSITIES.flatMap((verbosity) => {
      const value = lengths[verbosity];
      return value === undefined ? [] : [[`summary_${verbosity}${suffix}`, value]];
    }),
  );
}

/** The text in one language, for fields that take one string. */
export const inLanguage = (words: Sentence, language: string): string =>
  typeof words === "string" ? words : (words[language] ?? Object.values(words)[0] ?? "");
