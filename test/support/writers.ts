/** Writers share one clock of their own: when the last round of writes was, and until when they rest. */
import { setImmediate as turn } from "node:timers/promises";
import { vi } from "vitest";
import { Writer } from "../../src/server/writer.ts";

/** Goes back to real time, with a round of writes there: other tests would wait for a rest that ends in a time to come. */
export async function backToRealTime(): Promise<void> {
  vi.restoreAllMocks();
  vi.useRealTimers();
  const outlet = { write: () => true, writableLength: 0 };
  const options = { cap: 1_000, blocked_ms: 60_000, slow: () => {} };
  for (let i = 0; i < 64; i++) new Writer(outlet, options).write("now");
  await turn();
}
