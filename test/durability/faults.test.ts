/** Faults under a whole agent on the log on disk: full and failing disks, restored logs, replays and changed minds. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { recordOf, verifyRecord } from "../../src/hub/record.ts";
import { type FilePort, nodeFiles } from "../../src/stores/embedded/file-port.ts";
import { backupLog, readLog, restoreLog } from "../../src/stores/embedded/index.ts";
import { root, runProgram } from "../cli/support.ts";
import { listen } from "../support/hub-listener.ts";
import { open, transfer, until } from "./agent.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-faults-"));
const mounts: string[] = [];
afterAll(() => {
  for (const place of mounts) execFileSync("umount", ["-l", place]);
  rmSync(folder, { recursive: true, force: true });
});

/** A disk of this size, where the system lets us have one. */
function smallDisk(name: string, size: string): string | undefined {
  const place = join(folder, name);
  mkdirSync(place);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", place], { stdio: "ignore" });
  } catch {
    console.warn("A small disk needs the right to mount: run this test as root. Skipped.");
    return undefined;
  }
  mounts.push(place);
  return place;
}

describe("a disk that is full", () => {
  it("F03: acknowledges nothing more, tells everyone, executes nothing, and loses nothing that was acknowledged", async (context) => {
    const disk = smallDisk("full", "96k");
    if (!disk) return context.skip();
    const failed: string[] = [];
    const first = await open(join(disk, "log"), { failed: ({ message }) => void failed.push(message) });
    const ear = listen(first.agent, { confirm: () => "accept" });
    const session = first.agent.start({ summary: "Writing until the disk is full." });
    const acknowledged: string[] = [];
    for (let i = 0; failed.length === 0; i++) {
      const word = `word ${i}, which is one of many.`;
      await session.say(`${word} `).then(
        () => acknowledged.push(word),
        () => undefined,
      );
    }
    expect(failed[0]).toMatch(/can no longer be written: ENOSPC.*fix the disk and start again/);
    expect(acknowledged.length).toBeGreaterThan(20);
    const done: unknown[] = [];
    expect(await transfer(session, done).catch(() => ({ ran: false }))).toMatchObject({ ran: false });
    expect(done).toEqual([]);
    expect(JSON.stringify(ear.messages)).toContain("can no longer keep its record");
    expect(ear.closed).toBe("producer_shutdown");
    await first.store.close();
    execFileSync("mount", ["-o", "remount,size=4m", disk]);
    const second = await open(join(disk, "log"));
    expect(second.store.tornBytes, "a short write was cut off").toBeGreaterThan(0);
    let text = "";
    for await (const { event } of second.store.read(1)) text += (event as { chunk?: string }).chunk ?? "";
    for (const word of acknowledged) expect(text).toContain(word);
    expect(await verifyRecord(second.record.entries())).toMatchObject({ ok: true });
    const again = second.agent.resume(session.session_id);
    await again.say("The disk has room again.");
    await again.complete();
    await second.store.close();
  });

  it("F03, F04: earshot serve ends with a clear error", async (context) => {
    const disk = smallDisk("served", "64k");
    if (!disk) return context.skip();
    const module = join(folder, "endless.mjs");
    writeFileSync(
      join(folder, "endless.ts"),
      `import type { LogStore } from "../../src/hub/store.ts";
import { createProducer } from ${JSON.stringify(`${root}src/index.ts`)};
       export default ({ store, audit }) => {
         const agent = createProducer({ agent_id: "org.example.endless", store, audit });
         void (async () => {
           const session = agent.start({ summary: "Talking." });
           for (;;) await session.say("And on and on. ");
         })().catch(() => undefined);
         return agent;
       };`,
    );
    await build({
      entryPoints: [join(folder, "endless.ts")],
      outfile: module,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    const ended = await runProgram(["serve", module, "--data", join(disk, "log"), "--port", "0"]);
    expect(ended.code).toBe(1);
    expect(ended.err).toMatch(/earshot: The log in .* can no longer be written: ENOSPC/);
  });
});

describe("a disk that fails", () => {
  const broken = () => Object.assign(new Error("EIO: i/o error"), { code: "EIO" });

  /** Fails once, and works again ever after, as some systems do: in the sync, or in a write that syncs as it writes. */
  function failingOnce(where: "append" | "sync", when: (text: string) => boolean): FilePort {
    let failed = false;
    return {
      ...nodeFiles,
      async open(path, exclusive, durable) {
        const file = await nodeFiles.open(path, exclusive, where === "append" && durable);
        let written = "";
        const fail = (at: string): boolean => {
          const fails = !failed && at === where && path.endsWith(".seg") && when(written);
          failed ||= fails;
          return fails;
        };
        return {
          ...file,
          async append(bytes) {
            written = Buffer.from(bytes).toString("latin1");
            await file.append(bytes);
            if (fail("append")) throw broken();
          },
          async sync() {
            if (fail("sync")) throw broken();
            return file.sync();
          },
        };
      },
    };
  }

  it.each(["append", "sync"] as const)(
    "F04: when the intent cannot be made safe (%s), nothing is executed, and nothing is acknowledged from then on",
    async (where) => {
      const directory = join(folder, where);
      const failures: string[] = [];
      const first = await open(directory, {
        files: failingOnce(where, (text) => text.includes('"intent"')),
        failed: ({ code }) => void failures.push(code),
      });
      const ear = listen(first.agent, { confirm: () => "accept" });
      const session = first.agent.start({ summary: "Paying the rent." });
      const done: unknown[] = [];
      await expect(transfer(session, done)).rejects.toThrow();
      await expect(session.say("Still here?")).rejects.toThrow();
      expect({ done, failures }).toEqual({ done: [], failures: ["log_failed"] });
      expect(ear.closed).toBe("producer_shutdown");
      await first.store.close();
      // It may be on disk or not, and nobody was told that it is: what comes back is a yes or an unknown, never a run.
      const second = await open(directory);
      const outcome = await transfer(second.agent.resume(session.session_id), done);
      expect(outcome).toMatchObject({ ran: false, outcome: "unknown_outcome" });
      expect(done).toEqual([]);
      await second.store.close();
    },
  );
});

describe("a log that was restored", () => {
  it("F06: a cursor from before gets an explicit gap, not silence and not the wrong place", async () => {
    const directory = join(folder, "original");
    const first = await open(directory);
    const ear = listen(first.agent);
    const session = first.agent.start({ summary: "Counting." });
    await session.say("One. ");
    await backupLog({ from: directory, to: join(folder, "backup") });
    await session.say("Two, which the backup has not. ");
    await session.complete();
    await first.clock.settle();
    const place = ear.lastEventId!;
    await first.store.close();

    await restoreLog({ from: join(folder, "backup"), to: join(folder, "restored") });
    cpSync(join(folder, "backup"), join(folder, "copied"), { recursive: true });
    for (const name of ["restored", "copied"]) {
      const second = await open(join(folder, name));
      const back = listen(second.agent, { connect: false });
      back.connect(place);
      await second.clock.settle();
      expect(back.spoken.join("\n"), name).toContain("is missing");
      expect(second.agent.interrupted).toHaveLength(1);
      await second.store.close();
    }
    // The log it came from is still itself.
    const same = await open(directory);
    const back = listen(same.agent, { connect: false });
    back.connect(place);
    await same.clock.settle();
    expect(back.spoken.join("\n")).not.toContain("is missing");
    await same.store.close();
  });
});

describe("answers and parameters across a restart, from disk", () => {
  it("F01: a question that waits comes back with its token and deadline, and nothing is executed meanwhile", async () => {
    const directory = join(folder, "waiting");
    const first = await open(directory);
    const ear = listen(first.agent);
    const session = first.agent.start({ summary: "Paying." });
    const done: unknown[] = [];
    void transfer(session, done).catch(() => undefined);
    await until(first.store, () => ear.questions.length > 0);
    const [asked] = ear.questions;
    await first.clock.advance(100_000);
    // No farewell: the files are what kill -9 leaves.
    cpSync(directory, join(folder, "waiting-killed"), { recursive: true });
    const at = first.clock.timestamp();
    await first.store.close();
    const second = await open(join(folder, "waiting-killed"), {}, at);
    const back = listen(second.agent);
    await until(second.store, () => back.questions.length > 0);
    const [again] = back.questions;
    expect(again).toMatchObject({ reply_token: asked!.reply_token, timestamp: asked!.timestamp });
    const outcome = transfer(second.agent.resume(session.session_id), done);
    await second.clock.settle();
    expect(done).toEqual([]);
    // 300 seconds in all, of which 100 were over.
    await second.clock.advance(199_000);
    expect(back.questions).toHaveLength(1);
    await second.clock.advance(2_000);
    expect(await outcome).toMatchObject({ ran: false, outcome: "timed_out" });
    expect(done).toEqual([]);
    await second.store.close();
  });

  it("A04: a reply that is replayed after a restart is ignored: spent tokens are durable", async () => {
    const directory = join(folder, "spent");
    const first = await open(directory);
    const ear = listen(first.agent, { confirm: () => "accept" });
    const done: unknown[] = [];
    const session = first.agent.start({ summary: "Paying." });
    expect(await transfer(session, done)).toMatchObject({ ran: true });
    const question = ear.events.find(({ type }) => type === "aaep:agent.awaiting.confirmation") as never;
    await first.clock.settle();
    await first.store.close();
    const second = await open(directory);
    const back = listen(second.agent);
    const resumed = second.agent.resume(session.session_id);
    expect(await back.accept(question)).toBe(false);
    // Nor does the agent do it again because it does not remember.
    expect(await transfer(resumed, done)).toMatchObject({ ran: false, outcome: "already_done" });
    expect(await back.accept(question)).toBe(false);
    expect(done).toEqual([500]);
    await second.store.close();
  });

  it("A06: a yes from before a restart is good for the parameters that were shown, and for no others", async () => {
    const directory = join(folder, "changed");
    const first = await open(directory);
    const ear = listen(first.agent);
    const done: unknown[] = [];
    const session = first.agent.start({ summary: "Paying." });
    void transfer(session, done).catch(() => undefined);
    await until(first.store, () => ear.questions.length > 0);
    cpSync(directory, join(folder, "changed-killed"), { recursive: true });
    ear.drop();
    await first.store.close();
    const second = await open(join(folder, "changed-killed"), {}, first.clock.timestamp());
    const back = listen(second.agent);
    await until(second.store, () => back.questions.length > 0);
    expect(await back.accept()).toBe(true);
    await second.clock.settle();
    // The agent comes back with another amount under the same key.
    const resumed = second.agent.resume(session.session_id);
    const outcome = transfer(resumed, done, 90_000).catch((error: Error) => error);
    await second.clock.advance(400_000);
    await outcome;
    expect(done).toEqual([]);
    await second.store.close();
  });
});

describe("the record beside what happens", () => {
  it("CNF-41: each entry is in the same write as what it is about, unawaited words around it or not", async () => {
    const directory = join(folder, "together");
    const { store, agent, clock } = await open(directory);
    listen(agent, { confirm: () => "accept" });
    await agent.run({ summary: "Paying." }, async (session) => {
      void session.say("Let me see. ");
      void session.say("Here we go. ");
      await transfer(session, []);
      void session.say("Done. ");
    });
    await clock.settle();
    await store.close();
    const log = readFileSync(join(directory, "log-0000000000000001.seg"));
    const together: string[] = [];
    for (let at = 28; at < log.length; at += 8 + log.readUInt32LE(at)) {
      const { f = [] } = JSON.parse(log.toString("utf8", at + 8, at + 8 + log.readUInt32LE(at))) as {
        f?: [kind: string, key: string, value: { kind?: string; state?: string; settled?: unknown } | null][];
      };
      const about = f.map(([kind, , value]) =>
        kind === "audit"
          ? value?.kind
          : `${kind}${value?.settled ? " settled" : value?.state ? ` ${value.state}` : ""}`,
      );
      if (about.some((one) => ["asked", "settled", "begun", "ended"].includes(one ?? "")))
        together.push(about.join());
    }
    expect(together).toEqual([
      "asked,question",
      "delivered,replied,settled,sent,question settled",
      "begun,question,intent begun",
      "ended,intent done",
    ]);
    const reading = await readLog({ directory });
    expect(await verifyRecord(recordOf(reading).entries)).toMatchObject({ ok: true, entries: 6 });
  });
});
