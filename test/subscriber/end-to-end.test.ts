// A real agent, a real hub, a real subscription, and what a person hears at the end of it, word for word.

import { describe, expect, it } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { Announcer, attach, textOf } from "../../src/subscriber/announcer.ts";
import { Subscriber } from "../../src/subscriber/index.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { createMemoryClient } from "../../src/transports/memory/client.ts";

async function setUp() {
  const clock = createFakeClock();
  const agent = createProducer({ agent_id: "planner", agent_name: "Planner", clock });
  const client = createMemoryClient(hubOf(agent));
  const subscriber = await new Subscriber(client, {
    languages: ["en"],
    clock,
    coalesce_boundaries: ["none"],
  }).connect();
  const announcer = new Announcer();
  const said: string[] = [];
  const changed = () => {
    announcer.tick(clock.now());
    for (
      let actions = announcer.advance(clock.now());
      actions.length > 0;
      actions = announcer.advance(clock.now())
    ) {
      for (const { utterance } of actions) {
        said.push(textOf(utterance));
        announcer.finished(utterance.id, clock.now());
      }
    }
  };
  const { flush } = attach(announcer, subscriber, { clock, changed });
  const answer = async (kind: "yes" | "no" | "confirm" | "more") => {
    announcer.answer({ kind }, clock.now());
    flush();
    await clock.settle();
  };
  return { agent, clock, said, answer, announcer, subscriber };
}

const transfer = {
  tool: "transfer",
  risk: "high",
  irreversible: true,
  params: { amount: 500, to: "savings" },
  summary: "Transferring the money.",
  action: (p: { amount: number; to: string }) => `Transfer $${p.amount} to ${p.to}.`,
  consequence: "Funds move at once.",
} as const;

describe("from an agent's code to a person's ear", () => {
  it("a transfer is asked about, read back, allowed in two steps, run once, and told (SUB-02, SUB-10, CNF-39)", async () => {
    const { agent, clock, said, answer } = await setUp();
    let ran = 0;
    const done = agent.run({ summary: "Moving your savings." }, async (session) => {
      for (const token of ["I wi", "ll move ", "the money now."]) void session.say(token);
      await session.tool(transfer, () => void ran++);
    });
    await clock.advance(1000);
    await answer("yes");
    await answer("yes");
    expect(ran).toBe(0);
    await answer("confirm");
    await clock.advance(1000);
    await done;
    await clock.advance(1000);
    expect(ran).toBe(1);
    const heard = said.join("\n");
    const at = (words: string) => said.findIndex((one) => one.includes(words));
    expect(said[0]).toBe("Started: Moving your savings.");
    // The question comes first, being critical; but nobody hears what the agent is about to do after it was done.
    expect(at("I will move the money now.")).toBeGreaterThan(0);
    expect(at("I will move the money now.")).toBeLessThan(at("Transferring the money."));
    expect(heard).toMatch(
      /Careful, high risk\. This cannot be undone\. Planner asks for permission: Transfer \$500 to savings\. If you say yes: Funds move at once\./,
    );
    expect(heard).toContain("Amount: 500. To: savings. To allow it, say confirm. To refuse, say no.");
    expect(said).toContain("Allowed.");
    expect(said.at(-1)).toBe("The task is done.");
  });

  it("a no is one word, and nothing runs; silence is no consent either (CNF-38)", async () => {
    for (const wait of [0, 600_000]) {
      const { agent, clock, said, answer, announcer } = await setUp();
      let ran = 0;
      const done = agent.run(
        { summary: "Moving your savings." },
        async (session) => void (await session.tool(transfer, () => void ran++)),
      );
      await clock.advance(1000);
      if (wait === 0) await answer("no");
      else await clock.advance(wait);
      await clock.advance(1000);
      await done;
      await clock.advance(1000);
      expect(ran).toBe(0);
      expect(announcer.question).toBeUndefined();
      expect(said.join("\n")).toMatch(
        wait === 0 ? /Refused\./ : /Time is up for this question|timed out|no answer/i,
      );
      expect(said).not.toContain("Allowed.");
    }
  });
});
