// Text made harmless, and markdown as a person would read it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitSentences } from "../../src/subscriber/announcer/sentences.ts";
import { neutralize, speakMarkdown } from "../../src/subscriber/announcer.ts";
import { Ear, eventsOf } from "./support.ts";

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
  const ear = new Ear();
  ear.hear(event("output.streaming", { chunk, position: 0, complete: true, content_type: "text/markdown" }));
  return ear;
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
    const ear = heardOf("See [it](https://a.org/x) or [this](javascript:alert(1)).\n\n```\nrm -rf\n```\n");
    expect(ear.texts.join(" ")).not.toMatch(/rm|a\.org|javascript/);
    ear.do("details");
    expect(ear.texts.at(-1)).toContain("https://a.org/x");
    expect(ear.texts.at(-1)).toContain("rm -rf");
    expect(ear.texts.at(-1)).not.toContain("javascript:");
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
    const began = performance.now();
    speakMarkdown(`${"[".repeat(20_000)}${"*".repeat(20_000)}${"`".repeat(20_000)}`);
    expect(performance.now() - began).toBeLessThan(5_000);
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
