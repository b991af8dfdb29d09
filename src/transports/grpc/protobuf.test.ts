import { fileURLToPath } from "node:url";
import { loadSync } from "@grpc/proto-loader";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJson, encodeAaepMessage, encodeEvent, encodeManifest, readFields } from "./protobuf.ts";

const proto = fileURLToPath(new URL("../../../proto", import.meta.url));
// The library everybody else uses, reading the file we publish.
const { Subscribe, GetManifest } = loadSync("aaep/v1/aaep.proto", { includeDirs: [proto], keepCase: true })[
  "aaep.v1.AaepService"
] as unknown as Record<"Subscribe" | "GetManifest", Method>;
interface Method {
  requestSerialize(value: object): Buffer;
  responseDeserialize(bytes: Buffer): { json: Buffer; message_type: string };
}
const RUNS = process.env["EARSHOT_LONG"] ? 100_000 : 5_000;
const text = fc.string({ unit: "binary", maxLength: 400 });

describe("an AaepMessage", () => {
  it("is written as protobufjs reads it, and read as protobufjs writes it: GRPC-02", () => {
    fc.assert(
      fc.property(text, text, (json, message_type) => {
        const wellFormed = Buffer.from(json);
        const bytes = encodeAaepMessage(json, message_type);
        const read = Subscribe.responseDeserialize(bytes);
        expect(Buffer.compare(read.json ?? Buffer.alloc(0), wellFormed)).toBe(0);
        expect(read.message_type ?? "").toBe(Buffer.from(message_type).toString());
        const theirs = Subscribe.requestSerialize({ json: wellFormed, message_type });
        expect(Buffer.compare(Buffer.from(decodeJson(theirs)!), wellFormed)).toBe(0);
        if (json && message_type) expect(Buffer.compare(theirs, bytes)).toBe(0);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 65_536, 2_097_152])(
    "of %d bytes keeps its length: GRPC-02",
    (size) => {
      const json = "x".repeat(size);
      expect(Subscribe.responseDeserialize(encodeAaepMessage(json, "t")).json?.length ?? 0).toBe(size);
      expect(decodeJson(encodeAaepMessage(json, "t"))).toHaveLength(size);
    },
  );

  it("may bring fields nobody knows yet, in any order; of the same one twice, the last counts", () => {
    const bytes = Buffer.concat([
      Buffer.from([0x98, 0x06, 0xff, 0x01]), // 99, a number
      Buffer.from([0x0a, 0x01, 0x41]), // json: A
      Buffer.from([0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]), // 100, eight bytes
      Buffer.from([0xad, 0x06, 1, 2, 3, 4]), // 101, four bytes
      Buffer.from([0xb3, 0x06, 0x0a, 0x01, 0x43, 0xb4, 0x06]), // 102, a group with a json inside
      Buffer.from([0x0a, 0x01, 0x42]), // json: B
    ]);
    expect(Buffer.from(decodeJson(bytes)!).toString()).toBe("B");
    expect(Subscribe.responseDeserialize(bytes).json.toString()).toBe("B");
  });

  it.each([
    ["a length beyond the end", [0x0a, 0x05, 0x41]],
    ["a length of eighteen digits", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ["a number without an end", [0x08, ...Array(10).fill(0xff)]],
    ["a tag cut short", [0x80]],
    ["field number zero", [0x02, 0x00]],
    ["a wire type that does not exist", [0x0e]],
    ["eight bytes of which three came", [0x09, 1, 2, 3]],
    ["a group that never ends", [0x0b]],
    ["a group that never began", [0x0c]],
    ["a group that ends as another", [0x0b, 0x14]],
    ["groups in groups without end", Array(1000).fill(0x0b)],
  ])("with %s is none: GRPC-02", (_, bytes) => {
    expect(decodeJson(Uint8Array.from(bytes))).toBeUndefined();
  });

  it(`of random fields is read as protobufjs reads it, and of random bytes never throws, ${RUNS} times`, () => {
    const tag = (number: number, type: number) =>
      Buffer.from(
        number < 16 ? [number * 8 + type] : [((number * 8 + type) % 128) | 0x80, (number * 8) >> 7],
      );
    const sized = (max: number) =>
      fc
        .tuple(fc.integer({ min: 1, max }), fc.uint8Array({ maxLength: 100 }))
        .map(([number, bytes]) => Buffer.concat([tag(number, 2), Buffer.from([bytes.length]), bytes]));
    const fixed = (type: number, size: number) =>
      fc
        .tuple(fc.integer({ min: 3, max: 200 }), fc.uint8Array({ minLength: size, maxLength: size }))
        .map(([number, bytes]) => Buffer.concat([tag(number, type), bytes]));
    const number = fc
      .integer({ min: 3, max: 200 })
      .map((at) => Buffer.concat([tag(at, 0), Buffer.from([0xff, 0x80, 0x01])]));
    const fields = fc.array(fc.oneof(sized(2), sized(200), fixed(1, 8), fixed(5, 4), number), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(fields, fc.uint8Array({ maxLength: 60 }), (parts, noise) => {
        const bytes = Buffer.concat(parts);
        const theirs = Subscribe.responseDeserialize(bytes).json ?? Buffer.alloc(0);
        expect(Buffer.compare(theirs, Buffer.from(decodeJson(bytes)!))).toBe(0);
        decodeJson(noise);
        decodeJson(bytes.subarray(0, noise.length));
      }),
      { numRuns: RUNS },
    );
  });

  it("names the type of an event, wherever in it that stands: GRPC-02", () => {
    const of = (event: object) =>
      Buffer.from(
        readFields(
          encodeEvent({ event_id: "1", json: JSON.stringify(event), critical: false, cursor: true }),
        )!.get(2) ?? [],
      ).toString();
    expect(of({ "@context": "c", type: "aaep:agent.session.started" })).toBe("aaep:agent.session.started");
    expect(of({ "@context": ["c", "d"], type: "aaep:agent.session.started" })).toBe(
      "aaep:agent.session.started",
    );
    expect(of({ producer: { type: "wrong" }, type: "medai:x" })).toBe("medai:x");
    expect(of({ "@context": ['c"', { type: "wrong" }], type: "medai:y" })).toBe("medai:y");
  });
});

describe("a Manifest", () => {
  it("is its JSON in one field: GRPC-02", () => {
    expect(GetManifest.responseDeserialize(encodeManifest('{"é":1}')).json.toString()).toBe('{"é":1}');
  });
});
