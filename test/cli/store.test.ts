/** `earshot serve`, `earshot log` and `earshot audit`: running an agent from a module, and reading its log and audit record. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRecord } from "../../src/hub/record.ts";
import { nodeFiles } from "../../src/stores/embedded/file-port.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/index.ts";
import { entry } from "../contracts/store.ts";
import { earshot, root, runProgram, start, terminal } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-cli-store-"));
const agent = join(folder, "agent.mjs");
const payer = join(folder, "payer.mjs");
const children: ChildProcessWithoutNullStreams[] = [];
beforeAll(async () => {
  await build({
    entryPoints: [`${root}test/cli/fixtures/agent.ts`, `${root}test/cli/fixtures/payer.ts`],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
});
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

type Served = ChildProcessWithoutNullStreams & { readonly address: string };

async function serving(argv: readonly string[]): Promise<Served> {
  const child = await start(["serve", ...argv, "--port", "0"], { cwd: folder });
  children.push(child);
  let text = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  child.stdout.setEncoding("utf8");
  const gone = once(child, "exit").then(([code]) => {
    throw new Error(`It ended with ${code}: ${errors}`);
  });
  gone.catch(() => undefined);
  while (!text.includes("earshot listen")) {
    const [chunk] = (await Promise.race([once(child.stdout, "data"), gone])) as [string];
    text += chunk;
  }
  const address = /Planner is within earshot at (http:\/\/127\.0\.0\.1:\d+)/.exec(text)?.[1] ?? "";
  expect(address).not.toBe("");
  return Object.assign(child, { address });
}

/** The token of the first question a listener hears there. */
async function questionAt(address: string): Promise<string> {
  const ear = await start(["listen", address, "--json"], { cwd: folder });
  children.push(ear);
  ear.stdout.setEncoding("utf8");
  ear.stderr.resume();
  let heard = "";
  while (!/rpl_\w+/.test(heard)) heard += String(await once(ear.stdout, "data"));
  await stop(ear, "SIGKILL");
  return /rpl_\w+/.exec(heard)![0];
}

async function stop(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<number | null> {
  const ended = once(child, "exit");
  child.kill(signal);
  const [code] = (await ended) as [number | null];
  return code;
}

/** A log with a record in it, signed. */
async function written(directory: string, entries = 3) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const store = await openEmbeddedStore({ directory });
  const record = createRecord({
    store,
    signer: {
      key_id: "operator",
      sign: async (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
    },
  });
  const about = { session_id: "sess_1", reply_token: "rpl_secret", at: "2026-01-01T00:00:00.000Z" };
  const question = { action: "Transfer $500 to savings.\u001b[2J", reply_token: "rpl_secret" };
  record.audit({ kind: "asked", ...about, question });
  record.audit({ kind: "settled", ...about, outcome: "accepted", origin: "human", principal: "ada" });
  for (let seq = 1; seq <= entries; seq++)
    await record.store.append([
      entry(seq, `Word ${seq}.`, { reply_token: "rpl_secret", timestamp: about.at }),
    ]);
  while (record.signedHead?.index !== 1) await store.append([]);
  await store.close();
  const key = join(folder, `${Math.random()}.pem`);
  writeFileSync(key, publicKey.export({ type: "spki", format: "pem" }));
  return { key };
}

describe("earshot serve", () => {
  it("serves a module with a log on disk, ends with Ctrl+C, and continues in the same log", async () => {
    const data = join(folder, "served");
    const child = await serving([agent, "--data", data]);
    const log = await earshot(["log", "--data", data]);
    expect(log.out).toContain("session.started: Planning your week.");
    expect(log.out).toContain("Monday is free.");
    const second = await runProgram(["serve", agent, "--data", data, "--port", "0"], "", { cwd: folder });
    expect(second).toMatchObject({ code: 1, out: "" });
    expect(second.err).toContain(`is being written by process ${child.pid}`);
    expect(await stop(child, "SIGINT")).toBe(130);
    expect(existsSync(join(data, "closed.json"))).toBe(true);
    const again = await serving([agent, "--data", data]);
    expect((await earshot(["log", "sessions", "--data", data])).out.split("\n").length).toBeGreaterThan(3);
    expect(await stop(again, "SIGTERM")).toBe(0);
  });

  it("F01: a question that is open when it is stopped or killed is asked again with the same token", async () => {
    const data = join(folder, "asked");
    const tokens = new Set<string>();
    for (const signal of ["SIGTERM", "SIGKILL", "SIGINT"] as const) {
      const child = await serving([payer, "--data", data]);
      tokens.add(await questionAt(child.address));
      // The record is read while the log is being written, and its lock is left alone.
      const verified = await earshot(["audit", "verify", "--data", data]);
      expect(verified).toMatchObject({ code: 0 });
      const shown = await earshot(["audit", "show", "--data", data]);
      expect(shown.out).toContain("asked: Pay 500 dollars.");
      expect(shown.out).not.toMatch(/rpl_|capabilities|supports_/);
      const said = await earshot(["log", "--json", "--data", data]);
      expect(said.out).toContain('"reply_token":"(hidden)"');
      expect(said.out).not.toContain("rpl_");
      await stop(child, signal);
    }
    expect(tokens.size).toBe(1);
    const { out } = await earshot(["audit", "show", "--data", data]);
    expect(out.match(/ asked: /g)).toHaveLength(1);
    expect(out.match(/ delivered: /g)).toHaveLength(3);
    expect(out).not.toMatch(/ settled: | begun: /);
  });

  it("comes back after kill -9", async () => {
    const data = join(folder, "killed");
    await stop(await serving([agent, "--data", data]), "SIGKILL");
    const again = await serving([agent, "--data", data]);
    expect(await stop(again, "SIGINT")).toBe(130);
  });

  it("says what is wrong with a module, and what to write", async () => {
    const module = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    for (const [argv, code, words] of [
      [[], 2, "Give your module"],
      [["./missing.mjs"], 2, "There is no module ./missing.mjs"],
      [[module("none.mjs", "export const x = 1;")], 1, "export default ({ store, audit })"],
      [[module("broken.mjs", "throw new Error('Not today.');")], 1, "Not today."],
      [[module("throws.mjs", "export default () => { throw new Error('No key.'); };")], 1, "No key."],
      [[module("empty.mjs", "export default () => ({});")], 1, "must return a producer"],
      [[agent, "--port", "many"], 2, "--port needs a whole number"],
      [[agent, "--keep-days", "0"], 2, "--keep-days needs a whole number from 1"],
    ] as const) {
      const ended = await earshot(
        ["serve", ...argv, "--data", join(folder, "unused")],
        "",
        terminal({ cwd: folder }),
      );
      expect(ended.code, argv.join(" ")).toBe(code);
      expect(ended.err).toContain(words);
      expect(ended.out).toBe("");
    }
    const typed = module("typed.tsx", "export default (x: number) => x;");
    const ended = await runProgram(["serve", typed, "--port", "0"], "", { cwd: folder });
    expect(ended).toMatchObject({ code: 1, out: "" });
    expect(ended.err).toContain("Compile it first");
  });
});

describe("a directory no log can be kept in", () => {
  it.skipIf(process.platform !== "linux")("is reported at once, with what to do (F04)", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const data of [
      "/proc/x",
      "/proc/x/y/z",
      "/proc/self/fd/x",
      "/sys/x",
      "/dev/null",
      "/dev/null/x",
      file,
    ]) {
      const ended = await earshot(
        ["serve", agent, "--port", "0", "--data", data],
        "",
        terminal({ cwd: folder }),
      );
      expect(ended, data).toMatchObject({ code: 1, out: "" });
      expect(ended.err).toContain(`The log cannot be stored in ${data}: `);
      expect(ended.err).toContain("Name a directory that this process may write to.");
    }
  });

  it("is created if it is missing, with its parents, even by several processes at once", async () => {
    const deep = join(folder, "deep", "er", "est");
    await Promise.all(Array.from({ length: 8 }, () => nodeFiles.ensureDirectory(deep)));
    expect(statSync(deep).mode & 0o777).toBe(0o700);
    await nodeFiles.ensureDirectory(deep);
  });
});

describe("earshot log", () => {
  it("shows one line per entry, one session, entries from a position on, or JSON without tokens", async () => {
    const data = join(folder, "shown");
    await written(data);
    const all = await earshot(["log", "--data", data]);
    expect(all).toMatchObject({ code: 0, err: "" });
    expect(all.out.split("\n")[0]).toBe("1 2026-01-01T00:00:00.000Z sess_1 session.started: Word 1.");
    expect((await earshot(["log", "--data", data, "--from", "3"])).out.trim().split("\n")).toHaveLength(1);
    const json = await earshot(["log", "show", "--json", "--session", "sess_1", "--data", data]);
    expect(JSON.parse(json.out.split("\n")[0]!)).toMatchObject({
      seq: 1,
      event: { reply_token: "(hidden)" },
    });
    expect(json.out + all.out).not.toContain("rpl_secret");
    expect((await earshot(["log", "sessions", "--data", data])).out).toBe("sess_1: open\n");
  });

  it("says what is wrong with the command line, and where no log is", async () => {
    const data = join(folder, "shown");
    for (const [argv, code, words] of [
      [["log", "--data", join(folder, "nowhere")], 1, "There is no log in"],
      [["log", "shout"], 2, 'not "shout"'],
      [["log", "backup"], 2, "Give a directory"],
      [["log", "show", "x"], 2, "Use --data DIR"],
      [["log", "--from", "0", "--data", data], 2, "--from needs a whole number"],
      [["log", "--session", "sess_2", "--data", data], 2, 'no session "sess_2"'],
    ] as const) {
      const ended = await earshot(argv);
      expect(ended.code, argv.join(" ")).toBe(code);
      expect(ended.err).toContain(words);
    }
  });

  it("follows what is written until Ctrl+C", async () => {
    const data = join(folder, "followed");
    const store = await openEmbeddedStore({ directory: data, segmentBytes: 400 });
    await store.append([entry(1)]);
    const at = terminal();
    const ended = earshot(["log", "--follow", "--data", data], "", at);
    await at.shows("entry 1");
    for (let seq = 2; seq <= 9; seq++) await store.append([entry(seq)]);
    await at.shows("entry 9");
    at.interrupt();
    expect((await ended).code).toBe(130);
    expect(at.out().trim().split("\n")).toHaveLength(9);
    await store.close();
  });

  it("ends quietly when its reader has gone", async () => {
    const data = join(folder, "piped");
    const store = await openEmbeddedStore({ directory: data, durability: "none" });
    await store.append(Array.from({ length: 20_000 }, (_, i) => entry(i + 1)));
    await store.close();
    const child = await start(["log", "--data", data]);
    children.push(child);
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      errors += chunk;
    });
    await once(child.stdout, "data");
    child.stdout.destroy();
    const [code] = await once(child, "exit");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
  });

  it("F06: backs up and restores, as a new log", async () => {
    const data = join(folder, "kept");
    await written(data);
    const copy = join(folder, "copy");
    expect(await earshot(["log", "backup", copy, "--data", data])).toMatchObject({ code: 0, out: "" });
    const restored = await earshot(["log", "restore", copy, "--data", join(folder, "back")]);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.err).toContain("Restored 3 entries");
    expect(restored.err).toContain("told of a gap");
    const epoch = (place: string) => JSON.parse(readFileSync(join(place, "identity.json"), "utf8")).epoch;
    expect(epoch(join(folder, "back"))).not.toBe(epoch(data));
    expect((await earshot(["audit", "verify", "--data", join(folder, "back")])).code).toBe(0);
    expect((await earshot(["log", "restore", copy, "--data", data])).err).toContain("There is a log in");
  });
});

describe("earshot audit", () => {
  it("verifies, exports and shows the record, from the log or from a file", async () => {
    const data = join(folder, "audited");
    const { key } = await written(data);
    const verified = await earshot(["audit", "verify", "--data", data, "--key", key]);
    expect(verified).toMatchObject({ code: 0, err: "" });
    expect(verified.out).toContain("The record is unchanged: 2 entries.");
    expect(verified.out).toContain("Signed up to entry 1 by operator");
    const exported = await earshot(["audit", "export", "--data", data]);
    expect(exported.out.trim().split("\n")).toHaveLength(3);
    const file = join(folder, "record.jsonl");
    writeFileSync(file, exported.out);
    expect((await earshot(["audit", "verify", file, "--key", key])).out).toBe(verified.out);
    expect((await earshot(["audit", "verify", "-", "--json"], exported.out)).out).toContain('"ok":true');
    const shown = await earshot(["audit", "show", "--data", data, "--session", "sess_1"]);
    expect(shown.out.split("\n")[0]).toBe(
      "0 2026-01-01T00:00:00.000Z sess_1 asked: Transfer $500 to savings.\\u{1b}[2J",
    );
    expect(shown.out).toContain("outcome accepted; origin human; principal ada");
    expect(exported.out + shown.out).not.toContain("rpl_secret");
  });

  it("says which entry was changed, and fails", async () => {
    const data = join(folder, "forged");
    const { key } = await written(data);
    const { out } = await earshot(["audit", "export", "--data", data]);
    const forged = await earshot(["audit", "verify", "-"], out.replace("accepted", "rejected"));
    expect(forged.code).toBe(1);
    expect(forged.out).toBe("The record was changed. Entry 1: The field outcome was changed.\n");
    const cut = out.split("\n").filter((_, i) => i !== 1);
    expect((await earshot(["audit", "verify", "-"], cut.join("\n"))).out).toContain("missing at the end");
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
    writeFileSync(join(folder, "other.pem"), other.export({ type: "spki", format: "pem" }));
    const wrong = await earshot(["audit", "verify", "--data", data, "--key", join(folder, "other.pem")]);
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.out).toContain("The signature does not fit");
    expect((await earshot(["audit", "verify", "--data", data, "--key", key])).code).toBe(0);
  });

  it("says what is wrong with the command line, and where no record is", async () => {
    const data = join(folder, "unrecorded");
    const store = await openEmbeddedStore({ directory: data });
    await store.append([entry(1)]);
    await store.close();
    for (const [argv, input, code, words] of [
      [["audit"], "", 2, "Choose one: npx earshot audit verify, export, show."],
      [["audit", "shred"], "", 2, "Choose one: npx earshot audit verify, export, show."],
      [["audit", "verify", "--data", data], "", 1, "There is no audit record"],
      [["audit", "verify", "-"], "{", 2, "Line 1 of - is not JSON"],
      [["audit", "verify", "-"], "", 2, "is empty"],
      [["audit", "verify", "missing.jsonl"], "", 2, "There is no file missing.jsonl"],
      [["audit", "verify", "--key", "missing.pem"], "", 2, "There is no file missing.pem"],
      [["audit", "verify", "--key", agent], "", 2, "is not a public key in PEM format"],
      [["audit", "show", "--key", agent], "", 2, "--key works only with"],
      [["audit", "verify", "-"], "null\n[]\n7", 1, ""],
    ] as const) {
      const ended = await earshot(argv, input);
      expect(ended.code, argv.join(" ")).toBe(code);
      expect(ended.err).toContain(words);
    }
  });
});
