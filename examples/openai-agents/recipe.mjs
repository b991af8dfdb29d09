// OpenAI Agents: tools run through the gate, and the text goes to all listeners.
import { Agent, Runner, tool } from "@openai/agents";

const parameters = {
  type: "object",
  properties: { amount: { type: "number" }, to: { type: "string" } },
  required: ["amount", "to"],
  additionalProperties: false,
};

const transferTool = (session, bank) =>
  tool({
    name: "transfer",
    description: "Moves money. A person is asked first.",
    parameters,
    execute: async (params) => {
      const sent = await session.tool(
        {
          tool: "transfer",
          summary: "Transferring.",
          risk: "high",
          irreversible: true,
          params,
          action: (p) => `Transfer ${p.amount} dollars to ${p.to}.`,
          consequence: "The money moves at once.",
        },
        (p) => bank.transfer(p),
      );
      return sent.ran ? "The transfer is done." : sent.forModel;
    },
  });

export const help = (agent, bank, model, request) =>
  agent.run({ summary: "Looking after your money.", request_text: request }, async (session) => {
    const helper = new Agent({ name: "Bank", model, tools: [transferTool(session, bank)] });
    const answer = await new Runner({ tracingDisabled: true }).run(helper, request, { stream: true });
    for await (const token of answer.toTextStream()) await session.say(token);
    await answer.completed;
  });
