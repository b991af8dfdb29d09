// A20, CON-52: pages of other people's, names of other people's, and the two ways a browser may show who it is.
import { connect as connectTcp } from "node:net";
import { describe, expect, it } from "vitest";
import { useVirtualTime } from "../support/time.ts";
import {
  ask,
  asked,
  call,
  dial,
  listen,
  openStream,
  people,
  REQUEST,
  raw,
  reply,
  sendReply,
  world,
} from "./wire-support.ts";

const PAGE = "https://chat.example.com";
const PATHS: [method: string, path: string][] = [
  ["POST", "/aaep/v1/subscriptions"],
  ["GET", "/aaep/v1/events?subscription_id=sub_00000000000000000000000000000000"],
  ["POST", "/aaep/v1/replies"],
  ["GET", "/.well-known/aaep-manifest.json"],
  ["GET", "/metrics"],
];

describe("a name that is not this server's", () => {
  it("is refused on every path and on the WebSocket, right token or not: DNS rebinding (A20)", async () => {
    const { server } = await world();
    const { port, token } = server;
    const names = [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `localhost:${port}@evil.example`,
      `evil.example#localhost:${port}`,
      `0.0.0.0:${port}`,
      `localhost:${port}, evil.example`,
      `localhost:${port}/x`,
      "[::1].evil.example",
      `[::ffff:127.0.0.1]:${port}`,
    ];
    for (const host of names) {
      for (const [method, path] of PATHS) {
        const answer = await call(`${server.http}${path}`, { method, token, headers: { host } });
        expect({ host, path, status: answer.status }).toEqual({ host, path, status: 421 });
      }
      await expect(dial(server.ws, { token, headers: { host } })).rejects.toThrow(/HTTP 403/);
    }
    for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
        method: "POST",
        token,
        headers: { host },
        body: REQUEST,
      });
      expect({ host, status: answer.status }).toEqual({ host, status: 201 });
    }
  });

  it("no name at all is refused too, and health is told to whoever asks by address", async () => {
    const { server } = await world();
    const bare = await raw(
      server.port,
      `GET /aaep/v1/events HTTP/1.0\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
    );
    const probe = await call(`${server.http}/healthz`, { headers: { host: "10.1.2.3:4600" } });

    expect(bare).toMatch(/^HTTP\/1\.1 421 /);
    expect(probe).toMatchObject({ status: 200, json: { status: "ok" } });
  });
});

describe("a page that was not allowed", () => {
  it("is refused on every path and on the WebSocket, with the right token too (A20)", async () => {
    const { server } = await world({ origins: [PAGE] });
    const { port, token } = server;
    const origins = [
      "null",
      "https://evil.example",
      "http://chat.example.com",
      "https://chat.example.com:8443",
      "https://chat.example.com.evil.example",
      "https://CHAT.example.com",
      `http://localhost:${port + 1}`,
      `https://127.0.0.1:${port}`,
      "file://",
      "",
    ];
    for (const origin of origins) {
      for (const [method, path] of PATHS) {
        const answer = await call(`${server.http}${path}`, { method, token, headers: { origin } });
        expect({ origin, path, status: answer.status }).toEqual({ origin, path, status: 403 });
        expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      }
      await expect(dial(server.ws, { token, headers: { origin } })).rejects.toThrow(/HTTP 403/);
    }
  });

  it("cannot post a form, whatever type it claims (A20)", async () => {
    // Even where no token is needed, and even if a browser were to leave Origin out.
    const { server } = await world({ insecureLoopback: true });
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/json",
      "application/jsonp",
    ]) {
      for (const path of ["/aaep/v1/subscriptions", "/aaep/v1/replies"]) {
        const answer = await call(`${server.http}${path}`, {
          method: "POST",
          headers: { "content-type": type },
          body: REQUEST,
        });
        expect({ type, path, status: answer.status }).toEqual({ type, path, status: 415 });
      }
    }
  });

  it("cannot embed or link to a stream, though the browser does not say which page it is", async () => {
    const { server } = await world({ insecureLoopback: true });
    for (const site of ["cross-site", "same-site"]) {
      const answer = await call(`${server.http}/aaep/v1/events`, {
        headers: { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" },
      });
      expect(answer.status).toBe(403);
    }
    const manifest = await call(`${server.http}/.well-known/aaep-manifest.json`, {
      headers: { "sec-fetch-site": "cross-site" },
    });
    expect(manifest.headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    });
  });
});

describe("a page that was allowed", () => {
  it("TRN-10: may ask first, send Authorization and Last-Event-ID, and read Location; nobody else may (CORS)", async () => {
    const { server } = await world({ origins: [PAGE] });
    const url = `${server.http}/aaep/v1/subscriptions`;
    const asking = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,last-event-id",
    };
    const preflight = await call(url, { method: "OPTIONS", headers: { origin: PAGE, ...asking } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-credentials": "true",
      "access-control-allow-headers": expect.stringMatching(/authorization.*content-type.*last-event-id/),
      "access-control-allow-methods": expect.stringContaining("POST"),
      vary: "origin",
    });
    const answer = await call(url, {
      method: "POST",
      token: server.token,
      headers: { origin: PAGE },
      body: REQUEST,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers["access-control-expose-headers"]).toContain("location");
    expect(answer.headers["access-control-allow-origin"]).toBe(PAGE);
    const stream = await openStream(
      `${server.http}/aaep/v1/events?subscription_id=${answer.json["subscription_id"]}`,
      { token: server.token, headers: { origin: PAGE } },
    );
    expect(stream.headers["access-control-allow-origin"]).toBe(PAGE);
    expect(
      (await call(url, { method: "POST", headers: { origin: PAGE }, body: REQUEST })).headers[
        "access-control-allow-origin"
      ],
    ).toBe(PAGE);

    for (const origin of ["https://evil.example", "null"]) {
      const refused = await call(url, { method: "OPTIONS", headers: { origin, ...asking } });
      expect(refused.status).toBe(403);
      expect(Object.keys(refused.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
    const own = await call(url, { method: "OPTIONS", headers: { origin: server.http, ...asking } });
    expect(Object.keys(own.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    const wire = await dial(server.ws, { token: server.token, headers: { origin: PAGE } });
    wire.send(REQUEST);
    expect(await wire.of("subscription.accepted")).toBeDefined();
  });
});

describe("a cookie", () => {
  const cookieOf = (header: string[] | undefined) => ({
    whole: header![0]!,
    pair: header![0]!.split(";")[0]!,
  });

  it("TRN-10: stands for a credential shown once, is HttpOnly and SameSite=Strict, and holds no credential (CON-52)", async () => {
    const { server, producer } = await world();
    const issued = await call(`${server.http}/aaep/v1/session`, {
      method: "POST",
      token: server.token,
      headers: { origin: server.http },
    });
    const { whole, pair } = cookieOf(issued.headers["set-cookie"]);

    expect(issued.status).toBe(204);
    expect(whole).toMatch(
      /^earshot_\d+=[0-9a-f]{64}; Path=\/aaep\/v1; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    );
    expect(whole).not.toContain(server.token!);
    const own = { cookie: pair, origin: server.http };
    const accepted = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      headers: own,
      body: REQUEST,
    });
    expect(accepted.status).toBe(201);
    const id = String(accepted.json["subscription_id"]);
    // EventSource of one's own page sends no Origin.
    const stream = await openStream(`${server.http}/aaep/v1/events?subscription_id=${id}`, {
      headers: { cookie: pair, "sec-fetch-site": "same-origin" },
    });
    expect(stream.status).toBe(200);
    const { session } = ask(producer);
    const token = await asked(stream, session.session_id);
    const answer = await call(`${server.http}/aaep/v1/replies`, {
      method: "POST",
      headers: own,
      body: reply(token, id),
    });
    expect(answer.status).toBe(204);
    const wire = await dial(server.ws, { headers: own });
    wire.send(REQUEST);
    expect(await wire.of("subscription.accepted")).toBeDefined();
  });

  it("does not count without an Origin that was checked, from other pages, or once it was given back (A20)", async () => {
    const { server } = await world();
    const issued = await call(`${server.http}/aaep/v1/session`, { method: "POST", token: server.token });
    const { pair: cookie } = cookieOf(issued.headers["set-cookie"]);
    const post = (headers: Record<string, string>) =>
      call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", headers, body: REQUEST }).then(
        ({ status }) => status,
      );

    expect(await post({ cookie })).toBe(401);
    expect(await post({ cookie, origin: `http://localhost:${server.port + 1}` })).toBe(403);
    expect(await post({ cookie, origin: "null" })).toBe(403);
    expect((await (await dial(server.ws, { headers: { cookie } })).closed).code).toBe(4002);
    expect(
      (await call(`${server.http}/aaep/v1/events`, { headers: { cookie, "sec-fetch-site": "same-site" } }))
        .status,
    ).toBe(403);
    expect(
      await post({ cookie: cookie.replace(/.$/, (last) => (last === "0" ? "1" : "0")), origin: server.http }),
    ).toBe(401);
    // It buys no other one, and is worth nothing once given back.
    const again = await call(`${server.http}/aaep/v1/session`, {
      method: "POST",
      headers: { cookie, origin: server.http },
    });
    expect(again.status).toBe(401);
    expect(await post({ cookie, origin: server.http })).toBe(201);
    const back = await call(`${server.http}/aaep/v1/session`, {
      method: "DELETE",
      headers: { cookie, origin: server.http },
    });
    expect(back.status).toBe(204);
    expect(await post({ cookie, origin: server.http })).toBe(401);
  });

  it("runs out with the credential it stands for (F18)", async () => {
    const { auth } = people({ alice: {} });
    const time = useVirtualTime();
    const expiresAt = Date.now() + 60_000;
    const { server } = await world({
      auth: (credentials) => {
        const principal = auth(credentials);
        return principal && { ...principal, expiresAt };
      },
    });
    const issued = await call(`${server.http}/aaep/v1/session`, { method: "POST", token: "alice" });
    const { pair: cookie } = cookieOf(issued.headers["set-cookie"]);
    const headers = { cookie, origin: server.http };
    const accepted = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      headers,
      body: REQUEST,
    });
    const stream = await openStream(
      `${server.http}/aaep/v1/events?subscription_id=${accepted.json["subscription_id"]}`,
      { headers: { cookie } },
    );
    await time.skip(60_000);
    await stream.closed;

    expect(
      (await call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", headers, body: REQUEST })).status,
    ).toBe(401);
  });
});

describe("a ticket", () => {
  it("SEC-13: opens its one stream and nothing else: no other stream, no reply, no subscription (CON-52)", async () => {
    const { server, producer } = await world();
    const mine = await listen(server);
    const other = await listen(server);
    const { session } = ask(producer);
    const token = await asked(mine.stream, session.session_id);
    const ticket = new URL(mine.location, server.http).searchParams.get("ticket")!;
    const at = (path: string, id: string) =>
      `${server.http}/aaep/v1/${path}?subscription_id=${id}&ticket=${ticket}`;

    expect((await call(at("replies", mine.id), { method: "POST", body: reply(token, mine.id) })).status).toBe(
      401,
    );
    expect((await call(at("subscriptions", mine.id), { method: "POST", body: REQUEST })).status).toBe(401);
    expect((await call(at("session", mine.id), { method: "POST" })).status).toBe(401);
    expect((await call(`${server.http}/metrics?subscription_id=${mine.id}&ticket=${ticket}`)).status).toBe(
      401,
    );
    expect((await call(at("events", other.id))).status).toBe(401);
    expect((await call(`${at("events", mine.id)}0`)).status).toBe(401);
    expect((await call(`${server.http}/aaep/v1/events?subscription_id=${mine.id}&ticket=`)).status).toBe(401);
    const wire = await dial(`${server.ws}?subscription_id=${mine.id}&ticket=${ticket}`);
    expect((await wire.closed).code).toBe(4002);
    const stream = await openStream(`${server.http}${mine.location}`);
    expect(await asked(stream, session.session_id)).toBe(token);
  });

  it("SEC-13: is worth nothing once its subscription has ended", async () => {
    const { server } = await world();
    const mine = await listen(server);
    await sendReply(server, server.token, {
      type: "subscription.close",
      subscription_id: mine.id,
      reason_code: "done",
    });
    expect((await call(`${server.http}${mine.location}`)).status).toBe(410);
  });
});

describe("an upgrade that is no WebSocket", () => {
  it("is refused, and the server lives", async () => {
    const { server } = await world();
    const upgrade = (lines: string) =>
      raw(
        server.port,
        `GET /aaep/v1/ws HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: Upgrade\r\n${lines}\r\n`,
      );
    expect(await upgrade("Upgrade: h2c\r\n")).toMatch(/^HTTP\/1\.1 (?:400|426) /);
    expect(
      await upgrade(
        "Upgrade: websocket\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Protocol: aaep.v1\r\n",
      ),
    ).toMatch(/^HTTP\/1\.1 (?:400|426) /);
    expect(
      await raw(server.port, "GET http://[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    ).toMatch(/^HTTP\/1\.1 400 /);
    const silent = connectTcp(server.port, "127.0.0.1");
    silent.destroy();
    expect((await call(`${server.http}/healthz`)).status).toBe(200);
  });
});
