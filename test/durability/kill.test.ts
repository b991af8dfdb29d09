/**
 * kill -9, again and again: a child process streams, asks and executes against a fake bank's book on disk, and is killed
 * at random moments and at chosen writes. After each death the log, the record, the book and the diary must agree.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditField, recordOf, verifyRecord } from "../../src/hub/record.ts";
import { readLog } from "../../src/stores/embedded/index.ts";
import type { CrashOrder, DiaryLine, Orders } from "./diary.ts";

const TRIALS = process.env["EARSHOT_LONG"] ? 1000 : 40;
/** Deaths of one agent before it may finish, and how many agents live at a time. */
const LIVES = 25;
const LANES = 4;
const SEED = Number(process.env["EARSHOT_SEED"] ?? Date.now() % 1_000_000);

const folder = mkdtempSync(join(tmpdir(), "earshot-kill-"));
const program = join(folder, "clerk.mjs");
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL("./bank-clerk.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
});
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Half of the deaths come at any moment, half at a chosen place. */
function chooseCrash(random: () => number): CrashOrder | undefined {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  if (random() < 0.5) return undefined;
  const number = 1 + Math.floor(random() * 3);
  if (random() < 0.4) return { at: "bank", number, how: pick(["before", "after"]) };
  return {
    at: "write",
    number: 1 + Math.floor(random() * 40),
    how: pick(["before", "torn", "unsynced", "synced"]),
    part: random(),
  };
}

/** A life that gets no further, because nobody answers it any more or its end is not in its way, is over too. */
const IDLE_MS = 300;

/**
 * One life, until it is killed, or to its end if it was told to finish. It is killed after so many signs of life, and a
 * moment: what it got done must not depend on how busy the machine is.
 */
function live(
  orders: Orders,
  kill: { readonly signs: number; readonly ms: number } | undefined,
): Promise<{ code: number | null; errors: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, ORDERS: JSON.stringify(orders) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    living.add(child);
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    let timer: NodeJS.Timeout | undefined;
    let signs = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      signs += chunk.length;
      if (!kill) return;
      clearTimeout(timer);
      timer = setTimeout(() => child.kill("SIGKILL"), signs > kill.signs ? kill.ms : IDLE_MS);
      // From here on the moment is fixed, whatever it still does.
      if (signs > kill.signs) child.stdout.removeAllListeners("data").resume();
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      living.delete(child);
      resolve({ code, errors });
    });
  });
}

const lines = (path: string): string[] =>
  existsSync(path)
    ? readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const count = <T>(items: Iterable<T>): Map<T, number> => {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
};

interface Tally {
  acknowledged: number;
  executions: number;
  unknown: number;
  questions_over_a_restart: number;
  heard: number;
}

/** What must be true after every death, and what must be true only at the end. */
async function examine(directory: string, ended: boolean): Promise<Tally> {
  const log = await readLog({ directory: join(directory, "log") });
  const diary = lines(join(directory, "diary")).map((line) => JSON.parse(line) as DiaryLine);
  const of = <Kind extends DiaryLine["kind"]>(kind: Kind) =>
    diary.filter((line): line is Extract<DiaryLine, { kind: Kind }> => line.kind === kind);
  const book = lines(join(directory, "book"));
  const { entries } = recordOf(log);
  const problems: string[] = of("failed").map(({ message }) => message);
  const must = (holds: boolean | undefined, what: string) => {
    if (!holds) problems.push(what);
  };

  // No acknowledged event is lost, and nothing was heard that is not in the log.
  const texts = new Map<string, string>();
  const completed = new Set<string>();
  const reported = new Set<string>();
  for await (const { event } of log.read()) {
    const { type, session_id, chunk, tool_call_id } = event as unknown as Record<string, string>;
    if (chunk !== undefined) texts.set(session_id!, (texts.get(session_id!) ?? "") + chunk);
    if (type === "aaep:agent.session.completed") completed.add(session_id!);
    if (type === "aaep:agent.tool.completed") reported.add(tool_call_id!);
  }
  for (const { session_id, text } of of("acknowledged"))
    must(texts.get(session_id)?.includes(text), `acknowledged and lost: ${text}`);
  for (const { session_id } of of("completed"))
    must(completed.has(session_id), `an end was lost: ${session_id}`);
  // One line through all lives: no gap and no repeat, up to where it is.
  const heard = new Map<string, string>();
  for (const { session_id, chunk = "" } of of("heard"))
    heard.set(session_id, (heard.get(session_id) ?? "") + chunk);
  for (const [session_id, text] of heard)
    must((texts.get(session_id) ?? "").startsWith(text), `heard with a gap or twice: ${session_id}: ${text}`);
  // Once anything was acknowledged after it joined, a listener is known in the next life too.
  let kept = false;
  for (const line of diary) {
    if (line.kind === "joined")
      must(line.again || !kept, `a listener was forgotten: ${line.subscription_id}`);
    kept = line.kind === "joined" ? line.again : kept || line.kind === "acknowledged";
  }

  // The record is whole.
  const verdict = await verifyRecord(entries);
  must(verdict.ok, `the record is broken: ${JSON.stringify(verdict)}`);
  const recorded = (kind: string) =>
    entries
      .filter((entry) => entry.kind === kind)
      .map((entry) => ({
        name: (auditField(entry, "params") as { name: string } | undefined)?.name ?? "",
        token: auditField(entry, "token_hash") as string,
        outcome: `${auditField(entry, "outcome")} by ${auditField(entry, "principal")}`,
        call: auditField(entry, "tool_call_id") as string,
      }));
  const asked = recorded("asked");
  const begun = recorded("begun");
  const over = [...recorded("ended"), ...recorded("unknown")];

  // No transfer twice, none without the person's yes to exactly it, none without a written intent.
  for (const [name, times] of count(book)) must(times === 1, `${name} was executed ${times} times`);
  const yes = new Set(
    of("answered").flatMap((one) => (one.decision === "accept" ? [sha256(one.reply_token)] : [])),
  );
  for (const name of book) {
    const token = asked.find((one) => one.name === name)?.token ?? "";
    const outcomes = recorded("settled").filter((one) => one.token === token);
    must(yes.has(token), `${name} was executed without a yes`);
    must(
      outcomes.map(({ outcome }) => outcome).join() === "accepted by ada",
      `${name} was settled otherwise`,
    );
    must(
      begun.some((one) => one.token === token),
      `${name} was executed without an intent`,
    );
  }

  // Nobody is asked twice about the same thing: the same token through all lives.
  for (const [name, times] of count(asked.map(({ name }) => name)))
    must(times === 1, `${name} was asked ${times} times`);
  const tokens = new Set(asked.map(({ token }) => token));
  const questions = of("heard").flatMap(({ reply_token }) => reply_token ?? []);
  for (const token of questions) must(tokens.has(sha256(token)), `a question nobody recorded: ${token}`);

  if (ended) {
    // Every execution that was begun is reported, as done or as unknown, exactly once.
    const calls = (list: readonly { call: string }[]) => list.map(({ call }) => call).sort();
    must(calls(over).join() === calls(begun).join(), "something begun was not reported, or twice");
    for (const { call } of begun) must(reported.has(call), `nobody was told of ${call}`);
    for (const { session_id, open } of log.sessions) must(!open, `${session_id} was left open`);
    for (const [session_id, text] of texts)
      must(heard.get(session_id) === text, `not all was heard of ${session_id}`);
  }
  expect(problems).toEqual([]);
  return {
    acknowledged: of("acknowledged").length,
    executions: book.length,
    unknown: recorded("unknown").length,
    questions_over_a_restart: questions.length - new Set(questions).size,
    heard: of("heard").length,
  };
}

describe("F01, F02, A04: kill -9", () => {
  it(
    `${TRIALS} times loses no acknowledged event, executes nothing twice or without a yes, and reports what is unfinished`,
    async () => {
      /** One agent, killed again and again, then let finish. */
      const round = async (number: number): Promise<Tally> => {
        const random = createRandom(SEED + number);
        const directory = mkdtempSync(join(folder, "round-"));
        const orders = { directory, seed: SEED + number, finish: false };
        for (let life = 1; life <= LIVES; life++) {
          const crash = chooseCrash(random);
          const signs = crash ? Number.POSITIVE_INFINITY : Math.floor(random() * 60);
          const kill = { signs, ms: Math.floor(random() * 4) };
          const { errors } = await live({ ...orders, life, ...(crash ? { crash } : {}) }, kill);
          expect(errors, `seed ${SEED}, round ${number}, life ${life}`).toBe("");
          if (existsSync(join(directory, "log", "identity.json"))) await examine(directory, false);
        }
        const last = await live({ ...orders, life: LIVES + 1, finish: true }, undefined);
        expect(last, `seed ${SEED}, round ${number}`).toEqual({ code: 0, errors: "" });
        return examine(directory, true);
      };
      const numbers = Array.from({ length: TRIALS / LIVES }, (_, i) => i);
      const tallies: Tally[] = [];
      const lane = async (): Promise<void> => {
        for (let number = numbers.pop(); number !== undefined; number = numbers.pop())
          tallies.push(await round(number));
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const sum = (name: keyof Tally) => tallies.reduce((total, tally) => total + tally[name], 0);
      // It must have been busy, or nothing was shown.
      expect(sum("acknowledged")).toBeGreaterThan(TRIALS);
      expect(sum("executions")).toBeGreaterThan(TRIALS / 10);
      expect(sum("unknown")).toBeGreaterThan(0);
      expect(sum("questions_over_a_restart")).toBeGreaterThan(0);
      console.info(
        `kill -9, ${TRIALS} trials, seed ${SEED}: ${sum("acknowledged")} acknowledged words, ${sum("heard")} deliveries, ` +
          `${sum("executions")} transfers, ${sum("unknown")} reported as unknown, ${sum("questions_over_a_restart")} questions heard again`,
      );
    },
    TRIALS * 1200,
  );
});
