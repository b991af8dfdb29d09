/**
 * What a schema becomes at run time: a node that says yes or no (`ok`) and holds what the explainer needs to say why.
 * The generated tables call these builders with their bounds and regular expressions; nothing is evaluated.
 */
import { atMost, integerIn, isDateTime, isObject, isUnique, isUri, numberIn } from "./formats.ts";

/** Which ruling lets a receiver pass over a failed keyword, and what it reads instead of an unknown word. */
export type Tolerance = string | readonly (string | null)[];
type Tolerances = Readonly<Record<string, Tolerance>>;

interface Common {
  readonly tolerate: Tolerances;
  ok(value: unknown): boolean;
}
export interface TextNode extends Common {
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
export interface ListNode extends Common {
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
  /** What other fields may be: nothing, anything, or objects. */
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

/** If the fields of `when` hold, those of `then` must; a field of `then` may be absent unless it is in `need`. */
export interface Rule {
  readonly when: Readonly<Record<string, readonly unknown[]>>;
  readonly then: Readonly<Record<string, readonly unknown[]>>;
  readonly need: readonly string[];
  readonly ruling: string;
  readonly tolerated: boolean;
}

const NOTHING: Tolerances = {};

export const text = (
  min: number,
  max: number,
  tolerate = NOTHING,
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
  tolerate = NOTHING,
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
  tolerate: NOTHING,
  ok: (value) => numberIn(value, min, max),
});

export const integer = (min: number, max: number): NumberNode => ({
  is: "integer",
  min,
  max,
  tolerate: NOTHING,
  ok: (value) => integerIn(value, min, max),
});

export const flag: FlagNode = { is: "flag", tolerate: NOTHING, ok: (value) => typeof value === "boolean" };

export const list = (
  item: Node,
  min: number,
  max: number,
  unique: boolean,
  tolerate = NOTHING,
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
  tolerate: NOTHING,
  ok: (value) => options.some((option) => option.ok(value)),
});

/** Whether a value meets a rule's condition: one of the listed values, or a list that holds one. */
export const meets = (value: unknown, wanted: readonly unknown[]): boolean =>
  Array.isArray(value) ? wanted.some((item) => value.includes(item)) : wanted.includes(value);

export function applies({ when }: Rule, value: Record<string, unknown>): boolean {
  for (const key in when) if (!meets(value[key], when[key]!)) return false;
  return true;
}

export const keeps = ({ then, need }: Rule, value: Record<string, unknown>): boolean =>
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

/** Where a name stands among both, it is required. */
export function object(
  needed: Readonly<Record<string, Node>>,
  optional: Readonly<Record<string, Node>>,
  options: ObjectOptions = {},
): ObjectNode {
  const { tolerate = NOTHING, others = false, variants = [], names, min = 0, rules = [] } = options;
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
