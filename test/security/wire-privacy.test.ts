// A16, SEC-17: what logs, metrics and errors say, and above all what they do not: using assistive technology is private.
import { describe, expect, it } from "vitest";
import {
  createLogger,
  createMetrics,
  formatTraceparent,
  type LogEntry,
  parseTraceparent,
  redact,
} from "../../src/server/telemetry.ts";
import {
  ask,
  asked,
  call,
  dial,
  listen,
  openStream,
  people,
  REQUEST,
  reply,
  sendReply,
  world,
} from "./wire-support.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

describe("logs and metrics of a whole session", () => {
  it("SEC-13: hold no name, no need, no token, no credential and no word of what was said (A16)", async () => {
    const { producer, server, logs } = await world({
      ...people({ "alice-secret-token": { id: "user:alice.miller", role: "admin" } }),
      compat: true,
    });
    const token = "alice-secret-token";
    const needy = {
      ...REQUEST,
      subscriber_id: "nvda-2026-alice",
      subscriber_name: "NVDA of Alice",
      subscriber_version: "2026.1-braille",
      correlation_id: TRACEPARENT,
      capabilities: {
        ...REQUEST.capabilities,
        pace_wpm: 317,
        cognitive_load: "low",
        preferred_verbosity: "terse",
        languages: ["rm-CH", "en"],
        max_events_per_second: 7,
        coalesce_boundaries: ["paragraph"],
        supported_extensions: ["urn:earshot:aaep:v1"],
        earshot: { resume: true, minimum_timeout_seconds: 4_321 },
      },
    };
    const { id, stream, location } = await listen(server, token, needy);
    const wire = await dial(server.ws, { token });
    wire.send(needy);
    await wire.of("subscription.accepted");
    await openStream(`${server.http}/events`, { token });
    const { session, outcome } = ask(producer);
    const replyToken = await asked(stream, session.session_id);
    await sendReply(server, token, reply("rpl_deadbeefdeadbeefdeadbeefdeadbeef", id));
    await sendReply(server, token, "{ not JSON, rpl_deadbeefdeadbeefdeadbeefdeadbeef");
    await sendReply(
      server,
      token,
      reply(replyToken, id, {
        decided_by: "Alice Miller",
        decision_rationale: "Rent is due.",
        correlation_id: TRACEPARENT,
      }),
    );
    await outcome;
    await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: "wrong-credential",
      body: needy,
    });
    await openStream(`${server.http}${location}&x=1`, {
      headers: { cookie: "earshot_1=c0ffee", traceparent: TRACEPARENT },
    });
    await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token,
      body: { ...needy, aaep_version: "9.0.0" },
    });
    await call(`${server.http}/aaep/v1/alice.miller/${replyToken}`, {
      headers: { origin: `https://evil.example/${replyToken}` },
    });
    wire.socket.terminate();
    await session.complete("Sent 500 dollars.");
    const { text: metrics, status } = await call(`${server.http}/metrics`, { token });
    expect(status).toBe(200);
    await server.close();
    const said = `${JSON.stringify(logs)}\n${metrics}`;
    const ticket = new URL(location, server.http).searchParams.get("ticket")!;

    for (const secret of [
      ...["NVDA", "nvda", "braille", "alice", "Alice", "Miller", "Rent"],
      ...["cognitive", "terse", "pace", "verbosity", "rm-CH", "paragraph", "max_events", "capabilities"],
      ...[replyToken, replyToken.slice(4), "deadbeef", token, ticket, "wrong-credential", "c0ffee"],
      ...["500 dollars", "savings", "Transfer"],
    ]) {
      expect(said, secret).not.toContain(secret);
    }
    expect(said).not.toMatch(/(?<![\w.-])(?:317|4321)(?![\w.-])/);
    // It is not that nothing was logged.
    const events = new Set(logs.map(({ event }) => event));
    for (const event of [
      "listening",
      "handshake",
      "stream_opened",
      "stream_closed",
      "reply_taken",
      "reply_refused",
      "refused",
      "closed",
    ]) {
      expect(events).toContain(event);
    }
    expect(logs.filter(({ event }) => event === "handshake").map(({ outcome: result }) => result)).toContain(
      "version_unsupported",
    );
    expect(logs.find(({ event }) => event === "reply_taken")).toMatchObject({
      trace_id: TRACE,
      who: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
  });

  it("SEC-13: metrics of a busy server, as they are served to whoever runs it and to nobody else", async () => {
    const { server } = await world(
      people({ root: { role: "admin" }, alice: {}, carol: { role: "listen", audiences: "all" } }),
    );
    const { id } = await listen(server, "alice", { ...REQUEST, subscriber_name: "JAWS of Alice" });
    await sendReply(server, "alice", reply("rpl_deadbeefdeadbeefdeadbeefdeadbeef", id));
    const wire = await dial(server.ws, { token: "alice" });
    wire.send({ ...REQUEST, aaep_version: "9.0.0" });
    await wire.closed;
    expect((await call(`${server.http}/metrics`)).status).toBe(401);
    expect((await call(`${server.http}/metrics`, { token: "alice" })).status).toBe(403);
    const { text, headers } = await call(`${server.http}/metrics`, { token: "root" });

    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toContain('earshot_handshakes_total{transport="sse",outcome="accepted"} 1');
    expect(text).toContain('earshot_handshakes_total{transport="websocket",outcome="version_unsupported"} 1');
    expect(text).toContain('earshot_replies_total{outcome="refused"} 1');
    expect(text).toContain('earshot_refusals_total{reason="credentials"} 1');
    expect(text).toMatch(/^earshot_subscriptions 1$/m);
    expect(text).not.toMatch(/JAWS|alice|rpl_|sub_/i);
    // Each line is one that Prometheus can read.
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="[^"\\\n]*",?)+\})? \d+(?:\.\d+)?)$/);
  });

  it("SEC-13: metrics take no label that was made up, and no more series than there are", () => {
    const metrics = createMetrics();
    for (let i = 0; i < 5_000; i++) {
      metrics.count("earshot_http_requests_total", {
        path: `/secret-${i}`,
        status: "200",
        who: "alice",
        reason: 'x"} evil 1\n',
      });
      metrics.count(`made_up_${i}`);
    }
    const text = metrics.text();
    expect(text).toContain('earshot_http_requests_total{path="other",status="200",reason="other"} 5000');
    expect(text.split("\n").length).toBeLessThan(3_010);
    expect(text).not.toMatch(/alice|secret|evil/);
  });
});

describe("health", () => {
  it("is told to anyone; readiness ends when the agent is shutting down", async () => {
    const { server } = await world();
    expect(await call(`${server.http}/healthz`)).toMatchObject({ status: 200, json: { status: "ok" } });
    expect(await call(`${server.http}/readyz`)).toMatchObject({ status: 200, json: { status: "ready" } });
    server.stop();
    expect(await call(`${server.http}/readyz`)).toMatchObject({ status: 503, json: { status: "stopping" } });
    expect((await call(`${server.http}/healthz`)).status).toBe(200);
  });
});

describe("trace context", () => {
  it("ENV-27: travels as correlation_id from the session into its events, and from messages into the log", async () => {
    const { producer, server, logs } = await world();
    const { stream, id } = await listen(server, server.token, { ...REQUEST, correlation_id: TRACEPARENT });
    const session = producer.start({ summary: "Traced.", correlation_id: TRACEPARENT });
    const event = await stream.of("aaep:agent.session.started");
    await session.complete();
    await sendReply(
      server,
      server.token,
      reply("rpl_00000000000000000000000000000000", id, { correlation_id: TRACEPARENT }),
    );

    expect(parseTraceparent(String(event["correlation_id"]))).toEqual({
      traceId: TRACE,
      parentId: "00f067aa0ba902b7",
      sampled: true,
    });
    expect(logs.filter(({ trace_id }) => trace_id === TRACE).map(({ event: name }) => name)).toEqual([
      "handshake",
      "reply_refused",
    ]);
  });

  it.each([
    [TRACEPARENT, true],
    [`cc-${TRACE}-00f067aa0ba902b7-01-later`, true],
    [`ff-${TRACE}-00f067aa0ba902b7-01`, false],
    [`00-${TRACE}-00f067aa0ba902b7-01-more`, false],
    [`00-${"0".repeat(32)}-00f067aa0ba902b7-01`, false],
    [`00-${TRACE}-${"0".repeat(16)}-01`, false],
    [TRACEPARENT.toUpperCase(), false],
    [`${TRACEPARENT}\n`, false],
    ["order-4711", false],
    [undefined, false],
  ])("reads %s as one: %s", (text, valid) => {
    const context = parseTraceparent(text);
    expect(context !== undefined).toBe(valid);
    if (context && text?.startsWith("00")) expect(formatTraceparent(context)).toBe(text);
  });
});

describe("a log entry", () => {
  it.each([
    ["a reply token rpl_4bf92f3577b34da6a3ce929d0e0e4736 in text", "4bf92f"],
    ["Authorization: Bearer abc.def-ghi", "abc.def"],
    ["eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", "eyJ"],
    ["GET /aaep/v1/events?subscription_id=sub_1&ticket=77aa88bb99cc HTTP/1.1", "77aa88"],
    ["cookie: earshot_4600=00ff00ff00ff00ff", "00ff00ff"],
    [`the token ${"ab".repeat(32)} of this run`, "abab"],
    [`${"x".repeat(990)} ${"ab".repeat(32)}`, "abab"],
  ])("A16: has no secret in it: %s", (text, secret) => {
    expect(redact(text)).not.toContain(secret);
  });

  it("A16: has no way to forge a line, control a terminal, or reorder what is read", () => {
    const entries: LogEntry[] = [];
    const log = createLogger((entry) => entries.push(entry));
    log("info", "test", {
      message: "one\nINFO forged\u001b[2J\u0007\u202egnp.exe\u2066\u009b",
      list: ["a\rb"],
      error: new Error("x\ny"),
      token: "abc",
      nested: { deep: { deeper: { deepest: { bottom: 1 } } } },
    });

    expect(JSON.stringify(entries)).not.toMatch(/\\n|\\r|\u001b|\u202e|\u009b|abc/);
    expect(entries[0]).toMatchObject({
      message: expect.stringContaining("one\\u000aINFO"),
      error: { name: "Error" },
      token: "[redacted]",
    });
  });

  it("a log that throws harms nobody", async () => {
    const { server } = await world({
      log: () => {
        throw new Error("disk full");
      },
    });
    expect((await listen(server)).stream.status).toBe(200);
  });
});
