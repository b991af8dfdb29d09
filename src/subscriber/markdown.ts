/**
 * Renders Markdown as speech: marks dropped, structure named in the listener's language ("Code, TypeScript, 12 lines"),
 * code and addresses kept as details. A name is a message key; voices fill it in.
 */
import { type Block, type Inline, type List, parseMarkdown } from "../text/markdown.ts";
import type { MessageKey } from "./catalogs/catalog.ts";

/** Plain text, or a message whose {text} slot holds `text`. */
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

/** Names of languages by their tags. A Map, because the producer chooses the tag, "constructor" included. */
const LANGUAGE_NAMES: ReadonlyMap<string, string> = new Map(
  "TypeScript ts tsx,JavaScript js jsx,Python py,shell sh bash zsh console,JSON,YAML yml,HTML,CSS,SQL,Rust rs,Go,Java,C,C-plus-plus cpp c++,C-sharp cs csharp,Ruby rb,PHP,Kotlin kt,Swift,Markdown md,diff"
    .split(",")
    .flatMap((names) => {
      const all = names.split(" ");
      return all.map((one): [string, string] => [one.toLowerCase(), all[0]!.replaceAll("-", " ")]);
    }),
);

/** Renders Markdown as speech: marks dropped, structure named, code and addresses kept as details. */
export function speakMarkdown(source: string): Spoken {
  const details: string[] = [];
  const blocks = parseMarkdown(source).flatMap((block) => speakBlock(block, details));
  return { blocks: blocks.filter((block) => block.length > 0), details };
}

function speakBlock(block: Block, details: string[]): Segment[][] {
  switch (block.kind) {
    case "paragraph":
      return [speakInline(block.nodes, details)];
    case "heading":
      return [[{ key: "heading", text: speakInline(block.nodes, details) }]];
    case "code": {
      const { language, lines } = block;
      details.push(lines.join("\n"));
      const name = LANGUAGE_NAMES.get(language.toLowerCase()) ?? language;
      const count = lines.length;
      return [[name === "" ? { key: "code", count } : { key: "code_in", count, slots: { language: name } }]];
    }
    case "table":
      return speakTable(block, details);
    case "quote": {
      const [first, ...rest] = block.blocks.flatMap((one) => speakBlock(one, details));
      return first ? [[{ key: "quote", text: first }], ...rest] : [];
    }
    case "list":
      return speakList(block, "", details);
    default:
      return [];
  }
}

/** Items of an inner list have the outer number as a prefix, because a listener cannot see the indentation. */
function speakList({ items }: List, prefix: string, details: string[]): Segment[][] {
  // Streamed text arrives item by item: a single item is not announced as a list.
  const said: Segment[][] = items.length > 1 ? [[{ key: "list", count: items.length }]] : [];
  // 1, 1, 1 means that the reader should count.
  const counted = items.length > 1 && items.every(({ number }) => number === items[0]!.number);
  for (const [index, { number, done, nodes, blocks }] of items.entries()) {
    const own = `${prefix}${counted || number === undefined ? (items[0]!.number ?? 1) + index : number}`;
    const words = speakInline(nodes, details);
    const text: Segment[] =
      done === undefined ? words : [{ key: done ? "task_done" : "task_open", text: words }];
    const alone = items.length === 1 && number === undefined && prefix === "";
    said.push(alone ? text : [{ key: "item", text, slots: { number: own } }]);
    for (const one of blocks)
      said.push(...(one.kind === "list" ? speakList(one, `${own}.`, details) : speakBlock(one, details)));
  }
  return said;
}

function speakTable({ header, rows }: Block & { kind: "table" }, details: string[]): Segment[][] {
  const counts = { columns_count: header.length, rows_count: rows.length };
  const said: Segment[][] = [[{ key: "table", slots: counts }]];
  // Columns without values are named as well.
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const unused = header.slice(columns).filter((name) => name.length > 0);
  said.push(speakInline(joined(unused), details));
  // Each value with the name of its column, because a listener cannot look it up.
  for (const row of rows) {
    const cells = row.map((cell, index) =>
      header[index]?.length ? [...header[index], ": ", ...cell] : cell,
    );
    said.push(speakInline(joined(cells), details));
  }
  return said;
}

const joined = (cells: readonly (readonly Inline[])[]): Inline[] =>
  cells.flatMap((cell, index) => (index === 0 ? cell : [", ", ...cell]));

function speakInline(nodes: readonly Inline[], details: string[], inLink = false): Segment[] {
  const said: Segment[] = [];
  let afterNote = false;
  const add = (segment: Segment) => {
    // Without a space, "5[^1]4" and "6[5](…)" would be spoken as 54 and 65.
    const joins =
      typeof segment === "string"
        ? afterNote && /^[\p{L}\p{N}]/u.test(segment)
        : afterNote || (segment.key !== "struck" && /\p{N}$/u.test(`${said.at(-1)}`));
    afterNote = false;
    if (joins) add(" ");
    const last = said.at(-1);
    if (typeof segment === "string" && typeof last === "string") said[said.length - 1] = last + segment;
    else said.push(segment);
  };
  const visit = (node: Inline): void => {
    if (typeof node === "string") return add(node);
    const { kind, target, title } = node;
    switch (kind) {
      case "note":
        afterNote = true;
        return;
      case "struck":
        return add({ key: "struck", text: speakInline(node.nodes, details, inLink) });
      case "link":
      case "image":
      case "address": {
        const host = /^https?:\/\/(?:www\.)?([^/?#]+)/iu.exec(target)?.[1] ?? target;
        const text = kind === "address" ? [host] : speakInline(node.nodes, details, true);
        // An address as the label of a link is one link.
        if (inLink) text.forEach(add);
        else if (text.length > 0) add({ key: kind === "image" ? "image" : "link", text });
        const known = kind !== "address" && details.at(-1) === target;
        if (!known && /^https?:\/\//iu.test(target)) details.push(target);
        if (title !== "") details.push(title);
        return;
      }
      default:
        node.nodes.forEach(visit);
    }
  };
  nodes.forEach(visit);
  return said;
}
