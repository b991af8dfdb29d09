/** The hub's scenarios, unchanged, over a Unix socket with either framing and over stdio (IPC-05, RPC-02, TRN-15). */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { memoryDriver } from "../support/driver.ts";
import { clearDesks, lengthPrefixDriver, linesDriver, stdioDriver } from "./drivers.ts";

/** The process's end is the subscription's, so nobody comes back on stdio (RPC-05, CON-04). */
const NOT_ON_STDIO = /resume|comes back|coming back|go on where|long gone/;
/** Told within one turn of the loop, which no wire can do; test/desk/behaviours.test.ts tells them over the wire. */
const IN_ONE_TURN = /waits for somebody to come|stops everything at once for the one who leaves/;

// A query each: every transport needs the files' tests registered anew.
const TRANSPORTS = [
  { driver: lengthPrefixDriver, files: import.meta.glob("../scenarios/*.test.ts", { query: "?ipc" }) },
  { driver: linesDriver, files: import.meta.glob("../scenarios/*.test.ts", { query: "?lines" }) },
  { driver: stdioDriver, files: import.meta.glob("../scenarios/*.test.ts", { query: "?stdio" }), except: NOT_ON_STDIO },
];
const memory = { ...memoryDriver };

for (const { driver, files, except } of TRANSPORTS) {
  describe(`over ${driver.name}`, async () => {
    beforeAll(() => void Object.assign(memoryDriver, driver));
    beforeEach(({ task, skip }) => {
      if (except?.test(`${task.suite?.name} ${task.name}`)) skip("A process's end is the end of its subscription.");
      if (!process.env["EARSHOT_LONG"] && /oversize words/.test(task.name)) skip("Seconds long; run with EARSHOT_LONG=1.");
      if (IN_ONE_TURN.test(task.name)) skip("Told within one turn of the loop.");
    });
    afterEach(clearDesks);
    afterAll(() => void Object.assign(memoryDriver, memory));
    for (const load of Object.values(files)) await load();
  });
}
