/** Size limits (chapter 3.7, LIM-*): for messages we emit, and, more generous, for messages we accept. */

import type { Issue } from "./errors.ts";
import { isObject } from "./validate.ts";

/** Limits for messages we emit. */
export const EMIT_LIMITS = { bytes: 65_536, fields: 32, depth: 8, stringBytes: 16_384 } as const;
/** Limits for messages we accept; more generous than those for messages we emit. */
export const RECEIVE_LIMITS = { bytes: 1_048_576, fields: 512, depth: 32, stringBytes: 1_048_576 } as const;

/** Size limits of a message. */
export interface Limits {
  readonly bytes: number;
  readonly fields: number;
  readonly depth: number;
  readonly stringBytes: number;
}

/** UTF-8 length, without encoding. An unpaired surrogate counts as the replacement character it becomes. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else {
      bytes += 2;
      // A pair is two units and four bytes.
      if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++;
    }
  }
  return bytes;
}

/** Whether a text fits into a number of UTF-8 bytes. */
export const fitsBytes = (text: string, maximum: number): boolean =>
  text.length * 3 <= maximum || (text.length <= maximum && utf8Length(text) <= maximum);

/** No AAEP field name is nearly as long. Longer keys are shortened, so that a report stays smaller than its message. */
const LONGEST_KEY = 200;

export function pointer(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}/${key}`;
  const name =
    key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY).replace(/[\ud800-\udbff]$/, "")}…` : key;
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const LONE_SURROGATE = /\p{Surrogate}/u;
const LONE_SURROGATES = new RegExp(LONE_SURROGATE, "gu");
const MOST_ISSUES = 16;

/** Plain objects as made by JSON.parse, from any realm: no other prototype. */
function isPlain(value: object): boolean {
  const parent: unknown = Object.getPrototypeOf(value);
  return (
    parent === null ||
    (Object.getPrototypeOf(parent) === null && Object.hasOwn(parent as object, "hasOwnProperty"))
  );
}

/**
 * Checks that no schema expresses: size, nesting, field count, string sizes, broken Unicode, values JSON cannot carry,
 * and keys that reach a prototype. Reports only the first few problems. The walk stops at the depth and size limits, so
 * neither a cycle nor a list with a million references to one object can slow it down.
 */
export function findLimitIssues(message: Record<string, unknown>, limits: Limits): Issue[] {
  // Fast path: nearly every message is fine and needs no report.
  const fine = sizeIfFine(message, limits, 0);
  if (fine >= 0 && fine <= limits.bytes && fieldsOf(message) <= limits.fields) return [];
  const issues: Issue[] = [];
  // A cheap lower bound of the JSON size: ignores escapes, digits, and that non-ASCII text needs more bytes.
  let size = 0;
  const add = (path: string, code: string, text: string, ruling: string) =>
    void issues.push({ path: path.replace(LONE_SURROGATES, "\ufffd"), code, message: text, ruling });

  const checkString = (text: string, path: string) => {
    if (LONE_SURROGATE.test(text)) {
      add(path, "unicode", "The text contains an unpaired surrogate; send well-formed Unicode.", "ENV-33");
    }
    if (!fitsBytes(text, limits.stringBytes)) {
      add(
        path,
        "string_size",
        `The text is longer than ${limits.stringBytes} bytes; split it or link to it.`,
        "LIM-04",
      );
    }
  };

  const visitObject = (value: object, path: string, depth: number) => {
    if (depth > limits.depth) {
      return add(path, "depth", `Values may be nested at most ${limits.depth} levels deep.`, "LIM-03");
    }
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length && going(); i++) visit(value[i], pointer(path, i), depth + 1);
      return;
    }
    if (!isPlain(value)) return add(path, "json", NOT_JSON, "ENV-33");
    for (const key of Object.keys(value)) {
      if (!going()) return;
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined) continue; // as in JSON.stringify
      const place = pointer(path, key);
      size += key.length + 3;
      if (FORBIDDEN_KEYS.has(key)) {
        add(
          place,
          "forbidden_key",
          `The field name "${key}" is not allowed anywhere in a message; rename the field.`,
          "SEC-12",
        );
      } else {
        checkString(key, path);
        visit(item, place, depth + 1);
      }
    }
  };

  const visit = (value: unknown, path: string, depth: number): void => {
    size += 1;
    switch (typeof value) {
      case "string":
        size += value.length + 1;
        return checkString(value, path);
      case "number":
        if (!Number.isFinite(value))
          add(path, "number", "The number is too large for JSON; send it as text.", "ENV-34");
        else if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
          add(path, "number", "Integers beyond 2^53 lose digits; send it as text.", "ENV-34");
        }
        return;
      case "boolean":
        return;
      case "object":
        return value === null ? undefined : visitObject(value, path, depth);
      default:
        add(path, "json", NOT_JSON, "ENV-33");
    }
  };
  const going = () => issues.length < MOST_ISSUES && !(size > limits.bytes);
  visit(message, "", 0);
  if (size > limits.bytes) issues.unshift(tooLarge(limits));

  const fields = fieldsOf(message);
  if (fields > limits.fields) {
    add(
      "",
      "field_count",
      `A message may hold at most ${limits.fields} fields, extension prefixes included; this one has ${fields}.`,
      "LIM-02",
    );
  }
  return issues;
}

function fieldsOf(message: Record<string, unknown>): number {
  const { extensions } = message;
  return Object.keys(message).length + (isObject(extensions) ? Object.keys(extensions).length : 0);
}

const fineText = (text: string, limits: Limits): boolean =>
  !LONE_SURROGATE.test(text) && fitsBytes(text, limits.stringBytes);

/** The same walk without reporting: returns the size, or -1 if there is a problem to report. */
function sizeIfFine(value: unknown, limits: Limits, depth: number): number {
  switch (typeof value) {
    case "string":
      return fineText(value, limits) ? value.length + 2 : -1;
    case "number":
      return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value)) ? 1 : -1;
    case "boolean":
      return 1;
    case "object":
      return value === null ? 1 : objectSizeIfFine(value, limits, depth);
    default:
      return -1;
  }
}

function objectSizeIfFine(value: object, limits: Limits, depth: number): number {
  const list = Array.isArray(value);
  if (depth > limits.depth || !(list || isPlain(value))) return -1;
  let size = 1;
  for (const key of list ? value.keys() : Object.keys(value)) {
    const item = (value as Record<string | number, unknown>)[key];
    if (typeof key === "string") {
      if (item === undefined) continue;
      if (FORBIDDEN_KEYS.has(key) || !fineText(key, limits)) return -1;
      size += key.length + 3;
    }
    const inner = sizeIfFine(item, limits, depth + 1);
    // Stop at the limit: a list may reference one object a million times.
    if (inner < 0 || size > limits.bytes) return -1;
    size += inner;
  }
  return size;
}

const NOT_JSON =
  "A message can contain only JSON values: text, numbers, true, false, null, lists and plain objects.";

export const tooLarge = ({ bytes }: Limits): Issue => ({
  path: "",
  code: "too_large",
  message: `A message may have at most ${bytes} bytes; link to larger content.`,
  ruling: "LIM-01",
});

/**
 * Whether any object in this JSON text has a duplicate key. JSON.parse silently keeps the last one, so a reply to a
 * question could mean one thing here and another in a log (A14). The text must be valid JSON.
 */
export function hasDuplicateKeys(json: string): boolean {
  const objects: (Set<string> | undefined)[] = [];
  let expectKey = false;
  for (let i = 0; i < json.length; i++) {
    switch (json.charCodeAt(i)) {
      case 123: // {
        objects.push(new Set());
        expectKey = true;
        break;
      case 91: // [
        objects.push(undefined);
        expectKey = false;
        break;
      case 125: // }
      case 93: // ]
        objects.pop();
        expectKey = false;
        break;
      case 44: // ,
        expectKey = objects.at(-1) !== undefined;
        break;
      case 34: {
        // Skip the string, including escapes.
        const start = i;
        for (i++; json.charCodeAt(i) !== 34 && i < json.length; i++) if (json.charCodeAt(i) === 92) i++;
        const keys = objects.at(-1);
        if (expectKey && keys) {
          const key: string = JSON.parse(json.slice(start, i + 1));
          if (keys.has(key)) return true;
          keys.add(key);
        }
        expectKey = false;
      }
    }
  }
  return false;
}
