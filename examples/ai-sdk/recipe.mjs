// AI SDK: tools run through the gate, and the text goes to all listeners.
import { jsonSchema, stepCountIs, streamText, tool } from "ai";

const inputSchema = jsonSchema({
  type: "object",
  properties: { amount: { type: "number" }, to: { type: "string" } },
  required: ["amount", "to"],
});

const transferTool = (session, bank) =>
  tool({
    description: "Moves money. A person is asked first.",
    inputSchema,
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
    const tools = { transfer: transferTool(session, bank) };
    const answer = streamText({ model, prompt: request, tools, stopWhen: stepCountIs(5) });
    for await (const token of answer.textStream) await session.say(token);
  });
