// `npm run sessions`: writes examples/sessions/*.jsonl from the demo agent.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { must, root, run } from "./run.mjs";

must("Generating", run(join(root, "scripts/generate.mjs")));
const outdir = join(root, "node_modules/.cache/earshot-sessions");
mkdirSync(outdir, { recursive: true });
const outfile = join(outdir, "sessions.mjs");
await build({
  entryPoints: [join(root, "test/support/recorded-sessions.ts")],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});
const { recordSessions } = await import(pathToFileURL(outfile).href);
const folder = join(root, "examples/sessions");
const files = await recordSessions();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of files) {
  writeFileSync(join(folder, name), text);
  console.log(`examples/sessions/${name}`);
}
