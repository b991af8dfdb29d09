// Settings of knip, which finds code and packages nobody uses. Run twice by `npm run check`:
//   --production  Tests do not count as users. Finds code in src and inspector that only tests, or nobody, would miss.
//   (without)     Tests, scripts and benchmarks count as users. Finds exports without an importer, and unused packages.
import { readFileSync } from "node:fs";

const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
const { exports, bin } = read("../package.json");
const sourceOf = (file) => file.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts");
const production = process.argv.includes("--production");

const published = [
  ...Object.values(exports)
    .filter((target) => typeof target === "object")
    .map((target) => sourceOf(target.types.replace(/\.d\.ts$/, ".js"))),
  ...Object.values(bin).map(sourceOf),
];

/** Loaded in ways knip cannot see. */
const loaded = [
  // By scripts/bundle-web.mjs: the element's bundle, and what replaces the catalogs in it.
  "src/web/live.ts",
  "src/web/catalogs-on-demand.ts",
  // By scripts/generate.mjs.
  "src/protocol/schema/index.ts",
  // By scripts/bundle-inspector.mjs.
  "inspector/main.ts",
];

export default {
  entry: [
    ...[...published, ...loaded].map((file) => `${file}!`),
    "scripts/*.mjs",
    "bench/*.ts",
    "examples/**/*.{js,mjs,jsx}",
    "{src,test}/**/*.test.ts",
    // Started as processes of their own by tests.
    "test/cli/fixtures/*.ts",
    "test/transports/{agent,child-listener,contender}.ts",
  ],
  project: [
    "{src,inspector}/**/*.ts!",
    "!src/**/*.test.ts!",
    "{test,bench}/**/*.ts",
    "{scripts,examples}/**/*.{js,mjs,jsx}",
    "!**/node_modules/**",
  ],
  // Code that its own file uses is not dead, even if the export is there for a unit test.
  ignoreExportsUsedInFile: production ? true : { interface: true, type: true },
  ignoreDependencies: [
    // Tests read these packages' files and hand them to a browser.
    "@guidepup/virtual-screen-reader",
    "axe-core",
    // Packages of the folders with manifests of their own.
    ...["bench", "examples/ai-sdk", "examples/langgraph", "examples/openai-agents"].flatMap((folder) =>
      Object.keys(read(`../${folder}/package.json`).dependencies),
    ),
  ],
};
