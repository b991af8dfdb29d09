// What a person hears, word for word. Read the files in golden/ aloud: that is the review. UPDATE_GOLDEN=1 writes them.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { payRent, WORDS } from "./sessions.ts";
import { Ear, written } from "./support.ts";

const VERBOSITIES = ["terse", "normal", "detailed"] as const;
const LOADS = ["low", "medium", "high"] as const;
const TITLES: Record<string, string> = {
  en: "English",
  es: "Spanish",
  ar: "Arabic",
  yo: "Yoruba, awaiting a native speaker's review",
  ja: "Japanese",
};

function transcript(language: string): string {
  const parts = [
    `# Paying the rent, heard in ${TITLES[language]}\n# Time, ! for what interrupts, then the words. The person says yes, then confirms.\n`,
  ];
  for (const verbosity of VERBOSITIES) {
    for (const load of LOADS) {
      const ear = new Ear({ languages: [language], verbosity, load });
      payRent(ear, language);
      parts.push(
        `## ${verbosity}, load ${load}\n${ear.said.map((said) => written(said, language)).join("\n")}\n`,
      );
    }
  }
  return parts.join("\n");
}

describe("what a person hears of a recorded session", () => {
  it.each(Object.keys(WORDS))(
    "in %s, at three verbosities and three loads, is this, word for word (SUB-02, SUB-03, I18N-12)",
    (language) => {
      const file = fileURLToPath(new URL(`golden/${language}.txt`, import.meta.url));
      const heard = transcript(language);
      if (process.env["UPDATE_GOLDEN"] || !existsSync(file)) writeFileSync(file, heard);
      expect(heard).toBe(readFileSync(file, "utf8"));
    },
  );

  it("never lacks a word: no placeholder, no empty sentence, no doubled full stop", () => {
    for (const language of Object.keys(WORDS))
      expect(transcript(language)).not.toMatch(/[{}]|undefined|\.\.|。。| {3}$/mu);
  });
});
