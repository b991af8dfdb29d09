// `npm run example -- <name>`: installs the packages an example needs, if any, and runs it.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FOLDERS, install } from "./install.mjs";
import { must, root, run } from "./run.mjs";

const [name, ...rest] = process.argv.slice(2);
const fileOf = (example) =>
  ["main.mjs", "server.mjs"]
    .map((file) => join(root, "examples", example, file))
    .find((file) => existsSync(file));
const known = readdirSync(join(root, "examples")).filter((example) => fileOf(example));
if (!name || !known.includes(name)) {
  console.error(`Name the example to run: npm run example -- <${known.join(" | ")}>`);
  process.exit(2);
}
const folder = `examples/${name}`;
if (folder in FOLDERS) must("The installation", install(folder) ? 0 : 1);
process.exit(run(fileOf(name), rest));
