// `npm run api`: docs/api.md from the declarations in dist/. Every public name, with its types and what is said of it.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "vitest/node";
import { root } from "./run.mjs";

const read = (file) => readFileSync(join(root, file), "utf8");
const parsed = new Map();

/** What a file declares and passes on: name -> { text } or { from, name }. */
function namesOf(file) {
  if (parsed.has(file)) return parsed.get(file);
  const names = new Map();
  parsed.set(file, names);
  const source = read(file);
  const { body } = parseAst(source, { lang: "dts" });
  const local = new Map();
  const near = (from) =>
    from.startsWith(".") ? join(dirname(file), from).replace(/\.[jt]s$/, ".d.ts") : undefined;
  const textOf = (node, before) => {
    const doc = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(source.slice(before, node.start))?.[0] ?? "";
    return { doc: plain(doc), text: source.slice(node.start, node.end) };
  };
  let before = 0;
  for (const node of body) {
    const declared =
      node.declaration ??
      (/Declaration$/.test(node.type) && node.type.startsWith("Export") ? undefined : node);
    if (node.type === "ImportDeclaration") {
      for (const { local: here, imported } of node.specifiers)
        local.set(here.name, { from: near(node.source.value), name: imported?.name ?? "default" });
    } else if (node.type === "ExportAllDeclaration") {
      const target = near(node.source.value);
      if (target) for (const [name, what] of namesOf(target)) names.set(name, what);
    } else if (node.type === "ExportNamedDeclaration" && node.specifiers.length > 0) {
      const from = node.source && near(node.source.value);
      for (const { local: here, exported } of node.specifiers)
        names.set(
          exported.name,
          from ? { from, name: here.name } : (local.get(here.name) ?? { name: here.name }),
        );
    } else if (declared) {
      const what = textOf(node, before);
      const found =
        declared.declarations?.map(({ id }) => id.name) ?? (declared.id ? [declared.id.name] : []);
      for (const name of found) {
        const overload = local.get(name);
        const whole = overload?.text ? { doc: overload.doc, text: `${overload.text}\n${what.text}` } : what;
        local.set(name, whole);
        if (node.type === "ExportNamedDeclaration") names.set(name, whole);
      }
    }
    before = node.end;
  }
  for (const [name, what] of names)
    if (!what.text && !what.from && local.has(what.name)) names.set(name, local.get(what.name));
  return names;
}

function resolve(what) {
  if (what.text || !what.from) return what;
  const found = namesOf(what.from).get(what.name);
  return found ? resolve(found) : what;
}

const plain = (doc) =>
  doc
    .trim()
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .replace(/\s+/g, " ")
    .trim();

/** A table of data is told by its first lines. */
const MOST_LINES = 120;
const shortened = (text) => {
  const lines = text.split("\n");
  return lines.length <= MOST_LINES
    ? text
    : [...lines.slice(0, 12), `  // and ${lines.length - 12} more lines`].join("\n");
};

const tidy = (text) =>
  shortened(text)
    .replace(/^export (?:declare )?/gm, "")
    .replace(/^declare /gm, "")
    .replace(/^\s*#private;\n/gm, "")
    .replace(/ {4}/g, "  ");

const { exports } = JSON.parse(read("package.json"));
const pages = [];
const home = new Map();
for (const [subpath, target] of Object.entries(exports)) {
  if (typeof target === "string") continue;
  const entry = `earshot${subpath.slice(1)}`;
  const names = namesOf(target.types.replace(/^\.\//, ""));
  const listed = [...names].map(([name, what]) => ({ name, ...resolve(what) })).filter(({ text }) => text);
  listed.sort(
    (a, b) =>
      Number(/^[A-Z]/.test(a.name)) - Number(/^[A-Z]/.test(b.name)) || a.name.localeCompare(b.name, "en"),
  );
  const lines = [`## ${entry}`, ""];
  for (const { name, doc, text } of listed) {
    if (home.has(text)) {
      lines.push(`### ${name}`, "", `As in \`${home.get(text)}\`.`, "");
      continue;
    }
    home.set(text, entry);
    lines.push(`### ${name}`, "", ...(doc ? [doc, ""] : []), "```typescript", tidy(text), "```", "");
  }
  pages.push({ entry, count: listed.length, lines });
}
writeFileSync(
  join(root, "docs/api.md"),
  [
    "<!-- Written by npm run api. Do not edit. -->",
    "",
    "# API",
    "",
    "Every public name, from the types themselves.",
    "",
    ...pages.map(({ entry, count }) => `- [${entry}](#${entry.replace(/[^a-z-]/g, "")}): ${count}`),
    "",
    ...pages.flatMap(({ lines }) => lines),
  ].join("\n"),
);
console.log(pages.map(({ entry, count }) => `${entry} ${count}`).join("\n"));
