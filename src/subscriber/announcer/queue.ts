/**
 * Whose turn it is to be said (DEL-26): critical before everything and interrupting it, but never another critical one;
 * normal in turn; background when nothing else waits. What was interrupted is said again from its start. Pure: it is
 * told the time and when a voice is done, and says what the voice should do.
 */
import { Pace } from "./pace.ts";
import type { Utterance } from "./utterance.ts";

export type Action =
  | { readonly do: "say"; readonly utterance: Utterance }
  /** Stop saying this; it comes again. */
  | { readonly do: "stop"; readonly utterance: Utterance };

/** Non-critical utterances waiting; beyond this the oldest are folded into one that says how many there were. */
const MOST_WAITING = 200;
/** Critical ones, hours of them: only an agent that does nothing else gets here. What is asked is never folded. */
const MOST_URGENT = 2_000;
/** Between a person and an agent, not news of one; so many pieces of urgent news may come before it. */
const CONCERNS = /^(?:question|answer|settled|status|notice)$/;
const MOST_AHEAD = 5;
/** An answer may be a book: its sentences are what was asked for. */
const MOST_TEXT = 2_000;

interface QueueOptions {
  readonly pace_wpm: number | undefined;
  /** It will not be said. */
  skipped(utterance: Utterance): void;
  /** One utterance in place of so many; those stay in the history. */
  fold(count: number, urgency: "critical" | "normal"): Utterance;
}

export class Queue {
  readonly #options: QueueOptions;
  readonly #critical: Utterance[] = [];
  #skippedUrgent = 0;
  #normal: Utterance[] = [];
  #background: Utterance[] = [];
  #skipped = 0;
  #pace: Pace;
  #speaking: Utterance | undefined;
  #held = false;
  readonly #interrupted = new Set<number>();

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#pace = new Pace(options.pace_wpm);
  }

  get speaking(): Utterance | undefined {
    return this.#speaking;
  }
  get waiting(): readonly Utterance[] {
    return [...this.#critical, ...this.#normal, ...this.#background];
  }
  get urgent(): boolean {
    return this.#critical.length > 0;
  }
  get idle(): boolean {
    return this.#speaking === undefined && this.waiting.length === 0;
  }

  set pace_wpm(wpm: number | undefined) {
    this.#pace = new Pace(wpm);
  }

  /** While held only what is critical is said. */
  hold(held: boolean): void {
    this.#held = held;
  }
  get held(): boolean {
    return this.#held;
  }

  add(utterance: Utterance): void {
    if (utterance.urgency === "critical") this.#addUrgent(utterance);
    else if (utterance.urgency === "background") this.#background.push(utterance);
    else this.#normal.push(utterance);
    // Held ones wait for the digest that ends the hold, which needs them all.
    this.#bound(this.#held ? MOST_WAITING * 10 : MOST_WAITING);
  }

  /** What a person is asked, or asked for, does not wait for hours behind an agent that fails and fails. */
  #addUrgent(utterance: Utterance): void {
    const concern = CONCERNS.test(utterance.kind);
    let at = this.#critical.length;
    while (concern && at > MOST_AHEAD && !CONCERNS.test(this.#critical[at - 1]!.kind)) at--;
    this.#critical.splice(at, 0, utterance);
    if (this.#critical.length <= MOST_URGENT) return;
    const least = this.#critical.findIndex(({ kind }) => !CONCERNS.test(kind) || kind === "settled");
    if (least < 0) return;
    this.#skippedUrgent++;
    this.#options.skipped(this.#critical.splice(least, 1)[0]!);
  }

  /** Progress first, then the oldest: what is left is what a person would want to hear next. */
  #bound(most: number): void {
    if (this.#normal.length + this.#background.length <= most) return;
    let text = this.#normal.filter(({ kind }) => kind === "output").length;
    let news = this.#normal.length - text + this.#background.length;
    for (; news > most; news--)
      this.#skip(this.#background.shift() ?? this.#take(({ kind }) => kind !== "output"));
    for (; text > MOST_TEXT; text--) this.#skip(this.#take(({ kind }) => kind === "output"));
  }

  #skip(utterance: Utterance): void {
    this.#skipped++;
    this.#options.skipped(utterance);
  }

  #take(fits: (utterance: Utterance) => boolean): Utterance {
    return this.#normal.splice(this.#normal.findIndex(fits), 1)[0]!;
  }

  /** Part of it was heard, so that it comes again from its start. */
  wasInterrupted(id: number): boolean {
    return this.#interrupted.has(id);
  }

  /** Takes out what waits and fits, e.g. what a digest says in its stead. */
  remove(fits: (utterance: Utterance) => boolean): Utterance[] {
    const out: Utterance[] = [];
    const keep = (list: Utterance[]) =>
      list.filter((one) => {
        if (!fits(one)) return true;
        out.push(one);
        return false;
      });
    this.#critical.splice(0, Infinity, ...keep(this.#critical));
    this.#normal = keep(this.#normal);
    this.#background = keep(this.#background);
    return out;
  }

  finished(id: number): Utterance | undefined {
    const done = this.#speaking;
    if (done?.id !== id) return undefined;
    this.#speaking = undefined;
    this.#interrupted.delete(id);
    return done;
  }

  /** What the voice should do now, in order. */
  advance(now: number): Action[] {
    const actions: Action[] = [];
    if (this.#speaking) {
      if (this.#critical.length === 0 || this.#speaking.urgency === "critical") return actions;
      actions.push({ do: "stop", utterance: this.#speaking });
      this.#interrupted.add(this.#speaking.id);
      (this.#speaking.urgency === "background" ? this.#background : this.#normal).unshift(this.#speaking);
      this.#speaking = undefined;
    }
    const next = this.#next(now);
    if (next) {
      this.#speaking = next;
      this.#pace.spend(next.words, now);
      actions.push({ do: "say", utterance: next });
    }
    return actions;
  }

  #next(now: number): Utterance | undefined {
    const skippedUrgent = this.#skippedUrgent;
    this.#skippedUrgent = 0;
    if (skippedUrgent > 0) return this.#options.fold(skippedUrgent, "critical");
    const urgent = this.#critical.shift();
    if (urgent) return urgent;
    if (this.#held) return undefined;
    if (this.#skipped > 0) this.#normal.unshift(this.#options.fold(this.#skipped, "normal"));
    this.#skipped = 0;
    const list = this.#normal.length > 0 ? this.#normal : this.#background;
    const next = list[0];
    if (!next || this.#pace.ready(next.words, now) > now) return undefined;
    return list.shift();
  }

  /** When the pace lets the next one begin, if that is what it waits for. */
  wakeAt(now: number): number | undefined {
    if (this.#speaking || this.#held) return undefined;
    const next = this.#normal[0] ?? this.#background[0];
    return next && this.#pace.ready(next.words, now);
  }
}
