// A subscription's life, as an assistive technology's author sees it: declared, agreed, changed, lost, ended.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CLOSE_REASONS } from "../../src/protocol/close-reasons.ts";
import { ConnectionError, Subscriber } from "../../src/subscriber/index.ts";
import type { SubscribeOptions } from "../../src/subscriber/subscriber.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { FakeProducer } from "./fake-producer.ts";

async function setUp(options: SubscribeOptions = {}, producer = new FakeProducer()) {
  const clock = createFakeClock();
  const subscriber = await new Subscriber(producer.transport, {
    clock,
    random: () => 0.5,
    ...options,
  }).connect();
  const heard: string[] = [];
  const lines: string[] = [];
  const ended: { code: string; message: string }[] = [];
  subscriber.on("event", (event) => void heard.push(event.event_id));
  subscriber.on("connection", ({ state }) => void lines.push(state));
  subscriber.on("closed", (reason) => void ended.push(reason));
  await clock.settle();
  return { clock, producer, subscriber, heard, lines, ended };
}

const close = (reason_code: string) => ({
  type: "subscription.close",
  subscription_id: "sub_1",
  reason_code,
});

describe("what a subscriber declares and agrees to", () => {
  it("opens every subscription with its capabilities, reply support among them, and says goodbye (SUB-09, HS-22)", async () => {
    const { clock, producer, subscriber } = await setUp({ max_events_per_second: 3, languages: ["en"] });
    expect(producer.requests[0]).toMatchObject({
      type: "subscription.request",
      aaep_version: "1.0.0",
      subscriber_id: "earshot",
      capabilities: {
        supports_confirmation_reply: true,
        supports_clarification_reply: true,
        max_events_per_second: 3,
        languages: ["en"],
      },
    });
    producer.drop();
    await clock.advance(30_000);
    expect(producer.requests[1]!.capabilities).toEqual(producer.requests[0]!.capabilities);
    await subscriber.close();
    expect(producer.sent).toEqual([
      { type: "subscription.close", subscription_id: "sub_1", reason_code: "subscriber_shutdown" },
    ]);
  });

  it("renegotiates when needs change, and asks for the new terms again after a drop (HS-18)", async () => {
    const { clock, producer, subscriber } = await setUp({ max_events_per_second: 3 });
    await subscriber.renegotiate({ max_events_per_second: 1 });
    expect(producer.sent).toEqual([
      {
        type: "subscription.renegotiate",
        subscription_id: "sub_1",
        capabilities: { max_events_per_second: 1 },
      },
    ]);
    producer.drop();
    await clock.advance(30_000);
    expect(producer.requests[1]!.capabilities).toMatchObject({
      max_events_per_second: 1,
      supports_confirmation_reply: true,
    });
  });

  it("takes what comes under the old terms, before and after new ones are agreed (HS-17)", async () => {
    const { clock, producer, subscriber, heard } = await setUp();
    const tokens = (n: number) =>
      producer.event("output.streaming", { chunk: "a", position: n, complete: false });
    producer.say(tokens(0));
    const changed = subscriber.renegotiate({
      coalesce_boundaries: ["sentence"],
      event_filters: { exclude: ["aaep:agent.output.*"] },
    });
    producer.say(tokens(1));
    await changed;
    producer.say(tokens(2));
    await clock.settle();
    expect(heard).toHaveLength(3);
  });

  it("lives with less than it asked for: the acceptance counts (HS-23)", async () => {
    const producer = new FakeProducer();
    producer.honored = { max_events_per_second: 1, languages: ["fr"] };
    const { subscriber, heard } = await setUp({ max_events_per_second: 50, languages: ["en"] }, producer);
    expect(subscriber.accepted.honored_capabilities).toMatchObject({
      max_events_per_second: 1,
      languages: ["fr"],
    });
    for (let i = 0; i < 5; i++) producer.say(producer.event("session.started", { summary_normal: "Salut." }));
    expect(heard).toHaveLength(5);
    expect(producer.sent).toEqual([]);
  });

  it("passes over what is not a valid envelope, says so, and goes on (SUB-01)", async () => {
    const { producer, subscriber, heard, ended } = await setUp();
    const violations: (string | undefined)[] = [];
    subscriber.on("violation", ({ type }) => void violations.push(type));
    const good = producer.event("session.started", { summary_normal: "Hello." });
    const { timestamp: _, ...undated } = producer.event("session.started", { summary_normal: "Hello." });
    producer.say(undated);
    producer.say({ ...good, "@context": "https://example.org/other" });
    producer.say([good]);
    producer.say(good);
    expect(heard).toEqual([good["event_id"]]);
    expect(violations).toHaveLength(3);
    expect(ended).toEqual([]);
  });
});

describe("a subscription the producer closes", () => {
  it.each(Object.entries(CLOSE_REASONS).map(([code, { reconnect }]) => ({ code, reconnect })))(
    "with $code comes back: $reconnect (HS-19)",
    async ({ code, reconnect }) => {
      const { clock, producer, lines, ended } = await setUp();
      producer.say(close(code));
      expect(producer.closed).toBe(1);
      await clock.advance(60_000);
      expect(lines).toEqual(reconnect ? ["lost", "connected"] : []);
      expect(ended).toEqual(reconnect ? [] : [{ code, message: CLOSE_REASONS[code as "rejected"].sentence }]);
      expect(producer.open).toBe(reconnect);
    },
  );

  it("for a reason nobody knows is over, with the reason as it came", async () => {
    const { producer, ended } = await setUp();
    producer.say({ ...close("moon_in_wrong_phase"), reason_message: "Come back at the full moon." });
    expect(ended).toEqual([{ code: "moon_in_wrong_phase", message: "Come back at the full moon." }]);
  });
});

describe("an agent that takes a line and drops it at once", () => {
  it("is called more and more rarely, until it says something new or a line holds (F16)", async () => {
    const { clock, producer } = await setUp({ random: () => 1 });
    producer.say(producer.event("state.changed", { from_state: "idle", to_state: "thinking" }));
    const waits: number[] = [];
    const comesBack = async () => {
      const calls = producer.requests.length;
      producer.drop();
      let ms = 0;
      for (; producer.requests.length === calls; ms += 50) await clock.advance(50);
      waits.push(ms);
    };
    for (let drops = 0; drops < 5; drops++) await comesBack();
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000]);
    producer.say(producer.event("state.changed", { from_state: "thinking", to_state: "deciding" }));
    await comesBack();
    expect(waits.at(-1)).toBe(250);
    await comesBack();
    await clock.advance(30_000);
    await comesBack();
    expect(waits.slice(-2)).toEqual([500, 250]);
  });
});

describe("leaving while the line is down", () => {
  it("comes back once to say goodbye, and hears nothing there", async () => {
    const { clock, producer, subscriber, heard, ended } = await setUp();
    producer.say(producer.event("session.started", { summary_normal: "Hello." }));
    producer.drop();
    await subscriber.close();
    expect(producer.resumes.at(-1)).toEqual({ subscription_id: "sub_1", last_event_id: heard[0] });
    expect(producer.sent).toMatchObject([{ type: "subscription.close", subscription_id: "sub_1" }]);
    expect(ended).toMatchObject([{ code: "subscriber_closed" }]);
    producer.say(producer.event("session.started", { summary_normal: "Too late." }));
    await clock.advance(60_000);
    expect(heard).toHaveLength(1);
    expect(producer.requests).toHaveLength(2);
  });

  it("waits for the attempt that is under way instead of starting another", async () => {
    const { clock, producer, subscriber } = await setUp();
    producer.drop();
    let through = () => {};
    const { open } = producer.transport;
    producer.transport.open = async (...args) => {
      await new Promise<void>((resolve) => {
        through = resolve;
      });
      return open(...args);
    };
    await clock.advance(1000);
    const left = subscriber.close();
    through();
    await left;
    expect(producer.requests).toHaveLength(2);
    expect(producer.sent).toMatchObject([{ type: "subscription.close" }]);
  });

  it("does not wait for an agent that cannot be reached", async () => {
    const { clock, producer, subscriber } = await setUp();
    producer.drop();
    producer.next = [new ConnectionError("unreachable", "Nobody there.", true)];
    await subscriber.close();
    const other = await setUp();
    other.producer.drop();
    other.producer.transport.open = () => new Promise(() => {});
    let left = false;
    void other.subscriber.close().then(() => {
      left = true;
    });
    await other.clock.advance(1999);
    expect(left).toBe(false);
    await other.clock.advance(1);
    expect(left).toBe(true);
    await clock.settle();
  });
});

describe("whoever starts to listen", () => {
  it("has missed nothing said since the acceptance, in order and once, however late (CNF-40)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(20), fc.nat(20), fc.boolean(), async (before, after, iterates) => {
        const clock = createFakeClock();
        const producer = new FakeProducer();
        const subscriber = await new Subscriber(producer.transport, { clock }).connect();
        const say = (n: number) =>
          producer.say(
            producer.event("session.started", {
              event_id: `evt_${n}`,
              summary_normal: "Hello.",
              session_id: `sess_${n}`,
            }),
          );
        for (let i = 0; i < before; i++) say(i);
        await clock.settle();
        const heard: string[] = [];
        if (iterates)
          void (async () => {
            for await (const { event_id } of subscriber) heard.push(event_id);
          })();
        else subscriber.on("event", ({ event_id }) => void heard.push(event_id));
        await clock.settle();
        for (let i = before; i < before + after; i++) say(i);
        await clock.settle();
        expect(heard).toEqual(Array.from({ length: before + after }, (_, n) => `evt_${n}`));
      }),
      { numRuns: 40 },
    );
  });

  it("hears a question that came first with every handler set in the same turn", async () => {
    const clock = createFakeClock();
    const producer = new FakeProducer();
    const subscriber = await new Subscriber(producer.transport, { clock }).connect();
    producer.say(producer.ask("rpl_1"));
    const heard: string[] = [];
    subscriber.on("closed", () => undefined);
    subscriber.on("event", ({ type }) => void heard.push(type));
    subscriber.on("confirmation", ({ event }) => void heard.push(event.reply_token));
    await clock.settle();
    expect(heard).toEqual(["aaep:agent.awaiting.confirmation", "rpl_1"]);
  });
});
