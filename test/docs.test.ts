/** Checks docs against the code: examples in docs/validation.md, entries in docs/dependencies.md, the glossary in CONTRIBUTING.md. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { describe, expect, it } from "vitest";
import * as protocol from "../src/protocol/index.ts";

const page = readFileSync(new URL("../docs/validation.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/```(js|text)\n([\s\S]*?)```/g)].map(([, kind, code]) => ({
  kind,
  code: code!,
}));
const [setup, ...rest] = blocks;
const shown = rest.flatMap(({ kind, code }, i) =>
  kind === "js" ? [{ code, output: rest[i + 1]?.code }] : [],
);

describe("docs/validation.md", () => {
  it("has examples", () => {
    expect(shown.length).toBeGreaterThanOrEqual(4);
  });

  it.each(shown)("shows what really happens: $output", ({ code, output }) => {
    const lines: string[] = [];
    const console = { log: (...words: unknown[]) => lines.push(words.join(" ")) };
    runInContext(`${setup!.code}\n${code}`, createContext({ ...protocol, console }));
    expect(`${lines.join("\n")}\n`).toBe(output);
  });

  it("names the limits in force", () => {
    for (const limits of [protocol.EMIT_LIMITS, protocol.RECEIVE_LIMITS]) {
      for (const value of Object.values(limits)) expect(page).toContain(value.toLocaleString("en-US"));
    }
  });
});

describe("docs/dependencies.md", () => {
  it("has an entry for every dependency, with the version in use", () => {
    const {
      dependencies = {},
      peerDependencies = {},
      devDependencies,
    } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const entries = readFileSync(new URL("../docs/dependencies.md", import.meta.url), "utf8")
      .split("\n")
      // A heading, or the first cell of a table row.
      .map((line) => (line.startsWith("### ") ? line : (/^\| ([^|]+)\|/.exec(line)?.[1] ?? "")))
      .join("\n");
    const missing = Object.entries({ ...devDependencies, ...peerDependencies, ...dependencies })
      .map(([name, version]) => `${name} ${version}`)
      .filter((entry) => !entries.includes(entry));
    expect(
      missing,
      "Say in docs/dependencies.md what these are for, in a heading or table row with name and version",
    ).toEqual([]);
  });
});

describe("the glossary of CONTRIBUTING.md", () => {
  const root = new URL("../", import.meta.url);
  const [, glossary = ""] = readFileSync(new URL("CONTRIBUTING.md", root), "utf8").split("\n## Glossary\n");
  const rows = [
    ...glossary.split("\n## ")[0]!.matchAll(/^\| ([^|]+) \| (`[^|]+`) \| `(src\/[^|`]+)` \|$/gm),
  ].map(([, concept, names, path]) => ({ concept: concept!, names: names!, path: path! }));

  it("has entries", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  it.each(rows)("names what exists: $concept", ({ names, path }) => {
    const place = new URL(path, root);
    expect(existsSync(place), path).toBe(true);
    const files = statSync(place).isDirectory()
      ? readdirSync(place, { recursive: true, encoding: "utf8" }).map((name) => `${path}/${name}`)
      : [path];
    const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
    for (const [, name] of names.matchAll(/`([^`]+)`/g)) {
      const declared = new RegExp(
        `(?:\\b(?:class|interface|type|const|function) |^  (?:async )?)${name}\\b[^;,}]`,
        "m",
      );
      const found =
        sources.some((file) => file.endsWith(`/${name}`)) ||
        sources.some((file) => declared.test(readFileSync(new URL(file, root), "utf8")));
      expect(found, `${name} in ${path}`).toBe(true);
    }
  });
});
