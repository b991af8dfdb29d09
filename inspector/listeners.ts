/** The four listeners shown side by side, the capabilities each requests, and the form that changes them. */
import type { Boundary, Capabilities, CognitiveLoad, Verbosity } from "../src/protocol/index.ts";
import { byId, make, tellStatus } from "./dom.ts";

export interface ListenerKind {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly capabilities: Capabilities;
}

const QUIET = { include: ["*"], exclude: ["aaep:agent.state.*", "aaep:agent.progress.*"] };
/** Requesting this rate lifts the limit; omitting the field would leave it unchanged. */
const NO_LIMIT = 100_000;

const languages = (): string[] => [...(navigator.languages.length > 0 ? navigator.languages : ["en"])];

/** Questions are shown to all of them, whether or not they can be answered here. */
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

/** Column indexes. */
export const READER = 1;
export const RAW = 3;

/** Capabilities as a sentence. */
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

const BOUNDARIES: readonly Boundary[] = ["none", "word", "sentence", "paragraph", "completion"];

const field = (id: string): HTMLInputElement => byId<HTMLInputElement>(id);
const boundary = (name: Boundary): HTMLInputElement => field(`boundary-${name}`);

function show(capabilities: Capabilities): void {
  const rate = capabilities.max_events_per_second ?? NO_LIMIT;
  byId<HTMLSelectElement>("verbosity").value = capabilities.preferred_verbosity ?? "normal";
  byId<HTMLSelectElement>("load").value = capabilities.cognitive_load ?? "medium";
  field("rate").value = rate >= NO_LIMIT ? "" : String(rate);
  field("pace").value = capabilities.pace_wpm === undefined ? "" : String(capabilities.pace_wpm);
  field("languages").value = (capabilities.languages ?? []).join(", ");
  for (const name of BOUNDARIES)
    boundary(name).checked = capabilities.coalesce_boundaries?.includes(name) ?? false;
  field("quiet").checked = (capabilities.event_filters?.exclude ?? []).length > 0;
}

const tags = (): string[] =>
  field("languages")
    .value.split(/[\s,]+/)
    .filter((tag) => tag !== "");

/** The first invalid language tag: an agent would reject the whole request. */
const invalidTag = (): string | undefined =>
  tags().find((tag) => {
    try {
      return Intl.getCanonicalLocales(tag).length !== 1;
    } catch {
      return true;
    }
  });

function read(): Capabilities {
  const pace = field("pace").value;
  const cut = BOUNDARIES.filter((name) => boundary(name).checked);
  return {
    preferred_verbosity: byId<HTMLSelectElement>("verbosity").value as Verbosity,
    cognitive_load: byId<HTMLSelectElement>("load").value as CognitiveLoad,
    max_events_per_second: field("rate").value === "" ? NO_LIMIT : Number(field("rate").value),
    languages: tags(),
    coalesce_boundaries: cut.length > 0 ? cut : ["completion"],
    event_filters: { include: ["*"], exclude: field("quiet").checked ? QUIET.exclude : [] },
    ...(pace === "" ? {} : { pace_wpm: Number(pace) }),
  };
}

/** The capability editor. The raw listener cannot be changed: findings need everything it receives. */
export function setUpTermsForm(
  kinds: readonly ListenerKind[],
  renegotiate: (column: number, capabilities: Capabilities) => Promise<Capabilities>,
): void {
  const choice = byId<HTMLSelectElement>("listener");
  kinds.forEach(({ name }, index) => {
    if (index !== RAW) choice.append(make("option", { value: String(index) }, name));
  });
  byId("boundaries").append(
    ...BOUNDARIES.map((name) =>
      make(
        "label",
        { class: "switch" },
        make("input", { type: "checkbox", id: `boundary-${name}` }),
        ` ${name}`,
      ),
    ),
  );
  const requested = kinds.map(({ capabilities }) => capabilities);
  const chosen = () => Number(choice.value);
  choice.addEventListener("change", () => show(requested[chosen()]!));
  show(requested[chosen()]!);
  byId("terms-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const column = chosen();
    const invalid = invalidTag();
    field("languages").setAttribute("aria-invalid", String(invalid !== undefined));
    if (invalid !== undefined) {
      field("languages").focus();
      return tellStatus(
        `"${invalid}" is not a language tag. Use tags such as en-US, ar or yo, preferred first.`,
      );
    }
    const capabilities = read();
    const { name } = kinds[column]!;
    renegotiate(column, capabilities).then(
      (agreed) => {
        requested[column] = { ...requested[column], ...capabilities };
        tellStatus(`${name}: negotiated ${termsIn(agreed)}.`);
      },
      (error: unknown) => tellStatus(`${name}: nothing was changed. ${(error as Error).message}`),
    );
  });
}
