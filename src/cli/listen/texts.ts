/** The listener's own words about typing and leaving. What agents do is told by the announcer, in the person's language. */
import type { MessageKey, Phrases, Run } from "../../subscriber/announcer.ts";

export const SAY = {
  greeting: (names: string) => `Listening to ${names}. Type help and press Enter to learn what you can say.`,
  greetingKeys: (names: string) => `Listening to ${names}. Press question mark for help.`,
  typedAhead: "What you typed before the question was finished does not count. Answer now.",
  pieceWaits: "A text came in one piece, like a paste. It is not sent until you press Enter.",
  pieceNoAnswer:
    "That came in one piece, like a paste, so it was not taken as an answer. Type it, then press Enter.",
  pipedNoYes:
    "This is irreversible or of high risk, and your input does not come from a keyboard: here it can only be refused. To allow it, run earshot listen in a terminal.",
  dropped: (count: number) =>
    `${count} more lines came at once. They were not read, since nobody can have meant them one by one.`,
  unknown: (word: string) =>
    `"${word}" is no word of mine, and nothing is being asked. Type help for my words.`,
  gone: (name: string) =>
    `Still no word from ${name}. It may have been stopped. I keep trying. Ctrl+C ends this.`,
  answerWaits: "There is no connection right now. Your answer goes out when it is back.",
  speechFailed:
    'Speech does not work: nothing of this was spoken. It is all written here. "earshot doctor" tells more.',
  nothingWaits: "Nothing waits.",
  waits: "Something waits. Press Enter to read it.",
  urgentWaits: "Something urgent waits. Press Enter to read it.",
  moreWait: (count: number) => (count === 1 ? " One more waits." : ` ${count} more wait.`),
  noHistory: "Nothing has been said yet.",
  noPages: "There is nothing to go back to here. The word history shows what was said.",
  left: "You stopped listening. The agent goes on without you.",
} as const;

/** Where the announcer has a sentence to the same effect in the person's language, that one is said. */
const TRANSLATED: ReadonlyMap<string, MessageKey> = new Map([
  [SAY.typedAhead, "not_heard_yet"],
  [SAY.pieceNoAnswer, "not_an_answer"],
  [SAY.noHistory, "nothing_said"],
]);

export function inTheirLanguage(text: string, phrases: Phrases): Run[] {
  const key = phrases.catalog.language === "en" ? undefined : TRANSLATED.get(text);
  return key ? phrases.say(key) : [phrases.content(text, "en")];
}

const WORDS = ["yes", "no", "confirm", "more", "repeat", "what"] as const;

export function helpLines(phrases: Phrases): readonly string[] {
  if (phrases.catalog.language === "en") return HELP;
  const own = WORDS.map((word) => `${phrases.text(`word_${word}`)} for ${word}`).join(", ");
  return [`Your own words work too: ${own}.`, ...HELP];
}

const HELP = [
  "Type a word, then press Enter.",
  "yes: allow what is asked. What is risky or cannot be undone is then read back to you.",
  "confirm: allow it, after it was read back.",
  "no: refuse what is asked.",
  "A number: take that choice. Other words: your answer, where the agent asks for one.",
  "more: more time to answer.",
  "repeat: hear the question, or the last thing, again.",
  "what: hear what is happening.",
  "details: hear code and addresses that were left out.",
  "pause and resume: hold what is not urgent, and catch up.",
  "history: the last ten things that were said. history 50: the last fifty.",
  "answer, then words: send exactly these words, even if they are one of mine.",
  "quit, or Ctrl+C: stop listening.",
] as const;

export const STEP_HELP = "Enter alone: the next thing that waits.";
export const BRAILLE_HELP = "Enter alone: on along the line, then to what waits. back: back along it.";

export const KEY_HELP =
  "Single keys, without Enter: n no, m more time, r repeat, w what, d details, p pause, g resume, 1 to 9 a choice, space next, b back, question mark help. Yes and confirm have no key: type the word and press Enter. While the agent asks for words or a number, only words count.";
