/**
 * An agent that is stopped on purpose, with a log that outlives it, leaves everything open for the next process: nobody
 * is taken for gone, no question is settled, and what runs on a yes may end. Without such a log it says goodbye.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditRecord } from "../../src/hub/record.ts";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { serve } from "../../src/server/index.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/index.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { subscribe } from "../../src/subscriber/index.ts";
import { TRANSFER } from "../support/driver.ts";
import { AgentProcesses, Phone } from "./agent-processes.ts";

const durable = () => ({ ...createMemoryStore(), durable: true });
const isPending = async (promise: Promise<unknown>): Promise<boolean> => {
  const pending = Symbol("pending");
  const later = new Promise((resolve) => setImmediate(resolve)).then(() => pending);
  return (await Promise.race([promise, later])) === pending;
};

describe("an agent that is stopped, with a log that outlives it", () => {
  it("leaves a question open: same token, same deadline, asked once, answered in the next process (CON-04)", async () => {
    const lives = new AgentProcesses({}, durable());
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Paying the rent." });
    const work = session.tool({ ...TRANSFER, key: "rent" }, () => "paid");
    await lives.life.settle();
    expect(phone.questions).toHaveLength(1);
    await lives.life.pass(20);
    await lives.life.agent.close();
    await lives.life.settle();
    expect(phone.settled).toEqual([]);
    expect(await isPending(work)).toBe(true);
    // Nobody answers to a process that is on its way out.
    expect(await phone.accept()).toBe(false);
    const life = await lives.restart(5);
    expect(phone.rejoin(life)).toBe(true);
    const again = life.agent.resume(session.session_id).tool({ ...TRANSFER, key: "rent" }, () => "paid");
    await life.settle();
    expect(phone.questions).toHaveLength(1);
    expect(await phone.accept()).toBe(true);
    expect(await again).toEqual({ ran: true, value: "paid" });
    expect(phone.settled).toEqual(["accepted"]);
  });

  it("keeps the deadline a question had, counted on through the restart", async () => {
    const lives = new AgentProcesses({}, durable());
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Paying the rent." });
    void session.tool({ ...TRANSFER, timeout_seconds: 60 }, () => "paid");
    await lives.life.settle();
    await lives.life.pass(20);
    await lives.life.agent.close();
    // Its own timers are still, however long the old process lingers.
    await lives.life.pass(10);
    expect(phone.settled).toEqual([]);
    const life = await lives.restart(5);
    phone.rejoin(life);
    await life.pass(24);
    expect(phone.settled).toEqual([]);
    await life.pass(2);
    expect(phone.settled).toEqual(["timed_out"]);
  });

  it("tells those who can resume only that the line ends, and the others that the subscription does (HS-19)", async () => {
    const lives = new AgentProcesses({}, durable());
    const hub = hubOf(lives.life.agent);
    const told: string[] = [];
    const connect = (name: string, transport: string) => {
      const { subscription } = hub.subscribe(
        { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: name, capabilities: {} },
        { id: name, role: "reply", audiences: "all" },
        transport,
      );
      hub.connect(subscription!, {
        send: () => undefined,
        tell: (message) => void told.push(`${name} ${message.type}`),
        close: (reason) => void told.push(`${name} ${reason}`),
      });
      return subscription!;
    };
    connect("phone", "sse");
    connect("pipe", "stdio");
    await lives.life.agent.close();
    expect(told).toEqual(["phone producer_shutdown", "pipe subscription.close", "pipe producer_shutdown"]);
    const { answer } = hub.subscribe(
      { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "late", capabilities: {} },
      { id: "late", role: "reply", audiences: "all" },
      "sse",
    );
    expect(answer).toMatchObject({ type: "subscription.rejected", retry_after_seconds: 1 });
    expect(lives.store.facts("subscription")).toHaveLength(1);
  });

  it("lets what runs on a yes end, so that its outcome is known and it never runs again (F02)", async () => {
    const records: AuditRecord[] = [];
    const lives = new AgentProcesses({ audit: (record) => void records.push(record) }, durable());
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Paying the rent." });
    let ran = 0;
    let end = () => {};
    void session.tool({ ...TRANSFER, key: "rent" }, () => {
      ran++;
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await lives.life.settle();
    phone.accept();
    await lives.life.settle();
    expect(ran).toBe(1);
    const closed = lives.life.agent.close();
    await lives.life.settle();
    expect(await isPending(closed)).toBe(true);
    end();
    await closed;
    expect(records.map(({ kind }) => kind).slice(-2)).toEqual(["begun", "ended"]);
    const life = await lives.restart();
    const again = life.agent.resume(session.session_id);
    expect(await again.tool({ ...TRANSFER, key: "rent" }, () => ran++)).toMatchObject({
      ran: false,
      outcome: "already_done",
    });
    expect(ran).toBe(1);
  });

  it("leaves what does not end in time as unknown, and says so in the next process (F02)", async () => {
    const records: AuditRecord[] = [];
    const lives = new AgentProcesses({ audit: (record) => void records.push(record) }, durable());
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Paying the rent." });
    let end = () => {};
    void session.tool({ ...TRANSFER, key: "rent" }, () => {
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    await lives.life.settle();
    phone.accept();
    await lives.life.settle();
    const closed = lives.life.agent.close({ finishSeconds: 2 });
    await lives.life.pass(2);
    await closed;
    const known = lives.events.length;
    end();
    await lives.life.settle();
    expect(lives.events).toHaveLength(known);
    expect(records.at(-1)?.kind).toBe("begun");
    const life = await lives.restart();
    const again = life.agent.resume(session.session_id);
    const outcome = await again.tool({ ...TRANSFER, key: "rent" }, () => "never");
    expect(outcome).toMatchObject({ ran: false, outcome: "unknown_outcome" });
    expect(lives.told.join(" ")).toContain("It is not known whether this was done");
  });

  it("begins nothing any more: no question, no tool, no word, and no books of them", async () => {
    const records: AuditRecord[] = [];
    const lives = new AgentProcesses({ audit: (record) => void records.push(record) }, durable());
    new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Paying the rent." });
    await lives.life.settle();
    await lives.life.agent.close();
    const known = lives.events.length;
    let ran = 0;
    const calls = [
      session.say("One more thing."),
      session.tool(TRANSFER, () => ran++),
      session.tool({ ...TRANSFER, waitForListenerSeconds: 5 }, () => ran++),
      session.tool({ tool: "look_up", summary: "Looking it up." }, () => ran++),
      session.complete(),
    ];
    await lives.life.pass(3600);
    for (const call of calls.slice(0, 4)) expect(await isPending(call)).toBe(true);
    expect(ran).toBe(0);
    expect(records).toEqual([]);
    expect(lives.events).toHaveLength(known);
    expect(lives.life.warnings).toEqual([]);
    const life = await lives.restart();
    expect(life.agent.interrupted.map(({ session_id }) => session_id)).toEqual([session.session_id]);
  });

  it("can be closed twice, and gives up everything where that is asked for", async () => {
    const lives = new AgentProcesses({}, durable());
    const phone = new Phone().join(lives.life);
    const work = lives.life.agent.start({ summary: "Paying." }).tool(TRANSFER, () => "paid");
    await lives.life.settle();
    await lives.life.agent.close({ keep: false });
    expect(await work).toMatchObject({ ran: false, outcome: "disconnected" });
    expect(lives.store.facts("subscription")).toEqual([]);
    expect(phone.questions).toHaveLength(1);
    await Promise.all([lives.life.agent.close(), lives.life.agent.close()]);
  });
});

it(
  "stopped at any moment between a question and its end, it runs once or not at all, and never unasked (property, F01, F02)",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom("before the question", "before the yes", "after the yes"),
        fc.nat(40),
        fc.boolean(),
        async (when, ticks, quick) => {
          const lives = new AgentProcesses({}, durable());
          const phone = new Phone().join(lives.life);
          let ran = 0;
          let agreed = false;
          const act = async () => {
            expect(agreed).toBe(true);
            ran++;
            if (!quick) await new Promise<never>(() => {});
          };
          const spec = { ...TRANSFER, key: "rent" };
          const say = (): void => {
            void phone.accept().then((taken) => {
              agreed ||= taken;
            });
          };
          await lives.life.settle();
          const session = lives.life.agent.start({ summary: "Paying the rent." });
          await lives.life.settle();
          void session.tool(spec, act);
          if (when !== "before the question") await lives.life.settle();
          if (when === "after the yes") say();
          for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
          const closed = lives.life.agent.close({ finishSeconds: 1 });
          await lives.life.pass(1);
          await closed;
          const before = ran;
          const life = await lives.restart(1);
          expect(phone.rejoin(life)).toBe(true);
          const outcome = life.agent.resume(session.session_id).tool(spec, () => {
            expect(agreed).toBe(true);
            ran++;
          });
          await life.settle();
          if (!agreed) {
            expect(ran).toBe(0);
            say();
            await life.settle();
          }
          expect(agreed).toBe(true);
          const result = await outcome;
          expect(ran).toBe(1);
          if (before === 0) expect(result).toMatchObject({ ran: true });
          else expect(result).toMatchObject({ outcome: quick ? "already_done" : "unknown_outcome" });
          expect(phone.tokens).toHaveLength(1);
          expect(phone.settled).toEqual(["accepted"]);
        },
      ),
      { numRuns: process.env["EARSHOT_LONG"] ? 500 : 60 },
    ),
  60_000,
);

describe("an agent that is stopped, with a log in memory", () => {
  it("settles its questions as nobody's, for there is no next process", async () => {
    const lives = new AgentProcesses();
    new Phone().join(lives.life);
    const work = lives.life.agent.start({ summary: "Paying the rent." }).tool(TRANSFER, () => "paid");
    await lives.life.settle();
    await lives.life.agent.close();
    expect(await work).toMatchObject({ ran: false, outcome: "disconnected" });
  });
});

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** One process's worth of an agent: its own store on the directory, its own server on the port. */
async function live(directory: string, port: number) {
  const store = await openEmbeddedStore({ directory, warn: () => {} });
  const agent = createProducer({ agent_id: "com.example.bank", store, warn: () => {} });
  const auth = () => ({ id: "ada", role: "reply", audiences: "all" }) as const;
  const unix = { path: join(directory, "agent.sock") };
  const serving = await serve(agent, { port, tokenFile: false, auth, unix, log: () => {} });
  let stopped: Promise<void> | undefined;
  /** As a supervisor's SIGTERM is handled. */
  const stop = () => {
    stopped ??= serving.close().then(() => store.close());
    return stopped;
  };
  cleanups.push(stop);
  return { agent, port: serving.port, unix: serving.unix!, stop };
}

describe("an agent that is stopped and started again while somebody listens, with its log on disk", () => {
  it.each([
    ["http", "after the restart"],
    ["ws", "after the restart"],
    ["unix", "after the restart"],
    ["http", "while the agent is away"],
    ["ws", "while the agent is away"],
  ] as const)(
    "is found again over %s, asks once, takes the yes said %s, and runs once (F01, HS-20, CON-04)",
    async (scheme, when) => {
      const directory = mkdtempSync(join(tmpdir(), "earshot-graceful-"));
      cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
      const first = await live(directory, 0);
      const address = scheme === "unix" ? first.unix : `${scheme}://127.0.0.1:${first.port}`;
      const ear = await subscribe(address, {
        ...(scheme === "unix" ? {} : { token: "ada" }),
        supports_confirmation_reply: true,
        random: () => 0.1,
      });
      cleanups.push(() => ear.close());
      const heard: AgentEvent[] = [];
      const lines: string[] = [];
      const ends: string[] = [];
      let gaps = 0;
      const answers: (() => Promise<boolean | undefined>)[] = [];
      ear.on("event", (event) => heard.push(event));
      ear.on("connection", ({ state, message }) => lines.push(state === "lost" ? message : state));
      ear.on("closed", ({ code }) => ends.push(code));
      ear.on("gap", () => gaps++);
      ear.on("confirmation", (ask) => answers.push(() => ask.accept()));
      const id = ear.id;
      const session = first.agent.start({ summary: "Paying the rent." });
      await session.say("I found the invoice. ");
      let ran = 0;
      void session.tool({ ...TRANSFER, key: "rent" }, () => void ran++);
      await until(() => answers.length === 1);
      await first.stop();
      await until(() => lines.length > 0);
      expect(lines[0]).toContain("restarting");
      const early = when === "while the agent is away" ? answers[0]!() : undefined;
      const second = await live(directory, first.port);
      const again = second.agent.resume(session.session_id);
      const outcome = again.tool({ ...TRANSFER, key: "rent" }, () => void ran++);
      await until(() => lines.includes("connected"));
      const taken = await (early ?? answers[0]!());
      expect(taken).toBe(scheme === "http" ? true : undefined);
      expect(await outcome).toMatchObject({ ran: true });
      await again.complete();
      await until(() => heard.at(-1)?.type === "aaep:agent.session.completed");
      expect(ran).toBe(1);
      expect(answers).toHaveLength(1);
      expect({ gaps, ends, id: ear.id }).toEqual({ gaps: 0, ends: [], id });
      const ids = heard.map(({ event_id }) => event_id);
      expect(new Set(ids).size).toBe(ids.length);
    },
    20_000,
  );
});
