/**
 * Reading text as it is streamed. Chunks of one output differ in a few fields only, and an agent that writes those last
 * sends the same beginning again and again: it is read and checked once, and of the chunks that follow only the rest.
 * Message for message the outcome is that of a tolerant `parse`; what both share of a beginning is frozen.
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
 * A chunk's own fields as most agents write them, to the end of the message; anything else is for `parse` to judge. One
 * character fits one alternative only, so that it stays linear (A17).
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
  /** Up to and with the comma before the first field of a chunk's own. */
  readonly text: string;
  readonly fields: object;
  /** The last time that was checked: many chunks share theirs. */
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
 * A part of a string holds on to the whole, here perhaps to all that came with it, and listeners keep what they hear.
 * Short ones, as most tokens are, the engine copies by itself, and `JSON.parse` always does.
 */
const SHORT = 12;
const copyOf = (part: string): string => [part[0], part.slice(1)].join("");

function readRest(text: string, known: Beginning): object | undefined {
  if (text.length * 3 > RECEIVE_LIMITS.bytes) return undefined;
  // Not `startsWith`, which takes four times as long as all the rest.
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

/** What the next chunk may begin with, too: whole fields, and none that is a chunk's own. */
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
  // The places of a chunk's own fields are there from the start: copies with fields added are slow to make and to read.
  for (const name of OWN) (fields as Record<string, unknown>)[name] = undefined;
  return { text: copyOf(text.slice(0, end + 1)), fields: { ...fields } };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item);
  Object.freeze(value);
}
