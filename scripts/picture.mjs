// `npm run picture`: writes docs/four-listeners.svg and docs/four-listeners.md from a session the real engine delivers.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "./load.mjs";
import { root } from "./run.mjs";

const { drawPictures } = await load("test/support/four-listeners-picture.ts");
const { svg, markdown } = await drawPictures();
mkdirSync(join(root, "docs"), { recursive: true });
for (const [name, text] of [
  ["four-listeners.svg", svg],
  ["four-listeners.md", markdown],
]) {
  writeFileSync(join(root, "docs", name), text);
  console.log(`docs/${name}`);
}
