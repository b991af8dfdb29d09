/**
 * Messages out of a file or a pipe, one at a time and with their line: JSON Lines, a JSON array, one document over many
 * lines, or several in a row. Memory stays flat however much comes.
 */
import { RECEIVE_LIMITS } from "../protocol/index.ts";

export interface Document {
  /** Where it begins, counted from 1. */
  readonly line: number;
  readonly bytes: Uint8Array;
  /** What is wrong around it rather than in it. */
  readonly broken?: string;
}

/** One byte more than is ever accepted is enough to know that it is too much. */
const MOST = RECEIVE_LIMITS.bytes + 1;
const LINE_FEED = 10;

interface Splitter {
  push(chunk: Uint8Array): Document[];
  end(): Document[];
}

export async function* readDocuments(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<Document> {
  let splitter: Splitter | undefined;
  let first = Buffer.alloc(0);
  for await (const given of input) {
    const chunk = typeof given === "string" ? Buffer.from(given) : given;
    if (splitter) {
      yield* splitter.push(chunk);
      continue;
    }
    first = Buffer.concat([first, chunk]);
    const kind = kindOf(first.toString("utf8", 0, MOST), first.length >= MOST);
    if (!kind) continue;
    splitter = kind === "lines" ? createLineSplitter() : createValueSplitter();
    yield* splitter.push(first);
  }
  if (!splitter) {
    splitter =
      kindOf(first.toString("utf8"), true) === "values" ? createValueSplitter() : createLineSplitter();
    yield* splitter.push(first);
  }
  yield* splitter.end();
}

/**
 * Whether every line stands for itself. A line that is no JSON must not swallow those after it, so only what clearly
 * goes on over several lines is read as such: a list, or an object whose second line is no object of its own.
 */
function kindOf(text: string, ended: boolean): "lines" | "values" | undefined {
  const start = text.replace(/^\ufeff/, "").trimStart();
  if (start === "") return ended ? "lines" : undefined;
  if (start.startsWith("[")) return "values";
  const [first = "", ...others] = start.split("\n");
  if (!start.startsWith("{")) return "lines";
  if (others.length === 0) return ended ? "lines" : undefined;
  if (isJson(first)) return "lines";
  const second = others.find((line) => line.trim() !== "")?.trimStart();
  if (second === undefined) return ended ? "lines" : undefined;
  return second.startsWith("{") || first.trimEnd().endsWith("}") ? "lines" : "values";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Bytes up to a bound; what comes beyond is only counted as too much. */
function createBuffer() {
  let pieces: Uint8Array[] = [];
  let size = 0;
  return {
    add(piece: Uint8Array): void {
      const room = MOST - size;
      if (room <= 0 || piece.length === 0) return;
      pieces.push(piece.length > room ? piece.subarray(0, room) : piece);
      size += Math.min(piece.length, room);
    },
    take(): Uint8Array {
      const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      pieces = [];
      size = 0;
      return whole;
    },
  };
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.length < 1_000 && bytes.every((byte) => byte === 32 || byte === 9 || byte === 13);

function createLineSplitter(): Splitter {
  const buffer = createBuffer();
  let line = 1;
  const taken = (): Document[] => {
    const bytes = buffer.take();
    return isBlank(bytes) ? [] : [{ line, bytes }];
  };
  return {
    push(chunk) {
      const found: Document[] = [];
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        buffer.add(chunk.subarray(from, at));
        found.push(...taken());
        line++;
        from = at + 1;
      }
      // Copied: the chunk's memory may be used again for the next one.
      buffer.add(chunk.slice(from));
      return found;
    },
    end: taken,
  };
}

const SPACE = new Set([32, 9, 10, 13]);
const [QUOTE, BACKSLASH, COMMA] = [34, 92, 44];
const OPENS = new Set([123, 91]);
const CLOSES = new Set([125, 93]);
const [LIST, LIST_END] = [91, 93];

/** Top-level values, and the items of top-level lists. Every byte that matters is ASCII, so UTF-8 may be cut anywhere. */
function createValueSplitter(): Splitter {
  const buffer = createBuffer();
  let line = 1;
  let began = 0;
  let depth = 0;
  let kind: "none" | "compound" | "word" = "none";
  let inText = false;
  let escaped = false;
  let list: { line: number; comma: boolean; empty: boolean } | undefined;
  let ready: Document[] = [];

  const broken = (at: number, why: string) => ready.push({ line: at, bytes: new Uint8Array(), broken: why });
  const finish = () => {
    ready.push({ line: began, bytes: buffer.take() });
    kind = "none";
    if (list) list.comma = false;
  };
  const begin = (how: typeof kind) => {
    if (list && !list.comma && !list.empty) broken(line, "A comma is missing between two items of the list.");
    if (list) list.empty = false;
    began = line;
    kind = how;
  };
  /** Between values. Gives whether the byte begins one. */
  const between = (byte: number): boolean => {
    if (SPACE.has(byte)) return false;
    if (byte === LIST && !list) {
      list = { line, comma: false, empty: true };
      return false;
    }
    if (list && byte === LIST_END) {
      if (list.comma) broken(line, "The list ends with a comma.");
      list = undefined;
      return false;
    }
    if (list && byte === COMMA) {
      if (list.comma || list.empty) broken(line, "There is a comma too many in the list.");
      list.comma = true;
      return false;
    }
    begin(OPENS.has(byte) ? "compound" : "word");
    return true;
  };
  /** Inside a value. Gives whether the byte ends it, the byte included. */
  const inside = (byte: number): boolean => {
    if (escaped) escaped = false;
    else if (inText) {
      if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (OPENS.has(byte)) depth++;
    else if (CLOSES.has(byte)) depth--;
    return kind === "compound" && depth === 0 && !inText;
  };
  const endsWord = (byte: number): boolean =>
    kind === "word" &&
    !inText &&
    (SPACE.has(byte) || (list !== undefined && (byte === COMMA || byte === LIST_END)));

  return {
    push(chunk) {
      ready = [];
      let from = 0;
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at]!;
        if (kind !== "none" && endsWord(byte)) {
          buffer.add(chunk.slice(from, at));
          depth = 0;
          finish();
        }
        if (kind === "none") {
          from = at;
          if (!between(byte)) {
            if (byte === LINE_FEED) line++;
            continue;
          }
        }
        if (inside(byte)) {
          buffer.add(chunk.slice(from, at + 1));
          finish();
        }
        if (byte === LINE_FEED) line++;
      }
      if (kind !== "none") buffer.add(chunk.slice(from));
      return ready;
    },
    end() {
      ready = [];
      if (kind !== "none") finish();
      if (list) broken(list.line, "The list that begins here is never closed.");
      return ready;
    },
  };
}
