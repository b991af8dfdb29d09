import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "./sha256.ts";

describe("sha256Hex", () => {
  it("is what the platform says it is, for any text", () => {
    const platform = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");
    for (let length = 0; length < 200; length++)
      expect(sha256Hex("a".repeat(length))).toBe(platform("a".repeat(length)));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        expect(sha256Hex(text)).toBe(platform(text));
      }),
    );
  });
});
