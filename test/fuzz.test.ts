import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "../src/protocol/parse.ts";
import { SAMPLES, sample } from "./support/messages.ts";

const RUNS = process.env["EARSHOT_LONG"] ? 1_000_000 : 10_000;

describe("parse under fire", () => {
  it(`A09: ${RUNS} random byte strings, no throw, no hang, always an answer`, () => {
    const valid = fc
      .constantFrom(...Object.keys(SAMPLES))
      .map((type) => new TextEncoder().encode(JSON.stringify(sample(type))));
    const bent = fc
      .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }))
      .map(([bytes, edits]) => {
        const copy = Uint8Array.from(bytes);
        for (const [at, byte] of edits) copy[at % copy.length] = byte;
        return copy;
      });
    const cut = fc.tuple(valid, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % bytes.length));
    const jsonish = fc.json({ maxDepth: 6 }).map((text) => new TextEncoder().encode(text));
    let answers = 0;
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 400 }), bent, cut, jsonish), (bytes) => {
        for (const mode of ["strict", "tolerant"] as const) {
          const parsed = parse(bytes, { mode });
          answers++;
          if (!parsed.ok) expect(parsed.issues.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: RUNS },
    );
    expect(answers).toBe(RUNS * 2);
  });
});
