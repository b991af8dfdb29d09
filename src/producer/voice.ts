/** Building events: the envelope every event of a session shares, words cleaned of secrets, times that never run backwards. */
import type { Clock } from "../protocol/clock.ts";
import { EXTENSION_URI } from "../protocol/extension.ts";
import { localizationHints } from "../protocol/language.ts";
import { AAEP_VERSION, CORE_CONTEXT, type CoreEventType, type ProducerIdentity } from "../protocol/types.ts";
import type { SecretCatcher } from "./secrets.ts";

export interface VoiceOptions {
  readonly session_id: string;
  readonly producer: ProducerIdentity;
  readonly language: string;
  readonly clock: Clock;
  readonly secrets: SecretCatcher;
  readonly correlation_id: string | undefined;
}

const URGENCY: Partial<Record<CoreEventType, string>> = {
  "aaep:agent.session.errored": "critical",
  "aaep:agent.awaiting.confirmation": "critical",
  "aaep:agent.awaiting.clarification": "critical",
  "aaep:agent.handoff.requested": "critical",
  "aaep:agent.progress.updated": "background",
};

/** Text that people hear or read; secrets are taken out of it. Ids, tokens and codes stay as they are. */
const SPOKEN = /^(?:summary_|action|consequence|question|context|reason(?:_|$)|description|args_summary|request_text|error_message|remediation_hint|output_summary|partial_result)/;

export function createVoice(options: VoiceOptions) {
  const { session_id, producer, clock, secrets, correlation_id } = options;
  let last = "";
  const timestamp = (): string => {
    const now = clock.timestamp();
    if (now > last) last = now;
    return last;
  };
  return (type: CoreEventType, fields: Record<string, unknown>, language = options.language): Record<string, unknown> => {
    const event: Record<string, unknown> = {
      "@context": fields["extensions"] ? [CORE_CONTEXT, EXTENSION_URI] : CORE_CONTEXT,
      aaep_version: AAEP_VERSION,
      type,
      session_id,
      timestamp: timestamp(),
      producer,
      urgency: URGENCY[type] ?? "normal",
      localization_hints: localizationHints(language),
      ...(correlation_id === undefined ? {} : { correlation_id }),
    };
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      event[key] = typeof value === "string" && SPOKEN.test(key) ? secrets.clean(value) : value;
    }
    return event;
  };
}

export type Voice = ReturnType<typeof createVoice>;
