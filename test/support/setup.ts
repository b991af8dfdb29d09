/**
 * Runs before each test file. Files run in parallel and share a process with others: each process has a runtime
 * directory of its own, so that no test finds the sockets and tokens of another, and each file begins with it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const shared = globalThis as { earshotRuntime?: string };
if (shared.earshotRuntime === undefined) {
  const directory = mkdtempSync(join(tmpdir(), "earshot-run-"));
  shared.earshotRuntime = directory;
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
}
process.env["XDG_RUNTIME_DIR"] = shared.earshotRuntime;
