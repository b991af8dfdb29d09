// LangGraph: the tool node runs through the gate, and the text goes to all listeners.
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";

const schema = { type: "object", properties: { amount: { type: "number" }, to: { type: "string" } } };

const transferTool = (session, bank) =>
  tool(
    async (params) => {
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
    { name: "transfer", description: "Moves money. A person is asked first.", schema },
  );

export const help = (agent, bank, model, request) =>
  agent.run({ summary: "Looking after your money.", request_text: request }, async (session) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", new ToolNode([transferTool(session, bank)]))
      .addEdge(START, "model")
      .addConditionalEdges("model", toolsCondition, ["tools", END])
      .addEdge("tools", "model")
      .compile();
    const stream = await graph.stream({ messages: [["user", request]] }, { streamMode: "messages" });
    for await (const [{ type, text }] of stream) if (type === "ai" && text) await session.say(text);
  });
