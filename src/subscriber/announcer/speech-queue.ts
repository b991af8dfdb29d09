/**
 * What is spoken, in which order, and what was. `SpeechQueue` decides whose turn it is (DEL-26): critical utterances
 * come first and interrupt all but other critical ones, normal ones take their turn, background ones wait until nothing
 * else does. An interrupted utterance is spoken again from its start. `Speech` turns text into utterances, queues them
 * and records each in the history. Pure: the caller passes the time and reports when a voice has finished.
 */
import type { Urgency } from "../../protocol/types.ts";
import { matchLanguage } from "../../text/language.ts";
import { catalogFor } from "../catalogs/index.ts";
import { Phrases } from "./phrases.ts";
import {
  countWords,
  type Draft,
  type Run,
  textOf,
  type Utterance,
  type UtteranceKind,
  type UtteranceSubject,
} from "./utterance.ts";

/** What a voice has to do next: say an utterance, or stop one. */
export type Action =
  | { readonly do: "say"; readonly utterance: Utterance }
  /** Stop speaking this; it will be spoken again. */
  | { readonly do: "stop"; readonly utterance: Utterance };

const MINUTE = 60_000;

/** Words-per-minute limit over any minute, as the listener declared it. Critical utterances are not held back by it. */
class Pace {
  /** Words by the time they count from. An utterance longer than a minute's words counts over several minutes. */
  #spoken: { readonly at: number; readonly words: number }[] = [];
  readonly #wpm: number | undefined;

  constructor(wpm: number | undefined) {
    this.#wpm = wpm;
  }

  /** When an utterance of this many words may start; `now` if at once. */
  readyAt(words: number, now: number): number {
    if (this.#wpm === undefined) return now;
    this.#spoken = this.#spoken.filter(({ at }) => at > now - MINUTE);
    const room = this.#wpm - Math.min(words, this.#wpm);
    let total = this.#spoken.reduce((sum, one) => sum + one.words, 0);
    let at = now;
    for (const one of this.#spoken) {
      if (total <= room) break;
      total -= one.words;
      at = one.at + MINUTE;
    }
    return at;
  }

  spend(words: number, now: number): void {
    if (this.#wpm === undefined) return;
    for (let left = words, at = now; left > 0; left -= this.#wpm, at += MINUTE)
      this.#spoken.push({ at, words: Math.min(left, this.#wpm) });
    this.#spoken.sort((a, b) => a.at - b.at);
  }
}

/** Queued non-critical utterances. Beyond this the oldest are folded into one that says how many were skipped. */
const MAX_WAITING = 200;
/** Queued critical utterances, hours of speech: reached only by an agent that floods. Questions are never folded. */
const MAX_CRITICAL = 2_000;
/** Kinds that are part of a dialog with the person; at most this many other critical utterances go before one. */
const DIALOG = /^(?:question|answer|settled|status|notice)$/;
const MAX_AHEAD_OF_DIALOG = 5;
/** Sentences of an agent's own output, which may be long: it is what the person asked for. */
const MAX_OUTPUT = 2_000;

interface SpeechQueueOptions {
  readonly pace_wpm: number | undefined;
  /** This utterance will not be spoken. */
  skipped(utterance: Utterance): void;
  /** One utterance that stands for `count` skipped ones. */
  fold(count: number, urgency: "critical" | "normal"): Utterance;
}

export class SpeechQueue {
  readonly #options: SpeechQueueOptions;
  readonly #critical: Utterance[] = [];
  #skippedCritical = 0;
  #normal: Utterance[] = [];
  #background: Utterance[] = [];
  #skipped = 0;
  #pace: Pace;
  #speaking: Utterance | undefined;
  #held = false;
  readonly #interrupted = new Set<number>();

  constructor(options: SpeechQueueOptions) {
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

  /** While held, only critical utterances are spoken. */
  hold(held: boolean): void {
    this.#held = held;
  }
  get held(): boolean {
    return this.#held;
  }

  add(utterance: Utterance): void {
    if (utterance.urgency === "critical") this.#addCritical(utterance);
    else if (utterance.urgency === "background") this.#background.push(utterance);
    else this.#normal.push(utterance);
    // While held, keep more: the digest at the end of the hold summarizes all of them.
    this.#limit(this.#held ? MAX_WAITING * 10 : MAX_WAITING);
  }

  /** Questions and replies to the person overtake a backlog of critical news from a failing agent. */
  #addCritical(utterance: Utterance): void {
    const dialog = DIALOG.test(utterance.kind);
    let at = this.#critical.length;
    while (dialog && at > MAX_AHEAD_OF_DIALOG && !DIALOG.test(this.#critical[at - 1]!.kind)) at--;
    this.#critical.splice(at, 0, utterance);
    if (this.#critical.length <= MAX_CRITICAL) return;
    const least = this.#critical.findIndex(({ kind }) => !DIALOG.test(kind) || kind === "settled");
    if (least < 0) return;
    this.#skippedCritical++;
    this.#options.skipped(this.#critical.splice(least, 1)[0]!);
  }

  /** Drops background utterances first, then the oldest, so that the most recent news remains. */
  #limit(max: number): void {
    if (this.#normal.length + this.#background.length <= max) return;
    let output = this.#normal.filter(({ kind }) => kind === "output").length;
    let news = this.#normal.length - output + this.#background.length;
    for (; news > max; news--)
      this.#skip(this.#background.shift() ?? this.#takeNormal(({ kind }) => kind !== "output"));
    for (; output > MAX_OUTPUT; output--) this.#skip(this.#takeNormal(({ kind }) => kind === "output"));
  }

  #skip(utterance: Utterance): void {
    this.#skipped++;
    this.#options.skipped(utterance);
  }

  #takeNormal(matches: (utterance: Utterance) => boolean): Utterance {
    return this.#normal.splice(this.#normal.findIndex(matches), 1)[0]!;
  }

  /** Whether this utterance was partly spoken and waits to be spoken again from its start. */
  wasInterrupted(id: number): boolean {
    return this.#interrupted.has(id);
  }

  /** Removes and returns the queued utterances that match. */
  remove(matches: (utterance: Utterance) => boolean): Utterance[] {
    const removed: Utterance[] = [];
    const keep = (list: Utterance[]) =>
      list.filter((one) => {
        if (!matches(one)) return true;
        removed.push(one);
        return false;
      });
    this.#critical.splice(0, Infinity, ...keep(this.#critical));
    this.#normal = keep(this.#normal);
    this.#background = keep(this.#background);
    return removed;
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
    const skippedCritical = this.#skippedCritical;
    this.#skippedCritical = 0;
    if (skippedCritical > 0) return this.#options.fold(skippedCritical, "critical");
    const critical = this.#critical.shift();
    if (critical) return critical;
    if (this.#held) return undefined;
    if (this.#skipped > 0) this.#normal.unshift(this.#options.fold(this.#skipped, "normal"));
    this.#skipped = 0;
    const list = this.#normal.length > 0 ? this.#normal : this.#background;
    const next = list[0];
    if (!next || this.#pace.readyAt(next.words, now) > now) return undefined;
    return list.shift();
  }

  /** When the words-per-minute limit lets the next utterance start, if that is what it waits for. */
  wakeAt(now: number): number | undefined {
    if (this.#speaking || this.#held) return undefined;
    const next = this.#normal[0] ?? this.#background[0];
    return next && this.#pace.readyAt(next.words, now);
  }
}

/** `quiet`: recorded without being spoken. `skipped`: replaced by a digest or by newer progress. */
type SpokenStatus = "waiting" | "said" | "quiet" | "skipped";

/** One utterance of the history, and whether it was spoken. */
export interface HistoryEntry {
  readonly utterance: Utterance;
  readonly at: number;
  readonly status: SpokenStatus;
}

/** Days of an agent's work; beyond this the oldest entries are dropped. */
const MAX_HISTORY = 10_000;

/** Every utterance, spoken or not, so that whatever a person missed can be looked up. */
class History {
  readonly #entries = new Map<number, HistoryEntry>();

  add(utterance: Utterance, at: number, status: SpokenStatus): void {
    this.#entries.set(utterance.id, { utterance, at, status });
    if (this.#entries.size > MAX_HISTORY) this.#entries.delete(this.#entries.keys().next().value!);
  }

  mark(id: number, status: SpokenStatus): void {
    const entry = this.#entries.get(id);
    if (entry) this.#entries.set(id, { ...entry, status });
  }

  get entries(): readonly HistoryEntry[] {
    return [...this.#entries.values()];
  }

  lastSaid(): Utterance | undefined {
    return this.entries
      .filter(({ status, utterance }) => status === "said" && utterance.kind !== "answer")
      .at(-1)?.utterance;
  }
}

interface SpeechOptions {
  readonly can: (language: string) => boolean;
  readonly medium: "voice" | "braille";
  readonly languages: readonly string[];
  readonly pace_wpm: number | undefined;
}

/** Languages reported as having no voice. Beyond this, each text's stand-in still names its language. */
const MAX_MISSING_VOICES = 20;

export class Speech {
  readonly queue: SpeechQueue;
  readonly history = new History();
  readonly #can: (language: string) => boolean;
  readonly #medium: "voice" | "braille";
  readonly #missingVoices = new Set<string>();
  #languages: readonly string[];
  #phrases: Phrases;
  #ids = 0;
  #languageChecked = false;

  constructor({ can, medium, languages, pace_wpm }: SpeechOptions) {
    this.#can = can;
    this.#medium = medium;
    this.#languages = languages;
    this.#phrases = new Phrases(languages, can);
    this.queue = new SpeechQueue({
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
    this.#languageChecked = false;
  }

  /** Returns the utterance's id. With `quiet`, it is recorded in the history but not spoken. */
  say(
    kind: UtteranceKind,
    urgency: Urgency,
    parts: readonly (readonly Run[])[],
    now: number,
    subject: UtteranceSubject & { readonly quiet?: boolean } = {},
  ): number {
    const { quiet = false, ...rest } = subject;
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

  /** Removes queued utterances that something else replaces; they stay in the history. */
  skip(matches: (utterance: Utterance) => boolean): readonly Utterance[] {
    const skipped = this.queue.remove(matches);
    for (const { id } of skipped) this.history.mark(id, "skipped");
    return skipped;
  }

  /** As `skip`, but keeps interrupted utterances: a person who heard the beginning gets the whole. */
  skipUnheard(matches: (utterance: Utterance) => boolean): boolean {
    return this.skip((one) => !this.queue.wasInterrupted(one.id) && matches(one)).length > 0;
  }

  /** On resume after a pause: a digest of what waited, how sessions ended, and the latest utterance. */
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

  /** Once, before the first announcement: says so if the person's first language has no catalog or no voice. */
  checkLanguage(now: number): void {
    if (this.#languageChecked) return;
    this.#languageChecked = true;
    const [first] = this.#languages;
    if (first === undefined || this.#phrases.fitting) return;
    if (matchLanguage([first], [catalogFor([first]).catalog.language])) return this.#missingVoice(first, now);
    const language = this.#phrases.languageName(first);
    this.say("notice", "normal", [this.#phrases.say("no_catalog", { language })], now);
  }

  /** Said once per language; the text itself is kept in writing. */
  #missingVoice(language: string, now: number): void {
    if (this.#missingVoices.has(language) || this.#missingVoices.size >= MAX_MISSING_VOICES) return;
    this.#missingVoices.add(language);
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
