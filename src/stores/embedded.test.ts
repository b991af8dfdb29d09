import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { entry, fact, readAll } from "../../test/contracts/store.ts";
import { createFakeClock } from "../testing/clock.ts";
import { type FilePort, nodeFiles } from "./embedded/file-port.ts";
import {
  backupLog,
  type EmbeddedStoreOptions,
  openEmbeddedStore,
  readLog,
  restoreLog,
} from "./embedded/index.ts";

const directories: string[] = [];
const freshDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "earshot-store-"));
  directories.push(directory);
  return directory;
};
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const open = (directory: string, options: Partial<EmbeddedStoreOptions> = {}) =>
  openEmbeddedStore({ directory, warn: () => {}, ...options });
const seqs = (store: { recent(): readonly { seq: number }[] }): number[] =>
  store.recent().map(({ seq }) => seq);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** A directory with some entries in it; left as by kill -9, unless it is closed. */
async function filled(count: number, segmentBytes = 1_000_000, closed = false): Promise<string> {
  const directory = freshDirectory();
  const store = await open(directory, { segmentBytes });
  for (let seq = 1; seq <= count; seq++) await store.append([entry(seq)], [fact("latest", "seq", seq)]);
  await store.close();
  if (!closed) rmSync(join(directory, "closed.json"));
  return directory;
}
const segmentsOf = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".seg"))
    .sort()
    .map((name) => join(directory, name));
/** Where each record of a file begins, and where the last one ends. */
function recordsOf(path: string): number[] {
  const bytes = readFileSync(path);
  const places = [28];
  while (places.at(-1)! < bytes.length) places.push(places.at(-1)! + 8 + bytes.readUInt32LE(places.at(-1)!));
  return places;
}

describe("the embedded log that was closed", () => {
  it("passes nothing to followers, old or new", async () => {
    const store = await open(freshDirectory());
    const received: number[] = [];
    const receive = (entries: readonly { seq: number }[]) =>
      void received.push(...entries.map((one) => one.seq));
    store.follow(1, receive);
    await store.close();
    await store.close();
    store.follow(1, receive);
    await expect(store.append([entry(1)])).rejects.toMatchObject({ code: "log_closed" });
    expect(received).toEqual([]);
  });
});

describe("the embedded log after a restart", () => {
  it("finds everything, across segments, under the same identity", async () => {
    const directory = await filled(30, 500);
    expect(segmentsOf(directory).length).toBeGreaterThan(3);
    const first = await open(directory, { segmentBytes: 500 });
    expect(seqs(first)).toEqual(upTo(30));
    await first.append([entry(31)]);
    await first.close();
    const second = await open(directory, { segmentBytes: 500 });
    expect(seqs(second)).toEqual(upTo(31));
    expect(second.facts("latest")).toEqual([fact("latest", "seq", 30)]);
    expect(second.identity).toEqual(first.identity);
    await second.close();
  });

  it("reads from any place without touching the files before it", async () => {
    const directory = await filled(30, 500);
    const read: string[] = [];
    const files: FilePort = {
      ...nodeFiles,
      read(path, from, to) {
        if (from !== undefined) read.push(path);
        return nodeFiles.read(path, from, to);
      },
    };
    const store = await open(directory, { segmentBytes: 500, files });
    for (const from of [1, 7, 29, 30, 31]) {
      read.length = 0;
      expect(await readAll(store, from)).toEqual(upTo(30).slice(from - 1));
      if (from === 29) expect(new Set(read).size).toBeLessThan(3);
    }
    await store.close();
  });

  it("refuses a write that is too large, and takes the next one", async () => {
    const store = await open(freshDirectory());
    await expect(store.append([entry(1, "x".repeat(65 * 1024 * 1024))])).rejects.toThrow(
      "Append it in parts",
    );
    await store.append([entry(1)]);
    await store.close();
  });

  it("refuses an entry that would leave a hole: such a log could not be opened again", async () => {
    const directory = await filled(3);
    const store = await open(directory);
    await expect(store.append([entry(5)])).rejects.toThrow("where 4 is next");
    await store.append([entry(4)]);
    await store.close();
  });

  it("F06: a wiped log has another epoch, and so has a copy; a log that was only moved keeps it", async () => {
    const directory = await filled(1);
    const epochOf = async (place: string): Promise<string> => {
      const store = await open(place);
      await store.close();
      return store.identity.epoch;
    };
    const epoch = await epochOf(directory);
    const copy = join(freshDirectory(), "copy");
    cpSync(directory, copy, { recursive: true });
    const copied = await epochOf(copy);
    expect(copied).not.toBe(epoch);
    expect(await epochOf(copy), "from then on it is its own").toBe(copied);
    expect(await epochOf(directory)).toBe(epoch);
    rmSync(directory, { recursive: true });
    expect(await epochOf(directory)).not.toBe(epoch);
  });

  it("reopens 100,000 events in well under two seconds of CPU", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { durability: "none" });
    for (let seq = 1; seq <= 100_000; seq += 1000)
      await store.append(Array.from({ length: 1000 }, (_, i) => entry(seq + i, "x".repeat(400))));
    await store.close();
    const before = process.cpuUsage();
    const again = await open(directory);
    const { user, system } = process.cpuUsage(before);
    expect(again.recent()).toHaveLength(100_000);
    expect((user + system) / 1e6).toBeLessThan(2);
    await again.close();
  });
});

/** Where something can break: in a header, a length, a checksum, at the edges and in the middle of a text. */
function placesIn(path: string): Map<string, number[]> {
  const records = recordsOf(path);
  const starts = records.slice(0, -1);
  return new Map([
    ["header", [0, 6, 7, 8, 15, 16, 23, 24, 27]],
    ["length", starts.flatMap((at) => [at, at + 1, at + 2, at + 3])],
    ["checksum", starts.flatMap((at) => [at + 4, at + 7])],
    ["first byte of a text", starts.map((at) => at + 8)],
    ["middle of a text", starts.map((at, i) => Math.floor((at + 8 + records[i + 1]!) / 2))],
    ["last byte of a text", starts.map((_, i) => records[i + 1]! - 1)],
  ]);
}

describe("damage (F05)", () => {
  it("F05: one flipped byte in a log that was closed is noticed and named, wherever it is, and nothing is changed", async () => {
    const directory = await filled(4, 1_000_000, true);
    const [segment] = segmentsOf(directory) as [string];
    const whole = readFileSync(segment);
    let tried = 0;
    for (const [where, places] of placesIn(segment)) {
      for (const at of places) {
        for (const mask of [0x01, 0x80, 0xff]) {
          const damaged = Buffer.from(whole);
          damaged[at] = damaged[at]! ^ mask;
          writeFileSync(segment, damaged);
          await expect(open(directory), `${where}, byte ${at}`).rejects.toThrow(/log-0+1\.seg (is|has|had)/);
          expect(readFileSync(segment).equals(damaged)).toBe(true);
          tried++;
        }
      }
    }
    expect(tried).toBeGreaterThan(100);
    writeFileSync(segment, whole);
    const store = await open(directory);
    expect(seqs(store)).toEqual(upTo(4));
    await store.close();
  });

  it("F05: after a crash too, except in the last record, whose bytes are set aside with a word to the operator (property)", async () => {
    const directory = await filled(4);
    const [segment] = segmentsOf(directory) as [string];
    const whole = readFileSync(segment);
    const last = recordsOf(segment).at(-2)!;
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const damaged = Buffer.from(whole);
        damaged[at] = damaged[at]! ^ mask;
        writeFileSync(segment, damaged);
        if (at < last) {
          await expect(open(directory)).rejects.toThrow(/damaged at byte|version|not an Earshot log/);
          return;
        }
        const warned: string[] = [];
        const store = await open(directory, { warn: (sentence) => warned.push(sentence) });
        expect(seqs(store)).toEqual([1, 2, 3]);
        await store.close();
        rmSync(join(directory, "closed.json"));
        expect(warned.join()).toContain("check the disk");
        const kept = readdirSync(directory).find((name) => name.startsWith("cut-"))!;
        expect(readFileSync(join(directory, kept)).equals(damaged.subarray(last))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("F05: a closed log that was cut short is noticed at every length, whole records included", async () => {
    const directory = await filled(4, 1_000_000, true);
    const [segment] = segmentsOf(directory) as [string];
    const whole = readFileSync(segment);
    const sizes = new Set([0, 1, 7, 8, 27, 28, ...recordsOf(segment).slice(0, -1), whole.length - 1]);
    for (const size of sizes) {
      writeFileSync(segment, whole.subarray(0, size));
      await expect(open(directory), `cut at ${size}`).rejects.toThrow(`and has ${size} now`);
    }
  });

  it("F05: after a crash a torn last write is cut off wherever it broke, as a whole call, and the log goes on", async () => {
    const directory = freshDirectory();
    const first = await open(directory);
    await first.append([entry(1)], [fact("state", "a", 1)]);
    await first.append([entry(2), entry(3)], [fact("state", "a", 2)]);
    await first.close();
    rmSync(join(directory, "closed.json"));
    const [segment] = segmentsOf(directory) as [string];
    const whole = readFileSync(segment);
    for (let size = recordsOf(segment).at(-2)! + 1; size < whole.length; size += 3) {
      writeFileSync(segment, whole.subarray(0, size));
      const store = await open(directory);
      expect(seqs(store), `cut at ${size}`).toEqual([1]);
      expect(store.facts("state")).toEqual([fact("state", "a", 1)]);
      expect(store.tornBytes).toBeGreaterThan(0);
      await store.append([entry(2)]);
      expect(await readAll(store)).toEqual([1, 2]);
      await store.close();
      rmSync(join(directory, "closed.json"));
      writeFileSync(segment, whole);
    }
  });

  it("F05: a segment that was only just begun is begun again, however little of it there is", async () => {
    const directory = await filled(3);
    const records = recordsOf(segmentsOf(directory)[0]!).length - 1;
    const next = join(directory, `log-${String(records + 1).padStart(16, "0")}.seg`);
    const header = Buffer.concat([Buffer.from("EARSHOT\u0002", "latin1"), Buffer.alloc(20)]);
    for (const size of [0, 1, 7, 8, 20, 28]) {
      writeFileSync(next, header.subarray(0, size));
      const store = await open(directory);
      await store.append([entry(4)]);
      await store.close();
      const again = await open(directory);
      expect(seqs(again), `${size} bytes`).toEqual(upTo(4));
      await again.close();
      rmSync(join(directory, "closed.json"));
      rmSync(next);
    }
  });

  it("F05: zeros at the end, as some file systems leave them after a power cut, are no records", async () => {
    const directory = await filled(2);
    appendFileSync(segmentsOf(directory)[0]!, Buffer.alloc(4096));
    const store = await open(directory);
    expect(seqs(store)).toEqual([1, 2]);
    expect(store.tornBytes).toBe(4096);
    await store.close();
  });

  it("F05: a missing or shortened file is noticed, the first one too, and files that hold no events", async () => {
    const directory = await filled(30, 500);
    const segments = segmentsOf(directory);
    for (const [i, segment] of segments.entries()) {
      if (i === segments.length - 1) break;
      const bytes = readFileSync(segment);
      truncateSync(segment, statSync(segment).size - 5);
      await expect(open(directory)).rejects.toThrow("damaged");
      rmSync(segment);
      await expect(open(directory)).rejects.toThrow("a file is missing");
      writeFileSync(segment, bytes);
    }
    const facts = freshDirectory();
    const store = await open(facts, { segmentBytes: 200 });
    for (let i = 0; i < 12; i++) await store.append([], [fact("kind", `key ${i}`, i)]);
    await store.close();
    rmSync(segmentsOf(facts)[1]!);
    await expect(open(facts)).rejects.toThrow("a file is missing");
  });

  it("a file of another version or program is left alone", async () => {
    const directory = await filled(1);
    const [segment] = segmentsOf(directory) as [string];
    const bytes = readFileSync(segment);
    bytes[7] = 9;
    writeFileSync(segment, bytes);
    await expect(open(directory)).rejects.toThrow("version 9, which this release cannot read");
    expect(readFileSync(segment)).toEqual(bytes);
    writeFileSync(segment, "something else entirely, and longer than a header");
    await expect(open(directory)).rejects.toThrow("not an Earshot log");
    writeFileSync(join(directory, "identity.json"), "{}");
    rmSync(segment);
    await expect(open(directory)).rejects.toThrow("Remove it and start again");
  });
});

/** Version 1 as it was written: a header of eight bytes, and one entry per record. */
function writeVersion1(directory: string, seqs: readonly number[]): void {
  const records = seqs.map((seq) => {
    const text = Buffer.from(JSON.stringify(entry(seq)));
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32LE(text.length, 0);
    prefix.writeUInt32LE(crc32(text, text.length) >>> 0, 4);
    return Buffer.concat([prefix, text]);
  });
  const name = `log-${String(seqs[0]).padStart(16, "0")}.seg`;
  writeFileSync(join(directory, name), Buffer.concat([Buffer.from("EARSHOT\u0001", "latin1"), ...records]));
  writeFileSync(join(directory, "identity.json"), JSON.stringify({ epoch: "abc123", key: 7 }));
}

describe("a log of version 1", () => {
  it("opens with its entries and identity, goes on in version 2, and opens again", async () => {
    const directory = freshDirectory();
    writeVersion1(directory, [1, 2, 3]);
    writeVersion1(directory, [4, 5]);
    const old = segmentsOf(directory).map((path) => readFileSync(path));
    const store = await open(directory);
    expect(store.identity).toEqual({ epoch: "abc123", key: 7 });
    expect(await readAll(store)).toEqual(upTo(5));
    await store.append([entry(6)], [fact("kind", "key", 1)]);
    await store.close();
    const again = await open(directory);
    expect(again.identity).toEqual(store.identity);
    expect(await readAll(again, 2)).toEqual([2, 3, 4, 5, 6]);
    expect(again.facts("kind")).toEqual([fact("kind", "key", 1)]);
    await again.close();
    expect(
      segmentsOf(directory)
        .slice(0, 2)
        .map((path) => readFileSync(path)),
    ).toEqual(old);
  });

  it("its torn end is cut off as ever", async () => {
    const directory = freshDirectory();
    writeVersion1(directory, [1, 2, 3]);
    const [segment] = segmentsOf(directory) as [string];
    truncateSync(segment, statSync(segment).size - 2);
    const store = await open(directory);
    expect(seqs(store)).toEqual([1, 2]);
    await store.append([entry(3)]);
    await store.close();
    const again = await open(directory);
    expect(seqs(again)).toEqual([1, 2, 3]);
    await again.close();
  });
});

describe("one writer", () => {
  it("a second one is told who has it and what to do", async () => {
    const directory = freshDirectory();
    const store = await open(directory);
    await expect(open(directory)).rejects.toThrow(`process ${process.pid}`);
    await store.close();
    writeFileSync(join(directory, "lock"), "4711 77");
    await expect(open(directory, { processMark: async () => "77" })).rejects.toThrow("Stop it");
    rmSync(join(directory, "lock"));
    const next = await open(directory);
    await next.close();
  });

  it("the lock of a dead process keeps nobody out, nor that of another process with its number", async () => {
    const directory = freshDirectory();
    for (const [held, now] of [
      ["999999 5", undefined],
      ["999999 5", "6"],
      [`${process.pid} 5`, "5"],
      ["", undefined],
    ] as const) {
      writeFileSync(join(directory, "lock"), held);
      const store = await open(directory, { processMark: async () => now });
      await store.close();
      expect(existsSync(join(directory, "lock"))).toBe(false);
    }
  });

  it("two that find the same dead lock do not both take it, and one that died taking it over keeps nobody out", async () => {
    const directory = freshDirectory();
    const marks: Record<number, string> = { 4711: "77" };
    const processMark = async (pid: number) => marks[pid];
    writeFileSync(join(directory, "lock"), "999999 5");
    writeFileSync(join(directory, "lock.takeover"), "4711 77");
    await expect(open(directory, { processMark })).rejects.toThrow("process 4711");
    writeFileSync(join(directory, "lock.takeover"), "999998 5");
    writeFileSync(join(directory, "lock.takeover-999998-5"), "4711 77");
    await expect(open(directory, { processMark })).rejects.toThrow("process 4711");
    delete marks[4711];
    const store = await open(directory, { processMark });
    expect(readdirSync(directory).filter((name) => name.startsWith("lock"))).toEqual(["lock"]);
    await store.close();
  });

  it("a lock appears with its holder's name in it, never empty: an empty one would be anybody's", async () => {
    const directory = freshDirectory();
    const seen: string[] = [];
    const files: FilePort = {
      ...nodeFiles,
      async link(from, to) {
        seen.push(readFileSync(from, "utf8"));
        await nodeFiles.link(from, to);
      },
    };
    const store = await open(directory, { files });
    expect(seen).toEqual([readFileSync(join(directory, "lock"), "utf8")]);
    expect(seen[0]).toMatch(new RegExp(`^${process.pid} `));
    await store.close();
    const noLinks: FilePort = {
      ...nodeFiles,
      link: () => Promise.reject(Object.assign(new Error("EPERM: not permitted, link"), { code: "EPERM" })),
    };
    const plain = await open(directory, { files: noLinks });
    await expect(open(directory, { files: noLinks })).rejects.toThrow("is being written");
    await plain.close();
    expect(readdirSync(directory).filter((name) => name.startsWith("lock"))).toEqual([]);
  });

  it("a link to the directory leads to the same log, and to the same lock", async () => {
    const directory = freshDirectory();
    const link = join(freshDirectory(), "link");
    symlinkSync(directory, link);
    const store = await open(directory);
    await expect(open(link)).rejects.toThrow("is being written");
    await store.append([entry(1)]);
    await store.close();
    const again = await open(link);
    expect(seqs(again)).toEqual([1]);
    await again.close();
  });

  it("a process that is dead and was not taken away yet holds no lock", async (context) => {
    if (!existsSync("/proc/self/stat")) return context.skip();
    const directory = freshDirectory();
    // The shell starts a child, becomes another program, and never asks how the child ended.
    const parent = spawn("sh", ["-c", "sleep 0 & echo $!; exec sleep 60"]);
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(line.toString());
      const stateOf = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!;
      while (!stateOf().startsWith("Z")) await new Promise((done) => setImmediate(done));
      writeFileSync(join(directory, "lock"), `${pid} ${stateOf().split(" ")[19]}`);
      const store = await open(directory);
      await store.close();
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("says where no log can be kept, and what to do", async () => {
    const file = join(freshDirectory(), "file");
    writeFileSync(file, "");
    await expect(open(file)).rejects.toThrow(/The log cannot be stored in .*Name a directory/);
    await expect(readLog({ directory: file })).rejects.toThrow("There is no log in");
  });

  it("whoever follows it is told where what comes next was removed meanwhile", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 200, retain: { bytes: 200 } });
    const end = (seq: number) => entry(seq, "end", { type: "aaep:agent.session.completed" });
    await store.append([end(1)]);
    const reading = await readLog({ directory });
    await store.append([end(2)]);
    await reading.refresh();
    expect(reading.last).toBe(2);
    for (let seq = 3; seq <= 30; seq++) await store.append([end(seq)]);
    await store.compact();
    await expect(reading.refresh()).rejects.toThrow("Start again");
    await store.close();
  });

  it("looking into it needs no lock and changes nothing", async () => {
    const directory = freshDirectory();
    await expect(readLog({ directory })).rejects.toThrow("There is no log in");
    const store = await open(directory, { segmentBytes: 400 });
    await store.append([entry(1), entry(2, "other", { session_id: "sess_2" })], [fact("kind", "key", 1)]);
    await store.append([entry(3, "end", { type: "aaep:agent.session.completed" })]);
    const before = readdirSync(directory).sort();
    const reading = await readLog({ directory });
    expect(reading).toMatchObject({ identity: store.identity, last: 3, tornBytes: 0 });
    expect(reading.sessions).toEqual([
      { session_id: "sess_1", open: false },
      { session_id: "sess_2", open: true },
    ]);
    expect(reading.facts("kind")).toEqual([fact("kind", "key", 1)]);
    const found: number[] = [];
    for await (const { seq } of reading.read(1, "sess_1")) found.push(seq);
    expect(found).toEqual([1, 3]);
    expect(readdirSync(directory).sort()).toEqual(before);
    await store.append([entry(4)]);
    await store.close();
  });
});

describe("a log whose files somebody touches while it is written", () => {
  it.each([
    ["removed", (path: string) => rmSync(path), "was removed while it was in use"],
    ["written to", (path: string) => appendFileSync(path, "x"), "something else writes to it"],
  ])("%s: it stops acknowledging within a second", async (_, touch, words) => {
    const clock = createFakeClock();
    const directory = freshDirectory();
    const failed: string[] = [];
    const store = await open(directory, { clock, failed: ({ message }) => void failed.push(message) });
    await store.append([entry(1)]);
    touch(segmentsOf(directory)[0]!);
    await clock.advance(1000);
    await expect(store.append([entry(2)])).rejects.toThrow(words);
    await expect(store.append([entry(3)])).rejects.toThrow("Nothing more is acknowledged");
    expect(failed).toHaveLength(1);
    await store.close();
  });

  it("its directory removed: a new file cannot be begun, and that is a failure too", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 100 });
    await store.append([entry(1)]);
    rmSync(directory, { recursive: true });
    await expect(store.append([entry(2)])).rejects.toThrow("can no longer be written");
    await store.close().catch(() => undefined);
  });

  it("is readable by its owner only, backups and cut bytes included", async () => {
    const place = join(freshDirectory(), "log");
    const store = await open(place);
    await store.append([entry(1)]);
    const copy = join(freshDirectory(), "copy");
    await backupLog({ from: place, to: copy });
    await store.close();
    rmSync(join(place, "closed.json"));
    appendFileSync(segmentsOf(place)[0]!, "torn");
    await (await open(place)).close();
    for (const directory of [place, copy]) {
      expect(statSync(directory).mode & 0o777).toBe(0o700);
      const names = readdirSync(directory);
      for (const name of names) expect(statSync(join(directory, name)).mode & 0o777, name).toBe(0o600);
    }
    expect(readdirSync(place).some((name) => name.startsWith("cut-"))).toBe(true);
  });
});

describe("files that were exchanged", () => {
  it("F05: swapped, repeated and renamed segments are noticed, and nothing is changed", async () => {
    const directory = await filled(30, 500);
    const segments = segmentsOf(directory);
    const [a, b] = [readFileSync(segments[1]!), readFileSync(segments[2]!)];
    writeFileSync(segments[1]!, b);
    writeFileSync(segments[2]!, a);
    await expect(open(directory)).rejects.toThrow("it has another file's name");
    writeFileSync(segments[1]!, a);
    await expect(open(directory), "one file twice").rejects.toThrow("it has another file's name");
    writeFileSync(segments[2]!, b);
    const extra = join(directory, "log-0000000000000999.seg");
    writeFileSync(extra, a);
    await expect(open(directory)).rejects.toThrow("a file is missing");
    rmSync(extra);
    const store = await open(directory);
    expect(seqs(store)).toEqual(upTo(30));
    await store.close();
  });

  it("F05: cut or flipped in any file but the last, at any byte, is damage (property)", async () => {
    const directory = await filled(12, 500);
    const segments = segmentsOf(directory).slice(0, -1);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), fc.integer({ min: 0, max: 255 }), async (which, at, mask) => {
        const path = segments[which % segments.length]!;
        const whole = readFileSync(path);
        const place = at % whole.length;
        const damaged = Buffer.from(whole.subarray(0, mask === 0 ? place : whole.length));
        if (mask > 0) damaged[place] = damaged[place]! ^ mask;
        writeFileSync(path, damaged);
        await expect(open(directory)).rejects.toThrow(/log-\d+\.seg/);
        writeFileSync(path, whole);
      }),
      { numRuns: 150 },
    );
    const store = await open(directory);
    expect(seqs(store)).toEqual(upTo(12));
    await store.close();
  });

  it("F06: a log that was deleted and put back is another one, even where its file gets the same number", async () => {
    const directory = await filled(3);
    let moved = 0;
    const files: FilePort = {
      ...nodeFiles,
      async stat(path) {
        const state = await nodeFiles.stat(path);
        return { ...state, inode: "7", born: state.born + moved };
      },
    };
    const epochOf = async (): Promise<string> => {
      const store = await open(directory, { files });
      await store.close();
      return store.identity.epoch;
    };
    const epoch = await epochOf();
    expect(await epochOf()).toBe(epoch);
    moved = 3_600_000;
    const other = await epochOf();
    expect(other).not.toBe(epoch);
    rmSync(join(directory, "identity.json"));
    expect(await epochOf(), "and where the name of the log is lost").not.toBe(other);
  });
});

describe("retention", () => {
  const DAY = 86_400_000;
  const ended = (seq: number) => entry(seq, "end", { type: "aaep:agent.session.completed" });

  it("old files go by age, also while nothing is written; the newest entry stays", async () => {
    const directory = freshDirectory();
    const clock = createFakeClock();
    const store = await open(directory, { clock, retain: { ageMs: 8 * DAY } });
    for (let seq = 1; seq <= 6; seq++) {
      await store.append([ended(seq)]);
      await clock.advance(2 * DAY);
    }
    const kept = await readAll(store);
    expect(kept[0]).toBeGreaterThan(1);
    expect(kept.at(-1)).toBe(6);
    await clock.advance(30 * DAY);
    // By itself: nobody wrote anything meanwhile.
    expect(await readAll(store)).toEqual([6]);
    await store.append([ended(7)]);
    await store.close();
    const again = await open(directory, { clock, retain: { ageMs: 8 * DAY } });
    expect((await readAll(again)).at(-1)).toBe(7);
    await again.close();
  });

  it("the oldest go beyond a size, and facts that count are written again before, in their order", async () => {
    const directory = freshDirectory();
    const options = { segmentBytes: 500, retain: { bytes: 2000 } };
    const store = await open(directory, options);
    await store.append([], [fact("question", "first", 1), fact("question", "second", 2)]);
    await store.append([], [fact("question", "gone", 3), fact("grant", "a", 4)]);
    for (let seq = 1; seq <= 60; seq++) {
      if (seq === 30) await store.append([], [fact("question", "gone", null), fact("question", "third", 5)]);
      await store.append([ended(seq)]);
    }
    await store.compact();
    const sizes = segmentsOf(directory).map((path) => statSync(path).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(3000);
    const expected = [
      fact("question", "first", 1),
      fact("question", "second", 2),
      fact("question", "third", 5),
    ];
    expect(store.facts("question")).toEqual(expected);
    const kept = await readAll(store);
    expect(kept).toEqual(upTo(60).slice(-kept.length));
    await store.close();
    const again = await open(directory, options);
    expect(again.facts("question")).toEqual(expected);
    expect(again.facts("grant")).toEqual([fact("grant", "a", 4)]);
    expect(await readAll(again)).toEqual(kept);
    await again.close();
    rmSync(segmentsOf(directory)[0]!);
    await expect(open(directory, options), "a removed first file is missed here too").rejects.toThrow(
      "missing",
    );
  });

  it("never removes what belongs to an open session, and says which one holds it", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 300, retain: { bytes: 600 } });
    await store.append([ended(1), ended(2)]);
    await store.append([entry(3, "open", { session_id: "sess_open" })]);
    for (let seq = 4; seq <= 40; seq++) await store.append([ended(seq)]);
    expect((await store.compact()).heldBy).toEqual(["sess_open"]);
    expect((await readAll(store))[0]).toBeLessThanOrEqual(3);
    await store.append([entry(41, "end", { session_id: "sess_open", type: "aaep:agent.session.errored" })]);
    expect((await store.compact()).heldBy).toEqual([]);
    expect((await readAll(store))[0]).toBeGreaterThan(30);
    await store.close();
  });

  it("does not go round in circles where what still counts is more than may be kept", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 2000, retain: { bytes: 3000 } });
    const value = "x".repeat(500);
    for (let i = 1; i <= 40; i++) await store.append([ended(i)], [fact("audit", `${i}`, value)]);
    await store.compact();
    const written = segmentsOf(directory).map((path) => Number(/(\d+)\.seg$/.exec(path)![1]));
    expect(written.at(-1), "records in all").toBeLessThan(80);
    expect(store.facts("audit")).toHaveLength(40);
    await store.close();
    const again = await open(directory);
    expect(again.facts("audit")).toHaveLength(40);
    await again.close();
  });

  it("writes a great many facts again in parts", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 300_000, retain: { bytes: 4_000_000 } });
    const value = "x".repeat(100_000);
    for (let i = 1; i <= 25; i++) await store.append([], [fact("kept", `${i}`, value)]);
    for (let i = 1; i <= 90; i++)
      await store.append([entry(i, value, { type: "aaep:agent.session.completed" })]);
    await store.compact();
    await store.close();
    const again = await open(directory);
    expect(again.facts("kept").map(({ key }) => key)).toEqual(upTo(25).map(String));
    expect((await readAll(again))[0]).toBeGreaterThan(1);
    await again.close();
  });

  it("a crash anywhere in a compaction loses no fact (property)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(12), fc.nat(3), async (count, stop) => {
        const directory = freshDirectory();
        const plain = await open(directory, { segmentBytes: 200 });
        for (let i = 0; i < count; i++) await plain.append([ended(i + 1)], [fact("kind", `key ${i}`, i)]);
        await plain.close();
        let removals = 0;
        const files: FilePort = {
          ...nodeFiles,
          remove(path) {
            if (path.endsWith(".seg") && removals++ >= stop) return Promise.reject(new Error("Stopped."));
            return nodeFiles.remove(path);
          },
        };
        const stopped = await open(directory, { segmentBytes: 200, files, retain: { bytes: 1 } });
        await stopped.compact().catch(() => undefined);
        await stopped.close();
        const again = await open(directory, { segmentBytes: 200 });
        expect(again.facts("kind").map(({ value }) => value)).toEqual(upTo(count).map((i) => i - 1));
        expect((await readAll(again)).at(-1) ?? 0).toBe(count);
        await again.close();
        rmSync(directory, { recursive: true });
      }),
      { numRuns: 40 },
    );
  });
});

describe("backup and restore (F06)", () => {
  it("F06: a backup made while the log is written holds everything acknowledged before, and restores under a new epoch", async () => {
    const directory = freshDirectory();
    const store = await open(directory, { segmentBytes: 2000 });
    let seq = 0;
    const write = async (count: number) => {
      for (let i = 0; i < count; i++)
        await store.append([entry(++seq)], [fact("kind", `key ${seq % 5}`, seq)]);
    };
    await write(20);
    const before = seq;
    const to = join(freshDirectory(), "backup");
    const [backup] = await Promise.all([backupLog({ from: directory, to }), write(60)]);
    expect(backup.files).toBeGreaterThan(0);
    const place = join(freshDirectory(), "restored");
    const restored = await restoreLog({ from: to, to: place });
    expect(restored.last).toBeGreaterThanOrEqual(before);
    expect(restored.identity.epoch).not.toBe(store.identity.epoch);
    const again = await open(place);
    expect(again.identity).toEqual(restored.identity);
    expect(seqs(again)).toEqual(upTo(restored.last));
    await again.append([entry(restored.last + 1)]);
    await again.close();
    await store.close();
    await expect(restoreLog({ from: to, to: place })).rejects.toThrow("There is a log");
    await expect(backupLog({ from: freshDirectory(), to: freshDirectory() })).rejects.toThrow(
      "There is no log",
    );
  });

  it("F06: a directory copied by any program while it is written opens, and is another log", async () => {
    const directory = freshDirectory();
    const store = await open(directory);
    const writing = (async () => {
      for (let seq = 1; seq <= 200; seq++) await store.append([entry(seq)]);
    })();
    await readAll(store);
    for (let i = 0; i < 5; i++) {
      const copy = join(freshDirectory(), "copy");
      cpSync(directory, copy, { recursive: true });
      const copied = await open(copy);
      expect(seqs(copied)).toEqual(upTo(seqs(copied).length));
      expect(copied.identity.epoch).not.toBe(store.identity.epoch);
      await copied.close();
      await readAll(store);
    }
    await writing;
    await store.close();
  });

  it("F06: a copy that is not whole is restored up to where it is, and the rest is named", async () => {
    const directory = await filled(30, 500);
    const segments = segmentsOf(directory);
    truncateSync(segments[2]!, statSync(segments[2]!).size - 3);
    const cut = await restoreLog({ from: directory, to: join(freshDirectory(), "a") });
    expect(cut.last).toBeLessThan(30);
    expect(cut.leftOut?.reason).toContain("is incomplete");
    rmSync(segments[1]!);
    const missing = await restoreLog({ from: directory, to: join(freshDirectory(), "b") });
    expect(missing.leftOut?.reason).toContain("A file is missing");
    expect(missing.leftOut?.bytes).toBeGreaterThan(0);
  });
});
