// Invariants for any text: nothing is lost, no grapheme is split, the result does not depend on how the text was split
// into tokens, and the cost per character does not grow with the length.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMs } from "../../../test/support/cpu.ts";
import { PARAGRAPH, SENTENCE, WORD } from "./scan-state.ts";
import { type BoundaryLevel, createSegmenter, segmentText } from "./segmenter.ts";

type Boundary = [offset: number, level: BoundaryLevel];

function boundaries(
  chunks: readonly string[],
  language: string,
  content_type: string,
  finest: BoundaryLevel = 1,
) {
  const found: Boundary[] = [];
  const segmenter = createSegmenter({ language, content_type, finest }, (offset, level) => {
    found.push([offset, level]);
  });
  for (const chunk of chunks) segmenter.push(chunk);
  segmenter.end();
  return found;
}

/** Fragments that trigger the rules, so that random text is difficult text. */
const fragments = [
  ..."aBéçŸ1९.!?…。！？।؟։;:,'\"“”«»()[]{}「」*_`#>|-~\\/@$%&+=<^•–—\t \n\r中日あアกไทยลาວខမက가각אدहक",
  ..."\u0301\u0323\u200d\ufe0f\u200b\u200e\u0600\ud83d\udc4d\u20e3\u0e33\u17d2\u1039\u094d",
  ...[
    "👍🏽",
    "👨‍👩‍👧",
    "🇩🇪",
    "🇫",
    "1️⃣",
    "❤️",
    "𠀀",
    "𝐀",
    "葛󠄀",
    "e\u0301",
    "각",
    "\r\n",
    "\n\n",
    ". ",
    "? ",
    "! ",
  ],
  ...[
    "Dr.",
    "U.S. ",
    "e.g. ",
    "z. B. ",
    "p.m. ",
    "1. ",
    "2) ",
    "a. ",
    "- ",
    "```",
    "| a |",
    "# ",
    "> ",
    "[x](y)",
    "`a`",
  ],
  ...[
    "Hello ",
    "world",
    "The ",
    "...",
    ". . . ",
    "www.a.b/c?d",
    "สวัสดี",
    "ភាសាខ្មែរ",
    "မြန်မာ",
    "東京都に住む",
    "[1]",
    "** ",
  ],
];
fragments.push(
  "(a. ",
  ") ",
  ":) ",
  "&quot;",
  "&mdash; ",
  "😊また",
  "ก😊",
  "🙂 The ",
  "6 ft. ",
  "list:\n",
  "\n\n    code. Code",
  "\n[^1]: ",
  "> [!N]\n",
  "น. ",
  " ~ ",
  ' "Fire! ',
  '"갈까? " ',
  "tea.5 ",
  "Step 1. ",
  "um... I ",
  "Mon.-Fri. ",
  "》",
  "1.) The ",
  "2.) The ",
  "1. The ",
  "2. The ",
  "Of: ",
  "a) B ",
  "b) C ",
  "• A ",
  "“Go!” ",
  "」と",
  "said ",
  "I ",
  "5 ",
);
const awkward = fc.array(fc.constantFrom(...fragments), { maxLength: 60 }).map((parts) => parts.join(""));
const anyText = fc.oneof(
  awkward,
  awkward,
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme" }),
);
const language = fc.constantFrom("en", "de", "el", "hy", "th", "ja", "zh", "ko", "nl", "ru", "und", "xx", "");
const contentType = fc.constantFrom("text/plain", "text/markdown");
const runs = { numRuns: 3000 };

function cut(text: string, sizes: readonly number[]): string[] {
  const chunks: string[] = [];
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = sizes.length === 0 ? 1 : sizes[i % sizes.length]!;
    chunks.push(text.slice(at, at + size));
    at += size;
  }
  return chunks;
}

describe("the segmenter", () => {
  it("gives the same boundaries whole, by code unit and in random chunks", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(anyText, language, contentType, sizes, (text, tag, type, chunks) => {
        const whole = boundaries([text], tag, type);
        expect(boundaries(cut(text, [1]), tag, type)).toEqual(whole);
        expect(boundaries(Array.from(text), tag, type)).toEqual(whole);
        expect(boundaries(cut(text, chunks), tag, type)).toEqual(whole);
      }),
      runs,
    );
  });

  it("never cuts a grapheme cluster", () => {
    const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
    fc.assert(
      fc.property(anyText, language, contentType, (text, tag, type) => {
        const edges = new Set(Array.from(graphemes.segment(text), (part) => part.index));
        for (const [offset] of boundaries([text], tag, type)) expect(edges.has(offset)).toBe(true);
      }),
      runs,
    );
  });

  it("reports each boundary once, in order, inside the text", () => {
    fc.assert(
      fc.property(anyText, language, contentType, (text, tag, type) => {
        let last = 0;
        for (const [offset, level] of boundaries([text], tag, type)) {
          expect(offset).toBeGreaterThan(last);
          expect(offset).toBeLessThan(text.length);
          expect([1, 2, 3]).toContain(level);
          last = offset;
        }
      }),
      runs,
    );
  });

  it("finds the same sentences whether or not words are wanted", () => {
    fc.assert(
      fc.property(anyText, language, contentType, (text, tag, type) => {
        const all = boundaries([text], tag, type).filter(([, level]) => level >= SENTENCE);
        expect(boundaries([text], tag, type, SENTENCE)).toEqual(all);
      }),
      runs,
    );
  });

  it("survives runs longer than its window, the same in any chunks", () => {
    for (const unit of [
      " ",
      "\n",
      ".",
      "!",
      '"',
      ")",
      "👍",
      "a",
      "1",
      "#",
      "`",
      "[",
      ">",
      "|",
      "\u0301",
      "中",
      "ก",
      "- ",
    ]) {
      const text = `One. Two${unit.repeat(6000)} Three. ${unit.repeat(5000)}Four. Five.`;
      for (const type of ["text/plain", "text/markdown"]) {
        const whole = boundaries([text], "en", type);
        expect(boundaries(cut(text, [7, 1, 3]), "en", type)).toEqual(whole);
        expect(boundaries(cut(text, [1000]), "en", type)).toEqual(whole);
      }
    }
  });

  it("decides as soon as the next word begins", () => {
    const found: Boundary[] = [];
    const segmenter = createSegmenter({ language: "en" }, (offset, level) => found.push([offset, level]));
    segmenter.push("Hello world. ");
    expect(found).toEqual([[6, WORD]]);
    segmenter.push("T");
    expect(found).toEqual([
      [6, WORD],
      [13, SENTENCE],
    ]);
    segmenter.push("his is it.\n\nN");
    expect(found.at(-1)).toEqual([26, PARAGRAPH]);
    expect(segmenter.length).toBe(27);
  });

  it("forgets a pending decision at a flush, and starts afresh", () => {
    const found: Boundary[] = [];
    const segmenter = createSegmenter({ language: "en" }, (offset, level) => found.push([offset, level]));
    segmenter.push("I will ask Dr.");
    segmenter.flush();
    segmenter.push(" Smith is here. He");
    segmenter.end();
    expect(found.filter(([, level]) => level > WORD)).toEqual([[30, SENTENCE]]);
  });

  it("reports nothing for a flush itself, however often it comes", () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 4 }), language, contentType, (texts, tag, type) => {
        let last = 0;
        let quiet = false;
        const segmenter = createSegmenter({ language: tag, content_type: type }, (offset) => {
          expect(quiet).toBe(false);
          expect(offset).toBeGreaterThan(last);
          last = offset;
        });
        for (const text of texts) {
          segmenter.push(text);
          quiet = true;
          segmenter.flush();
          quiet = false;
          expect(last).toBeLessThanOrEqual(segmenter.length);
        }
      }),
      runs,
    );
  });

  it("keeps an open fence across a flush", () => {
    const found: Boundary[] = [];
    const segmenter = createSegmenter({ language: "en", content_type: "text/markdown" }, (offset, level) =>
      found.push([offset, level]),
    );
    segmenter.push("```js\na. B\n");
    segmenter.flush();
    segmenter.push("c. D\n```\nOut. In.");
    segmenter.end();
    expect(found).toEqual([
      [20, PARAGRAPH],
      [25, SENTENCE],
    ]);
  });

  it("keeps spaces with the word before them", () => {
    expect(segmentText("Hello  big world. Yes!", { language: "en" }, WORD)).toEqual([
      "Hello  ",
      "big ",
      "world. ",
      "Yes!",
    ]);
    expect(segmentText("Bonjour ! Ça va ?", { language: "fr" }, WORD)).toEqual(["Bonjour ! ", "Ça ", "va ?"]);
  });

  it("divides words that no spaces divide", () => {
    expect(segmentText("我们去公园。你好", { language: "zh" }, WORD)).toEqual([
      "我们",
      "去",
      "公园。",
      "你好",
    ]);
    expect(segmentText("สวัสดีครับ ผม", { language: "th" }, WORD)).toEqual(["สวัสดี", "ครับ ", "ผม"]);
  });

  it("never divides a link, inline code or a table row, even into words", () => {
    const options = { language: "en", content_type: "text/markdown" };
    expect(segmentText("See `a b` and [c d](e f) now", options, WORD)).toEqual([
      "See ",
      "`a b` ",
      "and ",
      "[c d](e f) ",
      "now",
    ]);
    expect(segmentText("| a b | c |\n|---|---|\n| d | e f |", options, WORD)).toEqual([
      "| a b | c |\n",
      "|---|---|\n",
      "| d | e f |",
    ]);
  });

  it("costs the same at the end of a long text as at its beginning", () => {
    const samples = {
      en: "The quick brown fox, e.g. Mr. Fox, jumps over 3.5 lazy dogs. Then it rests! ",
      zh: "今天天气很好，我们去公园散步。他说：“你好！”然后走了。",
      ar: "مرحبا بكم في هذا المكان الجميل. كيف حالك اليوم؟ أنا بخير، شكرا. ",
      th: "สวัสดีครับ วันนี้อากาศดีมาก เราไปเที่ยวกันที่ทะเล ราคา 50 บาท ",
    };
    for (const [tag, sample] of Object.entries(samples)) {
      const block = sample.repeat(Math.ceil(262_144 / sample.length)).slice(0, 262_144);
      const segmenter = createSegmenter({ language: tag, finest: SENTENCE }, () => {});
      const times: number[] = [];
      for (let round = 0; round < 8; round++) {
        const start = cpuMs();
        for (let at = 0; at < block.length; at += 4) segmenter.push(block.slice(at, at + 4));
        times.push(cpuMs() - start);
      }
      // A cost that grows with the text would be many times higher by now, more than load on the machine explains.
      const early = Math.min(...times.slice(1, 3));
      const late = Math.min(...times.slice(-3));
      expect(late).toBeLessThan(early * 5 + 50);
    }
  });
});
