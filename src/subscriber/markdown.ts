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

const NAMES: Readonly<Record<string, string>> = {
  ts: "TypeScript",
  typescript: "TypeScript",
  tsx: "TypeScript",
  js: "JavaScript",
  javascript: "JavaScript",
  jsx: "JavaScript",
  py: "Python",
  python: "Python",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  console: "shell",
  json: "JSON",
  yaml: "YAML",
  yml: "YAML",
  html: "HTML",
  css: "CSS",
  sql: "SQL",
  rs: "Rust",
  rust: "Rust",
  go: "Go",
  java: "Java",
  c: "C",
  cpp: "C plus plus",
  "c++": "C plus plus",
  cs: "C sharp",
  csharp: "C sharp",
  rb: "Ruby",
  ruby: "Ruby",
  php: "PHP",
  kt: "Kotlin",
  swift: "Swift",
  md: "Markdown",
  diff: "diff",
};
const HTML_TAG =
  /<\/?(?:a|abbr|b|big|br|blockquote|center|code|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|small|span|strike|strong|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>]{0,400})?\/?>/giu;
const INLINE =
  /\\([\\`*_{}[\]()#+\-.!|>~])|!\[([^\]\n]{0,400})\]\(((?:[^()\s]|\([^()\s]{0,200}\)){0,2000})(?:\s+"[^"\n]{0,400}")?\)|\[([^\]\n]{1,400})\]\(((?:[^()\s]|\([^()\s]{0,200}\)){0,2000})(?:\s+"[^"\n]{0,400}")?\)|<(https?:\/\/[^<>\s]{1,2000})>|(https?:\/\/[^\s<>()]{1,2000})|`{1,2}([^`\n]{1,2000}?)`{1,2}|\[\^[\w-]{1,20}\]/gu;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#-]*)/u;
const LIST_ITEM = /^\s*(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$/u;
const TABLE_RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/u;

export function speakMarkdown(source: string): Spoken {
  const details: string[] = [];
  const blocks: Segment[][] = [];
  const lines = source.split("\n");
  let paragraph: string[] = [];
  const close = () => {
    if (paragraph.length > 0) blocks.push(inline(paragraph.join(" "), details));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const fence = FENCE.exec(line);
    if (fence) {
      close();
      const code: string[] = [];
      for (at++; at < lines.length && !lines[at]!.trim().startsWith(fence[1]!); at++) code.push(lines[at]!);
      blocks.push([named(fence[2]!, code.length)]);
      details.push(code.join("\n"));
      continue;
    }
    const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$/u.exec(line);
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
    const quote = /^ {0,3}>\s?(.*)$/u.exec(line);
    if (quote) {
      close();
      const quoted = [quote[1]!];
      while (/^ {0,3}>/u.test(lines[at + 1] ?? "")) quoted.push(lines[++at]!.replace(/^ {0,3}>\s?/u, ""));
      blocks.push([{ key: "quote", text: inline(quoted.join(" "), details) }]);
      continue;
    }
    paragraph.push(line.trim());
  }
  close();
  return { blocks: blocks.filter((block) => block.length > 0), details };
}

const named = (language: string, count: number): Segment => {
  const name = NAMES[language.toLowerCase()] ?? language;
  return name === "" ? { key: "code", count } : { key: "code_in", count, slots: { language: name } };
};

function list(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  const items: string[] = [];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const item = LIST_ITEM.exec(line);
    if (item) items.push(item[1]!);
    else if (line.trim() !== "" && /^\s{2,}/u.test(line)) items[items.length - 1] += ` ${line.trim()}`;
    else if (line.trim() !== "" || !LIST_ITEM.test(lines[at + 1] ?? "")) break;
  }
  // Text that streams comes item by item: then there is no list to count yet.
  if (items.length > 1) blocks.push([{ key: "list", count: items.length }]);
  items.forEach((item, index) => {
    const text = inline(item, details);
    blocks.push(items.length > 1 ? [{ key: "item", text, slots: { number: index + 1 } }] : text);
  });
  return at - 1;
}

function table(lines: readonly string[], from: number, blocks: Segment[][], details: string[]): number {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/gu, "")
      .split("|")
      .map((cell) => cell.trim());
  const header = cells(lines[from]!);
  const rows: string[][] = [];
  let at = from + 2;
  for (; at < lines.length && lines[at]!.includes("|"); at++) rows.push(cells(lines[at]!));
  blocks.push([{ key: "table", slots: { columns_count: header.length, rows_count: rows.length } }]);
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
    const plain = emphasis(text.replace(HTML_TAG, " "));
    if (plain !== "") segments.push(plain);
  };
  let at = 0;
  for (const match of source.matchAll(INLINE)) {
    push(source.slice(at, match.index));
    at = match.index + match[0].length;
    const [, escaped, alt, , label, target, angled, bare, code] = match;
    if (escaped !== undefined) segments.push(escaped);
    else if (alt !== undefined) {
      if (alt !== "") segments.push({ key: "image", text: [alt] });
    } else if (label !== undefined) {
      segments.push({ key: "link", text: [emphasis(label)] });
      if (/^https?:\/\//iu.test(target!)) details.push(target!);
    } else if (angled ?? bare) {
      const address = (angled ?? bare)!;
      const [, host = address, tail = ""] =
        /^https?:\/\/(?:www\.)?([^/?#]+).*?([.,;:!?]*)$/iu.exec(address) ?? [];
      segments.push({ key: "link", text: [host] }, ...(tail ? [tail] : []));
      details.push(tail ? address.slice(0, -tail.length) : address);
    } else if (code !== undefined) segments.push(code);
  }
  push(source.slice(at));
  return segments;
}

const emphasis = (text: string): string =>
  text
    .replace(/(\*{1,3}|~~)(?=\S)(.{1,2000}?)(?<=\S)\1/gu, "$2")
    .replace(/(?<![\p{L}\p{N}_])(_{1,3})(?=\S)(.{1,2000}?)(?<=\S)\1(?![\p{L}\p{N}_])/gu, "$2")
    .replace(/[ \u00a0]{2,}/gu, " ");

/** HTML output: the tags go, the words stay, and nothing is ever run or opened (CON-67). */
export const plainHtml = (source: string): string =>
  source
    .replace(/<(?:script|style)\b[^>]{0,400}>[^<]{0,20000}<\/(?:script|style)>/giu, " ")
    .replace(/<\/?(?:p|div|br|li|h[1-6]|tr)\b[^>]{0,400}>/giu, "\n")
    .replace(HTML_TAG, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&amp;", "&");
