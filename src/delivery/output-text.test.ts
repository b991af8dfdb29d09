/** Text prepared for the log: NFC, whole grapheme clusters, counted in code points (CON-10, I18N-10, I18N-13). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codePoints } from "../text/language.ts";
import { createOutputText } from "./output-text.ts";

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
const clusters = (text: string) => [...graphemes.segment(text)].map(({ segment }) => segment);
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, "\ufffd");

const AWKWARD = [
  "e\u0301",
  "🇳🇬",
  "🇫🇷",
  "👩‍👩‍👧",
  "👋🏽",
  "\u1112\u1161\u11ab",
  "क्ष",
  "a ",
  ". ",
  "\r\n",
  "o\u0323\u0301",
  "\u0600",
  "ก็",
  "\ud83d",
  "\ude00",
  "\u200d",
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...AWKWARD), fc.string({ unit: "binary", maxLength: 6 })), {
    maxLength: 20,
  })
  .map((parts) => parts.join(""));

function chop(whole: string, cuts: number[]): string[] {
  const at = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b);
  return [...at, whole.length].map((to, index) => whole.slice(at[index - 1] ?? 0, to));
}

describe("an output's text", () => {
  it("comes out the same however it was chopped, in NFC, and never inside a cluster (EVT-18)", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (whole, cuts) => {
        const output = createOutputText();
        const released: string[] = [];
        for (const chunk of chop(whole, cuts)) {
          const before = output.position;
          const ready = output.push(chunk);
          released.push(ready);
          expect(output.position).toBe(before + codePoints(ready));
        }
        released.push(output.flush());
        const all = released.join("");
        expect(all.normalize("NFC")).toBe(wellFormed(whole).normalize("NFC"));
        const ends = (parts: string[]) => parts.map((_, index) => parts.slice(0, index + 1).join("").length);
        const allowed = [0, ...ends(clusters(all))];
        for (const at of ends(released)) expect(allowed, JSON.stringify(released)).toContain(at);
      }),
      { numRuns: 2000 },
    );
  });

  it("releases plain text with one character held back", () => {
    const output = createOutputText();
    expect([output.push("Hel"), output.push("lo "), output.push("\u0301"), output.flush()]).toEqual([
      "He",
      "llo",
      "",
      " \u0301",
    ]);
    expect(output.position).toBe(7);
  });

  it("does not wait for ever on a cluster without end", () => {
    const output = createOutputText();
    let released = 0;
    for (let i = 0; i < 2000; i++) released += output.push("\u0301").length;
    expect(released).toBeGreaterThan(1000);
  });
});
