/**
 * Schema validation. A schema becomes a tree of nodes with a fast yes/no check (`ok`), which `explain` walks again to
 * say what is wrong. The generated tables call the builders here; no code is evaluated at run time.
 */

import { codePoints } from "../text/language.ts";
import { type Issue, quote } from "./errors.ts";
import { pointer } from "./limits.ts";

/** The ruling that lets a receiver tolerate a failed keyword, and the value it uses for an unknown enum value. */
export type Tolerance = string | readonly (string | null)[];
type Tolerances = Readonly<Record<string, Tolerance>>;

interface Common {
  readonly tolerate: Tolerances;
  ok(value: unknown): boolean;
}
interface TextNode extends Common {
  readonly is: "text";
  readonly min: number;
  readonly max: number;
  readonly pattern: RegExp | undefined;
  readonly format: "uri" | "date-time" | undefined;
}
interface WordNode extends Common {
  readonly is: "word";
  readonly words: readonly (string | number | boolean)[];
  readonly pattern: RegExp | undefined;
}
interface NumberNode extends Common {
  readonly is: "number" | "integer";
  readonly min: number;
  readonly max: number;
}
interface FlagNode extends Common {
  readonly is: "flag";
}
interface ListNode extends Common {
  readonly is: "list";
  readonly first: Node | undefined;
  readonly item: Node;
  readonly min: number;
  readonly max: number;
  readonly unique: boolean;
  readonly contains: string | undefined;
}
export interface ObjectNode extends Common {
  readonly is: "object";
  readonly fields: ReadonlyMap<string, readonly [node: Node, bit: number]>;
  readonly required: readonly string[];
  readonly variants: readonly (readonly [pattern: RegExp, node: Node])[];
  /** Which other fields are allowed: none, any, or objects. */
  readonly others: false | true | "objects";
  readonly names: RegExp | undefined;
  readonly min: number;
  readonly rules: readonly Rule[];
}
interface AnyOfNode extends Common {
  readonly is: "any";
  readonly options: readonly Node[];
}
export type Node = TextNode | WordNode | NumberNode | FlagNode | ListNode | ObjectNode | AnyOfNode;

/** If the fields in `when` match, those in `then` must; a field in `then` may be absent unless it is in `need`. */
interface Rule {
  readonly when: Readonly<Record<string, readonly unknown[]>>;
  readonly then: Readonly<Record<string, readonly unknown[]>>;
  readonly need: readonly string[];
  readonly ruling: string;
  readonly tolerated: boolean;
}

const NO_TOLERANCES: Tolerances = {};

export const text = (
  min: number,
  max: number,
  tolerate = NO_TOLERANCES,
  pattern?: RegExp,
  format?: "uri" | "date-time",
): TextNode => ({
  is: "text",
  min,
  max,
  pattern,
  format,
  tolerate,
  ok: (value) =>
    typeof value === "string" &&
    value.length >= min &&
    atMost(value, max) &&
    (pattern === undefined || pattern.test(value)) &&
    (format === undefined || (format === "uri" ? isUri(value) : isDateTime(value))),
});

export const word = (
  words: readonly (string | number | boolean)[],
  tolerate = NO_TOLERANCES,
  pattern?: RegExp,
): WordNode => ({
  is: "word",
  words,
  pattern,
  tolerate,
  ok: (value) => words.includes(value as string),
});

export const number = (min: number, max: number): NumberNode => ({
  is: "number",
  min,
  max,
  tolerate: NO_TOLERANCES,
  ok: (value) => numberIn(value, min, max),
});

export const integer = (min: number, max: number): NumberNode => ({
  is: "integer",
  min,
  max,
  tolerate: NO_TOLERANCES,
  ok: (value) => integerIn(value, min, max),
});

export const flag: FlagNode = {
  is: "flag",
  tolerate: NO_TOLERANCES,
  ok: (value) => typeof value === "boolean",
};

export const list = (
  item: Node,
  min: number,
  max: number,
  unique: boolean,
  tolerate = NO_TOLERANCES,
  contains?: string,
  first?: Node,
): ListNode => ({
  is: "list",
  first,
  item,
  min,
  max,
  unique,
  contains,
  tolerate,
  ok: (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return false;
    for (let i = 0; i < value.length; i++) if (!(i === 0 && first ? first : item).ok(value[i])) return false;
    return (!unique || isUnique(value)) && (contains === undefined || value.includes(contains));
  },
});

export const any = (options: readonly Node[]): AnyOfNode => ({
  is: "any",
  options,
  tolerate: NO_TOLERANCES,
  ok: (value) => options.some((option) => option.ok(value)),
});

/** Whether a value is one of the wanted values, or a list that contains one. */
const meets = (value: unknown, wanted: readonly unknown[]): boolean =>
  Array.isArray(value) ? wanted.some((item) => value.includes(item)) : wanted.includes(value);

function applies({ when }: Rule, value: Record<string, unknown>): boolean {
  for (const key in when) if (!meets(value[key], when[key]!)) return false;
  return true;
}

const keeps = ({ then, need }: Rule, value: Record<string, unknown>): boolean =>
  need.every((key) => value[key] !== undefined) &&
  Object.keys(then).every((key) => value[key] === undefined || meets(value[key], then[key]!));

interface ObjectOptions {
  tolerate?: Tolerances;
  others?: ObjectNode["others"];
  variants?: ObjectNode["variants"];
  names?: RegExp;
  min?: number;
  rules?: readonly Rule[];
}

/** A name in both is required. */
export function object(
  needed: Readonly<Record<string, Node>>,
  optional: Readonly<Record<string, Node>>,
  options: ObjectOptions = {},
): ObjectNode {
  const { tolerate = NO_TOLERANCES, others = false, variants = [], names, min = 0, rules = [] } = options;
  const required = Object.keys(needed);
  const fields = new Map(
    Object.entries({ ...optional, ...needed }).map(([key, node]) => [
      key,
      [node, 1 << (required.indexOf(key) + 1)] as const,
    ]),
  );
  const all = required.reduce((bits, _, i) => bits | (2 << i), 0);
  return {
    is: "object",
    fields,
    required,
    variants,
    others,
    names,
    min,
    rules,
    tolerate,
    ok(value) {
      if (!isObject(value)) return false;
      let seen = 0;
      let count = 0;
      for (const key in value) {
        const item = value[key];
        if (item === undefined) continue;
        count++;
        const field = fields.get(key);
        if (field !== undefined) {
          if (!field[0].ok(item)) return false;
          seen |= field[1];
        } else if (names !== undefined && !names.test(key)) return false;
        else if (others !== true && !fitsElsewhere(key, item)) return false;
      }
      if ((seen & all) !== all || count < min) return false;
      for (const rule of rules) if (applies(rule, value) && !keeps(rule, value)) return false;
      return true;
    },
  };
  function fitsElsewhere(key: string, item: unknown): boolean {
    for (const [pattern, node] of variants) if (pattern.test(key)) return node.ok(item);
    return others === "objects" && isObject(item);
  }
}

/**
 * Says why a message is invalid, in sentences. In tolerant mode it also repairs what the rulings allow: unknown enum
 * values become the most cautious one (CON-70), oversize text is truncated visibly (CON-41), unknown handshake keys are
 * removed (CON-38), and the four critical types are critical even if the urgency is missing (CON-14).
 */

interface Explanation {
  issues: Issue[];
  diagnostics: Issue[];
}

/** A message can have a hundred thousand problems; a bounded report prevents amplification. */
const MOST_ISSUES = 64;

/** Replaces a value, or removes it if undefined. */
type Mend = (value: unknown) => void;

const CUT_MARK = " …";
const KIND = {
  text: "text",
  word: "text",
  integer: "a whole number",
  number: "a number",
  flag: "true or false",
  list: "a list",
  object: "an object",
  any: "a value",
};

function found(value: unknown, path: string): string {
  if (value === undefined) return "nothing";
  // Keep reply tokens out of error messages, which may be logged.
  if (path.endsWith("/reply_token")) return "another value";
  return quote(JSON.stringify(value));
}

const named = (path: string): string => quote(path.slice(1), 200) || "The message";

function describePattern({ source }: RegExp): string {
  const id = /^\^(\w+)_\[A-Za-z0-9\]\{1,64\}\$$/.exec(source);
  if (id) return `${id[1]}_ followed by 1 to 64 letters or digits`;
  if (source.startsWith("^(?:[A-Za-z]{2")) return "a language tag such as en-US";
  if (source.startsWith("^[0-9]{4}-"))
    return "a time such as 2026-05-24T14:22:11.342Z, with 3 or 6 decimals or none";
  if (source.startsWith("^[0-9]+\\.")) return "a version such as 1.0.0";
  if (source.startsWith("^(?!")) return "an extension prefix (aaep, xsd, rdf and rdfs are reserved)";
  return `text of the form ${source}`;
}

function hasKind(node: Node, value: unknown): boolean {
  switch (node.is) {
    case "text":
      return typeof value === "string";
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    case "flag":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return true;
  }
}

/** Truncates with a visible mark, and not before a combining mark or joiner. */
function truncateText(text: string, maximum: number): string {
  const points = Array.from(text);
  let end = maximum - CUT_MARK.length;
  while (end > 0 && /\p{M}|\u200d/u.test(points[end]!)) end--;
  return points.slice(0, end).join("") + CUT_MARK;
}

export function explain(node: ObjectNode, message: Record<string, unknown>, tolerant: boolean): Explanation {
  const issues: Issue[] = [];
  const diagnostics: Issue[] = [];

  /** Reports a problem; returns whether a receiver tolerates it. */
  function report(
    path: string,
    code: string,
    message: string,
    tolerance?: Tolerance,
    passes = tolerant && tolerance !== undefined,
  ): boolean {
    const ruling = typeof tolerance === "string" ? tolerance : tolerance?.[0];
    const list = passes ? diagnostics : issues;
    if (list.length < MOST_ISSUES) list.push({ path, code, message, ...(ruling ? { ruling } : {}) });
    else if (list.length === MOST_ISSUES) {
      list.push({ path: "", code: "more", message: "There are more problems than listed here." });
    }
    return passes;
  }

  function walk(node: Node, value: unknown, path: string, mend: Mend): void {
    if (issues.length > MOST_ISSUES) return;
    const expect = (code: string, what: string, tolerance?: Tolerance) =>
      report(path, code, `${named(path)} must be ${what}; found ${found(value, path)}.`, tolerance);
    if (!hasKind(node, value)) return void expect("type", KIND[node.is]);
    switch (node.is) {
      case "any": {
        if (node.ok(value)) return;
        const context = path === "/@context";
        const what = context
          ? "the AAEP context address https://aaep-protocol.org/context/v1, alone or first in a list of addresses"
          : node.options.map((option) => KIND[option.is]).join(", or ");
        return void expect(context ? "context" : "type", what);
      }
      case "word": {
        if (node.words.includes(value as string)) return;
        const tolerance = node.tolerate["enum"];
        // A value that this version knows but does not allow here cannot be from a later version.
        if (node.words.length === 1 && (!tolerance || tolerance.slice(2).includes(value as string)))
          return void expect("const", JSON.stringify(node.words[0]));
        if (typeof value !== typeof node.words[0])
          return void expect("type", typeof node.words[0] === "string" ? "text" : "a whole number");
        if (node.pattern && !node.pattern.test(value as string))
          return void expect("pattern", describePattern(node.pattern));
        if (expect("enum", `one of ${node.words.join(", ")}`, tolerance) && typeof tolerance === "object")
          mend(tolerance[1] ?? undefined);
        return;
      }
      case "text":
        return walkText(node, value as string, expect, mend);
      case "integer":
      case "number":
        if ((value as number) < node.min) expect("minimum", `at least ${node.min}`);
        if ((value as number) > node.max) expect("maximum", `at most ${node.max}`);
        return;
      case "list":
        return walkList(node, value as unknown[], path, mend);
      case "object":
        return walkObject(node, value as Record<string, unknown>, path);
    }
  }

  type Expect = (code: string, what: string, tolerance?: Tolerance) => boolean;

  function walkText(
    { min, max, pattern, format, tolerate }: TextNode,
    value: string,
    expect: Expect,
    mend: Mend,
  ): void {
    if (value.length < min) expect("min_length", "at least one character", tolerate["minLength"]);
    if (!atMost(value, max) && expect("max_length", `at most ${max} characters`, tolerate["maxLength"]))
      mend(truncateText(value, max));
    if (format === "uri" && !isUri(value))
      expect("format", "an absolute address such as https://example.com/x");
    if (format === "date-time" && !isDateTime(value))
      expect("format", "a time such as 2026-05-24T14:22:11.342Z");
    else if (pattern && !pattern.test(value))
      expect("pattern", describePattern(pattern), tolerate["pattern"]);
  }

  function walkList(node: ListNode, value: unknown[], path: string, mend: Mend): void {
    const name = path.slice(1);
    if (value.length < node.min)
      report(path, "min_items", `${name} needs at least ${node.min} entries; found ${value.length}.`);
    if (value.length > node.max)
      report(path, "max_items", `${name} may have at most ${node.max} entries; found ${value.length}.`);
    if (node.unique && !isUnique(value))
      report(path, "unique", `${name} has duplicate entries; each entry may occur once.`);
    if (node.contains !== undefined && !value.includes(node.contains)) {
      report(path, "contains", `${name} must contain ${node.contains}.`, node.tolerate["contains"]);
    }
    const dropped = new Set<number>();
    value.forEach((item, i) => {
      walk((i === 0 && node.first) || node.item, item, pointer(path, i), (instead) => {
        if (instead === undefined) dropped.add(i);
        else value[i] = instead;
      });
    });
    if (dropped.size > 0)
      mend(dropped.size < value.length ? value.filter((_, i) => !dropped.has(i)) : undefined);
  }

  function walkObject(node: ObjectNode, value: Record<string, unknown>, path: string): void {
    for (const key of node.required) {
      if (value[key] !== undefined) continue;
      const text = `The field ${key} is missing${path === "" ? "" : ` in ${path.slice(1)}`}.`;
      const mended = report(pointer(path, key), "required", text, node.tolerate[`required:${key}`]);
      if (mended && key === "urgency") value["urgency"] = "critical";
    }
    const present = () => Object.keys(value).filter((key) => value[key] !== undefined);
    for (const key of present()) walkField(node, value, key, pointer(path, key));
    // Unknown fields are removed first; then the rest must match the schema (CON-38).
    if (present().length < node.min) report(path, "min_properties", `${path.slice(1)} must not be empty.`);
    for (const rule of node.rules) {
      if (!applies(rule, value) || keeps(rule, value)) continue;
      const [key, text] = explainRule(rule, value);
      report(pointer(path, key), "rule", text, rule.ruling, tolerant && rule.tolerated);
    }
  }

  function walkField(node: ObjectNode, value: Record<string, unknown>, key: string, path: string): void {
    const item = value[key];
    const mend: Mend = (instead) => {
      if (instead === undefined) delete value[key];
      else value[key] = instead;
    };
    const field = node.fields.get(key);
    if (field) return walk(field[0], item, path, mend);
    if (node.names && !node.names.test(key)) {
      report(
        path,
        "extension_prefix",
        `"${quote(key)}" is not ${describePattern(node.names)}.`,
        node.tolerate["names"],
      );
    }
    for (const [pattern, variant] of node.variants) {
      // Variant names are emitted in lower case and accepted in any case (CON-08).
      if (!(tolerant ? new RegExp(pattern, "i") : pattern).test(key)) continue;
      if (typeof item === "string" && item !== "") return walk(variant, item, path, mend);
      const text = `${quote(key)} is a language variant of a text field and must be text; found ${found(item, path)}.`;
      if (report(path, "variant", text, "CON-08")) mend(undefined);
      return;
    }
    if (node.others === true || (node.others === "objects" && isObject(item))) return;
    const tolerance = node.tolerate["additionalProperties"];
    const known = [...node.fields.keys()];
    const text =
      node.others === "objects"
        ? `${named(path)} must be an object under an extension prefix, or a field of AAEP 1.0; found ${found(item, path)}.`
        : `The field ${quote(key)} is unknown${known.length < 12 ? `; known fields: ${known.join(", ")}` : "; put your own data under extensions"}.`;
    if (report(path, "unknown_field", text, tolerance) && tolerance === "CON-38") mend(undefined);
  }

  walkObject(node, message, "");
  return { issues, diagnostics };
}

function explainRule(
  { when, then, need }: Rule,
  value: Record<string, unknown>,
): [key: string, message: string] {
  const because = Object.keys(when)
    .map((key) => `${key} is ${found(value[key], "")}`)
    .join(" and ");
  for (const key of need)
    if (value[key] === undefined) return [key, `Because ${because}, the field ${key} is required.`];
  for (const key in then) {
    if (value[key] === undefined || meets(value[key], then[key]!)) continue;
    const wanted = then[key]!.map((item) => JSON.stringify(item)).join(" or ");
    return [key, `Because ${because}, ${key} must be ${wanted}; found ${found(value[key], "")}.`];
  }
  return ["", `The fields of the message contradict each other: ${because}.`];
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const numberIn = (value: unknown, minimum: number, maximum: number): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= minimum && value <= maximum;

const integerIn = (value: unknown, minimum: number, maximum: number): boolean =>
  Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;

/** JSON Schema counts code points, JavaScript UTF-16 units: count only if the difference can matter. */
const atMost = (text: string, maximum: number): boolean =>
  text.length <= maximum || (text.length <= 2 * maximum && codePoints(text) <= maximum);

/** JSON with sorted keys: equal values give equal text. Undefined values are omitted. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  return `{${Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
    .join()}}`;
}

function isUnique(items: readonly unknown[]): boolean {
  if (items.length < 2) return true;
  if (items.length > 16 || isObject(items[0])) return new Set(items.map(canonicalJson)).size === items.length;
  for (let i = 1; i < items.length; i++) {
    for (let j = 0; j < i; j++) if (items[i] === items[j]) return false;
  }
  return true;
}

// RFC 3986 with every alternative starting on a different character, so that matching stays linear (A17).
const PCHAR = "(?:[\\w\\-.~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})";
const URI = /* @__PURE__ */ new RegExp(
  `^[A-Za-z][A-Za-z0-9+.\\-]*:(?://(?:(?:[\\w\\-.~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*@)?` +
    `(?:\\[[0-9A-Fa-f:.]+\\]|(?:[\\w\\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?(?:/${PCHAR}*)*` +
    `|/(?:${PCHAR}+(?:/${PCHAR}*)*)?|${PCHAR}+(?:/${PCHAR}*)*)(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?])*)?$`,
);

export const isUri = (text: string): boolean => URI.test(text);

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const digits = (text: string, at: number): number =>
  (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;

/** RFC 3339, leap seconds included. */
export function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return false;
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  const year = digits(text, 0) * 100 + digits(text, 2);
  const leapDay = month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month < 1 || month > 12 || day < 1 || (day > DAYS[month]! && !leapDay)) return false;
  const zone = text.charCodeAt(text.length - 1) | 32; // z
  let offset = 0;
  if (zone !== 122) {
    const zoneHour = digits(text, text.length - 5);
    const zoneMinute = digits(text, text.length - 2);
    if (zoneHour > 23 || zoneMinute > 59) return false;
    offset = (zoneHour * 60 + zoneMinute) * (text.charCodeAt(text.length - 6) === 45 ? 1 : -1);
  }
  if (hour > 23 || minute > 59) return false;
  if (second < 60) return true;
  // A leap second exists only at the end of a UTC day.
  return second === 60 && (((hour * 60 + minute + offset) % 1440) + 1440) % 1440 === 1439;
}
