// The package as its users get it: packs it, and looks at it with publint, attw and two TypeScript compilers.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npm } from "../install.mjs";
import { binOf, root } from "../run.mjs";

/** Entry points for programs on Node; every other one must compile in a project without Node's types. */
const NODE_ONLY = ["./server", "./stores/embedded", "./voices"];

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(manifest.exports).filter((name) => typeof manifest.exports[name] === "object");

/** Runs a program of tools/; what it printed is the problem if it fails. */
function problemsOf(script, args, cwd = root) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
  });
  return status === 0 ? [] : `${stdout}${stderr}`.trim().split("\n");
}

/** Packs dist/ as it is, hands the tarball's path to each check, and removes it. */
export function withTarball(use) {
  const folder = mkdtempSync(join(tmpdir(), "earshot-package-"));
  try {
    if (!npm(["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], root, "ignore"))
      return ["npm pack failed"];
    return use(join(folder, `${manifest.name}-${manifest.version}.tgz`), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const publint = (tarball) =>
  problemsOf(binOf("publint", "publint", "tools"), ["run", tarball, "--strict", "--level", "suggestion"]);

export const attw = (tarball) =>
  problemsOf(binOf("@arethetypeswrong/cli", "attw", "tools"), [
    tarball,
    "--profile",
    "esm-only",
    "--format",
    "ascii",
  ]);

/** Compiles an import of every entry point in a project that has neither @grpc/grpc-js nor react. */
export function consumerTypes(tarball, folder) {
  const project = join(folder, "project");
  const installed = join(project, "node_modules/earshot");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  if (!(statSync(join(installed, "dist/cli/main.js")).mode & 0o100))
    return ["dist/cli/main.js is not executable in the package"];
  for (const name of Object.keys(manifest.dependencies)) copy(name, project);
  const withoutNode = compile(
    project,
    entries.filter((name) => !NODE_ONLY.includes(name)),
    [],
  );
  for (const name of ["@types/node", "undici-types"]) copy(name, project);
  return [...withoutNode, ...compile(project, entries, ["node"])];
}

const copy = (name, project) =>
  cpSync(join(root, "node_modules", name), join(project, "node_modules", name), { recursive: true });

function compile(project, names, types) {
  const lines = names.map((name, i) => `import * as entry${i} from "earshot${name.slice(1)}";`);
  const all = `export const entries: unknown[] = [${names.map((_, i) => `entry${i}`).join(", ")}];`;
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "main.ts"), [...lines, all, ""].join("\n"));
  return ["nodenext", "bundler"].flatMap((resolution) => {
    const compilerOptions = {
      target: "es2022",
      lib: ["ES2022", "DOM", "DOM.Iterable"],
      module: resolution === "bundler" ? "esnext" : resolution,
      moduleResolution: resolution,
      types,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["main.ts"] }));
    return [binOf("typescript", "tsc"), binOf("typescript", "tsc", "tools")].flatMap((tsc) =>
      problemsOf(tsc, ["-p", "."], project).map(
        (line) => `${resolution}${types.length > 0 ? "" : ", without @types/node"}: ${line}`,
      ),
    );
  });
}
