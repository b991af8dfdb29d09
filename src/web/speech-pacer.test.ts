import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpeechPacer } from "./speech-pacer.ts";

describe("when the next words may be said", () => {
  it("is never sooner than the agreed rate, nor later than eight seconds, and critical words wait 2.5 at most", () => {
    fc.assert(
      fc.property(
        fc.nat(500),
        fc.integer({ min: 60, max: 600 }),
        fc.integer({ min: 1, max: 6 }),
        (words, pace, rate) => {
          const pacer = new SpeechPacer();
          pacer.said(1_000, words, pace, rate);
          const wait = pacer.readyAt(false) - 1_000;
          expect(wait).toBeGreaterThanOrEqual(1000 / rate);
          expect(wait).toBeLessThanOrEqual(8_000);
          expect(pacer.readyAt(true) - 1_000).toBeLessThanOrEqual(2_500);
          expect(pacer.readyAt(true)).toBeLessThanOrEqual(pacer.readyAt(false));
        },
      ),
    );
  });

  it("gives speech a moment after the focus has moved, also to what is critical", () => {
    const pacer = new SpeechPacer();
    pacer.delay(1_000, 700);
    expect([pacer.readyAt(true), pacer.readyAt(false)]).toEqual([1_700, 1_700]);
  });

  it("opens at once for what the person asked for", () => {
    const pacer = new SpeechPacer();
    pacer.said(1_000, 100, 120, 1);
    pacer.personActed();
    expect(pacer.readyAt(false)).toBe(-Infinity);
    expect(pacer.hurried).toBe(true);
  });
});
