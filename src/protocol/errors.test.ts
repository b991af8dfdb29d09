/** Every code of an EarshotError is documented, and every documented code exists. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const errors = read("src/protocol/errors.ts");
const declared = errors.slice(
  errors.indexOf("interface ErrorCodes"),
  errors.indexOf("export type RequirementId"),
);
const codes = [...declared.matchAll(/\/\*\* (.+) \*\/\n {2}(\w+): never;/g)].map(
  ([, sentence, code]) => [code!, sentence!] as const,
);

describe("error codes", () => {
  it("each have a sentence", () => {
    expect(codes.length).toBe([...declared.matchAll(/: never;/g)].length);
    expect(codes.length).toBeGreaterThan(40);
  });

  it("are listed in docs/errors.md, with the same sentences", () => {
    const rows = [...read("docs/errors.md").matchAll(/^\| `(\w+)` \| (.+) \|$/gm)];
    expect(rows.map(([, code, sentence]) => [code, sentence])).toEqual(codes);
  });

  it("are all in use", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter(
        (path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.endsWith("protocol/errors.ts"),
      )
      .map((path) => read(join("src", path)))
      .join("\n");
    expect(codes.filter(([code]) => !sources.includes(`"${code}"`))).toEqual([]);
  });
});
