import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    environment: "node",
    isolate: false,
    testTimeout: 60_000,
    maxWorkers: 2,
  },
});
