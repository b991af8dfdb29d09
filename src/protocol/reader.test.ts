import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "./parse.ts";
import { createReader } from "./reader.ts";

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
  const reader = createReader();
  return texts.map((text) => reader(text));
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
