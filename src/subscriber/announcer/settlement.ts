/** Which questions an event closes, and how (CON-13): the producer says so, the session ends, or, with only one open, it goes on. */
import type { Deadline, QuestionOutcome } from "../../protocol/extension.ts";
import type { AgentEvent } from "../../protocol/types.ts";

export const TERMINAL = /^aaep:agent\.session\.(?:completed|errored|cancelled)$/;

export interface Settlement {
  readonly token: string;
  readonly outcome: QuestionOutcome | "ended" | "closed";
}

const OUTCOMES: ReadonlySet<unknown> = new Set<QuestionOutcome>([
  "accepted",
  "rejected",
  "answered",
  "timed_out",
  "withdrawn",
  "disconnected",
]);

/** A word on a question's time, which the question's own warnings stand for. News of another kind is never taken for one. */
export function deadlineIn(event: AgentEvent): Deadline | undefined {
  if (!/^aaep:agent\.(?:state\.changed|progress\.updated)$/.test(event.type)) return undefined;
  const deadline = event.extensions?.["earshot"]?.["deadline"] as Partial<Deadline> | undefined;
  const whole = typeof deadline?.reply_token === "string" && typeof deadline.seconds_left === "number";
  return whole ? (deadline as Deadline) : undefined;
}

/** `open`: the tokens of this session's open questions. */
export function settlementsOf(event: AgentEvent, open: readonly string[]): Settlement[] {
  const resolves = event.extensions?.["earshot"]?.["resolves"] as
    | { reply_token?: unknown; outcome?: unknown }
    | undefined;
  if (typeof resolves?.reply_token === "string") {
    const outcome = OUTCOMES.has(resolves.outcome) ? (resolves.outcome as QuestionOutcome) : "closed";
    return [{ token: resolves.reply_token, outcome }];
  }
  if (TERMINAL.test(event.type)) return open.map((token) => ({ token, outcome: "ended" }));
  if (event.type !== "aaep:agent.state.changed" || open.length !== 1) return [];
  const { from_state, to_state } = event as { from_state?: unknown; to_state?: unknown };
  const goesOn = from_state === "awaiting_input" && to_state !== "awaiting_input";
  return goesOn ? [{ token: open[0]!, outcome: "closed" }] : [];
}
