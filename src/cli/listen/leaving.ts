/** The last words: what it means for open questions that the person leaves now, and that they have left. */
import { type Announcer, type Run, textOf, type Utterance } from "../../subscriber/announcer.ts";
import { oneLine, shorten } from "./plain.ts";
import { saysIn } from "./texts.ts";

export interface Leaving {
  readonly now: number;
  /** In English, in place of the sentence that the agent goes on. */
  readonly farewell: string | undefined;
}

/** To be written line by line, or said as one. */
export function leavingWords(
  announcer: Announcer,
  { now, farewell }: Leaving,
): { readonly lines: readonly string[]; readonly utterance: Utterance } {
  const { phrases } = announcer;
  const { left, language } = saysIn(phrases);
  const parts = [
    announcer.unanswered(now),
    [farewell === undefined ? phrases.content(left, language) : phrases.content(farewell, "en")],
  ].filter((runs) => runs.length > 0);
  return {
    lines: parts.map((runs) => textOf({ runs })),
    utterance: { id: 0, kind: "notice", urgency: "critical", runs: phrases.join(parts), words: 0 },
  };
}

/** An agent's reason, in characters. */
const LONGEST_REASON = 300;

/** Why the agent left, in its words and heard as such: "Allowed." from its mouth is no word of ours. */
export function reasonWords({ phrases }: Announcer, agent: string, message: string): Run[] {
  const summary = phrases.content(shorten(oneLine(message), LONGEST_REASON), "en");
  return phrases.say("unknown", { agent, summary });
}
