/** The demo's languages, and words in all of them: each listener hears its own, whatever language was asked in. */
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
