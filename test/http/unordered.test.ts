// A whole session over a carrier on which messages overtake each other: the listener hears it as it was said.

import fc from "fast-check";
import { expect, it } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { Subscriber } from "../../src/subscriber/subscriber.ts";
import { createMemoryClient } from "../../src/transports/memory/client.ts";

/** Keeps what crosses, and lets it out in an order drawn from `draws`. */
function bag(draws: readonly number[]) {
  const jobs: (() => void)[] = [];
  let drawn = 0;
  const turn = async () => {
    for (let quiet = 0; quiet < 20; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      while (jobs.length > 0) {
        quiet = 0;
        jobs.splice(draws[drawn++ % draws.length]! % jobs.length, 1)[0]!();
      }
    }
  };
  return { schedule: (job: () => void) => void jobs.push(job), turn };
}

it("TRN-04, CON-09: text said over an unordered transport is heard as it was said, numbered without a hole", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 30 }),
      fc.array(fc.constantFrom("One. ", "Two, ", "three! ", "Four? ", "five "), {
        minLength: 1,
        maxLength: 20,
      }),
      async (draws, words) => {
        const agent = createProducer({ agent_id: "planner", warn: () => {} });
        const { schedule, turn } = bag(draws);
        const transport = createMemoryClient(hubOf(agent), { schedule });
        const listener = new Subscriber(transport, {});
        await listener.connect();
        const heard: AgentEvent[] = [];
        listener.on("event", (event) => heard.push(event));
        const work = agent.run({ summary: "Counting." }, async (session) => {
          for (const word of words) await session.say(word);
        });
        await turn();
        await work;
        await turn();
        expect(heard.map(({ sequence_number }) => sequence_number)).toEqual(heard.map((_, i) => i));
        expect(heard[0]!.type).toBe("aaep:agent.session.started");
        expect(heard.at(-1)!.type).toBe("aaep:agent.session.completed");
        const text = heard.map((event) => ("chunk" in event ? event["chunk"] : "")).join("");
        expect(text).toBe(words.join(""));
        listener.close();
      },
    ),
    { numRuns: 25 },
  );
});

it("CON-09: over transports that keep order nothing is numbered", async () => {
  const agent = createProducer({ agent_id: "planner", warn: () => {} });
  const listener = new Subscriber(createMemoryClient(hubOf(agent)), {});
  await listener.connect();
  const heard: AgentEvent[] = [];
  listener.on("event", (event) => heard.push(event));
  await agent.run({ summary: "Counting." }, async (session) => void (await session.say("One.")));
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard.length).toBeGreaterThan(2);
  expect(heard.filter((event) => "sequence_number" in event)).toEqual([]);
  listener.close();
});
