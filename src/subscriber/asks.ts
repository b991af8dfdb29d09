/** A question an agent asks, with the ways to answer it: the token goes back exactly as it came (CNF-09). */
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";

export interface ConfirmationAsk {
  readonly event: AwaitingConfirmation;
  /**
   * True if the producer took it; undefined where that cannot be known. While the agent restarts it waits, or is sent
   * again for as long as the question was to stay open.
   */
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
/** `seconds`: how long it is worth trying to get the answer through. */
type Reply = (fields: ReplyFields, seconds: number) => Promise<boolean | undefined>;

export function confirmationAsk(event: AwaitingConfirmation, reply: Reply): ConfirmationAsk {
  const { reply_token, timeout_seconds } = event;
  const decide = (decision: "accept" | "reject") =>
    reply({ type: "confirmation.reply", reply_token, decision }, timeout_seconds);
  return { event, accept: () => decide("accept"), reject: () => decide("reject") };
}

export function clarificationAsk(event: AwaitingClarification, reply: Reply): ClarificationAsk {
  const { reply_token, timeout_seconds } = event;
  const answer = (response: string | boolean | number) =>
    reply({ type: "clarification.reply", reply_token, response }, timeout_seconds);
  return { event, answer };
}
