/**
 * What is said when something was not done, and how a question ended. Every sentence here is heard by a person who may
 * see nothing: one plain statement, no jargon, true for whoever hears it, whichever device the answer came from.
 * `for_model` alone goes to the language model, as the tool's result, so that it neither claims success nor tries again.
 */
import type { QuestionOutcome } from "../protocol/extension.ts";

/** How asking can end without a yes. */
export type AskRefusal = "rejected" | "timed_out" | "withdrawn" | "disconnected" | "nobody_to_ask";
/** …or it was begun before the agent was interrupted: then it is not begun again, whether or not its end is known. */
export type RefusalOutcome = AskRefusal | "unknown_outcome" | "already_done";

export interface Refusal {
  readonly ran: false;
  readonly outcome: RefusalOutcome;
  /** For the person. */
  readonly summary: string;
  /** For the model. */
  readonly for_model: string;
}

/** Why a yes was not enough. */
export type RefusalReason = "cannot_change" | "too_many_changes" | "second_check";

/** Said by the agent afterwards, to the person whose answer decided. */
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

/** Heard by everyone who heard the question, the moment it ends. */
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

/** Said where the process stopped and was started again: what is true, and nothing more. */
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

/** As above, where silence was announced to mean yes: only ever for what is harmless and can be undone. */
export const SETTLED_LENIENTLY = {
  timed_out: "Nobody answered in time. It goes ahead; it can be undone.",
  disconnected: "Everyone who could answer has left. It goes ahead; it can be undone.",
  nobody_to_ask: "Nobody is here who could be asked. It goes ahead; it can be undone.",
} as const;

/** As above, for a question that wants to know something. */
export const UNANSWERED = {
  timed_out: "Nobody answered in time.",
  disconnected: "Everyone who could answer has left.",
  nobody_to_ask: "Nobody is here who could be asked.",
  assumes: "The agent goes on with its own assumption.",
  goes_on: "The agent goes on without an answer.",
} as const;

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
  for_model: `The tool ${tool} did not run (${reason ?? outcome}). ${ADVICE[reason ?? outcome]}`,
});

/** The outcomes a settled question can be refused with. */
export const isRefusal = (outcome: QuestionOutcome | "nobody_to_ask"): outcome is AskRefusal =>
  outcome !== "accepted" && outcome !== "answered";
