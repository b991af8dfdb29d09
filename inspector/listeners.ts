/** The four who listen side by side, and what each asks an agent for. */
import type { Capabilities } from "../src/protocol/index.ts";

export interface ListenerKind {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly capabilities: Capabilities;
}

const QUIET = { include: ["*"], exclude: ["aaep:agent.state.*", "aaep:agent.progress.*"] };
/** Asking for this rate lifts the limit: by leaving the field out it would stay as it was. */
export const NO_LIMIT = 100_000;

const languages = (): string[] => [...(navigator.languages.length > 0 ? navigator.languages : ["en"])];

/** Also those who cannot answer here: what is asked is shown to all. */
export const listenerKinds = (): readonly ListenerKind[] => [
  {
    id: "braille",
    name: "Braille display",
    about: "One event a second, short words, whole sentences.",
    capabilities: {
      languages: languages(),
      max_events_per_second: 1,
      pace_wpm: 200,
      preferred_verbosity: "terse",
      coalesce_boundaries: ["sentence", "completion"],
      event_filters: QUIET,
      cognitive_load: "medium",
    },
  },
  {
    id: "reader",
    name: "Screen reader",
    about: "Three events a second, short words, whole sentences.",
    capabilities: {
      languages: languages(),
      max_events_per_second: 3,
      preferred_verbosity: "terse",
      coalesce_boundaries: ["sentence", "completion"],
      event_filters: { include: ["*"] },
      cognitive_load: "medium",
    },
  },
  {
    id: "captions",
    name: "Captions",
    about: "Ten events a second, word by word.",
    capabilities: {
      languages: languages(),
      max_events_per_second: 10,
      preferred_verbosity: "normal",
      coalesce_boundaries: ["word", "completion"],
      event_filters: QUIET,
      cognitive_load: "medium",
    },
  },
  {
    id: "raw",
    name: "Raw",
    about: "Everything, in full, as it is made, as JSON.",
    capabilities: {
      languages: languages(),
      max_events_per_second: NO_LIMIT,
      preferred_verbosity: "detailed",
      coalesce_boundaries: ["none"],
      event_filters: { include: ["*"] },
      cognitive_load: "high",
    },
  },
];

/** Columns by what they are for. */
export const READER = 1;
export const RAW = 3;

/** What was agreed on, as a sentence. */
export function termsIn(terms: Capabilities): string {
  const { max_events_per_second: rate, pace_wpm: pace, languages: tags = [] } = terms;
  const count = rate ?? NO_LIMIT;
  const left = terms.event_filters?.exclude ?? [];
  return [
    count >= NO_LIMIT ? "no limit" : `${count} ${count === 1 ? "event" : "events"} a second`,
    pace === undefined ? "" : `${pace} words a minute`,
    terms.preferred_verbosity ?? "normal",
    `text cut at: ${(terms.coalesce_boundaries ?? ["sentence"]).join(", ")}`,
    `load ${terms.cognitive_load ?? "medium"}`,
    `languages: ${tags.length > 0 ? tags.join(", ") : "the agent's own"}`,
    left.length > 0 ? `without ${left.join(", ")}` : "",
  ]
    .filter((part) => part !== "")
    .join("; ");
}
