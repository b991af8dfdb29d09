// A fake language model that needs no network: it requests one transfer, then answers according to the tool result.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";

class TransferModel extends BaseChatModel {
  _llmType() {
    return "script";
  }

  #respond(messages) {
    const result = messages.findLast((message) => message.type === "tool")?.text;
    if (!result)
      return { tool_calls: [{ id: "call-1", name: "transfer", args: { amount: 500, to: "savings" } }] };
    const refused = result.includes("did not run");
    return {
      content: refused ? "I left your money where it is." : "Your savings have grown by 500 dollars.",
    };
  }

  async _generate(messages) {
    const message = new AIMessage({ content: "", ...this.#respond(messages) });
    return { generations: [{ message, text: message.text }] };
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const { content = "", tool_calls = [] } = this.#respond(messages);
    const calls = tool_calls.map(({ args, ...call }) => ({ ...call, args: JSON.stringify(args), index: 0 }));
    for (const text of content ? content.split(/(?<= )/) : [""]) {
      const message = new AIMessageChunk({ content: text, tool_call_chunks: calls });
      const chunk = new ChatGenerationChunk({ message, text });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

export const model = new TransferModel({});
