/** Announcements a tab has not made yet: waiting for their turn, or for the person to look at this tab. Another tab may make them first. */
import { textOf, type Utterance } from "../subscriber/announcer.ts";

/** Beyond this, announcements that are not urgent are dropped and counted; they stay in the transcript. */
const MOST_KEPT = 200;
/** How many missed announcements are made in full when the person looks here again. */
const MOST_TOLD = 3;
/** Kinds that are outdated later: nobody needs to hear afterwards that work went on. */
const FLEETING: ReadonlySet<string> = new Set(["still_working", "progress", "state"]);

export class PendingAnnouncements {
  #waiting: Utterance[] = [];
  /** Made by another tab before this one received the event. */
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
    // The outcome of a question is announced once, in whatever words.
    if (reply_token !== undefined)
      this.#waiting = this.#waiting.filter((one) => one.reply_token !== reply_token);
  }

  clear(): void {
    this.#waiting = [];
  }

  /** The person looks here again: keeps the latest and all urgent announcements, and returns how many others there were. */
  fold(): number {
    const worth = this.#waiting.filter(({ kind, urgency }) => urgency === "critical" || !FLEETING.has(kind));
    const plain = worth.filter(({ urgency }) => urgency !== "critical");
    const dropped = plain.length > MOST_TOLD ? plain.slice(0, -1) : [];
    this.#waiting = worth.filter((one) => !dropped.includes(one));
    return dropped.length;
  }
}

export const keyOf = (utterance: Utterance): string => `${utterance.kind} ${textOf(utterance)}`;
