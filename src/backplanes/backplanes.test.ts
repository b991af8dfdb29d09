import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  announcedContract,
  backplaneContract,
  durableAnnouncedContract,
  type OpenBackplane,
} from "../../test/contracts/backplane.ts";
import { entry } from "../../test/contracts/store.ts";
import { crashingFiles } from "../../test/durability/files.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { createMemoryStore } from "../stores/memory.ts";
import { createMemoryBackplane } from "./memory.ts";

const directories: string[] = [];
const freshDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "earshot-backplane-"));
  directories.push(directory);
  return directory;
};
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const memory: OpenBackplane = async () => ({
  backplane: createMemoryBackplane(),
  settled: async () => {},
});

backplaneContract("memory", memory);
announcedContract("memory, memory store", memory, async () => ({
  store: createMemoryStore(),
  close: async () => {},
}));
announcedContract("memory, embedded store", memory, async () => {
  const store = await openEmbeddedStore({ directory: freshDirectory() });
  return { store, close: () => store.close() };
});
durableAnnouncedContract("memory, embedded store", memory, () => {
  const directory = freshDirectory();
  return {
    async open(crash = { bytes: Number.POSITIVE_INFINITY, unsynced: 1 }) {
      const files = crashingFiles(crash);
      const store = await openEmbeddedStore({ directory, files, warn: () => {}, segment_bytes: 2000 });
      return {
        store,
        close: () => store.close(),
        async crash() {
          files.crash();
          await store.close().catch(() => undefined);
        },
      };
    },
  };
});

describe("the backplane in memory", () => {
  it("says what a listener threw, and calls before it gives back", () => {
    const failures: unknown[] = [];
    const backplane = createMemoryBackplane({ failed: (error) => failures.push(error) });
    const broken = new Error("a broken listener");
    const heard: number[] = [];
    backplane.listen(() => {
      throw broken;
    });
    backplane.listen((entries) => void heard.push(...entries.map(({ seq }) => seq)));
    backplane.announce([entry(1)]);
    expect(heard).toEqual([1]);
    expect(failures).toEqual([broken]);
  });
});
