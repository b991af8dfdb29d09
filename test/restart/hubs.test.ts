/** Two hubs over one log: what one appends, the backplane brings to the listeners of both, and cursors hold at either. */

import { expect, it } from "vitest";
import { createMemoryBackplane } from "../../src/backplanes/memory.ts";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { TRANSFER } from "../support/driver.ts";

const ADA = { id: "ada", role: "reply", audiences: "all" } as const;

it("a hub that only delivers says the same, in the same order, under the same ids, and answers for nobody", async () => {
  const clock = createFakeClock();
  const [store, backplane] = [createMemoryStore(), createMemoryBackplane()];
  const given = { agent_id: "com.example.bank", warn: () => {}, clock, store, backplane };
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
