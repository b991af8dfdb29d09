/** Injected time: a monotonic clock for deadlines, a wall clock for timestamps, and timers. Tests use a fake clock. */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number;
  /** RFC 3339 with milliseconds. */
  timestamp(): string;
  /** Calls back once `now()` has reached `at`. Returns a function that cancels it. */
  timer(at: number, callback: () => void): () => void;
}

/** setTimeout fires immediately for delays beyond 2^31 ms; longer waits are split. */
const LONGEST_TIMEOUT = 2_000_000_000;

/** Cache: many events share a millisecond. */
let written = { ms: NaN, text: "" };

export const systemClock: Clock = {
  now: () => performance.now(),
  timestamp: () => {
    const ms = Date.now();
    if (ms !== written.ms) written = { ms, text: new Date(ms).toISOString() };
    return written.text;
  },
  timer(at, callback) {
    let handle: ReturnType<typeof setTimeout>;
    const arm = () => {
      const wait = Math.min(Math.max(0, Math.ceil(at - performance.now())), LONGEST_TIMEOUT);
      handle = setTimeout(() => (performance.now() < at ? arm() : callback()), wait);
    };
    arm();
    return () => clearTimeout(handle);
  },
};
