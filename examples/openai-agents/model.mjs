// A fake language model that needs no network: it requests one transfer, then answers according to the tool result.
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const call = {
  type: "function_call",
  id: "item-1",
  callId: "call-1",
  name: "transfer",
  status: "completed",
  arguments: '{"amount":500,"to":"savings"}',
};
const message = (text) => ({
  type: "message",
  id: "item-2",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});

function respond({ input }) {
  const result = [input].flat().findLast(({ type }) => type === "function_call_result")?.output.text;
  if (!result) return [call];
  const refused = result.includes("did not run");
  return [message(refused ? "I left your money where it is." : "Your savings have grown by 500 dollars.")];
}

export const model = {
  getResponse: async (request) => ({ usage, output: respond(request) }),
  async *getStreamedResponse(request) {
    const output = respond(request);
    const text = output[0].content?.[0].text ?? "";
    for (const delta of text.split(/(?<= )/)) if (delta) yield { type: "output_text_delta", delta };
    yield { type: "response_done", response: { id: "response", usage, output } };
  },
};
