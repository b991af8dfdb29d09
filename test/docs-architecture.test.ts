// docs/architecture.md names files and functions; each must exist where the page says it does.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const page = readFileSync(`${root}docs/architecture.md`, "utf8").replaceAll(/\s+/g, " ");
const named = [...page.matchAll(/`([A-Za-z][\w.]*)`[,\s]*\(?`?(?:\()?`(src\/[\w/.-]+\.ts)`/g)].map(
  ([, name, file]) => [name!, file!] as const,
);
const folders = [...page.matchAll(/`(src\/[\w/-]+)`/g)].map(([, folder]) => folder!);

/** Whether a file declares a function, class, type or constant, or a class with a method. */
function declares(source: string, name: string): boolean {
  const [owner, method] = name.split(".") as [string, string | undefined];
  const declaration = new RegExp(
    `^\\s*(?:export )?(?:async )?(?:function|class|interface|type|const|abstract class) ${owner}\\b`,
    "m",
  );
  if (!declaration.test(source)) return false;
  return method === undefined || new RegExp(`^ {2}(?:async |static )?${method}[(<]`, "m").test(source);
}

describe("docs/architecture.md", () => {
  it("describes the five walks by file and function", () => {
    for (const walk of ["A token", "An approval", "A handshake", "A resume", "A restart"])
      expect(page).toContain(`## ${walk}`);
    expect(named.length).toBeGreaterThan(40);
  });

  it.each(named)("finds %s in %s", (name, file) => {
    expect(existsSync(`${root}${file}`), `${file} does not exist`).toBe(true);
    expect(declares(readFileSync(`${root}${file}`, "utf8"), name), `${name} is not declared in ${file}`).toBe(
      true,
    );
  });

  it.each(folders)("finds the folder %s", (folder) => {
    expect(existsSync(`${root}${folder}`)).toBe(true);
  });

  it("checks declarations and methods, not mentions", () => {
    expect(declares("export class Hub {\n  append(event) {}\n}", "Hub.append")).toBe(true);
    expect(declares("// Hub.append\nimport { Hub } from './hub.ts';", "Hub")).toBe(false);
    expect(declares("export class Hub {\n  close() {}\n}", "Hub.append")).toBe(false);
  });
});
