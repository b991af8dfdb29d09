/**
 * Every `ts` block in README.md and docs/ compiles against the built package and runs. A comment before a block
 * (`<!-- given … -->`) holds its hidden setup, a comment after it (`<!-- finally … -->`) its cleanup. A `text` block right
 * after it is its expected output. Links must not be broken.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildIfStale } from "../scripts/build-if-stale.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !/\bnode_modules\b/.test(name))
    .map((name) => `examples/${name}`),
];
const read = (page: string) => readFileSync(join(root, page), "utf8");

const BLOCK =
  /(?:<!-- given\n([\s\S]*?)-->\n+)?```ts\n([\s\S]*?)```(?:\n+<!-- finally\n([\s\S]*?)-->)?(?:\n+```text\n([\s\S]*?)```)?/g;

interface Snippet {
  readonly name: string;
  readonly file: string;
  readonly source: string;
  readonly prints: string | undefined;
}

const folder = join(root, `.artifacts/docs-${process.pid}`);
/** Its blocks build on one another and have a test of their own. */
const ELSEWHERE = "docs/validation.md";
const snippets: Snippet[] = pages
  .filter((page) => page !== ELSEWHERE)
  .flatMap((page) =>
    [...read(page).matchAll(BLOCK)].map(([whole, given = "", code, last = "", prints], i) => ({
      name: `${page}, block ${i + 1}: ${code!.split("\n").find((line) => line && !line.startsWith("import")) ?? whole.slice(0, 40)}`,
      file: join(folder, `${page.replace(/\W/g, "-")}-${i + 1}.mts`),
      source: `${given}${code}${last}\nexport {};\n`,
      prints,
    })),
  );

beforeAll(() => {
  buildIfStale();
  mkdirSync(folder, { recursive: true });
  for (const { file, source } of snippets) writeFileSync(file, source);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the snippets", () => {
  it("are there", () => {
    expect(snippets.length).toBeGreaterThan(5);
  });

  it("are all TypeScript: what is checked is what can be copied", () => {
    const unchecked = pages.filter((page) => /^```(?:js|javascript|mjs)$/m.test(read(page)));
    expect(unchecked.filter((page) => page !== ELSEWHERE)).toEqual([]);
  });

  it("compile", () => {
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: { noUnusedLocals: false },
        include: ["*.mts"],
      }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { cwd: root, encoding: "utf8" });
    expect(stdout).toBe("");
  });

  it.each(snippets)("run: $name", async ({ file, source, prints }) => {
    const script = file.replace(/mts$/, "mjs");
    writeFileSync(script, transformSync(source, { loader: "ts", format: "esm", target: "node20" }).code);
    const { status, out, err } = await runNode(script);
    expect(status, `${out}${err}`).toBe(0);
    if (prints !== undefined) expect(out).toBe(prints);
  });
});

describe("the links", () => {
  it.each(pages)("in %s lead somewhere", (page) => {
    const text = read(page).replace(/```[\s\S]*?```/g, "");
    const dead = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !leads(page, target));
    expect(dead).toEqual([]);
  });

  it("reach every page of docs/ from the README", () => {
    const seen = new Set<string>();
    const visit = (page: string) => {
      if (seen.has(page) || !page.endsWith(".md") || !existsSync(join(root, page))) return;
      seen.add(page);
      for (const [, target] of read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g))
        if (!/^[a-z]+:/.test(target!)) visit(relative(root, join(root, dirname(page), target!)));
    };
    visit("README.md");
    expect(pages.filter((page) => page.startsWith("docs/") && !seen.has(page))).toEqual([]);
  });
});

function leads(page: string, target: string): boolean {
  const [path, anchor] = target.split("#") as [string, string?];
  const file = path === "" ? page : relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, file))) return false;
  if (anchor === undefined || !file.endsWith(".md")) return true;
  const text = read(file).replace(/```[\s\S]*?```/g, "");
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id));
  // Repeated headings are numbered, as GitHub numbers them.
  const repeated = new Map<string, number>();
  for (const [, title] of text.matchAll(/^#+ (.+)$/gm)) {
    const slug = title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const count = repeated.get(slug) ?? 0;
    repeated.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors.has(anchor);
}

function runNode(script: string): Promise<{ status: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script], { cwd: root, timeout: 20_000 });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      err += chunk;
    });
    child.once("close", (status) => resolve({ status, out, err }));
  });
}
