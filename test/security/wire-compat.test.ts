// `compat: true`: clients in the wild, which know no handshake (CON-64, CON-65), and what that must not open.

import { describe, expect, it } from "vitest";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { createCompat } from "../../src/server/http/compat.ts";
import type { ServeOptions } from "../../src/server/serve.ts";
import { ask, asked, call, dial, later, openStream, people, REQUEST, reply, world } from "./wire-support.ts";

const ON: ServeOptions = { compat: true };
const bare = (options: ServeOptions = {}) => world({ ...ON, ...options });

describe("without compat", () => {
  it("CON-64, CON-65: none of it is there", async () => {
    const { server } = await world();
    const { token, http } = server;
    expect((await call(`${http}/events`, { token })).status).toBe(404);
    expect((await call(`${http}/messages`, { method: "POST", token, body: REQUEST })).status).toBe(404);
    expect((await call(`${http}/aaep/v1/messages`, { method: "POST", token, body: REQUEST })).status).toBe(
      404,
    );
    expect((await call(`${http}/aaep/v1/events`, { token })).status).toBe(400);
    await expect(dial(server.ws, { token, protocols: [] })).rejects.toThrow(/HTTP 400/);
  });
});

describe("a bare stream", () => {
  it.each(["", "/aaep/v1"])(
    "GET %s/events: hears at once, in plain data lines with an id and no event, and answers by token",
    async (base) => {
      const { producer, server } = await bare();
      const stream = await openStream(`${server.http}${base}/events`, { token: server.token });
      expect(stream.status).toBe(200);
      const { session, outcome } = ask(producer);
      const token = await asked(stream, session.session_id);
      // Whatever subscription it names, or none.
      const body = { ...reply(token, "whatever"), subscription_id: undefined };
      const answer = await call(`${server.http}${base}/messages`, {
        method: "POST",
        token: server.token,
        body,
      });

      expect(answer.status).toBe(202);
      expect(await outcome).toMatchObject({ accepted: true });
      expect(stream.frames.every(({ event }) => event === undefined)).toBe(true);
      expect(stream.text).not.toMatch(/^event:/m);
      expect(stream.frames.some(({ id }) => id !== undefined)).toBe(true);
    },
  );

  it("has no history, whatever it says it heard last", async () => {
    const { producer, server } = await bare();
    const before = producer.start({ summary: "Long ago." });
    await before.complete();
    const stream = await openStream(`${server.http}/events`, {
      token: server.token,
      headers: { "last-event-id": "evt_1" },
    });
    const session = producer.start({ summary: "Now." });
    await stream.until((one) => one["session_id"] === session.session_id);
    await session.complete();

    expect(stream.heard.some((one) => one["session_id"] === before.session_id)).toBe(false);
  });

  it("is kept open by comments", async () => {
    const { server } = await bare({ limits: { heartbeatMs: 20 } });
    const stream = await openStream(`${server.http}/events`, { token: server.token });
    await stream.sees(/: \n\n[\s\S]*: \n\n/);
    expect(stream.frames).toEqual([]);
  });

  it("is kept open under 30 seconds apart, however rare the server's own heartbeats are", async () => {
    const producer = createProducer({ agent_id: "bank", warn: () => {} });
    later(() => producer.close());
    const pauses: number[] = [];
    const every = (ms: number) => {
      pauses.push(ms);
      return () => {};
    };
    const compat = createCompat(hubOf(producer), { heartbeatMs: 120_000, every });
    const principal = { id: "local", role: "reply", audiences: "all" } as const;
    const answer = await compat.http(
      {
        method: "GET",
        url: new URL("http://localhost/events"),
        secure: false,
        header: () => undefined,
        headers: () => [],
        certificate: undefined,
        body: async () => new Uint8Array(),
      },
      { principal, identity: principal },
      "/events",
    );
    answer!.stream!({ write: () => undefined, end: () => {} });
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeLessThan(30_000);
  });

  it("gets the answers to a handshake, stays after a rejection, and the request replaces what was implicit", async () => {
    const { producer, server } = await bare();
    const older = await openStream(`${server.http}/events`, { token: server.token });
    const stream = await openStream(`${server.http}/events`, { token: server.token });
    const send = (body: unknown) =>
      call(`${server.http}/messages`, { method: "POST", token: server.token, body });
    expect((await send({ ...REQUEST, aaep_version: "9.0.0" })).status).toBe(202);
    expect(await stream.of("subscription.rejected")).toMatchObject({ reason_code: "version_unsupported" });
    const { session, outcome } = ask(producer);
    const token = await asked(stream, session.session_id);
    const count = producer.subscriptions;
    expect((await send(REQUEST)).status).toBe(202);
    const { subscription_id } = await stream.of("subscription.accepted");
    expect(producer.subscriptions).toBe(count);
    // The question stayed open meanwhile, and its answer may name any subscription.
    expect(session.ended).toBe(false);
    expect((await send(reply(token, "sub_ffffffffffffffffffffffffffffffff"))).status).toBe(202);
    expect(await outcome).toMatchObject({ accepted: true });
    await send({
      type: "subscription.renegotiate",
      subscription_id,
      capabilities: { preferred_verbosity: "terse" },
    });
    await stream.until(
      (one) => one.type === "subscription.accepted" && JSON.stringify(one).includes("terse"),
    );
    expect(older.heard.some(({ type }) => type.startsWith("subscription."))).toBe(false);
    await send({ type: "subscription.close", subscription_id, reason_code: "done" });
    await stream.closed;
  });

  it("finds the question again after a cut, under one subscription of its principal", async () => {
    const { producer, server } = await bare();
    const first = await openStream(`${server.http}/events`, { token: server.token });
    const { session, outcome } = ask(producer);
    const token = await asked(first, session.session_id);
    first.destroy();
    const second = await openStream(`${server.http}/events`, { token: server.token });
    expect(await asked(second, session.session_id)).toBe(token);
    await call(`${server.http}/messages`, { method: "POST", token: server.token, body: reply(token, "x") });
    expect(await outcome).toMatchObject({ accepted: true });
  });

  it("a message is always answered with 2xx, and what is no message reaches whoever asked for it", async () => {
    const strays: unknown[] = [];
    const { server } = await world({ compat: (value) => strays.push(value), limits: { bodyBytes: 10_000 } });
    await openStream(`${server.http}/events`, { token: server.token });
    const bodies = [
      "",
      "{",
      "[]",
      "null",
      '{"kind":"user_input","text":"hello"}',
      '{"type":"x"}',
      '{"type":"confirmation.reply"}',
      '{"__proto__":{"a":1}}',
      "x".repeat(20_000),
      Buffer.from([0xff]),
    ];
    for (const body of bodies) {
      expect(
        (await call(`${server.http}/messages`, { method: "POST", token: server.token, body })).status,
      ).toBe(202);
    }
    expect(strays[0]).toEqual({ kind: "user_input", text: "hello" });
    // What programs send where nobody said otherwise, such as `curl -d`; no page can send it in their name.
    for (const type of ["application/x-www-form-urlencoded", "text/plain"]) {
      const { status } = await call(`${server.http}/messages`, {
        method: "POST",
        token: server.token,
        body: `{"kind":${JSON.stringify(type)}}`,
        headers: { "content-type": type, "user-agent": "curl/8.5.0" },
      });
      expect({ type, status }).toEqual({ type, status: 202 });
      expect(strays).toContainEqual({ kind: type });
    }
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });

  it("takes a request that came before its stream", async () => {
    const { server } = await bare();
    await call(`${server.http}/messages`, { method: "POST", token: server.token, body: REQUEST });
    const stream = await openStream(`${server.http}/events`, { token: server.token });
    expect(await stream.of("subscription.accepted")).toMatchObject({ producer: { agent_id: "bank" } });
  });
});

describe("a bare WebSocket", () => {
  it.each(["/aaep/v1/ws", "/ws"])(
    "%s: needs no subprotocol, hears and answers at once, and stays open after a rejection",
    async (path) => {
      const { producer, server } = await bare();
      const wire = await dial(`ws://127.0.0.1:${server.port}${path}`, { token: server.token, protocols: [] });
      expect(wire.socket.protocol).toBe("");
      wire.send("{ not JSON");
      wire.send({ ...REQUEST, aaep_version: "9.0.0" });
      expect(await wire.of("subscription.rejected")).toBeDefined();
      const { session, outcome } = ask(producer);
      const token = await asked(wire, session.session_id);
      wire.send(REQUEST);
      expect(await wire.of("subscription.accepted")).toBeDefined();
      wire.send(reply(token, "anything"));
      expect(await outcome).toMatchObject({ accepted: true });
      expect(wire.socket.readyState).toBe(wire.socket.OPEN);
      wire.socket.close();
      await wire.closed;
    },
  );

  it("beside it the proper one works as ever", async () => {
    const { server } = await bare();
    const wire = await dial(server.ws, { token: server.token });
    wire.send({ ...REQUEST, aaep_version: "9.0.0" });
    expect((await wire.closed).code).toBe(4001);
    await expect(dial(server.ws, { token: server.token, protocols: ["other"] })).rejects.toThrow(/HTTP 400/);
  });
});

describe("compat opens no more than that", () => {
  it("SEC-03, SEC-13: credentials, Host, Origin and forms are checked all the same (A03, A20)", async () => {
    const { server } = await bare();
    const { token, http } = server;
    const evil = { origin: "https://evil.example" };
    expect((await call(`${http}/events`)).status).toBe(401);
    expect((await call(`${http}/messages`, { method: "POST", body: REQUEST })).status).toBe(401);
    expect((await call(`${http}/events`, { token, headers: evil })).status).toBe(403);
    expect(
      (await call(`${http}/messages`, { method: "POST", token, body: REQUEST, headers: evil })).status,
    ).toBe(403);
    expect(
      (
        await call(`${http}/messages`, {
          method: "POST",
          token,
          body: REQUEST,
          headers: { "content-type": "text/plain", "user-agent": "Mozilla/4.0" },
        })
      ).status,
    ).toBe(415);
    expect((await call(`${http}/events`, { token, headers: { host: "evil.example" } })).status).toBe(421);
    expect(
      (await call(`${http}/events`, { token, headers: { "sec-fetch-site": "cross-site" } })).status,
    ).toBe(403);
    await expect(dial(server.ws, { protocols: [], token, headers: evil })).rejects.toThrow(/HTTP 403/);
    await expect(dial(server.ws, { protocols: [] })).rejects.toThrow(/HTTP 401/);
    await expect(world({ ...ON, hosts: ["agent.example.com"] })).rejects.toThrow(/this machine only/);
  });

  it("SEC-03: a token counts only from its own person, and a duplicated field never does (A03, A14)", async () => {
    const { producer, server } = await world({ ...ON, ...people({ alice: {}, bob: {} }) });
    const alice = await openStream(`${server.http}/events`, { token: "alice" });
    const bob = await openStream(`${server.http}/events`, { token: "bob" });
    const { session, outcome } = ask(producer, ["alice"]);
    const token = await asked(alice, session.session_id);
    const send = (who: string, body: unknown) =>
      call(`${server.http}/messages`, { method: "POST", token: who, body });
    await send("bob", reply(token, "x"));
    await send(
      "alice",
      JSON.stringify(reply(token, "x")).replace(
        '"decision":"accept"',
        '"decision":"accept","decision":"accept"',
      ),
    );
    const wire = await dial(server.ws, { token: "bob", protocols: [] });
    wire.send(reply(token, "x"));
    wire.send({ ...REQUEST, aaep_version: "9.0.0" });
    await wire.of("subscription.rejected");
    expect(bob.heard.some((one) => one["session_id"] === session.session_id)).toBe(false);
    await send("alice", reply(token, "x", { decision: "reject" }));
    expect(await outcome).toMatchObject({ accepted: false, outcome: "rejected" });
  });
});
