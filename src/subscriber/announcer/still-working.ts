/** When a word is due that work goes on: after 15 seconds without any, then each time after twice as long. */

const FIRST_MS = 15_000;
const LONGEST_MS = 16 * 60_000;

export class StillWorking {
  #since: number | undefined;
  #interval = FIRST_MS;

  /** The first event of all starts the wait. */
  begin(now: number): void {
    this.#since ??= now;
  }
  said(isReminder: boolean, now: number): void {
    this.#since = now;
    this.#interval = isReminder ? Math.min(this.#interval * 2, LONGEST_MS) : FIRST_MS;
  }
  /** Silence counts from the end of what was said. */
  spoke(now: number): void {
    this.#since = now;
  }
  due(now: number): boolean {
    return this.#since !== undefined && now - this.#since >= this.#interval;
  }
  get wakeAt(): number | undefined {
    return this.#since === undefined ? undefined : this.#since + this.#interval;
  }
}
