// Whoever registers a handler right after `await subscribe(...)` has missed nothing, over any transport.
import { afterEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { serve } from "../../src/server/index.ts";
import { subscribe } from "../../src/subscriber/index.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function asking() {
  const agent = createProducer({ agent_id: "planner", agent_name: "Planner" });
  const served = await serve(agent, { port: 0, tokenFile: false });
  closing.push(() => served.close());
  const early = await subscribe(`http://127.0.0.1:${served.port}`, { token: served.token! });
  closing.push(() => early.close());
  const asked = new Promise((resolve) => early.on("confirmation", resolve));
  void agent.run({ summary: "Paying." }, async (session) => {
    await session.tool(
      {
        tool: "pay",
        summary: "Paying.",
        risk: "high",
        irreversible: true,
        params: { amount: 5 },
        action: "Pay 5.",
        consequence: "Gone.",
      },
      () => undefined,
    );
  });
  await asked;
  return served;
}

describe("a listener that comes while a question is open", () => {
  it.each(["http", "ws"])("hears it by a handler set after subscribing, over %s", async (scheme) => {
    const served = await asking();
    const late = await subscribe(`${scheme}://127.0.0.1:${served.port}`, { token: served.token! });
    closing.push(() => late.close());
    const types: string[] = [];
    late.on("event", ({ type }) => void types.push(type));
    const ask = await new Promise<{ reject(): Promise<unknown> }>((resolve) =>
      late.on("confirmation", resolve),
    );
    await ask.reject();
    expect(types).toContain("aaep:agent.awaiting.confirmation");
  });
});
