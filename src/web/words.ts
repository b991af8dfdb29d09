/** The page's own words: buttons, labels, and the few sentences a screen reader user needs besides the announcer's. */
export type Words = Readonly<Record<WordKey, string>>;

export type WordKey =
  | "question_from"
  | "check_heading"
  | "allow"
  | "allow_now"
  | "check"
  | "refuse"
  | "later"
  | "go_back"
  | "more_time"
  | "send"
  | "yes"
  | "no"
  | "choose"
  | "your_answer"
  | "your_number"
  | "not_an_answer"
  | "sending"
  | "waits"
  | "open_question"
  | "waits_typing"
  | "postponed"
  | "title"
  | "transcript"
  | "you"
  | "connecting"
  | "connected"
  | "lost"
  | "ended"
  | "what"
  | "repeat"
  | "settings"
  | "language"
  | "verbosity"
  | "terse"
  | "normal"
  | "detailed"
  | "load"
  | "low"
  | "medium"
  | "high"
  | "speed"
  | "slow"
  | "middling"
  | "fast"
  | "earlier";

export const english: Words = {
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

/** `{name}` filled in. */
export const fill = (text: string, slots: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => slots[name] ?? "");
