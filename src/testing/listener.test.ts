// The scripted listener is a real subscriber: connected at once, answered by its script or by hand.
import { expect, it } from "vitest";
import { createProducer } from "../producer/producer.ts";
import { createFakeClock, listen } from "./index.ts";

const tidy = {
  tool: "delete_files",
  summary: "Deleting the files.",
  irreversible: true,
  params: { files: ["a", "b"] },
  action: "Delete 2 files for good.",
  consequence: "They cannot be brought back.",
} as const;

it("is subscribed as soon as it is made, and its script answers", async () => {
  const agent = createProducer({ agent_id: "tidy" });
  const listener = listen(agent, { confirm: () => "accept" });
  expect(listener.accepted.type).toBe("subscription.accepted");
  const result = await agent.run({ summary: "Cleaning up." }, (session) => session.tool(tidy, () => 2));
  expect(result).toEqual({ ran: true, value: 2 });
  expect(listener.spoken.some((line) => line.startsWith("Question: Delete 2 files for good."))).toBe(true);
});

it("answers by hand, says whether the reply counted, and knows which questions are open", async () => {
  const clock = createFakeClock();
  const agent = createProducer({ agent_id: "tidy", clock });
  const listener = listen(agent, { clock });
  const result = agent.run({ summary: "Cleaning up." }, (session) => session.tool(tidy, () => 2));
  await clock.settle();
  const [question] = listener.questions;
  expect(await listener.reject()).toBe(true);
  expect((await result) as { outcome?: string }).toMatchObject({ ran: false, outcome: "rejected" });
  await clock.settle();
  expect(listener.questions).toEqual([]);
  expect(await listener.accept(question)).toBe(false);
});

it("answers a clarification, collects the text, and leaves when closed", async () => {
  const agent = createProducer({ agent_id: "tidy", warn: () => {} });
  const listener = listen(agent, { clarify: () => "savings" });
  await agent.run({ summary: "Asking." }, async (session) => {
    const account = await session.clarify({ question: "Which account?" });
    await session.say(`It is ${JSON.stringify(account)}.`);
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(listener.text).toContain("savings");
  await listener.close();
  expect(listener.closed).toBe("subscriber_closed");
  expect(agent.subscriptions).toBe(0);
});

it("throws at once where the producer rejects it", () => {
  const agent = createProducer({ agent_id: "tidy" });
  const capabilities = { accept_signed_manifests_only: true };
  expect(() => listen(agent, { capabilities })).toThrow(/^The producer rejected the listener: /);
});
