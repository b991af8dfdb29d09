#!/usr/bin/env node
/** `earshot`: the process around `run`. */
import { readFileSync } from "node:fs";
import type { Interruption } from "./command.ts";
import { run } from "./run.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second signal ends the process at once.
    if (stop.signal.aborted) process.exit(128 + (signal === "SIGINT" ? 2 : 15));
    stop.abort(signal satisfies Interruption);
  });
}
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    stop.abort("closed pipe" satisfies Interruption);
  });
}
process.exitCode = await run(
  process.argv.slice(2),
  {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    signal: stop.signal,
  },
  version,
);
// A connection that was never closed must not keep the process alive.
setTimeout(() => process.exit(), 500).unref();
process.stdin.pause();
process.stdin.unref?.();
