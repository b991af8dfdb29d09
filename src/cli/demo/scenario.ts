/**
 * What a scenario is made of: its script, words in every language of the demo, and the details it finds in a request (an
 * amount, a name, an address, a record number).
 */
import type { ClarifySpec, SayOptions, Session, Summary } from "../../index.ts";

/** What a scenario has in hand while it plays. */
export interface Act {
  readonly session: Session;
  /** The language the request came in. */
  readonly language: Language;
  readonly request: string;
  /** Lets time pass, at the demo's speed. Rejects once the session has ended: then there is nothing more to play. */
  wait(ms: number): Promise<void>;
  /** Streams text at the pace of somebody who types fast. Words in all languages are said in that of the request. */
  say(text: string | Words, options?: SayOptions): Promise<void>;
  /** The answer as text in the request's language, or undefined where none came. */
  ask(spec: ClarifySpec): Promise<string | boolean | number | undefined>;
  /** Says why something was not done, and gives the words to end with. */
  refused(summary: string): Promise<Words>;
  /** Plays something beside this, in a session of its own. */
  beside(summary: Summary, play: Play): Promise<void>;
}

/** Gives the words the session ends with, where there are better ones than that this was all. */
export type Play = (act: Act) => Promise<Summary | undefined> | Promise<void>;

export interface Scenario {
  /** For --scenario. */
  readonly name: string;
  /** One line for whoever chooses. */
  readonly about: string;
  /** The first thing a listener hears. */
  readonly opening: Summary;
  /** A request that calls it up, by language. */
  readonly examples?: Partial<Words>;
  /** Words that call it up, by language, each the beginning of a word; in Japanese any part of the text. */
  readonly keywords?: Partial<Words>;
  /** Where its own language is not the request's. */
  readonly language?: Language;
  readonly tools?: readonly string[];
  readonly play: Play;
}

export const LANGUAGES = ["en", "es", "fr", "ar", "ja"] as const;

export type Language = (typeof LANGUAGES)[number];
export type Words = Readonly<Record<Language, string>>;

/** The same words in every language from a function of what differs. */
export const wordsOf = (make: (language: Language) => string): Words =>
  Object.fromEntries(LANGUAGES.map((language) => [language, make(language)])) as Words;

/** Several sentences as one, language by language. */
export const together = (...parts: readonly Words[]): Words =>
  wordsOf((language) => parts.map((part) => part[language]).join(language === "ja" ? "" : " "));

/** Honesty comes first: nobody should believe that money moved. */
export const PRETENDED: Words = {
  en: "This is a demo, so nothing real happened.",
  es: "Esto es una demostración: no ha pasado nada de verdad.",
  fr: "Ceci est une démonstration : rien ne s'est vraiment passé.",
  ar: "هذا عرض تجريبي، ولم يحدث شيء في الواقع.",
  ja: "これはデモなので、実際には何も起きていません。",
};

/** For a question: what a yes would do here. */
export const PRETENDS: Words = {
  en: "In this demo nothing real happens.",
  es: "En esta demostración no pasa nada de verdad.",
  fr: "Dans cette démonstration, rien ne se passe vraiment.",
  ar: "في هذا العرض التجريبي لا يحدث شيء في الواقع.",
  ja: "このデモでは実際には何も起きません。",
};

/** How a session ends where something was asked for and refused. */
export const NOT_DONE: Words = {
  en: "Nothing was done.",
  es: "No se ha hecho nada.",
  fr: "Rien n'a été fait.",
  ar: "لم يُفعل شيء.",
  ja: "何もしていません。",
};

/** How a session ends that had only something to say. */
export const THAT_WAS_ALL: Words = {
  en: "That was all.",
  es: "Eso es todo.",
  fr: "C'est tout.",
  ar: "هذا كل شيء.",
  ja: "以上です。",
};

/** Arabic-Indic and full-width digits as plain ones. */
const plainDigits = (text: string): string =>
  text.replaceAll(/[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g, (digit) =>
    String(digit.codePointAt(0)! & 0x0f),
  );

const MOST = 1_000_000;

/** The first number in a request, such as 500 in "$500" and 1200 in "1,200". */
export function numberIn(text: string): number | undefined {
  const found = /\d[\d,.\u00a0\u202f]*/.exec(plainDigits(text))?.[0];
  if (found === undefined) return undefined;
  // A mark before exactly three digits groups thousands; any other begins the cents.
  const whole = found.replaceAll(/[,.\u00a0\u202f](?=\d{3}(?!\d))/g, "").replace(",", ".");
  const value = Number.parseFloat(whole);
  return value > 0 && value <= MOST ? value : undefined;
}

/** A run of digits that is a name rather than an amount: a record's. */
export const recordIn = (text: string): string | undefined => /\d{1,12}/.exec(plainDigits(text))?.[0];

export const addressIn = (text: string): string | undefined =>
  /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}/.exec(text)?.[0];

/** Somebody a thing goes to: a capitalised word after "to", "a" or "à". */
export const nameIn = (text: string): string | undefined =>
  /(?:^|\s)(?:to|for|a|para|à|pour)\s+(\p{Lu}\p{Ll}{1,30})(?![\p{L}@])/u.exec(text)?.[1];

/** "I am in Lagos." names Lagos. */
export const placeIn = (answer: string): string =>
  answer
    .trim()
    .replace(/^(?:i['’]?\s?a?m|estoy|je suis)\s+/iu, "")
    .replace(/^(?:in|at|en|à|au|في)\s+/iu, "")
    .replace(/(?:にいます|です)?[.。!]*$/u, "");
