// Bundles the Inspector: dist/inspector/index.html with its styles, its script and the pieces it fetches when needed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundleWeb } from "./bundle-web.mjs";
import { root } from "./run.mjs";

/** What a browser loads before the page works, compressed. */
export const MOST_FIRST_BYTES = 150 * 1024;

/** Every file with its text, and the size of the first load. */
export async function bundleInspector() {
  const { files, size } = await bundleWeb({ inspector: join(root, "inspector/main.ts") });
  const text = (name) => readFileSync(join(root, "inspector", name), "utf8");
  const own = ["index.html", "inspector.css"].map((name) => ({ name, text: text(name) }));
  const first = own.reduce((sum, file) => sum + gzipSync(file.text).length, size("inspector.js"));
  // The element's own entry is for other pages; this one fetches what it needs of it.
  return { files: [...own, ...files.filter(({ name }) => name !== "earshot-live.js")], first };
}

/** Writes them into a folder; returns the size of the first load. */
export async function writeInspector(folder) {
  const { files, first } = await bundleInspector();
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  return first;
}
