/** The package as others import it: examples and snippets run against `dist`. */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

const changed = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** `npm ci` builds; after a change to the sources the build is a step behind. */
export function buildIfStale(): void {
  const built = changed(join(root, "dist/protocol/index.js"));
  const newest = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .reduce((latest, file) => Math.max(latest, changed(join(root, "src", file))), 0);
  if (newest < built) return;
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  // Type errors are for `npm run check` to tell; here only the result counts.
  spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
}
