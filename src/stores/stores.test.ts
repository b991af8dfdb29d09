import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { entry, readAll, storeContract } from "../../test/contracts/store.ts";
import { type FilePort, nodeFiles } from "./embedded/file-port.ts";
import { openEmbeddedStore } from "./embedded/store.ts";
import { createMemoryStore } from "./memory.ts";

const directories: string[] = [];
const freshDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "earshot-store-"));
  directories.push(directory);
  return directory;
};
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

storeContract("memory", async () => ({ store: createMemoryStore(), close: async () => {} }));
storeContract("embedded", async () => {
  const store = await openEmbeddedStore({ directory: freshDirectory() });
  return { store, close: () => store.close() };
});
storeContract("embedded, with tiny segments", async () => {
  const store = await openEmbeddedStore({ directory: freshDirectory(), segment_bytes: 400 });
  return { store, close: () => store.close() };
});

/** A directory with some entries in it, closed. */
async function filled(count: number, segment_bytes = 1_000_000): Promise<string> {
  const directory = freshDirectory();
  const store = await openEmbeddedStore({ directory, segment_bytes });
  for (let seq = 1; seq <= count; seq++) await store.append([entry(seq)]);
  await store.close();
  return directory;
}
const segmentsOf = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".seg"))
    .sort()
    .map((name) => join(directory, name));

describe("the embedded log after a restart", () => {
  it("finds everything, across segments, under the same identity", async () => {
    const directory = await filled(30, 500);
    expect(segmentsOf(directory).length).toBeGreaterThan(3);
    const first = await openEmbeddedStore({ directory, segment_bytes: 500 });
    expect(first.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    await first.append([entry(31)]);
    await first.close();
    const second = await openEmbeddedStore({ directory, segment_bytes: 500 });
    expect(second.entries).toHaveLength(31);
    expect(second.identity).toEqual(first.identity);
    await second.close();
  });

  it("F06: a wiped log has another epoch", async () => {
    const directory = await filled(1);
    const { epoch } = JSON.parse(readFileSync(join(directory, "identity.json"), "utf8"));
    rmSync(directory, { recursive: true });
    const store = await openEmbeddedStore({ directory });
    expect(store.identity.epoch).not.toBe(epoch);
    await store.close();
  });

  it("a torn last write is cut off wherever it broke, and the log goes on", async () => {
    const directory = await filled(5);
    const [segment] = segmentsOf(directory);
    const whole = readFileSync(segment!);
    const lastRecord = whole.length - (whole.length - 8) / 5;
    for (let size = Math.ceil(lastRecord) + 1; size < whole.length; size += 3) {
      writeFileSync(segment!, whole.subarray(0, size));
      const store = await openEmbeddedStore({ directory });
      expect(
        store.entries.map(({ seq }) => seq),
        `cut at ${size}`,
      ).toEqual([1, 2, 3, 4]);
      expect(store.torn_bytes).toBeGreaterThan(0);
      await store.append([entry(5)]);
      expect(await readAll(store)).toEqual([1, 2, 3, 4, 5]);
      await store.close();
      writeFileSync(segment!, whole);
    }
  });

  it("F05: a flipped byte in what was acknowledged is noticed and named, wherever it is", async () => {
    const directory = await filled(4);
    const [segment] = segmentsOf(directory);
    const whole = readFileSync(segment!);
    const record = (whole.length - 8) / 4;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: Math.floor(8 + 3 * record) - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, mask) => {
          const damaged = Buffer.from(whole);
          damaged[at] = damaged[at]! ^ mask;
          writeFileSync(segment!, damaged);
          await expect(openEmbeddedStore({ directory })).rejects.toThrow(/damaged at byte|version|not a log/);
          rmSync(join(directory, "lock"), { force: true });
        },
      ),
      { numRuns: 150 },
    );
  });

  it("F05: a missing or shortened file in the middle is noticed", async () => {
    const directory = await filled(30, 500);
    const segments = segmentsOf(directory);
    const middle = segments[1]!;
    const bytes = readFileSync(middle);
    truncateSync(middle, statSync(middle).size - 5);
    await expect(openEmbeddedStore({ directory })).rejects.toThrow("damaged");
    rmSync(join(directory, "lock"));
    writeFileSync(middle, bytes);
    rmSync(middle);
    await expect(openEmbeddedStore({ directory })).rejects.toThrow("a file is missing");
  });

  it("a file of another version or program is left alone", async () => {
    const directory = await filled(1);
    const [segment] = segmentsOf(directory);
    const bytes = readFileSync(segment!);
    bytes[7] = 9;
    writeFileSync(segment!, bytes);
    await expect(openEmbeddedStore({ directory })).rejects.toThrow("version 9");
    expect(readFileSync(segment!)).toEqual(bytes);
  });

  it("reopens 100,000 events in well under two seconds of CPU", async () => {
    const directory = freshDirectory();
    const store = await openEmbeddedStore({ directory });
    for (let seq = 1; seq <= 100_000; seq += 1000)
      await store.append(Array.from({ length: 1000 }, (_, i) => entry(seq + i, "x".repeat(400))));
    await store.close();
    const before = process.cpuUsage();
    const again = await openEmbeddedStore({ directory });
    const { user, system } = process.cpuUsage(before);
    expect(again.entries).toHaveLength(100_000);
    expect((user + system) / 1e6).toBeLessThan(2);
    await again.close();
  });
});

describe("one writer", () => {
  it("a second one is told who has it and what to do", async () => {
    const directory = freshDirectory();
    const store = await openEmbeddedStore({ directory });
    await expect(openEmbeddedStore({ directory })).rejects.toThrow(`process ${process.pid}`);
    await store.close();
    const next = await openEmbeddedStore({ directory });
    await next.close();
  });

  it("the lock of a dead process does not keep anybody out", async () => {
    const directory = freshDirectory();
    writeFileSync(join(directory, "lock"), "999999");
    const store = await openEmbeddedStore({ directory, processAlive: () => false });
    await store.close();
  });
});

/** Files that fail when told to. */
function faulty(fault: {
  append?: (bytes: Uint8Array) => Error | number | undefined;
  sync?: () => Error | undefined;
}): FilePort {
  return {
    ...nodeFiles,
    async open(path, exclusive) {
      const file = await nodeFiles.open(path, exclusive);
      if (!path.endsWith(".seg")) return file;
      return {
        ...file,
        async append(bytes) {
          const outcome = fault.append?.(bytes);
          if (typeof outcome === "number") {
            appendFileSync(path, bytes.subarray(0, outcome));
            throw Object.assign(new Error("No space left on device."), { code: "ENOSPC" });
          }
          if (outcome) throw outcome;
          await file.append(bytes);
        },
        async sync() {
          const outcome = fault.sync?.();
          if (outcome) throw outcome;
          await file.sync();
        },
      };
    },
  };
}

describe("when the disk fails", () => {
  it("F03: a full disk acknowledges nothing, and what was acknowledged before is all there afterwards", async () => {
    const directory = freshDirectory();
    let full = false;
    const store = await openEmbeddedStore({
      directory,
      files: faulty({ append: () => (full ? 11 : undefined) }),
    });
    await store.append([entry(1)]);
    full = true;
    await expect(store.append([entry(2)])).rejects.toThrow("cannot be written any more");
    full = false;
    await expect(store.append([entry(3)]), "it does not carry on as if nothing had happened").rejects.toThrow(
      "cannot be written",
    );
    await store.close();
    const again = await openEmbeddedStore({ directory });
    expect(again.entries.map(({ seq }) => seq)).toEqual([1]);
    expect(again.torn_bytes).toBe(11);
    await again.close();
  });

  it("F04: a failed sync stops every further acknowledgement", async () => {
    const directory = freshDirectory();
    let broken = false;
    const store = await openEmbeddedStore({
      directory,
      files: faulty({ sync: () => (broken ? new Error("I/O error.") : undefined) }),
    });
    await store.append([entry(1)]);
    broken = true;
    await expect(store.append([entry(2)])).rejects.toThrow("fix the disk");
    broken = false;
    await expect(store.append([entry(3)])).rejects.toThrow("fix the disk");
    await store.close();
  });

  it("old segments go, but never the one in use", async () => {
    const directory = await filled(30, 500);
    const store = await openEmbeddedStore({ directory, segment_bytes: 500 });
    const before = segmentsOf(directory).length;
    expect(await store.forget(1)).toBe(0);
    expect(await store.forget(1000)).toBe(before - 1);
    await store.append([entry(31)]);
    expect((await readAll(store)).at(-1)).toBe(31);
    await store.close();
  });
});
