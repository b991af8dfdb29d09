/** Bytes to messages: any cut gives the same messages, nothing hostile crashes, hangs or costs more memory than it sent (A09, A11). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decoder } from "../../src/framing/bytes.ts";
import { parseRpc, rpcError, rpcNotification, rpcRequest, rpcResult } from "../../src/framing/json-rpc.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../src/framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../src/framing/ndjson.ts";
import type { HubPort } from "../../src/protocol/hub-port.ts";
import { openIpc } from "../../src/transports/ipc/server.ts";
import { openStdio } from "../../src/transports/stdio/server.ts";

const FRAMINGS = [
  { name: "length prefix", create: createLengthPrefixDecoder, encode: encodeLengthPrefix },
  { name: "lines", create: createLineDecoder, encode: encodeLine },
];
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const RUNS = process.env["EARSHOT_LONG"] ? 100_000 : 10_000;

/** Feeds a stream in pieces of the given sizes, again and again. */
function feed(decoder: Decoder, stream: Uint8Array, cuts: readonly number[]): string[] {
  const got: string[] = [];
  for (let at = 0, i = 0; at < stream.byteLength; i++) {
    const size = Math.max(1, cuts[i % Math.max(1, cuts.length)] ?? stream.byteLength);
    got.push(...decoder.feed(stream.slice(at, at + size)).map(text));
    at += size;
  }
  return got;
}

describe.each(FRAMINGS)("framing by $name", ({ create, encode }) => {
  it("finds the same messages wherever the stream is cut, without parsing JSON: TRN-02, IPC-04, IPC-09", () => {
    const document = fc.json({ noUnicodeString: false } as never).map((json) => JSON.stringify({ json }));
    fc.assert(
      fc.property(
        fc.array(document, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
        (documents, cuts) => {
          const decoder = create();
          expect(feed(decoder, Buffer.concat(documents.map(encode)), cuts)).toEqual(documents);
          expect(decoder).toMatchObject({ buffered: 0, fault: undefined });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("carries a message of 1 MiB and refuses one byte more at its announcement or its limit (A11)", () => {
    const most = JSON.stringify({ text: "x".repeat(1_048_576 - 11) });
    expect(most.length).toBe(1_048_576);
    expect(feed(create(), encode(most), [65_536])).toEqual([most]);
    const decoder = create();
    expect(feed(decoder, encode(`${most} `), [65_536])).toEqual([]);
    expect(decoder).toMatchObject({ buffered: 0, fault: "too_large" });
    // After a fault nobody knows where a message begins: nothing is ever read again.
    expect(decoder.feed(encode("{}"))).toEqual([]);
  });

  it("holds no more than it was sent, one byte at a time", () => {
    const decoder = create();
    const stream = encode(JSON.stringify({ text: "x".repeat(300_000) }));
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    for (let i = 0; i < stream.byteLength - 1; i++) decoder.feed(stream.subarray(i, i + 1));
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    expect(decoder.buffered).toBe(stream.byteLength - 1);
    expect(after - before).toBeLessThan(64 * 1024 * 1024);
    expect(decoder.feed(stream.subarray(-1))).toHaveLength(1);
  });

  it(`takes 10,000 random byte streams without a crash, a hang or unbounded memory (A09)`, () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.constantFrom(
        Buffer.from("{}\n"),
        Buffer.from([0, 0, 0, 2, 0x7b, 0x7d]),
        Buffer.from([0, 0x10, 0, 1]),
        Buffer.from([0xff, 0xff, 0xff, 0xff]),
        Buffer.from("\r\n\n"),
      ),
    );
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
        const decoder = create(256);
        let sent = 0;
        for (const one of chunks) {
          sent += one.byteLength;
          for (const message of decoder.feed(one)) expect(message.byteLength).toBeLessThanOrEqual(256);
          expect(decoder.buffered).toBeLessThanOrEqual(Math.min(sent, 260));
        }
      }),
      { numRuns: RUNS },
    );
  });
});

describe("a length", () => {
  it.each(["00100001", "01000000", "7fffffff", "80000000", "ffffffff"])(
    "of 0x%s is refused when it is announced, first or later, whole or in pieces: A11",
    (hex) => {
      const header = Buffer.from(hex, "hex");
      for (const stream of [header, Buffer.concat([encodeLengthPrefix("{}"), header])]) {
        for (const size of [stream.byteLength, 1]) {
          const decoder = createLengthPrefixDecoder();
          feed(decoder, stream, [size]);
          expect(decoder).toMatchObject({ buffered: 0, fault: "too_large" });
        }
      }
    },
  );
});

describe("lines", () => {
  it("may end in CR LF, and empty ones are passed over", () => {
    expect(createLineDecoder().feed(Buffer.from('\n\r\n{"a":1}\r\n\n{"b":2}\n')).map(text)).toEqual([
      '{"a":1}',
      '{"b":2}',
    ]);
  });
});

describe("JSON-RPC lines", () => {
  it("say what they are, and are never two things: RPC-01", () => {
    expect(parseRpc(rpcRequest(7, "aaep.ping", "{}"))).toEqual({
      kind: "request",
      id: 7,
      method: "aaep.ping",
      params: {},
    });
    expect(parseRpc(rpcNotification("aaep.event", '{"n":1.0}'))).toEqual({
      kind: "notification",
      method: "aaep.event",
      params: { n: 1 },
      json: '{"n":1.0}',
    });
    expect(parseRpc('{"method":"aaep.event","params":{},"jsonrpc":"2.0"}')).toMatchObject({
      kind: "notification",
      json: undefined,
    });
    expect(parseRpc(rpcResult("a", "null"))).toEqual({ kind: "result", id: "a", result: null });
    expect(parseRpc(rpcError(null, { code: -1, message: "no" }))).toEqual({
      kind: "error",
      id: null,
      code: -1,
      message: "no",
    });
    for (const fault of [
      "",
      "[]",
      "1",
      "null",
      "{}",
      '{"jsonrpc":"1.0","method":"x"}',
      '{"jsonrpc":"2.0","id":{},"method":"x"}',
      '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}',
      '{"jsonrpc":"2.0","method":1,"id":1}',
    ]) {
      expect(parseRpc(fault), fault).toMatchObject({ kind: "fault" });
    }
  });
});

describe("a session fed with noise", () => {
  const door: HubPort = {
    subscribe: () => ({
      answer: { type: "subscription.rejected", reason_code: "unknown", reason_message: "No." },
    }),
    find: () => undefined,
    handle: async () => ({ taken: false }),
    retryAfter: () => undefined,
  };
  const principal = { id: "local", role: "reply", audiences: "all" } as const;
  const noise = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((json) => Buffer.from(`${json}\n`)),
      fc.json().map((json) => encodeLengthPrefix(json)),
      fc.json().map((json) => Buffer.from(`${rpcRequest(1, "aaep.subscribe", json)}\n`)),
      fc
        .constantFrom(
          '{"type":"subscription.request"}\n',
          '{"__proto__":{}}\n',
          `${"[".repeat(5_000)}\n`,
          '{"jsonrpc":"2.0","method":"aaep.reply","params":{"type":"confirmation.reply"}}\n',
        )
        .map((one) => Buffer.from(one)),
    ),
    { maxLength: 6 },
  );

  it("answers in words or ends, 10,000 times over each binding, and never throws (A09, A10, A13)", () => {
    for (const open of [openIpc, openStdio]) {
      fc.assert(
        fc.property(noise, (chunks) => {
          let written = 0;
          let ended = 0;
          const session = open(
            {
              write(frame) {
                written += frame.byteLength;
                return undefined;
              },
              end: () => void ended++,
            },
            door,
            principal,
          );
          for (const chunk of chunks) session.bytes(chunk);
          session.closed();
          expect(ended).toBeLessThanOrEqual(1);
          expect(written).toBeLessThan(64 * 1024);
        }),
        { numRuns: RUNS },
      );
    }
  });
});
