/**
 * Reads JSON documents from a file or a pipe, one at a time, with their line numbers: JSON Lines, a JSON array, one
 * document over many lines, or several in sequence. Memory use is constant, however long the input is.
 */
import { RECEIVE_LIMITS } from "../protocol/index.ts";

export interface Document {
  /** The line it starts on, counted from 1. */
  readonly line: number;
  readonly bytes: Uint8Array;
  /** A syntax error between documents, rather than inside one. */
  readonly broken?: string;
}

/** One byte over the limit is enough to detect that a document is too large. */
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
 * Whether each line is one document. An invalid line must not swallow the lines after it, so input is read as multi-line
 * only if it clearly is: a list, or an object whose second line does not start another object.
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

/** A buffer with a bound. Bytes beyond the bound are dropped; the document is then too large anyway. */
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
      // Copied, because the stream may reuse the chunk's memory.
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

/** Splits at top-level values and at items of top-level lists. Every relevant byte is ASCII, so chunks may split UTF-8 characters. */
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
  /** Handles a byte between values. Returns whether it starts a value. */
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
      if (list.comma || list.empty) broken(line, "There is an extra comma in the list.");
      list.comma = true;
      return false;
    }
    begin(OPENS.has(byte) ? "compound" : "word");
    return true;
  };
  /** Handles a byte inside a value. Returns whether it is the last byte of the value. */
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
      if (list) broken(list.line, "The list that starts here is never closed.");
      return ready;
    },
  };
}
