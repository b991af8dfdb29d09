// Builds `dist` if the sources are newer: for tests of examples and snippets, which import the package as others do.
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { binOf, root, run } from "./run.mjs";

const changed = (file) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const isStale = () => {
  const newest = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .reduce((latest, file) => Math.max(latest, changed(join("src", file))), 0);
  return Math.min(changed("dist/index.js"), changed("dist/web/earshot-live.js")) <= newest;
};

/** Test files run in several processes: one of them builds, the others wait for it. */
export function buildIfStale() {
  if (!isStale()) return;
  const lock = join(root, ".artifacts/build.lock");
  mkdirSync(join(root, ".artifacts"), { recursive: true });
  try {
    mkdirSync(lock);
  } catch {
    waitFor(lock);
    return;
  }
  try {
    // Type errors and sizes are for `npm run check` and the tests to report; what was emitted is enough here.
    run(binOf("typescript", "tsc"), ["-p", "tsconfig.build.json"]);
    run(join(root, "scripts/bundle-web.mjs"));
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** A lock older than two minutes was left behind by a process that was killed. */
function waitFor(lock) {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (made === undefined || Date.now() - made > 120_000) break;
    Atomics.wait(pause, 0, 0, 100);
  }
  rmSync(lock, { recursive: true, force: true });
}
