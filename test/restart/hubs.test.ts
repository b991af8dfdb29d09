/** Two hubs over one store: listeners of both get what one appends, and cursors are valid at either. */

import { expect, it } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { TRANSFER } from "../support/driver.ts";

const ADA = { id: "ada", role: "reply", audiences: "all" } as const;

it("a hub that only delivers says the same, in the same order, under the same ids, and answers for nobody", async () => {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const given = { agent_id: "com.example.bank", warn: () => {}, clock, store };
  const agent = createProducer(given);
  const far = hubOf(createProducer(given));

  const listenAt = (hub: typeof far) => {
    const heard: string[] = [];
    const { subscription } = hub.subscribe(
      {
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: "ear",
        capabilities: { supports_confirmation_reply: true },
      },
      ADA,
      "sse",
    );
    hub.connect(subscription!, {
      send: ({ json }) => void heard.push(json),
      tell: () => undefined,
      close: () => undefined,
    });
    return { heard, subscription_id: subscription!.id };
  };
  const near = listenAt(hubOf(agent));
  const away = listenAt(far);
  const session = agent.start({ summary: "Paying the rent." });
  void session.say("I found the invoice. It is due today. ");
  let ran = 0;
  const outcome = session.tool(TRANSFER, () => void ran++);
  await clock.settle();
  expect(near.heard.length).toBeGreaterThan(3);
  expect(away.heard).toEqual(near.heard);

  const { reply_token } = near.heard.map((json) => JSON.parse(json)).find((event) => event.reply_token);
  const yes = {
    type: "confirmation.reply",
    reply_token,
    decision: "accept",
    timestamp: clock.timestamp(),
  } as const;
  expect(await far.handle({ ...yes, subscription_id: away.subscription_id }, ADA)).toEqual({ taken: false });
  expect(ran).toBe(0);
  expect(await hubOf(agent).handle({ ...yes, subscription_id: near.subscription_id }, ADA)).toEqual({
    taken: true,
  });
  await outcome;
  await session.complete();
  await clock.settle();
  expect(ran).toBe(1);
  expect(away.heard).toEqual(near.heard);
  expect(away.heard.at(-1)).toContain("session.completed");
});

it("warns of an event that cannot be delivered, and still delivers to the other hub", async () => {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const warnings: string[] = [];
  const given = {
    agent_id: "com.example.bank",
    clock,
    warn: (sentence: string) => void warnings.push(sentence),
  };
  // Every entry at the same position: the hub can place only the first.
  const broken = {
    ...store,
    follow: (from: number, receive: Parameters<typeof store.follow>[1]) =>
      store.follow(from, (entries) => receive(entries.map((entry) => ({ ...entry, seq: 1 })))),
  };
  createProducer({ ...given, store: broken });
  const agent = createProducer({ ...given, store });
  await agent.run({ summary: "Paying the rent." }, () => undefined);
  expect(warnings[0]).toMatch(/^An event could not be delivered: RangeError/);
  expect(hubOf(agent).engine.window.next).toBe(hubOf(agent).log.next);
});

it("a store written with earlier field names opens, and its subscriptions can be resumed", async () => {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const hub = hubOf(createProducer({ agent_id: "com.example.bank", warn: () => {}, clock, store }));
  const request = {
    type: "subscription.request",
    aaep_version: "1.0.0",
    subscriber_id: "listener",
    capabilities: { supported_extensions: [EXTENSION_URI], earshot: { resume: true } } as never,
  } as const;
  const { subscription } = hub.subscribe(request, ADA, "websocket");
  hub.connect(subscription!, { send: () => undefined, tell: () => undefined, close: () => undefined });
  await clock.settle();
  const [fact] = store.facts("subscription");
  const earlier = JSON.parse(
    JSON.stringify(fact!.value)
      .replaceAll("verbosityGiven", "verbosity_given")
      .replaceAll("signedOnly", "signed_only")
      .replaceAll("extensionTerms", "extension_terms"),
  );
  expect(JSON.stringify(earlier)).toContain("extension_terms");
  await store.append([], [{ ...fact!, value: earlier }]);

  const next = hubOf(createProducer({ agent_id: "com.example.bank", warn: () => {}, clock, store }));
  const resume = { subscription_id: subscription!.id, last_event_id: undefined };
  const back = next.subscribe({ ...request, extensions: { earshot: { resume } } } as never, ADA, "websocket");
  expect(back.subscription?.id).toBe(subscription!.id);
  expect(back.subscription?.resumable).toBe(true);
});
