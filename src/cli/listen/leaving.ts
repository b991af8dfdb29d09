/** What it means for an open question that the person leaves now. */

import type { AgentEvent, AwaitingClarification, AwaitingConfirmation } from "../../protocol/index.ts";
import type { Announcer } from "../../subscriber/announcer.ts";
import { isGrave, textOf } from "../../subscriber/announcer.ts";
import { oneLine } from "./plain.ts";

/** One sentence each. `sent`: an answer to it is on its way. */
export function leavingWords(announcer: Announcer, sent: boolean): string[] {
  const { phrases, question, questions } = announcer;
  if (!question) return [];
  if (sent) return [phrases.text("not_sure_taken")];
  const action = oneLine(wordsOf(question));
  const runs = phrases.say("leaving", { action: phrases.content(action, undefined) });
  return [
    textOf({ runs }),
    question.type === "aaep:agent.awaiting.confirmation"
      ? confirmationEnds(question as AwaitingConfirmation)
      : clarificationEnds(question as AwaitingClarification),
    ...(questions > 1 ? [phrases.text("questions_waiting", { count: questions - 1 })] : []),
  ];
}

const wordsOf = (question: AgentEvent): string => {
  const { action, question: asked, summary_normal } = question as Record<string, unknown>;
  return String(action ?? asked ?? summary_normal ?? "?");
};

function confirmationEnds(question: AwaitingConfirmation): string {
  if (question.default_decision === "accept" && !isGrave(question))
    return "Careful: this agent does it if nobody answers. If you do not want that, listen again and say no.";
  return "You have allowed nothing. It will not be done, unless someone else who listens allows it.";
}

function clarificationEnds({ default_response, choices }: AwaitingClarification): string {
  if (default_response === undefined) return "The agent goes on without your answer.";
  const label = choices?.find(({ value }) => value === default_response)?.label ?? String(default_response);
  return `Unless someone else answers, the agent assumes: ${oneLine(label)}.`;
}
