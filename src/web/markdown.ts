/**
 * Markdown as real elements: headings, lists, tables, code, quotes, links. Every node is made and every word is a text
 * node; there is no HTML to inject. Images are named, never fetched, and links lead to http and https only (CON-67).
 */
import { neutralize } from "../text/neutralize.ts";
import { type Child, make } from "./dom.ts";

/** A name, and settings in braces or of the form a=b; a sentence after the mark is text, and must not vanish. */
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)(?:\s*\{[^}]{0,200}\}|\s+\w{1,40}=\S{1,200})*\s*$/u;
const ITEM = /^(\s*)(?:([-*+•])|(\d{1,9})[.)])\s+(.*)$/u;
const RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/u;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/u;
const QUOTE = /^ {0,3}>\s?(.*)$/u;
const LINE = /^\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/u;
const INLINE =
  /\\([\\`*_{}[\]()#+\-.!|>~])|`{1,2}([^`\n]{1,2000})`{1,2}|!\[([^\]\n]{0,400})\]\(([^()\s]{0,2000})\)|\[([^\]\n]{1,400})\]\(([^()\s]{0,2000})\)|<?(https?:\/\/[^\s<>()]{1,2000})>?|\*\*(?=\S)([^*\n]{1,2000})\*\*|(?<![\p{L}\p{N}*])\*(?=\S)([^*\n]{1,2000})\*(?![\p{L}\p{N}*])|(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,2000})_(?![\p{L}\p{N}_])/gu;

export interface MarkdownWords {
  /** "Image: {text}." */
  image(text: string): string;
  code(language: string, lines: number): string;
}

/** `level` is that of the heading above: those in the text go below it. */
export function markdownNodes(source: string, level: number, words: MarkdownWords): HTMLElement[] {
  const lines = source.split("\n");
  const nodes: HTMLElement[] = [];
  let paragraph: string[] = [];
  const close = () => {
    if (paragraph.length > 0) nodes.push(make("p", { dir: "auto" }, ...inline(paragraph.join("\n"), words)));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence) {
      close();
      const code: string[] = [];
      for (at++; at < lines.length && !closes(lines[at]!, fence[1]!); at++) code.push(lines[at]!);
      nodes.push(codeBlock(code.join("\n"), words.code(fence[2]!, code.length)));
    } else if (heading) {
      close();
      const rank = Math.min(6, level + heading[1]!.length) as 2;
      nodes.push(make(`h${rank}`, { dir: "auto" }, ...inline(heading[2]!.replace(/\s#+\s*$/u, ""), words)));
    } else if (line.trim() === "") close();
    else if (LINE.test(line)) {
      close();
      nodes.push(make("hr"));
    } else if (line.includes("|") && RULE.test(lines[at + 1] ?? "")) {
      close();
      const [table, end] = tableOf(lines, at, words);
      nodes.push(table);
      at = end;
    } else if (ITEM.test(line)) {
      close();
      const [list, end] = listOf(lines, at, words);
      nodes.push(list);
      at = end;
    } else if (QUOTE.test(line)) {
      close();
      const quoted: string[] = [];
      for (; QUOTE.test(lines[at] ?? ""); at++) quoted.push(QUOTE.exec(lines[at]!)![1]!);
      at--;
      // One level: a quote in a quote is read as part of it.
      const text = quoted.map((one) => one.replace(/^[\s>]+/u, "")).join("\n");
      nodes.push(make("blockquote", { dir: "auto" }, make("p", {}, ...inline(text, words))));
    } else paragraph.push(line.trim());
  }
  close();
  return nodes;
}

const closes = (line: string, mark: string): boolean => {
  const found = line.trim();
  return found.startsWith(mark) && found === mark[0]!.repeat(found.length);
};

/** Long lines scroll; whoever uses a keyboard must be able to get there. */
const codeBlock = (code: string, name: string): HTMLElement =>
  make("pre", { tabindex: "0", role: "group", "aria-label": name, dir: "ltr" }, make("code", {}, code));

/** Nested by how far items are indented, at most as deep as anyone can follow. */
function listOf(lines: readonly string[], from: number, words: MarkdownWords): [HTMLElement, number] {
  const [, margin = "", bullet, number] = ITEM.exec(lines[from]!)!;
  const indent = margin.length;
  const list = bullet ? make("ul") : make("ol", number === "1" ? {} : { start: number });
  let item: HTMLElement | undefined;
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const found = ITEM.exec(line);
    const depth = found?.[1]?.length ?? 0;
    if (found && depth >= indent + 2 && item && depth < 12) {
      const [inner, end] = listOf(lines, at, words);
      item.append(inner);
      at = end;
    } else if (found && depth < indent) break;
    else if (found) {
      item = make("li", { dir: "auto" }, ...inline(found[4]!.replace(/^\[[ xX]\]\s+/u, ""), words));
      list.append(item);
    } else if (line.trim() !== "" && /^\s{2,}/u.test(line) && item)
      item.append(make("span", {}, " ", ...inline(line.trim(), words)));
    else if (line.trim() !== "" || !ITEM.test(lines[at + 1] ?? "")) break;
  }
  return [list, at - 1];
}

function tableOf(lines: readonly string[], from: number, words: MarkdownWords): [HTMLElement, number] {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/gu, "")
      .split("|")
      .map((cell) => inline(cell.trim(), words));
  const row = (name: "th" | "td", line: string) =>
    make(
      "tr",
      {},
      ...cells(line).map((cell) =>
        make(name, name === "th" ? { scope: "col", dir: "auto" } : { dir: "auto" }, ...cell),
      ),
    );
  const body = make("tbody");
  let at = from + 2;
  for (; at < lines.length && lines[at]!.includes("|"); at++) body.append(row("td", lines[at]!));
  return [make("table", {}, make("thead", {}, row("th", lines[from]!)), body), at - 1];
}

function inline(source: string, words: MarkdownWords): Child[] {
  const nodes: Child[] = [];
  let at = 0;
  for (const match of source.matchAll(INLINE)) {
    nodes.push(source.slice(at, match.index));
    at = match.index + match[0].length;
    const [, escaped, code, alt, , label, target, bare, strong, star, under] = match;
    if (escaped !== undefined) nodes.push(escaped);
    else if (code !== undefined) nodes.push(make("code", { dir: "ltr" }, code));
    else if (alt !== undefined) nodes.push(alt === "" ? "" : words.image(alt));
    else if (label !== undefined) nodes.push(...link(label, target!));
    else if (bare !== undefined) {
      const end = /[.,;:!?]+$/u.exec(bare)?.[0] ?? "";
      nodes.push(...link("", bare.slice(0, bare.length - end.length)), end);
    } else if (strong !== undefined) nodes.push(make("strong", {}, strong));
    else nodes.push(make("em", {}, star ?? under ?? ""));
  }
  nodes.push(source.slice(at));
  return nodes;
}

/** Where it leads is part of what is read: a label may say anything. */
function link(label: string, target: string): Child[] {
  if (!/^https?:\/\//iu.test(target) || !URL.canParse(target)) return [label || target];
  const { href, hostname } = new URL(target);
  const told = label.toLowerCase().includes(hostname) || label === "";
  const rel = "noopener noreferrer nofollow ugc";
  const node = make("a", { href, rel, target: "_blank", referrerpolicy: "no-referrer" }, label || href);
  return told ? [node] : [node, ` (${hostname})`];
}

/** Text of no markup, as it was written. */
export const plainNodes = (source: string): HTMLElement[] =>
  source
    .split(/\n\s*\n/u)
    .filter((one) => one.trim() !== "")
    .map((one) => make("p", { dir: "auto", class: "plain" }, one.trim()));

export const clean = (text: string, language: string | undefined): string => neutralize(text, language).text;
