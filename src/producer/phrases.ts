/**
 * Every sentence the library itself says, in one place. English is built in; pass `phrases` for other languages, and
 * each listener gets their own. Where a session's language has no phrases, the English ones are sent and marked as
 * English, so that a German voice does not read English words. Each sentence is heard by a person who may see nothing:
 * one plain statement, without jargon, true for everyone who hears it.
 */
import { ENGLISH_SUMMARY, type SummaryPhrases } from "../hub/session-summary.ts";
import type { QuestionOutcome } from "../protocol/extension.ts";
import type { ByVerbosity } from "./envelope.ts";

/** How asking can end without an approval. */
export type AskRefusal = "rejected" | "timed_out" | "withdrawn" | "disconnected" | "nobody_to_ask";
/** … or it was started before a restart: then it is not started again, whether or not its outcome is known. */
export type RefusalOutcome = AskRefusal | "unknown_outcome" | "already_done";

/** A tool did not run, and why: for the person and for the language model. */
export interface Refusal {
  readonly ran: false;
  readonly outcome: RefusalOutcome;
  /** A sentence for the person. */
  readonly summary: string;
  /** Goes to the language model as the tool's result, so that it neither claims success nor tries again. */
  readonly forModel: string;
}

/** Why an approval was not enough. */
export type RefusalReason = "cannot_change" | "too_many_changes" | "second_check";

/** Why something was not done, for the person who decided. */
export const REFUSALS: Readonly<Record<RefusalOutcome | RefusalReason, string>> = {
  rejected: "The answer was no, so it was not done.",
  timed_out: "There was no answer in time, so it was not done.",
  withdrawn: "The question was taken back, so it was not done.",
  disconnected: "The connection was lost before there was an answer, so it was not done.",
  nobody_to_ask: "Nobody was connected who could be asked, so it was not done.",
  cannot_change: "The change that was asked for cannot be made here, so it was not done.",
  too_many_changes: "It was changed too many times, so it was not done.",
  second_check: "The second check was not passed, so it was not done.",
  unknown_outcome:
    "It is not known whether this was done, because the agent was interrupted. Check before trying again.",
  already_done: "This was already done before the agent was interrupted. It was not done again.",
};

/** How a question ended, for everyone who received it. */
export const SETTLED = {
  accepted: { terse: "The answer was yes.", normal: "The answer was yes. It goes ahead now." },
  accepted_with_check: "The answer was yes. One more check comes first.",
  agreed: "The answer was yes.",
  rejected: "The answer was no. It will not be done.",
  timed_out: "Nobody answered in time. It will not be done.",
  withdrawn: "The question was taken back. There is nothing to answer any more.",
  disconnected: "Everyone who could answer has left. It will not be done.",
  nobody_to_ask: "Nobody is here who could be asked. It will not be done.",
  changed: "A change was asked for. The question comes again, with the change.",
  cannot_change: "A change was asked for that cannot be made here. It will not be done.",
  answered: "The question was answered.",
} as const;

/** After a restart of the process. */
export const INTERRUPTIONS = {
  state: "The agent was interrupted. It may come back and go on.",
  back: "The agent is back and goes on.",
  cut_off: "It was cut off, because the agent was interrupted.",
  accepted: "The answer was yes. The agent was interrupted: it goes ahead if the agent comes back in time.",
  changed:
    "A change was asked for. The agent was interrupted: the question comes again if the agent comes back.",
  expired: "The agent did not come back in time. It was not done.",
  unknown: "It is not known whether this was done. Check before trying again.",
  closed: "The agent stopped before it finished.",
  hint: "Nothing more will be done here. Ask the agent again if you still want this.",
} as const;

/** As SETTLED, where silence means yes: only for what is harmless and can be undone. */
export const SETTLED_LENIENTLY = {
  timed_out: "Nobody answered in time. It goes ahead; it can be undone.",
  disconnected: "Everyone who could answer has left. It goes ahead; it can be undone.",
  nobody_to_ask: "Nobody is here who could be asked. It goes ahead; it can be undone.",
} as const;

/** As SETTLED, for a clarification. */
export const UNANSWERED = {
  timed_out: "Nobody answered in time.",
  disconnected: "Everyone who could answer has left.",
  nobody_to_ask: "Nobody is here who could be asked.",
  assumes: "The agent goes on with its own assumption.",
  goes_on: "The agent goes on without an answer.",
} as const;

/** Advice to the language model. */
const ADVICE: Readonly<Record<RefusalOutcome | RefusalReason, string>> = {
  rejected:
    "The person declined. Do not try this again unless they ask for it. Tell them it was not done, and offer an alternative if there is one.",
  timed_out:
    "The person did not answer in time. This is not a refusal. Do not try again on your own; say that it is waiting for them and ask whether to try once more.",
  withdrawn: "This was withdrawn before it ran. Nothing was done. Ask again only with current facts.",
  disconnected:
    "The person's connection was lost before they answered. Nothing was done. Do not try again until they are back and ask for it.",
  nobody_to_ask:
    "No person is connected who could approve this. Nothing was done. Do not try again; say what is needed and stop here.",
  cannot_change:
    "The person wanted it done differently, in a way this tool does not allow. Nothing was done. Ask them what they want instead.",
  too_many_changes:
    "The person kept changing it. Nothing was done. Find out what they want before you call this again.",
  second_check:
    "The person said yes, but the required second approval was not given. Nothing was done. Do not try again on your own.",
  unknown_outcome:
    "It was begun before a restart and nobody knows whether it was finished. Do not call it again. Find out whether it was done, or ask the person to check, and say plainly that it is not known.",
  already_done:
    "It was done before a restart. It was not done again. Go on from there; to do it a second time, ask the person and use another key.",
};

export const refusalOf = (
  outcome: RefusalOutcome,
  tool: string,
  reason?: RefusalReason,
  sentences: Readonly<Record<string, string>> = REFUSALS,
): Refusal => ({
  ran: false,
  outcome,
  summary: sentences[reason ?? outcome] ?? REFUSALS[reason ?? outcome],
  forModel: `The tool ${tool} did not run (${reason ?? outcome}). ${ADVICE[reason ?? outcome]}`,
});

/** Whether a question ended without an approval or answer. */
export const isRefusal = (outcome: QuestionOutcome | "nobody_to_ask"): outcome is AskRefusal =>
  outcome !== "accepted" && outcome !== "answered";

type OneLanguage = string | ByVerbosity;

/** Every sentence the library speaks by itself, in one language. */
export interface Phrases extends SummaryPhrases {
  /** By agent state; other states are announced by their name. */
  readonly states: Readonly<Record<string, string>>;
  readonly done: string;
  readonly stopped: string;
  readonly stoppedByPerson: string;
  readonly failed: string;
  readonly toolFailed: string;
  readonly toolLate: string;
  readonly toolCutOff: string;
  /** After an irreversible tool failed or was stopped: the outcome is not known. */
  readonly perhapsDone: string;
  readonly working: string;
  percent(percent: number): string;
  step(step: number, total: number): string;
  duration(seconds: number): string;
  readonly waiting: string;
  timeLeft(duration: string): string;
  moreTime(duration: string): string;
  readonly refusals: Readonly<Record<keyof typeof REFUSALS, string>>;
  readonly settled: Readonly<Record<keyof typeof SETTLED, OneLanguage>>;
  readonly settledLeniently: Readonly<Record<keyof typeof SETTLED_LENIENTLY, OneLanguage>>;
  readonly unanswered: Readonly<Record<keyof typeof UNANSWERED, string>>;
  readonly interrupted: Readonly<Record<keyof typeof INTERRUPTIONS, string>>;
  /** After a restart: a tool was started and its outcome is not known. `action` is what the person approved. */
  unknown(action: string): string;
}

const unit = (count: number, name: string) => `${count} ${name}${count === 1 ? "" : "s"}`;

/** A duration in words: "2 minutes", "45 seconds", "1 minute and 30 seconds". */
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

/** The library's own sentences in English; a template for `phrases` in other languages. */
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
  stoppedByPerson: "Stopped, as you asked.",
  failed: "Something went wrong, so this could not be finished.",
  toolFailed: "It did not work.",
  toolLate: "It took too long.",
  toolCutOff: "It was cut off, because everything was stopped.",
  perhapsDone: "It is not known whether it was done.",
  working: "Working.",
  percent: (percent) => `${percent} percent.`,
  step: (step, total) => `Step ${step} of ${total}.`,
  duration: spokenDuration,
  waiting: "Waiting for an answer.",
  timeLeft: (duration) => `${duration} left to answer.`,
  moreTime: (duration) => `There is more time: ${duration} left to answer.`,
  refusals: REFUSALS,
  settled: SETTLED,
  settledLeniently: SETTLED_LENIENTLY,
  unanswered: UNANSWERED,
  interrupted: INTERRUPTIONS,
  unknown: (action) => `It is not known whether this was done: ${action} Check before trying again.`,
};
