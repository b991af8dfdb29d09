// Forwarding: an agent's events to somewhere else, as they came; questions are answered by whoever they reach.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { FORWARDER, forward, Subscriber } from "../../src/subscriber/index.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { createMemoryClient } from "../../src/transports/memory/client.ts";
import { FakeProducer } from "./fake-producer.ts";

const connect = async (producer: FakeProducer, options: object = FORWARDER) => {
  const clock = createFakeClock();
  return { clock, subscriber: await new Subscriber(producer.transport, { clock, ...options }).connect() };
};

describe("forwarding", () => {
  it("passes on every event as it came, once and in order, however slow the other side is (CNF-31)", async () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string()),
    );
    const extra = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/), value);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ extra, slow: fc.boolean(), critical: fc.boolean() }), { maxLength: 20 }),
        async (script) => {
          const producer = new FakeProducer();
          const { clock, subscriber } = await connect(producer);
          const out: AgentEvent[] = [];
          const slow = new Set<string>();
          const done = forward(subscriber, {
            async event(event) {
              if (slow.has(event.event_id)) await clock.settle();
              out.push(event);
            },
          });
          const sent = script.map((one, n) => {
            const event = producer.event(one.critical ? "session.errored" : "tool.invoked", {
              tool: "t",
              error_category: "unknown",
              summary_normal: "Look.",
              sequence_number: n,
              extensions: { other: one.extra },
              correlation_id: "trace",
            });
            if (one.slow) slow.add(String(event["event_id"]));
            producer.say(event);
            producer.say(event);
            return event;
          });
          for (let i = 0; i <= script.length; i++) await clock.settle();
          expect(JSON.parse(JSON.stringify(out))).toEqual(JSON.parse(JSON.stringify(sent)));
          await subscriber.close();
          await done;
        },
      ),
      { numRuns: 30 },
    );
  });

  it("declares no reply support and refuses to start on a subscription that did (CNF-31, SUB-12)", async () => {
    const producer = new FakeProducer();
    await connect(producer);
    expect(producer.requests[0]!.capabilities).toMatchObject({
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      earshot: { view_prompts: true },
    });
    const { subscriber } = await connect(producer, {});
    await expect(forward(subscriber, { event: () => undefined })).rejects.toThrow(
      /Subscribe with `...FORWARDER`/,
    );
  });

  it("carries a question and its withdrawal; the person it reaches answers on their own line, and only they (SUB-12, CNF-31)", async () => {
    const clock = createFakeClock();
    const agent = createProducer({ agent_id: "planner", agent_name: "Planner", clock });
    const line = () => createMemoryClient(hubOf(agent));
    const far = await new Subscriber(line(), { clock }).connect();
    const forwarder = await new Subscriber(line(), { clock, ...FORWARDER }).connect();
    const out: AgentEvent[] = [];
    void forward(forwarder, { event: (event) => void out.push(event) });
    let taken: boolean | undefined;
    forwarder.on("confirmation", async (ask) => {
      taken = await ask.accept();
    });
    let ran = 0;
    const done = agent.run({ summary: "Paying." }, async (session) => {
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
        () => void ran++,
      );
    });
    await clock.advance(1000);
    const asked = out.find(({ type }) => type === "aaep:agent.awaiting.confirmation") as AgentEvent & {
      reply_token: string;
    };
    expect(asked).toMatchObject({ action: "Pay 5." });
    expect(taken).toBe(false);
    expect(ran).toBe(0);
    await far.send({
      type: "confirmation.reply",
      reply_token: asked.reply_token,
      decision: "reject",
      subscription_id: far.id,
      timestamp: clock.timestamp(),
    });
    await clock.advance(1000);
    await done;
    expect(ran).toBe(0);
    expect(
      out.some(
        ({ extensions }) =>
          (extensions?.["earshot"]?.["resolves"] as { outcome?: string } | undefined)?.outcome === "rejected",
      ),
    ).toBe(true);
    await far.close();
    await forwarder.close();
  });

  it("stops and says why when the other side fails, and tells of gaps", async () => {
    const producer = new FakeProducer();
    const { clock, subscriber } = await connect(producer);
    const gaps: string[] = [];
    const done = forward(subscriber, {
      event: ({ type }) => {
        if (type.endsWith("completed")) throw new Error("The pager is off.");
      },
      gap: ({ reason }) => void gaps.push(reason),
    });
    const failed = expect(done).rejects.toThrow("The pager is off.");
    producer.say(
      producer.event("state.changed", {
        from_state: "idle",
        to_state: "idle",
        summary_normal: "Missed.",
        extensions: { earshot: { gap: { reason: "aged" } } },
      }),
    );
    producer.say(producer.event("session.completed", { summary_normal: "Done." }));
    await failed;
    await clock.settle();
    expect(gaps).toEqual(["aged"]);
    expect(producer.sent).toMatchObject([{ type: "subscription.close" }]);
  });
});
