/** What goes wrong between two machines, each fault from the catalogue with what must come of it. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { createProducer, hubOf, type Producer } from "../../src/producer/producer.ts";
import type { OutputStreaming } from "../../src/protocol/types.ts";
import { serve } from "../../src/server/index.ts";
import { type ConnectOptions, subscribe } from "../../src/subscriber/index.ts";
import type { Subscriber } from "../../src/subscriber/subscriber.ts";
import { backoff } from "../../src/subscriber/subscriber.ts";
import { useVirtualTime } from "../support/time.ts";
import { type Frame, type RawClient, requestWith, TRANSPORTS } from "./raw-clients.ts";
import { bearerOf, byBearer, LOCAL, TestServer } from "./test-server.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const agentOf = (): Producer => createProducer({ agent_id: "com.example.reader", warn: () => {} });
const EXTENDED = requestWith({
  capabilities: {
    supports_confirmation_reply: true,
    supported_extensions: ["urn:earshot:aaep:v1"],
    earshot: { resume: true },
  },
});
const idOf = ({ answer }: RawClient): string => (answer as { subscription_id: string }).subscription_id;
const once = <Name extends Parameters<Subscriber["on"]>[0]>(
  sub: Subscriber,
  name: Name,
  fits: (value: never) => boolean = () => true,
) =>
  new Promise<never>((resolve) => {
    const off = sub.on(name, (value) => {
      if (!fits(value as never)) return;
      off();
      resolve(value as never);
    });
  });

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describe.each(TRANSPORTS)("over %s", (transport, call) => {
  it("a reader that stops reading stops nobody, is told to come back, and goes on where it was (F14)", async () => {
    const agent = agentOf();
    const server = await TestServer.open(agent, { limits: { blockedMs: 150, queueBytes: 1_048_576 } });
    cleanups.push(() => server.close());
    const [slow, peer] = [
      await call(server, { request: EXTENDED }),
      await call(server, { request: EXTENDED }),
    ];
    const session = agent.start({ summary: "Much to say." });
    const { json: started } = await slow.untilType("aaep:agent.session.started");
    await peer.untilType("aaep:agent.session.started");
    slow.socket.pause();
    // More than the kernel takes on its own: then the socket is blocked, and its place in the log waits.
    const { event_id: _, ...event } = {
      ...started,
      type: "aaep:agent.tool.invoked",
      tool: "read",
      args_summary: "x".repeat(60_000),
    };
    const EVENTS = 300;
    for (let n = 0; n < EVENTS; n++) {
      await hubOf(agent).append({ ...event, tool_call_id: `call_${n}` });
      await peer.until(({ json }) => json.tool_call_id === `call_${n}`);
    }
    await session.complete();
    await peer.untilType("aaep:agent.session.completed");
    // The peer has heard everything; the slow one is let go of by now or soon, whatever it does.
    await new Promise<void>((resolve) => {
      const look = () => (server.held <= 1 ? resolve() : void setTimeout(look, 10));
      look();
    });
    expect(server.mostWaiting).toBeLessThan(1_048_576 + 65_536);
    slow.socket.resume();
    const { code } = await slow.ended;
    const heard = slow.frames.filter(({ json }) => json.event_id);
    const last = heard.at(-1)!;
    expect(heard.length).toBeLessThan(EVENTS);
    if (transport === "sse" && slow.frames.at(-1)!.json.type === "earshot:closing") {
      expect(slow.frames.at(-1)!.json).toMatchObject({ reason_code: "too_slow", reconnect: true });
    }
    if (transport === "websocket") expect([1006, 1013]).toContain(code);
    const back = await call(server, {
      request: EXTENDED,
      resume: { subscription_id: idOf(slow), last_event_id: last.json.event_id },
    });
    await back.untilType("aaep:agent.session.completed");
    const calls = [...heard, ...back.frames].flatMap(({ json }: Frame) => json.tool_call_id ?? []);
    expect(calls).toEqual(Array.from({ length: EVENTS }, (_, n) => `call_${n}`));
  });

  it("an agent that shuts down lets everybody read to the end, and says why it ends: TRN-07", async () => {
    const agent = agentOf();
    const server = await TestServer.open(agent);
    cleanups.push(() => server.close());
    const caller = await call(server, { request: EXTENDED });
    const session = agent.start({ summary: "Much to say." });
    await caller.untilType("aaep:agent.session.started");
    caller.socket.pause();
    for (let n = 1; n <= 40; n++) {
      await session.progress({ step: n, total_steps: 40, description: "x".repeat(4_000) });
      // On its way, if not read: what is still in the log when the agent stops is for the next connection.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await session.complete();
    await new Promise((resolve) => setImmediate(resolve));
    hubOf(agent).closeAll("producer_shutdown", "The agent is shutting down.");
    const stopped = server.stop();
    caller.socket.resume();
    await Promise.all([stopped, caller.ended]);
    const types = caller.frames.map(({ json }) => json.type);
    expect(types.filter((type) => type === "aaep:agent.progress.updated")).toHaveLength(40);
    const end = [
      "aaep:agent.session.completed",
      "subscription.close",
      ...(transport === "sse" ? ["earshot:closing"] : []),
    ];
    expect(types.slice(-end.length)).toEqual(end);
    expect(server.held).toBe(0);
  });

  it("a slow reader that starts again in time reads why it was let go, and that it may come back (F14)", async () => {
    const agent = agentOf();
    const server = await TestServer.open(agent, { limits: { queueBytes: 50_000 } });
    cleanups.push(() => server.close());
    const caller = await call(server, { request: EXTENDED });
    void agent.start({ summary: "Much to say." });
    const { json: started } = await caller.untilType("aaep:agent.session.started");
    // One message beyond the cap: the outcome has a name, and the reader is there to hear it.
    const { event_id: _, ...event } = {
      ...started,
      type: "aaep:agent.tool.invoked",
      tool: "read",
      tool_call_id: "call_1",
      args_summary: "x".repeat(60_000),
    };
    await hubOf(agent).append(event);
    const { code, reason } = await caller.ended;
    if (transport === "sse")
      expect(caller.frames.at(-1)!.json).toMatchObject({
        type: "earshot:closing",
        reason_code: "too_slow",
        reconnect: true,
      });
    else
      expect({ code, reason }).toEqual({
        code: 1013,
        reason: "This listener could not keep up. Reconnect and go on from the last event.",
      });
  });
});

describe("subscribe()", () => {
  const ADDRESS = {
    sse: (port: number) => `http://127.0.0.1:${port}`,
    websocket: (port: number) => `ws://127.0.0.1:${port}`,
  };

  it("over websocket, a far end that vanished is let go of after two heartbeats (F15)", async () => {
    const agent = agentOf();
    const server = await TestServer.open(agent, { limits: { heartbeatMs: 100 } });
    cleanups.push(() => server.close());
    const [, call] = TRANSPORTS[1];
    const caller = await call(server);
    caller.socket.pause();
    await new Promise<void>((resolve) => {
      const look = () => (agent.subscriptions === 0 ? resolve() : void setTimeout(look, 5));
      look();
    });
    expect(server.held).toBe(0);
  });

  it.each(["sse", "websocket"] as const)(
    "over %s, an agent that falls silent is taken for gone, and called again (F15)",
    async (transport) => {
      let calls = 0;
      const accepted = JSON.stringify({
        type: "subscription.accepted",
        subscription_id: "sub_1",
        aaep_version: "1.0.0",
        producer: { agent_id: "silent" },
        honored_capabilities: {},
      });
      const server = createServer((request, response) => {
        request.resume();
        if (request.method === "POST")
          return void response.writeHead(201, { "content-type": "application/json" }).end(accepted);
        calls++;
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": connected\n\n");
      });
      const sockets = new WebSocketServer({ server, autoPong: false });
      sockets.on("connection", (socket) => {
        calls++;
        socket.on("message", () => socket.send(accepted));
      });
      cleanups.push(() => sockets.close());
      const port = await listen(server);
      const sub = await subscribe(ADDRESS[transport](port), { silenceMs: 1_000, random: () => 0 });
      cleanups.push(() => sub.close());
      await once(sub, "connection", ({ state }: { state: string }) => state === "lost");
      await once(sub, "connection", ({ state }: { state: string }) => state === "connected");
      expect(calls).toBeGreaterThanOrEqual(2);
    },
  );

  it("comes back with full jitter: anywhere in a window that doubles up to half a minute (F16)", () => {
    for (let attempt = 0; attempt < 40; attempt++) {
      const most = Math.min(30_000, 250 * 2 ** attempt);
      expect(backoff(attempt, () => 0)).toBe(0);
      expect(backoff(attempt, () => 0.5)).toBe(most / 2);
      expect(backoff(attempt, () => 0.999)).toBeLessThan(most);
    }
  });

  it("a crowd of 200 that loses the agent comes back spread out, and nobody has missed a word (F16)", async () => {
    const agent = agentOf();
    const options = { auth: byBearer, tokenFile: false, limits: { connections: 2_000 } } as const;
    let served = await serve(agent, { ...options, port: 0 });
    cleanups.push(() => served.close());
    const { port } = served;
    const crowd = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        subscribe(ADDRESS[i % 2 ? "sse" : "websocket"](port), {
          token: bearerOf({ ...LOCAL, id: `user-${i}` }),
          coalesce_boundaries: ["none"],
        }),
      ),
    );
    const heard = crowd.map(() => "");
    const arrivals: number[] = [];
    let gaps = 0;
    crowd.forEach((sub, i) => {
      cleanups.push(() => sub.close());
      sub.on("gap", () => gaps++);
      sub.on("connection", ({ state }) => void (state === "connected" && arrivals.push(performance.now())));
      sub.on("event", (event) => {
        if (event.type === "aaep:agent.output.streaming") heard[i] += (event as OutputStreaming).chunk;
      });
    });
    const session = agent.start({ summary: "Reading." });
    await session.say("Before. ");
    await Promise.all(
      crowd.map(
        (sub, i) =>
          heard[i] ||
          once(sub, "event", ({ type }: { type: string }) => type === "aaep:agent.output.streaming"),
      ),
    );
    const done = Promise.all(
      crowd.map((sub) =>
        once(sub, "event", ({ type }: { type: string }) => type === "aaep:agent.session.completed"),
      ),
    );
    await served.close();
    await session.say("Meanwhile. ");
    served = await serve(agent, { ...options, port });
    await session.say("After. ");
    await session.complete();
    await done;
    expect(new Set(heard)).toEqual(new Set(["Before. Meanwhile. After. "]));
    expect(gaps).toBe(0);
    // Spread: in no tenth of the time it took did more than half of them come.
    const [first, last] = [Math.min(...arrivals), Math.max(...arrivals)];
    const buckets = new Map<number, number>();
    for (const at of arrivals) {
      const bucket = Math.floor(((at - first) / (last - first + 1)) * 10);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
    }
    expect(arrivals.length).toBeGreaterThanOrEqual(200);
    expect(Math.max(...buckets.values())).toBeLessThan(arrivals.length / 2);
  });

  it.each(["sse", "websocket"] as const)(
    "over %s, a credential that expires is renewed, and the listener is told; without a new one it is told why it ended (F18)",
    async (transport) => {
      // Shorter than the silence after which a listener takes the agent for gone.
      const time = useVirtualTime();
      const agent = agentOf();
      const server = await TestServer.open(agent);
      cleanups.push(() => server.close());
      const credential = (ms: number) => bearerOf({ ...LOCAL, expiresAt: Date.now() + ms });
      const renewing: ConnectOptions = {
        token: () => credential(calls++ ? 600_000 : 8_000),
        random: () => 0,
        coalesce_boundaries: ["none"],
      };
      let calls = 0;
      const sub = await subscribe(
        ADDRESS[transport](server.port),
        transport === "sse"
          ? { ...renewing, token: () => credential(calls++ > 1 ? 600_000 : 8_000) }
          : renewing,
      );
      cleanups.push(() => sub.close());
      const losing = once(sub, "connection", ({ state }: { state: string }) => state === "lost");
      await time.skip(8_000);
      const lost = await losing;
      expect(lost).toMatchObject({ message: "The credentials have expired. Sign in again and reconnect." });
      await once(sub, "connection", ({ state }: { state: string }) => state === "connected");
      const heard = once(
        sub,
        "event",
        ({ type }: { type: string }) => type === "aaep:agent.session.completed",
      );
      await agent.run({ summary: "Still here." }, () => {});
      await heard;
      let valid = true;
      const other = await subscribe(ADDRESS[transport](server.port), {
        token: () => (valid ? bearerOf({ ...LOCAL, expiresAt: Date.now() + 8_000 }) : "expired"),
        random: () => 0,
      });
      valid = false;
      const closing = once(other, "closed") as Promise<{ code: string; message: string }>;
      await time.skip(8_000);
      const closed = await closing;
      expect(closed.code).toMatch(/^authentication_(?:failed|required)$/);
      expect(closed.message.length).toBeGreaterThan(10);
    },
  );

  it.each(["sse", "websocket"] as const)(
    "over %s, an answer given while the line is down is sent when it is back, and not twice",
    async (transport) => {
      const agent = agentOf();
      const server = await TestServer.open(agent);
      cleanups.push(() => server.close());
      const sub = await subscribe(ADDRESS[transport](server.port), {
        token: bearerOf(LOCAL),
        random: () => 0,
      });
      cleanups.push(() => sub.close());
      const ran: unknown[] = [];
      const done = agent.run({ summary: "Saving." }, (session) =>
        session.tool(
          {
            tool: "transfer",
            summary: "Transferring.",
            risk: "high",
            irreversible: true,
            params: { amount: 5 },
            action: "Transfer 5.",
            consequence: "It moves.",
          },
          (params) => void ran.push(params),
        ),
      );
      const ask = (await once(sub, "confirmation")) as { accept(): Promise<boolean | undefined> };
      const lost = once(sub, "connection", ({ state }: { state: string }) => state === "lost");
      server.cutAll();
      await lost;
      const taken = await ask.accept();
      await done;
      expect(taken).toBe(transport === "sse" ? true : undefined);
      expect(ran).toEqual([{ amount: 5 }]);
    },
  );
});
