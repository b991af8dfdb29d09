/**
 * Answers "what is happening?": the status of a session in a few sentences (CON-26). Built from the log as it grows, so
 * that everyone who joins or asks gets the same summary, in their language if there are phrases for it.
 */
import { countWords } from "../delivery/drain.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { isTerminal, type SessionTrack } from "../delivery/log-window.ts";
import type { GapReason, NoticeWords } from "../delivery/notices.ts";
import type { Shape } from "../delivery/shape.ts";
import type {
  AgentEvent,
  OutputStreaming,
  ProgressUpdated,
  ToolCompleted,
  ToolInvoked,
} from "../protocol/types.ts";
import { matchLanguage, pickVariant } from "../text/language.ts";

/** The sentences of a summary, in one language. */
export interface SummaryPhrases {
  /** By state; other states are named by `otherState`. */
  readonly status: Readonly<Record<string, string>>;
  otherState(state: string): string;
  /** A running tool, by its summary. */
  tool(summary: string): string;
  /** The last progress, by its summary. */
  progress(summary: string): string;
  /** How many words the agent has said. */
  said(words: number): string;
  gap(reason: GapReason): string;
}

export const ENGLISH_SUMMARY: SummaryPhrases = {
  status: {
    idle: "The agent has started.",
    thinking: "The agent is thinking.",
    calling_tool: "The agent is working on something.",
    writing_output: "The agent is answering.",
    awaiting_input: "The agent is waiting for an answer.",
    deciding: "The agent is deciding what to do.",
    handing_off: "The agent is passing this on.",
    interrupted: "The agent was interrupted. It may come back and go on.",
  },
  otherState: (state) => `The agent is at this stage: ${state.replaceAll("_", " ")}.`,
  tool: (summary) => `Under way: ${summary}`,
  progress: (summary) => `Last progress: ${summary}`,
  said: (words) =>
    words === 1 ? "It has said one word so far." : `It has said about ${words} words so far.`,
  gap: (reason) =>
    reason === "lagging"
      ? "Some of what the agent said was skipped, because there was more than could be delivered."
      : "Some of what the agent said is missing, because the place to go on from is no longer known.",
};

interface SessionActivity {
  readonly tools: Map<string, ToolInvoked>;
  progress: ProgressUpdated | undefined;
  words: number;
  /** Whether the text so far ends inside a word. */
  inWord: boolean;
}

export class SessionSummaries implements NoticeWords {
  readonly #sessions = new Map<string, SessionActivity>();
  readonly #phrases: Readonly<Record<string, SummaryPhrases>>;

  /** Phrases by language tag; the first is the fallback. */
  constructor(phrases: Readonly<Record<string, SummaryPhrases>> = { en: ENGLISH_SUMMARY }) {
    this.#phrases = phrases;
  }

  summary(track: SessionTrack, shape: Shape): { text: string; language: string } {
    const { phrases, language } = this.#in(shape);
    const sentences = [phrases.status[track.state] ?? phrases.otherState(track.state)];
    const activity = this.#sessions.get(track.session_id);
    if (!activity) return { text: sentences[0]!, language };
    const wordsOf = (event: AgentEvent): string | undefined => {
      const words = pickVariant(event, "summary_normal", [language]);
      // One language per utterance: what exists only in another is left out.
      return words && matchLanguage([language], [words.language ?? language]) ? words.text : undefined;
    };
    for (const tool of [...activity.tools.values()].slice(-3)) {
      const words = wordsOf(tool);
      if (words) sentences.push(phrases.tool(words));
    }
    const progress = activity.progress && wordsOf(activity.progress);
    if (progress) sentences.push(phrases.progress(progress));
    if (activity.words > 0) sentences.push(phrases.said(activity.words));
    return { text: sentences.join(" "), language };
  }

  gap(reason: GapReason, shape: Shape): string {
    return this.#in(shape).phrases.gap(reason);
  }

  #in({ languages }: Shape): { phrases: SummaryPhrases; language: string } {
    const tags = Object.keys(this.#phrases);
    const language = matchLanguage(languages, tags)?.available ?? tags[0]!;
    return { phrases: this.#phrases[language]!, language };
  }

  /** Takes in the next log entry. */
  read({ event }: LogEntry): void {
    const { session_id, type } = event;
    if (isTerminal(type)) {
      this.#sessions.delete(session_id);
      return;
    }
    let activity = this.#sessions.get(session_id);
    if (!activity) {
      activity = { tools: new Map(), progress: undefined, words: 0, inWord: false };
      this.#sessions.set(session_id, activity);
    }
    if (type === "aaep:agent.tool.invoked") {
      const { tool, tool_call_id } = event as ToolInvoked;
      activity.tools.set(tool_call_id ?? tool, event as ToolInvoked);
      activity.progress = undefined;
    } else if (type === "aaep:agent.tool.completed") {
      const { tool, tool_call_id } = event as ToolCompleted;
      activity.tools.delete(tool_call_id ?? tool);
    } else if (type === "aaep:agent.progress.updated") {
      // A countdown is not progress.
      if (event.extensions?.["earshot"]?.["deadline"] === undefined)
        activity.progress = event as ProgressUpdated;
    } else if (type === "aaep:agent.output.streaming") count(activity, event as OutputStreaming);
  }
}

function count(activity: SessionActivity, { chunk, complete }: OutputStreaming): void {
  if (chunk !== "") {
    const goesOn = activity.inWord && !/^\s/.test(chunk);
    activity.words += Math.max(0, countWords(chunk) - (goesOn ? 1 : 0));
    activity.inWord = !/\s$/.test(chunk);
  }
  if (complete) activity.inWord = false;
}
