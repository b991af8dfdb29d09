/** Time, passed in: a monotonic clock for deadlines, a wall clock for timestamps, and timers. Tests bring their own. */
export interface Clock {
  /** Milliseconds that never jump. */
  now(): number;
  /** RFC 3339 with milliseconds. */
  timestamp(): string;
  /** Calls back once `now()` has reached `at`. The answer cancels it. */
  timer(at: number, callback: () => void): () => void;
}

/** setTimeout fires at once beyond this; longer waits go in steps. */
const LONGEST_TIMEOUT = 2_000_000_000;

/** Many things happen within a millisecond, and are written at the same time. */
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
