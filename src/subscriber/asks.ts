/** A question an agent asks, with the ways to answer it: the token goes back exactly as it came (CNF-09). */
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";

export interface ConfirmationAsk {
  readonly event: AwaitingConfirmation;
  /** True if the producer took it; undefined where the transport cannot say. */
  accept(): Promise<boolean | undefined>;
  reject(): Promise<boolean | undefined>;
}
export interface ClarificationAsk {
  readonly event: AwaitingClarification;
  answer(response: string | boolean | number): Promise<boolean | undefined>;
}

/** A reply without what is the same for all: subscription and time. */
export type ReplyFields =
  | {
      readonly type: "confirmation.reply";
      readonly reply_token: string;
      readonly decision: "accept" | "reject";
    }
  | {
      readonly type: "clarification.reply";
      readonly reply_token: string;
      readonly response: string | boolean | number;
    };
type Reply = (fields: ReplyFields) => Promise<boolean | undefined>;

export function confirmationAsk(event: AwaitingConfirmation, reply: Reply): ConfirmationAsk {
  const { reply_token } = event;
  const decide = (decision: "accept" | "reject") =>
    reply({ type: "confirmation.reply", reply_token, decision });
  return { event, accept: () => decide("accept"), reject: () => decide("reject") };
}

export function clarificationAsk(event: AwaitingClarification, reply: Reply): ClarificationAsk {
  const { reply_token } = event;
  return { event, answer: (response) => reply({ type: "clarification.reply", reply_token, response }) };
}
