/** Virtual time for tests against real sockets: what lasts a minute takes no time, and never runs out too early. */
import { onTestFinished, vi } from "vitest";

/** Until the test ends, `Date` and timers are virtual. They run on with real time; `skip` jumps ahead. */
export function useVirtualTime(): { skip(ms: number): Promise<void> } {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  return { skip: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)) };
}
