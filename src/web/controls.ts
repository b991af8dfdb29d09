/** What a person may set on the page, as plain form controls; each change is told to the agent at once. */

import { LANGUAGES, supported, type Wording } from "./languages.ts";
import { make } from "./runs.ts";
import type { EarSettings, Speed } from "./settings.ts";
import type { WordKey } from "./words.ts";

type Choice = readonly [value: string, word: WordKey];

const CHOICES: Readonly<Record<"verbosity" | "load" | "speed", readonly Choice[]>> = {
  verbosity: [
    ["terse", "terse"],
    ["normal", "normal"],
    ["detailed", "detailed"],
  ],
  load: [
    ["low", "low"],
    ["medium", "medium"],
    ["high", "high"],
  ],
  speed: [
    ["slow", "slow"],
    ["medium", "middling"],
    ["fast", "fast"],
  ],
};

export function controls(
  settings: EarSettings,
  { words }: Wording,
  set: (changed: Partial<EarSettings>) => void,
): HTMLElement {
  const language = select(
    "language",
    words.language,
    Object.entries(LANGUAGES).map(([tag, name]) => make("option", { value: tag, lang: tag }, name)),
    supported(settings.languages),
    (value) => set({ languages: [value, ...settings.languages.filter((one) => supported([one]) !== value)] }),
  );
  const others = (["verbosity", "load", "speed"] as const).map((name) =>
    select(
      name,
      words[name],
      CHOICES[name].map(([value, word]) => make("option", { value }, words[word])),
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
