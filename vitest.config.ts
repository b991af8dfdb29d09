import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

/**
 * Files that measure the machine's time or need it for themselves. They run one after another when all others are done.
 * Everything else shares nothing with other files: ports are given by the system (port 0), sockets, tokens and
 * $XDG_RUNTIME_DIR lie in directories of their own, and X displays are numbered by Xvfb itself.
 */
const ALONE = [
  // A real screen reader in real time: what Orca says depends on when the browser's events reach it.
  "test/browser/orca.test.ts",
  // Real speech and braille programs, likewise.
  "test/subscriber/brlapi.test.ts",
  "test/subscriber/real-voices.test.ts",
  // Costs that must not grow, compared in time.
  "src/delivery/engine-bounds.test.ts",
  "src/text/segmenter/segmenter.test.ts",
  "test/durability/time.test.ts",
];

export default defineConfig({
  test: {
    environment: "node",
    // One process serves many files, so modules load once: a test restores what it changes of the process.
    isolate: false,
    testTimeout: 60_000,
    setupFiles: ["test/support/setup.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "parallel",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...ALONE],
          maxWorkers: Math.min(4, Math.max(2, availableParallelism())),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
