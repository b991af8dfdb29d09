import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { type DurablePlace, durableStoreContract, storeContract } from "../../test/contracts/store.ts";
import { crashingFiles } from "../../test/durability/files.ts";
import { type EmbeddedStoreOptions, openEmbeddedStore } from "./embedded/index.ts";
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

const embedded = (options: Partial<EmbeddedStoreOptions>) => async () => {
  const store = await openEmbeddedStore({ directory: freshDirectory(), ...options });
  return { store, close: () => store.close() };
};

const durable = (options: Partial<EmbeddedStoreOptions>) => (): DurablePlace => {
  const directory = freshDirectory();
  return {
    async open(crash = { bytes: Number.POSITIVE_INFINITY, unsynced: 1 }) {
      const files = crashingFiles(crash);
      const store = await openEmbeddedStore({ directory, files, warn: () => {}, ...options });
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
};

storeContract("memory", async () => ({ store: createMemoryStore(), close: async () => {} }));
storeContract("embedded", embedded({}));
storeContract("embedded, with tiny segments", embedded({ segmentBytes: 400 }));
durableStoreContract("embedded", durable({}));
durableStoreContract("embedded, with tiny segments", durable({ segmentBytes: 300 }));
