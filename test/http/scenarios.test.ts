/** The hub's scenarios, unchanged, over real sockets: while they run, the wire's driver stands in for the memory's. */
import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { memoryDriver } from "../support/driver.ts";
import { closeHalls, sseDriver, webSocketDriver } from "./drivers.ts";

/** Properties talk to the hub itself; over a wire they would show nothing new. */
const FILES = readdirSync(new URL("../scenarios", import.meta.url)).filter(
  (file) => file.endsWith(".test.ts") && !file.startsWith("properties"),
);

/** Stories that hold in memory only, each with its reason. */
const TIED_TO_MEMORY: [transport: RegExp, title: string, why: string][] = [
  [
    /sse/,
    "the default applies at once if nobody else could answer",
    "an SSE listener keeps its place for a while (CON-04)",
  ],
];

const memory = { ...memoryDriver };

for (const driver of [sseDriver, webSocketDriver]) {
  describe(`over ${driver.name}`, async () => {
    beforeAll(() => void Object.assign(memoryDriver, driver));
    beforeEach(({ task, skip }) => {
      const tied = TIED_TO_MEMORY.find(
        ([transport, title]) => transport.test(driver.name) && task.name.startsWith(title),
      );
      if (tied) skip(tied[2]);
    });
    afterEach(closeHalls);
    afterAll(() => void Object.assign(memoryDriver, memory));
    // A query each: every transport needs the files' tests registered anew.
    for (const file of FILES) await import(/* @vite-ignore */ `../scenarios/${file}?${driver.name}`);
  });
}
