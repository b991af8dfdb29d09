/** Waiting for somebody who can be asked: whoever joins, gains the right to answer or is asked less wakes those who wait. */
import type { Clock } from "../protocol/clock.ts";

export class WaitingRoom {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves true once `found` says so; false when the time is up, or when `signal` says not to wait. */
  until(found: () => boolean, seconds: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#closed) return new Promise(() => {});
    if (found()) return Promise.resolve(true);
    if (seconds <= 0 || signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (answer: boolean) => {
        if (this.#closed) return;
        this.#waiting.delete(check);
        cancel();
        signal?.removeEventListener("abort", stop);
        resolve(answer);
      };
      const check = () => {
        if (found()) done(true);
      };
      const stop = () => done(false);
      const cancel = this.#clock.timer(this.#clock.now() + seconds * 1000, stop);
      signal?.addEventListener("abort", stop);
      this.#waiting.add(check);
    });
  }

  /** The process is about to stop: nobody here learns anything any more. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  wake(): void {
    for (const check of [...this.#waiting]) check();
  }
}
