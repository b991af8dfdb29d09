// Every MUST has a test that cites it (house rule 6): test titles are held against the requirements data and
// against the list of what is still owed. An id counts only where a running test or suite carries it in its title.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";
import { ALL_IDS, LEVELS, REQUIREMENTS, type Requirement } from "../src/conformance/requirements.ts";
import { OWED } from "./requirements-owed.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const self = basename(fileURLToPath(import.meta.url));
const citation = new RegExp(`\\b(?:${Object.keys(ALL_IDS).join("|")})-\\d\\d\\b`, "g");

const requirements = new Map<string, Requirement>(REQUIREMENTS.map((one) => [one.id, one]));
const citations = citationsOf(testFiles());
const owed = Object.entries(OWED).flatMap(([area, ids]) => ids.map((id) => ({ area, id })));

describe("the tests", () => {
  it("cite only requirements that exist", () => {
    const unknown = [...citations]
      .filter(([id]) => !exists(id))
      .map(([id, files]) => `${id} in ${list(files)}`);

    expectNone(unknown, "Cited in a test's title, but no such requirement exists. Correct the id:");
  });

  it("cite every MUST that is not listed as owed", () => {
    const excused = new Set(owed.map(({ id }) => id));
    const missing = REQUIREMENTS.filter(({ id }) => !citations.has(id) && !excused.has(id)).map(describeOne);

    expectNone(
      missing,
      "No test cites these. Write one with the id in its title, or list it in requirements-owed.ts:",
    );
  });
});

describe("the list of what is owed", () => {
  it("shrinks as tests arrive", () => {
    const paid = owed
      .filter(({ id }) => citations.has(id))
      .map(({ area, id }) => `${id} (${area}), cited in ${list(citations.get(id) ?? [])}`);

    expectNone(paid, "A test cites these now. Take them off requirements-owed.ts:");
  });

  it("names MUSTs only, and each of them once", () => {
    const unknown = owed.filter(({ id }) => !requirements.has(id)).map(({ area, id }) => `${id} (${area})`);
    const twice = repeated(owed.map(({ id }) => id));

    expectNone(unknown, "Owed, but not the id of a MUST or MUST NOT:");
    expectNone(twice, "Owed more than once:");
  });
});

describe("the requirements data", () => {
  it("has every id once, in the order of the sections", () => {
    const ids = REQUIREMENTS.map(({ id }) => id);

    expect(ids.filter((id) => !exists(id))).toEqual([]);
    expect(repeated(ids)).toEqual([]);
    expect(ids).toEqual([...ids].sort((a, b) => place(a) - place(b)));
  });

  it("makes mandatory at each level only what binds that side from that level on, and forgets nothing", () => {
    const sides = [
      { levels: LEVELS.producer, bound: ["P", "B", "T"] },
      { levels: LEVELS.subscriber, bound: ["S", "B", "T"] },
    ];
    for (const { levels, bound } of sides) {
      const listed = Object.entries(levels).flatMap(([level, ids]) =>
        ids.map((id: string) => ({ id, level: Number(level), requirement: requirements.get(id) })),
      );
      const wrong = listed.filter(
        ({ level, requirement }) =>
          !requirement || !bound.includes(requirement.who) || !requirement.level || requirement.level > level,
      );
      const forgotten = REQUIREMENTS.filter(
        ({ id, who, level }) => level && bound.includes(who) && !listed.some((one) => one.id === id),
      );

      expect(wrong).toEqual([]);
      expect(forgotten).toEqual([]);
    }
  });
});

describe("a citation", () => {
  it("counts in the title of a test or suite, however that is written", () => {
    const source = `
      it("one: ENV-01, ENV-02", () => {});
      test('two (ENV-03)', () => {});
      describe(\`ENV-04 over \${transport} and ENV-05\`, () => { it("ENV-06 " + "in two parts, ENV-07") });
      it.each<number>([1, 2])("ENV-08 with %d", (n: number) => {});
      describe.runIf(supported)("ENV-09", () => {});
    `;

    expect(idsInTitles(source)).toEqual([
      "ENV-01",
      "ENV-02",
      "ENV-03",
      "ENV-04",
      "ENV-05",
      "ENV-06",
      "ENV-07",
      "ENV-08",
      "ENV-09",
    ]);
  });

  it("does not count in comments, in bodies, or in tests that never run", () => {
    const never = ["skip", "todo"].map(
      (word) => `it.${word}("ENV-05"); describe.${word}("ENV-06", () => { it("ENV-07", () => {}); });`,
    );
    const source = `
      // it("ENV-01", () => {});
      /* it("ENV-02", () => {}); */
      it("cites nothing", () => { expect("ENV-03").toBe(/x/.test("ENV-04")); });
      ${never.join("\n")}
    `;

    expect(idsInTitles(source)).toEqual([]);
  });
});

function testFiles(): string[] {
  return ["src", "test", "examples"].flatMap((folder) =>
    filesUnder(folder).filter(
      (file) => file.endsWith(".test.ts") || (folder === "test" && file.endsWith(".ts")),
    ),
  );
}

function filesUnder(folder: string): string[] {
  if (!existsSync(`${root}${folder}`)) return [];
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
    .filter((file) => file !== `test/${self}` && !file.includes("/node_modules/"))
    .sort();
}

function citationsOf(files: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of files) {
    for (const id of idsInTitles(readFileSync(`${root}${file}`, "utf8"), file)) {
      const citing = found.get(id) ?? [];
      if (!citing.includes(file)) found.set(id, [...citing, file]);
    }
  }
  return found;
}

function idsInTitles(source: string, file = "a test file"): string[] {
  return titles(parseAst(source, { lang: "ts" }, file)).flatMap((title) => title.match(citation) ?? []);
}

type Node = { type: string; [key: string]: unknown };

/** The titles of all tests and suites below a node of the syntax tree, those that never run left out. */
function titles(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(titles);
  if (!isNode(node)) return [];
  const own: string[] = [];
  if (node.type === "CallExpression") {
    const [name, ...modifiers] = calledAs(node["callee"]);
    if (name === "it" || name === "test" || name === "describe") {
      if (modifiers.includes("skip") || modifiers.includes("todo")) return [];
      own.push(textOf((node["arguments"] as unknown[])[0]));
    }
  }
  return [...own, ...Object.values(node).flatMap(titles)];
}

/** `it.each([1])` is called as `["it", "each"]`. */
function calledAs(callee: unknown): string[] {
  if (!isNode(callee)) return [];
  if (callee.type === "Identifier") return [callee["name"] as string];
  if (callee.type === "CallExpression") return calledAs(callee["callee"]);
  if (callee.type === "TaggedTemplateExpression") return calledAs(callee["tag"]);
  if (callee.type === "MemberExpression") {
    const object = calledAs(callee["object"]);
    return object.length > 0 ? [...object, ...calledAs(callee["property"])] : []; // not /x/.test(…)
  }
  return [];
}

function textOf(title: unknown): string {
  if (!isNode(title)) return "";
  if (title.type === "Literal") return String(title["value"]);
  if (title.type === "BinaryExpression") return textOf(title["left"]) + textOf(title["right"]);
  if (title.type === "TemplateLiteral") {
    return (title["quasis"] as { value: { raw: string } }[]).map(({ value }) => value.raw).join("…");
  }
  return "";
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function exists(id: string): boolean {
  const [section, number] = id.split("-");
  const count: number | undefined = ALL_IDS[section as keyof typeof ALL_IDS];
  return count !== undefined && Number(number) >= 1 && Number(number) <= count;
}

function place(id: string): number {
  const [section, number] = id.split("-");
  return Object.keys(ALL_IDS).indexOf(section ?? "") * 100 + Number(number);
}

function describeOne({ id, keyword, who, level, text, source }: Requirement): string {
  return `${id} (${keyword}, ${who}${level ? `, level ${level}` : ""}, ${source}): ${text}`;
}

function repeated(ids: string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

function list(files: string[]): string {
  return files.join(", ");
}

function expectNone(lines: string[], whatToDo: string): void {
  expect(lines, `${whatToDo}\n${lines.map((line) => `  ${line}\n`).join("")}`).toHaveLength(0);
}
