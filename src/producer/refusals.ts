/**
 * What is said when something was not done. `summary` is for the person who listens, one plain sentence with no jargon;
 * `for_model` goes back to the language model as the tool's result, so that it neither claims success nor asks again.
 */
export type RefusalOutcome = "rejected" | "timed_out" | "withdrawn" | "disconnected" | "nobody_to_ask";

export interface Refusal {
  readonly ran: false;
  readonly outcome: RefusalOutcome;
  readonly summary: string;
  readonly for_model: string;
}

const SENTENCES: Record<RefusalOutcome, string> = {
  rejected: "You said no, so it was not done.",
  timed_out: "There was no answer in time, so it was not done.",
  withdrawn: "The question was taken back, so it was not done.",
  disconnected: "The connection to you was lost before you answered, so it was not done.",
  nobody_to_ask: "Nobody was connected who could be asked, so it was not done.",
};

const ADVICE: Record<RefusalOutcome, string> = {
  rejected: "The person declined. Do not try this again unless they ask for it. Tell them it was not done, and offer an alternative if there is one.",
  timed_out: "The person did not answer in time. This is not a refusal. Do not try again on your own; say that it is waiting for them and ask whether to try once more.",
  withdrawn: "The question was withdrawn before it was answered. Nothing was done. Ask again only with current facts.",
  disconnected: "The person's connection was lost before they answered. Nothing was done. Do not try again until they are back and ask for it.",
  nobody_to_ask: "No person is connected who could approve this. Nothing was done. Do not try again; say what is needed and stop here.",
};

export const refusalOf = (outcome: RefusalOutcome, tool: string, reason?: string): Refusal => ({
  ran: false,
  outcome,
  summary: reason ?? SENTENCES[outcome],
  for_model: `The tool ${tool} did not run (${outcome}). ${ADVICE[outcome]}`,
});

/** Sentences about the question itself, as listeners hear them. */
export const SETTLED: Record<RefusalOutcome | "accepted" | "answered", string> = {
  accepted: "The answer was yes.",
  answered: "The question was answered.",
  rejected: "The answer was no. It will not be done.",
  timed_out: "There was no answer in time. It will not be done.",
  withdrawn: "The question was taken back. There is nothing to answer any more.",
  disconnected: "Everyone who could answer is gone. It will not be done.",
  nobody_to_ask: "There is nobody here who could be asked. It will not be done.",
};

export const NOT_ALLOWED_TO_CHANGE = "You asked for a change that cannot be made here, so it was not done.";
export const SECOND_CHECK_FAILED = "The second check was not passed, so it was not done.";
export const GOES_ON_WITHOUT_ANSWER = "There was no answer, so the agent goes on with its own assumption.";
