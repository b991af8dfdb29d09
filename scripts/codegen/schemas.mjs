// The same definitions as published JSON Schema files, without the house annotations.

const HOUSE_KEYS = new Set(["$tolerate", "$ruling", "$name"]);

function strip(node) {
  if (Array.isArray(node)) return node.map(strip);
  if (node === null || typeof node !== "object") return node;
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (HOUSE_KEYS.has(key)) continue;
    // Below `properties` the keys are field names, not keywords.
    out[key] =
      key === "properties" || key === "patternProperties"
        ? Object.fromEntries(Object.entries(value).map(([name, child]) => [name, strip(child)]))
        : strip(value);
  }
  return out;
}

const fileName = (type) => type.replace(/^aaep:/, "").replace(":", ".");

export function publishedSchemas({ events, extensionEvent, messages }) {
  const all = { ...events, ...messages, "extension-event": extensionEvent };
  return Object.fromEntries(
    Object.entries(all).map(([type, schema]) => [
      fileName(type),
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        $id: `urn:earshot:schema:v1:${fileName(type)}`,
        ...strip(schema),
      },
    ]),
  );
}
