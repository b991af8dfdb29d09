/**
 * Questions beyond the one a person is being asked: that they wait, or were put aside, is said now and then, in one
 * sentence for all of them. An agent with a hundred of them must not drown the first.
 */
const WAITING_EVERY_MS = 5_000;
const ASIDE_AFTER_MS = 1_000;
const ASIDE_EVERY_MS = 30_000;

export interface PutAside {
  readonly agent: string;
  readonly count: number;
}

export class Crowd {
  #saidAt = Number.NEGATIVE_INFINITY;
  /** Questions came since of which nothing was said. */
  #due = false;
  readonly #aside = new Map<string, PutAside & { readonly at: number }>();
  readonly #asideSaid = new Map<string, number>();

  /** One more waits: true if that is to be said at once. */
  waits(now: number): boolean {
    this.#due = now < this.#saidAt + WAITING_EVERY_MS;
    if (!this.#due) this.#saidAt = now;
    return !this.#due;
  }

  /** Those that came in a row are to be told of now. */
  row(now: number): boolean {
    if (!this.#due || now < this.#saidAt + WAITING_EVERY_MS) return false;
    this.#due = false;
    this.#saidAt = now;
    return true;
  }

  aside(source: string, agent: string, now: number): void {
    const before = this.#asideSaid.get(source);
    const at = Math.max(now + ASIDE_AFTER_MS, (before ?? Number.NEGATIVE_INFINITY) + ASIDE_EVERY_MS);
    const known = this.#aside.get(source) ?? { at, count: 0 };
    this.#aside.set(source, { at: known.at, agent, count: known.count + 1 });
  }

  putAside(now: number): PutAside[] {
    const due = [...this.#aside].filter(([, { at }]) => at <= now);
    for (const [source] of due) {
      this.#aside.delete(source);
      this.#asideSaid.set(source, now);
    }
    return due.map(([, told]) => told);
  }

  get wakeAt(): number | undefined {
    const times = [...this.#aside.values()].map(({ at }) => at);
    if (this.#due) times.push(this.#saidAt + WAITING_EVERY_MS);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
