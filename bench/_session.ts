/** Material for the delivery benchmark: a busy agent as a script of events, and what listeners ask for. */
import { resolveTerms, type Terms } from "../src/protocol/negotiate.ts";
import { AAEP_VERSION, type Capabilities, CORE_CONTEXT } from "../src/protocol/types.ts";

export type Event = Record<string, unknown>;
/** An event and the millisecond it is said at. */
export type Script = readonly { readonly at: number; readonly event: Event }[];

/** The same numbers in every run. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SENTENCES = [
  "I looked at the three accounts you named, and the second one has enough to cover the rent and both bills. ",
  "The cheaper train leaves at 7:42 from platform 3, which is step-free, and it gets in about forty minutes later. ",
  "Dr. Osei's office wrote back this morning: the appointment can move to Thursday at 10:15 if that suits you. ",
  "There are two recalls for this model, neither of which affects cars built after March, so yours is not on the list. ",
];

const START = Date.UTC(2026, 4, 24, 9, 0, 0);

const envelope = (session: number, at: number, type: string, fields: Event): Event => ({
  "@context": CORE_CONTEXT,
  aaep_version: AAEP_VERSION,
  type: `aaep:agent.${type}`,
  session_id: `sess_7d4c1f0a9b3e48d2a6c5${session.toString(16).padStart(12, "0")}`,
  timestamp: new Date(START + at).toISOString(),
  producer: { agent_id: "household-helper", agent_name: "Household helper" },
  urgency: "normal",
  verbosity: "normal",
  localization_hints: { primary_language: "en-US", text_direction: "ltr" },
  ...fields,
});

const words = (normal: string, other: string): Event => ({
  summary_terse: normal.split(" ").slice(0, 2).join(" "),
  summary_normal: normal,
  summary_detailed: `${normal} This is the long form, with the reasons that led here and what comes next.`,
  summary_normal_de: other,
  summary_terse_de: other.split(" ")[0],
});

export interface ScriptOptions {
  readonly seconds: number;
  readonly sessions: number;
  /** Milliseconds between two sentences of one session. */
  readonly sentence_ms: number;
  /** How many chunks a sentence arrives in. */
  readonly chunks: number;
}

/** Text in every session all the time; now and then progress, a tool, a question. In order of time. */
export function writeScript({ seconds, sessions, sentence_ms, chunks }: ScriptOptions): Script {
  const script: { at: number; event: Event }[] = [];
  for (let session = 0; session < sessions; session++) {
    const say = (at: number, type: string, fields: Event) =>
      void script.push({ at, event: envelope(session, at, type, fields) });
    const offset = Math.floor((session * sentence_ms) / sessions);
    say(0, "session.started", words("The helper has started.", "Der Helfer hat begonnen."));
    say(0, "state.changed", {
      from_state: "idle",
      to_state: "writing_output",
      ...words("Writing an answer.", "Schreibt eine Antwort."),
    });
    let output = 0;
    for (let n = 0, at = offset; at < seconds * 1000; n++, at += sentence_ms) {
      if (n % 8 === 4) {
        const percent = Math.floor((at / seconds / 1000) * 100);
        say(at, "progress.updated", {
          urgency: "background",
          progress: { percent },
          ...words(`About ${percent} percent is done.`, `Etwa ${percent} Prozent sind fertig.`),
        });
      }
      if (n % 40 === 20) {
        const tool = { tool: "calendar.lookup", tool_call_id: `call_${session}x${n}` };
        say(at, "tool.invoked", { ...tool, ...words("Looking at your calendar.", "Sieht in den Kalender.") });
        say(at, "tool.completed", {
          ...tool,
          status: "success",
          ...words("The calendar has been read.", "Der Kalender ist gelesen."),
        });
      }
      if (session === 0 && n % 80 === 38) {
        say(at, "awaiting.confirmation", {
          urgency: "critical",
          reply_token: `rpl_${session.toString(16)}${n.toString(16).padStart(31, "0")}`,
          action: "Move the appointment to Thursday at 10:15.",
          consequence: "The old time is given up.",
          risk_level: "medium",
          reversibility: "reversible_with_effort",
          default_decision: "reject",
          timeout_seconds: 60,
          ...words("May I move the appointment?", "Darf ich den Termin verlegen?"),
        });
      }
      const text = SENTENCES[n % SENTENCES.length]! + (n % 6 === 5 ? "\n\n" : "");
      for (let chunk = 0; chunk < chunks; chunk++) {
        say(at + Math.floor((chunk * sentence_ms) / chunks), "output.streaming", {
          output_id: `out_${session}x${output}`,
          content_type: "text/plain",
          language: "en-US",
          coalesce_hint: "none",
          complete: n % 24 === 23 && chunk === chunks - 1,
          position: 0,
          chunk: text.slice(
            Math.floor((chunk * text.length) / chunks),
            Math.floor(((chunk + 1) * text.length) / chunks),
          ),
        });
      }
      if (n % 24 === 23) output++;
    }
  }
  return script.sort((a, b) => a.at - b.at);
}

/** The terms of a listener that asks for this and gets it. */
export const termsOf = (request: Capabilities): Terms =>
  resolveTerms(request, {
    languages: request.languages ?? ["en-US"],
    supported_conformance_levels: [1, 2, 3],
    ...request,
  });

const RATES = [1, 2, 3, 5, 10];

/** One shape for all: every other listener has a budget that binds. */
export function mixedRates(index: number): Terms {
  const limited = index % 2 === 1;
  return termsOf({
    supports_confirmation_reply: true,
    ...(limited ? { max_events_per_second: RATES[(index >> 1) % RATES.length]! } : {}),
  });
}

/** Listeners no two of which get the same bytes: verbosity, boundaries, languages, filters. */
export function distinctShape(index: number): Terms {
  const pick = <T>(list: readonly T[], of: number): T => list[of % list.length]!;
  const boundaries = [
    ["sentence", "completion"],
    ["none"],
    ["paragraph", "completion"],
    ["word", "completion"],
    ["sentence", "paragraph", "completion"],
  ] as const;
  const excluded = [[], ["aaep:agent.progress.*"], ["aaep:agent.tool.*"]];
  return termsOf({
    supports_confirmation_reply: true,
    preferred_verbosity: pick(["terse", "normal", "detailed"] as const, index),
    coalesce_boundaries: [...pick(boundaries, Math.floor(index / 3))],
    languages: pick([["en-US"], ["de"], ["de", "en"], ["en-GB", "de"]], Math.floor(index / 15)),
    event_filters: { exclude: pick(excluded, Math.floor(index / 60)) },
  });
}
