import { statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Serving, serve } from "../../src/server/index.ts";
import { bankSession, begin, env, eventsIn, ownFolder, startAgent } from "./capture-support.ts";
import { earshot, start, terminal } from "./support.ts";

const folder = ownFolder("capture");
afterAll(folder.remove);
let agents: Serving[] = [];
afterEach(async () => {
  await Promise.all(agents.map((one) => one.close()));
  agents = [];
});
async function agentHere(options = {}) {
  const started = await startAgent(options);
  agents.push(started.serving);
  return started;
}

describe("earshot capture", () => {
  it("writes every event as a line to a file that only its owner can read", async () => {
    const { agent, serving } = await agentHere();
    const file = folder.path("all.jsonl");
    const capture = begin("capture", serving.http, "-o", file, "--sessions", "2");
    await capture.told(`Capturing ${serving.http}. Press Ctrl+C to stop.`);
    await bankSession(agent);
    await bankSession(agent);
    expect(await capture.code).toBe(0);
    expect(capture.out()).toBe("");
    const types = eventsIn(file).map(({ type }) => String(type));
    expect(types.filter((type) => type.endsWith("session.completed"))).toHaveLength(2);
    expect(types).toContain("aaep:agent.awaiting.confirmation");
    expect(capture.err()).toContain("Started: Looking after your money.");
    expect(capture.err()).toContain(`Captured ${types.length} events, 2 sessions ended, in `);
    expect(capture.err()).toContain(`To replay it: npx earshot replay ${file}`);
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await earshot(["validate", "--strict", "--complete", file])).toMatchObject({ code: 0, out: "" });
  });

  it.each(["ws", "unix"] as const)("captures over %s, and finds the token by itself", async (way) => {
    const { agent, serving } = await agentHere();
    const capture = begin("capture", serving[way]!, "--sessions", "1", "--quiet");
    await joined(agent);
    await bankSession(agent);
    expect(await capture.code, capture.err()).toBe(0);
    expect(capture.err()).toBe("");
    expect(
      capture
        .out()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).type)
        .at(-1),
    ).toBe("aaep:agent.session.completed");
  });

  it("finds the only agent that is running here", async () => {
    const { agent } = await agentHere();
    const capture = begin("capture", "--sessions", "1");
    await capture.told("Capturing Bank.");
    await bankSession(agent);
    expect(await capture.code).toBe(0);
  });

  it("says how to start an agent if none is running", async () => {
    const { code, err } = await earshot(["capture"], "", terminal({ env: env() }));
    expect(code).toBe(3);
    expect(err).toContain("or give an address: npx earshot capture http://127.0.0.1:4600");
  });

  it("is not a listener that an agent waits for", async () => {
    const { agent, serving } = await agentHere();
    const capture = begin("capture", serving.http, "--sessions", "1");
    await capture.told("Capturing");
    await agent.run({ summary: "Alone." }, async (session) => {
      const outcome = await session.tool(
        {
          tool: "wipe",
          summary: "Wiping.",
          risk: "high",
          irreversible: true,
          params: {},
          action: "Wipe the disk.",
          consequence: "It is empty.",
        },
        () => "wiped",
      );
      expect(outcome.ran).toBe(false);
    });
    expect(await capture.code).toBe(0);
    expect(capture.out()).not.toContain("aaep:agent.awaiting.confirmation");
  });

  it("requests the given terms", async () => {
    const { agent, serving } = await agentHere();
    const capture = begin(
      "capture",
      serving.http,
      "--sessions",
      "1",
      "--boundaries",
      "sentence",
      "--verbosity",
      "terse",
      "--lang",
      "fr",
      "--rate",
      "50",
    );
    await capture.told("Capturing");
    await bankSession(agent);
    expect(await capture.code).toBe(0);
    const chunks = capture
      .out()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).chunk)
      .filter(Boolean);
    expect(chunks.join("")).toContain("500 dollars. ");
    expect(chunks).not.toContain("It ");
  });

  it("ends after --for, and with Ctrl+C, keeping what it has", async () => {
    const { agent, serving } = await agentHere();
    expect(await begin("capture", serving.http, "--for", "0.05").code).toBe(0);
    const file = folder.path("cut.jsonl");
    const capture = begin("capture", serving.http, "-o", file);
    await capture.told("Capturing");
    const session = agent.start({ summary: "Long work." });
    await session.say("Half a sentence");
    await capture.told("Started: Long work.");
    capture.interrupt();
    expect(await capture.code).toBe(130);
    expect(capture.err()).toContain("Captured ");
    expect(eventsIn(file)[0]).toMatchObject({ type: "aaep:agent.session.started" });
    await session.complete();
  });

  it("reconnects when the connection drops, and says so", async () => {
    const { agent, serving } = await agentHere();
    const { port } = serving;
    const file = folder.path("dropped.jsonl");
    const capture = begin("capture", serving.http, "-o", file, "--sessions", "1");
    await capture.told("Capturing");
    await serving.close();
    await capture.told("Reconnecting.");
    const again = await serve(agent, { port, log: () => undefined });
    agents = [again];
    await capture.told("Connected again.");
    expect(agent.subscriptions).toBe(1);
    await bankSession(agent);
    expect(await capture.code).toBe(0);
  });

  it("announces a reconnect once the agent speaks, not while it is still shutting down", async () => {
    const accepted = {
      type: "subscription.accepted",
      subscription_id: "sub_1",
      aaep_version: "1.0.0",
      producer: { agent_id: "odd" },
      honored_capabilities: {},
    };
    const done = {
      "@context": "https://aaep-protocol.org/context/v1",
      type: "aaep:agent.session.completed",
      event_id: "evt_1",
      session_id: "sess_1",
      timestamp: "2026-05-24T14:22:11.342Z",
      producer: { agent_id: "odd" },
      urgency: "normal",
      summary_normal: "Done.",
    };
    let streams = 0;
    const server = createServer((request, response) => {
      if (request.method === "POST") {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(accepted));
        return;
      }
      response.setHeader("content-type", "text/event-stream");
      response.write(":\n\n");
      // Twice it opens the door and shuts it again.
      if (++streams <= 3) setImmediate(() => response.end());
      else response.write(`event: aaep.event\ndata: ${JSON.stringify(done)}\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const capture = begin("capture", `http://127.0.0.1:${port}`, "--sessions", "1");
    expect(await capture.code, capture.err()).toBe(0);
    expect(capture.err().match(/Connected again\.|Reconnecting\.|Ended, completed: Done\./g)).toEqual([
      "Reconnecting.",
      "Connected again.",
      "Ended, completed: Done.",
    ]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("keeps messages that cannot be parsed, so that validate can say why", async () => {
    const server = createServer((request, response) => {
      if (request.method === "POST") {
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({
            type: "subscription.accepted",
            subscription_id: "sub_1",
            aaep_version: "1.0.0",
            producer: { agent_id: "odd" },
            honored_capabilities: {},
          }),
        );
        return;
      }
      response.setHeader("content-type", "text/event-stream");
      response.write('event: aaep.event\ndata: {"type":"aaep:agent.session.started","event_id":"odd"}\n\n');
      response.write(
        `event: aaep.event\ndata: ${JSON.stringify({ "@context": "https://aaep-protocol.org/context/v1", type: "aaep:agent.session.completed", event_id: "evt_1", session_id: "sess_1", timestamp: "2026-05-24T14:22:11.342Z", producer: { agent_id: "odd" }, urgency: "normal", summary_normal: "Done." })}\n\n`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const capture = begin("capture", `http://127.0.0.1:${port}`, "--sessions", "1");
    expect(await capture.code, capture.err()).toBe(0);
    const [odd, done] = capture.out().trim().split("\n");
    expect(odd).toBe('{"type":"aaep:agent.session.started","event_id":"odd"}');
    expect(JSON.parse(done!)).not.toHaveProperty("localization_hints");
    expect(capture.err()).toContain('1 message could not be parsed; "npx earshot validate" says why.');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("refuses what it cannot use, and says what to do", async () => {
    const { serving } = await agentHere();
    const there = folder.path("there.jsonl");
    writeFileSync(there, "precious\n");
    const kept = await earshot(["capture", serving.http, "-o", there]);
    expect(kept.code).toBe(2);
    expect(kept.err).toContain(`${there} already exists. Choose another name, or add --overwrite.`);
    expect(await earshot(["capture", serving.http, "--sessions", "none"])).toMatchObject({ code: 2 });
    expect(await earshot(["capture", serving.http, "--for", "soon"])).toMatchObject({ code: 2 });
    expect(await earshot(["capture", "carrier-pigeon://coop"])).toMatchObject({ code: 2 });
    const nobody = await earshot(["capture", "http://127.0.0.1:9"]);
    expect(nobody.code).toBe(3);
    expect(nobody.err).toContain("Nothing answers at http://127.0.0.1:9");
    const stranger = await earshot(["capture", serving.http, "--token", "wrong"]);
    expect(stranger.code).toBe(3);
    expect(stranger.err).toContain("refuses this token");
  });

  it("ends without an error when its output pipe is closed, and without a terminal", async () => {
    const { agent, serving } = await agentHere();
    const child = await start(["capture", serving.http], { env: env() });
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    const ended = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
    child.stdout.once("data", () => child.stdout.destroy());
    await joined(agent);
    const talk = { over: false };
    const talking = (async () => {
      while (!talk.over) {
        await bankSession(agent);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    expect(await ended).toBe(0);
    talk.over = true;
    await talking;
    expect(err).not.toContain("EPIPE");
  });
});

async function joined(agent: Awaited<ReturnType<typeof startAgent>>["agent"]): Promise<void> {
  while (agent.subscriptions === 0) await new Promise((resolve) => setImmediate(resolve));
}
