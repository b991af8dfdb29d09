// Writes the API reference: docs/api/*.md, one page per entry point, and docs/api.md, their index. `npm run api` runs it.
// With --check it writes nothing and fails if a page is out of date. Either way it fails on a public name without a
// sentence about it.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Application, ReflectionKind } from "typedoc";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const docs = join(root, "docs");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** The entry points, without the bundle for pages: it exports nothing to describe. */
const entries = Object.entries(exports)
  .filter(([subpath, target]) => typeof target === "object" && !subpath.endsWith(".js"))
  .map(([subpath, { types }]) => ({
    name: `earshot${subpath.slice(1)}`,
    page: subpath === "." ? "earshot" : subpath.slice(2).replaceAll("/", "-"),
    module: types.replace(/^\.\/dist\/|(?:(?<=\w)\/index)?\.d\.ts$/g, ""),
    source: join(root, types.replace(/^\.\/dist\//, "src/").replace(/\.d\.ts$/, ".ts")),
  }));

const folder = mkdtempSync(join(tmpdir(), "earshot-api-"));
const app = await Application.bootstrapWithPlugins({
  name: "API reference",
  entryPoints: entries.map(({ source }) => source),
  tsconfig: join(root, "tsconfig.build.json"),
  plugin: ["typedoc-plugin-markdown"],
  // Named here, because TypeDoc's own default is docs/, which it would empty first.
  outputs: [{ name: "markdown", path: folder }],
  logLevel: "Warn",
  // A type that a signature mentions and no entry point exports is internal: named, not described.
  validation: { notExported: false, invalidLink: true, notDocumented: false },
  alwaysCreateEntryPointModule: true,
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeProtected: true,
  readme: "none",
  sort: ["alphabetical"],
  groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases", "References"],
  outputFileStrategy: "modules",
  // Headings repeat (`close()`), and renderers number them in ways of their own.
  useHTMLAnchors: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeAliasPropertiesFormat: "table",
  propertyMembersFormat: "table",
  typeDeclarationFormat: "table",
  tableColumnSettings: {
    hideDefaults: true,
    hideInherited: true,
    hideModifiers: true,
    hideOverrides: true,
    hideSources: true,
  },
});
const project = await app.convert();
if (!project) process.exit(1);

const problems = [];
for (const entry of entries) {
  const module = project.children.find(({ name }) => name === entry.module);
  if (!module) throw new Error(`${entry.name} has no module named ${entry.module}.`);
  entry.reflection = module;
  for (const name of module.children ?? [])
    if (!isDocumented(name)) problems.push(`${entry.name}: ${name.name} has no sentence about it`);
}
for (const { reflection, page } of entries) reflection.name = page;

/** A reference leads to a name described elsewhere; a function's sentence is its signature's. */
function isDocumented(reflection) {
  if (reflection.kindOf(ReflectionKind.Reference)) return true;
  const signatures = [...(reflection.signatures ?? []), ...(reflection.type?.declaration?.signatures ?? [])];
  return [reflection, ...signatures].some(({ comment }) => comment?.summary.some(({ text }) => text.trim()));
}

await app.generateOutputs(project);

/** The comment at the top of an entry point's file: what the entry point is for. */
const purposeOf = ({ source }) =>
  (/^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(source, "utf8"))?.[1] ?? "")
    .replace(/^\s*\* ?/gm, "")
    .replace(/\s+/g, " ")
    .replace(/^ *`earshot[\w/]*`:\s*/, "")
    .trim()
    .replace(/^./, (first) => first.toUpperCase());

const BANNER = "<!-- Written by `npm run api`. Do not edit. -->";
/** Longest type that helps a reader; beyond it, it is a table of data. */
const MOST_CHARACTERS = 1_500;
const shortened = (line) =>
  line.length <= MOST_CHARACTERS ? line : `${line.slice(0, MOST_CHARACTERS).replace(/\s\S*$/, "")} …`;
const pages = new Map(
  entries.map((entry) => {
    const { name, page } = entry;
    const text = readFileSync(join(folder, `${page}.md`), "utf8").replace(
      /^# .*$/m,
      `# ${name}\n\n${purposeOf(entry)}`,
    );
    return [`api/${page}.md`, `${BANNER}\n\n${text.split("\n").map(shortened).join("\n")}`];
  }),
);
rmSync(folder, { recursive: true, force: true });

pages.set(
  "api.md",
  [
    BANNER,
    "",
    "# API reference",
    "",
    "Every public name, with its types and what it does: one page per entry point.",
    "",
    "| entry point | names | what it is for |",
    "|---|---|---|",
    ...entries.map(
      (entry) =>
        `| [${entry.name}](api/${entry.page}.md) | ${entry.reflection.children?.length ?? 0} | ${purposeOf(entry)} |`,
    ),
    "",
  ].join("\n"),
);
for (const entry of entries)
  if (!purposeOf(entry)) problems.push(`${entry.name} has no comment at the top of its file`);

const kept = existsSync(join(docs, "api")) ? readdirSync(join(docs, "api")).map((file) => `api/${file}`) : [];
const outdated = [...pages].filter(([file, text]) => {
  const path = join(docs, file);
  return !existsSync(path) || readFileSync(path, "utf8") !== text;
});
const leftover = kept.filter((file) => !pages.has(file));
if (process.argv.includes("--check")) {
  for (const file of [...outdated.map(([name]) => name), ...leftover])
    problems.push(`docs/${file} is out of date; run npm run api`);
} else {
  mkdirSync(join(docs, "api"), { recursive: true });
  for (const [file, text] of outdated) writeFileSync(join(docs, file), text);
  for (const file of leftover) rmSync(join(docs, file));
  console.log(`${pages.size} pages, ${outdated.length} changed.`);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 || app.logger.hasErrors() ? 1 : 0);
