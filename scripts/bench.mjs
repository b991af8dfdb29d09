// `npm run bench -- <name> [--json]`: builds bench/<name>.ts and runs it in a fresh Node.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { must, root, run } from "./run.mjs";

const [name, ...rest] = process.argv.slice(2);
const known = readdirSync(join(root, "bench"))
  .filter((file) => file.endsWith(".ts") && !file.startsWith("_"))
  .map((file) => file.slice(0, -3));
if (!name || !known.includes(name)) {
  console.error(`Say which benchmark to run: npm run bench -- <${known.join(" | ")}> [--json]`);
  process.exit(2);
}
must("Generating", run(join(root, "scripts/generate.mjs")));
const outdir = join(root, "node_modules/.cache/earshot-bench");
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
