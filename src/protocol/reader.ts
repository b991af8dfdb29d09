/**
 * A fast parser for streamed text. Chunks of one output differ in only a few fields, and a producer that writes those
 * last repeats the same prefix: it is parsed and validated once, and for later chunks only the rest. The result is
 * always that of a tolerant `parse`; values in the shared prefix are frozen.
 */

import type { Issue } from "./errors.ts";
import { EVENTS } from "./generated/tables.ts";
import { RECEIVE_LIMITS } from "./limits.ts";
import { type Parsed, parse } from "./parse.ts";
import type { CoreEvent } from "./types.ts";

const TEXT = "aaep:agent.output.streaming";
const OWN = ["event_id", "timestamp", "chunk", "position", "complete", "coalesce_hint"];
const { fields: FIELDS } = EVENTS.get(TEXT)!;
const isTimestamp = FIELDS.get("timestamp")![0].ok;
const isChunk = FIELDS.get("chunk")![0].ok;
/**
 * The fields that differ per chunk, in the usual order, up to the end of the message; anything else goes to `parse`.
 * Each character matches one alternative only, so matching is linear (A17).
 */
const REST = new RegExp(
  String.raw`"event_id":"(evt_[A-Za-z0-9]{1,64})","timestamp":"([^"\\]{1,64})",` +
    String.raw`"chunk":("(?:[^"\\\0-\x1f\ud800-\udfff]|\\["\\/bfnrt]|[\ud800-\udbff][\udc00-\udfff])*"),` +
    `"position":(0|[1-9][0-9]{0,14}),"complete":(true|false),` +
    String.raw`"coalesce_hint":"(none|word|sentence|paragraph|completion)"\}$`,
  "y",
);
const NONE: readonly Issue[] = Object.freeze([]);

interface Beginning {
  /** Up to and including the comma before the first field that differs per chunk. */
  readonly text: string;
  readonly fields: object;
  /** The last valid timestamp: many chunks share it. */
  timestamp?: string;
}

export function createReader(): (text: string) => Parsed {
  let known: Beginning | undefined;
  return (text) => {
    const message = known && readRest(text, known);
    if (message)
      return { ok: true, kind: "event", message: message as unknown as CoreEvent, diagnostics: NONE };
    const parsed = parse(text, { mode: "tolerant" });
    if (parsed.ok && parsed.message.type === TEXT && parsed.diagnostics.length === 0)
      known = beginningOf(text, parsed.message) ?? known;
    return parsed;
  };
}

/**
 * A V8 substring keeps its whole parent string alive, here perhaps a large network buffer, and subscribers keep events.
 * V8 copies short substrings, such as most tokens, by itself, and `JSON.parse` always copies.
 */
const SHORT = 12;
const copyOf = (part: string): string => [part[0], part.slice(1)].join("");

function readRest(text: string, known: Beginning): object | undefined {
  if (text.length * 3 > RECEIVE_LIMITS.bytes) return undefined;
  // Not `startsWith`: measured to take four times as long as everything else here.
  if (text.slice(0, known.text.length) !== known.text) return undefined;
  REST.lastIndex = known.text.length;
  const rest = REST.exec(text);
  if (!rest) return undefined;
  const [, event_id, timestamp, quoted, position, complete, coalesce_hint] = rest as unknown as string[];
  if (timestamp !== known.timestamp) {
    if (!isTimestamp(timestamp)) return undefined;
    known.timestamp = copyOf(timestamp!);
  }
  const chunk = quoted!.length > SHORT || quoted!.includes("\\") ? JSON.parse(quoted!) : quoted!.slice(1, -1);
  if (!isChunk(chunk)) return undefined;
  const message: Record<string, unknown> = { ...known.fields };
  message["event_id"] = copyOf(event_id!);
  message["timestamp"] = known.timestamp;
  message["chunk"] = chunk;
  message["position"] = Number(position);
  message["complete"] = complete === "true";
  message["coalesce_hint"] = coalesce_hint;
  return message;
}

/** The prefix that the next chunk may share: complete fields, none of which differ per chunk. */
function beginningOf(text: string, message: object): Beginning | undefined {
  const end = text.indexOf(`,"${OWN[0]}":`);
  if (end < 0 || OWN.some((name) => text.lastIndexOf(`"${name}"`, end) >= 0)) return undefined;
  let fields: object;
  try {
    fields = JSON.parse(`${text.slice(0, end)}}`);
  } catch {
    return undefined;
  }
  const whole = Object.keys(fields).length + OWN.length === Object.keys(message).length;
  if (!whole || !("type" in fields)) return undefined;
  for (const value of Object.values(fields)) freeze(value);
  // Reserve the fields that differ per chunk: adding fields to a copy would make it slow to create and to read.
  for (const name of OWN) (fields as Record<string, unknown>)[name] = undefined;
  return { text: copyOf(text.slice(0, end + 1)), fields: { ...fields } };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item);
  Object.freeze(value);
}
