// Installs the packages of a folder with a manifest of its own (bench, examples/*, tools), when a command first needs
// them and whenever the folder's lockfile has changed. `node scripts/install.mjs FOLDER...` does it by hand.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./run.mjs";

/** Folders with a manifest of their own, and what their packages are for. */
export const FOLDERS = {
  bench: "the benchmarks' own packages",
  "examples/ai-sdk": "the AI SDK, for its recipe",
  "examples/langgraph": "LangGraph, for its recipe",
  "examples/openai-agents": "OpenAI Agents, for its recipe",
  tools: "the tools that check the package and write the API reference",
  "tools/buf": "buf, a gRPC client for the tests",
};

const stampOf = (folder) => join(root, folder, "node_modules/.earshot-installed");
const lockOf = (folder) =>
  createHash("sha256")
    .update(readFileSync(join(root, folder, "package-lock.json")))
    .digest("hex");

/** Whether a folder has the packages its lockfile names. */
export const isInstalled = (folder) =>
  existsSync(stampOf(folder)) && readFileSync(stampOf(folder), "utf8") === lockOf(folder);

/** Runs npm without a shell; true if it succeeded. */
export function npm(args, cwd, output = 2) {
  const beside = [
    process.env.npm_execpath,
    join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js"),
    join(dirname(process.execPath), "node_modules/npm/bin/npm-cli.js"),
  ].find((file) => file && /npm-cli\.js$/.test(file) && existsSync(file));
  const [command, first] = beside ? [process.execPath, [beside]] : ["npm", []];
  // Started from a script of the root, npm would take the root's folder and settings for this one's.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?:config_(?:prefix|local_prefix)|package_)/i.test(name),
    ),
  );
  const { status } = spawnSync(command, [...first, ...args], {
    cwd,
    env,
    stdio: ["ignore", output, output],
    shell: !beside && process.platform === "win32",
  });
  return status === 0;
}

/** Installs a folder's packages if they are missing or outdated. True if they are there afterwards. */
export function install(folder) {
  if (isInstalled(folder)) return true;
  console.error(`Installing ${FOLDERS[folder]} (${folder}/package.json), once.`);
  // Without a network, fail within seconds.
  const quick = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"];
  if (!npm(["ci", "--no-audit", "--no-fund", "--loglevel=error", ...quick], join(root, folder))) {
    console.error(`Could not install them. With a network: node scripts/install.mjs ${folder}`);
    return false;
  }
  writeFileSync(stampOf(folder), lockOf(folder));
  return true;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const folders = process.argv.slice(2).map((folder) => folder.replace(/\/$/, ""));
  const unknown = folders.filter((folder) => !(folder in FOLDERS));
  if (folders.length === 0 || unknown.length > 0) {
    console.error(`Name one or more of: ${Object.keys(FOLDERS).join(", ")}`);
    process.exit(2);
  }
  process.exitCode = folders.map(install).every(Boolean) ? 0 : 1;
}
