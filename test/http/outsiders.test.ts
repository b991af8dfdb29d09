/** What a client author who has only the specification runs into first. */
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { parse } from "../../src/protocol/parse.ts";
import { createHttpApp, serveStdio } from "../../src/server/index.ts";
import { call, dial, later, listen, openStream, REQUEST, world } from "../security/wire-support.ts";

/** Sends everything first and reads only then, as many HTTP libraries do. */
function sendThenRead(port: number, head: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    later(() => socket.destroy());
    socket.pause();
    let text = "";
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
    socket.write(head);
    // Piece by piece, because a whole megabyte would fit into the system's buffers at once.
    let at = 0;
    const more = () => {
      while (at < body.length) {
        const part = body.subarray(at, at + 16_384);
        at += part.length;
        if (!socket.write(part)) return void socket.once("drain", more);
      }
      socket.resume();
    };
    more();
  });
}

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.once("error", reject);
    later(() => socket.destroy());
  });

describe("over SSE", () => {
  it("a request that is not valid is rejected like any other, in a message of AAEP: HS-04, HS-09, SSE-01", async () => {
    const { server } = await world();
    const post = (body: unknown) =>
      call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", token: server.token, body });
    const { capabilities: _, ...without } = REQUEST;
    const wrong: [unknown, RegExp][] = [
      ["{", /not JSON/],
      ["[]", /one JSON object/],
      [without, /capabilities is missing/],
      [{ ...REQUEST, aaep_version: "one" }, /aaep_version must be a version/],
      [{ type: "subscription.close", subscription_id: "sub_1", reason_code: "bye" }, /replies path/],
    ];
    for (const [body, says] of wrong) {
      const { status, text } = await post(body);
      expect(status).toBe(400);
      expect(parse(text, { mode: "strict" })).toMatchObject({
        ok: true,
        message: {
          type: "subscription.rejected",
          reason_code: "unknown",
          reason_message: expect.stringMatching(says),
        },
      });
    }
  });

  it("a body that is too large is answered, also where it is sent to its end before anything is read: A11", async () => {
    const { server } = await world();
    const body = Buffer.alloc(7 * 1_048_576, "x");
    for (const declared of [`content-length: ${body.length}`, "transfer-encoding: chunked"]) {
      const chunked = declared.startsWith("transfer");
      const framed = chunked
        ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")])
        : body;
      const text = await sendThenRead(
        server.port,
        `POST /aaep/v1/subscriptions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.token}\r\ncontent-type: application/json\r\n${declared}\r\n\r\n`,
        framed,
      );
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
    }
  });

  it("a sender without end is not read for ever: A11, A18", async () => {
    const { server } = await world();
    const socket = await open(server.port);
    socket.on("error", () => {});
    socket.resume();
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.write("POST /aaep/v1/replies HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n");
    const chunk = Buffer.from(`10000\r\n${"x".repeat(0x10000)}\r\n`);
    const more = () => void (socket.writable && socket.write(chunk, more));
    more();
    await closed;
  });

  it("a browser that calls while the agent stops is told to come back, by a stream and not by a status: F16", async () => {
    const { server } = await world();
    const { location, id } = await listen(server);
    server.stop();
    // As EventSource does: an address, and no header of its own. Anything but 200 would silence it for good.
    const stream = await openStream(`${server.http}${location}`, {
      headers: { accept: "text/event-stream" },
    });
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    await stream.closed;
    expect(stream.text).toMatch(/^retry: \d+$/m);
    expect(stream.frames).toEqual([
      {
        event: "aaep.message",
        id: undefined,
        data: expect.stringContaining('"reason_code":"producer_shutdown"'),
      },
    ]);
    // EventSource has no jitter of its own, so each is given another pause.
    const pauses = [];
    for (let i = 0; i < 8; i++) {
      const { text } = await call(`${server.http}${location}`);
      pauses.push(Number(/^retry: (\d+)$/m.exec(text)?.[1]));
    }
    for (const pause of pauses) expect(pause).toSatisfy((ms: number) => ms >= 500 && ms <= 3_500);
    expect(new Set(pauses).size).toBeGreaterThan(1);
    // Whoever can send a header can read a status, and is not made to believe that it is connected.
    const own = await call(`${server.http}/aaep/v1/events?subscription_id=${id}`, { token: server.token });
    expect(own).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  });
});

describe("over WebSocket", () => {
  it("somebody unknown who is told to go and does not keeps no connection: SEC-01", async () => {
    const { server } = await world();
    const socket = await open(server.port);
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    let bytes = Buffer.alloc(0);
    socket.on("data", (part: Buffer) => {
      bytes = Buffer.concat([bytes, part]);
    });
    socket.write(
      "GET /aaep/v1/ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-protocol: aaep.v1\r\n\r\n",
    );
    await closed;
    const frame = bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
    expect(frame[0]).toBe(0x88);
    expect(frame.readUInt16BE(2)).toBe(4002);
  });
});

describe("over stdio", () => {
  it("a request is answered, also where nothing more can follow it: HS-04, RPC-02", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const agent = createProducer({ agent_id: "com.example.bank", warn: () => {} });
    const serving = serveStdio(agent, { input, output });
    input.end(`${JSON.stringify({ jsonrpc: "2.0", id: "a", method: "aaep.subscribe", params: REQUEST })}\n`);
    await serving.closed;
    const line = String(output.read() ?? "");
    expect(JSON.parse(line)).toMatchObject({ id: "a", result: { type: "subscription.accepted" } });
    expect(agent.subscriptions).toBe(0);
    await agent.close();
  });
});

it("a mounted WebSocket endpoint that is closed on its own tells its listeners to come back: TRN-07, WS-07", async () => {
  const agent = createProducer({ agent_id: "com.example.bank", warn: () => {} });
  later(() => agent.close());
  const httpApp = await createHttpApp(agent, { log: () => {} });
  const server = createServer(httpApp.node);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  const endpoint = httpApp.attachWebSocket(server);
  const { port } = server.address() as AddressInfo;
  const dialled = () => dial(`ws://127.0.0.1:${port}/aaep/v1/ws`, { token: httpApp.token });
  const [listener, silent] = [await dialled(), await dialled()];
  listener.send(REQUEST);
  await listener.of("subscription.accepted");
  await endpoint.close();
  const why = { code: 1012, reason: "The agent is restarting. Reconnect in a moment." };
  expect(await listener.closed).toEqual(why);
  expect(await silent.closed).toEqual(why);
});
