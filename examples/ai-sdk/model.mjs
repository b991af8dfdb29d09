// A fake language model that needs no network: it requests one transfer, then answers according to the tool result.
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = { toolCallId: "call-1", toolName: "transfer", input: '{"amount":500,"to":"savings"}' };

const answer = (text) => [
  { type: "text-start", id: "1" },
  ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "1", delta })),
  { type: "text-end", id: "1" },
  { type: "finish", finishReason: { unified: "stop" }, usage },
];

export const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => {
    const result = prompt.findLast(({ role }) => role === "tool")?.content[0].output.value;
    const chunks = !result
      ? [
          { type: "tool-call", ...call },
          { type: "finish", finishReason: { unified: "tool-calls" }, usage },
        ]
      : answer(
          result.includes("did not run")
            ? "I left your money where it is."
            : "Your savings have grown by 500 dollars.",
        );
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
  },
});
