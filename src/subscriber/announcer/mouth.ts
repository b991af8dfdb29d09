/** From words to utterances in the queue and the history: nothing is said that is not remembered, or with a wrong voice. */

import type { Urgency } from "../../protocol/types.ts";
import { matchLanguage } from "../../text/language.ts";
import { catalogFor } from "../catalogs/index.ts";
import { History } from "./history.ts";
import { Phrases } from "./phrase.ts";
import { Queue } from "./queue.ts";
import {
  type Asked,
  countWords,
  type Draft,
  type Run,
  textOf,
  type Utterance,
  type UtteranceKind,
} from "./utterance.ts";

interface MouthOptions {
  readonly can: (language: string) => boolean;
  readonly medium: "voice" | "braille";
  readonly languages: readonly string[];
  readonly pace_wpm: number | undefined;
}

export interface About {
  readonly session_id?: string;
  readonly reply_token?: string;
  readonly essence?: string;
  readonly asked?: Asked;
  /** Only for the history. */
  readonly quiet?: boolean;
}

/** Languages told to have no voice; of more than nobody speaks, each text itself says what it is in. */
const MOST_TOLD = 20;

export class Mouth {
  readonly queue: Queue;
  readonly history = new History();
  readonly #can: (language: string) => boolean;
  readonly #medium: "voice" | "braille";
  readonly #noVoice = new Set<string>();
  #languages: readonly string[];
  #phrases: Phrases;
  #ids = 0;
  #greeted = false;

  constructor({ can, medium, languages, pace_wpm }: MouthOptions) {
    this.#can = can;
    this.#medium = medium;
    this.#languages = languages;
    this.#phrases = new Phrases(languages, can);
    this.queue = new Queue({
      pace_wpm,
      skipped: ({ id }) => this.history.mark(id, "skipped"),
      fold: (count, urgency) => this.#fold(count, urgency),
    });
  }

  get phrases(): Phrases {
    return this.#phrases;
  }
  set languages(languages: readonly string[]) {
    this.#languages = languages;
    this.#phrases = new Phrases(languages, this.#can);
    this.#greeted = false;
  }

  /** The utterance's number. */
  say(
    kind: UtteranceKind,
    urgency: Urgency,
    parts: readonly (readonly Run[])[],
    now: number,
    about: About = {},
  ): number {
    const { quiet = false, ...rest } = about;
    return this.add({ kind, urgency, runs: this.#phrases.join(parts), ...rest }, now, quiet);
  }

  add(draft: Draft, now: number, quiet = false): number {
    const { runs, languages } = this.#phrases.keepUnspeakable(draft.runs);
    for (const language of languages) if (!quiet) this.#missingVoice(language, now);
    const utterance = this.#utterance({ ...draft, runs });
    this.history.add(utterance, now, quiet ? "quiet" : "waiting");
    if (!quiet) this.queue.add(utterance);
    return utterance.id;
  }

  /** Takes out of the queue what something else stands for; it stays in the history. */
  skip(fits: (utterance: Utterance) => boolean): readonly Utterance[] {
    const skipped = this.queue.remove(fits);
    for (const { id } of skipped) this.history.mark(id, "skipped");
    return skipped;
  }

  /** As `skip`, but what was interrupted is owed to its end. */
  drop(fits: (utterance: Utterance) => boolean): boolean {
    return this.skip((one) => !this.queue.wasInterrupted(one.id) && fits(one)).length > 0;
  }

  /**
   * Takes out a question's wording, whose place something newer takes, and `changed`, the word that it did. What is being
   * said is said to its end. True if somebody was still to hear the question.
   */
  unsay(source: string, reply_token: string, changed?: number): boolean {
    const about = (one: Utterance) =>
      one.reply_token === reply_token && one.session_id?.startsWith(`${source} `) === true;
    this.drop((one) => one.id === changed);
    return this.drop((one) => one.asked !== undefined && about(one));
  }

  /** What waited, in a few sentences: how much, how things ended, the last words. All of it is in the history. */
  catchUp(now: number): void {
    const waiting = this.queue.waiting.filter(({ urgency }) => urgency !== "critical");
    if (waiting.length === 0)
      return void this.say("digest", "normal", [this.#phrases.say("nothing_meanwhile")], now);
    if (waiting.length <= 3) return;
    const last = waiting.at(-1)!;
    const kept = waiting.filter(
      (one) => one === last || one.kind === "completed" || one.kind === "cancelled",
    );
    this.queue.remove((one) => kept.includes(one));
    this.skip((one) => one.urgency !== "critical");
    this.say("digest", "normal", [this.#phrases.say("while_paused", { count: waiting.length })], now);
    for (const one of kept) this.queue.add(one);
  }

  /** Once, before anything else: that these words are not in the person's own language, and why. */
  greet(now: number): void {
    if (this.#greeted) return;
    this.#greeted = true;
    const [first] = this.#languages;
    if (first === undefined || this.#phrases.fitting) return;
    if (matchLanguage([first], [catalogFor([first]).catalog.language])) return this.#missingVoice(first, now);
    const language = this.#phrases.languageName(first);
    this.say("notice", "normal", [this.#phrases.say("no_catalog", { language })], now);
  }

  /** Said once per language; the text itself is kept. */
  #missingVoice(language: string, now: number): void {
    if (this.#noVoice.has(language) || this.#noVoice.size >= MOST_TOLD) return;
    this.#noVoice.add(language);
    const key = this.#medium === "braille" ? "no_table" : "no_voice";
    const name = this.#phrases.languageName(language);
    this.say("notice", "normal", [this.#phrases.say(key, { language: name })], now);
  }

  #fold(count: number, urgency: Urgency): Utterance {
    const runs = this.#phrases.say("skipped", { count });
    const utterance = this.#utterance({ kind: "digest", urgency, runs });
    this.history.add(utterance, 0, "waiting");
    return utterance;
  }

  #utterance(draft: Draft): Utterance {
    return { ...draft, id: ++this.#ids, words: countWords(textOf(draft, false)) };
  }
}
