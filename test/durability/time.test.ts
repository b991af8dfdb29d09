/** Deadlines, sleeping processes and things that go away in time, from the log on disk. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { encodeEventId } from "../../src/delivery/cursor.ts";
import { auditField, recordOf, verifyRecord } from "../../src/hub/record.ts";
import { hubOf } from "../../src/producer/producer.ts";
import type { Clock } from "../../src/protocol/platform.ts";
import { openEmbeddedStore, readLog } from "../../src/stores/embedded/index.ts";
import { createFakeClock } from "../../src/testing/index.ts";
import { entry } from "../contracts/store.ts";
import { listen } from "../support/hub-listener.ts";
import { open, transfer, until } from "./agent.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-time-"));
let places = 0;
const place = (): string => join(folder, `${++places}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The outcomes in the record on disk, each with where it came from. */
async function settledIn(directory: string): Promise<string[]> {
  const { entries } = recordOf(await readLog({ directory }));
  expect(await verifyRecord(entries)).toMatchObject({ ok: true });
  return entries
    .filter(({ kind }) => kind === "settled")
    .map((one) => `${auditField(one, "outcome")} by ${auditField(one, "origin")}`);
}

/** Time goes on while the process sleeps; its timers find out only when it wakes. */
function sleepyClock() {
  const clock = createFakeClock();
  let slept = 0;
  const sleepy: Clock = { ...clock, now: () => clock.now() + slept };
  const sleep = (ms: number): void => {
    slept += ms;
  };
  return { clock: sleepy, sleep, wake: () => clock.advance(slept) };
}

describe("a question and its deadline", () => {
  it("F26: a process that slept past it with a yes waiting keeps to the default, on disk too and after a restart", async () => {
    const directory = place();
    const { clock, sleep, wake } = sleepyClock();
    const first = await open(directory, {}, clock);
    const ear = listen(first.agent);
    const session = first.agent.start({ summary: "Paying." });
    const done: unknown[] = [];
    const outcome = transfer(session, done);
    await until(first.store, () => ear.questions.length > 0);
    const [question] = ear.questions;
    sleep(3_600_000);
    // The yes is read before any timer gets its turn.
    ear.accept(question);
    await wake();
    expect(await outcome).toMatchObject({ ran: false, outcome: "timed_out" });
    await session.complete();
    await first.store.close();
    expect(await settledIn(directory)).toEqual(["timed_out by timeout"]);
    const second = await open(directory);
    expect(await listen(second.agent).accept(question)).toBe(false);
    await second.clock.settle();
    await second.store.close();
    expect({ done, settled: await settledIn(directory) }).toEqual({
      done: [],
      settled: ["timed_out by timeout"],
    });
  });

  it("F23, F27: an answer that races it has exactly one outcome in the record on disk, wherever the wall clock jumps (property)", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -3, max: 3 }),
        fc.constantFrom(-3_600_000, 0, 3_600_000),
        async (ms, jump) => {
          const directory = place();
          const { store, agent, clock } = await open(directory);
          const ear = listen(agent);
          const session = agent.start({ summary: "Paying." });
          const done: unknown[] = [];
          const outcome = transfer(session, done);
          await until(store, () => ear.questions.length > 0);
          const asked = clock.now();
          const [question] = ear.questions;
          clock.jump(jump);
          const deadline = asked + question!.timeout_seconds * 1000;
          // The clock of whoever answers is another one, and did not jump.
          clock.timer(deadline + ms, () => void ear.accept(question, { timestamp: question!.timestamp }));
          await clock.advance(question!.timeout_seconds * 1000 - 5);
          expect(done, "nothing moves the deadline").toEqual([]);
          await clock.advance(10);
          expect((await outcome).ran).toBe(ms < 0);
          await session.complete();
          await store.close();
          expect(done).toEqual(ms < 0 ? [500] : []);
          expect(await settledIn(directory)).toEqual([ms < 0 ? "accepted by human" : "timed_out by timeout"]);
        },
      ),
      { numRuns: 21 },
    );
  });
});

describe("what retention removes", () => {
  it("a listener whose place was removed is told of a gap, and an open question is kept whatever its age", async () => {
    const directory = place();
    const retain = { bytes: 3000 };
    const first = await open(directory, { segmentBytes: 1000, retain });
    const ear = listen(first.agent);
    await first.agent.run({ summary: "Counting." }, (session) => session.say("One. "));
    await first.clock.settle();
    const old = ear.lastEventId!;
    for (let i = 0; i < 20; i++)
      await first.agent.run({ summary: "Counting." }, (session) => session.say(`Number ${i}. `));
    const open_session = first.agent.start({ summary: "Paying." });
    void transfer(open_session, []).catch(() => undefined);
    await until(first.store, () => ear.questions.length > 0);
    const [question] = ear.questions;
    for (let i = 0; i < 20; i++)
      await first.agent.run({ summary: "Counting." }, (session) => session.say(`Number ${i}. `));
    const { heldBy } = await first.store.compact();
    expect(heldBy).toEqual([open_session.session_id]);
    const at = first.clock.timestamp();
    await first.store.close();

    const second = await open(directory, { segmentBytes: 1000, retain }, at);
    expect(second.store.recent()[0]!.seq, "the first ones are gone").toBeGreaterThan(5);
    const back = listen(second.agent, { connect: false });
    back.connect(old);
    await second.clock.settle();
    expect(back.spoken.join("\n")).toContain("is missing");
    expect(back.questions[0]).toMatchObject({ reply_token: question!.reply_token });
    await second.store.close();
  });

  it("what a listener declared about itself leaves the disk after it has left", async () => {
    const directory = place();
    const { store, agent } = await open(directory, { segmentBytes: 2000, retain: { bytes: 2000 } });
    const ear = listen(agent, { capabilities: { preferred_languages: ["tlh"] } } as never);
    await agent.run({ summary: "Hello." }, (session) => session.say("Hello. "));
    await until(store, () => ear.events.length > 0);
    hubOf(agent).closeAll("producer_shutdown", "Goodbye.");
    for (let i = 0; i < 30; i++)
      await agent.run({ summary: "Counting." }, (session) => session.say(`Number ${i}. `));
    await store.compact();
    expect(store.facts("subscription")).toEqual([]);
    await store.close();
    const log = await readLog({ directory });
    expect(log.facts("subscription")).toEqual([]);
    const kept: string[] = [];
    for await (const one of log.read()) kept.push(JSON.stringify(one));
    expect(kept.join()).not.toContain("tlh");
  });
});

describe("a long log", () => {
  it("a session that is open is taken up from its beginning, however much was said since", async () => {
    const directory = place();
    const store = await openEmbeddedStore({ directory, durability: "none" });
    const chunk = "x".repeat(1024 * 1024);
    const said = (seq: number, session_id: string) =>
      entry(seq, "", { session_id, type: "aaep:agent.output.streaming", chunk });
    const ends = (seq: number) => entry(seq, "", { session_id: "b", type: "aaep:agent.session.completed" });
    await store.append([said(1, "b"), ends(2), said(3, "a")]);
    for (let seq = 4; seq <= 19; seq++) await store.append([said(seq, "b")]);
    await store.append([ends(20)]);
    expect(store.recent()[0]!.seq).toBe(3);
    await store.append([entry(21, "", { session_id: "a", type: "aaep:agent.session.completed" })]);
    expect(store.recent()[0]!.seq).toBe(16);
    expect(store.recent().at(-1)!.seq).toBe(21);
    await store.close();
  });

  it("100,000 events, a whole library of text, and the agent on them are back in under two seconds of CPU", async () => {
    const directory = place();
    const store = await openEmbeddedStore({ directory, durability: "none" });
    const chunk = `${"A few words of it. ".repeat(20)}And so on. `;
    const said = (seq: number) =>
      entry(seq, "", {
        event_id: encodeEventId(store.identity, seq),
        session_id: `sess_${Math.floor(seq / 50)}`,
        ...(seq % 50 === 49
          ? { type: "aaep:agent.session.completed", summary_normal: "Done." }
          : { type: "aaep:agent.output.streaming", output_id: "out", position: (seq % 50) * 391, chunk }),
        timestamp: "2026-01-01T00:00:00.000Z",
      });
    for (let seq = 1; seq <= 100_000; seq += 1000)
      await store.append(Array.from({ length: 1000 }, (_, i) => said(seq + i)));
    await store.close();
    const before = process.cpuUsage();
    const again = await open(directory);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(2);
    const kept = again.store.recent();
    expect(kept.at(-1)!.seq).toBe(100_000);
    expect(kept.length, "more text than anybody is behind").toBeGreaterThan(10_000);
    await again.store.close();
  });
});
