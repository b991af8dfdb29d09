/**
 * All scenarios, and how one is chosen: by name, or by free text in any of the demo's languages. In free text, a word
 * counts more the fewer scenarios have it as a keyword; misspelled words count only where no other word matches. Help is
 * the fallback.
 */
import { EarshotError } from "../../index.ts";
import { nearest } from "../arguments.ts";
import { OUTPUTS } from "./edge-cases/outputs.ts";
import { QUESTIONS } from "./edge-cases/questions.ts";
import { SESSIONS } from "./edge-cases/sessions.ts";
import { balance, transfer } from "./household/bank.ts";
import { dinner, room, timer } from "./household/calendar.ts";
import { fetchData, tests } from "./household/code.ts";
import { deletion, tidy } from "./household/files.ts";
import { mail } from "./household/mail.ts";
import { human, weather } from "./household/people.ts";
import { rainbow } from "./household/rainbow.ts";
import { fact, hello, help, paragraph } from "./household/talk.ts";
import { calledOff, printer, unknownTool } from "./household/trouble.ts";
import { LANGUAGES, type Language, type Scenario } from "./scenario.ts";

export const HOUSEHOLD: readonly Scenario[] = [
  transfer,
  hello,
  rainbow,
  deletion,
  mail,
  room,
  weather,
  human,
  balance,
  dinner,
  timer,
  tidy,
  tests,
  unknownTool,
  fetchData,
  printer,
  calledOff,
  fact,
  paragraph,
  help,
];

export const EDGE_CASES: readonly Scenario[] = [...QUESTIONS, ...OUTPUTS, ...SESSIONS];

export const SCENARIOS: readonly Scenario[] = [...HOUSEHOLD, ...EDGE_CASES];

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found) return found;
  const names = SCENARIOS.map((scenario) => scenario.name);
  const near = nearest(name, names);
  throw new EarshotError(
    "unknown_scenario",
    `There is no scenario "${name}".${near ? ` Did you mean "${near}"?` : ""} "earshot demo --scenario list" lists all scenarios.`,
  );
}

/** Stop words that identify a language with Latin letters. */
const STOP_WORDS: Readonly<Record<"en" | "es" | "fr", string>> = {
  en: "the a an my me to of and is are you please how what where i in with that this",
  es: "el la los las un una mi me de y es que por favor como cual donde en con para del quiero dime estoy",
  fr: "le la les un une mon ma mes moi de et est que s'il te vous plait comment quel ou en avec pour du je",
};

const fold = (text: string): string =>
  text
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    // Arabic spelling varies between these letters.
    .replaceAll("\u0629", "\u0647")
    .replaceAll("\u0649", "\u064a");

const wordsIn = (text: string): string[] => fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];

const keywordsOf = ({ keywords = {} }: Scenario, language: Language): string[] =>
  fold(keywords[language] ?? "")
    .split(" ")
    .filter((word) => word !== "");

/** How many scenarios have a word as keyword: the fewer, the higher its weight. */
const KEYWORD_COUNTS: ReadonlyMap<string, number> = (() => {
  const counts = new Map<string, number>();
  for (const scenario of SCENARIOS)
    for (const language of LANGUAGES)
      for (const word of keywordsOf(scenario, language)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
})();

type Occurs = (keyword: string) => boolean;

/** Japanese has no spaces. Arabic attaches the article, "and", "to" and "with" to the word. */
function occursIn(text: string): Occurs {
  const folded = fold(text);
  const words = wordsIn(text).flatMap((word) => [word, word.replace(/^(?:[وبف]?(?:ال|لل)|[وبلف])/u, "")]);
  return (keyword) =>
    /[\u3040-\u30ff\u3400-\u9fff]/.test(keyword)
      ? folded.includes(keyword)
      : words.some((word) => (keyword.length < 4 ? word === keyword : word.startsWith(keyword)));
}

function best(occurs: Occurs): { scenario: Scenario; score: number } | undefined {
  const ranked = SCENARIOS.map((scenario) => {
    const found = new Set(LANGUAGES.flatMap((language) => keywordsOf(scenario, language)).filter(occurs));
    const score = [...found].reduce((sum, word) => sum + 1 / KEYWORD_COUNTS.get(word)!, 0);
    // A greeting plus a request is a request.
    return { scenario, score: scenario === hello ? Math.min(score, 0.01) : score };
  }).sort((a, b) => b.score - a.score);
  return ranked[0]!.score > 0 ? ranked[0] : undefined;
}

export function matchScenario(text: string): Scenario {
  const name = text.trim().toLowerCase().replaceAll(/\s+/g, "-");
  const named = SCENARIOS.find((scenario) => scenario.name === name);
  if (named) return named;
  const exact = best(occursIn(text));
  if (exact) return exact.scenario;
  const known = [...KEYWORD_COUNTS.keys()];
  const meant = wordsIn(text).flatMap((word) => (word.length < 5 ? [] : (nearest(word, known) ?? [])));
  return best(occursIn(meant.join(" ")))?.scenario ?? help;
}

/** Detects the language by script, or else by stop words and keywords. */
export function languageOf(text: string): Language {
  if (/[\u3040-\u30ff\u4e00-\u9fff]/.test(text)) return "ja";
  if (/[\u0600-\u06ff]/.test(text)) return "ar";
  const words = wordsIn(text);
  const occurs = occursIn(text);
  const scores = (["en", "es", "fr"] as const).map((language) => {
    const small = new Set(STOP_WORDS[language].split(" "));
    const calls = SCENARIOS.flatMap((scenario) => keywordsOf(scenario, language)).filter(occurs);
    return { language, score: words.filter((word) => small.has(word)).length + new Set(calls).size };
  });
  return scores.reduce((most, one) => (one.score > most.score ? one : most)).language;
}
