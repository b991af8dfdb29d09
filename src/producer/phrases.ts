/**
 * Every sentence the library speaks by itself, in one place. English is built in; give `phrases` for other languages
 * and each listener hears its own. Where there are none for a session's language, these are spoken, and marked, as
 * English: a German voice must not read English words.
 */
import { ENGLISH_SUMMARY, type SummaryPhrases } from "../hub/session-summary.ts";
import { INTERRUPTIONS, REFUSALS, SETTLED, SETTLED_LENIENTLY, UNANSWERED } from "./refusals.ts";
import type { ByVerbosity } from "./words.ts";

type Words = string | ByVerbosity;

export interface Phrases extends SummaryPhrases {
  /** What the agent does now, by state; other states are said as they are called. */
  readonly states: Readonly<Record<string, string>>;
  readonly done: string;
  readonly stopped: string;
  readonly stopped_by_person: string;
  readonly failed: string;
  readonly tool_failed: string;
  readonly tool_late: string;
  readonly tool_cut_off: string;
  /** After a tool that cannot be undone broke off: the truth is that nobody knows. */
  readonly perhaps_done: string;
  readonly working: string;
  percent(percent: number): string;
  step(step: number, total: number): string;
  duration(seconds: number): string;
  readonly waiting: string;
  time_left(duration: string): string;
  more_time(duration: string): string;
  readonly refusals: Readonly<Record<keyof typeof REFUSALS, string>>;
  readonly settled: Readonly<Record<keyof typeof SETTLED, Words>>;
  readonly settled_leniently: Readonly<Record<keyof typeof SETTLED_LENIENTLY, Words>>;
  readonly unanswered: Readonly<Record<keyof typeof UNANSWERED, string>>;
  readonly interrupted: Readonly<Record<keyof typeof INTERRUPTIONS, string>>;
  /** What was begun and may or may not have been done, in the words it was asked with. */
  unknown(action: string): string;
}

const unit = (count: number, name: string) => `${count} ${name}${count === 1 ? "" : "s"}`;

/** "2 minutes", "45 seconds", "1 minute and 30 seconds": how long, as one would say it. */
function spokenDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60);
  const parts =
    hours >= 2
      ? [unit(hours, "hour"), unit(minutes % 60, "minute")]
      : minutes >= 10
        ? [unit(minutes, "minute")]
        : [unit(minutes, "minute"), unit(seconds % 60, "second")];
  const said = parts.filter((part) => !part.startsWith("0 "));
  return said.length > 0 ? said.join(" and ") : unit(0, "second");
}

export const ENGLISH: Phrases = {
  ...ENGLISH_SUMMARY,
  states: {
    idle: "Ready.",
    thinking: "Thinking.",
    calling_tool: "Working on it.",
    writing_output: "Answering.",
    awaiting_input: "Waiting for your answer.",
    deciding: "Deciding.",
    handing_off: "Passing this on.",
    interrupted: INTERRUPTIONS.state,
  },
  done: "Done.",
  stopped: "Stopped.",
  stopped_by_person: "Stopped, as you asked.",
  failed: "Something went wrong, so this could not be finished.",
  tool_failed: "It did not work.",
  tool_late: "It took too long.",
  tool_cut_off: "It was cut off, because everything was stopped.",
  perhaps_done: "It is not known whether it was done.",
  working: "Working.",
  percent: (percent) => `${percent} percent.`,
  step: (step, total) => `Step ${step} of ${total}.`,
  duration: spokenDuration,
  waiting: "Waiting for an answer.",
  time_left: (duration) => `${duration} left to answer.`,
  more_time: (duration) => `There is more time: ${duration} left to answer.`,
  refusals: REFUSALS,
  settled: SETTLED,
  settled_leniently: SETTLED_LENIENTLY,
  unanswered: UNANSWERED,
  interrupted: INTERRUPTIONS,
  unknown: (action) => `It is not known whether this was done: ${action} Check before trying again.`,
};
