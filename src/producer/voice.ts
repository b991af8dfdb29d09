/** Building events: the envelope every event of a session shares, words made safe to read out, times that never run backwards. */
import type { Clock } from "../protocol/clock.ts";
import { EXTENSION_URI } from "../protocol/extension.ts";
import { codePoints } from "../protocol/formats.ts";
import { EMIT_LIMITS, fitsBytes, utf8Length } from "../protocol/limits.ts";
import {
  AAEP_VERSION,
  CORE_CONTEXT,
  type CoreEventType,
  type LocalizationHints,
  type ProducerIdentity,
} from "../protocol/types.ts";
import { localizationHints, VARIANT_BASES } from "../text/language.ts";
import type { SecretCatcher } from "./secrets.ts";

type Fields = Readonly<Record<string, unknown>>;

interface VoiceOptions {
  readonly session_id: string;
  readonly producer: ProducerIdentity;
  readonly clock: Clock;
  readonly secrets: SecretCatcher;
  readonly correlation_id: string | undefined;
  /** The time of the last event, where the session goes on. */
  readonly after?: string | undefined;
}

const URGENCY: Partial<Record<CoreEventType, string>> = {
  "aaep:agent.session.errored": "critical",
  "aaep:agent.awaiting.confirmation": "critical",
  "aaep:agent.awaiting.clarification": "critical",
  "aaep:agent.handoff.requested": "critical",
  "aaep:agent.progress.updated": "background",
};

/** Text that people hear or read. Ids, tokens and codes stay as they are. */
const SPOKEN = new RegExp(`^(?:${VARIANT_BASES.join("|")}|args_summary|request_text)(?:_|$)`);
const SHORT = /^(?:summary_terse|description|context|error_message|remediation_hint)(?:_|$)/;
const MOST = 16_384;
const MOST_SHORT = 4_096;

/** What a field of this name is to a voice; there are few names, and they come again with every token. */
const kinds = new Map<string, "spoken" | "short" | "silent">();
function kindOf(key: string): "spoken" | "short" | "silent" {
  let kind = kinds.get(key);
  if (kind === undefined) {
    kind = SPOKEN.test(key) ? (SHORT.test(key) ? "short" : "spoken") : "silent";
    if (kinds.size < 1000) kinds.set(key, kind);
  }
  return kind;
}

/** Control characters say nothing, and overrides make text look like other text (CON-67). Isolates and marks stay. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const UNSPEAKABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202d\u202e]/g;
const LONE_SURROGATE = /\p{Surrogate}/gu;

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

/** The start of the grapheme cluster at an index: a text cut there loses no part of a character. */
export const clusterStart = (text: string, index: number): number =>
  graphemes.segment(text).containing(index)?.index ?? index;

/** Cut between grapheme clusters so that it fits, with a sign that it was cut (CON-41). */
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

function createSpeakable(secrets: SecretCatcher) {
  return (text: string, most?: number): string => {
    // Plain English, which most tokens are, has nothing to mend.
    const mended = PLAIN.test(text)
      ? text
      : text.normalize("NFC").replace(LONE_SURROGATE, "\ufffd").replace(UNSPEAKABLE, "");
    return cutToFit(secrets.clean(mended), most);
  };
}

export function createVoice(options: VoiceOptions) {
  const { session_id, producer, clock, secrets, correlation_id, after = "" } = options;
  const speakable = createSpeakable(secrets);
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
  const voice = (
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
      const kind = typeof value === "string" ? kindOf(key) : "silent";
      event[key] =
        kind === "silent" ? value : speakable(value as string, kind === "short" ? MOST_SHORT : MOST);
    }
    // The log's to give.
    event["event_id"] = "";
    return event;
  };
  return Object.assign(voice, {
    /** More text of the same output: all but the chunk itself stays as it was. */
    goOn: (event: Record<string, unknown>, { chunk, position }: Fields): void => {
      event["timestamp"] = timestamp();
      event["chunk"] = chunk;
      event["position"] = position;
    },
  });
}

export type Voice = ReturnType<typeof createVoice>;
