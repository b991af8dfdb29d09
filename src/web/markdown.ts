/**
 * Renders Markdown as page elements: headings, lists, tables, code, quotes, links. Every element is created and every
 * word is a text node, so there is no HTML to inject. Images are named, never fetched, and links lead to http and https
 * only (CON-67).
 */
import { type Block, type Inline, type List, parseMarkdown } from "../text/markdown.ts";
import { neutralize } from "../text/neutralize.ts";
import { type Child, make } from "./dom.ts";

export interface MarkdownWords {
  /** "Image: {text}." */
  image(text: string): string;
  code(language: string, lines: number): string;
  /** "done: {text}" */
  task(done: boolean, text: string): string;
}

/** `level` is that of the heading above: headings in the text go below it. */
export const markdownNodes = (source: string, level: number, words: MarkdownWords): HTMLElement[] =>
  parseMarkdown(source).map((block) => blockNode(block, level, words));

const AUTO = { dir: "auto" };

function blockNode(block: Block, level: number, words: MarkdownWords): HTMLElement {
  switch (block.kind) {
    case "heading": {
      const rank = Math.min(6, level + block.level) as 2;
      return make(`h${rank}`, AUTO, ...inlineNodes(block.nodes, words));
    }
    case "code": {
      const name = words.code(block.language, block.lines.length);
      // Long lines scroll, and keyboard users must be able to focus what scrolls.
      const attributes = { tabindex: "0", role: "group", "aria-label": name, dir: "ltr" };
      return make("pre", attributes, make("code", {}, block.lines.join("\n")));
    }
    case "table": {
      const row = (cells: readonly (readonly Inline[])[], head: boolean) =>
        make(
          "tr",
          {},
          ...cells.map((cell) =>
            make(head ? "th" : "td", { ...AUTO, scope: head && "col" }, ...inlineNodes(cell, words)),
          ),
        );
      const body = make("tbody", {}, ...block.rows.map((cells) => row(cells, false)));
      return make("table", {}, make("thead", {}, row(block.header, true)), body);
    }
    case "quote":
      return make("blockquote", AUTO, ...block.blocks.map((one) => blockNode(one, level, words)));
    case "list":
      return listNode(block, level, words);
    case "rule":
      return make("hr");
    default:
      return make("p", AUTO, ...inlineNodes(block.nodes, words));
  }
}

/** Numbers are kept as written, unless all are the same, which means that the reader should count. */
function listNode({ items }: List, level: number, words: MarkdownWords): HTMLElement {
  const first = items[0]!.number;
  const counted = items.every(({ number }) => number === first);
  const nodes = items.map(({ number, done, nodes, blocks }, index) =>
    make(
      "li",
      { ...AUTO, value: (index === 0 ? first !== 1 : !counted) && number !== undefined && `${number}` },
      ...fill(done === undefined ? SLOT : words.task(done, SLOT), inlineNodes(nodes, words)),
      ...blocks.map((one) => blockNode(one, level, words)),
    ),
  );
  return make(first === undefined ? "ul" : "ol", {}, ...nodes);
}

/** Puts nodes in the place of a phrase's slot. */
const SLOT = "\ufffc";
function fill(phrase: string, nodes: Child[]): Child[] {
  const [before, after] = phrase.split(SLOT);
  return [before, ...nodes, after];
}

const ELEMENTS = { code: "code", strong: "strong", em: "em", struck: "del" } as const;

function inlineNodes(nodes: readonly Inline[], words: MarkdownWords): Child[] {
  return nodes.flatMap((node): Child[] => {
    if (typeof node === "string") return [node];
    const { kind, target, title } = node;
    const inner = inlineNodes(node.nodes, words);
    const caption = title && ` (${title})`;
    if (kind === "note") return inner;
    if (kind === "image") return inner.length > 0 ? [...fill(words.image(SLOT), inner), caption] : [caption];
    if (kind === "link" || kind === "address") return [...link(inner, target), caption];
    return [make(ELEMENTS[kind], { dir: kind === "code" && "ltr" }, ...inner)];
  });
}

/** Shows where a link leads, because its label can say anything. */
function link(label: readonly Child[], target: string): Child[] {
  const text = make("span", {}, ...label).textContent;
  if (!/^https?:\/\//iu.test(target)) return [text || target];
  if (!URL.canParse(target)) return [text && `${text} `, target];
  const { href, hostname } = new URL(target);
  const rel = "noopener noreferrer nofollow ugc";
  const node = make("a", { href, rel, target: "_blank", referrerpolicy: "no-referrer" }, text || href);
  return (text || hostname).toLowerCase().includes(hostname) ? [node] : [node, ` (${hostname})`];
}

/** Plain text: one paragraph per blank line, unchanged otherwise. */
export const plainNodes = (source: string): HTMLElement[] =>
  source
    .split(/\n\s*\n/u)
    .filter((one) => one.trim() !== "")
    .map((one) => make("p", { ...AUTO, class: "plain" }, one.trim()));

export const clean = (text: string, language: string | undefined): string => neutralize(text, language).text;
