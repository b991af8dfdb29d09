import type { ListenMessages } from "./index.ts";

export const en: ListenMessages = {
  language: "en",
  greeting: (names) => `Listening to ${names}. Type help and press Enter to learn what you can say.`,
  greetingKeys: (names) => `Listening to ${names}. Press question mark for help.`,
  typedAhead: "What you typed before the question was finished does not count. Answer now.",
  pieceWaits: "A text came in one piece, like a paste. It is not sent until you press Enter.",
  pieceNoAnswer:
    "That came in one piece, like a paste, so it was not taken as an answer. Type it, then press Enter.",
  pipedNoYes:
    "This is irreversible or of high risk, and your input does not come from a keyboard: here it can only be refused. To allow it, run earshot listen in a terminal.",
  dropped: (count) =>
    `${count} more lines came at once. They were not read, since nobody can have meant them one by one.`,
  unknown: (word) => `"${word}" is no word of mine, and nothing is being asked. Type help for my words.`,
  gone: (name) => `Still no word from ${name}. It may have been stopped. I keep trying. Ctrl+C ends this.`,
  answerWaits: "There is no connection right now. Your answer goes out when it is back.",
  speechFailed:
    'Speech does not work: nothing of this was spoken. It is all written here. "earshot doctor" tells more.',
  nothingWaits: "Nothing waits.",
  waits: "Something waits. Press Enter to read it.",
  urgentWaits: "Something urgent waits. Press Enter to read it.",
  moreWait: (count) => (count === 1 ? " One more waits." : ` ${count} more wait.`),
  noPages: "There is nothing to go back to here. The word history shows what was said.",
  left: "You stopped listening. The agent goes on without you.",
  help: (word) => [
    "Type a word, then press Enter.",
    `${word("yes")}: allow what is asked. What is risky or cannot be undone is then read back to you.`,
    `${word("confirm")}: allow it, after it was read back.`,
    `${word("no")}: refuse what is asked.`,
    "A number: take that choice. Other words: your answer, where the agent asks for one.",
    `${word("more")}: more time to answer.`,
    `${word("repeat")}: hear the question, or the last thing, again.`,
    `${word("what")}: hear what is happening.`,
    "details: hear code and addresses that were left out.",
    "pause and resume: hold what is not urgent, and catch up.",
    "history: the last ten things that were said. history 50: the last fifty.",
    "answer, then words: send exactly these words, even if they are one of mine.",
    "quit, or Ctrl+C: stop listening.",
  ],
  stepHelp: "Enter alone: the next thing that waits.",
  brailleHelp: "Enter alone: on along the line, then to what waits. back: back along it.",
  keyHelp:
    "Single keys, without Enter: n no, m more time, r repeat, w what, d details, p pause, g resume, 1 to 9 a choice, space next, b back, question mark help. Yes and confirm have no key: type the word and press Enter. While the agent asks for words or a number, only words count.",
};
