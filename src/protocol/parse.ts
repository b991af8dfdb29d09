/**
 * Parses and validates messages: the only path from bytes, text or an unknown value to a typed message (chapters 3.9,
 * 5, 6; ENV-35).
 *
 * Strict mode is for messages we emit. Tolerant mode is for messages we receive: structural faults reject the message,
 * while unknown types, fields, enum values and extensions pass with a diagnostic (CON-37, CON-38). A reply to a
 * question is never repaired, in either mode; only its timestamp may have any RFC 3339 form. Nothing here throws.
 */

import { type Issue, quote } from "./errors.ts";
import { isObject } from "./formats.ts";
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
import {
  type CoreEvent,
  type CoreEventMap,
  type CoreEventType,
  compactType,
  type ExtensionEvent,
  type MessageMap,
  type OtherMessage,
} from "./types.ts";
import { explain } from "./validate.ts";

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
    const text = "A field stands twice in this reply; a decision must be readable in one way only.";
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
