import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createPace } from "../../src/cli/commands/replay.ts";
import { createProducer } from "../../src/index.ts";
import type { Serving } from "../../src/server/index.ts";
import { subscribe } from "../../src/subscriber/index.ts";
import { listen } from "../support/hub-listener.ts";
import { legalSession } from "../support/legal-session.ts";
import {
  bankSession,
  begin,
  env,
  essence,
  eventsIn,
  type Json,
  ownFolder,
  startAgent,
} from "./capture-support.ts";
import { earshot, start } from "./support.ts";

const folder = ownFolder("replay");
afterAll(folder.remove);
let agents: Serving[] = [];
afterEach(async () => {
  await Promise.all(agents.map((one) => one.close()));
  agents = [];
});

const ready = (text: string): { http: string; ws: string; token: string } => JSON.parse(text.split("\n")[0]!);

/** Records the session of an agent. */
async function record(file: string): Promise<void> {
  const { agent, serving } = await startAgent();
  agents.push(serving);
  const capture = begin("capture", serving.http, "-o", file, "--sessions", "1", "--quiet");
  await until(() => agent.subscriptions > 0);
  await bankSession(agent);
  expect(await capture.code).toBe(0);
}

/** Replays a file to a capture, and gives what that got. */
async function generation(from: string, to: string, ...flags: string[]): Promise<Json[]> {
  const replay = begin("replay", from, "--port", "0", "--json", "--speed", "1000");
  const { http, ws, token } = ready(await replay.shows("\n"));
  const sessions = String(
    eventsIn(from).filter(({ type }) => type === "aaep:agent.session.completed").length,
  );
  const address = flags.includes("--ws") ? ws : http;
  const capture = begin("capture", address, "-o", to, "--sessions", sessions, "--token", token);
  expect(await capture.code, capture.err()).toBe(0);
  expect(await replay.code, replay.err()).toBe(0);
  return eventsIn(to);
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

const one = folder.path("one.jsonl");
beforeAll(() => record(one));

describe("earshot replay", () => {
  it("captured and replayed repeatedly, gives the same events except for ids, tokens and timestamps", async () => {
    const first = eventsIn(one);
    expect(first.map(({ type }) => type)).toContain("aaep:agent.awaiting.confirmation");
    expect(first.map(({ type }) => type)).toContain("aaep:agent.awaiting.clarification");
    const second = await generation(one, folder.path("two.jsonl"));
    expect(essence(second)).toEqual(essence(first));
    const third = await generation(folder.path("two.jsonl"), folder.path("three.jsonl"), "--ws");
    expect(essence(third)).toEqual(essence(first));
    // Ids, tokens and times are new: a listener that heard the first takes the second for another session.
    const differing = ["event_id", "session_id", "timestamp", "reply_token"];
    for (const name of differing) {
      const before = new Set<unknown>(
        first.map((event) => event[name]).filter((value) => value !== undefined),
      );
      expect(
        second.some((event) => before.has(event[name])),
        name,
      ).toBe(false);
    }
    for (const event of second) expect(event["extensions"]).toMatchObject({ earshot: { relayed: true } });
    for (const file of [one, folder.path("two.jsonl"), folder.path("three.jsonl")])
      expect(await earshot(["validate", "--strict", "--complete", file])).toMatchObject({ code: 0, out: "" });
  });

  it("waits for its first listener, which misses nothing and whose answers are refused", async () => {
    const replay = begin("replay", one, "--port", "0", "--speed", "1000");
    const http = /listener at (\S+)/.exec(await replay.shows("earshot listen"))![1]!;
    expect(replay.out()).toMatch(/one\.jsonl: \d+ events, 1 session, \d+ seconds? long\./);
    // Others look around without listening; that begins nothing.
    for (let i = 0; i < 20; i++)
      expect((await fetch(`${http}/.well-known/aaep/manifest.json`)).status).toBeGreaterThan(0);
    expect(replay.err()).not.toContain("It begins");
    const { readTokenFiles } = await import("../../src/server/index.ts");
    const { token } = readTokenFiles().find(({ url }) => url === http)!;
    const late = await subscribe(http, {
      token,
      coalesce_boundaries: ["none"],
      preferred_verbosity: "detailed",
    });
    expect(late.accepted.producer).toMatchObject({
      agent_id: "earshot.replay",
      agent_name: "Recording of Bank",
    });
    const answers: Promise<boolean | undefined>[] = [];
    late.on("confirmation", (ask) => answers.push(ask.accept()));
    const heard: Json[] = [];
    for await (const event of late) {
      heard.push(event as unknown as Json);
      if (event.type === "aaep:agent.session.completed") break;
    }
    expect(heard.map(({ type }) => type)).toEqual(eventsIn(one).map(({ type }) => type));
    expect(await Promise.all(answers)).toEqual([false]);
    await late.close();
    expect(await replay.code).toBe(0);
    expect(replay.err()).toContain("The replay is complete.");
  });

  it("sends one event per Enter with --step", async () => {
    const replay = begin("replay", one, "--port", "0", "--json", "--step");
    const { http, token } = ready(await replay.shows("\n"));
    const listener = await subscribe(http, { token, coalesce_boundaries: ["none"] });
    const heard: string[] = [];
    listener.on("event", ({ type }) => heard.push(type));
    await replay.told("Press Enter for each event.");
    replay.stdin.write("\n");
    await replay.told("Line 1: session.started: Looking after your money.");
    await until(() => heard.length === 1);
    replay.stdin.write("\n\n");
    await until(() => heard.length === 3);
    replay.stdin.end();
    await replay.told("Standard input has ended, so no more events are sent.");
    expect(heard).toHaveLength(3);
    await listener.close();
    expect(await replay.code).toBe(0);
  });

  it("skips what cannot be sent, says which lines, and exits with 1", async () => {
    const [first, ...rest] = readFileSync(one, "utf8").split("\n").filter(Boolean);
    const file = folder.path("broken.jsonl");
    const close = '{"type":"subscription.close","subscription_id":"sub_1","reason_code":"bye"}';
    writeFileSync(file, [first, "nonsense", close, ...rest, rest[0]].join("\n"));
    const replay = begin("replay", file, "--port", "0", "--json", "--speed", "1000");
    const { http, token } = ready(await replay.shows("\n"));
    const listener = await subscribe(http, { token });
    await replay.told("The replay is complete.");
    expect(replay.err()).toContain("Line 2 was skipped: This is not JSON");
    expect(replay.err()).toContain("Line 3 was skipped: subscription.close is not an event.");
    expect(replay.err()).toContain(
      `Line ${rest.length + 4} was skipped: Its session has already ended. (SEQ-03)`,
    );
    await listener.close();
    expect(await replay.code).toBe(1);
  });

  it("replays a recording that starts in the middle of a session", async () => {
    const file = folder.path("middle.jsonl");
    const lines = readFileSync(one, "utf8").split("\n").filter(Boolean);
    writeFileSync(file, `${lines.slice(4).join("\n")}\n`);
    const again = await generation(file, folder.path("middle-again.jsonl"));
    expect(again.map(({ type }) => type)).toEqual(eventsIn(file).map(({ type }) => type));
  });

  it("refuses what it cannot use, and says what to do", async () => {
    expect((await earshot(["replay"])).err).toContain("Give the file to replay");
    expect(await earshot(["replay", "no-such.jsonl"])).toMatchObject({ code: 2 });
    const both = await earshot(["replay", one, "--step", "--speed", "2"]);
    expect(both).toMatchObject({ code: 2, out: "" });
    expect((await earshot(["replay", one, "--speed", "fast"])).err).toContain(
      '--speed needs a factor from 0.01 to 1000, such as 2, not "fast".',
    );
    writeFileSync(folder.path("empty.jsonl"), "\n");
    const empty = await earshot(["replay", folder.path("empty.jsonl")]);
    expect(empty.code).toBe(2);
    expect(empty.err).toContain("There is no event in");
    const { serving } = await startAgent();
    agents.push(serving);
    const taken = await earshot(["replay", one, "--port", String(serving.port)]);
    expect(taken.code).toBe(1);
    expect(taken.err).toContain(
      `Port ${serving.port} on 127.0.0.1 is already in use. Use another, or 0 for any free one.`,
    );
  });

  it("ends with Ctrl+C while it waits, and as a program with a closed pipe or a signal", async () => {
    const replay = begin("replay", one, "--port", "0");
    await replay.shows("earshot listen");
    replay.interrupt();
    expect(await replay.code).toBe(130);
    const child = await start(["replay", one, "--port", "0"], { env: env() });
    const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    const unheard = await start(["replay", one, "--port", "0"], { env: env() });
    unheard.stdout.destroy();
    let err = "";
    unheard.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    expect(await new Promise((resolve) => unheard.once("close", resolve))).toBe(0);
    expect(err).not.toContain("EPIPE");
  });
});

describe("the pace of a replay", () => {
  it("keeps the delays between events, at any speed, however long each event takes", () =>
    fc.assert(
      fc.property(
        fc.array(fc.nat(100_000), { minLength: 1, maxLength: 20 }),
        fc.constantFrom(0.5, 1, 4),
        fc.array(fc.nat(50), { minLength: 1 }),
        (distances, speed, costs) => {
          const pace = createPace(speed);
          let at = 1_700_000_000_000;
          let now = 5;
          let due = now;
          distances.forEach((distance, i) => {
            at += i === 0 ? 0 : distance;
            due += i === 0 ? 0 : distance / speed;
            now += pace.wait(at, now);
            expect(now).toBeGreaterThanOrEqual(due - 1e-3);
            expect(now - due).toBeLessThanOrEqual(50 * (i + 1));
            now += costs[i % costs.length]!;
          });
        },
      ),
    ));

  it("does not wait for a time that has already passed", () => {
    const pace = createPace(1);
    expect(pace.wait(1_000, 0)).toBe(0);
    expect(pace.wait(2_000, 0)).toBe(1_000);
    expect(pace.wait(500, 1_000)).toBe(0);
    expect(pace.wait(2_500, 1_000)).toBe(500);
    expect(pace.wait(Number.NaN, 1_500)).toBe(0);
  });
});

describe("relaying a recording", () => {
  it("relays any valid session unchanged, including questions, and accepts no answer to them", () =>
    fc.assert(
      fc.asyncProperty(legalSession(), async (session) => {
        const producer = createProducer({ agent_id: "replay" });
        const ear = listen(producer, {
          capabilities: {
            coalesce_boundaries: ["none"],
            preferred_verbosity: "detailed",
            event_filters: { include: ["*"] },
          },
          confirm: () => "accept",
        });
        for (const event of session) await producer.relay(event as unknown as Json, { recorded: true });
        // Text without a letter is no event of ours.
        const said = session.filter(
          (event) => event.type !== "aaep:agent.output.streaming" || event.chunk !== "" || event.complete,
        );
        expect(ear.events.map(({ type }) => type)).toEqual(said.map(({ type }) => type));
        const words = (events: readonly object[]) =>
          events.map(
            (event) =>
              (event as Json)["chunk"] ?? (event as Json)["action"] ?? (event as Json)["summary_normal"],
          );
        expect(words(ear.events)).toEqual(
          words(said).map((text) => (typeof text === "string" ? text.normalize("NFC") : text)),
        );
      }),
      { numRuns: 200 },
    ));
});
