/**
 * Parses and validates messages: the only path from bytes, text or an unknown value to a typed message (chapters 3.9,
 * 5, 6; ENV-35).
 *
 * Strict mode is for messages we emit. Tolerant mode is for messages we receive: structural faults reject the message,
 * while unknown types, fields, enum values and extensions pass with a diagnostic (CON-37, CON-38). A reply to a
 * question is never repaired, in either mode; only its timestamp may have any RFC 3339 form. Nothing here throws.
 */

import { type Issue, quote } from "./errors.ts";
import { compactType } from "./filters.ts";
import { EVENTS, EXTENSION_EVENT, MESSAGES } from "./generated/tables.ts";
import {
  EMIT_LIMITS,
  findLimitIssues,
  fitsBytes,
  hasDuplicateKeys,
  type Limits,
  RECEIVE_LIMITS,
  tooLarge,
} from "./limits.ts";
import type {
  CoreEvent,
  CoreEventMap,
  CoreEventType,
  ExtensionEvent,
  MessageMap,
  OtherMessage,
} from "./types.ts";
import { explain, isObject } from "./validate.ts";

/** How strictly to validate. */
export interface ParseOptions {
  mode: "strict" | "tolerant";
  /** Extension prefixes in use, each with the context URI that declares it (CON-36). Checked in strict mode. */
  extensions?: Readonly<Record<string, string>>;
  /** "envelope" checks only the envelope of an event, not its payload. */
  scope?: "message" | "envelope";
  /** Overrides the limits of the mode. */
  limits?: Partial<Limits>;
}

/** A valid message with its diagnostics, or the issues found in it. */
export type Parsed =
  | { ok: true; kind: "event"; message: CoreEvent; diagnostics: readonly Issue[] }
  | { ok: true; kind: "extension"; message: ExtensionEvent; diagnostics: readonly Issue[] }
  | { ok: true; kind: "message"; message: OtherMessage; diagnostics: readonly Issue[] }
  | { ok: false; type: string | undefined; issues: readonly Issue[] };

const NONE: readonly Issue[] = Object.freeze([]);
const EVENT_TYPE = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s]+$/;

const refuse = (type: string | undefined, ...issues: Issue[]): Parsed => ({ ok: false, type, issues });
const issue = (path: string, code: string, message: string, ruling: string): Issue => ({
  path,
  code,
  message,
  ruling,
});

/** Reads a message from JSON text or bytes and validates it. Never throws: the result says what is wrong. */
export function parse(input: string | Uint8Array, options: ParseOptions): Parsed {
  const limits = limitsOf(options);
  let json: string;
  if (typeof input === "string") {
    if (!fitsBytes(input, limits.bytes)) return refuse(undefined, tooLarge(limits));
    json = input;
  } else {
    try {
      if (input.byteLength > limits.bytes) return refuse(undefined, tooLarge(limits));
      json = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input);
    } catch {
      return refuse(
        undefined,
        issue("", "utf8", "The bytes are not UTF-8; AAEP messages are UTF-8 JSON.", "ENV-33"),
      );
    }
  }
  // RFC 8259, 8.1: a byte order mark must not be sent, but a receiver may ignore it.
  if (options.mode === "tolerant" && json.charCodeAt(0) === 0xfeff) json = json.slice(1);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    // The engine's error message may quote the input: keep only the position.
    const at = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(String(error))?.[1];
    const where = at ? ` near character ${at}` : "";
    const wrong = json.startsWith("\ufeff") ? "There is a byte order mark" : `This is not JSON${where}`;
    return refuse(undefined, issue("", "json", `${wrong}; send one RFC 8259 JSON object.`, "ENV-33"));
  }
  const parsed = inspect(value, options, limits, true);
  if (
    parsed.ok &&
    parsed.kind === "message" &&
    parsed.message.type.endsWith(".reply") &&
    hasDuplicateKeys(json)
  ) {
    const text = "A field appears twice in this reply; a decision must have exactly one meaning.";
    return refuse(parsed.message.type, issue("", "duplicate_key", text, "CNF-14"));
  }
  return parsed;
}

/** Like `parse`, for a value that is already parsed JSON. Never changes the value; a repaired message is a copy. */
export function parseValue(value: unknown, options: ParseOptions): Parsed {
  return inspect(value, options, limitsOf(options), false);
}

function limitsOf({ mode, limits = {} }: ParseOptions): Limits {
  const { bytes, fields, depth, stringBytes } = mode === "strict" ? EMIT_LIMITS : RECEIVE_LIMITS;
  return {
    bytes: limits.bytes ?? bytes,
    fields: limits.fields ?? fields,
    depth: limits.depth ?? depth,
    stringBytes: limits.stringBytes ?? stringBytes,
  };
}

function inspect(value: unknown, options: ParseOptions, limits: Limits, owned: boolean): Parsed {
  try {
    return examine(value, options, limits, owned);
  } catch {
    // A getter or proxy that throws, or nesting within custom limits that overflows the stack.
    return refuse(undefined, issue("", "json", "The message cannot be read as JSON.", "ENV-33"));
  }
}

function examine(value: unknown, options: ParseOptions, limits: Limits, owned: boolean): Parsed {
  if (!isObject(value))
    return refuse(undefined, issue("", "object", "A message is one JSON object.", "ENV-01"));
  const tolerant = options.mode === "tolerant";
  const given = value["type"];
  if (given === undefined)
    return refuse(undefined, issue("/type", "required", "The field type is missing.", "ENV-01"));
  if (typeof given !== "string" || given === "") {
    return refuse(
      undefined,
      issue("/type", "type", "type must be text that names what this message is.", "ENV-01"),
    );
  }
  const type = compactType(given);
  const event = options.scope === "envelope" ? undefined : EVENTS.get(type);
  const node = event ?? MESSAGES.get(type) ?? (EVENT_TYPE.test(type) ? EXTENSION_EVENT : undefined);
  if (!node) {
    const text = `"${quote(type, 80)}" is no message of AAEP 1.0; an event's type has a prefix and a name, such as aaep:agent.session.started.`;
    return refuse(type, issue("/type", "unknown_type", text, "ENV-05"));
  }
  const kind = event ? "event" : node === EXTENSION_EVENT ? "extension" : "message";
  const found = findLimitIssues(value, limits);
  if (found.length > 0) return refuse(type, ...found);

  let message = value;
  const diagnostics: Issue[] = [];
  if (type !== given) {
    const text = `The type is written as an address; write ${quote(type, 80)}.`;
    const spelling = issue("/type", "full_uri_type", text, "CON-35");
    if (!tolerant) return refuse(type, spelling);
    message = { ...value, type };
    diagnostics.push(spelling);
  }
  if (kind === "extension" && type.startsWith("aaep:") && !EVENTS.has(type)) {
    const text = `${quote(type, 80)} is not one of the twelve core types of AAEP 1.0; own types need a prefix of their own.`;
    const unknown = issue("/type", "unknown_aaep_type", text, "ENV-07");
    if (!tolerant) return refuse(type, unknown);
    diagnostics.push(unknown);
  }

  if (!node.ok(message)) {
    if (tolerant && !owned) message = structuredClone(message);
    const explanation = explain(node, message, tolerant);
    if (explanation.issues.length > 0) return refuse(type, ...explanation.issues.sort(byStage));
    // Fail closed if `ok` ever rejects something that `explain` accepts.
    if (!tolerant)
      return refuse(type, issue("", "invalid", "The message does not fit its schema.", "ENV-35"));
    diagnostics.push(...explanation.diagnostics);
  }
  const rules = ruleIssues(kind, type, message, options);
  if (rules.length > 0) {
    if (!tolerant) return refuse(type, ...rules);
    diagnostics.push(...rules);
  }
  return {
    ok: true,
    kind,
    message,
    diagnostics: diagnostics.length > 0 ? diagnostics : NONE,
  } as unknown as Parsed;
}

/** Rules that a schema cannot express: errors in strict mode, diagnostics in tolerant mode. */
function ruleIssues(
  kind: string,
  type: string,
  message: Record<string, unknown>,
  options: ParseOptions,
): Issue[] {
  const issues: Issue[] = [];
  // On other types a field of this name is unknown and may hold anything.
  if (kind === "event" && type === "aaep:agent.progress.updated") {
    const { step, total_steps: total } = message["progress"] as { step?: number; total_steps?: number };
    if (step !== undefined && total !== undefined && step > total) {
      issues.push(
        issue("/progress/step", "step_order", `Step ${step} is beyond total_steps, ${total}.`, "EVT-06"),
      );
    }
  }
  if (kind === "message" || options.mode === "tolerant") return issues;
  const context = message["@context"];
  const declared = Array.isArray(context) ? context.slice(1) : [];
  const undeclared = (prefix: string): boolean => {
    if (!options.extensions) return declared.length === 0;
    const uri = Object.hasOwn(options.extensions, prefix) ? options.extensions[prefix] : undefined;
    return uri === undefined || !declared.includes(uri);
  };
  const need = (path: string, prefix: string) => {
    const text = `The prefix ${quote(prefix)} is used but @context declares no extension for it; add the extension's context address.`;
    issues.push(issue(path, "undeclared_prefix", text, "ENV-28"));
  };
  for (const prefix of Object.keys((message["extensions"] as object | undefined) ?? {})) {
    if (undeclared(prefix)) need(`/extensions/${prefix}`, prefix);
  }
  if (kind === "extension" && !type.includes("://")) {
    const prefix = type.slice(0, type.indexOf(":"));
    if (undeclared(prefix)) need("/type", prefix);
  }
  return issues;
}

const STAGES = ["required", "type", "context", "const", "pattern", "format"];
const ENVELOPE = /^\/(?:@context|type|event_id|session_id|timestamp|producer)\b/;

/** The order of chapter 3.9: the envelope first, then the payload. */
function byStage(a: Issue, b: Issue): number {
  return stage(a) - stage(b);
}
function stage({ path, code }: Issue): number {
  const at = STAGES.indexOf(code);
  return (ENVELOPE.test(path) ? 0 : 10) + (at < 0 ? STAGES.length : at);
}

/** Whether a value strictly matches the schema of this type. */
export function isMessage<Type extends CoreEventType | keyof MessageMap>(
  type: Type,
  value: unknown,
): value is (CoreEventMap & MessageMap)[Type] {
  return (EVENTS.get(type) ?? MESSAGES.get(type))?.ok(value) ?? false;
}

const TEXT = "aaep:agent.output.streaming";
const CHUNK_FIELDS = ["event_id", "timestamp", "chunk", "position", "complete", "coalesce_hint"];
const checkOf = (field: string) => EVENTS.get(TEXT)!.fields.get(field)![0].ok;
const isTimestamp = /* @__PURE__ */ checkOf("timestamp");
const isChunk = /* @__PURE__ */ checkOf("chunk");
/**
 * The fields that differ per chunk, in the usual order, up to the end of the message; anything else goes to `parse`.
 * Each character matches one alternative only, so matching is linear (A17).
 */
const REST = /* @__PURE__ */ new RegExp(
  String.raw`"event_id":"(evt_[A-Za-z0-9]{1,64})","timestamp":"([^"\\]{1,64})",` +
    String.raw`"chunk":("(?:[^"\\\0-\x1f\ud800-\udfff]|\\["\\/bfnrt]|[\ud800-\udbff][\udc00-\udfff])*"),` +
    `"position":(0|[1-9][0-9]{0,14}),"complete":(true|false),` +
    String.raw`"coalesce_hint":"(none|word|sentence|paragraph|completion)"\}$`,
  "y",
);

interface Prefix {
  /** Up to and including the comma before the first field that differs per chunk. */
  readonly text: string;
  readonly fields: object;
  /** The last valid timestamp: many chunks share it. */
  timestamp?: string;
}

/**
 * A fast parser for streamed text. Chunks of one output differ in only a few fields, and a producer that writes those
 * last repeats the same prefix: it is parsed and validated once, and for later chunks only the rest. The result is
 * always that of a tolerant `parse`; values in the shared prefix are frozen.
 */
export function createStreamParser(): (text: string) => Parsed {
  let known: Prefix | undefined;
  return (text) => {
    const message = known && parseRest(text, known);
    if (message)
      return { ok: true, kind: "event", message: message as unknown as CoreEvent, diagnostics: NONE };
    const parsed = parse(text, { mode: "tolerant" });
    if (parsed.ok && parsed.message.type === TEXT && parsed.diagnostics.length === 0)
      known = prefixOf(text, parsed.message) ?? known;
    return parsed;
  };
}

/**
 * A V8 substring keeps its whole parent string alive, here perhaps a large network buffer, and subscribers keep events.
 * V8 copies short substrings, such as most tokens, by itself, and `JSON.parse` always copies.
 */
const SHORT_SUBSTRING = 12;
const copyOf = (part: string): string => [part[0], part.slice(1)].join("");

function parseRest(text: string, known: Prefix): object | undefined {
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
  const chunk =
    quoted!.length > SHORT_SUBSTRING || quoted!.includes("\\") ? JSON.parse(quoted!) : quoted!.slice(1, -1);
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
function prefixOf(text: string, message: object): Prefix | undefined {
  const end = text.indexOf(`,"${CHUNK_FIELDS[0]}":`);
  if (end < 0 || CHUNK_FIELDS.some((name) => text.lastIndexOf(`"${name}"`, end) >= 0)) return undefined;
  let fields: object;
  try {
    fields = JSON.parse(`${text.slice(0, end)}}`);
  } catch {
    return undefined;
  }
  const whole = Object.keys(fields).length + CHUNK_FIELDS.length === Object.keys(message).length;
  if (!whole || !("type" in fields)) return undefined;
  for (const value of Object.values(fields)) freeze(value);
  // Reserve the fields that differ per chunk: adding fields to a copy would make it slow to create and to read.
  for (const name of CHUNK_FIELDS) (fields as Record<string, unknown>)[name] = undefined;
  return { text: copyOf(text.slice(0, end + 1)), fields: { ...fields } };
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) freeze(item);
  Object.freeze(value);
}
