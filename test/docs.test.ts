/** What docs/validation.md shows is what happens: each js block is run, and prints the text block that follows it. */
import { readFileSync } from "node:fs";
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
