/** A session as the process before this one left it, read from the log and the facts beside it. */

import type { LogStore } from "../hub/store.ts";
import { factsOf, type IntentFact, type QuestionFact, type SessionFact } from "../hub/store.ts";
import { EXTENSION_PREFIX, type Resolves } from "../protocol/extension.ts";
import { type Lifecycle, type Resolution, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";

/** What a session of ours checks itself by: its ids come from a generator, and it knows every answer. */
export const LIFE = { eventIds: "trusted", replies: "seen" } as const;

export interface Past {
  readonly session_id: string;
  readonly fact: SessionFact;
  readonly life: Lifecycle;
  /** The time of its first and last event. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly tools: number;
  readonly questions: readonly QuestionFact[];
  readonly intents: readonly IntentFact[];
  /** Outputs that were never completed, as they were last heard of. */
  readonly outputs: readonly OutputStreaming[];
}

/** What each outcome of a question means to a session's lifecycle. */
export const NOTED: Readonly<Record<Resolves["outcome"], Resolution["outcome"]>> = {
  accepted: "accept",
  rejected: "reject",
  timed_out: "reject",
  disconnected: "reject",
  withdrawn: "withdrawn",
  answered: "answered",
};

/** Every session that was open when the process stopped. */
export function pastOf(store: LogStore, eventsOf: (session_id: string) => readonly AgentEvent[]): Past[] {
  const questions = [...factsOf(store, "question").values()];
  const intents = [...factsOf(store, "intent").values()];
  return [...factsOf(store, "session")].map(([session_id, fact]) => {
    const mine = (one: { readonly session_id: string }) => one.session_id === session_id;
    return {
      session_id,
      fact,
      questions: questions.filter(mine),
      intents: intents.filter(mine),
      ...told(eventsOf(session_id)),
    };
  });
}

function told(events: readonly AgentEvent[]): Pick<Past, "life" | "first" | "last" | "tools" | "outputs"> {
  const whole = events[0]?.type === "aaep:agent.session.started";
  let life = startLifecycle(whole ? LIFE : { ...LIFE, joined: "mid" });
  let tools = 0;
  const outputs = new Map<string, OutputStreaming>();
  for (const event of events) {
    const resolves = event.extensions?.[EXTENSION_PREFIX]?.["resolves"] as Resolves | undefined;
    if (resolves) {
      const { reply_token, outcome } = resolves;
      life = stepLifecycle(life, { type: "resolution", reply_token, outcome: NOTED[outcome] }).state;
    }
    if (event.type === "aaep:agent.tool.completed") tools++;
    const { output_id = "", complete } = event as OutputStreaming;
    // Of text that is still open only the last chunk counts, and there may be very many.
    if (event.type === "aaep:agent.output.streaming" && !complete) {
      outputs.set(output_id, event as OutputStreaming);
      continue;
    }
    if (event.type === "aaep:agent.output.streaming") outputs.delete(output_id);
    life = stepLifecycle(life, event).state;
  }
  for (const chunk of outputs.values()) life = stepLifecycle(life, chunk).state;
  const { timestamp: first } = events[0] ?? {};
  const { timestamp: last } = events.at(-1) ?? {};
  return { life, first, last, tools, outputs: [...outputs.values()] };
}
