/** Every example runs as a reader would run it, against the built package, and asserts its own result. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const examples = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(root, "examples", entry.name, "main.mjs")))
  .map((entry) => entry.name);

const changed = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** `npm ci` builds; after a change to the sources the build is a step behind. */
function buildIfStale(): void {
  const built = changed(join(root, "dist/protocol/index.js"));
  const newest = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .reduce((latest, file) => Math.max(latest, changed(join(root, "src", file))), 0);
  if (newest < built) return;
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  // Type errors are for `npm run check` to tell; here only the result counts.
  spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
}

describe("the examples", () => {
  beforeAll(buildIfStale, 120_000);

  it("exist", () => {
    expect(examples).toContain("validate-a-message");
  });

  it.each(examples)("%s does what it says", (name) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join("examples", name, "main.mjs")], {
      cwd: root,
      encoding: "utf8",
      timeout: 50_000,
    });
    expect(status, stderr).toBe(0);
    expect(stdout.trim()).not.toBe("");
    expect(stderr).toBe("");
  });
});
