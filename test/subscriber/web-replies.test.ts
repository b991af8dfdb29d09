// The page's leader tab replies with the same code as the terminal: no field is dropped, no open question forgotten.
import { describe, expect, it } from "vitest";
import { Announcer } from "../../src/subscriber/announcer.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { connectLeader } from "../../src/web/leader-connection.ts";
import type { ConnectionState } from "../../src/web/page-listener.ts";
import { FakeProducer } from "./fake-producer.ts";

async function leader() {
  const clock = createFakeClock();
  const producer = new FakeProducer();
  const announcer = new Announcer({ languages: ["en"] });
  const states: ConnectionState[] = [];
  const connection = connectLeader({
    address: "http://127.0.0.1:1",
    capabilities: {},
    token: undefined,
    resume: undefined,
    clock,
    isOpen: (token) => announcer.isOpen(token),
    event: (event) => announcer.hear(event, clock.now()),
    state: (state) => states.push(state),
    transport: producer.transport,
  });
  await clock.settle();
  return { clock, producer, announcer, connection, states };
}

describe("replies from a page", () => {
  it("keep `decided_by`: a rule's answer is not passed off as the person's (CON-75)", async () => {
    const { clock, producer, connection } = await leader();
    producer.say(producer.ask("rpl_1"));
    await clock.settle();
    const rule = { decision: "reject", decided_by: "auto:listener-rule" } as const;
    await connection.send({ do: "confirm", reply_token: "rpl_1", source: "", ...rule });
    expect(producer.sent).toMatchObject([{ type: "confirmation.reply", reply_token: "rpl_1", ...rule }]);
  });

  it("reach the first of a thousand questions: an open question is never evicted (SUB-10)", async () => {
    const { clock, producer, connection } = await leader();
    for (let n = 0; n < 1000; n++) producer.say(producer.ask(`rpl_${n}`));
    await clock.settle();
    const accept = { do: "confirm", reply_token: "rpl_0", source: "", decision: "accept" } as const;
    expect(await connection.send(accept)).toBe(true);
    expect(producer.sent).toMatchObject([{ reply_token: "rpl_0", decision: "accept" }]);
  });

  it("are sent again after a lost connection for as long as the question is open", async () => {
    const { clock, producer, connection, states } = await leader();
    producer.say(producer.ask("rpl_1"));
    producer.drop();
    await clock.settle();
    const sent = connection.send({ do: "confirm", reply_token: "rpl_1", source: "", decision: "accept" });
    await clock.advance(1000);
    expect(await sent).toBe(true);
    expect(producer.sent).toMatchObject([{ reply_token: "rpl_1", decision: "accept" }]);
    expect(states.map(({ state }) => state)).toEqual(["connected", "lost", "connected"]);
  });
});

describe("a reply whose outcome is unknown", () => {
  it("is sent again when the question is asked again, but only the latest, and never twice at once (CON-16)", async () => {
    const { clock, producer, connection } = await leader();
    producer.taken = undefined;
    producer.say(producer.ask("rpl_1"));
    await clock.settle();
    const reply = { do: "confirm", reply_token: "rpl_1", source: "" } as const;
    await connection.send({ ...reply, decision: "accept" });
    producer.drop();
    const refusal = connection.send({ ...reply, decision: "reject" });
    await clock.advance(1000);
    producer.say(producer.ask("rpl_1"));
    await clock.settle();
    await refusal;
    const sent = producer.sent.map((message) => (message as { decision?: string }).decision);
    expect(sent).toEqual(["accept", "reject", "reject"]);
  });
});

describe("the leader tab's subscription", () => {
  it("is handed over without being ended, and continued by the next tab after its last event", async () => {
    const { clock, producer, connection } = await leader();
    const event = producer.event("session.started", { summary_normal: "Starting." });
    producer.say(event);
    await clock.settle();
    connection.close(true);
    await clock.settle();
    expect(producer.sent).toEqual([]);
    expect(producer.closed).toBe(1);
    const resume = { subscription_id: "sub_1", last_event_id: String(event["event_id"]) };
    connectLeader({
      address: "http://127.0.0.1:1",
      capabilities: {},
      token: undefined,
      resume,
      clock,
      isOpen: () => false,
      event: () => undefined,
      state: () => undefined,
      transport: producer.transport,
    });
    await clock.settle();
    expect(producer.resumes.at(-1)).toEqual(resume);
  });

  it("is tried again with backoff until the agent can be reached, and not where it refuses", async () => {
    const clock = createFakeClock();
    const { ConnectionError } = await import("../../src/subscriber/index.ts");
    const producer = new FakeProducer();
    producer.next = [
      new ConnectionError("unreachable", "Not there yet.", true),
      new ConnectionError("unreachable", "Not there yet.", true),
      new ConnectionError("authentication_failed", "Wrong token.", false),
    ];
    const states: ConnectionState[] = [];
    connectLeader({
      address: "http://127.0.0.1:1",
      capabilities: {},
      token: undefined,
      resume: undefined,
      clock,
      isOpen: () => false,
      event: () => undefined,
      state: (state) => states.push(state),
      transport: producer.transport,
    });
    await clock.advance(60_000);
    expect(states.map(({ state, reason }) => reason ?? state)).toEqual([
      "connecting",
      "connecting",
      "Wrong token.",
    ]);
    expect(producer.requests).toHaveLength(3);
  });
});
