import fc from "fast-check";
import { expect, it } from "vitest";
import { createUtf8Decoder } from "./utf8.ts";

it("text comes out as it went in, wherever its bytes were cut", () => {
  const word = fc.oneof(
    fc.constantFrom("plain text\n", "é", "日本", "👩‍👩‍👧", "\ufeff", "\ufeffplain\n", ""),
    fc.string({ unit: "binary" }),
  );
  const cuts = fc.array(fc.nat({ max: 12 }), { maxLength: 40 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 20 }), cuts, (words, lengths) => {
      // The very first mark is no text: it only says how the bytes are to be read.
      const text = `.${words.join("")}`;
      const bytes = new TextEncoder().encode(text);
      const decode = createUtf8Decoder();
      let [at, read] = [0, ""];
      for (const length of [...lengths, bytes.length]) {
        read += decode(bytes.subarray(at, at + length));
        at += length;
      }
      expect(read).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    }),
    { numRuns: 2_000 },
  );
});

it("a mark at the very beginning is left out, bytes that are no text are shown as such", () => {
  const decode = createUtf8Decoder();
  expect(decode(Uint8Array.of(0xef, 0xbb))).toBe("");
  expect(decode(Uint8Array.of(0xbf, 0x61))).toBe("a");
  expect(decode(Uint8Array.of(0x62))).toBe("b");
  expect(decode(Uint8Array.of(0xff, 0x63))).toBe("\ufffdc");
  expect(decode(Uint8Array.of(0xe2, 0x82))).toBe("");
  expect(decode(Uint8Array.of(0xac))).toBe("€");
});
