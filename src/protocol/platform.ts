/** What the core needs of its platform and gets passed in: time, timers, randomness and ids. Tests pass fakes. */

/** A monotonic clock for deadlines, a wall clock for timestamps, and timers. */
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

/** A source of random bytes. */
export type RandomBytes = (length: number) => Uint8Array;
/** What an id is for; ids begin with it. */
export type IdPrefix = "evt" | "sess" | "sub" | "rpl" | "call" | "out";
/** Generates an id with a prefix. */
export type Ids = (prefix: IdPrefix) => string;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random bytes from the platform's cryptography. */
export const systemRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

/** Creates a generator of random ids. */
export function createIds(random: RandomBytes = systemRandom): Ids {
  return (prefix) => {
    let id = `${prefix}_`;
    for (const byte of random(16)) id += HEX[byte];
    return id;
  };
}
