/**
 * A person at a terminal hears agents and answers them: what `earshot listen` does, and `earshot demo` for its own
 * agent. Everything here follows from one rule: nothing a person did not mean, after hearing what it is about, is an
 * answer.
 */

import {
  Announcer,
  type AnnouncerSettings,
  createListener,
  isGrave,
  type Listener,
  type Run,
  type Utterance,
} from "../../subscriber/announcer.ts";
import { type Clock, type Subscriber, systemClock } from "../../subscriber/index.ts";
import { type Speaker, speakWith, type Voice } from "../../voices/index.ts";
import { EXIT, type Interruption, type Io, say } from "../command.ts";
import { Attention } from "./attention.ts";
import { type Input, type Line, readInput } from "./input.ts";
import { HELD_MS } from "./keyboard.ts";
import { leavingWords, reasonWords } from "./leaving.ts";
import { createOutput, jsonLine, type Output, type OutputOptions } from "./output.ts";
import { nameOf, oneLine } from "./plain.ts";
import { Screen } from "./screen.ts";
import { type StepVoice, stepping } from "./step.ts";
import { helpLines, type Says, saysIn } from "./texts.ts";
import { KEYS, keysDuring, readWish, type Wish } from "./words.ts";

export interface ListenOptions extends OutputOptions {
  /** Verbosity, load, languages and so on, as for the announcer. */
  readonly settings?: Partial<AnnouncerSettings>;
  /** Single keys for everything but yes. */
  readonly keys?: boolean;
  /** Nothing new until it is asked for. */
  readonly step?: boolean;
  /** The first line, in place of who is heard and how to get help. */
  readonly greeting?: string;
  /** The last line, in place of the one that says the agent goes on. */
  readonly farewell?: string;
  /** Gets every line that is neither an answer nor a word of the listener's, an empty one too; false if it means nothing. */
  readonly onLine?: (text: string) => boolean;
  readonly clock?: Clock;
}

/** Nobody hears a question and begins to answer it in less. */
const REACTION_MS = 250;
/** So long a lost agent is waited for before a person is told that it may be gone. */
const GONE_AFTER_MS = 15_000;
/** So long the last words may take. */
const LAST_WORDS_MS = 3_000;

/** Until the person leaves or the agents are gone; gives the exit code. */
export async function listenIn(
  io: Io,
  subscribers: Subscriber | readonly Subscriber[],
  options: ListenOptions = {},
): Promise<number> {
  const all = [subscribers].flat() as Subscriber[];
  const room: { sitting?: Sitting } = {};
  const screen = new Screen(
    io,
    () => room.sitting?.typed ?? "",
    io.stdout.isTTY && !options.json ? "stdout" : "stderr",
  );
  const output = await createOutput(options, {
    language: options.settings?.languages?.[0] ?? "en",
    write: (text) => screen.write(text),
    tell: (text) => say(io, text),
    pan: (direction) => room.sitting?.pan(direction),
  });
  room.sitting = new Sitting(io, all, options, screen, output);
  return room.sitting.run();
}

class Sitting {
  readonly #io: Io;
  readonly #subscribers: readonly Subscriber[];
  readonly #options: ListenOptions;
  readonly #screen: Screen;
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #announcer: Announcer;
  readonly #attention: Attention;
  readonly #step: StepVoice | undefined;
  readonly #speaker: Speaker;
  readonly #listener: Listener;
  readonly #input: Input;
  readonly #timers = new Map<Subscriber, () => void>();
  readonly #left: Set<Subscriber>;
  #finish: (code: number) => void = () => undefined;
  /** The token of the question that an answer is on its way to. */
  #sent: string | undefined;
  /** Numbers of the utterances the person asked for. */
  readonly #wanted = new Set<number>();
  #leaving = false;
  #afterKey = "";
  #enteredAt = Number.NEGATIVE_INFINITY;

  constructor(
    io: Io,
    subscribers: readonly Subscriber[],
    options: ListenOptions,
    screen: Screen,
    output: Output,
  ) {
    this.#io = io;
    this.#subscribers = subscribers;
    this.#left = new Set(subscribers);
    this.#options = options;
    this.#screen = screen;
    this.#output = output;
    this.#clock = options.clock ?? systemClock;
    this.#announcer = new Announcer({
      ...options.settings,
      can: (language) => output.can(language),
      medium: options.braille === undefined ? "voice" : "braille",
    });
    this.#attention = new Attention({
      now: () => this.#clock.now(),
      throwAway: () => this.#throwAway(),
      typedAhead: () => this.#notice(this.#says.typedAhead),
      before: ({ id, kind }) => {
        if (!this.#step && (this.#wanted.delete(id) || kind === "answer")) output.jump?.();
      },
    });
    this.#step = options.step && !output.forward ? this.#stepping(output) : undefined;
    this.#speaker = speakWith(this.#announcer, this.#attention.watch(this.#step ?? output), this.#clock);
    this.#listener = createListener(this.#announcer, { clock: this.#clock, changed: this.#speaker.pump });
    this.#input = readInput(io, () => this.#clock.now(), {
      line: (line) => this.#line(line),
      key: (key) => this.#key(key),
      keys: () => (options.keys ? keysDuring(this.#announcer.question) : new Set()),
      pasted: () => this.#notice(this.#says.pieceWaits),
      dropped: (count) => this.#notice(this.#says.dropped(count)),
      interrupt: () => void this.#leave("SIGINT"),
      end: () => void this.#leave("end"),
      echo: (text) => this.#screen.echo(text),
    });
  }

  get typed(): string {
    return this.#input.typed;
  }

  /** With the keys of a braille display. */
  pan(direction: "forward" | "back"): void {
    if (direction === "forward") this.#enter();
    else this.#output.back?.();
  }

  async run(): Promise<number> {
    const { signal } = this.#io;
    const ended = new Promise<number>((resolve) => {
      this.#finish = resolve;
    });
    const interrupted = () => void this.#leave(signal.reason as Interruption);
    if (signal.aborted) interrupted();
    else signal.addEventListener("abort", interrupted, { once: true });
    for (const one of this.#subscribers) this.#join(one);
    const names = this.#subscribers.map(nameOf).join(", ");
    const usual = this.#options.keys ? this.#says.greetingKeys(names) : this.#says.greeting(names);
    const { greeting } = this.#options;
    this.#notice(greeting ?? usual, greeting === undefined ? undefined : "en");
    try {
      return await ended;
    } finally {
      signal.removeEventListener("abort", interrupted);
      for (const stop of this.#timers.values()) stop();
      this.#input.close();
      if (!this.#leaving) await this.#speaker.close();
    }
  }

  #join(subscriber: Subscriber): void {
    if (this.#options.json) {
      const print = (name: string) => (value: unknown) => this.#screen.write(jsonLine({ [name]: value }));
      subscriber.on("event", print("event"));
      subscriber.on("gap", print("gap"));
      subscriber.on("connection", print("line"));
    }
    subscriber.on("connection", ({ state }) => {
      this.#timers.get(subscriber)?.();
      this.#timers.delete(subscriber);
      if (state === "connected") return;
      const at = this.#clock.now() + GONE_AFTER_MS;
      this.#timers.set(
        subscriber,
        this.#clock.timer(at, () => this.#notice(this.#says.gone(nameOf(subscriber)))),
      );
    });
    this.#listener.add(subscriber);
    // Line by line as it comes: a question must not overtake the words that lead up to it where nothing takes time.
    subscriber.on("event", this.#speaker.pump);
    subscriber.on("closed", ({ code, message }) => {
      if (this.#leaving) return;
      if (this.#options.json) this.#screen.write(jsonLine({ closed: { code, message } }));
      else this.#say(reasonWords(this.#announcer, nameOf(subscriber), message));
      this.#left.delete(subscriber);
      if (this.#left.size === 0) void this.#lastWords().then(() => this.#finish(EXIT.failed));
    });
  }

  #throwAway(): boolean {
    if (this.#input.typed !== "") this.#screen.echo("\n");
    return this.#input.discard();
  }

  #stepping(voice: Voice): StepVoice {
    return stepping({
      voice,
      mayPass: ({ id, kind }) => this.#wanted.delete(id) || kind === "answer" || kind === "status",
      waiting: () => this.#waiting,
      tell: (what) => {
        const bell = what === "urgent" && this.#options.bell !== false && !this.#options.json ? "\u0007" : "";
        const text = what === "urgent" ? this.#says.urgentWaits : this.#says.waits;
        this.#screen.write(this.#options.json ? jsonLine({ waiting: what }) : `${bell}${text}\n`);
      },
      counted: (utterance: Utterance, more) => ({
        ...utterance,
        runs: [...utterance.runs, this.#own(this.#says.moreWait(more))],
      }),
    });
  }

  #own(text: string, language = this.#says.language): Run {
    return this.#announcer.phrases.content(text, language);
  }

  #notice(text: string, language?: string): void {
    this.#say([this.#own(text, language)]);
  }

  #say(words: readonly Run[]): void {
    this.#want(() => this.#announcer.notice([words], this.#clock.now()));
  }

  get #says(): Says {
    return saysIn(this.#announcer.phrases);
  }

  get #waiting(): number {
    return this.#announcer.history.filter(({ status }) => status === "waiting").length;
  }

  get #lastId(): number {
    return this.#announcer.history.at(-1)?.utterance.id ?? 0;
  }

  /** Whatever is said because of this, the person wants to hear now. */
  #want(act: () => void): void {
    const from = this.#lastId;
    act();
    for (let id = from + 1; id <= this.#lastId; id++) this.#wanted.add(id);
    this.#speaker.pump();
  }

  #key(key: string): void {
    const word = KEYS[key]!;
    this.#line({ text: word, began: this.#clock.now(), inOnePiece: false, phrase: false, piped: false });
    this.#afterKey = /^[a-z]$/u.test(key) ? word.slice(1) : "";
  }

  #line(line: Line): void {
    const rest = this.#afterKey;
    this.#afterKey = "";
    // "no" in full, where "n" alone has done it already.
    if (rest !== "" && line.text === rest) return;
    if (line.text === "") return this.#enter();
    const wish = readWish(line.text, this.#announcer.phrases);
    if (wish.do === "next") return this.#enter();
    if (wish.do === "back") return this.#output.back ? this.#output.back() : this.#notice(this.#says.noPages);
    const cut = this.#hush()?.reply_token;
    const before = this.#lastId;
    this.#word(wish, line);
    const { reply_token } = (this.#announcer.question ?? {}) as { reply_token?: string };
    if (!cut || cut !== reply_token || this.#sent === cut) return;
    // A question that was cut short was not heard: it comes again, unless it does already.
    if (!this.#announcer.history.some(({ utterance: { id, asked } }) => id > before && asked))
      this.#want(() => this.#announcer.repeat(this.#clock.now()));
  }

  /** Gives what was cut short. */
  #hush(): Utterance | undefined {
    if (!this.#output.hush || this.#step?.holding) return undefined;
    const cut = this.#attention.cut();
    if (cut) this.#output.hush();
    return cut?.asked && cut;
  }

  #word(wish: Exclude<Wish, { do: "next" | "back" }>, line: Line): void {
    // What is urgent comes before what it could be confused with.
    if (this.#step?.urgent) this.#step.next();
    if (wish.do === "answer" || (wish.do === "text" && this.#announcer.question))
      return this.#answer(wish, line);
    if (wish.do === "text") {
      if (!this.#options.onLine?.(wish.text))
        this.#notice(this.#says.unknown(oneLine(wish.text).slice(0, 40)));
      return;
    }
    this.#do(wish);
  }

  #enter(): void {
    if (this.#output.forward) return this.#output.forward(this.#waiting > 0);
    if (this.#step?.next()) return;
    const held = this.#clock.now() - this.#enteredAt < HELD_MS;
    this.#enteredAt = this.#clock.now();
    if (!held && !this.#announcer.question && this.#options.onLine?.("")) return;
    if (this.#step) this.#notice(this.#says.nothingWaits);
  }

  #answer(wish: Wish & { do: "answer" | "text" }, { text, began, inOnePiece, phrase, piped }: Line): void {
    const { question } = this.#announcer;
    const input = wish.do === "answer" ? wish.input : ({ kind: "text", text } as const);
    if (!question) {
      // Somebody else may have a use for these words, e.g. an agent that was asked something.
      if (input.kind === "text" && this.#options.onLine?.(input.text)) return;
      return this.#send(input);
    }
    const { reply_token } = question as { reply_token?: unknown };
    const { begun, heardAt } = this.#attention.to(String(reply_token));
    // Refusing needs no care, and never a second try.
    const refusal = input.kind === "no" && begun && question.type === "aaep:agent.awaiting.confirmation";
    if (input.kind === "more" || refusal) return this.#send(input);
    if (heardAt === undefined || began < heardAt + REACTION_MS) return this.#notice(this.#says.typedAhead);
    if (inOnePiece) return this.#notice(this.#says.pieceNoAnswer);
    if (piped && isGrave(question as never) && input.kind !== "no")
      return this.#notice(this.#says.pipedNoYes);
    this.#send(input.kind === "yes" && phrase ? { ...input, unsure: true } : input);
  }

  #send(input: (Wish & { do: "answer" })["input"]): void {
    const before = this.#lastId;
    const { reply_token } = (this.#announcer.question ?? {}) as { reply_token?: string };
    this.#want(() => this.#announcer.answer(input, this.#clock.now()));
    this.#listener.flush();
    // It had nothing to say, so it had something to send.
    if (input.kind === "more" || this.#lastId !== before) return;
    this.#sent = reply_token;
    if (this.#timers.size === this.#subscribers.length) this.#notice(this.#says.answerWaits);
  }

  #do(wish: Exclude<Wish, { do: "answer" | "text" | "next" | "back" }>): void {
    const now = this.#clock.now();
    switch (wish.do) {
      case "help":
        return this.#help();
      case "history":
        return this.#history(wish.count);
      case "quit":
        return void this.#leave("end");
      default:
        return this.#want(() => this.#announcer[wish.do](now));
    }
  }

  #help(): void {
    for (const line of helpLines(this.#announcer.phrases)) this.#notice(line);
    if (this.#output.forward) this.#notice(this.#says.brailleHelp);
    else if (this.#step) this.#notice(this.#says.stepHelp);
    if (this.#options.keys) this.#notice(this.#says.keyHelp);
  }

  #history(count: number): void {
    const said = this.#announcer.history.filter(
      ({ utterance, status }) => status !== "waiting" && utterance.kind !== "notice",
    );
    if (said.length === 0) return this.#notice(this.#announcer.phrases.text("nothing_said"));
    this.#want(() => {
      for (const { utterance } of said.slice(-count))
        this.#announcer.notice([utterance.runs], this.#clock.now());
    });
  }

  /** Ctrl+C and the like: it always works, and it says what it means for an open question. */
  async #leave(why: Interruption | "end"): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    const { farewell } = this.#options;
    const last = leavingWords(this.#announcer, { now: this.#clock.now(), farewell });
    this.#input.close();
    this.#throwAway();
    if (!this.#options.json && why !== "closed pipe") {
      this.#io.stdout.write(last.lines.map((line) => `${line}\n`).join(""));
      if (this.#output.last) await this.#output.last(last.utterance);
    }
    await this.#speaker.close();
    const timeout = new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref());
    await Promise.race([this.#listener.close().catch(() => undefined), timeout]);
    this.#finish(why === "SIGINT" ? EXIT.interrupted : EXIT.ok);
  }

  async #lastWords(): Promise<void> {
    const until = this.#clock.now() + LAST_WORDS_MS;
    while (this.#clock.now() < until && this.#waiting > 0)
      await new Promise<void>((resolve) => this.#clock.timer(this.#clock.now() + 50, resolve));
  }
}
