/**
 * Validation speed beside ajv (compiled) and zod: the same published schemas, the same inputs (valid ones and ones
 * with one mutation), all three dispatching on `type`, equal verdicts asserted first.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { build } from "esbuild";
import fc from "fast-check";
import { z } from "zod";
import { EVENTS } from "../src/protocol/generated/tables.ts";
import { isDateTime, isUri } from "../src/protocol/validate.ts";
import { arbitraryFor, mutate } from "../test/support/messages.ts";
import { cpuMicroseconds, median, print } from "./_report.ts";

const root = process.env["EARSHOT_ROOT"]!;
const types = [...EVENTS.keys()];
// biome-ignore lint/suspicious/noExplicitAny: JSON Schema as it comes out of a file
type Json = Record<string, any>;
const schemas: Record<string, Json> = Object.fromEntries(
  types.map((type) => [
    type,
    JSON.parse(readFileSync(join(root, `schemas/${type.slice(5)}.schema.json`), "utf8")),
  ]),
);

/** The published schema in zod's terms, with zod's own fast paths for everything it has one for. */
function zodOf(schema: Json): z.ZodType {
  if (schema.const !== undefined) return z.literal(schema.const);
  if (schema.anyOf) return z.union(schema.anyOf.map(zodOf));
  if (schema.enum)
    return typeof schema.enum[0] === "string"
      ? z.enum(schema.enum)
      : z.union(schema.enum.map((value: number) => z.literal(value)));
  switch (schema.type) {
    case "string": {
      let type = z.string();
      if (schema.minLength) type = type.min(schema.minLength);
      if (schema.maxLength) type = type.max(schema.maxLength);
      if (schema.pattern) type = type.regex(new RegExp(schema.pattern));
      if (schema.format === "uri") return type.refine(isUri);
      if (schema.format === "date-time") return type.refine(isDateTime);
      return type;
    }
    case "integer":
    case "number": {
      let type = schema.type === "integer" ? z.number().int() : z.number();
      if (schema.minimum !== undefined) type = type.min(schema.minimum);
      if (schema.maximum !== undefined) type = type.max(schema.maximum);
      return type;
    }
    case "boolean":
      return z.boolean();
    case "array": {
      if (schema.prefixItems) return z.tuple(schema.prefixItems.map(zodOf) as never, zodOf(schema.items));
      let type: z.ZodType = z
        .array(zodOf(schema.items))
        .min(schema.minItems ?? 0)
        .max(schema.maxItems ?? Infinity);
      if (schema.uniqueItems)
        type = type.refine(
          (items) =>
            new Set((items as unknown[]).map((item) => JSON.stringify(item))).size ===
            (items as unknown[]).length,
        );
      if (schema.contains)
        type = type.refine((items) => (items as unknown[]).includes(schema.contains.const));
      return type;
    }
    default: {
      if (!schema.properties) {
        if (schema.propertyNames)
          return z.record(
            z.string().regex(new RegExp(schema.propertyNames.pattern)),
            z.record(z.string(), z.unknown()),
          );
        return z.record(z.string(), z.unknown());
      }
      const required = new Set(schema.required ?? []);
      const shape = Object.fromEntries(
        Object.entries<Json>(schema.properties).map(([key, child]) => [
          key,
          required.has(key) ? zodOf(child) : zodOf(child).optional(),
        ]),
      );
      const variants = Object.entries<Json>(schema.patternProperties ?? {});
      if (variants.length === 0) {
        const type = z.strictObject(shape);
        return schema.minProperties
          ? type.refine((value) => Object.keys(value).length >= schema.minProperties)
          : type;
      }
      const patterns = variants.map(([pattern, child]) => [new RegExp(pattern), zodOf(child)] as const);
      const known = new Set(Object.keys(shape));
      return z.looseObject(shape).refine((value: Json) => {
        for (const key of Object.keys(value)) {
          if (known.has(key)) continue;
          const variant = patterns.find(([pattern]) => pattern.test(key));
          if (!variant?.[1].safeParse(value[key]).success) return false;
        }
        return (schema.allOf ?? []).every((rule: Json) => !holds(rule.if, value) || holds(rule.then, value));
      });
    }
  }
}

function holds(condition: Json, value: Json): boolean {
  if ((condition.required ?? []).some((key: string) => value[key] === undefined)) return false;
  return Object.entries<Json>(condition.properties ?? {}).every(([key, child]) => {
    if (value[key] === undefined) return true;
    if (child.const !== undefined) return value[key] === child.const;
    if (child.enum) return child.enum.includes(value[key]);
    return Array.isArray(value[key]) && value[key].includes(child.contains.const);
  });
}

const ajv = new Ajv2020({ strict: false });
(addFormatsModule as unknown as (ajv: Ajv2020) => void)(ajv);
const ajvByType = Object.fromEntries(types.map((type) => [type, ajv.compile(schemas[type]!)]));
const zodByType = Object.fromEntries(types.map((type) => [type, zodOf(schemas[type]!)]));
const contenders: Record<string, (message: Json) => boolean> = {
  earshot: (message) => EVENTS.get(message.type)?.ok(message) ?? false,
  ajv: (message) => (ajvByType[message.type]?.(message) as boolean | undefined) ?? false,
  zod: (message) => zodByType[message.type]?.safeParse(message).success ?? false,
};

const realistic = (message: Json) => JSON.stringify(message).length < 4000;
const inputs = types.flatMap((type) =>
  fc
    .sample(
      (arbitraryFor(schemas[type]!) as fc.Arbitrary<Json>)
        .filter(realistic)
        .chain((message) => fc.tuple(fc.constant(message), mutate(message) as fc.Arbitrary<Json>)),
      { numRuns: 60, seed: 7 },
    )
    .flat()
    // Through JSON, so that every contender sees objects as they come off the wire.
    .map((message) => JSON.parse(JSON.stringify(message)) as Json)
    .filter((message) => typeof message.type === "string" && realistic(message)),
);
const verdicts = inputs.map((message) => contenders["earshot"]!(message));
let agreeing = 0;
for (const [i, message] of inputs.entries()) {
  const all = Object.entries(contenders).map(([name, validate]) => `${name}:${validate(message)}`);
  if (new Set(all.map((line) => line.split(":")[1])).size === 1) agreeing++;
  else
    throw new Error(
      `Verdicts differ (${all.join(", ")}) on ${JSON.stringify(message)}; ours was ${verdicts[i]}`,
    );
}

function perSecond(validate: (message: Json) => boolean): number {
  const rounds = 40;
  let valid = 0;
  const micros = cpuMicroseconds(() => {
    for (let round = 0; round < rounds; round++) for (const message of inputs) if (validate(message)) valid++;
  });
  if (valid !== rounds * verdicts.filter(Boolean).length)
    throw new Error("Verdicts changed while measuring.");
  return (rounds * inputs.length * 1e6) / micros;
}

// Interleaved, so that a noisy neighbour hits all three alike.
const speeds: Record<string, number[]> = { earshot: [], ajv: [], zod: [] };
for (const validate of Object.values(contenders)) perSecond(validate);
for (let trial = 0; trial < 9; trial++) {
  for (const [name, validate] of Object.entries(contenders)) speeds[name]!.push(perSecond(validate));
}
const ratio = (name: string) => median(speeds["earshot"]!.map((speed, i) => speed / speeds[name]![i]!));
const ratios = { vs_ajv: ratio("ajv"), vs_zod: ratio("zod") };

async function bundleBytes(entry: string): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
  });
  return gzipSync(outputFiles[0]!.text, { level: 9 }).length;
}

print(
  {
    name: "validate",
    figures: {
      messages: inputs.length,
      valid: verdicts.filter(Boolean).length,
      equal_verdicts: agreeing,
      earshot_events_per_cpu_second: median(speeds["earshot"]!),
      ajv_events_per_cpu_second: median(speeds["ajv"]!),
      zod_events_per_cpu_second: median(speeds["zod"]!),
      protocol_bundle_bytes_min_gzip: await bundleBytes("src/protocol/index.ts"),
      lifecycle_bundle_bytes_min_gzip: await bundleBytes("src/protocol/lifecycle.ts"),
    },
    ratios,
  },
  { vs_ajv: "at least 1.2", vs_zod: "at least 3" },
);
