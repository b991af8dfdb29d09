/** What clients do that nobody here wrote: odd, legal, and easily answered with silence or with nonsense. */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import express from "express";
import { describe, expect, it, vi } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { createHttpApp, generateSigningKey, serveIpc } from "../../src/server/index.ts";
import { findProgram } from "../interop/programs.ts";
import { call, dial, later, listen, openStream, REQUEST, raw, world } from "../security/wire-support.ts";
import { createAuthorities } from "../security/wire-tls.ts";

const SUBSCRIPTIONS = "/aaep/v1/subscriptions";

/** A request as Java's client and `curl --http2` make it: HTTP/2 if you like, and otherwise this. */
const offeringHttp2 = (port: number, token: string | undefined, body: string): string =>
  [
    `POST ${SUBSCRIPTIONS} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQAAP__",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");

describe("an offer to speak another protocol", () => {
  it("is passed over, and the request answered as ever: SSE-01", async () => {
    const { server } = await world();
    const body = JSON.stringify(REQUEST);
    const answer = await raw(server.port, offeringHttp2(server.port, server.token, body));
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    expect(answer).toContain('"type":"subscription.accepted"');
    // The body may well come after the headers.
    const whole = offeringHttp2(server.port, server.token, body);
    const cut = whole.length - 40;
    const late = await raw(server.port, whole.slice(0, cut), (socket) =>
      setImmediate(() => socket.write(whole.slice(cut))),
    );
    expect(late).toMatch(/^HTTP\/1\.1 201 /);
  });

  it("is passed over with compat on, and on a stream", async () => {
    const { server, producer } = await world({ compat: true, limits: { connectionsPerAddress: 3 } });
    const { id } = await listen(server);
    const stream = await openStream(`${server.http}/aaep/v1/events?subscription_id=${id}`, {
      token: server.token,
      headers: { connection: "Upgrade", upgrade: "h2c" },
    });
    void producer.run({ summary: "Hello." }, () => {});
    await stream.of("aaep:agent.session.completed");
    expect(stream.status).toBe(200);
  });

  it("is passed over on a server of somebody else's, whose own paths it concerns too", async () => {
    const httpApp = await createHttpApp(createProducer({ agent_id: "bank", warn: () => {} }));
    const app = express();
    app.use(httpApp.node);
    app.get("/hello", (_, response) => void response.send("hello"));
    const server = createServer(app);
    const websockets = httpApp.attachWebSocket(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    later(async () => {
      await websockets.close();
      httpApp.stop();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const asked = `GET /hello HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`;
    expect(await raw(port, asked)).toMatch(/^HTTP\/1\.1 200 [\s\S]*hello/);
  });

  it("is passed over over TLS", async () => {
    const { authorities, remove } = createAuthorities("ours");
    later(remove);
    const { server } = await world({ tls: authorities.ours.sign("localhost") });
    const answer = await call(`${server.http}${SUBSCRIPTIONS}`, {
      method: "POST",
      token: server.token,
      body: REQUEST,
      headers: { connection: "Upgrade", upgrade: "TLS/1.3" },
      tls: { ca: authorities.ours.cert, servername: "localhost" },
    });
    expect(answer.status).toBe(201);
  });
});

describe("the address of the WebSocket", () => {
  it("says what it is to whoever comes without an upgrade, as through a proxy that drops it: WS-01", async () => {
    const { server } = await world();
    const answer = await call(`${server.http}/aaep/v1/ws`);
    expect(answer).toMatchObject({ status: 426, headers: { upgrade: "websocket" } });
    expect(answer.json["message"]).toMatch(/WebSocket.*aaep\.v1.*proxy/);
  });

  it("is nowhere where none is served", async () => {
    const httpApp = await createHttpApp(createProducer({ agent_id: "bank", warn: () => {} }));
    later(() => httpApp.stop());
    const answer = await httpApp.web(
      new Request("http://localhost/aaep/v1/ws", { headers: { authorization: `Bearer ${httpApp.token}` } }),
    );
    expect(answer.status).toBe(404);
  });
});

describe("a message that is not valid, after the handshake", () => {
  const BAD = { max_events_per_second: "many" };

  it("is answered if it was a renegotiation, and nothing changes: HS-14", async () => {
    const { server, producer } = await world();
    const wire = await dial(server.ws, { token: server.token });
    wire.send(REQUEST);
    const { subscription_id, honored_capabilities } = await wire.of("subscription.accepted");
    wire.send({ type: "subscription.renegotiate", subscription_id, capabilities: BAD });
    const again = await wire.until(
      (message) => message.type === "subscription.accepted" && "negotiation_notes" in message,
    );
    expect(again).toMatchObject({ subscription_id, honored_capabilities });
    expect(again["negotiation_notes"]).toMatch(
      /^Nothing was changed\. capabilities\/max_events_per_second must be a whole number/,
    );
    void producer.run({ summary: "Hello." }, () => {});
    await wire.of("aaep:agent.session.completed");
  });

  it.skipIf(process.platform === "win32")(
    "is answered on the socket of this machine too: HS-14",
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "strangers-"));
      const producer = createProducer({ agent_id: "bank", warn: () => {} });
      const serving = await serveIpc(producer, { directory, log: () => {} });
      const socket = connect(serving.path);
      later(async () => {
        socket.destroy();
        await serving.close();
        rmSync(directory, { recursive: true, force: true });
      });
      const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value);
      socket.write(`${JSON.stringify(REQUEST)}\n`);
      const { subscription_id } = await next();
      const message = { type: "subscription.renegotiate", subscription_id, capabilities: BAD };
      socket.write(`${JSON.stringify(message)}\n`);
      expect(await next()).toMatchObject({
        type: "subscription.accepted",
        subscription_id,
        negotiation_notes: expect.stringMatching(/^Nothing was changed\./),
      });
    },
  );

  it("is answered if it was a second request, and the first goes on: HS-04", async () => {
    const { server, producer } = await world();
    const wire = await dial(server.ws, { token: server.token });
    wire.send(REQUEST);
    await wire.of("subscription.accepted");
    wire.send({ ...REQUEST, capabilities: BAD });
    expect(await wire.of("subscription.rejected")).toMatchObject({
      reason_code: "unknown",
      reason_message: expect.stringContaining("must be a whole number"),
    });
    void producer.run({ summary: "Hello." }, () => {});
    await wire.of("aaep:agent.session.completed");
  });

  it("is answered without a handshake too, and what was implicit goes on: HS-04, HS-14", async () => {
    const { server, producer } = await world({ compat: true });
    const wire = await dial(server.ws, { token: server.token, protocols: [] });
    wire.send({ ...REQUEST, capabilities: BAD });
    expect((await wire.of("subscription.rejected"))["reason_message"]).toMatch(/must be a whole number/);
    wire.send({ type: "subscription.renegotiate", capabilities: BAD });
    expect((await wire.of("subscription.accepted"))["negotiation_notes"]).toMatch(/^Nothing was changed\./);
    void producer.run({ summary: "Hello." }, () => {});
    await wire.of("aaep:agent.session.completed");

    const stream = await openStream(`${server.http}/events`, { token: server.token });
    await call(`${server.http}/messages`, {
      method: "POST",
      token: server.token,
      body: { ...REQUEST, capabilities: BAD },
    });
    expect((await stream.of("subscription.rejected"))["reason_code"]).toBe("unknown");
  });
});

describe("a request that cannot be taken as it was sent", () => {
  it("is rejected in AAEP's words whatever is wrong with its envelope: HS-04, HS-09", async () => {
    const { server } = await world({ limits: { bodyBytes: 2_000, requestMs: 200 } });
    const post = (headers: Record<string, string>, body: string | Uint8Array = JSON.stringify(REQUEST)) =>
      call(`${server.http}${SUBSCRIPTIONS}`, { method: "POST", token: server.token, headers, body });
    const rejected = (status: number, says: RegExp) => ({
      status,
      json: {
        type: "subscription.rejected",
        reason_code: "unknown",
        reason_message: expect.stringMatching(says),
      },
    });
    expect(await post({ "content-type": "text/plain" })).toMatchObject(rejected(415, /application\/json/));
    expect(await post({}, "x".repeat(3_000))).toMatchObject(rejected(413, /at most 2000 bytes/));
    expect(await post({ "content-encoding": "gzip" }, gzipSync(JSON.stringify(REQUEST)))).toMatchObject(
      rejected(415, /without Content-Encoding/),
    );
    expect((await post({ "content-encoding": "identity" })).status).toBe(201);
    const slow = await raw(
      server.port,
      `POST ${SUBSCRIPTIONS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    expect(slow).toMatch(/^HTTP\/1\.1 408 [\s\S]*"type":"subscription\.rejected"/);
  });

  it("a stream without its subscription says where that comes from: SSE-02", async () => {
    const { server } = await world();
    const answer = await call(`${server.http}/aaep/v1/events`, { token: server.token });
    expect(answer.status).toBe(400);
    expect(answer.json["message"]).toMatch(/subscription_id.*POST.*\/aaep\/v1\/subscriptions/);
  });

  it("two names for the server are none (A20)", async () => {
    const { server } = await world();
    const two = `GET /.well-known/aaep-manifest.json HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
    expect(await raw(server.port, two)).toMatch(/^HTTP\/1\.1 421 /);
  });

  it("a path that begins with two slashes is no other server's address, and no way around a path", async () => {
    const { server } = await world({ inspector: false });
    for (const path of ["//evil.example/metrics", "//", "///metrics"])
      expect(
        await raw(server.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
      ).toMatch(/^HTTP\/1\.1 404 [\s\S]*"message"/);
    expect(
      await raw(server.port, "GET http://[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    ).toMatch(/^HTTP\/1\.1 400 [\s\S]*"message":"The request cannot be read/);
  });

  it("a method that no route can have is nobody's fault, and no error in the log", async () => {
    const { server, logs } = await world({ routes: () => new Response("routed") });
    const answer = await call(`${server.http}/mine`, { method: "TRACE", token: server.token });
    expect(answer.status).toBe(404);
    expect(logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("a fault of the program itself is a 500 that says so, and is logged", async () => {
    const { server, producer, logs } = await world();
    vi.spyOn(hubOf(producer), "subscribe").mockImplementation(() => {
      throw new Error("a bug");
    });
    const answer = await call(`${server.http}${SUBSCRIPTIONS}`, {
      method: "POST",
      token: server.token,
      body: REQUEST,
    });
    expect(answer).toMatchObject({ status: 500, json: { error: "failed" } });
    expect(answer.text).not.toContain("a bug");
    expect(logs.find(({ event }) => event === "request_failed")).toMatchObject({ level: "error" });
  });

  it("a body that breaks off is answered by the web-standard handler too", async () => {
    const httpApp = await createHttpApp(createProducer({ agent_id: "bank", warn: () => {} }));
    later(() => httpApp.stop());
    const body = new ReadableStream({ start: (controller) => controller.error(new Error("gone")) });
    const answer = await httpApp.web(
      new Request(`http://localhost${SUBSCRIPTIONS}`, {
        method: "POST",
        headers: { authorization: `Bearer ${httpApp.token}`, "content-type": "application/json" },
        body,
        duplex: "half",
      } as RequestInit),
    );
    expect(answer.status).toBe(400);
  });
});

describe("mounted under a path in Express", () => {
  it.each([
    ["/aaep/v1", "/aaep/v1", "/aaep/v1"],
    ["/agents", "/agents/aaep/v1", "/agents/aaep/v1"],
    ["/agents", undefined, "/agents/aaep/v1"],
  ])("at %s with the prefix %s, Location leads to the stream", async (mount, prefix, base) => {
    const httpApp = await createHttpApp(
      createProducer({ agent_id: "bank", warn: () => {} }),
      prefix === undefined ? {} : { prefix },
    );
    const app = express();
    app.use(mount, httpApp.node);
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    later(() => {
      httpApp.stop();
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { token } = httpApp;
    const accepted = await call(`${url}${base}/subscriptions`, { method: "POST", token, body: REQUEST });
    expect(accepted.status).toBe(201);
    const stream = await openStream(`${url}${accepted.headers.location}`);
    expect(stream.status).toBe(200);
  });
});

describe("a page of an allowed origin", () => {
  it("may send both halves of W3C trace context", async () => {
    const { server } = await world({ origins: ["https://chat.example.com"] });
    const answer = await call(`${server.http}${SUBSCRIPTIONS}`, {
      method: "OPTIONS",
      headers: { origin: "https://chat.example.com", "access-control-request-method": "POST" },
    });
    expect(answer.headers["access-control-allow-headers"]).toMatch(/traceparent, tracestate/);
  });
});

describe("where it listens", () => {
  const linux = process.platform === "linux";

  it.runIf(linux)("another loopback address answers to its own name", async () => {
    const { server } = await world({ host: "127.0.0.2" });
    const { stream } = await listen(server);
    expect(stream.status).toBe(200);
  });

  it("an address of version 6 may stand in brackets, as it does in an address of the web", async () => {
    const { server } = await world({ host: "[::1]" });
    expect(server.http).toBe(`http://[::1]:${server.port}`);
    expect((await listen(server)).stream.status).toBe(200);
  });

  it.each(["abc", -1, 70_000, 1.5, Number.NaN])("%s is no port, and the error says what is", async (port) => {
    await expect(world({ port: port as number })).rejects.toMatchObject({
      code: "invalid_port",
      message: expect.stringContaining("0 takes any free one"),
    });
  });

  it("a port may be text, as it is in the environment", async () => {
    const { server } = await world({ port: "0" as unknown as number });
    expect(server.port).toBeGreaterThan(0);
  });
});

describe("the manifest", () => {
  it("is cached as what it is, signed or not: MAN-06", async () => {
    const { privateKey } = await generateSigningKey("k1");
    const { server } = await world({ signing: { key: privateKey, kid: "k1" } });
    const url = `${server.http}/.well-known/aaep-manifest.json`;
    expect((await call(url)).headers.vary).toBe("accept");
    expect((await call(url, { headers: { accept: "application/jose" } })).headers.vary).toBe("accept");
  });
});

describe("the metrics", () => {
  it("count the streams of every transport", async () => {
    const { server } = await world();
    await listen(server);
    const wire = await dial(server.ws, { token: server.token });
    wire.send(REQUEST);
    await wire.of("subscription.accepted");
    const { text } = await call(`${server.http}/metrics`, { token: server.token });
    expect(text).toContain('earshot_connections_total{transport="sse"} 1');
    expect(text).toContain('earshot_connections_total{transport="websocket"} 1');
  });
});

describe("a place that was never this agent's", () => {
  it("is answered with where things stand also where nothing runs any more: SSE-06 (F20, CON-26)", async () => {
    const { server, producer } = await world();
    const { id, stream } = await listen(server);
    await producer.run({ summary: "Reading." }, () => {});
    await stream.of("aaep:agent.session.completed");
    stream.destroy();
    const back = await openStream(`${server.http}/aaep/v1/events?subscription_id=${id}`, {
      token: server.token,
      headers: { "last-event-id": "evt_forged" },
    });
    const standing = await back.of("aaep:agent.state.changed");
    expect(standing["from_state"]).toBe(standing["to_state"]);
    await back.of("aaep:agent.session.completed");
    expect(back.frames[0]!.id).toBeUndefined();
  });
});

const curl = findProgram("curl", "curl");

describe.skipIf(curl.skip)(`curl --http2${curl.note}`, () => {
  it("gets what it asks for", async () => {
    const { server } = await world();
    const { stdout } = await promisify(execFile)(curl.path, [
      ...["-s", "--max-time", "5", "--http2", "-w", "%{http_code}", "-o", "/dev/null"],
      `${server.http}/.well-known/aaep-manifest.json`,
    ]);
    expect(stdout).toBe("200");
  });
});
