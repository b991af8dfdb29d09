/**
 * Reading text as it is streamed. Chunks of one output differ in a few fields only, and an agent that writes those last
 * sends the same beginning again and again: it is read and checked once, and of the chunks that follow only the rest.
 * Message for message the outcome is that of a tolerant `parse`; what both share of a beginning is frozen.
 */
import { EVENTS } from "./generated/tables.ts";
import type { Issue } from "./issue.ts";
import { RECEIVE_LIMITS } from "./limits.ts";
import { type Parsed, parse } from "./parse.ts";
import type { CoreEvent } from "./types.ts";

const TEXT = "aaep:agent.output.streaming";
const OWN = ["event_id", "timestamp", "chunk", "position", "complete", "coalesce_hint"];
const LONE_SURROGATE = /\p{Surrogate}/u;
const NONE: readonly Issue[] = Object.freeze([]);

interface Beginning {
  /** Up to and with the comma before the first field of a chunk's own. */
  readonly text: string;
  readonly fields: object;
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

function readRest(text: string, known: Beginning): object | undefined {
  if (text.length * 3 > RECEIVE_LIMITS.bytes || !text.startsWith(known.text)) return undefined;
  let own: Record<string, unknown>;
  try {
    own = JSON.parse(`{${text.slice(known.text.length)}`);
  } catch {
    return undefined;
  }
  const { fields } = EVENTS.get(TEXT)!;
  let count = 0;
  for (const name in own) {
    if (!OWN.includes(name) || !fields.get(name)![0].ok(own[name])) return undefined;
    count++;
  }
  // Anything unusual is for `parse` to judge.
  if (count !== OWN.length || !Number.isSafeInteger(own["position"])) return undefined;
  if (LONE_SURROGATE.test(own["chunk"] as string)) return undefined;
  const message: Record<string, unknown> = { ...known.fields };
  message["event_id"] = own["event_id"];
  message["timestamp"] = own["timestamp"];
  message["chunk"] = own["chunk"];
  message["position"] = own["position"];
  message["complete"] = own["complete"];
  message["coalesce_hint"] = own["coalesce_hint"];
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
  return { text: text.slice(0, end + 1), fields: { ...fields } };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item);
  Object.freeze(value);
}
