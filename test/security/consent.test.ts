/** Attacks on consent: guessing, replaying, crossing over, cutting lines, changing what was approved. */

import { describe, expect, it } from "vitest";
import { hubOf } from "../../src/producer/producer.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import type { AwaitingConfirmation } from "../../src/protocol/types.ts";
import { type Ear, openWorld, TRANSFER, type World } from "../support/driver.ts";

const reply = (world: World, subscription_id: string, reply_token: string, decision = "accept") =>
  ({
    type: "confirmation.reply",
    subscription_id,
    reply_token,
    decision,
    timestamp: world.clock.timestamp(),
  }) as never;

describe("A01: accept and reject at the same moment", () => {
  it("have one winner", async () => {
    const world = await openWorld();
    const [one, two] = [await world.connect(), await world.connect()];
    for (let i = 0; i < 20; i++) {
      const session = world.agent.start({ summary: "Moving money." });
      let ran = 0;
      const outcome = session.tool(TRANSFER, () => ran++);
      await world.settle();
      const { question } = one;
      const both =
        i % 2 ? [one.accept(question), two.reject(question)] : [two.reject(question), one.accept(question)];
      const taken = await Promise.all(both);
      expect(taken).toEqual([true, false]);
      expect((await outcome).ran).toBe(i % 2 === 1);
      expect(ran).toBe(i % 2);
      await session.complete();
    }
    world.check();
  });
});

describe("A02: guessing", () => {
  it("finds tokens of 128 random bits, one and the same refusal, and soon nothing at all", async () => {
    const world = await openWorld();
    const ada = await world.connect({ principal: { id: "ada", role: "reply", audiences: "all" } });
    const mallory = await world.connect({ principal: { id: "mallory", role: "reply", audiences: "all" } });
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    const { reply_token } = ada.question;
    expect(reply_token).toMatch(/^rpl_[0-9a-f]{32}$/);
    for (let i = 0; i < 20; i++) {
      const guess = `rpl_${i.toString(16).padStart(32, "0")}`;
      expect(await mallory.wire.send(reply(world, mallory.id, guess))).toEqual({ taken: false });
    }
    // Over the limit even the right answer is refused, and looks like every other refusal.
    expect(await mallory.wire.send(reply(world, mallory.id, reply_token))).toEqual({ taken: false });
    // Whoever else was asked is not held up by it.
    expect(await ada.accept()).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
    const next = session.tool(TRANSFER, () => 1);
    await world.advance(3.1);
    expect(await mallory.reject()).toBe(true);
    expect(await next).toMatchObject({ outcome: "rejected" });
  });
});

describe("A03: an answer across subscriptions, sessions and users", () => {
  it("counts in no combination but the right one", async () => {
    const people: Principal[] = [
      { id: "ada", role: "reply", audiences: ["adas"] },
      { id: "bob", role: "reply", audiences: ["bobs"] },
      { id: "eve", role: "listen", audiences: "all" },
    ];
    const world = await openWorld();
    const ears: Ear[] = [];
    for (const principal of [...people, people[0]!]) ears.push(await world.connect({ principal }));
    const late = async () => world.connect({ principal: people[1]! });
    const sessions = ["adas", "bobs"].map((name) => world.agent.start({ summary: name, audience: [name] }));
    const runs = [0, 0];
    const outcomes = sessions.map((session, i) => session.tool(TRANSFER, () => void runs[i]!++));
    await world.settle();
    const gone = await late();
    await gone.close();
    const tokens = [ears[0]!.question.reply_token, ears[1]!.question.reply_token];
    let refused = 0;
    for (const [t, token] of tokens.entries()) {
      for (const [s, ear] of [...ears, gone].entries()) {
        for (const principal of people) {
          const right =
            (t === 0 && principal.id === "ada" && (s === 0 || s === 3)) ||
            (t === 1 && principal.id === "bob" && s === 1);
          if (right) continue;
          expect(await ear.send(reply(world, ear.id, token), principal)).toEqual({ taken: false });
          refused++;
        }
      }
    }
    expect(refused).toBe(27);
    expect(runs).toEqual([0, 0]);
    expect(await ears[3]!.accept(ears[3]!.question)).toBe(true);
    expect(await ears[1]!.reject()).toBe(true);
    expect((await Promise.all(outcomes)).map(({ ran }) => ran)).toEqual([true, false]);
    expect(runs).toEqual([1, 0]);
  });

  it("nor does one sent on a connection that is another subscription's", async () => {
    const world = await openWorld();
    const [one, two] = [await world.connect(), await world.connect()];
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    const hub = hubOf(world.agent);
    const me: Principal = { id: "local", role: "reply", audiences: "all" };
    const bound = hub.find(two.id, me);
    expect(await hub.handle(reply(world, one.id, one.question.reply_token), me, bound)).toEqual({
      taken: false,
    });
    expect(await hub.handle(reply(world, two.id, one.question.reply_token), me, bound)).toEqual({
      taken: true,
    });
    expect(await outcome).toMatchObject({ ran: true });
  });
});

describe("A05: cutting the line to force the default", () => {
  it("is never a yes to anything that cannot be undone or is of high risk", async () => {
    for (const spec of [
      { irreversible: true, risk: "low" },
      { irreversible: true, risk: "medium" },
      { irreversible: true, risk: "high" },
      { irreversible: false, risk: "high" },
      { irreversible: false, risk: "medium" },
      { irreversible: false, reversibility: "irreversible", risk: "low" },
    ] as const) {
      for (const cut of ["drop", "close"] as const) {
        const world = await openWorld();
        const ear = await world.connect();
        const session = world.agent.start({ summary: "Moving money." });
        let ran = 0;
        const outcome = session.tool({ ...TRANSFER, ...spec }, () => ran++);
        await world.settle();
        expect(ear.question).toMatchObject({ default_decision: "reject" });
        await ear[cut]();
        expect(await outcome).toMatchObject({ ran: false, outcome: "disconnected" });
        expect(ran).toBe(0);
      }
    }
  });
});

describe("A06: parameters changed after approval", () => {
  it("never run: getters, proxies, the caller's own object and the reply's changes included", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let reads = 0;
    const sly = {
      get amount() {
        return reads++ === 0 ? 5 : 5_000;
      },
      to: "savings",
    };
    const ran: unknown[] = [];
    const outcome = session.tool({ ...TRANSFER, params: sly }, (params) => ran.push(params));
    const settled = await Promise.race([
      outcome.catch((error: { code: string }) => error.code),
      world.settle(),
    ]);
    if (settled === undefined) {
      const [amount] = (ear.question as AwaitingConfirmation).extra_context!["params"] as { value: number }[];
      await ear.accept();
      await outcome;
      expect(ran).toEqual([{ amount: amount!.value, to: "savings" }]);
    } else expect(settled).toBe("CON-49");

    const changed = session.tool({ ...TRANSFER, modifiable: ["amount"] }, (params) => ran.push(params));
    await world.settle();
    const before = ran.length;
    await ear.accept(ear.question, { modified_action: { amount: 9_999_999 } });
    expect(ran).toHaveLength(before);
    await ear.reject();
    expect(await changed).toMatchObject({ ran: false, outcome: "rejected" });
    expect(ran).toHaveLength(before);
  });

  it("binds listeners to what was shown by a hash that gives no secret away", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Signing in." });
    const hashes: unknown[] = [];
    for (const pin of ["0000", "4711"]) {
      const spec = { ...TRANSFER, action: "Sign in.", params: { user: "ada", pin } };
      const outcome = session.tool(spec, () => 1);
      await world.settle();
      hashes.push((ear.question as AwaitingConfirmation).extra_context?.["params_hash"]);
      await ear.reject();
      await outcome;
    }
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(hashes[0]).toBe(hashes[1]);
  });
});
