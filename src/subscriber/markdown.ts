/**
 * Markdown as a person would read it out: the marks dropped, structure named in the listener's words ("Code,
 * TypeScript, 12 lines"), code and addresses kept for those who ask. A name is a message key; voices fill it in.
 */
import type { MessageKey } from "./catalogs/catalog.ts";

/** Text as it is, or a named piece of structure; `text` fills the sentence's place of that name. */
export type Segment =
  | string
  | {
      readonly key: MessageKey;
      readonly text?: readonly Segment[];
      readonly count?: number;
      readonly slots?: Readonly<Record<string, string | number>>;
    };

export interface Spoken {
  /** One per heading, paragraph, list item and so on, in order. */
  readonly blocks: readonly (readonly Segment[])[];
  /** Read only on request: code, and where links lead (http and https only, CON-67). */
  readonly details: readonly string[];
}

/** Each with what it is also called. A map: what stands behind the mark is anybody's word, "constructor" included. */
const NAMES: ReadonlyMap<string, string> = new Map(
  "TypeScript ts tsx,JavaScript js jsx,Python py,shell sh bash zsh console,JSON,YAML yml,HTML,CSS,SQL,Rust rs,Go,Java,C,C-plus-plus cpp c++,C-sharp cs csharp,Ruby rb,PHP,Kotlin kt,Swift,Markdown md,diff"
    .split(",")
    .flatMap((names) => {
      const all = names.split(" ");
      return all.map((one): [string, string] => [one.toLowerCase(), all[0]!.replaceAll("-", " ")]);
    }),
);
/** Settings a tag has are of the form a=b: "if x <b and c> 3" is no tag, and its words are said. */
const HTML_TAG =
  /<\/?(?:p|div|br|hr|li|ol|ul|h[1-6]|tr|table|blockquote|pre|td|th|sup|sub|img|a|abbr|b|big|center|code|details|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|summary|tbody|thead|tt|u)(?:\s+[\w:-]{1,40}\s*=\s*(?:"[^"<>]{0,400}"|'[^'<>]{0,400}'|[^\s"'<>=]{1,400})){0,20}\s*\/?>/giu;
/** Without blanks between words, what follows an address would be taken for a part of it: only letters of addresses count. */
const INLINE =
  /\\([\\`*_{}[\]()#+\-.!|>~])|!\[([^\]\n]{0,400})\]\(((?:[^()\s]|\([^()\s]{0,200}\)){0,2000})(?:\s+"([^"\n]{0,400})")?\)|\[(?:!\[([^\]\n]{0,400})\]\([^()\s]{0,2000}\)|([^\]\n]{1,400}))\]\(((?:[^()\s]|\([^()\s]{0,200}\)){0,2000})(?:\s+"([^"\n]{0,400})")?\)|<(https?:\/\/[^<>\s]{1,2000})>|(https?:\/\/[\w\-.~:/?#[\]@!$&'*+,;=%]{1,2000})|(?<!`)(`{1,3})(?!`)(.{1,2000}?)(?<!`)\11(?!`)|\[\^\d{1,3}\](?!:)/gu;
/** "array[i](x)" is no link: where one leads has a dot, a slash or the like, or is nothing. */
const ADDRESS = /^(?:$|#|[^:]*[/.])|:/u;

/** With a backtick further on it is code within a line. What follows the language's name is text. */
const FENCE = /^\s{0,3}(`{3,}(?=[^`]*$)|~{3,})\s*([\w+#.-]*)(.*)$/u;
const SETTINGS = /\{[^{}]{0,200}\}|(?<!\S)[\w-]{1,40}=(?:"[^"]{0,200}"|\S{1,200})/gu;
const TABLE_RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/u;

export function speakMarkdown(source: string): Spoken {
  const details: string[] = [];
  const blocks: Segment[][] = [];
  const lines = source.split("\n");
  let paragraph: string[] = [];
  const close = () => {
    blocks.push(inline(paragraph.join("\n").replaceAll(/\\?\n/gu, " "), details));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (FENCE.test(line)) {
      close();
      at = code(lines, at, blocks, details);
      continue;
    }
    const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$/u.exec(line);
    if (heading) {
      close();
      blocks.push([{ key: "heading", text: inline(heading[1]!, details) }]);
      continue;
    }
    if (/^\s*(?:[-*_]\s*){3,}$/u.test(line) || line.trim() === "") {
      close();
      continue;
    }
    if (TABLE_RULE.test(lines[at + 1] ?? "") && line.includes("|")) {
      close();
      at = table(lines, at, blocks, details);
      continue;
    }
    if (LIST_ITEM.test(line)) {
      close();
      at = list(lines, at, blocks, details);
      continue;
    }
    if (QUOTE.test(line)) {
      close();
      at = quotation(lines, at, blocks, details);
      continue;
    }
    paragraph.push(line.trim());
  }
  close();
  return { blocks: blocks.filter((block) => block.length > 0), details };
}

const QUOTE = /^(?: {0,3}>\s?)+/u;

/** Whatever stands in it is read as it would be outside; a quote in a quote is a part of it. */
function quotation(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  let to = from + 1;
  while (QUOTE.test(lines[to] ?? "")) to++;
  const quoted = lines.slice(from, to).map((line) => line.replace(QUOTE, ""));
  const spoken = speakMarkdown(quoted.join("\n"));
  const [first, ...rest] = spoken.blocks;
  if (first) blocks.push([{ key: "quote", text: first }]);
  blocks.push(...rest.map((block) => [...block]));
  details.push(...spoken.details);
  return to - 1;
}

/** Gives the last line that belongs to it. Words on the lines of its marks are no code, and are said. */
function code(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  const [, mark, language, info] = FENCE.exec(lines[from]!.trimStart())!;
  const said: string[] = [];
  let at = from + 1;
  for (; at < lines.length && !lines[at]!.trim().startsWith(mark!); at++) said.push(lines[at]!);
  blocks.push(inline(info!.replace(SETTINGS, " ").trim(), details), [named(language!, said.length)]);
  details.push(said.join("\n"));
  const after = (lines[at] ?? "")
    .trim()
    .replace(/^[`~]+/u, "")
    .trim();
  blocks.push(inline(after, details));
  return at;
}

const named = (language: string, count: number): Segment => {
  const name = NAMES.get(language.toLowerCase()) ?? language;
  return name === "" ? { key: "code", count } : { key: "code_in", count, slots: { language: name } };
};

const LIST_ITEM = /^(\s*)(?:[-*+•]|(\d{1,9})[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/u;

/** Lists within lists; by ear nobody follows deeper ones. */
const MOST_LEVELS = 6;

interface Item {
  readonly number: number | undefined;
  readonly ticked: boolean | undefined;
  text: string;
  /** Its lists and code. */
  readonly inner: (List | Segment[][])[];
}
interface List {
  readonly indent: number;
  readonly items: Item[];
}

function list(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  const outer: List = { indent: LIST_ITEM.exec(lines[from]!)![1]!.length, items: [] };
  let open = [outer];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const indent = /^\s*/u.exec(line)![0].length;
    const found = LIST_ITEM.exec(line);
    const item = open.at(-1)!.items.at(-1);
    if (found) {
      const list = place(open, indent, found[2]);
      // Bullets after numbers, or numbers after bullets, are another list.
      if (!list) break;
      open = list;
      const [, , number, tick, text] = found;
      const ticked = tick === undefined ? undefined : tick !== " ";
      open.at(-1)!.items.push({ number: number && Number(number), ticked, text: text!, inner: [] } as Item);
    } else if (line.trim() === "") {
      const next = lines[at + 1] ?? "";
      if (!LIST_ITEM.test(next) && !/^\s{2,}\S/u.test(next)) break;
    } else if (indent < 2) break;
    else if (FENCE.test(line.trimStart())) {
      const inner: Segment[][] = [];
      at = code(lines, at, inner, details);
      item!.inner.push(inner);
    } else item!.text += ` ${line.trim()}`;
  }
  sayList(outer, "", blocks, details);
  return at - 1;
}

/** The lists that are open with this item, which goes into the last one; none if it begins a list beside them. */
function place(open: readonly List[], indent: number, number: string | undefined): List[] | undefined {
  const kept = open.filter((one, index) => index === 0 || one.indent <= indent);
  const last = kept.at(-1)!;
  const before = last.items.at(-1);
  if (!before) return kept;
  const alike = (before.number === undefined) === (number === undefined);
  // Numbers that line up on the right: " 9." and "10."
  const aligned = alike && number !== undefined && Number(number) === before.number! + 1;
  if (indent > last.indent + (aligned ? 1 : 0) && kept.length < MOST_LEVELS) {
    const inner: List = { indent, items: [] };
    before.inner.push(inner);
    return [...kept, inner];
  }
  if (alike) return kept;
  const around = kept.at(-2)?.items.at(-1);
  if (!around) return undefined;
  const beside: List = { indent, items: [] };
  around.inner.push(beside);
  return [...kept.slice(0, -1), beside];
}

/** An item of an inner list has the outer one's number before its own: by ear there is no indentation. */
function sayList({ items }: List, around: string, blocks: Segment[][], details: string[]): void {
  // Text that streams comes item by item: then there is no list to count yet.
  if (items.length > 1) blocks.push([{ key: "list", count: items.length }]);
  // Written as 1, 1, 1 it is meant to be counted.
  const counted = items.length > 1 && items.every(({ number }) => number === items[0]!.number);
  items.forEach(({ number, ticked, text, inner }, index) => {
    const own = counted || number === undefined ? (items[0]!.number ?? 1) + index : number;
    const words = inline(text, details);
    const said: Segment[] =
      ticked === undefined ? words : [{ key: ticked ? "task_done" : "task_open", text: words }];
    const alone = items.length === 1 && number === undefined && around === "";
    blocks.push(alone ? said : [{ key: "item", text: said, slots: { number: `${around}${own}` } }]);
    for (const one of inner)
      if (Array.isArray(one)) blocks.push(...one);
      else sayList(one, `${around}${own}.`, blocks, details);
  });
}

function table(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||(?<!\\)\|$/gu, "")
      .split(/(?<!\\)\|/u)
      .map((cell) => cell.trim());
  const header = cells(lines[from]!);
  const rows: string[][] = [];
  let at = from + 2;
  for (; at < lines.length && lines[at]!.includes("|"); at++) rows.push(cells(lines[at]!));
  blocks.push([{ key: "table", slots: { columns_count: header.length, rows_count: rows.length } }]);
  // A column nobody filled has a name all the same.
  const unused = header.slice(Math.max(0, ...rows.map((row) => row.length))).filter((name) => name !== "");
  if (unused.length > 0) blocks.push(inline(unused.join(", "), details));
  // Each value with its column's name: by ear there is no looking up.
  for (const row of rows) {
    const said = row.map((cell, index) => (header[index] ? `${header[index]}: ${cell}` : cell)).join(", ");
    blocks.push(inline(said, details));
  }
  return at - 1;
}

/** Marks inside a line. */
function inline(source: string, details: string[]): Segment[] {
  const segments: Segment[] = [];
  const push = (text: string) => {
    segments.push(...emphasis(letters(text.replace(HTML_TAG, " "))));
  };
  let at = 0;
  for (const match of source.matchAll(INLINE)) {
    push(source.slice(at, match.index));
    at = match.index + match[0].length;
    const [whole, escaped, alt, shown, caption, pictured, words, target, title, angled, bare, , literal] =
      match;
    const label = pictured ?? words;
    if (escaped !== undefined) segments.push(escaped);
    else if (alt !== undefined || label !== undefined) {
      const leads = (shown ?? target)!;
      if (!ADDRESS.test(leads)) {
        push(whole);
        continue;
      }
      // An address that leads to itself is one link.
      const said = inline((alt ?? label)!, details).flatMap((one) =>
        typeof one !== "string" && one.key === "link" ? one.text! : [one],
      );
      // "6[5](…)" is not 65.
      if (/\p{N}/u.test(source[match.index - 1] ?? "")) segments.push(" ");
      if (said.length > 0) segments.push({ key: alt === undefined ? "link" : "image", text: said });
      if (/^https?:\/\//iu.test(leads) && details.at(-1) !== leads) details.push(leads);
      details.push(...[caption ?? title ?? ""].filter((one) => one !== ""));
    } else if (angled ?? bare) {
      const address = (angled ?? bare)!;
      const [, host = address, tail = ""] =
        /^https?:\/\/(?:www\.)?([^/?#]+).*?([.,;:!?]*)$/iu.exec(address) ?? [];
      segments.push({ key: "link", text: [host] }, ...(tail ? [tail] : []));
      details.push(tail ? address.slice(0, -tail.length) : address);
    } else if (literal !== undefined) segments.push(literal);
    else if (/^[\p{L}\p{N}]/u.test(source.slice(at))) segments.push(" ");
  }
  push(source.slice(at));
  return segments;
}

const STRUCK = /~~(?=\S)(.{1,2000}?)(?<=\S)~~/gu;

/** What is struck out is said to be: "50 40" is not what "~~50~~ 40" means. */
function emphasis(text: string): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const match of text.matchAll(STRUCK)) {
    segments.push(unmarked(text.slice(at, match.index)), {
      key: "struck",
      text: [unmarked(match[1]!)],
    });
    at = match.index + match[0].length;
  }
  segments.push(unmarked(text.slice(at)));
  return segments.filter((one) => one !== "");
}

/** Stars between letters or figures multiply: "2*3*4" must not be heard as 234. */
const unmarked = (text: string): string =>
  text
    .replace(
      /(?<![\p{Lu}\p{Ll}\p{N}*])(\*{1,3})(?=[^\s*])(.{1,2000}?)(?<=[^\s*])\1(?![\p{Lu}\p{Ll}\p{N}*])/gu,
      "$2",
    )
    .replace(/(?<![\p{N}*])(\*{2,3})(?=[^\s*\p{N}])(.{1,2000}?)(?<=[^\s*\p{N}])\1(?![\p{N}*])/gu, "$2")
    .replace(/(?<![\p{L}\p{N}_])(_{1,3})(?=\S)(.{1,2000}?)(?<=\S)\1(?![\p{L}\p{N}_])/gu, "$2")
    .replace(/[ \u00a0]{2,}/gu, " ");

/** HTML output: the tags go, the words stay, and nothing is ever run or opened (CON-67). */
export const plainHtml = (source: string): string =>
  letters(
    source
      .replace(/<(?:script|style)\b[^>]{0,400}>[^<]{0,20000}<\/(?:script|style)>/giu, " ")
      .replace(/<\/?(?:p|div|br|hr|li|ol|ul|h[1-6]|tr|table|blockquote|pre)\b[^<>]{0,400}>/giu, "\n")
      // Cells and small figures would run into one number.
      .replace(/<\/?(?:td|th|sup|sub|img)\b[^<>]{0,400}>/giu, " ")
      .replace(HTML_TAG, ""),
  );

/** Letters that are written as a code; of two codes in one, the outer. */
const letters = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&amp;", "&");
