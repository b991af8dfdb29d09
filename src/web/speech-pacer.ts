/** Estimates when the next announcement may be made: a page cannot observe when a screen reader has finished. */

/** The longest estimate for one utterance, and the longest wait for a critical one. */
const MAX_UTTERANCE_MS = 8_000;
const MAX_CRITICAL_WAIT_MS = 2_500;

export class SpeechPacer {
  #readyAt = -Infinity;
  #said = -Infinity;
  /** The person acted, and waits for the result. */
  hurried = false;

  readyAt(urgent: boolean): number {
    return urgent ? Math.min(this.#readyAt, this.#said + MAX_CRITICAL_WAIT_MS) : this.#readyAt;
  }

  /** `pace` in words a minute; `rate` is the negotiated limit of announcements a second. */
  said(now: number, words: number, pace: number, rate: number): void {
    this.#said = now;
    this.#readyAt =
      now + Math.max(Math.min((words / pace) * 60_000, MAX_UTTERANCE_MS), Math.ceil(1000 / rate));
    this.hurried = false;
  }

  /** Waits at least this long, also for critical announcements. */
  delay(now: number, ms: number): void {
    this.#readyAt = Math.max(this.#readyAt, now + ms);
    this.#said = Math.max(this.#said, now + ms - MAX_CRITICAL_WAIT_MS);
  }

  /** The person acted: the response does not wait for an earlier sentence. */
  personActed(): void {
    this.#readyAt = this.#said = -Infinity;
    this.hurried = true;
  }
}
