// Bundles a TypeScript file of the project and imports it: for scripts that need the sources themselves.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { must, root, run } from "./run.mjs";

export async function load(file) {
  must("Generating", run(join(root, "scripts/generate.mjs")));
  const outfile = join(root, "node_modules/.cache/earshot-scripts", file.replace(/\.ts$/, ".mjs"));
  await build({
    entryPoints: [join(root, file)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "warning",
  });
  return import(pathToFileURL(outfile).href);
}
