/** The agent inside somebody else's server, by that server's usual hooks: each holds a whole conversation. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createProducer, type Producer } from "../../src/producer/producer.ts";
import { createHttpApp, type HttpApp } from "../../src/server/index.ts";
import { subscribe } from "../../src/subscriber/index.ts";
import { EventsOf } from "./events.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const agentOf = (): Producer => createProducer({ agent_id: "com.example.mounted", warn: () => {} });

async function listen(handler: RequestListener | Server): Promise<{ server: Server; url: string }> {
  const server = typeof handler === "function" ? createServer(handler) : handler;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Subscribes, hears, answers, and is heard. */
async function converse(agent: Producer, httpApp: HttpApp, url: string): Promise<void> {
  const sub = await subscribe(url, {
    ...(httpApp.token === undefined ? {} : { token: httpApp.token }),
    coalesce_boundaries: ["none"],
  });
  cleanups.push(() => sub.close());
  const heard = new EventsOf(sub);
  sub.on("confirmation", (ask) => void ask.accept());
  const outcome = await agent.run({ summary: "Saving." }, async (session) => {
    await session.say("One moment. ");
    return session.confirm({ action: "Move 5 dollars.", consequence: "They move." });
  });
  expect(outcome).toMatchObject({ accepted: true });
  await heard.untilType("aaep:agent.session.completed");
  expect(heard.text).toBe("One moment. ");
  await sub.close();
}

describe("mounted", () => {
  it("in Express, beside its own routes and before its body parser, also with WebSocket", async () => {
    const agent = agentOf();
    const httpApp = await createHttpApp(agent);
    const app = express();
    app.use(httpApp.node);
    app.use(express.json());
    app.get("/hello", (_, response) => void response.send("hello"));
    const { server, url } = await listen(app as RequestListener);
    const websockets = httpApp.attachWebSocket(server);
    cleanups.push(() => websockets.close());
    expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    expect((await fetch(`${url}/.well-known/aaep-manifest.json`)).status).toBe(200);
    await converse(agent, httpApp, url);
    await converse(agent, httpApp, url.replace("http", "ws"));
  });

  it("in Express after a body parser, it says what is wrong instead of hanging", async () => {
    const httpApp = await createHttpApp(agentOf());
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    cleanups.push(() => warned.mockRestore());
    const app = express();
    app.use(express.json());
    app.use(httpApp.node);
    const { url } = await listen(app as RequestListener);
    const headers = { authorization: `Bearer ${httpApp.token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}/aaep/v1/subscriptions`, {
      method: "POST",
      headers,
      body: '{"type":"subscription.request"}',
    });
    expect(answer.status).toBe(500);
    expect(warned.mock.calls.flat().join()).toMatch(/before body parsers/);
  });

  it("in Fastify, by its first hook, beside its own routes", async () => {
    const agent = agentOf();
    const httpApp = await createHttpApp(agent);
    const app = Fastify();
    app.addHook("onRequest", (request, reply, done) => httpApp.node(request.raw, reply.raw, done));
    app.get("/hello", async () => "hello");
    await app.listen({ port: 0, host: "127.0.0.1" });
    cleanups.push(async () => {
      app.server.closeAllConnections();
      await app.close();
    });
    const websockets = httpApp.attachWebSocket(app.server);
    cleanups.push(() => websockets.close());
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    expect(await (await fetch(`${url}/hello`)).text()).toBe("hello");
    await converse(agent, httpApp, url);
    await converse(agent, httpApp, url.replace("http", "ws"));
  });

  it("leaves other people's WebSocket endpoints on the same server alone", async () => {
    const httpApp = await createHttpApp(agentOf());
    const { server, url } = await listen((_, response) => void response.end());
    const { WebSocket, WebSocketServer } = await import("ws");
    const theirs = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      if (request.url === "/theirs")
        theirs.handleUpgrade(request, socket, head, (opened) => opened.send("theirs"));
    });
    const websockets = httpApp.attachWebSocket(server);
    cleanups.push(() => websockets.close());
    const socket = new WebSocket(`${url.replace("http", "ws")}/theirs`);
    expect(
      await new Promise((resolve, reject) =>
        socket.on("message", (data) => resolve(String(data))).on("error", reject),
      ),
    ).toBe("theirs");
    socket.terminate();
  });
});

describe("as a web-standard handler", () => {
  /** fetch, answered by a function instead of a network: what a route handler sees and returns. */
  const fetchVia =
    (handler: (request: Request) => Response | Promise<Response>): typeof fetch =>
    async (input, init) =>
      handler(new Request(input as string, init));

  const both: [string, (httpApp: HttpApp) => (request: Request) => Response | Promise<Response>][] = [
    ["bare", (httpApp) => httpApp.web],
    [
      "in Hono",
      (httpApp) => {
        const app = new Hono();
        app.get("/hello", (context) => context.text("hello"));
        app.all("/aaep/*", (context) => httpApp.web(context.req.raw));
        return (request) => app.fetch(request);
      },
    ],
  ];

  it.each(both)(
    "%s, holds a whole conversation, and lets go when its reader does: TRN-07",
    async (_, mount) => {
      const agent = agentOf();
      const httpApp = await createHttpApp(agent);
      const { createSseClient } = await import("../../src/transports/sse/client.ts");
      const { Subscriber } = await import("../../src/subscriber/subscriber.ts");
      const call = fetchVia(mount(httpApp));
      const transport = createSseClient({ url: "http://127.0.0.1", token: httpApp.token!, fetch: call });
      const sub = await new Subscriber(transport, {
        coalesce_boundaries: ["none"],
        reconnect: false,
      }).connect();
      const heard = new EventsOf(sub);
      sub.on("confirmation", (ask) => void ask.accept());
      const outcome = await agent.run({ summary: "Saving." }, async (session) => {
        for (let i = 0; i < 200; i++) void session.say("One moment. ");
        return session.confirm({ action: "Move 5 dollars.", consequence: "They move." });
      });
      expect(outcome).toMatchObject({ accepted: true });
      await heard.untilType("aaep:agent.session.completed");
      expect(heard.text).toBe("One moment. ".repeat(200));
      await sub.close();
      expect(agent.subscriptions).toBe(0);
    },
  );

  it("a reader that goes away without a word frees its place, and one that does not read blocks nobody (F14)", async () => {
    const agent = createProducer({
      agent_id: "com.example.mounted",
      warn: () => {},
      hub: { graceSeconds: 0, resumeSeconds: 0 },
    });
    const httpApp = await createHttpApp(agent);
    const headers = { authorization: `Bearer ${httpApp.token}`, host: "127.0.0.1" };
    const open = async () => {
      const body = JSON.stringify({
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: "web",
        capabilities: {},
      });
      const posted = await httpApp.web(
        new Request("http://127.0.0.1/aaep/v1/subscriptions", {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body,
        }),
      );
      const abort = new AbortController();
      const response = await httpApp.web(
        new Request(`http://127.0.0.1${posted.headers.get("location")}`, { headers, signal: abort.signal }),
      );
      return { reader: response.body!.getReader(), abort };
    };
    const [cancelled, aborted] = [await open(), await open()];
    const session = agent.start({ summary: "Much." });
    for (let i = 0; i < 100; i++) await session.progress({ percent: i / 2, description: "x".repeat(2_000) });
    expect(agent.subscriptions).toBe(2);
    await cancelled.reader.cancel();
    aborted.abort.abort();
    await vi.waitFor(() => expect(agent.subscriptions).toBe(0));
  });
});
