// `npm run transcripts`: writes the transcripts of docs/wire.md from sessions over real sockets and pipes.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { must, root, run } from "./run.mjs";

must("Generating", run(join(root, "scripts/generate.mjs")));
const outdir = join(root, "node_modules/.cache/earshot-transcripts");
mkdirSync(outdir, { recursive: true });
const outfile = join(outdir, "transcripts.mjs");
await build({
  entryPoints: [join(root, "test/desk/transcripts.ts")],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});
const { renew } = await import(pathToFileURL(outfile).href);
const page = join(root, "docs/wire.md");
writeFileSync(page, await renew(readFileSync(page, "utf8")));
console.log("docs/wire.md");
process.exit(0);
