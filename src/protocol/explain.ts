/**
 * Why a message is not valid, in sentences. The checks only say yes or no; this walks the same nodes when they say no.
 * In tolerant mode it also mends what the rulings allow a receiver to mend: unknown enum values become the cautious
 * one (CON-70), oversize text is cut visibly (CON-41), unknown handshake keys go (CON-38), and the four critical types
 * are critical even where the word is missing (CON-14).
 */
import {
  applies,
  keeps,
  type ListNode,
  meets,
  type Node,
  type ObjectNode,
  type Rule,
  type TextNode,
  type Tolerance,
} from "./check.ts";
import { atMost, isDateTime, isObject, isUnique, isUri } from "./formats.ts";
import { type Issue, quote } from "./issue.ts";
import { pointer } from "./limits.ts";

interface Explanation {
  issues: Issue[];
  diagnostics: Issue[];
}

/** A message can be wrong in a hundred thousand places; a report of that size would help only an attacker. */
const MOST_ISSUES = 64;

/** Puts another value in a place, or removes it. */
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
  // A token in an error message would end up in a log.
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
  if (source.startsWith("^(?!")) return "a prefix of an extension (aaep, xsd, rdf and rdfs are taken)";
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

/** Cuts between grapheme clusters as far as marks and joiners show them, and says so. */
function truncateText(text: string, maximum: number): string {
  const points = Array.from(text);
  let end = maximum - CUT_MARK.length;
  while (end > 0 && /\p{M}|\u200d/u.test(points[end]!)) end--;
  return points.slice(0, end).join("") + CUT_MARK;
}

export function explain(node: ObjectNode, message: Record<string, unknown>, tolerant: boolean): Explanation {
  const issues: Issue[] = [];
  const diagnostics: Issue[] = [];

  /** Reports, and says whether the fault is one a receiver passes over. */
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
      list.push({ path: "", code: "more", message: "There are more problems than are listed here." });
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
        // A word this version knows, and that may not stand here, is no word of a later version.
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
      report(path, "unique", `${name} names something twice; each entry may stand once.`);
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
    // What is unknown goes first, then the rest is held to the schema (CON-38).
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
      // Variants are written in lower case and read in any (CON-08).
      if (!(tolerant ? new RegExp(pattern, "i") : pattern).test(key)) continue;
      if (typeof item === "string" && item !== "") return walk(variant, item, path, mend);
      const text = `${quote(key)} is the text of another field in another language and must be text; found ${found(item, path)}.`;
      if (report(path, "variant", text, "CON-08")) mend(undefined);
      return;
    }
    if (node.others === true || (node.others === "objects" && isObject(item))) return;
    const tolerance = node.tolerate["additionalProperties"];
    const known = [...node.fields.keys()];
    const text =
      node.others === "objects"
        ? `${named(path)} must be an object under an extension's prefix, or a name AAEP 1.0 knows; found ${found(item, path)}.`
        : `The field ${quote(key)} is not known here${known.length < 12 ? `; known are ${known.join(", ")}` : "; own data belongs under extensions"}.`;
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
    if (value[key] === undefined) return [key, `Because ${because}, the field ${key} must be given.`];
  for (const key in then) {
    if (value[key] === undefined || meets(value[key], then[key]!)) continue;
    const wanted = then[key]!.map((item) => JSON.stringify(item)).join(" or ");
    return [key, `Because ${because}, ${key} must be ${wanted}; found ${found(value[key], "")}.`];
  }
  return ["", `The fields of the message contradict each other: ${because}.`];
}
