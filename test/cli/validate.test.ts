import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { EVENTS } from "../../src/protocol/generated/tables.ts";
import { parse } from "../../src/protocol/index.ts";
import { checkStream } from "../../src/protocol/lifecycle.ts";
import { fixtures, loadCanonical } from "../oracles/canonical.ts";
import { createScribe, legalSession } from "../support/legal-session.ts";
import { arbitraryFor, mutate, SAMPLES, sample } from "../support/messages.ts";
import { earshot, root, runProgram, start, terminal } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-validate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const lines = (...messages: unknown[]): string => messages.map((one) => `${JSON.stringify(one)}\n`).join("");
const started = sample("aaep:agent.session.started");
const results = (out: string): { line: number; ok: boolean; errors: unknown[]; warnings: unknown[] }[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("earshot validate", () => {
  it("prints only a summary if everything is valid", async () => {
    const { code, out, err } = await earshot([
      "validate",
      "--messages-only",
      file("good.jsonl", lines(...Object.keys(SAMPLES).map((type) => sample(type)))),
    ]);
    expect(err).toMatch(/^Checked \d+ messages\. No errors\./);
    expect(out).toBe("");
    expect(code).toBe(0);
  });

  it("prints file, line, JSON pointer, problem and ruling, and exits with 1", async () => {
    const path = file("bad.jsonl", lines(started, { ...started, event_id: "started-1" }));
    const { code, out, err } = await earshot(["validate", "--messages-only", path]);
    expect(code).toBe(1);
    expect(out).toBe(
      `${path}:2: error at /event_id: event_id must be evt_ followed by 1 to 64 letters or digits; found "started-1".\n`,
    );
    expect(err).toBe("Checked 2 messages. Not valid: 1.\n");
  });

  it("warns of what a careful agent would not send, and reports it as an error with --strict", async () => {
    const { localization_hints: _, ...bare } = started as Record<string, unknown>;
    const path = file("bare.jsonl", lines(bare));
    const usual = await earshot(["validate", path]);
    expect(usual.code).toBe(0);
    expect(usual.out).toContain(
      ":1: warning at /localization_hints: The field localization_hints is missing. (CON-32)",
    );
    expect(await earshot(["validate", "--strict", path])).toMatchObject({ code: 1 });
    expect(await earshot(["validate", "--tolerant", path])).toMatchObject({ code: 0, out: "" });
  });

  it("explains the requirement behind a finding", async () => {
    const scribe = createScribe();
    const first = scribe.event("session.started");
    const second = scribe.event("session.completed");
    const late = scribe.event("progress.updated", { progress: { step: 1 } } as never);
    const { out } = await earshot(["validate", "--explain"], lines(first, second, late));
    expect(out).toContain("standard input:3: error: The session already ended");
    expect(out).toMatch(/\(SEQ-03\)\n {4}SEQ-03: \S+/);
  });

  it("reads JSON Lines, arrays, multi-line documents and several in sequence, with correct line numbers", async () => {
    const pretty = JSON.stringify(started, undefined, 2);
    const height = pretty.split("\n").length;
    const cases: [string, number[]][] = [
      [lines(started, started).replaceAll("\n", "\r\n"), [1, 2]],
      [`\n\n${lines(started)}\n`, [3]],
      [JSON.stringify(started), [1]],
      [pretty, [1]],
      [`${pretty}\n${pretty}`, [1, 1 + height]],
      [JSON.stringify([started, started]), [1, 1]],
      [`[\n${pretty},\n${pretty}\n]\n`, [2, 2 + height]],
      ["[]", []],
    ];
    for (const [text, expected] of cases) {
      const { out } = await earshot(["validate", "--messages-only", "--json"], text);
      const found = results(out).filter(({ errors }) => !JSON.stringify(errors).includes('"empty"'));
      expect(
        found.map(({ line }) => line),
        text.slice(0, 80),
      ).toEqual(expected);
      expect(found.every(({ ok }) => ok)).toBe(true);
    }
  });

  it("reads the same messages however the bytes are chunked", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ maxDepth: 3 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom("lines", "list", "indented"),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
        async (values, how, cuts) => {
          const { readDocuments } = await import("../../src/cli/json-documents.ts");
          const given = values.map((value) => ({ value }));
          const text =
            how === "lines" ? lines(...given) : JSON.stringify(given, undefined, how === "indented" ? 1 : 0);
          const bytes = Buffer.from(text);
          async function* chunks() {
            for (let at = 0, i = 0; at < bytes.length; i++) {
              const size = cuts[i % cuts.length]!;
              yield bytes.subarray(at, at + size);
              at += size;
            }
          }
          const found: unknown[] = [];
          for await (const { bytes: one, broken } of readDocuments(chunks())) {
            expect(broken).toBeUndefined();
            found.push(JSON.parse(Buffer.from(one).toString()));
          }
          expect(found).toEqual(JSON.parse(JSON.stringify(given)));
        },
      ),
      { numRuns: 300 },
    ));

  it("continues after a line that is not JSON, and says which one", async () => {
    const { code, out } = await earshot(["validate"], `{"type":\n${lines(started)}nonsense\n`);
    expect(code).toBe(1);
    expect(out.split("\n").map((line) => line.slice(0, 24))).toEqual([
      "standard input:1: error:",
      "standard input:3: error:",
      "",
    ]);
  });

  it.each([
    ["[{}", "The list that starts here is never closed."],
    ["[{} {}]", "A comma is missing"],
    ["[{},]", "The list ends with a comma."],
    ["[,{}]", "There is an extra comma"],
  ])("refuses a broken list: %s", async (text, why) => {
    const { code, out } = await earshot(["validate"], text);
    expect(code).toBe(1);
    expect(out).toContain(why);
  });

  it("ENV-33: says what is wrong with a byte order mark", async () => {
    const { code, out } = await earshot(["validate"], `\ufeff${JSON.stringify(started)}\n`);
    expect(code).toBe(0);
    expect(out).toContain("warning: There is a byte order mark; send one RFC 8259 JSON object. (ENV-33)");
  });

  it("does not call empty input valid", async () => {
    const { code, out } = await earshot(["validate"], "\n");
    expect(code).toBe(1);
    expect(out).toContain("There is no message here.");
  });

  it("reports a message that is too large, and does not buffer the rest of it", async () => {
    const huge = JSON.stringify({ ...started, summary_normal: "x".repeat(3_000_000) });
    const { code, out } = await earshot(["validate", "--messages-only"], `${huge}\n${lines(started)}`);
    expect(code).toBe(1);
    expect(out).toContain("standard input:1: error: A message may have at most 1048576 bytes");
    expect(out).not.toContain(":2:");
  });

  it("checks --type and --extension on every message", async () => {
    const manifest = await earshot(["validate", "--type", "aaep:producer.manifest"], lines(started));
    expect(manifest.out).toContain(
      "error at /type: This is aaep:agent.session.started, not aaep:producer.manifest.",
    );
    const { code, err } = await earshot(["validate", "--extension", "nonsense"], lines(started));
    expect(code).toBe(2);
    expect(err).toContain("--extension takes PREFIX=ADDRESS");
  });

  it("requires sessions to start and end in the file with --complete", async () => {
    const scribe = createScribe();
    const middle = [
      scribe.event("session.started"),
      scribe.event("progress.updated", { progress: { step: 1 } } as never),
    ];
    expect(await earshot(["validate"], lines(middle[1]))).toMatchObject({ code: 0 });
    const late = await earshot(["validate", "--complete"], lines(middle[1]));
    expect(late.out).toContain("(SEQ-01)");
    const open = await earshot(["validate", "--complete"], lines(...middle));
    expect(open).toMatchObject({ code: 1 });
    expect(open.out).toContain("standard input: error: sess_a1 never ended");
  });

  it("says what to do about a file it cannot read", async () => {
    const { code, err } = await earshot(["validate", "no-such.jsonl"]);
    expect(code).toBe(2);
    expect(err).toBe(
      "earshot: There is no file no-such.jsonl. Check the name, or use - to read standard input.\n",
    );
    expect((await earshot(["validate", folder])).err).toContain(`${folder} is a directory.`);
    expect((await earshot(["validate", ""])).err).toContain("A file name is empty.");
    expect((await earshot(["validate", "--strict", "--tolerant"])).code).toBe(2);
  });

  it("escapes control characters before it prints them", async () => {
    const nasty = "haptic:\u202epulse";
    const { out } = await earshot(
      ["validate"],
      lines({ ...started, type: nasty }, { ...started, type: nasty }),
    );
    expect(out).not.toMatch(/[\u202e\u001b]/u);
  });
});

describe("earshot validate compared with the library", () => {
  const verdicts = async (messages: readonly string[], ...flags: string[]) => {
    const { out } = await earshot(
      ["validate", "--json", "--messages-only", ...flags],
      `${messages.join("\n")}\n`,
    );
    const found = results(out);
    expect(found).toHaveLength(messages.length);
    return found.map(({ ok, errors, warnings }) => JSON.stringify({ ok, errors, warnings }));
  };
  const issuesOf = (message: string, mode: "strict" | "tolerant") => {
    const parsed = parse(message, { mode });
    return parsed.ok ? [] : parsed.issues;
  };
  /** Without a flag, errors are the tolerant ones, and warnings what strict adds. */
  const both = (message: string): string => {
    const errors = issuesOf(message, "tolerant");
    const warnings = errors.length === 0 ? issuesOf(message, "strict") : [];
    return JSON.stringify({ ok: errors.length === 0, errors, warnings });
  };

  it("EVT-13: agrees on 10,000 mutated events", async () => {
    const perType = Math.ceil(10_000 / EVENTS.size);
    const messages = [...EVENTS.keys()].flatMap((type) => {
      const schema = JSON.parse(readFileSync(`${root}schemas/${type.slice(5)}.schema.json`, "utf8"));
      const bases = fc.sample(arbitraryFor(schema), { numRuns: Math.ceil(perType / 10), seed: 9 });
      return bases.flatMap((base, seed) => fc.sample(mutate(base), { numRuns: 10, seed }));
    });
    expect(messages.length).toBeGreaterThanOrEqual(10_000);
    const texts = messages.map((message) => JSON.stringify(message));
    const found = await verdicts(texts);
    expect(texts.filter((text, i) => found[i] !== both(text))).toEqual([]);
  }, 120_000);

  const canonical = loadCanonical();
  it.skipIf(!canonical)("EVT-13: agrees on the canonical examples and fixtures", async () => {
    const examples = canonical!.examples.map(({ message }) => JSON.stringify(message));
    const texts = [...fixtures("valid"), ...fixtures("invalid")].map(({ text }) =>
      JSON.stringify(JSON.parse(text)),
    );
    expect(examples.length + texts.length).toBeGreaterThan(10);
    const all = [...examples, ...texts];
    expect(await verdicts(all)).toEqual(all.map(both));
    for (const mode of ["strict", "tolerant"] as const) {
      const expected = all.map((text) => {
        const errors = issuesOf(text, mode);
        return JSON.stringify({ ok: errors.length === 0, errors, warnings: [] });
      });
      expect(await verdicts(all, `--${mode}`)).toEqual(expected);
    }
    for (const { name, text } of fixtures("valid"))
      expect((await earshot(["validate", file(name, text)])).code, name).toBe(0);
  });

  it("finds nothing in any valid session, and finds the same as the library after a change", () =>
    fc.assert(
      fc.asyncProperty(legalSession({ extension: true }), fc.nat(), fc.nat(), async (session, from, to) => {
        expect((await earshot(["validate", "--strict", "--complete"], lines(...session))).out).toBe("");
        const moved = [...session];
        const [taken] = moved.splice(from % moved.length, 1);
        moved.splice(to % (moved.length + 1), 0, taken!);
        const { out } = await earshot(["validate", "--json", "--complete"], lines(...moved));
        const ids = results(out)
          .slice(0, moved.length)
          .flatMap(({ errors }) => (errors as { ruling: string }[]).map(({ ruling }) => ruling));
        const expected = checkStream(moved, { replies: "unseen" }).map(({ id }) => id);
        expect(ids.sort()).toEqual(expected.sort());
      }),
      { numRuns: 60 },
    ));
});

describe("earshot validate as a program", () => {
  it("works without a terminal and with Ctrl+C", async () => {
    const { code, err } = await runProgram(["validate"], lines(started));
    expect(code).toBe(0);
    expect(err).toContain("Checked 1 message.");
    const at = terminal({ tty: true });
    const running = earshotOpen(at);
    at.stdin.write(lines(started));
    at.interrupt();
    expect(await running).toBe(130);
    expect(at.err()).toContain("Reading standard input.");
    expect(at.err()).toContain("Stopped after");
  });

  it("ends without an error when its output pipe is closed", async () => {
    const child = await start(["validate", "--json"]);
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    child.stdin.on("error", () => undefined);
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    child.stdout.once("data", () => child.stdout.destroy());
    const some = lines(started).repeat(200);
    const feed = () => {
      while (!child.stdin.destroyed && child.stdin.write(some)) if (child.exitCode !== null) return;
    };
    child.stdin.on("drain", feed);
    feed();
    expect(await ended).toBe(0);
    expect(err).not.toContain("EPIPE");
  });
});

async function earshotOpen(at: ReturnType<typeof terminal>): Promise<number> {
  const { run } = await import("../../src/cli/run.ts");
  return run(["validate"], at.io, "0.0.0-test");
}
