// Exports nobody imports and files nobody reaches. Reads the sources as text: names are unique enough here that a
// word search is exact in practice, and it needs no compiler API.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "../run.mjs";

const files = (dir) =>
  readdirSync(join(root, dir), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|mjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"));

const safeFiles = (dir) => {
  try {
    return files(dir);
  } catch {
    return [];
  }
};

export function findUnused() {
  const sources = new Map(
    ["src", "test", "bench", "examples", "scripts", "inspector"]
      .flatMap(safeFiles)
      .map((file) => [file, readFileSync(join(root, file), "utf8")]),
  );
  const { exports, bin = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entries = new Set(
    [...Object.values(exports), ...Object.values(bin).map((file) => ({ default: file }))]
      .filter((target) => typeof target === "object")
      .map((target) => target.default.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts")),
  );
  const problems = [];
  for (const [file, text] of sources) {
    if (
      !file.startsWith("src/") ||
      file.endsWith(".test.ts") ||
      file.includes("/generated/") ||
      entries.has(file)
    )
      continue;
    const base = file.split("/").at(-1);
    const reached = [...sources].some(([other, code]) => other !== file && code.includes(`/${base}"`));
    if (!reached) problems.push(`${file} is imported by nobody`);
    // Re-exported wholesale by an entry point: public by intent.
    const starred = [...entries].some((entry) =>
      new RegExp(`export (?:type )?\\* from "[./\\w-]*/${base}"`).test(sources.get(entry) ?? ""),
    );
    if (starred) continue;
    for (const [, kind, name] of text.matchAll(
      /^export (?:async )?(const|let|function\*?|class|interface|type|enum) (\w+)/gm,
    )) {
      // A shape that an export of the same file takes or gives is part of it: whoever calls it may want to name it.
      const named = text.match(new RegExp(`\\b${name}\\b`, "g")).length;
      if ((kind === "interface" || kind === "type") && named > 1) continue;
      const used = [...sources].some(
        ([other, code]) => other !== file && new RegExp(`\\b${name}\\b`).test(code),
      );
      if (!used) problems.push(`${file} exports ${name}, which nobody uses`);
    }
  }
  return problems;
}
