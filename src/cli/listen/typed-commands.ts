/** The commands a person can type while listening: in their own language, and always in English too. */
import type { AgentEvent } from "../../protocol/index.ts";
import type { AnswerInput, Phrases } from "../../subscriber/announcer.ts";

/** What a typed line means. */
export type TypedCommand =
  | { readonly do: "answer"; readonly input: AnswerInput }
  /** Commands of the announcer. */
  | { readonly do: "repeat" | "what" | "details" | "pause" | "resume" }
  | { readonly do: "help" | "quit" }
  | { readonly do: "next" }
  | { readonly do: "back" }
  | { readonly do: "history"; readonly count: number }
  /** No command: an answer in the person's own words, or input for the program around the listener. */
  | { readonly do: "text"; readonly text: string };

const ANSWERS = ["yes", "no", "confirm", "more"] as const;
const OWN = ["repeat", "what"] as const;
const PLAIN = ["details", "pause", "resume", "help", "quit", "next", "back"] as const;
const USUAL_HISTORY = 10;

/** "SÍ", "sí" and "si" are the same word. */
const fold = (text: string): string =>
  text
    .trim()
    .normalize("NFKD")
    .replaceAll(/\p{Mn}/gu, "")
    .replaceAll(/[’ʼ`]/gu, "'")
    .replaceAll(/\s+/gu, " ")
    .toLowerCase();

const sameWord = (typed: string, word: string, phrases: Phrases): boolean =>
  typed === word || typed === fold(phrases.text(`word_${word as (typeof ANSWERS)[number]}`));

/** `answer WORDS` sends the words to the agent, even if they are a command: "answer no". */
export function parseCommand(line: string, phrases: Phrases): TypedCommand {
  const literal = /^answer\s+(.+)$/isu.exec(line.trim())?.[1];
  if (literal !== undefined) return { do: "answer", input: { kind: "text", text: literal } };
  const typed = fold(line);
  for (const kind of ANSWERS) if (sameWord(typed, kind, phrases)) return { do: "answer", input: { kind } };
  for (const word of OWN) if (sameWord(typed, word, phrases)) return { do: word };
  for (const word of PLAIN) if (typed === word) return { do: word };
  if (typed === "?" || typed === "h") return { do: "help" };
  const history = /^history(?: (\d{1,4}))?$/u.exec(typed);
  if (history) return { do: "history", count: Number(history[1] ?? USUAL_HISTORY) };
  return { do: "text", text: line.trim() };
}

/** Single keys and the word each stands for. None of them accepts. */
export const KEYS: Readonly<Record<string, string>> = {
  n: "no",
  m: "more",
  r: "repeat",
  w: "what",
  d: "details",
  p: "pause",
  g: "resume",
  b: "back",
  " ": "next",
  "?": "help",
  ...Object.fromEntries([..."123456789"].map((digit) => [digit, digit])),
};

/** The keys that act without Enter: none while the agent asks for words or numbers, which begin with the same keys. */
export function keysDuring(question: AgentEvent | undefined): ReadonlySet<string> {
  const { accepted_response_kinds: kinds = ["freetext"] } = (question ?? {}) as {
    accepted_response_kinds?: readonly string[];
  };
  const open = question?.type === "aaep:agent.awaiting.clarification";
  return open && (kinds.includes("freetext") || kinds.includes("numeric"))
    ? new Set()
    : new Set(Object.keys(KEYS));
}
