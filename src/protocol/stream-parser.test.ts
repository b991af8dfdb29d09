import v8 from "node:v8";
import vm from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECEIVE_LIMITS } from "./limits.ts";
import { createStreamParser, parse } from "./parse.ts";

const envelope = {
  "@context": "https://aaep-protocol.org/context/v1",
  aaep_version: "1.0.0",
  type: "aaep:agent.output.streaming",
  session_id: "sess_1",
  producer: { agent_id: "planner", agent_name: "Planner" },
  urgency: "normal",
  localization_hints: { primary_language: "en", text_direction: "ltr" },
  output_id: "out_1",
};
const own = {
  event_id: "evt_1",
  timestamp: "2026-05-24T14:22:11.342Z",
  chunk: "Hello",
  position: 0,
  complete: false,
  coalesce_hint: "none",
};
const written = (...parts: object[]): string => JSON.stringify(Object.assign({}, ...parts));
const read = (texts: readonly string[]) => {
  const parser = createStreamParser();
  return texts.map((text) => parser(text));
};
const parsed = (texts: readonly string[]) => texts.map((text) => parse(text, { mode: "tolerant" }));

describe("reading text as it is streamed", () => {
  it("gives what parse gives, whatever changes from one message to the next (ENV-35, CON-37)", () => {
    const change = fc.oneof(
      { weight: 6, arbitrary: fc.record({ chunk: fc.string({ unit: "grapheme" }), position: fc.nat() }) },
      fc.record({ output_id: fc.constantFrom("out_1", "out_2", "no id"), complete: fc.boolean() }),
      fc.constantFrom(
        { event_id: "no id" },
        { timestamp: "yesterday" },
        { chunk: "\ud800" },
        { chunk: 7 },
        { chunk: undefined },
        { position: -1 },
        { position: 1e300 },
        { complete: "true" },
        { coalesce_hint: "breath" },
        { coalesce_hint: undefined },
        { unknown: { deep: [1] } },
        { type: "aaep:agent.state.changed" },
        { chunk: ',"event_id":"evt_2","chunk":"' },
      ),
    );
    const layout = fc.constantFrom(
      (changed: object) => written(envelope, own, changed),
      (changed: object) => written(own, envelope, changed),
      (changed: object) => written(envelope, own, changed).replace(/\}$/, ',"chunk":"twice"}'),
      (changed: object) => written(envelope, own, changed).replace(/\}$/, ',"__proto__":{}}'),
      (changed: object) => written(envelope, own, changed).slice(0, -1),
      (changed: object) => `${written(envelope, own, changed)} {}`,
      (changed: object) => `\ufeff${written(envelope, own, changed)}`,
    );
    const message = fc.oneof(
      { weight: 4, arbitrary: change.map((changed) => written(envelope, own, changed)) },
      fc.tuple(layout, change).map(([write, changed]) => write(changed)),
    );
    fc.assert(
      fc.property(fc.array(message, { minLength: 2, maxLength: 8 }), (texts) => {
        expect(read(texts)).toEqual(parsed(texts));
      }),
      { numRuns: 500 },
    );
  });

  it("gives what parse gives, however the next message is written (ENV-35, CON-37)", () => {
    const bit = fc.constantFrom(
      ...'"\\{}[],:.-+ \t\n\r\0\u001f\u007f\ufeff\u2028\ud83d\ude00aA0e9',
      ...["1e3", "-0", "00", "1.0", "9007199254740993", "999999999999999", "1000000000000000", "null"],
      ...["\\n", "\\u0041", "\\ud83d", "\\ud83d\\ude00", "\\x", "\\/", "é", "日本", "👋🏽", "e\u0301"],
      ...[
        `"chunk":"again",`,
        `"__proto__":{},`,
        `"language":"en",`,
        `,"event_id":"evt_2"`,
        `{"event_id":"evt_3"}`,
      ],
    );
    const edit = fc.record({ at: fc.nat(), length: fc.nat({ max: 3 }), bit: fc.oneof(bit, fc.constant("")) });
    const base = written(envelope, own);
    const begins = base.indexOf(`"event_id"`);
    // Most edits hit fields that differ per chunk; some hit the shared prefix.
    const edited = (edits: readonly { at: number; length: number; bit: string }[]) =>
      edits.reduce((text, { at, length, bit }) => {
        const place = at % 5 === 0 ? at % text.length : begins + (at % (text.length - begins + 1));
        return text.slice(0, place) + bit + text.slice(place + length);
      }, base);
    const message = fc.array(edit, { maxLength: 3 }).map(edited);
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), (texts) => {
        const all = [base, ...texts, base];
        expect(read(all)).toEqual(parsed(all));
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives what parse gives for the longest chunks there can be, whole or broken off (A17)", () => {
    for (const unit of ["a", "👋", '"', "\n", "é", "\u0001"]) {
      const text = (length: number) => written(envelope, own, { chunk: unit.repeat(length) });
      const longest = Math.floor(RECEIVE_LIMITS.bytes / (text(2).length - text(1).length)) - 1_000;
      for (const part of [1, 2, 3, 4, 5, 6]) {
        const whole = text(Math.floor(longest / part));
        const all = [
          written(envelope, own),
          whole,
          whole.slice(0, -2),
          whole.replace(/"(?=,"position")/, ""),
        ];
        expect(read(all)).toEqual(parsed(all));
      }
    }
  });

  it("keeps nothing alive but what was read, however much came with it", () => {
    v8.setFlagsFromString("--expose-gc");
    const collect = vm.runInNewContext("gc") as () => void;
    const parser = createStreamParser();
    parser(written(envelope, own));
    const kept: unknown[] = [];
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 100; n++) {
      const chunk = `A sentence like any other, the ${n}th of them.`;
      const timestamp = new Date(1.7e12 + n).toISOString();
      const text = written(envelope, own, { event_id: `evt_0123456789abcdef${n}`, timestamp, chunk });
      const arrived = new TextDecoder().decode(Buffer.from(`${text}\n${"x".repeat(200_000)}`));
      const result = parser(arrived.slice(0, arrived.indexOf("\n")));
      if (!result.ok) throw new Error("It is fine.");
      kept.push(result.message);
    }
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    expect(kept).toHaveLength(100);
  });

  it("lets nobody change the next event through this one", () => {
    const [, second, third] = read([1, 2, 3].map((n) => written(envelope, own, { event_id: `evt_${n}` })));
    if (!second?.ok || !third?.ok) throw new Error("Both are fine.");
    second.message["chunk" as never] = "changed" as never;
    expect(() => {
      (second.message as { producer: { agent_id: string } }).producer.agent_id = "somebody else";
    }).toThrow(TypeError);
    expect(third.message).toEqual({ ...envelope, ...own, event_id: "evt_3" });
  });
});
