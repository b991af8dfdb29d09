/** What cannot be kept, or would be kept for ever: nobody waits for it, and nobody is left with half a story. */

import { describe, expect, it } from "vitest";
import type { LogEntry, LogStore } from "../../src/hub/store.ts";
import { createProducer, hubOf, type ProducerOptions } from "../../src/producer/producer.ts";
import { parseValue } from "../../src/protocol/parse.ts";
import { systemRandom } from "../../src/protocol/platform.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/index.ts";
import { TRANSFER } from "../support/driver.ts";
import { listen } from "../support/hub-listener.ts";

const never = () => new Promise<never>(() => {});

function open(options: Partial<ProducerOptions> = {}) {
  const clock = createFakeClock();
  return {
    clock,
    agent: createProducer({ agent_id: "com.example.bank", clock, warn: () => {}, ...options }),
  };
}

describe("a log that cannot be written to", () => {
  const storing = (append: (entries: readonly LogEntry[], kept: LogStore) => Promise<number>): LogStore => {
    const kept = createMemoryStore({ random: systemRandom });
    return {
      identity: kept.identity,
      append: (entries) => append(entries, kept),
      recent: () => kept.recent(),
      follow: (from, receive) => kept.follow(from, receive),
      read: (from) => kept.read(from),
      facts: (kind) => kept.facts(kind),
    };
  };
  const has = (entries: readonly LogEntry[], type: string) =>
    entries.some(({ event }) => event.type === `aaep:agent.${type}`);

  it("ends what everyone hears with a sentence, instead of leaving them with 'It goes ahead now'", async () => {
    const store = storing((entries, kept) =>
      has(entries, "tool.invoked") ? Promise.reject(new Error("full")) : kept.append(entries),
    );
    const { clock, agent } = open({ store });
    const listener = listen(agent, { confirm: () => "accept" });
    let ran = 0;
    const done = agent.run({ summary: "Moving money." }, (session) =>
      session.tool(TRANSFER, () => void ran++),
    );
    await expect(done).rejects.toMatchObject({ code: "log_broken" });
    await clock.settle();
    expect(ran).toBe(0);
    expect(listener.messages).toMatchObject([
      { type: "subscription.close", reason_message: expect.stringMatching(/Nothing more is done/) },
    ]);
    expect(listener.closed).toBe("producer_shutdown");
  });

  it("does not hold up the deadline of a question it never takes", async () => {
    let stuck = false;
    const store = storing((entries, kept) => {
      stuck ||= has(entries, "awaiting.confirmation");
      return stuck ? never() : kept.append(entries);
    });
    const { clock, agent } = open({ store });
    listen(agent);
    let ran = 0;
    const outcome = agent.start({ summary: "Moving money." }).tool(TRANSFER, () => void ran++);
    await clock.advance(300_000);
    expect(await outcome).toMatchObject({ ran: false, outcome: "timed_out" });
    expect(ran).toBe(0);
  });
});

describe("sessions that are relayed and never end", () => {
  it("are over once there are too many, which is heard, and are not kept for ever", async () => {
    const { clock, agent } = open();
    const listener = listen(agent);
    for (let i = 0; i < 4_100; i++) {
      await agent.relay({
        "@context": "https://aaep-protocol.org/context/v1",
        aaep_version: "1.0.0",
        type: "aaep:agent.session.started",
        event_id: `evt_${i}`,
        session_id: `sess_${i}`,
        timestamp: clock.timestamp(),
        producer: { agent_id: "elsewhere" },
        summary_normal: "Started elsewhere.",
      });
    }
    await clock.settle();
    const ended = listener.events.filter(({ type }) => type === "aaep:agent.session.cancelled");
    expect(ended).toHaveLength(4);
    expect(new Set(ended.map(({ session_id }) => session_id)).size).toBe(4);
    for (const event of ended)
      expect(parseValue(event, { mode: "strict", extensions: hubOf(agent).registry }).ok).toBe(true);
  });
});
