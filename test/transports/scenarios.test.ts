/** The hub's scenarios, unchanged, over a Unix socket with either framing and over stdio: IPC-05, RPC-02, TRN-15. */
import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { memoryDriver } from "../support/driver.ts";
import { clearDesks, lengthPrefixDriver, linesDriver, stdioDriver } from "./drivers.ts";

/** Properties talk to the hub itself; over a wire they would show nothing new. */
const FILES = readdirSync(new URL("../scenarios", import.meta.url)).filter(
  (file) => file.endsWith(".test.ts") && !file.startsWith("properties"),
);

/** Stories that hold in memory only, each with its reason; behaviours.test.ts tells the same over the wire. */
const NOT_HERE: [transport: RegExp, title: RegExp, why: string][] = [
  [
    /stdio/,
    /resume|comes back|coming back|go on where|long gone/,
    "a process's end is the end of its subscription (RPC-05)",
  ],
  ...(process.env["EARSHOT_LONG"]
    ? []
    : [[/./, /oversize words/, "seconds long; run with EARSHOT_LONG=1"] as [RegExp, RegExp, string]]),
];
const memory = { ...memoryDriver };

for (const driver of [lengthPrefixDriver, linesDriver, stdioDriver]) {
  describe(`over ${driver.name}`, async () => {
    beforeAll(() => void Object.assign(memoryDriver, driver));
    beforeEach(({ task, skip }) => {
      for (const [transport, title, why] of NOT_HERE) {
        if (transport.test(driver.name) && title.test(`${task.suite?.name} ${task.name}`)) skip(why);
      }
    });
    afterEach(clearDesks);
    afterAll(() => void Object.assign(memoryDriver, memory));
    // A query each: every transport needs the files' tests registered anew.
    for (const file of FILES)
      await import(/* @vite-ignore */ `../scenarios/${file}?over=${encodeURIComponent(driver.name)}`);
  });
}
