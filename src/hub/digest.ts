/**
 * "What is happening?": where a session stands and what was missed, in a few sentences (CON-26). Read from the log as
 * it grows, so that a listener who joins or asks hears the same story, in its own language where we have the words.
 */
import { countWords } from "../delivery/budget.ts";
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

/** The sentences a digest is made of, in one language. */
export interface DigestPhrases {
  /** By state; other states are named by `otherState`. */
  readonly standing: Readonly<Record<string, string>>;
  otherState(state: string): string;
  /** A tool that runs, in its own words. */
  tool(summary: string): string;
  /** How far it is, in its own words. */
  progress(summary: string): string;
  /** How many words the agent has said. */
  said(words: number): string;
  gap(reason: GapReason): string;
}

export const ENGLISH_DIGEST: DigestPhrases = {
  standing: {
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

interface Story {
  readonly tools: Map<string, ToolInvoked>;
  progress: ProgressUpdated | undefined;
  words: number;
  /** Whether the text so far ends inside a word. */
  inWord: boolean;
}

export class Digest implements NoticeWords {
  readonly #stories = new Map<string, Story>();
  readonly #phrases: Readonly<Record<string, DigestPhrases>>;

  /** Phrases by language tag; the first is spoken where none fits. */
  constructor(phrases: Readonly<Record<string, DigestPhrases>> = { en: ENGLISH_DIGEST }) {
    this.#phrases = phrases;
  }

  feed(entries: readonly LogEntry[]): void {
    for (const { event } of entries) this.#read(event);
  }

  summary(track: SessionTrack, shape: Shape): { text: string; language: string } {
    const { phrases, language } = this.#in(shape);
    const sentences = [phrases.standing[track.state] ?? phrases.otherState(track.state)];
    const story = this.#stories.get(track.session_id);
    if (!story) return { text: sentences[0]!, language };
    const wordsOf = (event: AgentEvent): string | undefined => {
      const words = pickVariant(event, "summary_normal", [language]);
      // A voice speaks one language at a time: what there is only in another stays out.
      return words && matchLanguage([language], [words.language ?? language]) ? words.text : undefined;
    };
    for (const tool of [...story.tools.values()].slice(-3)) {
      const words = wordsOf(tool);
      if (words) sentences.push(phrases.tool(words));
    }
    const progress = story.progress && wordsOf(story.progress);
    if (progress) sentences.push(phrases.progress(progress));
    if (story.words > 0) sentences.push(phrases.said(story.words));
    return { text: sentences.join(" "), language };
  }

  gap(reason: GapReason, shape: Shape): string {
    return this.#in(shape).phrases.gap(reason);
  }

  #in({ languages }: Shape): { phrases: DigestPhrases; language: string } {
    const tags = Object.keys(this.#phrases);
    const language = matchLanguage(languages, tags)?.available ?? tags[0]!;
    return { phrases: this.#phrases[language]!, language };
  }

  #read(event: AgentEvent): void {
    const { session_id, type } = event;
    if (isTerminal(type)) {
      this.#stories.delete(session_id);
      return;
    }
    let story = this.#stories.get(session_id);
    if (!story) {
      story = { tools: new Map(), progress: undefined, words: 0, inWord: false };
      this.#stories.set(session_id, story);
    }
    if (type === "aaep:agent.tool.invoked") {
      const { tool, tool_call_id } = event as ToolInvoked;
      story.tools.set(tool_call_id ?? tool, event as ToolInvoked);
      story.progress = undefined;
    } else if (type === "aaep:agent.tool.completed") {
      const { tool, tool_call_id } = event as ToolCompleted;
      story.tools.delete(tool_call_id ?? tool);
    } else if (type === "aaep:agent.progress.updated") {
      // A countdown is not progress.
      if (event.extensions?.["earshot"]?.["deadline"] === undefined)
        story.progress = event as ProgressUpdated;
    } else if (type === "aaep:agent.output.streaming") count(story, event as OutputStreaming);
  }
}

function count(story: Story, { chunk, complete }: OutputStreaming): void {
  if (chunk !== "") {
    const goesOn = story.inWord && !/^\s/.test(chunk);
    story.words += Math.max(0, countWords(chunk) - (goesOn ? 1 : 0));
    story.inWord = !/\s$/.test(chunk);
  }
  if (complete) story.inWord = false;
}
