// Neutralized text, and Markdown read aloud.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { neutralize, speakMarkdown } from "../../src/subscriber/announcer.ts";
import { splitSentences } from "../../src/text/fallback-sentences.ts";
import { cpuMs } from "../support/cpu.ts";
import { eventsOf, TestListener } from "./support.ts";

const clean = (text: string, language?: string) => neutralize(text, language);

describe("hostile text (A08, CON-67)", () => {
  it("loses bidi overrides and keeps honest right-to-left text", () => {
    expect(clean("pay \u202e005\u202c now")).toMatchObject({ text: "pay 005 now", hidden: true });
    expect(clean("مرحبا \u2067abc\u2069 \u200fنعم")).toMatchObject({
      text: "مرحبا \u2067abc\u2069 \u200fنعم",
      hidden: false,
    });
  });

  it("cannot leave an isolate open or close one of ours", () => {
    expect(clean("a\u2067b").text).toBe("a\u2067b\u2069");
    expect(clean("a\u2069b").text).toBe("ab");
  });

  it("cannot steer a terminal: escape sequences go, the words within stay (A16)", () => {
    expect(clean("\u001b[31mred\u001b[0m").text).toBe("red");
    for (const mark of ["\u009b", "\u001b[", "\u001b", "\u0090", "\u001b(", "\u001b]", "\u001bP"])
      for (const words of ["Stray dogs", "Kill 7 jobs", "7 dollars", "Home"])
        expect(clean(`${mark}${words}`).text, JSON.stringify(mark)).toContain(words);
    expect(clean("\u009bStray").hidden).toBe(true);
    expect(clean("\u001b]0;evil title\u0007shown").text).toBe(" 0;evil title shown");
    expect(clean("a\u0000b\u0008c\u009bK").text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  });

  it("hides nothing in zero-width characters, yet emoji and joining scripts stay whole (I18N-12)", () => {
    expect(clean("pass\u200bword").text).toBe("password");
    expect(clean("👨\u200d👩\u200d👧 می\u200cخواهم")).toMatchObject({
      text: "👨\u200d👩\u200d👧 می\u200cخواهم",
      hidden: false,
    });
    expect(clean("a\u200db").text).toBe("ab");
    expect(clean("x\u{e0041}\u{e0042}").text).toBe("x");
  });

  it("with look-alike letters is flagged, honest text of any script is not", () => {
    expect(clean("pаypal", "en").mixed).toBe(true);
    expect(clean("рау me", "en").mixed).toBe(true);
    for (const honest of ["привет мир", "Ελλάδα", "日本語とEnglish", "ẹ̀kọ́", "naïve café"])
      expect(clean(honest).mixed).toBe(false);
  });

  it("of any kind comes out whole in its visible letters, in NFC, and harmless (I18N-11)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const once = clean(text).text;
        expect(once).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u200b\ufeff]/u);
        expect(once).toBe(once.normalize("NFC"));
        const letters = (given: string) =>
          given
            .normalize("NFC")
            .match(/\p{Lu}|\p{Ll}/gu)
            ?.filter((one) => !/[A-Z]/i.test(one)) ?? [];
        expect(letters(once)).toEqual(letters(text));
      }),
      { numRuns: 500 },
    );
  });
});

const heardOf = (chunk: string) => {
  const event = eventsOf();
  const listener = new TestListener();
  listener.hear(
    event("output.streaming", { chunk, position: 0, complete: true, content_type: "text/markdown" }),
  );
  return listener;
};

describe("markdown, read aloud", () => {
  it("drops marks and names structure", () => {
    const text =
      "# Plan\n\nUse **bold** and `npm ci`, see [the docs](https://a.org/b).\n\n```ts\nlet a = 1;\nlet b = 2;\n```\n\n1. one\n2. two\n3. three\n\n> wise words\n\n| Day | Rain |\n|---|---|\n| Mon | no |\n| Tue | yes |\n";
    expect(heardOf(text).texts).toEqual([
      "Heading: Plan.",
      "Use bold and npm ci, see the docs, link.",
      "Code, TypeScript, 2 lines.",
      "List of 3:",
      "1: one",
      "2: two",
      "3: three",
      "Quote: wise words",
      "Table of 2 columns and 2 rows.",
      "Day: Mon, Rain: no",
      "Day: Tue, Rain: yes",
    ]);
  });

  it("reads code and addresses only on request, and no address but http and https", () => {
    const listener = heardOf(
      "See [it](https://a.org/x) or [this](javascript:alert(1)).\n\n```\nrm -rf\n```\n",
    );
    expect(listener.texts.join(" ")).not.toMatch(/rm|a\.org|javascript/);
    listener.do("details");
    expect(listener.texts.at(-1)).toContain("https://a.org/x");
    expect(listener.texts.at(-1)).toContain("rm -rf");
    expect(listener.texts.at(-1)).not.toContain("javascript:");
  });

  it("loses no words on the lines of a code block's marks", () => {
    const heard = (text: string) => heardOf(text).texts;
    expect(heard("``` Careful now\nrm\n``` That was it.\n\nNext.")).toEqual([
      "now",
      "Code, Careful, one line.",
      "That was it.",
      "Next.",
    ]);
    expect(heard("```npm ci``` comes first. Then build.")).toEqual(["npm ci comes first.", "Then build."]);
    expect(heard('```ts title="a.ts" {1,3}\nlet a;\n```\n')).toEqual(["Code, TypeScript, one line."]);
  });

  it("does not hold back what follows code within a line", () => {
    const listener = new TestListener();
    const chunk = "```npm ci``` comes first. Then you build. ";
    listener
      .hear(eventsOf()("output.streaming", { chunk, position: 0, complete: false, coalesce_hint: "none" }))
      .wait(1_500);
    expect(listener.texts).toEqual(["npm ci comes first.", "Then you build."]);
  });

  it("numbers an inner list on its own, within the item it belongs to", () => {
    const text = "1. Pack\n   - socks\n   - soap\n2. Leave\n   1. lock\n   2. walk\n\n3. Arrive";
    expect(heardOf(text).texts).toEqual([
      "List of 3:",
      "1: Pack",
      "List of 2:",
      "1.1: socks",
      "1.2: soap",
      "2: Leave",
      "List of 2:",
      "2.1: lock",
      "2.2: walk",
      "3: Arrive",
    ]);
    expect(heardOf("- a\n  - b\n    - c\n- d").texts).toEqual([
      "List of 2:",
      "1: a",
      "1.1: b",
      "1.1.1: c",
      "2: d",
    ]);
  });

  it("follows lists within lists only as deep as an ear can", () => {
    const deep = Array.from({ length: 1_000 }, (_, level) => `${" ".repeat(level)}- w${level}z`).join("\n");
    const said = JSON.stringify(speakMarkdown(deep).blocks);
    for (let level = 0; level < 1_000; level++) expect(said).toContain(`w${level}z`);
    expect(said).not.toMatch(/(?:\d+\.){6}/u);
  });

  it("keeps a list's own numbers, counts those that are all the same, and code does not start it anew", () => {
    expect(heardOf("3. three\n4. four").texts).toEqual(["List of 2:", "3: three", "4: four"]);
    expect(heardOf("1. a\n1. b\n1. c").texts).toEqual(["List of 3:", "1: a", "2: b", "3: c"]);
    expect(heardOf(" 9. nine\n10. ten").texts).toEqual(["List of 2:", "9: nine", "10: ten"]);
    expect(heardOf("1986. A great year").texts).toEqual(["1986: A great year"]);
    expect(heardOf("- a\n  ```sh\n  ls\n  ```\n- b\n\n  more of b\n- c\n1. d").texts).toEqual([
      "List of 3:",
      "1: a",
      "Code, shell, one line.",
      "2: b more of b",
      "3: c",
      "1: d",
    ]);
  });

  it("says which tasks are done, and what is struck out", () => {
    expect(heardOf("- [x] Book\n- [ ] Pay").texts).toEqual([
      "List of 2:",
      "1: done: Book",
      "2: not done: Pay",
    ]);
    expect(heardOf("It costs ~~50~~ **40** now.").texts).toEqual(["It costs (crossed out: 50) 40 now."]);
  });

  it("makes no other number out of two", () => {
    for (const text of ["2*3*4 is 24", "2**3**4", "a*b*c", "10<sup>2</sup>", "5[^1]0", "6[5](https://a.org)"])
      expect(
        heardOf(text)
          .texts.join(" ")
          .replace(/[^\d ]/gu, " "),
        text,
      ).not.toMatch(/234|102|65|(?<!\d)50/u);
    expect(heardOf("un**believ**able *yes* 本**当**に").texts).toEqual(["unbelievable yes 本当に"]);
    const cells = new TestListener();
    const chunk = "<table><tr><td>5</td><td>00</td></tr></table>";
    cells.hear(
      eventsOf()("output.streaming", { chunk, position: 0, complete: true, content_type: "text/html" }),
    );
    expect(cells.texts).toEqual(["5 00"]);
  });

  it("takes for a tag, a link or an address only what is one", () => {
    expect(heardOf("if x <b and c> 3 or f[i](j)").texts).toEqual(["if x <b and c> 3 or f[i](j)"]);
    expect(heardOf("詳しくはhttps://a.jp/xをご覧ください。").texts).toEqual([
      "詳しくはa.jp, linkをご覧ください。",
    ]);
    expect(heardOf("| Left | Right |\n|---|---|\n").texts).toEqual([
      "Table of 2 columns and 0 rows.",
      "Left, Right",
    ]);
  });

  it("loses no word of any text: each is said, or there on request with code and addresses", () => {
    const marks = fc.constantFrom(
      ...[
        "```",
        "~~~",
        "````",
        "\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "- ",
        "1. ",
        "2) ",
        "* ",
        "+ ",
        "[x] ",
        "# ",
        "###",
      ],
      ...[
        "> ",
        "|",
        "\n|---|---|\n",
        "---",
        "[",
        "](",
        ")",
        "(",
        "!",
        "![",
        "<b ",
        "<p>",
        "</i>",
        "<",
        ">",
        "**",
        "*",
      ],
      ...[
        "_",
        "~~",
        "`",
        "``",
        "https://a.org/",
        "<https://b.org/",
        "\\",
        "[^1]",
        "[^",
        "]",
        ": ",
        ". ",
        '"',
        "&amp;",
      ],
    );
    const words = fc.array(fc.oneof(marks, fc.constant("word")), { maxLength: 60 });
    fc.assert(
      fc.property(words, (pieces) => {
        const named = pieces.map((piece, index) => (piece === "word" ? `w${index}z` : piece));
        const text = named.join("");
        const { blocks, details } = speakMarkdown(text);
        const kept = `${JSON.stringify(blocks)}${details.join(" ")}`;
        for (const word of named) if (/^w\d/u.test(word)) expect(kept, text).toContain(word);
      }),
      { numRuns: 5_000 },
    );
  });

  it("loses no word of a text that comes in pieces, cut anywhere", () => {
    const marks = [
      "\n",
      "\n\n",
      " ",
      ". ",
      "! ",
      "- ",
      "  - ",
      "1. ",
      "# ",
      "> ",
      "| ",
      "**",
      "_",
      "~~",
      "<b>",
      "[",
      "]",
      "\\",
    ];
    const pieces = fc.array(fc.oneof(fc.constantFrom(...marks), fc.constant("word")), { maxLength: 40 });
    const boundaries = fc.constantFrom("sentence" as const, "paragraph" as const, "completion" as const);
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pieces, cuts, boundaries, fc.boolean(), (given, sizes, boundary, typed) => {
        const text = given.map((piece, index) => (piece === "word" ? `w${index}z` : piece)).join("");
        // Two of "~~" in a row open a code fence, and code is read on request only.
        fc.pre(!text.includes("~~~"));
        const event = eventsOf();
        const listener = new TestListener({ boundary });
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const chunk = text.slice(at, at + sizes[turn % sizes.length]!);
          const type = typed ? { content_type: "text/markdown" } : {};
          const complete = at + chunk.length >= text.length;
          listener.hear(
            event("output.streaming", { chunk, position: at, complete, coalesce_hint: "none", ...type }),
          );
          listener.wait(turn % 3 === 0 ? 1_200 : 0);
          at += chunk.length;
        }
        for (const word of text.match(/w\d+z/gu) ?? [])
          expect(listener.texts.join("\n"), text).toContain(word);
      }),
      { numRuns: 1_000 },
    );
  });

  it("makes no other number of any text", () => {
    const marks = [
      "\n",
      " ",
      "- ",
      "# ",
      "> ",
      "|",
      "[",
      "](https://a.org/)",
      "<b>",
      "</i>",
      "<br>",
      "<sup>",
    ];
    const more = ["**", "*", "_", "__", "~~", "***", "[^1]", "!", "(", ")", "\\", "x", "-"];
    const pieces = fc.array(fc.constantFrom(...marks, ...more, "4", "5", "6"), { maxLength: 30 });
    fc.assert(
      fc.property(pieces, (given) => {
        const text = given.join("");
        const numbers = new Set(text.match(/\d+/gu));
        for (const number of heardOf(text)
          .texts.join("\n")
          .match(/[456]+/gu) ?? [])
          expect(numbers, text).toContain(number);
      }),
      { numRuns: 2_000 },
    );
  });

  it("reads no marks where they stand within one another", () => {
    expect(heardOf("Run ``a ` b`` and [`npm test`](https://x.org/a).").texts).toEqual([
      "Run a ` b and npm test, link.",
    ]);
    const links = "[![build](https://b.io/a.svg)](https://b.io) [https://x.org/a](https://x.org/a)";
    expect(heardOf(links).texts).toEqual(["build, link x.org, link"]);
    expect(speakMarkdown(links).details).toEqual(["https://b.io", "https://x.org/a"]);
    const elsewhere = speakMarkdown("[https://bank.org/login](https://x.org/login)");
    expect(elsewhere.details).toEqual(["https://bank.org/login", "https://x.org/login"]);
    expect(heardOf("> Outer.\n>\n> > Inner.\n>\n> - a\n> - b\n\nAfter.").texts).toEqual([
      "Quote: Outer.",
      "Inner.",
      "List of 2:",
      "1: a",
      "2: b",
      "After.",
    ]);
    expect(heardOf("One\\\ntwo &amp; three <details><summary>More</summary>four</details>").texts).toEqual([
      "One two & three More four",
    ]);
  });

  it("keeps a cell whole that has a bar in it: no value goes to another column", () => {
    expect(heardOf("| Name | Amount |\n|---|---|\n| Bo \\| Co | 500 |").texts).toEqual([
      "Table of 2 columns and one row.",
      "Name: Bo | Co, Amount: 500",
    ]);
  });

  it("has all of a text's addresses on request, also where it came sentence by sentence", () => {
    const listener = new TestListener();
    const event = eventsOf("en", { content_type: "text/markdown" });
    const chunks = ["See https://a.org/1. ", "And https://b.org/2. ", "Done."];
    let position = 0;
    for (const chunk of chunks) {
      const rest = { output_id: "out_1", coalesce_hint: "sentence", complete: chunk === "Done." };
      listener.hear(event("output.streaming", { chunk, position, ...rest }));
      position += chunk.length;
    }
    expect(listener.do("details").texts.at(-1)).toBe("https://a.org/1. https://b.org/2");
    const next = { output_id: "out_2", chunk: "See https://c.org/3.", position: 0, complete: true };
    listener.hear(event("output.streaming", { ...next, coalesce_hint: "completion" }));
    expect(listener.do("details").texts.at(-1)).toBe("https://c.org/3");
  });

  it("leaves names with underscores, sums with stars and prices alone", () => {
    expect(heardOf("Set max_event_size to 2 * 3 * 4 for $5.").texts).toEqual([
      "Set max_event_size to 2 * 3 * 4 for $5.",
    ]);
  });

  it("never takes long or fails, whatever it is given", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[`*_[\]()#>|~\-\n a1!<]{0,200}$/), (text) => void speakMarkdown(text)),
      { numRuns: 500 },
    );
    const began = cpuMs();
    speakMarkdown(`${"[".repeat(20_000)}${"*".repeat(20_000)}${"`".repeat(20_000)}`);
    speakMarkdown("[![".repeat(20_000));
    speakMarkdown("`a``b```c".repeat(10_000));
    speakMarkdown(`${">".repeat(20_000)} a`);
    expect(cpuMs() - began).toBeLessThan(5_000);
  });
});

describe("sentences", () => {
  it("are not split at abbreviations, numbers or small letters, and are in Japanese and Arabic", () => {
    expect(splitSentences("Dr. Obi paid 3.14 dollars. See e.g. the list. Done!")).toEqual([
      "Dr. Obi paid 3.14 dollars.",
      "See e.g. the list.",
      "Done!",
    ]);
    expect(splitSentences("終わりました。次に進みます。")).toEqual(["終わりました。", "次に進みます。"]);
    expect(splitSentences("هل تريد ذلك؟ نعم أريد.")).toEqual(["هل تريد ذلك؟", "نعم أريد."]);
  });

  it("lose nothing", () => {
    const bare = (text: string) => text.replace(/\s/gu, "");
    const whole = (text: string) => bare(splitSentences(text).join("")) === bare(text);
    fc.assert(fc.property(fc.string(), whole));
  });
});
