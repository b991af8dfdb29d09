/** What a tab has not said yet: waiting for its turn, or for the person to look at this tab. Another tab may say it first. */
import { textOf, type Utterance } from "../subscriber/announcer.ts";

/** Beyond this, what is not urgent gives way to a word on how much there was; it stays in the transcript. */
const MOST_KEPT = 200;
/** More than a few sentences of catching up is a lecture. */
const MOST_TOLD = 3;
/** Only worth saying when it is said: nobody wants to know later that work went on. */
const FLEETING: ReadonlySet<string> = new Set(["still_working", "progress", "state"]);

export class Unsaid {
  #waiting: Utterance[] = [];
  /** Said by another tab before this one knew of it. */
  #early: string[] = [];

  get next(): Utterance | undefined {
    return this.#waiting.find(({ urgency }) => urgency === "critical") ?? this.#waiting[0];
  }

  get urgent(): boolean {
    return this.next?.urgency === "critical";
  }

  add(utterance: Utterance): void {
    const early = this.#early.indexOf(keyOf(utterance));
    if (early >= 0) return void this.#early.splice(early, 1);
    this.#waiting.push(utterance);
    if (this.#waiting.length <= MOST_KEPT) return;
    const plain = this.#waiting.findIndex(({ urgency }) => urgency !== "critical");
    this.#waiting.splice(Math.max(plain, 0), 1);
  }

  take(): Utterance | undefined {
    const next = this.next;
    this.#waiting = this.#waiting.filter((one) => one !== next);
    return next;
  }

  first(utterance: Utterance): void {
    this.#waiting.unshift(utterance);
  }

  said(key: string, reply_token: string | undefined): void {
    const at = this.#waiting.findIndex((one) => keyOf(one) === key);
    if (at >= 0) this.#waiting.splice(at, 1);
    else if (this.#early.push(key) > MOST_KEPT) this.#early.shift();
    // What became of a question is said once, in whatever words.
    if (reply_token !== undefined)
      this.#waiting = this.#waiting.filter((one) => one.reply_token !== reply_token);
  }

  clear(): void {
    this.#waiting = [];
  }

  /** Someone looks here again: the last words and all that is urgent; the answer is how many others there were. */
  fold(): number {
    const worth = this.#waiting.filter(({ kind, urgency }) => urgency === "critical" || !FLEETING.has(kind));
    const plain = worth.filter(({ urgency }) => urgency !== "critical");
    const dropped = plain.length > MOST_TOLD ? plain.slice(0, -1) : [];
    this.#waiting = worth.filter((one) => !dropped.includes(one));
    return dropped.length;
  }
}

export const keyOf = (utterance: Utterance): string => `${utterance.kind} ${textOf(utterance)}`;
