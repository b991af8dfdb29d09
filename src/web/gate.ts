/** When the next words may be said. A page is never told that a screen reader has finished, so it reckons. */

/** A sentence gets this long at most; something critical waits no longer than the second of these. */
const LONGEST_MS = 8_000;
const CRITICAL_MS = 2_500;

export class Gate {
  #opens = -Infinity;
  #said = -Infinity;
  hurried = false;

  opens(urgent: boolean): number {
    return urgent ? Math.min(this.#opens, this.#said + CRITICAL_MS) : this.#opens;
  }

  /** So many words at so many a minute, and never more announcements a second than agreed. */
  said(now: number, words: number, pace: number, rate: number): void {
    this.#said = now;
    this.#opens = now + Math.max(Math.min((words / pace) * 60_000, LONGEST_MS), Math.ceil(1000 / rate));
    this.hurried = false;
  }

  /** Not before so many milliseconds have passed, urgent or not. */
  hush(now: number, ms: number): void {
    this.#opens = Math.max(this.#opens, now + ms);
    this.#said = Math.max(this.#said, now + ms - CRITICAL_MS);
  }

  /** The person did something: what they get for it does not wait for a sentence they have passed over. */
  acted(): void {
    this.#opens = this.#said = -Infinity;
    this.hurried = true;
  }
}
