/** The gate against its own surroundings: odd specs, failing hooks, odd clocks, and listeners that answer nonsense. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProducer, hubOf, type ProducerOptions } from "../../src/producer/producer.ts";
import type { Session } from "../../src/producer/session.ts";
import type { GatedToolSpec } from "../../src/producer/specs.ts";
import type { Peer } from "../../src/protocol/hub-port.ts";
import { createFakeClock } from "../../src/testing/index.ts";
import { listen } from "../support/hub-listener.ts";

const TRANSFER = {
  tool: "transfer",
  summary: "Transferring.",
  irreversible: true,
  risk: "high",
  params: { amount: 500 },
  action: (params: { amount: number }) => `Transfer ${params.amount} dollars.`,
  consequence: "The money is gone.",
} as const satisfies GatedToolSpec<{ amount: number }>;

const never = () => new Promise<never>(() => {});

function open(options: Partial<ProducerOptions> = {}) {
  const clock = createFakeClock();
  const warnings: string[] = [];
  const warn = (sentence: string) => void warnings.push(sentence);
  const agent = createProducer({ agent_id: "com.example.bank", clock, warn, ...options });
  return { clock, agent, warnings };
}

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

describe("what a spec says about itself", () => {
  const shapes: Record<string, () => GatedToolSpec<{ amount: number }>> = {
    "on a class": () =>
      new (class {
        readonly tool = "transfer";
        readonly summary = "Transferring.";
        get irreversible() {
          return true;
        }
        get params() {
          return { amount: 500 };
        }
        get action() {
          return "Transfer 500 dollars.";
        }
        get consequence() {
          return "The money is gone.";
        }
      })(),
    inherited: () => Object.assign(Object.create(TRANSFER), { tool: "transfer", summary: "Transferring." }),
    "hidden from listing": () =>
      Object.defineProperties(
        {},
        Object.fromEntries(Object.entries(TRANSFER).map(([name, value]) => [name, { value }])),
      ) as unknown as GatedToolSpec<{ amount: number }>,
    "behind a proxy that lists nothing": () =>
      new Proxy({} as GatedToolSpec<{ amount: number }>, {
        get: (_, name) => Reflect.get(TRANSFER, name),
        has: () => false,
        ownKeys: () => [],
      }),
  };
  for (const [name, make] of Object.entries(shapes)) {
    it(`counts ${name}: it is asked about, and does not run unasked (CNF-01)`, async () => {
      const { clock, agent } = open();
      const session = agent.start({ summary: "Moving money." });
      const ran: unknown[] = [];
      const run = () => session.tool(make(), (params) => void ran.push(params));
      expect(await run()).toMatchObject({ ran: false, outcome: "nobody_to_ask" });
      expect(ran).toEqual([]);
      const listener = listen(agent);
      const asked = run();
      await clock.settle();
      listener.accept();
      expect((await asked).ran).toBe(true);
      expect(ran).toEqual([{ amount: 500 }]);
    });
  }

  it("counts where silence would be a yes: what inherits `irreversible` is refused (CON-03)", async () => {
    const session = open().agent.start({ summary: "Asking." });
    const spec = { risk: "low", irreversible: false, default: "accept", action: "Go.", consequence: "Gone." };
    const { irreversible: _, ...rest } = spec;
    const hidden = Object.assign(Object.create({ irreversible: true }), rest);
    await expect(session.confirm(hidden)).rejects.toMatchObject({ code: "CON-03" });
  });

  it("counts as irreversible where it says something nobody knows (CON-03)", async () => {
    const session = open().agent.start({ summary: "Asking." });
    let ran = 0;
    const odd = { tool: "x", summary: "X.", reversibility: "Irreversible" };
    await expect(session.tool(odd, () => void ran++)).rejects.toMatchObject({ code: "CNF-01" });
    expect(ran).toBe(0);
  });

  it("is refused before anybody is asked, if it could not be reported afterwards (SEQ-10)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent, { confirm: () => "accept" });
    const session = agent.start({ summary: "Moving money." });
    let ran = 0;
    for (const odd of [{ done: "" }, { failed: "" }, { timeoutMs: Number.NaN }, { timeoutMs: 0 }]) {
      await expect(session.tool({ ...TRANSFER, ...odd }, () => void ran++)).rejects.toThrow();
    }
    await expect(session.tool(TRANSFER, undefined as never)).rejects.toMatchObject({
      code: "tool_without_function",
    });
    await clock.settle();
    expect(ran).toBe(0);
    expect(listener.events.some(({ type }) => type === "aaep:agent.awaiting.confirmation")).toBe(false);
  });
});

describe("taking it back after the yes", () => {
  it("during the second check keeps it from running, and everyone hears that", async () => {
    const stop = new AbortController();
    const { clock, agent } = open({
      onAccept: () => {
        stop.abort();
        return true;
      },
    });
    const listener = listen(agent, { confirm: () => "accept" });
    const session = agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = await session.tool({ ...TRANSFER, signal: stop.signal }, () => void ran++);
    await clock.settle();
    expect(outcome).toMatchObject({ ran: false, outcome: "withdrawn" });
    expect(ran).toBe(0);
    expect(listener.spoken.at(-1)).toBe("The question was taken back, so it was not done.");
    expect(listener.events.some(({ type }) => type === "aaep:agent.tool.invoked")).toBe(false);
    expect(session.currentState).toBe("thinking");
  });

  it("while the announcement is on its way closes the call, which never started (SEQ-10)", async () => {
    const { clock, agent } = open();
    const stop = new AbortController();
    const listener = listen(agent, { confirm: () => "accept" });
    const { append } = hubOf(agent);
    hubOf(agent).append = (event, options, proof) => {
      if (event["type"] === "aaep:agent.tool.invoked") stop.abort();
      return append.call(hubOf(agent), event, options, proof);
    };
    const session = agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = await session.tool({ ...TRANSFER, signal: stop.signal }, () => void ran++);
    await session.complete();
    await clock.settle();
    expect(outcome).toMatchObject({ ran: false, outcome: "withdrawn" });
    expect(ran).toBe(0);
    const calls = listener.events.filter(({ type }) => type === "aaep:agent.tool.completed");
    expect(calls).toMatchObject([{ status: "error" }]);
  });

  it("or stopping everything ends a second check that never answers", async () => {
    const { clock, agent } = open({ onAccept: never });
    const listener = listen(agent, { confirm: () => "accept" });
    const session = agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = session.tool(TRANSFER, () => void ran++);
    const stop = new AbortController();
    const other = agent.start({ summary: "Moving more." });
    const takenBack = other.tool({ ...TRANSFER, signal: stop.signal }, () => void ran++);
    await clock.settle();
    expect(await listener.stop(session.session_id)).toBe(true);
    stop.abort();
    expect(await outcome).toMatchObject({ ran: false, outcome: "withdrawn" });
    expect(await takenBack).toMatchObject({ ran: false, outcome: "withdrawn" });
    expect(ran).toBe(0);
  });
});

describe("what fails around a question", () => {
  const broken = () => {
    throw new Error("broken");
  };

  it("does not take its answer along: books and warnings that throw", async () => {
    const { clock, agent } = open({ audit: broken, warn: broken });
    const listener = listen(agent);
    const session = agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => "done");
    await clock.settle();
    expect(await listener.accept()).toBe(true);
    expect(await outcome).toEqual({ ran: true, value: "done" });
    await clock.settle();
    expect(listener.questions).toEqual([]);
    expect(session.currentState).toBe("thinking");
  });

  it("withholds the text that `redact` fails on, tells the operator, and ends the session (EVT-16)", async () => {
    const redact = (text: string) => {
      if (text.includes("boom")) throw new Error("broken");
      return text.includes("later") ? (Promise.resolve("x") as unknown as string) : text;
    };
    const { clock, agent, warnings } = open({ redact });
    const listener = listen(agent);
    const session = agent.start({ summary: "Talking." });
    void session.say("boom, here is one. ");
    void session.say("And later another.");
    await session.complete();
    await clock.settle();
    expect(listener.text).not.toMatch(/boom|later/);
    expect(listener.text).toMatch(/\[secret removed\]/);
    expect(warnings.join()).toMatch(/withheld/);
    expect(session.ended).toBe(true);
  });

  it("is an answer where it came from outside: a change no tool could be given is a no (CON-73)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent);
    const session = agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = session.tool({ ...TRANSFER, modifiable: ["amount"] }, () => void ran++);
    await clock.settle();
    // What JSON.parse makes of 1e999.
    expect(await listener.accept(undefined, { modified_action: { amount: Infinity } })).toBe(true);
    expect(await outcome).toMatchObject({ ran: false, outcome: "rejected" });
    expect(ran).toBe(0);
    expect(session.currentState).toBe("thinking");
  });

  it("does not stop phrases that throw from being anything but silent", async () => {
    const { ENGLISH } = await import("../../src/producer/phrases.ts");
    const { clock, agent } = open({ phrases: { en: { ...ENGLISH, timeLeft: broken, moreTime: broken } } });
    const listener = listen(agent);
    const session = agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => 1);
    await clock.settle();
    expect(await listener.moreTime()).toBe(true);
    await clock.advance(600_000);
    expect(await outcome).toMatchObject({ outcome: "timed_out" });
    expect(session.failure).toBeInstanceOf(Error);
  });

  it("does not keep a session from ending when the clock runs backwards, nor a wait from being over", async () => {
    let now = 1_000_000;
    const clock = {
      now: () => {
        now -= 100;
        return now;
      },
      timestamp: () => "2026-01-01T00:00:00.000Z",
      timer: () => () => {},
    };
    const agent = createProducer({ agent_id: "com.example.bank", clock, warn: () => {} });
    const session = agent.start({ summary: "Looking." });
    await session.tool({ tool: "look", summary: "Looking." }, () => 1);
    const waited = await session.tool({ ...TRANSFER, waitForListenerSeconds: Number.NaN }, () => 1);
    expect(waited).toMatchObject({ outcome: "nobody_to_ask" });
    await session.complete();
    expect(session.failure).toBeUndefined();
  });
});

describe("what is heard", () => {
  it("is text: what is none is refused, not read out as a word (EVT-13)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent);
    const session = agent.start({ summary: "Talking." });
    for (const odd of [undefined, null, 5, {}]) {
      await expect(session.say(odd as never)).rejects.toMatchObject({ code: "EVT-13" });
    }
    await session.complete();
    await clock.settle();
    expect(listener.text).toBe("");
  });

  it("says that nobody knows, when something irreversible is cut off by the end of everything", async () => {
    const { clock, agent } = open();
    const listener = listen(agent, { confirm: () => "accept" });
    const session = agent.start({ summary: "Moving money." });
    void session.tool({ tool: "look", summary: "Looking." }, never);
    void session.tool(TRANSFER, never);
    await clock.settle();
    listener.stop(session.session_id);
    await clock.settle();
    const ended = listener.events.filter(({ type }) => type === "aaep:agent.tool.completed");
    expect(ended).toMatchObject([
      { tool: "look", summary_normal: "It was cut off, because everything was stopped." },
      {
        tool: "transfer",
        summary_normal:
          "It was cut off, because everything was stopped. It is not known whether it was done.",
      },
    ]);
  });

  it("never has a secret that lies deeper, and what runs has it all the same (SEC-09)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent);
    const session = agent.start({ summary: "Paying." });
    const params = { amount: 1, payment: { cards: [{ number: 4, cardPin: "12-34" }] } };
    const ran: unknown[] = [];
    const outcome = session.tool({ ...TRANSFER, params, action: "Pay." }, (given) => void ran.push(given));
    await clock.settle();
    expect(JSON.stringify(listener.events)).not.toContain("12-34");
    listener.accept();
    await outcome;
    expect(ran).toEqual([params]);
  });

  it("is how long there is now, after every question that is sent again (CON-47)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent);
    const session = agent.start({ summary: "Moving money." });
    void session.tool(TRANSFER, () => 1);
    await clock.advance(290_000);
    expect(await listener.moreTime()).toBe(true);
    await clock.advance(100_000);
    // By its own words the question sent again is over: without what follows, a listener would drop it.
    const late = listen(agent, { capabilities: { event_filters: { exclude: ["aaep:agent.progress.*"] } } });
    listener.status();
    await clock.settle();
    for (const one of [late, listener]) {
      expect(one.spoken.slice(-2)).toEqual([
        expect.stringMatching(/^Question: /),
        "3 minutes and 30 seconds left to answer.",
      ]);
      const { deadline } = one.events.at(-1)!.extensions!["earshot"] as { deadline: object };
      expect(deadline).toMatchObject({ seconds_left: 210, extensions_left: 9 });
    }
    expect(late.events.at(-1)!.urgency).toBe("critical");
    expect(late.lastEventId).toBeUndefined();
    expect(await late.accept()).toBe(true);
  });
});

describe("a listener that joins while a question is open", () => {
  it("is told how long there is now, not only how long there was at first (CON-47)", async () => {
    const { clock, agent } = open();
    listen(agent);
    const session = agent.start({ summary: "Moving money." });
    void session.tool({ ...TRANSFER, timeout_seconds: 300 }, () => 1);
    await clock.advance(240_000);
    const late = listen(agent);
    await clock.settle();
    expect(late.spoken.slice(-2)).toEqual([expect.stringMatching(/^Question: /), "1 minute left to answer."]);
    expect(late.events.at(-1)!.extensions!["earshot"]).toMatchObject({ deadline: { seconds_left: 60 } });
  });
});

describe("a newer line for the same subscription", () => {
  it("does not end it, though the older one reports its own end at once (TRN-18, CON-04)", async () => {
    const { clock, agent } = open();
    const { subscription } = listen(agent, { transport: "websocket" });
    const session = agent.start({ summary: "Moving money." });
    let outcome: unknown;
    void session
      .tool(TRANSFER, () => 1)
      .then((value) => {
        outcome = value;
      });
    await clock.settle();
    const line = (): Peer => {
      const peer: Peer = {
        send: () => undefined,
        tell: () => {},
        close: () => hubOf(agent).disconnect(subscription, peer),
      };
      return peer;
    };
    hubOf(agent).connect(subscription, line());
    hubOf(agent).connect(subscription, line());
    await clock.settle();
    expect(outcome).toBeUndefined();
    expect(agent.subscriptions).toBe(1);
    expect(subscription.phase).toBe("open");
  });
});

describe("several at once", () => {
  it("are heard one after the other: what was agreed to is announced before the next question (CON-27)", async () => {
    const { clock, agent } = open();
    const listener = listen(agent, { capabilities: { event_filters: { exclude: ["aaep:agent.state.*"] } } });
    const session = agent.start({ summary: "Moving money." });
    const outcomes = [1, 2, 3].map((amount) =>
      session.tool({ ...TRANSFER, summary: `Transferring ${amount}.`, params: { amount } }, () => amount),
    );
    for (let i = 0; i < 3; i++) {
      await clock.settle();
      listener.accept();
    }
    await Promise.all(outcomes);
    await clock.settle();
    const order = listener.events.filter(({ type }) => /tool\.invoked|awaiting/.test(type));
    expect(order.map(({ type }) => type.slice(11))).toEqual(
      [1, 2, 3].flatMap(() => ["awaiting.confirmation", "tool.invoked"]),
    );
  });

  it("may ask again inside the second check without waiting for themselves", async () => {
    const session: { current?: Session } = {};
    const { clock, agent } = open({
      onAccept: async () =>
        (await session.current!.confirm({ action: "Really?", consequence: "It is done." })).accepted,
    });
    listen(agent, { confirm: () => "accept" });
    session.current = agent.start({ summary: "Moving money." });
    const outcome = session.current.tool(TRANSFER, () => "done");
    await clock.settle();
    expect(await outcome).toEqual({ ran: true, value: "done" });
  });
});

describe("the log itself", () => {
  it("takes no announcement of something irreversible that no gate has passed (SEQ-14, CNF-01)", async () => {
    const agent = createProducer({ agent_id: "hostile", clock: createFakeClock() });
    const event = {
      type: "aaep:agent.tool.invoked",
      session_id: "sess_1",
      tool: "transfer",
      irreversible: true,
      summary_normal: "Transferring.",
    };
    await expect(hubOf(agent).append(event)).rejects.toThrow("Only session.tool");
    await expect(hubOf(agent).append(event, {}, Symbol("passed the gate"))).rejects.toThrow(
      "Only session.tool",
    );
  });
});
