/** Relay is the one door past the gate, so nothing may come of it: it runs nothing, answers nothing, and says what it is. */

import { describe, expect, it } from "vitest";
import { createProducer, hubOf, type ProducerOptions } from "../../src/producer/producer.ts";
import { EXTENSION_PREFIX } from "../../src/protocol/extension.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/index.ts";
import { listen } from "../support/hub-listener.ts";

const TRANSFER = {
  tool: "transfer",
  summary: "Transferring.",
  irreversible: true,
  risk: "high",
  params: { amount: 500 },
  action: "Transfer 500 dollars.",
  consequence: "The money is gone.",
} as const;

let count = 0;
const recordedEvent = (type: string, fields: object = {}) => ({
  "@context": "https://aaep-protocol.org/context/v1",
  type: `aaep:agent.${type}`,
  event_id: `evt_${++count}`,
  session_id: "sess_recorded",
  timestamp: "2026-01-01T00:00:00.000Z",
  producer: { agent_id: "com.example.bank" },
  localization_hints: { primary_language: "en" },
  summary_normal: "As it was.",
  urgency: "normal",
  ...fields,
});
const question = (reply_token: string, fields: object = {}) =>
  recordedEvent("awaiting.confirmation", {
    action: "Transfer 500 dollars.",
    consequence: "The money is gone.",
    reply_token,
    timeout_seconds: 60,
    default_decision: "reject",
    urgency: "critical",
    ...fields,
  });
const invoked = () =>
  recordedEvent("tool.invoked", { tool: "transfer", irreversible: true, risk_level: "high" });

function open(options: Partial<ProducerOptions> = {}) {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const named = { agent_id: "com.example.bank", warn: () => {} };
  const agent = createProducer({ ...named, clock, store, ...options });
  const events = (): AgentEvent[] => store.recent().map(({ event }) => event);
  return { agent, clock, store, events };
}

const RECORDED = { recorded: true } as const;
const ownOf = (event: AgentEvent | undefined) => event?.extensions?.[EXTENSION_PREFIX];

describe("a recording that is replayed", () => {
  it("is marked as relayed, event by event, whatever it says of itself", async () => {
    const { agent, events } = open();
    const lie = { extensions: { [EXTENSION_PREFIX]: { relayed: false, standing: true } } };
    for (const event of [recordedEvent("session.started", lie), question("rpl_old", lie), invoked()])
      await agent.relay(event, RECORDED);
    expect(events().length).toBeGreaterThanOrEqual(3);
    for (const event of events()) {
      expect(ownOf(event)).toMatchObject({ relayed: true });
      expect(ownOf(event)).not.toHaveProperty("standing");
    }
  });

  it("asks with tokens that answer to nothing: a yes is refused, recorded or not, and nothing runs (CON-11)", async () => {
    const { agent, clock, events } = open();
    const ear = await listen(agent);
    await agent.relay(recordedEvent("session.started"), RECORDED);
    await agent.relay(question("rpl_old"), RECORDED);
    await clock.settle();
    const asked = events().find(({ type }) => type.endsWith("awaiting.confirmation")) as
      | (AgentEvent & { reply_token: string })
      | undefined;
    expect(asked?.reply_token).not.toBe("rpl_old");
    const hub = hubOf(agent);
    for (const reply_token of ["rpl_old", asked!.reply_token]) {
      const principal = { id: "ada", role: "reply", audiences: "all" } as const;
      const { subscription } = hub.subscribe(
        { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "ear", capabilities: {} },
        principal,
        "sse",
      );
      const handled = await hub.handle(
        {
          type: "confirmation.reply",
          subscription_id: subscription!.id,
          reply_token,
          decision: "accept",
          timestamp: clock.timestamp(),
        },
        principal,
      );
      expect(handled).toEqual({ taken: false });
    }
    const known = events().length;
    await clock.advance(3_600_000);
    expect(events()).toHaveLength(known);
    await ear.close();
  });

  it("cannot be mixed with sessions of a live agent, so that nothing irreversible is announced unasked (SEQ-14)", async () => {
    const live = open();
    live.agent.start({ summary: "Working." });
    await expect(live.agent.relay(invoked(), RECORDED)).rejects.toMatchObject({ code: "replay_apart" });
    await live.clock.settle();
    expect(live.events().some(({ type }) => type.endsWith("tool.invoked"))).toBe(false);

    const replay = open();
    await replay.agent.relay(recordedEvent("session.started"), RECORDED);
    expect(() => replay.agent.start({ summary: "Working." })).toThrow(/either has sessions of its own/);
    await expect(replay.agent.run({ summary: "Working." }, () => "done")).rejects.toMatchObject({
      code: "replay_apart",
    });
  });

  it("cannot be begun by an agent whose sessions were cut off and may be resumed", async () => {
    const first = open();
    first.agent.start({ summary: "Working." });
    await first.clock.settle();
    const second = open({ store: first.store });
    await expect(second.agent.relay(invoked(), RECORDED)).rejects.toMatchObject({ code: "replay_apart" });
  });

  it("without the word for it, an act without its question is refused as ever (SEQ-01)", async () => {
    const { agent } = open();
    for (const recorded of [false, undefined, 1, "true"])
      await expect(agent.relay(invoked(), { recorded } as object)).rejects.toMatchObject({ code: "SEQ-01" });
  });
});

describe("what is handed to relay beside an event", () => {
  it("is not believed: no fact of a yes gets into the log, and the next process asks all the same", async () => {
    const { agent, store, clock } = open();
    const session_id = "sess_forged";
    const facts = [
      { kind: "session", key: session_id, value: { language: "en" } },
      {
        kind: "intent",
        key: `${session_id} key rent`,
        value: { session_id, key: "key rent", state: "done" },
      },
    ];
    for (const options of [
      { facts },
      { facts, required: true, localized: { en: { summary_normal: "Other." } } },
    ])
      await agent.relay(
        { ...recordedEvent("session.started"), session_id: `sess_${++count}` },
        options as object,
      );
    await clock.settle();
    expect(store.facts("session")).toEqual([]);
    expect(store.facts("intent")).toEqual([]);
    for (const entry of store.recent()) {
      expect(entry.required).toBeUndefined();
      expect(entry.localized).toBeUndefined();
    }
    const next = open({ store });
    let ran = 0;
    const outcome = await next.agent.start({ summary: "Paying." }).tool(TRANSFER, () => ran++);
    expect(outcome).toMatchObject({ ran: false, outcome: "nobody_to_ask" });
    expect(ran).toBe(0);
  });
});
