/** A fake clock: time moves only with `advance`. Timers fire in order, and what each starts settles before the next one. */
import type { Clock } from "../protocol/platform.ts";

export interface FakeClock extends Clock {
  /** Advances the time, fires every timer that is due, and waits until everything has settled. */
  advance(ms: number): Promise<void>;
  /** Waits until everything that is ready has run, without advancing the time. */
  settle(): Promise<void>;
  /** Moves the wall clock only; deadlines must not be affected (F23). */
  jump(ms: number): void;
}

export function createFakeClock(start = "2026-01-01T00:00:00.000Z"): FakeClock {
  let now = 0;
  let wall = Date.parse(start);
  const timers = new Set<{ at: number; callback: () => void }>();
  // Promise chains of any length settle within a few macrotasks; crypto.subtle needs real ones.
  const settle = async () => {
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediateOrTimeout(resolve));
  };
  return {
    now: () => now,
    timestamp: () => new Date(wall + now).toISOString(),
    timer(at, callback) {
      const timer = { at, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (;;) {
        let next: { at: number; callback: () => void } | undefined;
        for (const timer of timers) if (timer.at <= until && (!next || timer.at < next.at)) next = timer;
        if (!next) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.callback();
        await settle();
      }
      now = until;
      await settle();
    },
    settle,
    jump(ms) {
      wall += ms;
    },
  };
}

const setImmediateOrTimeout = (callback: (value: unknown) => void): void => {
  const immediate = (globalThis as { setImmediate?: (callback: (value: unknown) => void) => void })
    .setImmediate;
  if (immediate) immediate(callback);
  else setTimeout(callback, 0);
};
