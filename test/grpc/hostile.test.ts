// Bytes nobody meant well with: the server says no, or nothing, and goes on serving everybody else.
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import type { ServingGrpc } from "../../src/server/grpc/grpc.ts";
import { SUBSCRIBE_PATH } from "../../src/transports/grpc/library.ts";
import { encodeAaepMessage } from "../../src/transports/grpc/protobuf.ts";
import { admitted, Bare, later, REQUEST, world } from "./support.ts";

const STREAMS = process.env["EARSHOT_LONG"] ? 10_000 : 500;

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function stillServes(server: ServingGrpc): Promise<void> {
  const bare = await admitted(server);
  bare.send({ type: "subscription.close", subscription_id: bare.id, reason_code: "subscriber_shutdown" });
  expect((await bare.ended).code).toBe(grpc.status.OK);
}

describe("bytes that are no message", () => {
  it.each([
    ["no protobuf", Buffer.from([0x0a, 0xff, 0x01])],
    ["no JSON", encodeAaepMessage("{not json", "subscription.request")],
    ["no UTF-8", encodeAaepMessage(Buffer.from([0x7b, 0xff, 0x7d]), "subscription.request")],
    ["nothing at all", Buffer.alloc(0)],
    ["no object", encodeAaepMessage("[]", "subscription.request")],
  ])("but %s, sent first, are rejected in words: GRPC-02, CON-63", async (_, bytes) => {
    const { server } = await world();
    const bare = new Bare(server);
    bare.call.write(bytes);
    await bare.type("subscription.rejected");
    expect((await bare.ended).code).toBe(grpc.status.INVALID_ARGUMENT);
    await stillServes(server);
  });

  it("end the stream when they are no protobuf, and are passed over when they are no AAEP: GRPC-02, CNF-15", async () => {
    const { server, producer } = await world();
    const bare = await admitted(server);
    bare.call.write(encodeAaepMessage("{not json", "confirmation.reply"));
    bare.call.write(encodeAaepMessage('{"type":"confirmation.reply"}', "confirmation.reply"));
    bare.call.write(Buffer.alloc(0));
    await producer.run({ summary: "Unimpressed." }, async () => {});
    await bare.type("aaep:agent.session.completed");
    bare.call.write(Buffer.from([0x0b]));
    expect((await bare.ended).code).toBe(grpc.status.INVALID_ARGUMENT);
    expect(await bare.trailer("aaep-close-reason")).toBe("protocol_violation");
  });

  it("and are too many for one message end the stream, while 64 KiB and 1 MiB pass: TRN-12", async () => {
    const { server } = await world();
    const padded = (bytes: number) => {
      const request = { ...REQUEST, capabilities: { ...REQUEST.capabilities, "x-padding": { text: "" } } };
      return {
        ...request,
        capabilities: {
          ...request.capabilities,
          "x-padding": { text: "x".repeat(bytes - JSON.stringify(request).length) },
        },
      };
    };
    for (const bytes of [65_536, 1_048_576]) {
      const bare = new Bare(server);
      bare.send(padded(bytes));
      await bare.type("subscription.accepted");
    }
    for (const bytes of [1_048_577, 1_060_000, 8_000_000]) {
      const bare = new Bare(server);
      bare.send(padded(bytes));
      const { code } = await bare.ended;
      expect([grpc.status.RESOURCE_EXHAUSTED, grpc.status.INVALID_ARGUMENT]).toContain(code);
    }
    await stillServes(server);
  });
});

describe("a peer that only knows HTTP/2", () => {
  const frame = (bytes: Buffer, { compressed = 0, size = bytes.length } = {}) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(compressed, 0);
    head.writeUInt32BE(size, 1);
    return Buffer.concat([head, bytes]);
  };
  async function post(server: ServingGrpc, headers: Record<string, string>, body: Buffer) {
    const session = connectHttp2(`http://127.0.0.1:${server.port}`);
    session.on("error", () => {});
    later(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": SUBSCRIBE_PATH,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${server.token}`,
      ...headers,
    });
    const seen: Record<string, unknown> = {};
    stream.on("response", (got) => Object.assign(seen, got));
    stream.on("trailers", (got) => Object.assign(seen, got));
    stream.on("data", () => {}).on("error", () => {});
    stream.end(body);
    await new Promise((resolve) => stream.once("close", resolve));
    return seen;
  }
  const message = encodeAaepMessage(JSON.stringify(REQUEST), "subscription.request");

  it.each([
    ["a length that promises more", {}, frame(message, { size: message.length + 9 }), [3, 13]],
    ["a length of four gigabytes", {}, frame(message, { size: 0xffffffff }), [8]],
    ["broken gzip", { "grpc-encoding": "gzip" }, frame(message, { compressed: 1 }), [13]],
    [
      "a bomb",
      { "grpc-encoding": "gzip" },
      frame(gzipSync(Buffer.alloc(50_000_000)), { compressed: 1 }),
      [8],
    ],
    ["a compression nobody knows", { "grpc-encoding": "br" }, frame(message, { compressed: 1 }), [12]],
    ["a method nobody knows", { ":path": "/aaep.v1.AaepService/Nothing" }, frame(message), [12]],
    ["a deadline that is none", { "grpc-timeout": "soon" }, frame(message), [13]],
  ])("is refused with %s by a status: GRPC-02", async (_, headers, body, codes) => {
    const { server } = await world();
    const seen = await post(server, headers, body);
    expect(codes).toContain(Number(seen["grpc-status"]));
    await stillServes(server);
  });

  it("is refused with another content type, and with a path that is none", async () => {
    const { server } = await world();
    const seen = await post(server, { "content-type": "text/html" }, Buffer.from("<p>"));
    expect(seen[":status"]).toBe(constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE);
    await stillServes(server);
  });
});

describe("random bytes on the socket", () => {
  it(`crash nothing and hold nothing: ${STREAMS} streams, with and without HTTP/2's greeting`, async () => {
    const { server, producer } = await world();
    const random = seeded(8);
    const greeting = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const one = async () => {
      const noise = Buffer.from(
        Array.from({ length: 1 + Math.floor(random() * 300) }, () => Math.floor(random() * 256)),
      );
      const kind = random();
      const bytes =
        kind < 0.3 ? noise : Buffer.concat([greeting, kind < 0.6 ? Buffer.alloc(0) : settings, noise]);
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {}).on("data", () => {});
      await new Promise<void>((resolve) => {
        socket.once("close", () => resolve());
        socket.write(bytes, () => setTimeout(() => socket.destroy(), 5));
      });
    };
    for (let i = 0; i < STREAMS; i += 25) await Promise.all(Array.from({ length: 25 }, one));
    expect(producer.subscriptions).toBe(0);
    await stillServes(server);
  }, 300_000);

  it("inside messages crash nothing: whatever a stream says, it is answered or ended", async () => {
    const { server } = await world();
    const random = seeded(9);
    const good = encodeAaepMessage(JSON.stringify(REQUEST), "subscription.request");
    for (let i = 0; i < STREAMS / 5; i++) {
      const bytes = Buffer.from(good);
      for (let n = 0; n < 1 + random() * 4; n++)
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      const bare = new Bare(server);
      bare.call.write(bytes);
      bare.call.end();
      const answered = Promise.race([bare.type("subscription.accepted"), bare.ended]);
      await answered;
      bare.call.cancel();
    }
    await stillServes(server);
  }, 300_000);

  it("a listener that asks and asks and never reads the answers is let go, not remembered", async () => {
    const { server, logs } = await world({ limits: { queueBytes: 100_000, blockedMs: 60_000 } });
    const bare = await admitted(server, { options: { "grpc-node.flow_control_window": 65_535 } });
    bare.call.pause();
    const gone = () => logs.some(({ event }) => event === "stream_closed");
    for (let i = 0; i < 20_000 && !gone(); i++) {
      bare.send({
        type: "subscription.renegotiate",
        subscription_id: bare.id,
        capabilities: { max_events_per_second: 5 },
      });
      if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(gone()).toBe(true);
    await stillServes(server);
  }, 60_000);
});
