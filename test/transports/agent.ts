/** A bank's agent on stdin and stdout, as its author would write it: it prints where it should not, and nobody on the line notices. */

import { createProducer } from "../../src/producer/producer.ts";
import { serveStdio } from "../../src/server/stdio/stdio.ts";

const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank" });
const serving = serveStdio(agent);
console.log("A library says hello where the protocol is spoken.");
process.stdout.write("Not even a line\n");

// Nobody is asked before somebody is there to hear it.
while (agent.subscriptions === 0) await new Promise((resolve) => setTimeout(resolve, 2));
const moved: unknown[] = [];
await agent.run({ summary: "Moving money." }, async (session) => {
  await session.tool({ tool: "fetch_balance", summary: "Checking your balance." }, () => 1_200);
  const sent = await session.tool(
    {
      tool: "transfer_funds",
      summary: "Transferring 500 dollars to savings.",
      risk: "high",
      irreversible: true,
      params: { amount: 500, to: "savings" },
      action: (p) => `Transfer ${p.amount} dollars to ${p.to}.`,
      consequence: "The money moves at once and cannot be called back.",
    },
    (p) => void moved.push(p),
  );
  console.log("the tool has", sent.ran ? "run" : `not run: ${sent.outcome}`);
  await session.say(sent.ran ? "Done. Your savings have grown." : "Nothing was moved.");
});
console.error(`moved ${moved.length}`);
if (process.env["STAY"]) await serving.closed;
else await serving.close();
