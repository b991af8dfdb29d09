import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Utterance } from "../subscriber/announcer.ts";
import { keyOf, PendingAnnouncements } from "./pending-announcements.ts";

const utterance = (id: number, text: string, over: Partial<Utterance> = {}): Utterance => ({
  id,
  kind: "output",
  urgency: "normal",
  runs: [{ text, language: "en", direction: "ltr" }],
  words: 1,
  ...over,
});

describe("what a tab has not said yet", () => {
  it("is said by one of two tabs, never by both, whichever hears of it first", () => {
    const word = fc.constantFrom("one", "two", "three");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), fc.infiniteStream(fc.boolean()), (texts, early) => {
        const silent = new PendingAnnouncements();
        const flips = early[Symbol.iterator]();
        texts.forEach((text, id) => {
          const one = utterance(id, text);
          // The other tab says it before or after this one has heard of it.
          if (flips.next().value) {
            silent.said(keyOf(one), undefined);
            silent.add(one);
          } else {
            silent.add(one);
            silent.said(keyOf(one), undefined);
          }
        });
        expect(silent.next).toBeUndefined();
      }),
    );
  });

  it("keeps its order, but lets what is critical pass", () => {
    const unsaid = new PendingAnnouncements();
    unsaid.add(utterance(1, "first"));
    unsaid.add(utterance(2, "second"));
    unsaid.add(utterance(3, "fire", { urgency: "critical" }));
    expect([unsaid.take(), unsaid.take(), unsaid.take(), unsaid.take()].map((one) => one?.id)).toEqual([
      3,
      1,
      2,
      undefined,
    ]);
  });

  it("is folded for someone who comes back: the last words, everything critical, and how much there was", () => {
    const unsaid = new PendingAnnouncements();
    for (let id = 1; id <= 6; id++) unsaid.add(utterance(id, `sentence ${id}`));
    unsaid.add(utterance(7, "refused", { urgency: "critical" }));
    unsaid.add(utterance(8, "still working", { kind: "still_working" }));
    expect(unsaid.fold()).toBe(5);
    expect([unsaid.take(), unsaid.take(), unsaid.take()].map((one) => one?.id)).toEqual([7, 6, undefined]);
  });

  it("has a bound, and what is critical outlives it", () => {
    const unsaid = new PendingAnnouncements();
    unsaid.add(utterance(0, "fire", { urgency: "critical" }));
    for (let id = 1; id <= 500; id++) unsaid.add(utterance(id, `sentence ${id}`));
    expect(unsaid.take()?.id).toBe(0);
    let left = 0;
    while (unsaid.take()) left++;
    expect(left).toBeLessThanOrEqual(200);
  });
});
