// `npm run build`: generated sources, JavaScript, declarations and source maps, the element's bundle and the Inspector.
// Everything is built next to dist/ and moved in file by file, so that a program that runs from dist/ never finds a file
// missing or half-written.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { writeInspector } from "./bundle-inspector.mjs";
import { writeWeb } from "./bundle-web.mjs";
import { binOf, must, root, run } from "./run.mjs";

const dist = join(root, "dist");
// `npx earshot` in a clone links the package and runs `prepare` again; the person did not ask for a build.
if (process.env.npm_command === "exec" && existsSync(join(dist, "cli/main.js"))) process.exit(0);

// As deep as dist/, because source maps hold relative paths.
const next = join(root, `.dist-${process.pid}`);
process.on("exit", () => rmSync(next, { recursive: true, force: true }));

must("Generating", run(join(root, "scripts/generate.mjs"), ["--clean"]));
must("The build", run(binOf("typescript", "tsc"), ["-p", "tsconfig.build.json", "--outDir", next]));
const { bytes } = await writeWeb(join(next, "web"));
const first = await writeInspector(join(next, "inspector"));
console.log(`earshot-live.js ${bytes} bytes, the Inspector ${first} bytes at first (min+gzip).`);
replace(dist, next);

/** Moves every file of `from` into `to`, then removes from `to` what `from` did not have. */
function replace(to, from) {
  const built = filesIn(from);
  const now = new Date();
  chmodSync(join(from, "cli/main.js"), 0o755);
  for (const file of built) {
    const [source, target] = [join(from, file), join(to, file)];
    mkdirSync(dirname(target), { recursive: true });
    if (isSame(source, target)) utimesSync(target, now, now);
    else renameSync(source, target);
  }
  const kept = new Set(built);
  for (const file of filesIn(to)) if (!kept.has(file)) rmSync(join(to, file));
}

function isSame(source, target) {
  return (
    existsSync(target) &&
    statSync(target).mode === statSync(source).mode &&
    readFileSync(target).equals(readFileSync(source))
  );
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)));
}
