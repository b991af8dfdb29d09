/**
 * How often somebody may do what costs us work: give wrong answers above all (A02). Guessing 128 random bits is hopeless
 * anyway; this bounds what trying costs. Whoever is over the limit is refused exactly like everyone else.
 */
const MOST_KEYS = 10_000;

interface ThrottleOptions {
  readonly now: () => number;
  /** So many at once; one more is forgiven every `forgive_ms`. */
  readonly most?: number;
  readonly forgive_ms?: number;
}

export class Throttle {
  readonly #options: Required<ThrottleOptions>;
  /** When the last failure will be forgiven, by key; the oldest key first. */
  readonly #until = new Map<string, number>();

  constructor(options: ThrottleOptions) {
    this.#options = { most: 20, forgive_ms: 3_000, ...options };
  }

  allows(key: string): boolean {
    const { now, most, forgive_ms } = this.#options;
    return (this.#until.get(key) ?? 0) - now() <= (most - 1) * forgive_ms;
  }

  failed(key: string): void {
    const { now, most, forgive_ms } = this.#options;
    const latest = now() + most * forgive_ms;
    const until = Math.min(Math.max(this.#until.get(key) ?? 0, now()) + forgive_ms, latest);
    this.#until.delete(key);
    if (this.#until.size >= MOST_KEYS) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(key, until);
  }
}
