// Allowed imports: the table under "Folders" in CONTRIBUTING.md, compared with the import statements of the sources.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";

const root = fileURLToPath(new URL("../", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

/** A place below src, `*` standing for one folder; as types only, or only through `import()`, where it says so. */
type Grant = string | { types: string } | { lazy: string };

const CLIENTS = "transports/*/client";

const MAY_IMPORT: Record<string, readonly Grant[]> = {
  protocol: ["text/language"],
  framing: [],
  text: [{ types: "protocol" }],
  delivery: ["protocol", "text"],
  subscriber: ["protocol", "text", "framing", "transports/client-connection", { lazy: CLIENTS }],
  hub: ["protocol", "text", "delivery"],
  producer: ["protocol", "text", "hub", "stores/memory"],
  auth: ["protocol"],
  transports: ["protocol", "framing", { types: "auth" }],
  stores: ["protocol", { types: "hub" }],
  voices: ["protocol", "text", "subscriber"],
  web: ["protocol", "text", "subscriber"],
  bridges: ["protocol", "producer", "subscriber", "transports/memory"],
  testing: ["protocol", "producer", "subscriber", "transports/memory"],
  conformance: ["protocol", "framing", "text", "subscriber", CLIENTS],
  server: [
    ..."protocol framing text delivery subscriber hub producer auth transports stores".split(" "),
    ..."voices web bridges testing conformance".split(" "),
  ],
  // Public entry points only: see `roomProblems`.
  cli: [],
  // The package's main entry point, src/index.ts.
  "": ["protocol", "producer", "subscriber"],
};

/** They run in browsers and workers too. */
const CORE = ["protocol", "framing", "delivery", "hub", "producer", "subscriber", "text"];

const MOST_LINES = 700;
/** Data, not logic: a table does not get clearer by being cut in two. */
const MAY_BE_LONG = [/^src\/[\w/-]*\/(?:generated|schema)\//, /^src\/conformance\/requirements/];

const builtins = new Set(builtinModules);
const installed = new Set(
  ["dependencies", "peerDependencies", "optionalDependencies"].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  ),
);
const entries = new Set(
  Object.values<{ default?: string }>(manifest.exports)
    .flatMap((target) => target.default ?? [])
    .map((file) => file.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts")),
);

interface Import {
  from: string;
  types: boolean;
  lazy: boolean;
}

describe("the rooms", () => {
  it("lean only on those the table lets them lean on", () => {
    expectNone(sources("src").flatMap(([file, text]) => roomProblems(file, text)));
  });

  it("import no Node-only module where browsers come in", () => {
    expectNone(sources("src").flatMap(([file, text]) => nodeProblems(file, text)));
  });

  it("import no package a user of earshot would not have", () => {
    expectNone(sources("src").flatMap(([file, text]) => packageProblems(file, text)));
  });

  it("hold no file that should be two", () => {
    expectNone(sources("src").flatMap(([file, text]) => lengthProblems(file, text)));
  });

  it("are used by examples and the inspector through public entry points only", () => {
    const outside = ["examples", "inspector"].flatMap((folder) => sources(folder));
    expectNone(outside.flatMap(([file, text]) => entryProblems(file, text)));
  });
});

describe("the check itself", () => {
  const refused: [file: string, source: string][] = [
    ["src/protocol/a.ts", 'import { x } from "../hub/hub.ts";'],
    ["src/protocol/a.ts", 'export type { X } from "../delivery/cut.ts";'],
    ["src/delivery/a.ts", 'import { x } from "../subscriber/index.ts";'],
    ["src/text/a.ts", 'import { x } from "../protocol/parse.ts";'],
    ["src/hub/a.ts", 'import { x } from "../stores/memory.ts";'],
    ["src/producer/a.ts", 'import { x } from "../stores/embedded.ts";'],
    ["src/subscriber/a.ts", 'import { x } from "../transports/sse/client.ts";'],
    ["src/subscriber/a.ts", 'const x = await import("../transports/sse/server.ts");'],
    ["src/transports/sse/server.ts", 'import type { Hub } from "../../hub/hub.ts";'],
    ["src/transports/sse/server.ts", 'import { x } from "../websocket/server.ts";'],
    ["src/transports/sse/server.ts", 'import { check } from "../../auth/bearer.ts";'],
    ["src/stores/embedded.ts", 'import { createHub } from "../hub/hub.ts";'],
    ["src/conformance/runner.ts", 'import { x } from "../transports/sse/server.ts";'],
    ["src/conformance/runner.ts", 'let x: import("../hub/hub.ts").Hub;'],
    ["src/server/serve.ts", 'import { x } from "../cli/main.ts";'],
    ["src/cli/main.ts", 'import { x } from "../hub/hub.ts";'],
    ["src/attic/a.ts", "export const x = 1;"],
    ["src/hub/a.ts", 'import { x } from "../../test/support/messages.ts";'],
    ["src/protocol/a.ts", 'import { x } from "../protocolish/a.ts";'],
  ];
  it.each(refused)("refuses in %s: %s", (file, source) => {
    expect(roomProblems(file, source)).toHaveLength(1);
  });

  const allowed: [file: string, source: string][] = [
    ["src/protocol/a.ts", 'import { x } from "./b.ts";'],
    ["src/producer/a.ts", 'import { x } from "../stores/memory.ts";'],
    [
      "src/subscriber/a.ts",
      'import type { X } from "../transports/sse/client.ts"; await import("../transports/sse/client.ts");',
    ],
    ["src/subscriber/a.ts", 'import { type X, type Y } from "../transports/sse/client.ts";'],
    [
      "src/transports/sse/server.ts",
      'import type { Principal } from "../../auth/principal.ts"; import { x } from "./fields.ts";',
    ],
    ["src/transports/sse/server.ts", 'import { ServerConnection } from "../server-connection.ts";'],
    ["src/stores/embedded.ts", 'import type { Store } from "../hub/store.ts";'],
    ["src/bridges/mcp/a.ts", 'import { x } from "../../transports/memory/server.ts";'],
    [
      "src/cli/main.ts",
      'import { parse } from "../protocol/index.ts"; import { x } from "./commands/say.ts";',
    ],
    [
      "src/protocol/a.ts",
      '// import { x } from "../hub/hub.ts";\nexport const text = \'import "../hub/hub.ts"\';',
    ],
  ];
  it.each(allowed)("lets pass in %s: %s", (file, source) => {
    expect(roomProblems(file, source)).toEqual([]);
  });

  it("sees Node modules with and without prefix, and packages by their name", () => {
    expect(nodeProblems("src/hub/a.ts", 'import { x } from "node:fs";')).toHaveLength(1);
    expect(nodeProblems("src/hub/a.ts", 'await import("fs/promises");')).toHaveLength(1);
    expect(nodeProblems("src/server/a.ts", 'import { x } from "node:fs";')).toEqual([]);
    expect(packageProblems("src/server/a.ts", 'import { x } from "node:fs";')).toEqual([]);
    for (const name of ["zod", "ajv/dist/2020.js", "@biomejs/biome", "never-heard-of"]) {
      expect(packageProblems("src/server/a.ts", `import x from "${name}";`)).toHaveLength(1);
    }
    expect(entryProblems("examples/x/main.mjs", 'import { x } from "../../src/hub/hub.ts";')).toHaveLength(1);
    expect(entryProblems("examples/x/main.mjs", 'import { x } from "earshot/hub/questions";')).toHaveLength(
      1,
    );
    expect(entryProblems("examples/x/main.mjs", 'import { parse } from "earshot/protocol";')).toEqual([]);
    expect(lengthProblems("src/hub/a.ts", "\n".repeat(701))).toHaveLength(1);
  });
});

function roomProblems(file: string, text: string): string[] {
  const room = roomOf(file);
  const grants = MAY_IMPORT[room];
  if (!grants) {
    return [
      `${file}: src/${room} is a new room. Say in CONTRIBUTING.md and in MAY_IMPORT of this test what it may import.`,
    ];
  }
  return importsOf(file, text)
    .filter(({ from }) => from.startsWith("."))
    .map((one) => ({ ...one, target: posix.join(posix.dirname(file), one.from) }))
    .filter(({ target }) => !isOwn(file, target) && !(room === "cli" && entries.has(target)))
    .filter((one) => !grants.some((grant) => covers(grant, one)))
    .map(({ target, types, lazy }) => {
      const may =
        grants.map(inWords).join(", ") || (room === "cli" ? "public entry points" : "nothing of ours");
      const how = types ? "types of " : lazy ? "lazily " : "";
      return `${file} imports ${how}${target}. src/${room} may import: ${may}. Move the code to a room both may use, or have it passed in.`;
    });
}

function nodeProblems(file: string, text: string): string[] {
  if (!CORE.includes(roomOf(file))) return [];
  return importsOf(file, text)
    .filter(({ from }) => isBuiltin(from))
    .map(
      ({ from }) =>
        `${file} imports ${from}, which browsers do not have. Use what every platform has, or take it as a parameter.`,
    );
}

function packageProblems(file: string, text: string): string[] {
  return importsOf(file, text)
    .filter(({ from }) => !from.startsWith(".") && !isBuiltin(from) && !installed.has(packageOf(from)))
    .map(
      ({ from }) =>
        `${file} imports ${from}, which is not installed with earshot. Make ${packageOf(from)} a dependency or an optional peer (docs/dependencies.md), or do without.`,
    );
}

function lengthProblems(file: string, text: string): string[] {
  const lines = text.split("\n").length - 1;
  if (lines <= MOST_LINES || MAY_BE_LONG.some((pattern) => pattern.test(file))) return [];
  return [
    `${file} has ${lines} lines; at most ${MOST_LINES}. Find the second purpose in it and give that its own file.`,
  ];
}

function entryProblems(file: string, text: string): string[] {
  const folder = file.split("/")[0]!;
  return importsOf(file, text).flatMap(({ from }) => {
    const advice = "Import what package.json exports, or export what is missing.";
    if (packageOf(from) === "earshot") {
      const subpath = `.${from.slice("earshot".length)}`;
      const known = subpath in manifest.exports || subpath.startsWith("./schemas/");
      return known ? [] : [`${file} imports ${from}, which is no public entry point. ${advice}`];
    }
    if (!from.startsWith(".")) return [];
    const target = posix.join(posix.dirname(file), from);
    const fine = target.startsWith(`${folder}/`) || entries.has(target);
    return fine ? [] : [`${file} imports ${target}. ${advice}`];
  });
}

function covers(grant: Grant, { target, types, lazy }: Import & { target: string }): boolean {
  if (typeof grant === "string") return isAt(target, grant);
  if ("types" in grant) return types && isAt(target, grant.types);
  return (types || lazy) && isAt(target, grant.lazy);
}

/** `src/stores/memory.ts` and `src/stores/memory/index.ts` are both at `stores/memory`. */
function isAt(target: string, place: string): boolean {
  const pattern = place
    .split("/")
    .map((part) => (part === "*" ? "[^/]+" : part))
    .join("/");
  return new RegExp(`^src/${pattern}(?:/|\\.tsx?$)`).test(target);
}

/** Each transport is a room of its own; files directly under src/transports are the hallway they share. */
function isOwn(file: string, target: string): boolean {
  const parts = file.split("/");
  if (parts[1] === "transports" && /^src\/transports\/[^/]+\.ts$/.test(target)) return true;
  const depth = parts[1] === "transports" ? 3 : 2;
  return parts.length > depth && target.startsWith(`${parts.slice(0, depth).join("/")}/`);
}

function roomOf(file: string): string {
  const parts = file.split("/");
  return parts.length > 2 ? parts[1]! : "";
}

const inWords = (grant: Grant): string =>
  typeof grant === "string"
    ? grant
    : "types" in grant
      ? `types of ${grant.types}`
      : `${grant.lazy} by import()`;

const isBuiltin = (from: string): boolean => from.startsWith("node:") || builtins.has(from);

function packageOf(from: string): string {
  return from
    .split("/")
    .slice(0, from.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Every import, export-from, import() and type import() of a file. */
function importsOf(file: string, text: string): Import[] {
  const found: Import[] = [];
  const add = (source: unknown, types: boolean, lazy: boolean) => {
    const from = (source as { value?: unknown } | undefined)?.value;
    if (typeof from === "string") found.push({ from, types, lazy });
  };
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== "object" || node === null) return;
    const { type, source, importKind, exportKind, specifiers } = node as Record<string, unknown>;
    if (
      type === "ImportDeclaration" ||
      type === "ExportNamedDeclaration" ||
      type === "ExportAllDeclaration"
    ) {
      const named = (specifiers ?? []) as { importKind?: string; exportKind?: string }[];
      const each = named.length > 0 && named.every((one) => (one.importKind ?? one.exportKind) === "type");
      add(source, importKind === "type" || exportKind === "type" || each, false);
    }
    if (type === "ImportExpression") add(source, false, true);
    if (type === "TSImportType") add(source ?? (node as Record<string, unknown>)["argument"], true, false);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(text, { lang: file.endsWith("x") ? "tsx" : "ts" }, file));
  return found;
}

function sources(folder: string): [file: string, text: string][] {
  if (!existsSync(`${root}${folder}`)) return [];
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter(
      (file) =>
        /\.(?:ts|tsx|mjs)$/.test(file) && !/\.test\.tsx?$/.test(file) && !file.includes("/node_modules/"),
    )
    .sort()
    .map((file) => [file, readFileSync(`${root}${file}`, "utf8")]);
}

function expectNone(lines: string[]): void {
  expect(lines, lines.map((line) => `\n  ${line}`).join("")).toHaveLength(0);
}
