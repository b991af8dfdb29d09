// `npm test`: generates and builds what is derived, runs the suite, and ends with one line of totals.
// `npm run test:long` does the same with the large counts (kills, cuts, generated messages).
// After a full run the seconds per folder are compared with test/budget.json. A folder over its budget is a warning,
// not a failure, because a busy machine must not fail a run: look for a test that waits in real time.
import { readFileSync, rmSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { buildIfStale } from "./build-if-stale.mjs";
import { install } from "./install.mjs";
import { binOf, must, root, run } from "./run.mjs";

const long = process.argv.includes("--long");
const rest = process.argv.slice(2).filter((argument) => argument !== "--long");
must("Generating", run(join(root, "scripts/generate.mjs")));
buildIfStale();

/** Tests that need packages of a folder with a manifest of its own. Without a network they are skipped, except in CI. */
const NEEDS = {
  "test/examples.test.ts": ["examples/ai-sdk", "examples/langgraph", "examples/openai-agents"],
  "test/grpc/strangers.test.ts": ["tools/buf"],
};
const filters = rest.filter((argument) => !argument.startsWith("-"));
for (const [file, folders] of Object.entries(NEEDS))
  if (filters.length === 0 || filters.some((filter) => file.includes(filter))) folders.forEach(install);

/** Stays there: it says how long each test took. */
const report = join(root, ".artifacts/test-report.json");
rmSync(report, { force: true });
const status = run(
  binOf("vitest"),
  ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...rest],
  {
    env: { ...process.env, ...(long ? { EARSHOT_LONG: "1" } : {}) },
  },
);
try {
  const results = JSON.parse(readFileSync(report, "utf8"));
  if (!long && rest.length === 0) compareWithBudget(results.testResults);
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites, testResults } =
    results;
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
}
process.exit(status);

/** A folder's seconds are those of its files, one after another; files run in parallel, so the run takes less. */
function compareWithBudget(files) {
  const budget = JSON.parse(readFileSync(join(root, "test/budget.json"), "utf8"));
  const used = new Map(Object.keys(budget).map((folder) => [folder, 0]));
  for (const { name, startTime, endTime } of files) {
    const [top, folder, file] = relative(root, name).split(sep);
    const key = top === "src" ? "src" : file === undefined ? "test" : `test/${folder}`;
    used.set(key, (used.get(key) ?? 0) + (endTime - startTime) / 1000);
  }
  console.log("\nSeconds per folder (budget in test/budget.json):");
  const over = [];
  for (const [folder, seconds] of used) {
    const most = budget[folder];
    console.log(`${seconds.toFixed(1).padStart(8)} of ${String(most ?? "none").padStart(4)}  ${folder}`);
    if (most === undefined) over.push(`${folder} has no budget`);
    else if (seconds > most) over.push(`${folder} took ${seconds.toFixed(1)} s, its budget is ${most} s`);
  }
  for (const warning of over) console.warn(`Warning: ${warning}.`);
}
