import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gate } from "./gate.ts";

describe("when the next words may be said", () => {
  it("is never sooner than the agreed rate, nor later than eight seconds, and critical words wait 2.5 at most", () => {
    fc.assert(
      fc.property(
        fc.nat(500),
        fc.integer({ min: 60, max: 600 }),
        fc.integer({ min: 1, max: 6 }),
        (words, pace, rate) => {
          const gate = new Gate();
          gate.said(1_000, words, pace, rate);
          const wait = gate.opens(false) - 1_000;
          expect(wait).toBeGreaterThanOrEqual(1000 / rate);
          expect(wait).toBeLessThanOrEqual(8_000);
          expect(gate.opens(true) - 1_000).toBeLessThanOrEqual(2_500);
          expect(gate.opens(true)).toBeLessThanOrEqual(gate.opens(false));
        },
      ),
    );
  });

  it("gives speech a moment after the focus has moved, also to what is critical", () => {
    const gate = new Gate();
    gate.hush(1_000, 700);
    expect([gate.opens(true), gate.opens(false)]).toEqual([1_700, 1_700]);
  });

  it("opens at once for what the person asked for", () => {
    const gate = new Gate();
    gate.said(1_000, 100, 120, 1);
    gate.acted();
    expect(gate.opens(false)).toBe(-Infinity);
    expect(gate.hurried).toBe(true);
  });
});
