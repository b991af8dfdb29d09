/** What a person may answer, what is sent for it, and the answers they have given once for all. */
import type { AwaitingConfirmation } from "../protocol/types.ts";
import { isGrave } from "./question-words.ts";

export type AnswerInput =
  | { readonly kind: "no" | "confirm" | "more" }
  /** `unsure`: it may not have come by hand, so that it takes a second step whatever is asked. */
  | { readonly kind: "yes"; readonly unsure?: boolean }
  /** A person's own words, or the number of a choice. */
  | { readonly kind: "text"; readonly text: string };

/** What is to be sent; whoever does adds subscription and time, and reports back with `sent`. */
export type Outgoing =
  | {
      readonly do: "confirm";
      readonly reply_token: string;
      readonly source: string;
      readonly decision: "accept" | "reject";
      readonly decided_by?: string;
    }
  | {
      readonly do: "answer";
      readonly reply_token: string;
      readonly source: string;
      readonly response: string | boolean | number;
    }
  | { readonly do: "more_time"; readonly reply_token: string; readonly source: string };

/** A person's standing answer, for one agent and one action, word for word (CON-75). */
export interface AutoAnswer {
  readonly agent_id: string;
  readonly action: string;
  readonly decision: "accept" | "reject";
}

/** The rule that answers this. What is grave, and what cannot be allowed, is never allowed by a rule. */
export function ruleFor(event: AwaitingConfirmation, rules: readonly AutoAnswer[]): AutoAnswer | undefined {
  const rule = rules.find(
    ({ agent_id, action }) => agent_id === event.producer.agent_id && action === event.action,
  );
  const allows = rule?.decision === "accept";
  const mayNot = isGrave(event) || event.allowed_replies?.includes("accept") === false;
  return allows && mayNot ? undefined : rule;
}
