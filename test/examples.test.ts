/** Every example runs as a reader would run it, against the built package, and asserts its own result. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { buildIfStale } from "../scripts/build-if-stale.mjs";
import { isInstalled } from "../scripts/install.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const examples = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(root, "examples", entry.name, "main.mjs")))
  .map((entry) => entry.name);

/** An example with a manifest of its own needs its packages. `npm test` installs them; CI must have them. */
const lacksPackages = (name: string) =>
  process.env["CI"] !== "true" &&
  existsSync(join(root, "examples", name, "package.json")) &&
  !isInstalled(`examples/${name}`);

describe("the examples", () => {
  beforeAll(buildIfStale, 120_000);

  it("exist", () => {
    expect(examples).toContain("validate-a-message");
  });

  it.for(examples)("%s does what it says", (name, { skip }) => {
    if (lacksPackages(name))
      skip(`its packages are not installed; with a network: node scripts/install.mjs examples/${name}`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [join("examples", name, "main.mjs")], {
      cwd: root,
      encoding: "utf8",
      timeout: 50_000,
    });
    expect(status, stderr).toBe(0);
    expect(stdout.trim()).not.toBe("");
    expect(stderr).toBe("");
  });

  it.each(["ai-sdk", "langgraph", "openai-agents"])("%s is a recipe of at most 40 lines", (name) => {
    const recipe = readFileSync(join(root, "examples", name, "recipe.mjs"), "utf8");
    expect(recipe.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
  });
});
