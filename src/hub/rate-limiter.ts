/**
 * A rate limiter for messages that cost the hub work: refused replies (A02, SEC-04), status and follow requests. The
 * rate of events to a subscription (max_events_per_second) is limited in delivery/drain.ts. Guessing 128 random bits is
 * hopeless anyway; the limit bounds the work, and makes a pattern of guesses visible. A key is allowed `burst` attempts at
 * once and gets one back every `refillMs`.
 */
const MOST_KEYS = 10_000;

export interface RateLimit {
  readonly burst: number;
  readonly refillMs: number;
}

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #now: () => number;
  /** When a key's last failure is forgiven; the key that failed longest ago first. */
  readonly #until = new Map<string, number>();

  constructor(limit: RateLimit, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Always the same, so that it reveals nothing about other attempts. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.#limit.refillMs / 1000));
  }

  allows(key: string): boolean {
    const { burst, refillMs } = this.#limit;
    return (this.#until.get(key) ?? 0) - this.#now() <= (burst - 1) * refillMs;
  }

  /** Uses up one of the key's attempts. */
  charge(key: string): void {
    const { burst, refillMs } = this.#limit;
    const now = this.#now();
    const until = Math.min(Math.max(this.#until.get(key) ?? 0, now) + refillMs, now + burst * refillMs);
    this.#until.delete(key);
    if (this.#until.size >= MOST_KEYS) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(key, until);
  }
}
