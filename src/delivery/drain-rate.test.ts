/** Rate limit (token bucket) and pace of a subscription (5.6.1; CON-06, CON-23). */
import { describe, expect, it } from "vitest";
import {
  allowsBurst,
  countWords,
  createBudget,
  LONGEST_PAUSE_MS,
  nextSendAt,
  quietAfter,
  spend,
} from "./drain.ts";

/** Sends as early as the rate limit allows, as many as possible until a time. */
function greedy(rate: number, until: number): number[] {
  const budget = createBudget(rate);
  const sent: number[] = [];
  for (let now = 0; now < until; now = Math.max(now, Math.ceil(nextSendAt(budget)))) {
    sent.push(now);
    spend(budget, now);
  }
  return sent;
}

describe("a budget", () => {
  it.each([1, 2, 3, 5, 7, 10, 33, 100])(
    "of %d a second is never exceeded in any half-open second (DEL-05, DEL-06)",
    (rate) => {
      const sent = greedy(rate, 20_000);
      for (const from of sent)
        expect(sent.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(rate);
      expect(sent.length).toBeGreaterThan(rate * 20 * 0.9);
    },
  );

  it.each([101, 250, 1000, 20_000])("of %d a second allows 10 ms' worth on top (CON-06)", (rate) => {
    const sent = greedy(rate, 3000);
    const most = rate + rate / 100;
    let from = 0;
    for (let to = 0; to < sent.length; to++) {
      while (sent[from]! <= sent[to]! - 1000) from++;
      expect(to - from + 1).toBeLessThanOrEqual(most);
    }
  });

  it("refills continuously, not in ticks (DEL-06)", () => {
    const budget = createBudget(4);
    spend(budget, 1000);
    expect([1100, 1249, 1250].map((now) => nextSendAt(budget) <= now)).toEqual([false, false, true]);
  });

  it("lets a flush owe max(5, rate) events and no more (CON-06)", () => {
    for (const rate of [1, 3, 20]) {
      const budget = createBudget(rate);
      spend(budget, 0);
      expect(allowsBurst(budget, Math.max(5, rate), 0)).toBe(true);
      expect(allowsBurst(budget, Math.max(5, rate) + 1, 0)).toBe(false);
    }
    expect(allowsBurst(createBudget(Infinity), 1e9, 0)).toBe(true);
  });
});

describe("a pace", () => {
  it("is quiet for as long as the words take to speak, and never longer than the cap (CON-23)", () => {
    expect(quietAfter(-Infinity, 3, 180, 5000)).toBe(6000);
    expect(quietAfter(5500, 3, 180, 5000)).toBe(6500);
    expect(quietAfter(-Infinity, 1e6, 50, 5000)).toBe(5000 + LONGEST_PAUSE_MS);
    expect(quietAfter(5000 + LONGEST_PAUSE_MS, 100, 50, 5000)).toBe(5000 + LONGEST_PAUSE_MS);
  });

  it.each([
    ["", 0],
    ["  \n ", 0],
    ["One two  three.", 3],
    ["日本語です。", 3],
    ["สวัสดีครับ", 4],
    ["àwọn ọmọ wa", 3],
  ])("counts %j as %d words", (text, words) => expect(countWords(text)).toBe(words));
});
