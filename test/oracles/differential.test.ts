/**
 * Compares our verdicts with the canonical schemas on 100,000 messages, valid or with one mutation. Where they differ, the
 * reason must be one of the classes that PROTOCOL.md documents under "Where prose overrules the schema".
 */
import { readFileSync } from "node:fs";
import type { ErrorObject } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Issue } from "../../src/protocol/errors.ts";
import { parseValue } from "../../src/protocol/parse.ts";
import { arbitraryFor, mutate } from "../support/messages.ts";
import { loadCanonical } from "./canonical.ts";

const canonical = loadCanonical();
const RUNS = process.env["EARSHOT_LONG"] ? 1_000_000 : 25_000;

/** The documented class of an issue. */
function classOf({ code, ruling, path }: Issue): string | undefined {
  if (code === "unknown_field")
    return path.startsWith("/capabilities") || ruling === "CON-38"
      ? "handshake-unknown-key"
      : "unknown-field";
  if (code === "rule") return ruling === "CON-29" ? "choices-required" : "default-safety";
  const byCode: Record<string, string> = {
    unknown_aaep_type: "unknown-aaep-type",
    full_uri_type: "full-uri-type",
    step_order: "step-order",
    undeclared_prefix: "extension-prefix",
    extension_prefix: "extension-prefix",
    max_length: "oversize-text",
    string_size: "oversize-text",
    contains: "allowed-replies",
    unknown_type: "unknown-aaep-type",
    variant: "language-variant",
  };
  if (byCode[code]) return byCode[code];
  if (code === "enum")
    return ruling === "CON-31"
      ? "allowed-replies"
      : ruling === "ENV-30"
        ? "aaep-version-unpublished"
        : "unknown-enum";
  const byRuling: Record<string, string> = {
    "CON-14": "urgency-required",
    "CON-32": "hints-required",
    "CON-43": "summary-required",
    "CON-40": "timestamp-shape",
    "ENV-17": "empty-producer-field",
    "I18N-02": "language-tag-shape",
    "CON-41": "oversize-text",
  };
  return ruling ? byRuling[ruling] : undefined;
}

/** The path of an ajv error, in our notation. */
function placeOf(error: ErrorObject): string {
  const params = error.params as Record<string, string>;
  const key = params["missingProperty"] ?? params["additionalProperty"];
  return key === undefined ? error.instancePath : `${error.instancePath}/${key}`;
}

describe.skipIf(!canonical)("differential validation", () => {
  it(`EVT-13 and LIM-09: ${RUNS} generated messages agree with the canonical schemas or differ for a documented reason`, () => {
    const { validators } = canonical!;
    const types = [...validators.keys()].filter((type) => type !== "envelope");
    const perType = Math.ceil(RUNS / types.length / 4);
    const classes = new Map<string, number>();
    const unexplained: string[] = [];
    let total = 0;
    let agreed = 0;
    const explained = (direction: string, issues: readonly Issue[], describe: () => string) => {
      for (const issue of issues) {
        const name = classOf(issue);
        if (name) classes.set(`${direction}: ${name}`, (classes.get(`${direction}: ${name}`) ?? 0) + 1);
        else unexplained.push(`${direction}: ${issue.code} ${issue.path} ${issue.message} in ${describe()}`);
      }
    };

    const compare = (message: Record<string, unknown>, type: string) => {
      total++;
      const named = typeof message["type"] === "string" ? message["type"] : "";
      const validate =
        validators.get(named) ?? (named.includes(":") ? validators.get("envelope")! : validators.get(type)!);
      const theirs = validate(message) as boolean;
      const errors = validate.errors ?? [];
      const strict = parseValue(message, { mode: "strict", limits: { bytes: 1e9, fields: 1e3 } });
      const tolerant = parseValue(message, { mode: "tolerant" });
      const show = () => JSON.stringify(message).slice(0, 300);
      if (theirs === strict.ok && theirs === tolerant.ok) {
        agreed++;
        return;
      }
      if (theirs && !strict.ok) explained("strict refuses", strict.issues, show);
      if (theirs && !tolerant.ok) explained("tolerant refuses", tolerant.issues, show);
      if (!theirs && strict.ok) unexplained.push(`strict accepts: ${JSON.stringify(errors[0])} in ${show()}`);
      if (!theirs && tolerant.ok) {
        const places = new Map(tolerant.diagnostics.map((issue) => [issue.path, issue]));
        explained("tolerant accepts", tolerant.diagnostics, show);
        for (const error of errors) {
          // `if`/`oneOf` summaries repeat what the errors inside them say.
          if (error.keyword === "if" || error.keyword === "oneOf") continue;
          const place = placeOf(error);
          const covered = [...places.keys()].some(
            (path) => path === place || place.startsWith(`${path}/`) || path.startsWith(`${place}/`),
          );
          if (!covered)
            unexplained.push(
              `tolerant accepts without a word: ${error.instancePath} ${error.message} in ${show()}`,
            );
        }
      }
    };

    for (const type of types) {
      const published = JSON.parse(
        readFileSync(
          new URL(`../../schemas/${type.replace(/^aaep:/, "")}.schema.json`, import.meta.url),
          "utf8",
        ),
      );
      const valid = arbitraryFor(published) as fc.Arbitrary<Record<string, unknown>>;
      const families = valid.chain((message) =>
        fc.tuple(fc.constant(message), mutate(message), mutate(message), mutate(message)),
      );
      for (const family of fc.sample(families, { numRuns: perType, seed: 20261115 })) {
        for (const message of family) compare(message as Record<string, unknown>, type);
      }
    }

    expect(total).toBeGreaterThanOrEqual(RUNS);
    // One of each kind is enough to diagnose.
    const kinds = new Map(unexplained.map((line) => [line.replace(/ in \{.*|[/ ].*? must/s, ""), line]));
    expect([...kinds.values()].slice(0, 12)).toEqual([]);
    expect(agreed / total).toBeGreaterThan(0.5);
    const documented = readFileSync(new URL("../../PROTOCOL.md", import.meta.url), "utf8");
    for (const key of classes.keys()) expect(documented).toContain(`\`${key.split(": ")[1]}\``);
    console.info(
      `differential: ${total} messages, ${agreed} agree; ${[...classes].map(([name, count]) => `${name} ${count}`).join("; ")}`,
    );
  }, 600_000);
});
