// `npm run bench -- <name> [--json]`: builds bench/<name>.ts and runs it in a fresh Node.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { install } from "./install.mjs";
import { must, root, run } from "./run.mjs";

const [name, ...rest] = process.argv.slice(2);
const known = readdirSync(join(root, "bench"))
  .filter((file) => file.endsWith(".ts") && !file.startsWith("_"))
  .map((file) => file.slice(0, -3));
if (!name || !known.includes(name)) {
  console.error(`Name the benchmark to run: npm run bench -- <${known.join(" | ")}> [--json]`);
  process.exit(2);
}
must("The installation", install("bench") ? 0 : 1);
must("Generating", run(join(root, "scripts/generate.mjs")));
// Below bench/, so that the bundle finds the benchmarks' packages first and the root's after them.
const outdir = join(root, "bench/node_modules/.cache/earshot-bench");
mkdirSync(outdir, { recursive: true });
await build({
  entryPoints: [join(root, `bench/${name}.ts`)],
  outfile: join(outdir, `${name}.mjs`),
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});
process.exit(
  run(join(outdir, `${name}.mjs`), rest, { env: { ...process.env, EARSHOT_ROOT: root }, execArgv: [] }),
);
