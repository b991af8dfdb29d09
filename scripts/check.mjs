// `npm run check`: types, lint and format, what the package exports, unused code, and what browsers would load.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleInspector, MOST_FIRST_BYTES } from "./bundle-inspector.mjs";
import { bundleWeb, MOST_BYTES } from "./bundle-web.mjs";
import { findBrowserProblems, findSubscribeSize } from "./check/browser.mjs";
import { attw, consumerTypes, publint, withTarball } from "./check/package.mjs";
import { FOLDERS, install } from "./install.mjs";
import { binOf, root, run } from "./run.mjs";

const failures = [];
const step = async (label, problems) => {
  const found = await problems();
  if (found.length === 0) return console.log(`ok    ${label}`);
  console.log(`FAIL  ${label}`);
  for (const line of found) console.log(`      ${line}`);
  failures.push(label);
};
const exit = (status) => (status === 0 ? [] : [`exit code ${status}`]);

async function exportProblems() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const problems = [];
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === "string") {
      if (!target.includes("*") && !existsSync(join(root, target)))
        problems.push(`${subpath} points to ${target}, which is not there`);
      continue;
    }
    const path = subpath === "." ? "" : subpath.slice(2).replace(/\.js$/, "");
    if (![`./dist/${path}.js`, `./dist/${path && `${path}/`}index.js`].includes(target.default))
      problems.push(
        `${subpath} points to ${target.default}; an entry point has the name of its folder or file`,
      );
    for (const file of Object.values(target)) {
      if (!existsSync(join(root, file)))
        problems.push(`${subpath} points to ${file}, which is not there; run npm run build`);
    }
    try {
      await import(pathToFileURL(join(root, target.default)).href);
    } catch (error) {
      problems.push(`${subpath} does not import: ${error.message}`);
    }
  }
  return problems;
}

/** A fresh clone must install from whatever registry its owner uses, on every platform. */
const lockfileProblems = () => [".", ...Object.keys(FOLDERS)].flatMap(lockfileProblemsIn);

function lockfileProblemsIn(folder) {
  const { packages } = JSON.parse(readFileSync(join(root, folder, "package-lock.json"), "utf8"));
  const problems = [];
  for (const [name, { resolved, optionalDependencies = {} }] of Object.entries(packages)) {
    if (/^https?:/.test(resolved ?? "")) {
      problems.push(
        `${folder}: ${name} is tied to ${new URL(resolved).host}; run npm install with the project's .npmrc`,
      );
    }
    for (const optional of Object.keys(optionalDependencies)) {
      const found = packages[`${name}/node_modules/${optional}`] ?? packages[`node_modules/${optional}`];
      if (!found)
        problems.push(
          `${folder}: ${name} wants ${optional}, which the lockfile lacks; npm ci would fail. Pin another version`,
        );
    }
  }
  return problems;
}

await step("build", () => exit(run(join(root, "scripts/build.mjs"))));
await step("types", () => exit(run(binOf("typescript", "tsc"), ["-p", "tsconfig.json"])));
await step("the benchmarks' types", () =>
  install("bench")
    ? exit(run(binOf("typescript", "tsc"), ["-p", "bench/tsconfig.json"]))
    : ["the benchmarks' packages are not installed"],
);
await step("lint and format", () =>
  exit(run(binOf("@biomejs/biome", "biome"), ["check", "--error-on-warnings", "."])),
);
await step("exports", exportProblems);
await step("lockfiles", lockfileProblems);
if (install("tools")) {
  const knip = (...args) =>
    exit(
      run(binOf("knip", "knip", "tools"), [
        "--config=tools/knip.js",
        // Generated sources are ignored by git, but they use what they import.
        "--no-gitignore",
        "--exclude=unresolved,binaries",
        ...args,
      ]),
    );
  await step("code that nothing but tests uses (knip)", () => knip("--production"));
  await step("exports and packages that nothing uses (knip)", () => knip());
  await step("the API reference is complete and up to date", () =>
    exit(run(join(root, "tools/api.mjs"), ["--check"])),
  );
  await step("the package (publint)", () => withTarball(publint));
  await step("the package's types resolve (attw)", () => withTarball(attw));
  await step("the package's types compile for its users", () => withTarball(consumerTypes));
} else failures.push("the tools are not installed");
await step("browser entry points: no Node, no eval", findBrowserProblems);
await step("size of subscribe in a page", findSubscribeSize);
await step("size of the element and the Inspector", async () => {
  const { size } = await bundleWeb();
  const { first } = await bundleInspector();
  return [
    ["earshot-live.js", size("earshot-live.js"), MOST_BYTES],
    ["the Inspector's first load", first, MOST_FIRST_BYTES],
  ].flatMap(([name, bytes, most]) =>
    bytes > most ? [`${name} is ${bytes} bytes min+gzip; at most ${most}`] : [],
  );
});
process.exit(failures.length === 0 ? 0 : 1);
