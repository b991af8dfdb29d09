/**
 * The page's own texts (buttons, labels and a few sentences besides the announcer's) and the languages they exist in.
 * English is part of the bundle; every other language is loaded on first use, together with the announcer's catalog.
 */
import type { Catalog } from "../subscriber/catalogs/catalog.ts";
import { CATALOGS } from "../subscriber/catalogs/index.ts";
import { matchLanguage } from "../text/language.ts";

const english = {
  question_from: "Question from {agent}",
  check_heading: "Check before allowing",
  allow: "Allow",
  allow_now: "Allow now",
  check: "Check before allowing",
  refuse: "Refuse",
  later: "Decide later",
  go_back: "Go back",
  more_time: "More time",
  send: "Send answer",
  yes: "Yes",
  no: "No",
  choose: "Choose one",
  your_answer: "Your answer",
  your_number: "Your answer, a number",
  not_an_answer: "Give an answer first.",
  sending: "Your answer is on its way.",
  waits: "A question waits for you.",
  open_question: "Open the question",
  waits_typing: "{agent} has a question. It opens when you stop typing, or with {key}.",
  postponed: "Put off, not answered. To return to it, press {key}, or the button: {button}.",
  title: "Question waiting",
  transcript: "Transcript",
  you: "You",
  connecting: "Connecting.",
  connected: "Connected to {agent}.",
  lost: "The connection was lost. Trying again.",
  ended: "Not connected. {reason}",
  what: "What is happening?",
  repeat: "Say that again",
  settings: "Settings",
  language: "Language",
  verbosity: "Wording",
  terse: "Short",
  normal: "Normal",
  detailed: "Detailed",
  load: "How much to tell",
  low: "Only what matters",
  medium: "Normal",
  high: "Everything",
  speed: "Speed",
  slow: "Slow",
  middling: "Medium",
  fast: "Fast",
  earlier: "Earlier turns were removed to keep this page fast.",
};

export type PageMessageKey = keyof typeof english;
export type PageMessages = Readonly<Record<PageMessageKey, string>>;

/** Fills in `{name}` slots. */
export const fill = (text: string, slots: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => slots[name] ?? "");

/** Each language's name for itself. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  en: "English",
  es: "Español",
  fr: "Français",
  pt: "Português",
  ar: "العربية",
  ja: "日本語",
  yo: "Yorùbá",
  ha: "Hausa",
  ig: "Igbo",
  sw: "Kiswahili",
};

interface LanguageModule {
  readonly catalog: Catalog;
  readonly messages: PageMessages;
}

const MODULES: Readonly<Record<string, () => Promise<LanguageModule>>> = {
  es: () => import("./messages/es.ts"),
  fr: () => import("./messages/fr.ts"),
  pt: () => import("./messages/pt.ts"),
  ar: () => import("./messages/ar.ts"),
  ja: () => import("./messages/ja.ts"),
  yo: () => import("./messages/yo.ts"),
  ha: () => import("./messages/ha.ts"),
  ig: () => import("./messages/ig.ts"),
  sw: () => import("./messages/sw.ts"),
};

const loaded = new Map<string, PageMessages>([["en", english]]);

/** The best match among the available languages; English otherwise. */
export const supported = (languages: readonly string[]): string =>
  matchLanguage(languages, Object.keys(LANGUAGES))?.available ?? "en";

/** Falls back to English if the language cannot be loaded. */
export async function loadLanguage(languages: readonly string[]): Promise<void> {
  const language = supported(languages);
  if (loaded.has(language)) return;
  try {
    const { catalog, messages } = await MODULES[language]!();
    if (!CATALOGS.some((one) => one.language === language)) (CATALOGS as Catalog[]).push(catalog);
    loaded.set(language, messages);
  } catch {
    // Offline, or the language files were not deployed next to the element.
  }
}

export interface LocalizedMessages {
  readonly messages: PageMessages;
  readonly language: string;
}

/** The messages in the best of these languages that is loaded. */
export function messagesFor(languages: readonly string[]): LocalizedMessages {
  const language = supported(languages);
  const messages = loaded.get(language);
  return messages ? { messages, language } : { messages: english, language: "en" };
}
