// The agent behind the chat: it talks, and it moves money, but only after a person approves it.
import { createProducer } from "earshot";

export const bank = { current: 2100, savings: 0 };
export const agent = createProducer({ agent_id: "com.example.teller", agent_name: "Teller", warn: () => {} });

/** Answers what the person wrote, in a session of its own. */
export function answer(text) {
  const amount = Number(/\d+/.exec(text)?.[0] ?? 0);
  return agent.run(
    { summary: amount > 0 ? "Moving money to savings." : "Looking at your accounts." },
    (session) => (amount > 0 ? transfer(session, amount) : balance(session)),
  );
}

async function balance(session) {
  await session.say(
    `You have two accounts.\n\n| Account | Dollars |\n|---|---|\n| Current | ${bank.current} |\n| Savings | ${bank.savings} |\n\nWrite an amount to move it to savings.`,
  );
}

async function transfer(session, amount) {
  const sent = await session.tool(
    {
      tool: "transfer",
      summary: `Transferring ${amount} dollars.`,
      irreversible: true,
      risk: "high",
      params: { amount, to: "savings" },
      action: (params) => `Transfer ${params.amount} dollars to ${params.to}.`,
      consequence: "The money moves at once and cannot be called back.",
    },
    (params) => {
      bank.current -= params.amount;
      bank.savings += params.amount;
    },
  );
  await session.say(sent.ran ? `Your savings are now ${bank.savings} dollars.` : sent.summary);
}
