/** Words a minute, as the listener declared them: over no minute more than that, unless something critical is pending. */

const MINUTE = 60_000;

export class Pace {
  /** Words by the moment they count from; a sentence longer than the pace counts over several minutes. */
  #said: { readonly at: number; readonly words: number }[] = [];

  readonly wpm: number | undefined;

  constructor(wpm: number | undefined) {
    this.wpm = wpm;
  }

  /** When so many words may begin; `now` if at once. */
  ready(words: number, now: number): number {
    if (this.wpm === undefined) return now;
    this.#said = this.#said.filter(({ at }) => at > now - MINUTE);
    const room = this.wpm - Math.min(words, this.wpm);
    let spoken = this.#said.reduce((sum, one) => sum + one.words, 0);
    let at = now;
    for (const one of this.#said) {
      if (spoken <= room) break;
      spoken -= one.words;
      at = one.at + MINUTE;
    }
    return at;
  }

  spend(words: number, now: number): void {
    if (this.wpm === undefined) return;
    for (let left = words, at = now; left > 0; left -= this.wpm, at += MINUTE)
      this.#said.push({ at, words: Math.min(left, this.wpm) });
    this.#said.sort((a, b) => a.at - b.at);
  }
}
