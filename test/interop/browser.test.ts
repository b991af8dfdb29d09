/** A real browser with nothing but what browsers have: EventSource by its ticket, WebSocket by its cookie, and our own client. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createProducer, type Producer } from "../../src/producer/producer.ts";
import { createHttpApp, type HttpApp, serve } from "../../src/server/index.ts";
import { createAuthorities } from "../security/wire-tls.ts";
import { BROWSER_NOTE, launchBrowser, skipsBrowser } from "../support/chromium.ts";
import { REQUEST } from "./agent.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const agentOf = (): Producer => createProducer({ agent_id: "com.example.teller", warn: () => {} });
const confirm = (agent: Producer) =>
  agent.run({ summary: "Saving." }, (session) =>
    session.confirm({ action: "Move 5 dollars.", consequence: "They move." }),
  );

async function listen(handler: RequestListener) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A page of the agent's own server, over HTTP/1.1. */
async function openPage(
  context: BrowserContext,
  agent: Producer,
  scripts = new Map<string, string>(),
): Promise<{ page: Page; httpApp: HttpApp; cut: () => void }> {
  const httpApp = await createHttpApp(agent, { log: () => {} });
  const { server, url } = await listen((request, response) =>
    httpApp.node(request, response, () => {
      const script = scripts.get(request.url ?? "");
      if (script !== undefined) response.writeHead(200, { "content-type": "text/javascript" }).end(script);
      else
        response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>A page</title>");
    }),
  );
  const websockets = httpApp.attachWebSocket(server);
  cleanups.push(() => websockets.close());
  const page = await context.newPage();
  cleanups.push(() => page.close());
  await page.goto(url);
  return { page, httpApp, cut: () => server.closeAllConnections() };
}

/** Runs in the page: the pieces its tests are made of, on `window.kit`. */
const KIT = `window.kit = {
  headers: (token) => ({ authorization: "Bearer " + token, "content-type": "application/json" }),
  async subscribe(base, token, request) {
    const response = await fetch(base + "/aaep/v1/subscriptions", { method: "POST", headers: kit.headers(token), body: JSON.stringify(request) });
    return { status: response.status, location: response.headers.get("location"), answer: await response.json() };
  },
  listen(base, location) {
    const source = new EventSource(base + location);
    const events = [];
    const waiting = new Set();
    source.addEventListener("aaep.event", (message) => {
      events.push({ ...JSON.parse(message.data), last: message.lastEventId });
      for (const look of waiting) look();
    });
    const until = (fits) => new Promise((resolve) => {
      const look = () => { const found = events.find(fits); if (found) { waiting.delete(look); resolve(found); } };
      waiting.add(look);
      look();
    });
    const opened = () => new Promise((resolve) => source.addEventListener("open", () => resolve(true), { once: true }));
    return { source, events, until, opened };
  },
  reply: (question, subscription_id) => ({ type: "confirmation.reply", reply_token: question.reply_token, decision: "accept", subscription_id, timestamp: new Date().toISOString() }),
  post: (base, token, message) => fetch(base + "/aaep/v1/replies", { method: "POST", headers: kit.headers(token), body: JSON.stringify(message) }).then(({ status }) => status),
};`;
// biome-ignore lint/suspicious/noExplicitAny: lives in the page
declare const kit: any;

describe.skipIf(skipsBrowser)(`in Chromium${BROWSER_NOTE}`, () => {
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    browser = await launchBrowser();
    context = await browser.newContext({ ignoreHTTPSErrors: true });
    await context.addInitScript(KIT);
  });
  afterAll(() => browser?.close());

  it("EventSource with the ticket from Location hears, and comes back by itself after a cut: SSE-08 (CON-52)", async () => {
    const agent = agentOf();
    const { page, httpApp, cut } = await openPage(context, agent);
    const args = {
      token: httpApp.token!,
      request: {
        ...REQUEST,
        capabilities: { supports_confirmation_reply: true, coalesce_boundaries: ["none"] },
      },
    };
    await page.evaluate(async ({ token, request }) => {
      const { location, answer } = await kit.subscribe("", token, request);
      Object.assign(window, { line: kit.listen("", location), id: answer.subscription_id, token });
      await (window as never as { line: { opened(): Promise<unknown> } }).line.opened();
    }, args);
    const text = () =>
      page.evaluate(() =>
        (window as never as { line: { events: { chunk?: string }[] } }).line.events
          .map(({ chunk }) => chunk ?? "")
          .join(""),
      );
    const until = (type: string) =>
      page.evaluate(
        (wanted) =>
          (
            window as never as {
              line: { until(fits: (event: { type: string }) => boolean): Promise<object> };
            }
          ).line.until((event) => event.type === wanted),
        type,
      );
    const session = agent.start({ summary: "Reading." });
    await session.say("Before. ");
    await until("aaep:agent.output.streaming");
    const back = page.evaluate(() =>
      (window as never as { line: { opened(): Promise<unknown> } }).line.opened(),
    );
    // The page must be listening for it before it happens.
    await page.evaluate(() => 0);
    cut();
    await session.say("Meanwhile. ");
    await back;
    const outcome = session.confirm({ action: "Move 5 dollars.", consequence: "They move." });
    await until("aaep:agent.awaiting.confirmation");
    const status = await page.evaluate(async () => {
      const { line, id, token } = window as never as {
        line: { events: { type: string }[] };
        id: string;
        token: string;
      };
      const question = line.events.find(({ type }) => type === "aaep:agent.awaiting.confirmation");
      return kit.post("", token, kit.reply(question, id));
    });
    expect(status).toBe(204);
    expect(await outcome).toMatchObject({ accepted: true });
    await session.complete();
    await until("aaep:agent.session.completed");
    expect(await text()).toBe("Before. Meanwhile. ");
  });

  it("WebSocket with the cookie of the page's session holds a whole conversation: WS-02 (CON-52)", async () => {
    const agent = agentOf();
    const { page, httpApp } = await openPage(context, agent);
    const heard = page.evaluate(
      async ({ token, request }) => {
        const session = await fetch("/aaep/v1/session", { method: "POST", headers: kit.headers(token) });
        const socket = new WebSocket(`${location.origin.replace("http", "ws")}/aaep/v1/ws`, "aaep.v1");
        const types: string[] = [];
        let id = "";
        socket.onopen = () => socket.send(JSON.stringify(request));
        await new Promise<void>((resolve, reject) => {
          socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
          socket.onmessage = ({ data }) => {
            const message = JSON.parse(data);
            types.push(message.type);
            if (message.type === "subscription.accepted") {
              id = message.subscription_id;
              document.title = "listening";
            }
            if (message.type === "aaep:agent.awaiting.confirmation")
              socket.send(JSON.stringify(kit.reply(message, id)));
            if (message.type === "aaep:agent.session.completed") resolve();
          };
        });
        return { status: session.status, protocol: socket.protocol, types };
      },
      { token: httpApp.token!, request: REQUEST },
    );
    await page.waitForFunction(() => document.title === "listening");
    expect(await confirm(agent)).toMatchObject({ accepted: true });
    const { status, protocol, types } = await heard;
    expect([200, 201, 204]).toContain(status);
    expect(protocol).toBe("aaep.v1");
    expect(types).toEqual(
      expect.arrayContaining([
        "subscription.accepted",
        "aaep:agent.awaiting.confirmation",
        "aaep:agent.session.completed",
      ]),
    );
  });

  it("our own client runs there as it is, over SSE with a header", async () => {
    const agent = agentOf();
    // In pieces: what only Node can load is never asked for.
    const { outputFiles } = await build({
      entryPoints: { client: "src/subscriber/index.ts" },
      bundle: true,
      splitting: true,
      write: false,
      outdir: "/",
      format: "esm",
      platform: "browser",
      external: ["ws", "@grpc/*", "node:*"],
      logLevel: "silent",
    });
    const { page, httpApp } = await openPage(
      context,
      agent,
      new Map(outputFiles.map(({ path, text }) => [path, text])),
    );
    // Text, not a function: the test runner would rewrite the import for itself.
    const types = page.evaluate(`(async () => {
      const { subscribe } = await import("/client.js");
      const sub = await subscribe(location.origin, { token: ${JSON.stringify(httpApp.token)} });
      sub.on("confirmation", (ask) => void ask.accept());
      document.title = "listening";
      const heard = [];
      for await (const { type } of sub) {
        heard.push(type);
        if (type === "aaep:agent.session.completed") break;
      }
      await sub.close();
      return heard;
    })()`);
    await page.waitForFunction(() => document.title === "listening");
    expect(await confirm(agent)).toMatchObject({ accepted: true });
    expect(await types).toContain("aaep:agent.awaiting.confirmation");
    expect(agent.subscriptions).toBe(0);
  });

  describe("with six streams open, as many as a browser gives one HTTP/1.1 server (F17)", () => {
    /** Opens six streams, waits for a question on each, and tries to answer it by POST. */
    const sixStreams = async ({
      base,
      token,
      request,
      patience,
    }: {
      base: string;
      token: string;
      request: object;
      patience: number;
    }) => {
      const subscriptions = [];
      for (let i = 0; i < 6; i++) subscriptions.push(await kit.subscribe(base, token, request));
      const lines = subscriptions.map(({ location }) => kit.listen(base, location));
      await Promise.all(lines.map(({ opened }) => opened()));
      document.title = "six";
      const question = await lines[0].until(
        ({ type }: { type: string }) => type === "aaep:agent.awaiting.confirmation",
      );
      const reply = kit.reply(question, subscriptions[0].answer.subscription_id);
      const abort = new AbortController();
      const posted = fetch(`${base}/aaep/v1/replies`, {
        method: "POST",
        headers: kit.headers(token),
        body: JSON.stringify(reply),
        signal: abort.signal,
      }).then(
        ({ status }) => status,
        () => 0,
      );
      const status = await Promise.race([
        posted,
        new Promise((resolve) => setTimeout(resolve, patience, "stuck")),
      ]);
      abort.abort();
      return {
        status,
        reply,
        protocols: performance
          .getEntriesByType("resource")
          .map((entry) => (entry as PerformanceResourceTiming).nextHopProtocol),
      };
    };

    it("over HTTP/1.1 a POST is stuck behind them, and WebSocket gets through", async () => {
      const agent = agentOf();
      const { page, httpApp } = await openPage(context, agent);
      const six = page.evaluate(sixStreams, {
        base: "",
        token: httpApp.token!,
        request: REQUEST,
        patience: 800,
      });
      await page.waitForFunction(() => document.title === "six");
      const outcome = confirm(agent);
      // The control: this is the fault. If browsers ever lift the limit, this line says so.
      expect((await six).status).toBe("stuck");
      // Six streams hold every connection for requests, so the cookie comes from elsewhere: sockets are counted apart.
      await context.addCookies([await cookieOf(page.url(), httpApp.token!)]);
      await page.evaluate(async (request) => {
        const socket = new WebSocket(`${location.origin.replace("http", "ws")}/aaep/v1/ws`, "aaep.v1");
        let id = "";
        socket.onopen = () => socket.send(JSON.stringify(request));
        socket.onmessage = ({ data }) => {
          const message = JSON.parse(data);
          if (message.type === "subscription.accepted") id = message.subscription_id;
          if (message.type === "aaep:agent.awaiting.confirmation")
            socket.send(JSON.stringify(kit.reply(message, id)));
        };
      }, REQUEST);
      expect(await outcome).toMatchObject({ accepted: true });
    });

    it("over HTTP/2 the POST gets through, from a page of an allowed origin: SSE-07", async () => {
      const agent = agentOf();
      const { url } = await listen(
        (_, response) =>
          void response
            .writeHead(200, { "content-type": "text/html" })
            .end("<!doctype html><title>Elsewhere</title>"),
      );
      const { authorities, remove } = createAuthorities("Test authority");
      cleanups.push(remove);
      const { key, cert } = authorities["Test authority"].sign("127.0.0.1");
      const served = await serve(agent, {
        port: 0,
        tokenFile: false,
        log: () => {},
        tls: { key, cert },
        http2: true,
        origins: [url],
      });
      cleanups.push(() => served.close());
      const page = await context.newPage();
      cleanups.push(() => page.close());
      await page.goto(url);
      const six = page.evaluate(sixStreams, {
        base: served.http,
        token: served.token!,
        request: REQUEST,
        patience: 10_000,
      });
      await page.waitForFunction(() => document.title === "six");
      const outcome = confirm(agent);
      expect((await six).status).toBe(204);
      expect(await outcome).toMatchObject({ accepted: true });
    });
  });
});

async function cookieOf(page: string, token: string) {
  const { origin } = new URL(page);
  const response = await fetch(`${origin}/aaep/v1/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, origin },
  });
  const [, name, value] = /^([^=]+)=([^;]+)/.exec(response.headers.get("set-cookie") ?? "")!;
  return {
    name: name!,
    value: value!,
    url: `${origin}/aaep/v1`,
    sameSite: "Strict" as const,
    httpOnly: true,
  };
}
