/**
 * The Markdown reader: source text to a small tree of blocks and inline nodes, rendered as speech
 * (subscriber/markdown.ts) and as page elements (web/markdown.ts). No visible letter or digit of the source is lost;
 * code is never changed and nothing is run or fetched (CON-67). Every quantifier is bounded, so that hostile text stays
 * cheap (A17).
 */

export type Inline = string | InlineNode;

interface InlineNode {
  /** "address" is a bare URL, "note" a footnote mark such as [^1]. */
  readonly kind: "code" | "note" | "strong" | "em" | "struck" | "link" | "image" | "address";
  /** The content; for an address none. */
  readonly nodes: readonly Inline[];
  /** Links, images and addresses: where they lead. Not checked. */
  readonly target: string;
  readonly title: string;
}

interface ListItem {
  /** As written; undefined for a bullet. */
  readonly number: number | undefined;
  /** Of a task list. */
  readonly done: boolean | undefined;
  nodes: readonly Inline[];
  /** Inner lists and code. */
  readonly blocks: Block[];
}

export interface List {
  readonly kind: "list";
  readonly indent: number;
  readonly items: ListItem[];
}

export type Block =
  | { readonly kind: "paragraph"; readonly nodes: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly nodes: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly lines: readonly string[] }
  | {
      readonly kind: "table";
      readonly header: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "rule" }
  | List;

/** Attributes must look like a=b: "if x <b and c> 3" is not a tag, and its words stay. */
const HTML_TAG =
  /<\/?(?:p|div|br|hr|li|ol|ul|h[1-6]|tr|table|blockquote|pre|td|th|sup|sub|img|a|abbr|b|big|center|code|details|em|font|i|ins|kbd|mark|q|s|small|span|strike|strong|summary|tbody|thead|tt|u)(?:\s+[\w:-]{1,40}\s*=\s*(?:"[^"<>]{0,400}"|'[^'<>]{0,400}'|[^\s"'<>=]{1,400})){0,20}\s*\/?>/giu;
/**
 * Escapes, images, links, addresses, code and footnote marks. A bare address ends at the first character that addresses
 * cannot contain: in scripts without spaces, text follows it directly.
 */
const INLINE =
  /\\([\\`*_{}[\]()#+\-.!|>~])|!\[([^\]\n]{0,400})\]\(((?:[^()\s<>]|\([^()\s<>]{0,200}\)){0,2000})(?:\s+"([^"\n]{0,400})")?\)|\[(?:!\[([^\]\n]{0,400})\]\([^()\s<>]{0,2000}\)|([^\]\n]{1,400}))\]\(((?:[^()\s<>]|\([^()\s<>]{0,200}\)){0,2000})(?:\s+"([^"\n]{0,400})")?\)|<(https?:\/\/[^<>\s]{1,2000})>|(https?:\/\/[\w\-.~:/?#[\]@!$&'*+,;=%]{1,2000})|(?<!`)(`{1,3})(?!`)(.{1,2000}?)(?<!`)\11(?!`)|\[\^\d{1,3}\](?!:)/gu;
/** "array[i](x)" is not a link: a target is empty, starts with # or a scheme, or has a dot or a slash. */
const TARGET = /^(?:$|#|[^:]*[/.]|(?:[a-z][a-z+.-]{1,20}|s3):)/iu;
/** Stars between letters or digits multiply: "2*3*4" must not become 234. */
const EMPHASIS =
  /~~(?=\S)(.{1,2000}?)(?<=\S)~~|(?<![\p{Lu}\p{Ll}\p{N}*])(\*{1,3})(?=[^\s*])(.{1,2000}?)(?<=[^\s*])\2(?![\p{Lu}\p{Ll}\p{N}*])|(?<![\p{N}*])(\*{2,3})(?=[^\s*\p{N}])(.{1,2000}?)(?<=[^\s*\p{N}])\4(?![\p{N}*])|(?<![\p{L}\p{N}_])(_{1,3})(?=\S)(.{1,2000}?)(?<=\S)\6(?![\p{L}\p{N}_])/gu;
const MAX_EMPHASIS_DEPTH = 4;

/** A backtick later in the line means inline code. What follows the language name is text. */
const FENCE = /^\s{0,3}(`{3,}(?=[^`]*$)|~{3,})\s*([\w+#.-]*)(.*)$/u;
/** Settings after the language name: {1,3} or title="x". */
const SETTINGS = /\{[^{}]{0,200}\}|(?<!\S)[\w-]{1,40}=(?:"[^"]{0,200}"|\S{1,200})/gu;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/u;
const RULE = /^\s*(?:[-*_]\s*){3,}$/u;
const TABLE_RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/u;
const QUOTE = /^(?: {0,3}>\s?)+/u;
const LIST_ITEM = /^(\s*)(?:[-*+•]|(\d{1,9})[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/u;
const MAX_LIST_DEPTH = 6;

/** Stands for an inline node while emphasis is searched. */
const NODE = "\0";

export const parseMarkdown = (source: string): Block[] =>
  parseLines(source.replaceAll(NODE, " ").split("\n"));

function parseLines(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const addText = (text: string) => {
    const nodes = parseInline(text);
    if (nodes.length > 0) blocks.push({ kind: "paragraph", nodes });
  };
  const close = () => {
    addText(paragraph.join("\n").replaceAll(/\\?\n/gu, " "));
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const heading = HEADING.exec(line);
    if (FENCE.test(line)) {
      close();
      at = parseCode(lines, at, blocks);
    } else if (heading) {
      close();
      blocks.push({ kind: "heading", level: heading[1]!.length, nodes: parseInline(heading[2]!) });
    } else if (line.trim() === "") close();
    else if (RULE.test(line)) {
      close();
      blocks.push({ kind: "rule" });
    } else if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) {
      close();
      const header = cellsOf(line);
      const rows: Inline[][][] = [];
      for (at += 2; lines[at]?.includes("|"); at++) rows.push(cellsOf(lines[at]!));
      at--;
      blocks.push({ kind: "table", header, rows });
    } else if (LIST_ITEM.test(line)) {
      close();
      at = parseList(lines, at, blocks);
    } else if (QUOTE.test(line)) {
      close();
      // A quote in a quote is read as part of it.
      const from = at;
      while (QUOTE.test(lines[at + 1] ?? "")) at++;
      const quoted = lines.slice(from, at + 1).map((one) => one.replace(QUOTE, ""));
      blocks.push({ kind: "quote", blocks: parseLines(quoted) });
    } else paragraph.push(line.trim());
  }
  close();
  return blocks;
}

/** Returns the last line of the block. Other words on the lines of the fence are text around it. */
function parseCode(lines: readonly string[], from: number, blocks: Block[]): number {
  const [, mark, language, info] = FENCE.exec(lines[from]!.trimStart())!;
  const addText = (text: string) => {
    const nodes = parseInline(text.trim());
    if (nodes.length > 0) blocks.push({ kind: "paragraph", nodes });
  };
  let at = from + 1;
  while (at < lines.length && !lines[at]!.trim().startsWith(mark!)) at++;
  addText(info!.replace(SETTINGS, " "));
  blocks.push({ kind: "code", language: language!, lines: lines.slice(from + 1, at) });
  addText((lines[at] ?? "").trim().replace(/^[`~]+/u, ""));
  return at;
}

const cellsOf = (line: string): Inline[][] =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/gu, "")
    .split(/(?<!\\)\|/u)
    .map((cell) => parseInline(cell.trim()));

function parseList(lines: readonly string[], from: number, blocks: Block[]): number {
  const outer: List = { kind: "list", indent: LIST_ITEM.exec(lines[from]!)![1]!.length, items: [] };
  const texts = new Map<ListItem, string>();
  let open = [outer];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at]!;
    const indent = /^\s*/u.exec(line)![0].length;
    const found = LIST_ITEM.exec(line);
    if (found) {
      const [, , digits, tick, text] = found;
      const number = digits === undefined ? undefined : Number(digits);
      const lists = listsOpenAt(open, indent, number);
      // Bullets after numbers, or numbers after bullets, are another list.
      if (!lists) break;
      open = lists;
      const item = { number, done: tick === undefined ? undefined : tick !== " ", nodes: [], blocks: [] };
      open.at(-1)!.items.push(item);
      texts.set(item, text!);
      continue;
    }
    const item = open.at(-1)!.items.at(-1)!;
    if (line.trim() === "") {
      const next = lines[at + 1] ?? "";
      if (!LIST_ITEM.test(next) && !/^\s{2,}\S/u.test(next)) break;
    } else if (indent < 2) break;
    else if (FENCE.test(line.trimStart())) at = parseCode(lines, at, item.blocks);
    else texts.set(item, `${texts.get(item)} ${line.trim()}`);
  }
  for (const [item, text] of texts) item.nodes = parseInline(text);
  blocks.push(outer);
  return at - 1;
}

/**
 * The nested lists that are open at an item, which goes into the last; undefined if the item starts a separate list.
 */
function listsOpenAt(open: readonly List[], indent: number, number: number | undefined): List[] | undefined {
  const kept = open.filter((one, index) => index === 0 || one.indent <= indent);
  const last = kept.at(-1)!;
  const before = last.items.at(-1);
  if (!before) return kept;
  const alike = (before.number === undefined) === (number === undefined);
  // Right-aligned numbers: " 9." and "10."
  const aligned = alike && number !== undefined && number === before.number! + 1;
  const list: List = { kind: "list", indent, items: [] };
  if (indent > last.indent + (aligned ? 1 : 0) && kept.length < MAX_LIST_DEPTH) {
    before.blocks.push(list);
    return [...kept, list];
  }
  if (alike) return kept;
  const parent = kept.at(-2)?.items.at(-1);
  parent?.blocks.push(list);
  return parent && [...kept.slice(0, -1), list];
}

function parseInline(source: string): Inline[] {
  const found: Inline[] = [];
  let text = "";
  let at = 0;
  const addText = (part: string) => {
    text += decodeEntities(part.replace(HTML_TAG, " ")).replace(/[ \u00a0]{2,}/gu, " ");
  };
  const add = (node: Inline) => {
    found.push(node);
    text += NODE;
  };
  for (const match of source.matchAll(INLINE)) {
    addText(source.slice(at, match.index));
    at = match.index + match[0].length;
    const [whole, escaped, alt, file, caption, pictured, words, leads, title, angled, bare, , code] = match;
    const label = alt ?? pictured ?? words;
    if (escaped !== undefined) add(escaped);
    else if (label !== undefined) {
      const target = (file ?? leads)!;
      if (!TARGET.test(target)) {
        addText(whole);
        continue;
      }
      const nodes = parseInline(label);
      add(nodeOf(alt === undefined ? "link" : "image", nodes, target, caption ?? title));
    } else if (angled ?? bare) {
      const address = (angled ?? bare)!;
      let end = address.length;
      while (".,;:!?".includes(address[end - 1]!)) end--;
      add(nodeOf("address", [], address.slice(0, end)));
      text += address.slice(end);
    } else if (code !== undefined) add(nodeOf("code", [code]));
    else add(nodeOf("note", [whole]));
  }
  addText(source.slice(at));
  return parseEmphasis(text, found.values(), 0);
}

const nodeOf = (kind: InlineNode["kind"], nodes: Inline[], target = "", title = ""): InlineNode => ({
  kind,
  nodes,
  target,
  title,
});

/** Takes nodes from `found` in the order of their placeholders. */
function parseEmphasis(text: string, found: Iterator<Inline>, depth: number): Inline[] {
  const nodes: Inline[] = [];
  let at = 0;
  const addText = (part: string) => {
    for (const [index, piece] of part.split(NODE).entries()) {
      if (index > 0) nodes.push(found.next().value);
      if (piece !== "") nodes.push(piece);
    }
  };
  if (depth < MAX_EMPHASIS_DEPTH)
    for (const match of text.matchAll(EMPHASIS)) {
      addText(text.slice(at, match.index));
      at = match.index + match[0].length;
      const mark = match[2] ?? match[4] ?? match[6];
      const kind = mark === undefined ? "struck" : mark.length === 1 ? "em" : "strong";
      const inner = (match[1] ?? match[3] ?? match[5] ?? match[7])!;
      nodes.push(nodeOf(kind, parseEmphasis(inner, found, depth + 1)));
    }
  addText(text.slice(at));
  return nodes;
}

/** HTML output: removes the tags and keeps the words; nothing is run or opened (CON-67). */
export const plainHtml = (source: string): string =>
  decodeEntities(
    source
      .replace(/<(?:script|style)\b[^>]{0,400}>[^<]{0,20000}<\/(?:script|style)>/giu, " ")
      .replace(/<\/?(?:p|div|br|hr|li|ol|ul|h[1-6]|tr|table|blockquote|pre)\b[^<>]{0,400}>/giu, "\n")
      // Without a space, cells and superscripts would run into one number.
      .replace(/<\/?(?:td|th|sup|sub|img)\b[^<>]{0,400}>/giu, " ")
      .replace(HTML_TAG, ""),
  );

/** "&amp;" last, so that "&amp;lt;" becomes "&lt;". */
const decodeEntities = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&amp;", "&");
