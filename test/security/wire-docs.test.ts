// docs/security.md and docs/operations.md say what is so: limits, metrics, log entries and errors, held against the code.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { HUB_DEFAULTS } from "../../src/hub/hub.ts";
import { LIMITS } from "../../src/server/http/app.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string) => readFileSync(`${root}${file}`, "utf8");
const source = readdirSync(`${root}src/server`, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => read(`src/server/${file}`))
  .join("\n");

describe("docs/security.md", () => {
  const page = read("docs/security.md");
  it("names every limit in force", () => {
    for (const [name, value] of Object.entries(LIMITS)) {
      if (name === "heartbeatMs") continue;
      const words = name.endsWith("Ms") ? `${value / 1000} s` : value.toLocaleString("en-US");
      expect(page, name).toContain(words);
    }
    expect(page).toContain(`one more every ${HUB_DEFAULTS.replyLimit.refillMs / 1000} seconds`);
    expect(page).toContain(`${HUB_DEFAULTS.replyLimit.burst}`);
  });
});

describe("docs/operations.md", () => {
  const page = read("docs/operations.md");
  it("names every log entry, every metric and every error there is", () => {
    const entries = [...source.matchAll(/\blog\(\s*"(?:debug|info|warn|error)",\s*"(\w+)"/g)].map(
      ([, event]) => event!,
    );
    const metrics = [...read("src/server/telemetry.ts").matchAll(/^ {2}(\w+): "/gm)].map(([, name]) => name!);
    const errors = [...(source + readAuth()).matchAll(/EarshotError\(\s*"(\w+)"/g)].map(([, code]) => code!);
    expect(entries.length).toBeGreaterThan(8);
    expect(metrics.length).toBeGreaterThan(8);
    expect(errors.length).toBeGreaterThan(8);
    for (const name of new Set([...entries, ...metrics, ...errors, "reply_taken", "reply_refused"]))
      expect(page, name).toContain(`\`${name}\``);
  });
});

function readAuth(): string {
  return readdirSync(`${root}src/auth`)
    .map((file) => read(`src/auth/${file}`))
    .join("\n");
}
