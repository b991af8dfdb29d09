// `npm run picture`: writes docs/four-listeners.svg and docs/four-listeners.md from a session the real engine delivers.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { must, root, run } from "./run.mjs";

must("Generating", run(join(root, "scripts/generate.mjs")));
const outdir = join(root, "node_modules/.cache/earshot-picture");
mkdirSync(outdir, { recursive: true });
const outfile = join(outdir, "picture.mjs");
await build({
  entryPoints: [join(root, "test/support/four-listeners-picture.ts")],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});
const { drawPictures } = await import(pathToFileURL(outfile).href);
const { svg, markdown } = await drawPictures();
mkdirSync(join(root, "docs"), { recursive: true });
for (const [name, text] of [
  ["four-listeners.svg", svg],
  ["four-listeners.md", markdown],
]) {
  writeFileSync(join(root, "docs", name), text);
  console.log(`docs/${name}`);
}
