/** The agent that foreign clients talk to: it speaks, asks before it moves money, and says how it went. */

import { createProducer, type Producer } from "../../src/producer/producer.ts";
import { type ServeOptions, type Serving, serve } from "../../src/server/index.ts";

export interface Teller {
  readonly agent: Producer;
  readonly served: Serving;
  /** One session: some words, one question, one outcome. Resolves with whether the money moved. */
  converse(): Promise<{ ran: boolean; moved: unknown[] }>;
  close(): Promise<void>;
}

export async function openTeller(options: ServeOptions = {}): Promise<Teller> {
  const agent = createProducer({ agent_id: "com.example.teller", agent_name: "Teller", warn: () => {} });
  const served = await serve(agent, { port: 0, tokenFile: false, log: () => {}, ...options });
  return {
    agent,
    served,
    close: () => served.close(),
    async converse() {
      const moved: unknown[] = [];
      const outcome = await agent.run({ summary: "Saving for you." }, async (session) => {
        await session.say("Ẹ kú àárọ̀. Your balance is $4,200.50. ");
        return session.tool(
          {
            tool: "transfer_funds",
            summary: "Transferring 500 dollars to savings.",
            risk: "high",
            irreversible: true,
            params: { amount: 500, to: "savings" },
            action: "Transfer 500 dollars to savings.",
            consequence: "The money moves at once.",
          },
          (params) => void moved.push(params),
        );
      });
      return { ran: outcome.ran, moved };
    },
  };
}

export const REQUEST = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "somebody-elses-client",
  capabilities: { supports_confirmation_reply: true, supports_clarification_reply: true },
};

export const replyTo = (question: { reply_token: string }, subscription_id: string, decision = "accept") => ({
  type: "confirmation.reply",
  reply_token: question.reply_token,
  decision,
  subscription_id,
  timestamp: new Date().toISOString(),
});
