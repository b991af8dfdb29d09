/** What a person can set on a page, how it is declared to the agent, and the form that changes it. */
import type { Capabilities, CognitiveLoad, Verbosity } from "../protocol/types.ts";
import { make } from "./dom.ts";
import { LANGUAGES, type LocalizedMessages, supported } from "./messages.ts";

/** How fast a page announces. */
export type Speed = "slow" | "medium" | "fast";

/** What a person can set on a page. */
export interface PageSettings {
  /** Preferred first. */
  readonly languages: readonly string[];
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  readonly speed: Speed;
}

/** `rate`: announcements a second. `pace`: words a minute, to estimate when speech ends. */
const SPEEDS: Readonly<Record<Speed, { readonly rate: number; readonly pace: number }>> = {
  slow: { rate: 1, pace: 120 },
  medium: { rate: 3, pace: 300 },
  fast: { rate: 6, pace: 600 },
};

export const paceOf = ({ speed }: PageSettings): number => SPEEDS[speed].pace;

export const rateOf = ({ speed }: PageSettings, honored?: Capabilities): number =>
  Math.min(SPEEDS[speed].rate, honored?.max_events_per_second ?? Infinity);

export const capabilitiesOf = (settings: PageSettings): Capabilities => ({
  languages: [...settings.languages],
  preferred_verbosity: settings.verbosity,
  cognitive_load: settings.load,
  max_events_per_second: SPEEDS[settings.speed].rate,
  pace_wpm: SPEEDS[settings.speed].pace,
  coalesce_boundaries: ["sentence", "completion"],
});

const CHOICES = {
  verbosity: ["terse", "normal", "detailed"],
  load: ["low", "medium", "high"],
  speed: ["slow", "medium", "fast"],
} as const;

/** Plain form controls; each change takes effect at once. */
export function settingsForm(
  settings: PageSettings,
  { messages }: LocalizedMessages,
  set: (changed: Partial<PageSettings>) => void,
): HTMLElement {
  const language = select(
    "language",
    messages.language,
    Object.entries(LANGUAGES).map(([tag, name]) => make("option", { value: tag, lang: tag }, name)),
    supported(settings.languages),
    (value) => set({ languages: [value, ...settings.languages.filter((one) => supported([one]) !== value)] }),
  );
  const others = (["verbosity", "load", "speed"] as const).map((name) =>
    select(
      name,
      messages[name],
      CHOICES[name].map((value) =>
        make("option", { value }, messages[name === "speed" && value === "medium" ? "middling" : value]),
      ),
      settings[name],
      (value) => set({ [name]: value as Speed }),
    ),
  );
  return make("div", { class: "controls", part: "controls" }, language, ...others);
}

function select(
  id: string,
  label: string,
  options: readonly HTMLOptionElement[],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const field = make("select", { id: `set-${id}`, part: "control" }, ...options);
  field.value = value;
  field.addEventListener("change", () => change(field.value));
  return make("div", { class: "control" }, make("label", { for: field.id }, label), field);
}
