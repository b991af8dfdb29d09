// TypeScript declarations from the message definitions, doc comments included.

const VARIANT = /^\^\(\?:(.+)\)_\[a-z\]/;

const doc = (text, indent = "") => (text ? `${indent}/** ${text} */\n` : "");
const union = (values) => values.map((value) => JSON.stringify(value)).join(" | ");

export function typeDeclarations({ events, extensionEvent, messages }) {
  const named = new Map();

  function typeOf(schema) {
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" | ");
    if (schema.enum) return union(schema.enum);
    switch (schema.type) {
      case "string":
        return "string";
      case "integer":
      case "number":
        return "number";
      case "boolean":
        return "boolean";
      case "array": {
        if (schema.prefixItems)
          return `[${schema.prefixItems.map(typeOf).join(", ")}, ...${typeOf(schema.items)}[]]`;
        const item = typeOf(schema.items);
        return item.includes("|") ? `(${item})[]` : `${item}[]`;
      }
      default: {
        if (!schema.properties) {
          const value =
            schema.additionalProperties?.type === "object" ? "Record<string, unknown>" : "unknown";
          return `Record<string, ${value}>`;
        }
        if (!schema.$name) throw new Error("A nested object needs a $name.");
        if (!named.has(schema.$name)) {
          named.set(schema.$name, "");
          named.set(schema.$name, declare(schema.$name, schema));
        }
        return schema.$name;
      }
    }
  }

  function fields(schema) {
    // A field that other producers may leave out is optional to a reader, except urgency, which the parser fills in.
    const required = new Set(
      (schema.required ?? []).filter((name) => name === "urgency" || !schema.$tolerate?.[`required:${name}`]),
    );
    return Object.entries(schema.properties)
      .map(([name, child]) => {
        const key = /^[a-z_]+$/.test(name) ? name : JSON.stringify(name);
        return `${doc(child.description, "  ")}  ${key}${required.has(name) ? "" : "?"}: ${typeOf(child)};\n`;
      })
      .join("");
  }

  function declare(name, schema) {
    let body = fields(schema);
    for (const pattern of Object.keys(schema.patternProperties ?? {})) {
      const bases = VARIANT.exec(pattern)[1].split("|");
      for (const base of bases) body += `  [variant: \`${base}_\${string}\`]: string | undefined;\n`;
    }
    if (schema.additionalProperties === true) body += "  [field: string]: unknown;\n";
    else if (name === "Capabilities") body += "  [extension: string]: unknown;\n";
    return `${doc(schema.description)}export interface ${name} {\n${body}}\n`;
  }

  const declarations = [
    ...Object.values(events).map((schema) => declare(schema.title, schema)),
    declare(extensionEvent.title, extensionEvent),
    ...Object.values(messages).map((schema) => declare(schema.title, schema)),
  ];
  const map = (name, entries, text) =>
    `${doc(text)}export interface ${name} {\n${entries.map(([type, title]) => `  ${JSON.stringify(type)}: ${title};\n`).join("")}}\n`;
  return [
    ...named.values(),
    ...declarations,
    map(
      "CoreEventMap",
      Object.entries(events).map(([name, schema]) => [`aaep:${name}`, schema.title]),
      "The twelve core events by type.",
    ),
    map(
      "MessageMap",
      Object.entries(messages).map(([type, schema]) => [type, schema.title]),
      "Everything else that travels, by type.",
    ),
  ].join("\n");
}
