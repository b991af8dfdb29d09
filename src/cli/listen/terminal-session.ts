/**
 * A person at a terminal listens to agents and answers them: `earshot listen`, and `earshot demo` for its own agent. One
 * rule decides everything here: an answer counts only if the person meant it, after hearing what it is about.
 */
import {
  type Announcer,
  type AnnouncerSettings,
  createVoiceListener,
  isGrave,
  type Run,
  textOf,
  type Utterance,
  type VoiceListener,
} from "../../subscriber/announcer.ts";
import { type Clock, type Subscriber, systemClock } from "../../subscriber/index.ts";
import type { Voice } from "../../voices/index.ts";
import { EXIT, type Interruption, type Io, say } from "../command.ts";
import { AnswerGuard } from "./answer-guard.ts";
import { nameOf, oneLine, shorten } from "./discovery.ts";
import { helpLines, type ListenMessages, messagesFor } from "./messages/index.ts";
import {
  createOutput,
  jsonLine,
  type Output,
  type OutputOptions,
  type StepVoice,
  stepping,
} from "./output.ts";
import { HELD_MS, type Input, type InputLine, readInput, Screen } from "./terminal-input.ts";
import { KEYS, keysDuring, parseCommand, type TypedCommand } from "./typed-commands.ts";

export interface ListenOptions extends OutputOptions {
  /** Verbosity, load, languages and so on: the announcer's settings. */
  readonly settings?: Partial<AnnouncerSettings>;
  /** Single keys for everything but yes and confirm. */
  readonly keys?: boolean;
  /** Nothing new appears until the person asks for it. */
  readonly step?: boolean;
  /** Replaces the first line, which says who is heard and how to get help. */
  readonly greeting?: string;
  /** Replaces the last line, which says that the agent goes on. */
  readonly farewell?: string;
  /** Receives every line that is neither an answer nor a command, empty ones too; returns false if it has no use for it. */
  readonly onLine?: (text: string) => boolean;
  readonly clock?: Clock;
}

/** Nobody hears a question and starts to answer it in less time. */
const REACTION_MS = 250;
/** After this long without a connection, the person is told that the agent may have been stopped. */
const GONE_AFTER_MS = 15_000;
/** How long the last utterances and the goodbye may take. */
const FAREWELL_MS = 3_000;

/** Runs until the person leaves or every agent has ended the connection; returns the exit code. */
export async function runTerminalSession(
  io: Io,
  subscribers: Subscriber | readonly Subscriber[],
  options: ListenOptions = {},
): Promise<number> {
  const all = [subscribers].flat() as Subscriber[];
  const current: { session?: TerminalSession } = {};
  const screen = new Screen(
    io,
    () => current.session?.typed ?? "",
    io.stdout.isTTY && !options.json ? "stdout" : "stderr",
  );
  const output = await createOutput(options, {
    language: options.settings?.languages?.[0] ?? "en",
    write: (text) => screen.write(text),
    tell: (text) => say(io, text),
    pan: (direction) => current.session?.pan(direction),
  });
  current.session = new TerminalSession(io, all, options, screen, output);
  return current.session.run();
}

class TerminalSession {
  readonly #io: Io;
  readonly #subscribers: readonly Subscriber[];
  readonly #options: ListenOptions;
  readonly #screen: Screen;
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #announcer: Announcer;
  readonly #guard: AnswerGuard;
  readonly #step: StepVoice | undefined;
  readonly #listener: VoiceListener;
  readonly #input: Input;
  readonly #timers = new Map<Subscriber, () => void>();
  readonly #open: Set<Subscriber>;
  #finish: (code: number) => void = () => undefined;
  /** The token of the question that was answered last. */
  #answered: string | undefined;
  /** Ids of the utterances the person asked for. */
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
    this.#open = new Set(subscribers);
    this.#options = options;
    this.#screen = screen;
    this.#output = output;
    this.#clock = options.clock ?? systemClock;
    this.#guard = new AnswerGuard({
      now: () => this.#clock.now(),
      discardTyped: () => this.#discardTyped(),
      typedAhead: () => this.#notice(this.#messages.typedAhead),
      before: ({ id, kind }) => {
        if (!this.#step && (this.#wanted.delete(id) || kind === "answer")) output.jump?.();
      },
    });
    this.#step = options.step && !output.forward ? this.#stepping(output) : undefined;
    this.#listener = createVoiceListener(this.#guard.watch(this.#step ?? output), {
      ...options.settings,
      medium: options.braille === undefined ? "voice" : "braille",
      clock: this.#clock,
    });
    this.#announcer = this.#listener.announcer;
    this.#input = readInput(io, () => this.#clock.now(), {
      line: (line) => this.#line(line),
      key: (key) => this.#key(key),
      keys: () => (options.keys ? keysDuring(this.#announcer.question) : new Set()),
      pasted: () => this.#notice(this.#messages.pieceWaits),
      dropped: (count) => this.#notice(this.#messages.dropped(count)),
      interrupt: () => void this.#leave("SIGINT"),
      end: () => void this.#leave("end"),
      echo: (text) => this.#screen.echo(text),
    });
  }

  get typed(): string {
    return this.#input.typed;
  }

  /** By the keys of a braille display. */
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
    const usual = this.#options.keys ? this.#messages.greetingKeys(names) : this.#messages.greeting(names);
    const { greeting } = this.#options;
    this.#notice(greeting ?? usual, greeting === undefined ? undefined : "en");
    try {
      return await ended;
    } finally {
      signal.removeEventListener("abort", interrupted);
      for (const stop of this.#timers.values()) stop();
      this.#input.close();
      if (!this.#leaving) await this.#listener.close();
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
        this.#clock.timer(at, () => this.#notice(this.#messages.gone(nameOf(subscriber)))),
      );
    });
    this.#listener.add(subscriber);
    // Pump after every event: in a terminal output takes no time, and a question must not overtake the text before it.
    subscriber.on("event", this.#listener.pump);
    subscriber.on("closed", ({ code, message }) => {
      if (this.#leaving) return;
      if (this.#options.json) this.#screen.write(jsonLine({ closed: { code, message } }));
      else this.#say(reasonWords(this.#announcer, nameOf(subscriber), message));
      this.#open.delete(subscriber);
      if (this.#open.size === 0) void this.#finishSpeaking().then(() => this.#finish(EXIT.failed));
    });
  }

  #discardTyped(): boolean {
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
        const text = what === "urgent" ? this.#messages.urgentWaits : this.#messages.waits;
        this.#screen.write(this.#options.json ? jsonLine({ waiting: what }) : `${bell}${text}\n`);
      },
      counted: (utterance: Utterance, more) => ({
        ...utterance,
        runs: [...utterance.runs, this.#own(this.#messages.moreWait(more))],
      }),
    });
  }

  #own(text: string, language = this.#messages.language): Run {
    return this.#announcer.phrases.content(text, language);
  }

  #notice(text: string, language?: string): void {
    this.#say([this.#own(text, language)]);
  }

  #say(words: readonly Run[]): void {
    this.#want(() => this.#announcer.notice([words], this.#clock.now()));
  }

  get #messages(): ListenMessages {
    return messagesFor(this.#announcer.phrases);
  }

  get #waiting(): number {
    return this.#announcer.history.filter(({ status }) => status === "waiting").length;
  }

  get #lastId(): number {
    return this.#announcer.history.at(-1)?.utterance.id ?? 0;
  }

  /** What is said because of `act` is output at once: the person asked for it. */
  #want(act: () => void): void {
    const from = this.#lastId;
    act();
    for (let id = from + 1; id <= this.#lastId; id++) this.#wanted.add(id);
    this.#listener.pump();
  }

  #key(key: string): void {
    const word = KEYS[key]!;
    this.#line({ text: word, began: this.#clock.now(), pasted: false, phrase: false, piped: false });
    this.#afterKey = /^[a-z]$/u.test(key) ? word.slice(1) : "";
  }

  #line(line: InputLine): void {
    const rest = this.#afterKey;
    this.#afterKey = "";
    // The rest of a word whose first letter has acted already: "no" after "n".
    if (rest !== "" && line.text === rest) return;
    if (line.text === "") return this.#enter();
    const command = parseCommand(line.text, this.#announcer.phrases);
    if (command.do === "next") return this.#enter();
    if (command.do === "back")
      return this.#output.back ? this.#output.back() : this.#notice(this.#messages.noPages);
    const cut = this.#hush()?.reply_token;
    const before = this.#lastId;
    this.#word(command, line);
    const { reply_token } = (this.#announcer.question ?? {}) as { reply_token?: string };
    if (!cut || cut !== reply_token || this.#answered === cut) return;
    // A question that was cut short was not heard: repeat it, unless it is repeated already.
    if (!this.#announcer.history.some(({ utterance: { id, asked } }) => id > before && asked))
      this.#want(() => this.#announcer.repeat(this.#clock.now()));
  }

  /** Returns the question that was cut short, if any. */
  #hush(): Utterance | undefined {
    if (!this.#output.hush || this.#step?.holding) return undefined;
    const cut = this.#guard.cut();
    if (cut) this.#output.hush();
    return cut?.asked && cut;
  }

  #word(command: Exclude<TypedCommand, { do: "next" | "back" }>, line: InputLine): void {
    // An urgent utterance is output first, so that the answer is not taken for another question's.
    if (this.#step?.urgent) this.#step.next();
    if (command.do === "answer" || (command.do === "text" && this.#announcer.question))
      return this.#answer(command, line);
    if (command.do === "text") {
      if (!this.#options.onLine?.(command.text))
        this.#notice(this.#messages.unknown(oneLine(command.text).slice(0, 40)));
      return;
    }
    this.#do(command);
  }

  #enter(): void {
    if (this.#output.forward) return this.#output.forward(this.#waiting > 0);
    if (this.#step?.next()) return;
    const held = this.#clock.now() - this.#enteredAt < HELD_MS;
    this.#enteredAt = this.#clock.now();
    if (!held && !this.#announcer.question && this.#options.onLine?.("")) return;
    if (this.#step) this.#notice(this.#messages.nothingWaits);
  }

  #answer(
    command: TypedCommand & { do: "answer" | "text" },
    { text, began, pasted, phrase, piped }: InputLine,
  ): void {
    const { question } = this.#announcer;
    const input = command.do === "answer" ? command.input : ({ kind: "text", text } as const);
    if (!question) {
      // The program around may use these words, e.g. as a request to its agent.
      if (input.kind === "text" && this.#options.onLine?.(input.text)) return;
      return this.#send(input);
    }
    const { reply_token } = question as { reply_token?: unknown };
    const { begun, heardAt } = this.#guard.heard(String(reply_token));
    // A refusal is safe and always counts at once.
    const refusal = input.kind === "no" && begun && question.type === "aaep:agent.awaiting.confirmation";
    if (input.kind === "more" || refusal) return this.#send(input);
    if (heardAt === undefined || began < heardAt + REACTION_MS)
      return this.#notice(this.#messages.typedAhead);
    if (pasted) return this.#notice(this.#messages.pieceNoAnswer);
    if (piped && isGrave(question as never) && input.kind !== "no")
      return this.#notice(this.#messages.pipedNoYes);
    this.#send(input.kind === "yes" && phrase ? { ...input, unsure: true } : input);
  }

  #send(input: (TypedCommand & { do: "answer" })["input"]): void {
    const before = this.#lastId;
    const { reply_token } = (this.#announcer.question ?? {}) as { reply_token?: string };
    this.#want(() => this.#announcer.answer(input, this.#clock.now()));
    this.#listener.flush();
    // The announcer had nothing to say about it, so it was sent.
    if (input.kind === "more" || this.#lastId !== before) return;
    this.#answered = reply_token;
    if (this.#timers.size === this.#subscribers.length) this.#notice(this.#messages.answerWaits);
  }

  #do(command: Exclude<TypedCommand, { do: "answer" | "text" | "next" | "back" }>): void {
    const now = this.#clock.now();
    switch (command.do) {
      case "help":
        return this.#help();
      case "history":
        return this.#history(command.count);
      case "quit":
        return void this.#leave("end");
      default:
        return this.#want(() => this.#announcer[command.do](now));
    }
  }

  #help(): void {
    for (const line of helpLines(this.#announcer.phrases)) this.#notice(line);
    if (this.#output.forward) this.#notice(this.#messages.brailleHelp);
    else if (this.#step) this.#notice(this.#messages.stepHelp);
    if (this.#options.keys) this.#notice(this.#messages.keyHelp);
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

  /** Ctrl+C and the like: always works, and says what leaving means for open questions. */
  async #leave(why: Interruption | "end"): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    const { farewell } = this.#options;
    const last = farewellWords(this.#announcer, { now: this.#clock.now(), farewell });
    this.#input.close();
    this.#discardTyped();
    if (!this.#options.json && why !== "closed pipe") {
      this.#io.stdout.write(last.lines.map((line) => `${line}\n`).join(""));
      if (this.#output.last) await this.#output.last(last.utterance);
    }
    const timeout = new Promise((resolve) => setTimeout(resolve, FAREWELL_MS).unref());
    await Promise.race([this.#listener.close().catch(() => undefined), timeout]);
    this.#finish(why === "SIGINT" ? EXIT.interrupted : EXIT.ok);
  }

  async #finishSpeaking(): Promise<void> {
    const until = this.#clock.now() + FAREWELL_MS;
    while (this.#clock.now() < until && this.#waiting > 0)
      await new Promise<void>((resolve) => this.#clock.timer(this.#clock.now() + 50, resolve));
  }
}

interface Farewell {
  readonly now: number;
  /** In English, instead of the sentence that the agent goes on. */
  readonly farewell: string | undefined;
}

/** What leaving means for open questions, as lines and as one utterance. */
function farewellWords(
  announcer: Announcer,
  { now, farewell }: Farewell,
): { readonly lines: readonly string[]; readonly utterance: Utterance } {
  const { phrases } = announcer;
  const { left, language } = messagesFor(phrases);
  const parts = [
    announcer.unanswered(now),
    [farewell === undefined ? phrases.content(left, language) : phrases.content(farewell, "en")],
  ].filter((runs) => runs.length > 0);
  return {
    lines: parts.map((runs) => textOf({ runs })),
    utterance: { id: 0, kind: "notice", urgency: "critical", runs: phrases.join(parts), words: 0 },
  };
}

/** Characters of an agent's reason. */
const LONGEST_REASON = 300;

/** Why the agent ended the subscription, spoken as its words: "Allowed." from an agent is not our message. */
function reasonWords({ phrases }: Announcer, agent: string, message: string): Run[] {
  const summary = phrases.content(shorten(oneLine(message), LONGEST_REASON), "en");
  return phrases.say("unknown", { agent, summary });
}
