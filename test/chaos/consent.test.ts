/** Faults around a question: clocks that jump, processes that sleep, floods, races. */

import { describe, expect, it } from "vitest";
import { Question } from "../../src/hub/questions.ts";
import { hubOf } from "../../src/producer/producer.ts";
import type { Clock } from "../../src/protocol/platform.ts";
import type { AwaitingConfirmation, ConfirmationReply } from "../../src/protocol/types.ts";
import { openWorld, TRANSFER } from "../support/driver.ts";
import { HubListener } from "../support/hub-listener.ts";

const ADA = { id: "ada", role: "reply", audiences: "all" } as const;

describe("F22: a flood", () => {
  it("of subscriptions is capped for each identity, and nobody else notices", async () => {
    const world = await openWorld({ hub: { maxSubscriptionsPerPrincipal: 8, maxSubscriptions: 20 } });
    const subscribe = (id: string) =>
      hubOf(world.agent).subscribe(
        { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "x", capabilities: {} },
        { ...ADA, id },
        "memory",
      ).answer.type;
    const flood = Array.from({ length: 1_000 }, () => subscribe("mallory"));
    expect(flood.filter((type) => type === "subscription.accepted")).toHaveLength(8);
    expect(subscribe("ada")).toBe("subscription.accepted");
    await world.advance(31);
    expect(world.agent.subscriptions).toBe(1);
  });

  it("of questions is capped for each person and each session", async () => {
    const world = await openWorld({ hub: { maxQuestionsPerPrincipal: 5 } });
    const ear = await world.connect({ principal: ADA });
    const sessions = Array.from({ length: 50 }, () => world.agent.start({ summary: "Asking." }));
    const asked = sessions.map((session) =>
      session.confirm({ action: "Do it.", consequence: "It is done." }),
    );
    await world.settle();
    expect(ear.questions).toHaveLength(5);
    await ear.close();
    const outcomes = await Promise.all(asked);
    expect(outcomes.every(({ accepted }) => !accepted)).toBe(true);
    const [session] = sessions;
    const many = await Promise.allSettled(
      Array.from({ length: 100 }, () => session!.clarify({ question: "?" })),
    );
    expect(many.filter(({ status }) => status === "rejected")).toHaveLength(68);
  });
});

describe("F22: a flood of “what is happening?”", () => {
  it("is answered twenty times, then once a second", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Working." });
    await world.settle();
    const before = ear.events.length;
    for (let i = 0; i < 100; i++) await ear.wire.send({ type: "earshot:status", subscription_id: ear.id });
    expect(ear.events).toHaveLength(before + 20);
    await world.advance(1);
    expect(await ear.status()).toBe(true);
    expect(await ear.follow(session.session_id)).toBe(false);
  });
});

describe("a record that cannot be kept", () => {
  it("does not leave anybody waiting, and the operator learns of it", async () => {
    const world = await openWorld({
      audit: () => {
        throw new Error("the books are full");
      },
    });
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(await ear.reject()).toBe(true);
    expect(await outcome).toMatchObject({ outcome: "rejected" });
    expect(world.warnings.join()).toContain("the books are full");
  });
});

describe("F23: the wall clock jumps by an hour", () => {
  it.each([3_600_000, -3_600_000])("by %d ms, and no deadline moves", async (ms) => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool({ ...TRANSFER, timeout_seconds: 120 }, () => 1);
    await world.advance(60);
    world.clock.jump(ms);
    await world.advance(59);
    expect(ear.settled.size).toBe(0);
    await world.advance(1);
    expect(await outcome).toMatchObject({ outcome: "timed_out" });
  });
});

describe("F24: a backdated reply", () => {
  it("counts or not by when it arrives, whatever it says", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const late = session.tool({ ...TRANSFER, timeout_seconds: 60 }, () => 1);
    await world.settle();
    const question = ear.question;
    await world.advance(60);
    expect(await ear.accept(question, { timestamp: question.timestamp })).toBe(false);
    expect(await late).toMatchObject({ outcome: "timed_out" });
    const skewed = session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(await ear.accept(ear.question, { timestamp: "2025-12-31T20:00:00.000Z" })).toBe(false);
    expect(await ear.accept(ear.question, { timestamp: "2026-01-01T04:00:00.000Z" })).toBe(false);
    expect(await ear.accept(ear.question, { timestamp: "2025-12-31T23:58:00.000Z" })).toBe(true);
    expect(await skewed).toMatchObject({ ran: true });
  });
});

describe("CON-12: an honest yes, and a clock that was set", () => {
  const HOUR = 3_600_000;
  const FORTY_YEARS = 40 * 365 * 24 * HOUR;
  const asked = async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool({ ...TRANSFER, timeout_seconds: 120 }, () => 1);
    return { world, ear, outcome };
  };

  it.each([-HOUR, HOUR, -FORTY_YEARS, FORTY_YEARS])(
    "counts where the clock they share jumps by %d ms before it",
    async (ms) => {
      const { world, ear, outcome } = await asked();
      await world.advance(60);
      world.clock.jump(ms);
      await world.advance(30);
      expect(await ear.accept(ear.question, { timestamp: world.clock.timestamp() })).toBe(true);
      expect(await outcome).toMatchObject({ ran: true });
    },
  );

  it.each([
    ["four minutes behind", -240_000],
    ["four minutes ahead", 240_000],
  ])("counts where only the listener's clock is %s", async (_, ms) => {
    const { world, ear, outcome } = await asked();
    await world.advance(60);
    const timestamp = new Date(Date.parse(world.clock.timestamp()) + ms).toISOString();
    expect(await ear.accept(ear.question, { timestamp })).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
  });

  it("does not make a late one count", async () => {
    const { world, ear, outcome } = await asked();
    await world.settle();
    const { question } = ear;
    await world.advance(120);
    world.clock.jump(-HOUR);
    expect(await ear.accept(question, { timestamp: world.clock.timestamp() })).toBe(false);
    expect(await outcome).toMatchObject({ outcome: "timed_out" });
  });
});

describe("F26: a process that slept past the deadline", () => {
  it("finds the reply and the timer at once, and the deadline wins, in either order", () => {
    for (const first of ["reply", "timer"] as const) {
      let now = 0;
      const timers: { at: number; callback: () => void }[] = [];
      const clock: Clock = {
        now: () => now,
        timestamp: () => "2026-01-01T00:00:00.000Z",
        timer: (at, callback) => {
          timers.push({ at, callback });
          return () => {};
        },
      };
      const outcomes: string[] = [];
      const event = {
        type: "aaep:agent.awaiting.confirmation",
        reply_token: "rpl_1",
        timeout_seconds: 60,
        timestamp: "2026-01-01T00:00:00.000Z",
      } as AwaitingConfirmation;
      const question = new Question({ event, extensions: 0, ceiling_seconds: 60 }, clock, {
        warn: () => {},
        extended: () => {},
        settled: (_, { outcome }) => outcomes.push(outcome),
      });
      const reply = {
        type: "confirmation.reply",
        decision: "accept",
        timestamp: event.timestamp,
      } as ConfirmationReply;
      now = 3_600_000;
      const steps = { reply: () => question.answer(reply, "ada", true), timer: () => timers[0]!.callback() };
      steps[first]();
      steps[first === "reply" ? "timer" : "reply"]();
      expect(outcomes).toEqual(["timed_out"]);
    }
  });
});

describe("F27: a reply that races the timeout", () => {
  it("has exactly one outcome, in the books and in the log", async () => {
    for (let ms = -2; ms <= 2; ms++) {
      const books: string[] = [];
      const world = await openWorld({
        audit: (record) => {
          if (record.kind === "settled") books.push(record.outcome);
        },
      });
      const ear = await world.connect();
      const session = world.agent.start({ summary: "Moving money." });
      const outcome = session.tool({ ...TRANSFER, timeout_seconds: 60 }, () => 1);
      await world.settle();
      world.clock.timer(world.clock.now() + 60_000 + ms, () => void ear.accept());
      await world.advance(61);
      expect(books).toEqual([ms < 0 ? "accepted" : "timed_out"]);
      expect((await outcome).ran).toBe(ms < 0);
      const notices = world.witness
        .all("state.changed")
        .filter(({ extensions }) => extensions?.["earshot"]?.["resolves"]);
      expect(notices).toHaveLength(1);
      world.check();
    }
  });
});

describe("an answer posted while its stream is down", () => {
  it("counts within the grace, because a proxy that cuts a stream must not silence a person", async () => {
    const world = await openWorld();
    const listener = new HubListener(world.agent, { transport: "sse" });
    const session = world.agent.start({ summary: "Moving money." });
    const first = session.tool(TRANSFER, () => 1);
    await world.settle();
    const [question] = listener.questions;
    listener.drop();
    await world.advance(10);
    expect(await listener.accept(question)).toBe(true);
    expect(await first).toMatchObject({ ran: true });
    listener.connect(listener.lastEventId);
    await world.settle();
    const second = session.tool(TRANSFER, () => 1);
    await world.settle();
    const other = await world.connect();
    const [late] = listener.questions;
    listener.drop();
    await world.advance(31);
    expect(await listener.accept(late)).toBe(false);
    await other.reject();
    expect(await second).toMatchObject({ outcome: "rejected" });
  });
});
