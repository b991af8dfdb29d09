// Runs a tool of node_modules with this Node, without a shell, so that the scripts work on every platform.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The script behind a package's command, e.g. binOf("typescript", "tsc"); of another folder's packages, if one is named. */
export function binOf(name, command = name, folder = ".") {
  const manifest = join(root, folder, "node_modules", name, "package.json");
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), typeof bin === "string" ? bin : bin[command]);
}

export function run(script, args = [], options = {}) {
  const { status, error } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: "inherit",
    ...options,
  });
  if (error) throw error;
  return status ?? 1;
}

export function must(label, status) {
  if (status === 0) return;
  console.error(`${label} failed.`);
  process.exit(status);
}
