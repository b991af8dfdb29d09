// The definitions as calls of the builders in src/protocol/validate.ts: bounds and regular expressions, no prose.

const MAX = "1 / 0";
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export function tables({ envelopeProperties, events, extensionEvent, messages }) {
  const names = new Map();
  const lines = [];

  /** Identical nodes become one constant. */
  const share = (code) => {
    if (!names.has(code)) {
      names.set(code, `n${names.size}`);
      lines.push(`const n${names.size - 1} = ${code};`);
    }
    return names.get(code);
  };

  const regex = (source) => `/${source.replaceAll("/", "\\/")}/`;
  const call = (name, ...args) => {
    while (args.at(-1) === undefined) args.pop();
    return share(`${name}(${args.map((argument) => argument ?? "undefined").join(", ")})`);
  };
  const tolerances = (schema) => {
    const entries = Object.entries(schema.$tolerate ?? {});
    return entries.length > 0 ? share(JSON.stringify(Object.fromEntries(entries))) : undefined;
  };

  function node(schema) {
    if (schema.anyOf) return call("any", `[${schema.anyOf.map(node).join(", ")}]`);
    const tolerate = tolerances(schema);
    if (schema.const !== undefined) return call("word", JSON.stringify([schema.const]), tolerate);
    if (schema.enum) {
      return call("word", JSON.stringify(schema.enum), tolerate, schema.pattern && regex(schema.pattern));
    }
    switch (schema.type) {
      case "string":
        return call(
          "text",
          schema.minLength ?? 0,
          schema.maxLength ?? MAX,
          tolerate,
          schema.pattern && regex(schema.pattern),
          schema.format && JSON.stringify(schema.format),
        );
      case "integer":
      case "number":
        return call(schema.type, schema.minimum ?? `-${MAX}`, schema.maximum ?? MAX);
      case "boolean":
        return "flag";
      case "array":
        return call(
          "list",
          node(schema.items),
          schema.minItems ?? 0,
          schema.maxItems ?? MAX,
          schema.uniqueItems ?? false,
          tolerate,
          schema.contains && JSON.stringify(schema.contains.const),
          schema.prefixItems && node(schema.prefixItems[0]),
        );
      default:
        return object(schema);
    }
  }

  const values = (schema) => schema.enum ?? [schema.contains ? schema.contains.const : schema.const];
  const rule = ({ if: condition, then, $ruling, $tolerate }) => {
    const table = (properties = {}) =>
      Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, values(child)]));
    return JSON.stringify({
      when: table(condition.properties),
      then: table(then.properties),
      need: then.required ?? [],
      ruling: $ruling,
      tolerated: $tolerate ?? false,
    });
  };

  function object(schema, shared) {
    const required = schema.required ?? [];
    const fields = (needed) => {
      const own = Object.entries(schema.properties ?? {})
        .filter(([key]) => required.includes(key) === needed)
        // What every event has in the same way is spread in; what differs stands after it and wins.
        .filter(([key, child]) => !(shared?.has(key, needed) && same(child, shared.properties[key])))
        .map(([key, child]) => `${JSON.stringify(key)}: ${node(child)}`);
      const common = shared ? [needed ? "...envelopeRequired" : "...envelopeOptional"] : [];
      return `{ ${[...common, ...own].join(", ")} }`;
    };
    const variants = Object.entries(schema.patternProperties ?? {}).map(
      ([pattern, child]) => `[${regex(pattern)}, ${node(child)}] as const`,
    );
    const others = schema.properties || schema.propertyNames ? schema.additionalProperties : true;
    const options = [
      schema.$tolerate && `tolerate: ${tolerances(schema)}`,
      others !== false && `others: ${typeof others === "object" ? '"objects"' : "true"}`,
      variants.length > 0 && `variants: ${share(`[${variants.join(", ")}]`)}`,
      schema.propertyNames && `names: ${regex(schema.propertyNames.pattern)}`,
      schema.minProperties && `min: ${schema.minProperties}`,
      schema.allOf && `rules: [${schema.allOf.map(rule).join(", ")}]`,
    ].filter(Boolean);
    const code = `object(${fields(true)}, ${fields(false)}${options.length > 0 ? `, { ${options.join(", ")} }` : ""})`;
    return shared ? code : share(code);
  }

  const envelope = {
    properties: envelopeProperties,
    has: (key, needed) => key in envelopeProperties && extensionEvent.required.includes(key) === needed,
  };
  for (const needed of [true, false]) {
    const entries = Object.entries(envelopeProperties).filter(([key]) => envelope.has(key, needed));
    const code = entries.map(([key, child]) => `${JSON.stringify(key)}: ${node(child)}`).join(", ");
    lines.push(`const ${needed ? "envelopeRequired" : "envelopeOptional"} = { ${code} };`);
  }
  const eventTable = Object.entries(events).map(
    ([name, schema]) => `["aaep:${name}", ${object(schema, envelope)}],`,
  );
  const messageTable = Object.entries(messages).map(([type, schema]) => `["${type}", ${object(schema)}],`);
  const extension = object(extensionEvent, envelope);
  const code = inlined(`${lines.join("\n")}
export const EVENTS: ReadonlyMap<string, ObjectNode> = new Map([
${eventTable.join("\n")}
]);
export const MESSAGES: ReadonlyMap<string, ObjectNode> = new Map([
${messageTable.join("\n")}
]);
export const EXTENSION_EVENT: ObjectNode = ${extension};
`);
  return `import { any, flag, integer, list, number, type ObjectNode, object, text, word } from "../validate.ts";\n${code}`;
}

/** A constant used once only costs bytes: its value goes where it is used. */
function inlined(code) {
  const definition = /^const (n\d+) = (.*);\n/gm;
  const values = new Map([...code.matchAll(definition)].map(([, name, value]) => [name, value]));
  const uses = new Map();
  for (const [name] of code.matchAll(/\bn\d+\b/g)) uses.set(name, (uses.get(name) ?? -1) + 1);
  const once = (name) => uses.get(name) === 1;
  const fill = (text) => text.replace(/\bn\d+\b/g, (name) => (once(name) ? fill(values.get(name)) : name));
  return code
    .replace(definition, (line, name) => (once(name) ? "" : line))
    .replace(/^.*$/gm, (line) => {
      const [, start = "", rest = line] = /^(const n\d+ = )(.*)$/.exec(line) ?? [];
      return start + fill(rest);
    });
}
