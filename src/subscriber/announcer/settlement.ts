/** Which questions an event closes, and how (CON-13): the producer says so, the session ends, or, with only one open, it goes on. */
import type { QuestionOutcome } from "../../protocol/extension.ts";
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
