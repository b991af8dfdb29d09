/** The canonical AAEP schemas under ajv, as oracles. Read in place; missing in a clone without the spec folder. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { specDir } from "../support/spec.ts";

const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void;

export interface Example {
  where: string;
  schema: string;
  message: Record<string, unknown>;
}

const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8"));

const schemaFiles = (dir: string): string[] => [
  join(dir, "schemas/envelope.schema.json"),
  ...["core", "handshake"].flatMap((folder) =>
    readdirSync(join(dir, "schemas", folder))
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(dir, "schemas", folder, name)),
  ),
];

export function loadCanonical():
  | { validators: Map<string, ValidateFunction>; examples: Example[] }
  | undefined {
  if (!specDir || !existsSync(specDir)) return undefined;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  const files = schemaFiles(specDir);
  const schemas = files.map(readJson);
  for (const schema of schemas) ajv.addSchema(schema);
  const validators = new Map<string, ValidateFunction>();
  const examples: Example[] = [];
  for (const schema of schemas) {
    const type: string = schema.properties?.type?.const ?? "envelope";
    validators.set(type, ajv.getSchema(schema.$id)!);
    for (const [i, message] of (schema.examples ?? []).entries()) {
      examples.push({ where: `${type} example ${i + 1}`, schema: type, message });
    }
  }
  return { validators, examples };
}

export function fixtures(kind: "valid" | "invalid"): { name: string; text: string }[] {
  if (!specDir) return [];
  const dir = join(specDir, "fixtures", kind);
  return readdirSync(dir).map((name) => ({ name, text: readFileSync(join(dir, name), "utf8") }));
}
