// What a person hears, word for word. Read the files in golden/ aloud: that is the review. UPDATE_GOLDEN=1 writes them.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { payRent, trouble, WORDS } from "./sessions.ts";
import { TestListener, written } from "./support.ts";

const VERBOSITIES = ["terse", "normal", "detailed"] as const;
const LOADS = ["low", "medium", "high"] as const;
const TITLES: Record<string, string> = {
  en: "English",
  es: "Spanish",
  ar: "Arabic",
  yo: "Yoruba, awaiting a native speaker's review",
  ja: "Japanese",
};

/** At every verbosity and load, one after the other. */
function everyWay(title: string, language: string, play: (listener: TestListener) => void): string {
  const parts = [`# ${title}\n# Time, ! for what interrupts, then the words.\n`];
  for (const verbosity of VERBOSITIES) {
    for (const load of LOADS) {
      const listener = new TestListener({ languages: [language], verbosity, load });
      play(listener);
      parts.push(
        `## ${verbosity}, load ${load}\n${listener.said.map((said) => written(said, language)).join("\n")}\n`,
      );
    }
  }
  return parts.join("\n");
}

const transcript = (language: string): string =>
  everyWay(
    `Paying the rent, heard in ${TITLES[language]}. The person says yes, then confirms.`,
    language,
    (listener) => payRent(listener, language),
  );

function expectGolden(name: string, heard: string): void {
  const file = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
  if (process.env["UPDATE_GOLDEN"]) writeFileSync(file, heard);
  expect(heard).toBe(readFileSync(file, "utf8"));
}

describe("what a person hears of a recorded session", () => {
  it.each(Object.keys(WORDS))(
    "in %s, at three verbosities and three loads, is this, word for word (SUB-02, SUB-03, I18N-12)",
    (language) => {
      expectGolden(language, transcript(language));
    },
  );

  it("in which things go wrong is this, word for word (SUB-03, SUB-06, CNF-36)", () => {
    expectGolden("trouble", everyWay("A trip that comes to nothing, heard in English", "en", trouble));
  });

  it("never lacks a word: no placeholder, no empty sentence, no doubled full stop", () => {
    for (const language of Object.keys(WORDS))
      expect(transcript(language)).not.toMatch(/[{}]|undefined|\.\.|。。| {3}$/mu);
  });
});
