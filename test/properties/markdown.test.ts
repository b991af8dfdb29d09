/**
 * One Markdown reader, two renderings. Whatever the source, every word it shows is in both: spoken (or in the details,
 * which are read on request) and on the page.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Segment, speakMarkdown } from "../../src/subscriber/markdown.ts";
import { markdownNodes } from "../../src/web/markdown.ts";

/** As much of a document as the renderer uses: elements with attributes, text and children. */
class FakeElement {
  readonly localName: string;
  readonly attributes = new Map<string, string>();
  readonly childNodes: (FakeElement | string)[] = [];

  constructor(localName: string) {
    this.localName = localName;
  }
  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }
  append(...children: (FakeElement | string)[]): void {
    this.childNodes.push(...children);
  }
  get textContent(): string {
    return this.childNodes.map((one) => (typeof one === "string" ? one : one.textContent)).join("");
  }
  get html(): string {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    const inner = this.childNodes.map((one) => (typeof one === "string" ? one : one.html)).join("");
    return `<${this.localName}${attributes}>${inner}</${this.localName}>`;
  }
}

const globals = globalThis as { document?: unknown };
const before = globals.document;
beforeAll(() => {
  globals.document = { createElement: (name: string) => new FakeElement(name) };
});
afterAll(() => {
  globals.document = before;
});

const words = {
  image: (text: string) => `Image: ${text}.`,
  code: (language: string, lines: number) => `Code, ${language}, ${lines}`,
  task: (done: boolean, text: string) => `${done ? "done" : "not done"}: ${text}`,
};

const pageOf = (source: string): string =>
  (markdownNodes(source, 3, words) as unknown as FakeElement[]).map(({ html }) => html).join("");

const textOf = (segments: readonly Segment[]): string =>
  segments
    .map((one) =>
      typeof one === "string"
        ? one
        : `${one.key === "item" ? "" : `${one.key} `}${Object.values(one.slots ?? {}).join(" ")} ${textOf(one.text ?? [])}`,
    )
    .join("");

const speechOf = (source: string): string => {
  const { blocks, details } = speakMarkdown(source);
  return [...blocks.map(textOf), ...details].join("\n");
};

const MARKS = [
  ...'- |1. |2) |* |+ |> |# |### |[x] |[ ] |---|**|*|_|__|~~|`|``|\n```|\n~~~|[|](|)|(|!|![|<b>|</b>|<p>|\\|[^1]|]|&amp;|"'.split(
    "|",
  ),
  ..."https://a.org/ <https://b.org/ https://[".split(" "),
  ..." ,  ,    ,\n,\n\n,\n  ,\n    ,. ,: ,|,\n|---|---|\n".split(","),
];
/** Words with letters and digits, each different. */
const sources = fc
  .array(fc.oneof(fc.constantFrom(...MARKS), fc.constant("word")), { maxLength: 60 })
  .map((pieces) => pieces.map((piece, index) => (piece === "word" ? `w${index}z` : piece)).join(""));

/** The address of an image is not shown: images are named, never fetched. */
const shownBy = (source: string): string[] =>
  source.replace(/(!\[[^\]\n]{0,400}\])\((?:[^()\s]|\([^()\s]*\))*/gu, "$1").match(/w\d+z/gu) ?? [];

describe("Markdown", () => {
  it("loses no word that it shows, neither spoken nor on the page (CON-67)", () => {
    fc.assert(
      fc.property(sources, (source) => {
        const page = pageOf(source);
        const speech = speechOf(source);
        for (const word of shownBy(source)) {
          expect(page, `page of ${JSON.stringify(source)}`).toContain(word);
          expect(speech, `speech of ${JSON.stringify(source)}`).toContain(word);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  it("shows and says whether a task is done, and what is struck out", () => {
    expect(pageOf("- [x] Milk\n- [ ] *Eggs*")).toBe(
      '<ul><li dir="auto">done: Milk</li><li dir="auto">not done: <em>Eggs</em></li></ul>',
    );
    expect(pageOf("It costs ~~50~~ 40.")).toBe('<p dir="auto">It costs <del>50</del> 40.</p>');
    expect(speechOf("- [x] Milk")).toBe("task_done  Milk");
    expect(speechOf("It costs ~~50~~ 40.")).toBe("It costs struck  50 40.");
  });

  it("reads links, code and emphasis inside one another", () => {
    expect(pageOf("**see `a*b*c` and [x](https://y.org)**")).toBe(
      '<p dir="auto"><strong>see <code dir="ltr">a*b*c</code> and <a href="https://y.org/" ' +
        'rel="noopener noreferrer nofollow ugc" target="_blank" referrerpolicy="no-referrer">x</a> (y.org)</strong></p>',
    );
    expect(speechOf("**see `a*b*c` and [x](https://y.org)**")).toBe("see a*b*c and link  x\nhttps://y.org");
    expect(pageOf("**a *b* c** 2*3*4")).toBe('<p dir="auto"><strong>a <em>b</em> c</strong> 2*3*4</p>');
  });

  it("keeps the numbers of a list, and counts where all are the same", () => {
    const values = (source: string) =>
      [...pageOf(source).matchAll(/<li[^>]*?(?:value="(\d+)")?>/gu)].map(([, value]) => value);
    expect(values("1. a\n2. b")).toEqual([undefined, "2"]);
    expect(values("4. a\n9. b")).toEqual(["4", "9"]);
    expect(values("1. a\n1. b\n1. c")).toEqual([undefined, undefined, undefined]);
    expect(pageOf("> - a\n>   - b")).toBe(
      '<blockquote dir="auto"><ul><li dir="auto">a<ul><li dir="auto">b</li></ul></li></ul></blockquote>',
    );
  });
});
