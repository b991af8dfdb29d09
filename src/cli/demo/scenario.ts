/**
 * What a scenario is made of: its script, words in every language of the demo, and the details it finds in a request (an
 * amount, a name, an address, a record number).
 */
import type { ClarifySpec, SayOptions, Session, Summary } from "../../index.ts";

/** What a scenario can use while it runs. */
export interface ScenarioContext {
  readonly session: Session;
  /** The language of the request. */
  readonly language: Language;
  readonly request: string;
  /** Waits, at the demo's speed. Rejects if the session ends, which stops the scenario. */
  wait(ms: number): Promise<void>;
  /** Streams text like a model would. Of text in all languages, it uses the language of the request. */
  say(text: string | Words, options?: SayOptions): Promise<void>;
  /** Asks a question. Returns the answer, or undefined without one. */
  ask(spec: ClarifySpec): Promise<string | boolean | number | undefined>;
  /** Says why something was not done, and returns the closing words. */
  refused(summary: string): Promise<Words>;
  /** Runs another script in parallel, in its own session. */
  parallel(summary: Summary, play: Play): Promise<void>;
}

/** Returns the closing words of the session, if they are not the default ones. */
export type Play = (context: ScenarioContext) => Promise<Summary | undefined> | Promise<void>;

export interface Scenario {
  /** The name for --scenario. */
  readonly name: string;
  /** One line for the list of scenarios. */
  readonly about: string;
  /** The first thing a listener hears. */
  readonly opening: Summary;
  /** A request that selects it, by language. */
  readonly examples?: Partial<Words>;
  /** Keywords that select it, by language. Each is a prefix of a word; in Japanese, any part of the text. */
  readonly keywords?: Partial<Words>;
  /** Its fixed language, if it ignores the language of the request. */
  readonly language?: Language;
  readonly tools?: readonly string[];
  readonly play: Play;
}

export const LANGUAGES = ["en", "es", "fr", "ar", "ja"] as const;

export type Language = (typeof LANGUAGES)[number];
export type Words = Readonly<Record<Language, string>>;

/** Builds the words in every language with a function. */
export const wordsOf = (make: (language: Language) => string): Words =>
  Object.fromEntries(LANGUAGES.map((language) => [language, make(language)])) as Words;

/** Joins several sentences, language by language. */
export const together = (...parts: readonly Words[]): Words =>
  wordsOf((language) => parts.map((part) => part[language]).join(language === "ja" ? "" : " "));

/** Nobody should believe that money really moved. */
export const PRETENDED: Words = {
  en: "This is a demo, so nothing real happened.",
  es: "Esto es una demostración: no ha pasado nada de verdad.",
  fr: "Ceci est une démonstration : rien ne s'est vraiment passé.",
  ar: "هذا عرض تجريبي، ولم يحدث شيء في الواقع.",
  ja: "これはデモなので、実際には何も起きていません。",
};

/** For questions: what a yes does in the demo. */
export const PRETENDS: Words = {
  en: "In this demo nothing real happens.",
  es: "En esta demostración no pasa nada de verdad.",
  fr: "Dans cette démonstration, rien ne se passe vraiment.",
  ar: "في هذا العرض التجريبي لا يحدث شيء في الواقع.",
  ja: "このデモでは実際には何も起きません。",
};

/** Closing words after a refusal. */
export const NOT_DONE: Words = {
  en: "Nothing was done.",
  es: "No se ha hecho nada.",
  fr: "Rien n'a été fait.",
  ar: "لم يُفعل شيء.",
  ja: "何もしていません。",
};

/** The default closing words. */
export const THAT_WAS_ALL: Words = {
  en: "That was all.",
  es: "Eso es todo.",
  fr: "C'est tout.",
  ar: "هذا كل شيء.",
  ja: "以上です。",
};

/** Converts Arabic-Indic and full-width digits to ASCII. */
const plainDigits = (text: string): string =>
  text.replaceAll(/[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g, (digit) =>
    String(digit.codePointAt(0)! & 0x0f),
  );

const MOST = 1_000_000;

/** The first number in a request, such as 500 in "$500" and 1200 in "1,200". */
export function numberIn(text: string): number | undefined {
  const found = /\d[\d,.\u00a0\u202f]*/.exec(plainDigits(text))?.[0];
  if (found === undefined) return undefined;
  // A separator before exactly three digits groups thousands; any other separates the cents.
  const whole = found.replaceAll(/[,.\u00a0\u202f](?=\d{3}(?!\d))/g, "").replace(",", ".");
  const value = Number.parseFloat(whole);
  return value > 0 && value <= MOST ? value : undefined;
}

/** A record number: digits that are an id rather than an amount. */
export const recordIn = (text: string): string | undefined => /\d{1,12}/.exec(plainDigits(text))?.[0];

export const addressIn = (text: string): string | undefined =>
  /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}/.exec(text)?.[0];

/** A recipient: a capitalized word after "to", "a" or "à". */
export const nameIn = (text: string): string | undefined =>
  /(?:^|\s)(?:to|for|a|para|à|pour)\s+(\p{Lu}\p{Ll}{1,30})(?![\p{L}@])/u.exec(text)?.[1];

/** The place in an answer: "Lagos" in "I am in Lagos." */
export const placeIn = (answer: string): string =>
  answer
    .trim()
    .replace(/^(?:i['’]?\s?a?m|estoy|je suis)\s+/iu, "")
    .replace(/^(?:in|at|en|à|au|في)\s+/iu, "")
    .replace(/(?:にいます|です)?[.。!]*$/u, "");
