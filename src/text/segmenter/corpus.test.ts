// The segmentation corpus: each case lists the expected pieces in order. Known failures must still fail, so that the
// list stays up to date.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import english from "../../../test/corpus/segmentation/english.json" with { type: "json" };
import fifth from "../../../test/corpus/segmentation/fifth.json" with { type: "json" };
import fourth from "../../../test/corpus/segmentation/fourth.json" with { type: "json" };
import languages from "../../../test/corpus/segmentation/languages.json" with { type: "json" };
import levels from "../../../test/corpus/segmentation/levels.json" with { type: "json" };
import lines from "../../../test/corpus/segmentation/lines.json" with { type: "json" };
import markdown from "../../../test/corpus/segmentation/markdown.json" with { type: "json" };
import second from "../../../test/corpus/segmentation/second.json" with { type: "json" };
import seventh from "../../../test/corpus/segmentation/seventh.json" with { type: "json" };
import sixth from "../../../test/corpus/segmentation/sixth.json" with { type: "json" };
import third from "../../../test/corpus/segmentation/third.json" with { type: "json" };
import { type BoundaryLevel, createSegmenter, segmentText } from "./segmenter.ts";

interface Case {
  language: string;
  content_type?: string;
  level?: number;
  pieces: string[];
  /** Why the result is not the expected one. */
  known_failure?: string;
}

const files: Record<string, Case[]> = {
  english,
  levels,
  lines,
  markdown,
  languages,
  second,
  third,
  fourth,
  fifth,
  sixth,
  seventh,
};
const all = Object.values(files).flat();

function levelOf(test: Case): BoundaryLevel {
  return (test.level ?? 2) as BoundaryLevel;
}

function options(test: Case) {
  return { language: test.language, content_type: test.content_type ?? "text/plain" };
}

function inChunks(test: Case, size: (index: number) => number): string[] {
  const text = test.pieces.join("");
  const pieces: string[] = [];
  let from = 0;
  const segmenter = createSegmenter(options(test), (offset, level) => {
    if (level < levelOf(test)) return;
    pieces.push(text.slice(from, offset));
    from = offset;
  });
  for (let at = 0, i = 0; at < text.length; i++) {
    const end = at + size(i);
    segmenter.push(text.slice(at, end));
    at = end;
  }
  segmenter.end();
  pieces.push(text.slice(from));
  return pieces;
}

describe.each(Object.entries(files))("%s", (_, cases) => {
  it.each(cases.map((test) => [JSON.stringify(test.pieces.join("")).slice(0, 80), test] as const))(
    "%s",
    (_name, test) => {
      const pieces = segmentText(test.pieces.join(""), options(test), levelOf(test));
      if (test.known_failure) expect(pieces).not.toEqual(test.pieces);
      else expect(pieces).toEqual(test.pieces);
    },
  );
});

describe("the corpus", () => {
  it("is large, in many languages, and at least 97 % exact", () => {
    expect(all.length).toBeGreaterThanOrEqual(300);
    expect(new Set(all.map((test) => test.language.split("-")[0])).size).toBeGreaterThanOrEqual(25);
    const failing = all.filter((test) => test.known_failure).length;
    expect(1 - failing / all.length).toBeGreaterThanOrEqual(0.97);
  });

  it("comes out the same by code unit and in random chunks", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return 1 + (seed % 7);
    };
    for (const test of all) {
      const whole = segmentText(test.pieces.join(""), options(test), levelOf(test));
      expect(inChunks(test, () => 1)).toEqual(whole);
      for (let round = 0; round < 5; round++) expect(inChunks(test, random)).toEqual(whole);
    }
  });

  it("comes out the same in any chunks when cases follow one another", () => {
    const some = fc.array(fc.constantFrom(...all), { minLength: 2, maxLength: 4 });
    const glue = fc.constantFrom("", " ", "\n", "\n\n");
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(some, glue, sizes, (cases, between, chunks) => {
        const text = cases.map((test) => test.pieces.join("")).join(between);
        const joined = { ...cases[0]!, pieces: [text], level: 1 };
        const whole = segmentText(text, options(joined), 1);
        expect(whole.join("")).toBe(text);
        expect(inChunks(joined, (i) => chunks[i % chunks.length]!)).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });

  it("never cuts a grapheme cluster, at any level", () => {
    const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
    for (const test of all) {
      const text = test.pieces.join("");
      const edges = new Set(Array.from(graphemes.segment(text), (part) => part.index));
      createSegmenter(options(test), (offset) => expect(edges.has(offset)).toBe(true)).push(text);
    }
  });
});
