// `npm test`: generates what is derived, runs the suite, and closes with one plain line of totals.
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "./install.mjs";
import { binOf, must, root, run } from "./run.mjs";

const long = process.argv.includes("--long");
const rest = process.argv.slice(2).filter((argument) => argument !== "--long");
must("Generating", run(join(root, "scripts/generate.mjs")));

/** Tests that need packages of a folder with a manifest of its own. Without a network they are skipped, except in CI. */
const NEEDS = {
  "test/examples.test.ts": ["examples/ai-sdk", "examples/langgraph", "examples/openai-agents"],
  "test/grpc/strangers.test.ts": ["tools/buf"],
};
const filters = rest.filter((argument) => !argument.startsWith("-"));
for (const [file, folders] of Object.entries(NEEDS))
  if (filters.length === 0 || filters.some((filter) => file.includes(filter))) folders.forEach(install);

const report = join(tmpdir(), `earshot-tests-${process.pid}.json`);
const status = run(
  binOf("vitest"),
  ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...rest],
  {
    env: { ...process.env, ...(long ? { EARSHOT_LONG: "1" } : {}) },
  },
);
try {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites, testResults } =
    JSON.parse(readFileSync(report, "utf8"));
  // A file that fails to load has no tests of its own to count, yet it is a failure.
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const failed = numFailedTests + (numFailedTestSuites > 0 ? brokenFiles.length : 0);
  const skipped = numPendingTests + numTodoTests;
  console.log(`${numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
} catch (error) {
  console.error(`The runner left no report: ${error.message}`);
  console.log("0 passed, 1 failed");
} finally {
  rmSync(report, { force: true });
}
process.exit(status);
