// A09 … A19, F22, F25: what a hostile peer can send. Each is refused at once, and the server goes on for everybody else.
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Serving } from "../../src/server/serve.ts";
import { cpuMs } from "../support/cpu.ts";
import {
  ask,
  asked,
  call,
  dial,
  later,
  listen,
  people,
  REQUEST,
  raw,
  reply,
  sendReply,
  world,
} from "./wire-support.ts";
import { createAuthorities } from "./wire-tls.ts";

const subscribe = (server: Serving, body: unknown) =>
  call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", token: server.token, body });
const alive = async (server: Serving) => expect((await listen(server)).stream.status).toBe(200);
const post = (server: Serving, length: number | string, more = "") =>
  `POST /aaep/v1/subscriptions HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n${more}${length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`}\r\n\r\n`;

describe("a message that cannot be read", () => {
  const whole = JSON.stringify(REQUEST);
  const broken: Record<string, string | Uint8Array> = {
    "nothing (A09)": "",
    "half of it (A09)": whole.slice(0, -10),
    "two of them (A09)": whole + whole,
    "a list (A09)": `[${whole}]`,
    "a number (A09)": "1e999",
    "null (A09)": "null",
    "a comment (A09)": `${whole}// yes`,
    "NaN (A09)": whole.replace('"listener"', "NaN"),
    "a form (A09)": "type=subscription.request&aaep_version=1.0.0",
    "UTF-16 (A12)": Buffer.from(whole, "utf16le"),
    "an overlong slash (A12)": Buffer.concat([
      Buffer.from('{"type":"'),
      Buffer.from([0xc0, 0xaf]),
      Buffer.from('"}'),
    ]),
    "a byte that is no UTF-8 (A12)": Buffer.concat([
      Buffer.from(whole.slice(0, 60)),
      Buffer.from([0xff]),
      Buffer.from(whole.slice(60)),
    ]),
    "a surrogate in UTF-8 (A12)": Buffer.concat([
      Buffer.from('{"type":"subscription.request","subscriber_id":"'),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}'),
    ]),
    "half a pair (A12)": whole.replace("listener", "\\ud800"),
    "the other half (A12)": whole.replace("listener", "\\udc00x"),
    "a prototype (A13)": whole.replace("{", '{"__proto__":{"role":"admin"},'),
    "a prototype in the capabilities (A13)": whole.replace(
      '"capabilities":{',
      '"capabilities":{"__proto__":{"polluted":true},',
    ),
    "a constructor (A13)": whole.replace(
      '"capabilities":{',
      '"capabilities":{"constructor":{"prototype":{"polluted":true}},',
    ),
    "an extension called prototype (A13)": whole.replace(
      "{",
      '{"extensions":{"prototype":{"polluted":true}},',
    ),
    "a deep list (A10)": whole.replace('"listener"', "[".repeat(50_000) + "]".repeat(50_000)),
    "a deep object (A10)": whole.replace(
      '"capabilities":{',
      `"capabilities":{"earshot":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)},`,
    ),
  };

  it("ENV-33: is refused with a sentence over HTTP, touches no prototype, and the server lives (A09, A10, A12, A13)", async () => {
    const { server } = await world();
    for (const [name, body] of Object.entries(broken)) {
      const answer = await subscribe(server, body);
      expect({ name, status: answer.status }).toEqual({ name, status: 400 });
      expect(answer.json).toEqual({
        type: "subscription.rejected",
        reason_code: "unknown",
        reason_message: expect.stringMatching(/\S/),
      });
      // An error is smaller than what it is about, and quotes none of it.
      expect(answer.text.length).toBeLessThan(8_000);
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(({} as Record<string, unknown>)["role"]).toBeUndefined();
    await alive(server);
  });

  it("ENV-33: as the first on a WebSocket, closes it; after the handshake, is passed over (A09, A10, A12, A13)", async () => {
    const { server } = await world();
    for (const [name, body] of Object.entries(broken)) {
      for (const binary of [false, true]) {
        const wire = await dial(server.ws, { token: server.token });
        wire.socket.send(body, { binary });
        const { code } = await wire.closed;
        // 1007 where the frame itself is not UTF-8 (RFC 6455, 8.1).
        expect({ name, code }).toEqual({ name, code: expect.toBeOneOf([4001, 1007]) });
      }
    }
    const wire = await dial(server.ws, { token: server.token });
    wire.send(REQUEST);
    const { subscription_id } = await wire.of("subscription.accepted");
    for (const [name, body] of Object.entries(broken)) {
      if (!name.includes("A12")) wire.socket.send(body, { binary: false });
    }
    wire.send({
      type: "subscription.renegotiate",
      subscription_id,
      capabilities: { preferred_verbosity: "terse" },
    });
    await wire.until((one) => one.type === "subscription.accepted" && one !== wire.heard[0]);
    expect(wire.socket.readyState).toBe(wire.socket.OPEN);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("CNF-15: a reply with a field twice is no reply, whichever of the two would count (A14)", async () => {
    const { producer, server } = await world();
    const mine = await listen(server);
    const { session, outcome } = ask(producer);
    const token = await asked(mine.stream, session.session_id);
    const whole = JSON.stringify(reply(token, mine.id));
    for (const twice of [
      whole.replace('"decision":"accept"', '"decision":"reject","decision":"accept"'),
      whole.replace('"decision":"accept"', '"decision":"accept","decision":"reject"'),
      whole.replace('"decision":"accept"', '"decision":"reject","d\\u0065cision":"accept"'),
      whole.replace("{", `{"reply_token":"${token}",`),
      whole.replace("}", ',"modified_action":{"amount":1,"amount":900}}'),
    ]) {
      expect((await sendReply(server, server.token, twice)).status).toBe(400);
    }
    expect(
      (await sendReply(server, server.token, reply(token, mine.id, { decision: "reject" }))).status,
    ).toBe(204);
    expect(await outcome).toMatchObject({ accepted: false });
  });

  it("LIM-09: absurd numbers for time are refused by the schema, or held to a day; none fires at once (F25)", async () => {
    const { server, producer } = await world();
    for (const value of ["1e400", "9007199254740993", "-1", "1e308", '"60"', "null"]) {
      const body = JSON.stringify(REQUEST).replace(
        '"supports_confirmation_reply"',
        `"pace_wpm":${value},"supports_confirmation_reply"`,
      );
      expect({ value, status: (await subscribe(server, body)).status }).toEqual({ value, status: 400 });
    }
    // A listener that needs very long, and an author who gives longer than a timer can count.
    const earshot = { minimum_timeout_seconds: 2 ** 40 };
    const needs = { ...REQUEST.capabilities, supported_extensions: ["urn:earshot:aaep:v1"], earshot };
    const { stream, accepted } = await listen(server, server.token, { ...REQUEST, capabilities: needs });
    expect(accepted["honored_capabilities"]).toMatchObject({ earshot: { minimum_timeout_seconds: 86_400 } });
    for (const timeout_seconds of [86_401, 2 ** 31, 1e10, Number.MAX_VALUE, Infinity]) {
      const session = producer.start({ summary: "Asking." });
      const outcome = session.confirm({ action: "Do it.", consequence: "It is done.", timeout_seconds });
      const prompt = await stream.until(
        (one) => one.type === "aaep:agent.awaiting.confirmation" && one["session_id"] === session.session_id,
      );
      expect(prompt["timeout_seconds"]).toBe(86_400);
      await session.cancel();
      expect(await outcome).toMatchObject({ accepted: false, outcome: "withdrawn" });
    }
  });
});

describe("a message that is too large", () => {
  const LIMIT = 4_096;

  it("LIM-08, TRN-12: is none of 64 KiB, nor of 1 MiB: both transports carry it", async () => {
    const { server } = await world();
    for (const size of [65_536, 1_048_576]) {
      expect((await subscribe(server, JSON.stringify(REQUEST).padEnd(size))).status).toBe(201);
      const wire = await dial(server.ws, { token: server.token });
      wire.send(JSON.stringify(REQUEST).padEnd(size));
      expect(await wire.of("subscription.accepted")).toBeDefined();
    }
    expect((await subscribe(server, JSON.stringify(REQUEST).padEnd(1_048_577))).status).toBe(413);
  });

  it("LIM-06: gets 413 at the limit, not after it, whether its length is declared or not (A11)", async () => {
    const { server } = await world({ limits: { bodyBytes: LIMIT } });
    const pad = (bytes: number) => {
      const body = JSON.stringify({ ...REQUEST, subscriber_version: "" });
      return body.replace(
        '"subscriber_version":""',
        `"subscriber_version":""${" ".repeat(bytes - Buffer.byteLength(body))}`,
      );
    };
    expect((await subscribe(server, pad(LIMIT))).status).toBe(201);
    expect((await subscribe(server, pad(LIMIT + 1))).status).toBe(413);
    // Declared: answered before a byte of it has been sent.
    expect(await raw(server.port, post(server, 10 ** 12))).toMatch(/^HTTP\/1\.1 413 /);
    // Not declared: answered while it still comes, and what comes after is not read.
    let sent = 0;
    const answer = await raw(server.port, post(server, "chunked"), (socket) => {
      const more = () => {
        if (socket.destroyed || sent > 50_000_000) return;
        sent += 1_024;
        if (socket.write(`400\r\n${"x".repeat(1_024)}\r\n`)) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeLessThan(20_000_000);
    await alive(server);
  });

  it("LIM-06: closes a WebSocket with 1009, by its first header, whole or in pieces (A11)", async () => {
    const { server } = await world({ limits: { bodyBytes: LIMIT } });
    const whole = await dial(server.ws, { token: server.token });
    whole.socket.send("x".repeat(LIMIT + 1));
    expect((await whole.closed).code).toBe(1009);
    const pieces = await dial(server.ws, { token: server.token });
    for (let i = 0; i < 10; i++) pieces.socket.send("x".repeat(1_024), { fin: false });
    expect((await pieces.closed).code).toBe(1009);
    const fits = await dial(server.ws, { token: server.token });
    fits.send(JSON.stringify(REQUEST).padEnd(LIMIT));
    expect(await fits.of("subscription.accepted")).toBeDefined();
  });

  it("headers beyond their limit get 431", async () => {
    const { server } = await world({ limits: { headerBytes: 2_048 } });
    const answer = await raw(
      server.port,
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(4_096)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe("frames that break the rules", () => {
  /** A WebSocket by hand, to send what no library would. */
  async function handshake(
    server: Serving,
    extensions = "",
  ): Promise<{ socket: Socket; received: () => Buffer; closed: Promise<void> }> {
    const socket = connectTcp(server.port, "127.0.0.1");
    later(() => socket.destroy());
    let bytes = Buffer.alloc(0);
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.on("error", () => {});
    socket.write(
      `GET /aaep/v1/ws HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: aaep.v1\r\nAuthorization: Bearer ${server.token}\r\n${extensions}\r\n`,
    );
    await new Promise<void>((resolve) => {
      socket.on("data", (part: Buffer) => {
        bytes = Buffer.concat([bytes, part]);
        if (bytes.includes("\r\n\r\n")) resolve();
      });
    });
    return { socket, received: () => bytes, closed };
  }
  const closeCode = (bytes: Buffer): number => {
    const frame = bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
    return frame[0] === 0x88 && frame.length >= 4 ? frame.readUInt16BE(2) : 0;
  };
  const masked = (first: number, payload: Buffer | string): Buffer => {
    const body = Buffer.from(payload);
    // A mask of zeros leaves the payload as it is.
    return Buffer.concat([Buffer.from([first, 0x80 | body.length, 0, 0, 0, 0]), body]);
  };

  it.each<[string, Buffer, number]>([
    ["an unmasked frame", Buffer.from([0x81, 0x02, 0x68, 0x69]), 1002],
    ["a reserved bit", masked(0xc1, "hi"), 1002],
    ["a reserved opcode", masked(0x83, "hi"), 1002],
    ["a continuation of nothing", masked(0x80, "hi"), 1002],
    [
      "a long ping",
      Buffer.concat([Buffer.from([0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0]), Buffer.alloc(128)]),
      1002,
    ],
    ["a ping in pieces", masked(0x09, "hi"), 1002],
    ["text that is no UTF-8", masked(0x81, Buffer.from([0xc3, 0x28])), 1007],
    [
      "a length beyond every limit",
      Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      1009,
    ],
    ["a close code that does not exist", masked(0x88, Buffer.from([0x00, 0x01])), 1002],
  ])("%s ends the connection and nothing else (A09)", async (_, frame, code) => {
    const { server } = await world();
    const { socket, received, closed } = await handshake(server);
    socket.write(frame);
    await closed;
    expect(closeCode(received())).toBe(code);
    await alive(server);
  });

  it("many tiny fragments are cut off, however small they are (A19)", async () => {
    const { server } = await world();
    const { socket, received, closed } = await handshake(server);
    const empty = Buffer.concat([
      masked(0x01, ""),
      ...Array.from({ length: 50_000 }, () => masked(0x00, "")),
    ]);
    socket.write(empty);
    await closed;
    expect(closeCode(received())).toBe(1008);
    await alive(server);
  });

  it("compression is not agreed to, asked for or not, so nothing can be blown up (A19)", async () => {
    const { server } = await world();
    const { received, socket, closed } = await handshake(
      server,
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n",
    );
    expect(received().toString("latin1")).not.toMatch(/sec-websocket-extensions/i);
    socket.write(masked(0xc1, "\xca\x48\xcd\xc9\xc9\x07\x00"));
    await closed;
    expect(closeCode(received())).toBe(1002);
    const squeezed = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: server.token,
      body: Buffer.from([0x1f, 0x8b, 8, 0]),
      headers: { "content-encoding": "gzip" },
    });
    expect(squeezed.status).toBe(415);
    const stream = await listen(server);
    expect(stream.stream.headers["content-encoding"]).toBeUndefined();
  });

  it("HTTP that two servers could read differently is refused", async () => {
    const { server } = await world();
    const head = `POST /aaep/v1/replies HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Type: application/json\r\n`;
    for (const lines of [
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nxxxxx",
      "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "Content-Length: -1\r\n\r\n",
      "X: a\r\n b\rX-Injected: yes\r\n\r\n",
      "Content-Length : 4\r\n\r\nxxxx",
    ]) {
      expect(await raw(server.port, head + lines), lines).toMatch(/^HTTP\/1\.1 400 /);
    }
    await alive(server);
  });
});

describe("a peer that takes its time", () => {
  it("slow headers are cut off (A18)", async () => {
    const { server } = await world({ limits: { headersMs: 200, requestMs: 400 } });
    const answer = await raw(server.port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(await raw(server.port, "")).toMatch(/^(?:HTTP\/1\.1 408 [\s\S]*)?$/);
  });

  it("a slow body is cut off with 408, byte by byte too (A18)", async () => {
    const { server } = await world({ limits: { headersMs: 200, requestMs: 400 } });
    const stalled = await raw(server.port, `${post(server, 500)}{"type"`);
    expect(stalled).toMatch(/^HTTP\/1\.1 408 /);
    let timer: NodeJS.Timeout | undefined;
    const dripping = await raw(server.port, post(server, 500), (socket) => {
      timer = setInterval(() => socket.write(" "), 20);
    });
    clearInterval(timer);
    expect(dripping).toMatch(/^HTTP\/1\.1 408 /);
    await alive(server);
  });

  it("a slow body is cut off over HTTP/2 too, and the other streams of the connection go on (A18)", async () => {
    const { authorities, remove } = createAuthorities("Ours");
    later(remove);
    const { server } = await world({
      tls: authorities.Ours.sign("agent"),
      http2: true,
      ...people({ alice: {} }),
      limits: { headersMs: 200, requestMs: 300 },
    });
    const session = connectHttp2(server.http, { ca: authorities.Ours.cert });
    later(() => session.destroy());
    const head = {
      ":method": "POST",
      ":path": "/aaep/v1/subscriptions",
      authorization: "Bearer alice",
      "content-type": "application/json",
    };
    const answer = (body: string, end: boolean) =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request(head);
        stream.on("response", (headers) => resolve(Number(headers[":status"])));
        stream.on("error", reject);
        stream.write(body);
        if (end) stream.end();
      });
    const slow = answer("{", false);
    expect(await answer(JSON.stringify(REQUEST), true)).toBe(201);
    expect(await slow).toBe(408);
    expect(await answer(JSON.stringify(REQUEST), true)).toBe(201);
  });

  it("a WebSocket on which nothing is asked for is let go (A18)", async () => {
    const { server } = await world({ limits: { heartbeatMs: 50 } });
    const wire = await dial(server.ws, { token: server.token });
    expect((await wire.closed).code).toBe(4004);
  });
});

describe("a flood", () => {
  it("of subscriptions is capped per person, and nobody else notices (F22)", async () => {
    const { server } = await world(people({ alice: {}, bob: {} }), {
      hub: { maxSubscriptionsPerPrincipal: 5 },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
        method: "POST",
        token: "alice",
        body: REQUEST,
      });
      statuses.push(answer.status);
      if (answer.status === 429)
        expect(answer).toMatchObject({
          json: { reason_code: "rate_limit" },
          headers: { "retry-after": "30" },
        });
    }
    expect(statuses).toEqual([...Array(5).fill(201), ...Array(7).fill(429)]);
    const wire = await dial(server.ws, { token: "alice" });
    wire.send(REQUEST);
    expect(await wire.of("subscription.rejected")).toMatchObject({ reason_code: "rate_limit" });
    expect((await listen(server, "bob")).stream.status).toBe(200);
  });

  it("of subscriptions is capped in all", async () => {
    const { server } = await world(people({ alice: {}, bob: {} }), { hub: { maxSubscriptions: 3 } });
    for (let i = 0; i < 3; i++) await listen(server, "alice");
    const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: "bob",
      body: REQUEST,
    });
    expect(answer).toMatchObject({ status: 429, json: { reason_code: "rate_limit" } });
  });

  it("of connections is capped, those beyond it are dropped, and room comes back (F22)", async () => {
    const { server } = await world({ limits: { connections: 10 } });
    const sockets = Array.from({ length: 30 }, () => connectTcp(server.port, "127.0.0.1"));
    for (const socket of sockets) socket.on("error", () => {});
    later(() => sockets.map((socket) => socket.destroy()));
    const dropped = sockets.map(
      (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
    );
    let gone = 0;
    await new Promise<void>((resolve) => {
      for (const one of dropped) void one.then(() => ++gone === 20 && resolve());
    });
    expect(sockets.filter((socket) => !socket.destroyed)).toHaveLength(10);
    for (const socket of sockets) socket.destroy();
    await Promise.all(dropped);
    for (;;) {
      const answer = await call(`${server.http}/healthz`).catch(() => undefined);
      if (answer?.status === 200) break;
    }
  });

  it.runIf(process.platform === "linux")(
    "of connections from one address leaves room for others (F22)",
    async () => {
      const { server } = await world({ limits: { connectionsPerAddress: 3 } });
      const open = (localAddress: string) => {
        const socket = connectTcp({ port: server.port, host: "127.0.0.1", localAddress });
        socket.on("error", () => {});
        later(() => socket.destroy());
        return { socket, gone: new Promise<void>((resolve) => socket.once("close", () => resolve())) };
      };
      const flood = Array.from({ length: 6 }, () => open("127.0.0.1"));
      let gone = 0;
      await new Promise<void>((resolve) => {
        for (const one of flood) void one.gone.then(() => ++gone === 3 && resolve());
      });
      const other = open("127.0.0.2");
      other.socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      const answer = await new Promise<string>((resolve) =>
        other.socket.once("data", (part: Buffer) => resolve(String(part))),
      );
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(flood.filter(({ socket }) => !socket.destroyed)).toHaveLength(3);
      for (const { socket } of flood) socket.destroy();
      await Promise.all(flood.map((one) => one.gone));
      while ((await call(`${server.http}/healthz`).catch(() => undefined))?.status !== 200);
    },
  );

  it("of made-up paths leaves no trace in the metrics", async () => {
    const { server } = await world();
    for (let i = 0; i < 300; i++) await call(`${server.http}/aaep/v1/${"x".repeat(i)}${i}`);
    const { text } = await call(`${server.http}/metrics`, { token: server.token });
    expect(text.split("\n").length).toBeLessThan(60);
    expect(text).not.toContain("xxx");
  });
});

describe("patterns on the way in", () => {
  it("are linear: texts made to slow them down are answered at once (A17)", async () => {
    const { server } = await world();
    const long = 200_000;
    const nasty = [
      `a${"a:".repeat(long / 2)}!`,
      `https://${"a".repeat(long)}!`,
      `${"-".repeat(long)}x`,
      `${"en-".repeat(long / 3)}!`,
      `2026-01-01T00:00:00.${"0".repeat(long)}`,
      `${"1.".repeat(long / 2)}x`,
      `${"%41".repeat(long / 3)}%`,
      `${"\u0301".repeat(long / 2)}`,
    ];
    const places = (value: string) => [
      { ...REQUEST, aaep_version: value },
      { ...REQUEST, subscriber_id: value },
      { ...REQUEST, subscriber_manifest_uri: value },
      { ...REQUEST, capabilities: { languages: [value] } },
      { ...REQUEST, capabilities: { event_filters: { include: [value] } } },
      { ...REQUEST, type: value },
      reply(value, value, { timestamp: value }),
    ];
    for (const value of nasty) {
      for (const body of places(value)) {
        const began = cpuMs();
        await subscribe(server, body);
        expect(cpuMs() - began).toBeLessThan(1_000);
      }
    }
    const headers = [
      { authorization: `Bearer${" ".repeat(8_000)}x y` },
      { cookie: `${"earshot_1=; ".repeat(700)}x` },
      { cookie: `earshot_${"1".repeat(8_000)}` },
      { origin: `http://${"a".repeat(8_000)}` },
      { accept: `${"application/".repeat(600)}` },
      { traceparent: `00-${"0".repeat(8_000)}` },
    ];
    for (const header of headers) {
      const began = cpuMs();
      await call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", headers: header, body: REQUEST });
      expect(cpuMs() - began).toBeLessThan(500);
    }
  });
});
