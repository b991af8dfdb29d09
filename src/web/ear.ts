/**
 * A page's listener: one announcer per tab, fed by the one line of this browser. It decides what is to be said, when,
 * and by which tab; how it gets to the person is the view's. No DOM here, so that any framework can sit on it.
 */
import { type Clock, systemClock } from "../protocol/clock.ts";
import type { ResumePoint } from "../protocol/extension.ts";
import type { AgentEvent } from "../protocol/types.ts";
import { Announcer, type AnswerInput, textOf, type Utterance } from "../subscriber/announcer.ts";
import type { LeaderConnection } from "./leader-connection.ts";
import { loadLanguage } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { capabilitiesOf, type EarSettings, paceOf, rateOf } from "./settings.ts";
import {
  type ConnectionState,
  type EarOptions,
  type EarView,
  keepIn,
  newsOf,
  type Shared,
} from "./shared.ts";
import { SpeechPacer } from "./speech-pacer.ts";
import { Tabs } from "./tabs.ts";
import { keyOf, Unsaid } from "./unsaid.ts";

export class Ear {
  readonly announcer: Announcer;
  readonly #options: EarOptions;
  readonly #view: EarView;
  readonly #clock: Clock;
  readonly #tabs: Tabs;
  readonly #pacer = new SpeechPacer();
  readonly #unsaid = new Unsaid();
  readonly #outbox: Outbox;
  readonly #log: AgentEvent[] = [];
  readonly #postponed = new Set<string>();
  #settings: EarSettings;
  #state: ConnectionState = { state: "connecting", agent: "" };
  #resume: ResumePoint | undefined;
  #connection: LeaderConnection | undefined;
  #asked: Utterance | undefined;
  #synced: "no" | "soon" | "yes" = "no";
  readonly #early: (Shared & { readonly do: "event" })[] = [];
  #stopped = false;
  #timer: (() => void) | undefined;
  #numbers = 0;
  #noted = 0;

  constructor(options: EarOptions, view: EarView) {
    this.#options = options;
    this.#view = view;
    this.#clock = options.clock ?? systemClock;
    this.#settings = options.settings;
    const { languages, verbosity, load } = options.settings;
    // A screen reader brings its own voices; which, nobody tells a page.
    this.announcer = new Announcer({ languages, verbosity, load });
    const id = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
    const name = `${options.address} ${options.account ?? ""}`;
    this.#outbox = new Outbox(
      id,
      () => this.#connection,
      (message) => this.#tell(message),
    );
    this.#tabs = new Tabs(
      name,
      id,
      options.presence,
      {
        lead: () => void this.#lead(),
        follow: () => this.#follow(),
        message: (message) => this.#hear(message as Shared),
        speaker: () => this.#speaker(),
      },
      options.host,
    );
  }

  /** In words the person reads, before anything else is said. */
  async start(): Promise<void> {
    await this.#speak(this.#settings);
    if (this.#stopped) return;
    this.#tabs.start();
    this.#tell({ do: "sync" });
    this.pump();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#connection?.close(!this.#tabs.alone);
    this.#tabs.close();
  }

  get settings(): EarSettings {
    return this.#settings;
  }
  get line(): ConnectionState {
    return this.#state;
  }
  get speaks(): boolean {
    return this.#tabs.speaks;
  }
  /** The question to put now: never in a tab nobody looks at, nor one that was postponed. */
  get asked(): Utterance | undefined {
    if (!this.#tabs.speaks || !this.#asked) return undefined;
    return this.#postponed.has(this.#asked.reply_token!) ? undefined : this.#asked;
  }
  /** The question that is open, postponed or not. */
  get open(): Utterance | undefined {
    return this.#asked;
  }

  touch(presence: { readonly at: number; readonly visible: boolean }): void {
    this.#tabs.touch(presence);
  }

  /** Changes what the person set, for all tabs, and tells the agent. */
  async set(changed: Partial<EarSettings>): Promise<void> {
    const settings = { ...this.#settings, ...changed };
    this.#tell({ do: "settings", settings });
    await this.#apply(settings);
  }

  /** Whether there was something to send: no is the answer to words that are none. */
  answer(input: AnswerInput): boolean {
    this.#pacer.personActed();
    this.announcer.answer(input, this.#clock.now());
    return this.#flush();
  }

  do(what: "what" | "repeat"): void {
    this.#postponed.delete(this.#asked?.reply_token ?? "");
    this.#pacer.personActed();
    this.announcer[what](this.#clock.now());
    this.pump();
  }

  /** Not now: it stays open, and this tab and the others leave it alone until the person returns to it. */
  postpone(): void {
    const token = this.#asked?.reply_token;
    if (token === undefined) return;
    this.#postponed.add(token);
    this.#tell({ do: "postponed", reply_token: token });
    this.#view.changed();
  }
  /** The person is back for it: put from its beginning, with the time that is left. */
  reopen(): void {
    if (this.#asked) this.do("repeat");
  }

  /** Words of the page's own, e.g. that a question waits. */
  notice(utterance: Omit<Utterance, "id" | "words" | "kind">): void {
    this.#unsaid.add({
      ...utterance,
      id: --this.#numbers,
      words: textOf(utterance).split(/\s+/u).length,
      kind: "notice",
    });
    this.pump();
  }

  /** Speech needs a moment after the focus has moved. */
  hush(ms: number): void {
    this.#pacer.delay(this.#clock.now(), ms);
  }

  pump(): void {
    if (this.#stopped) return;
    this.#timer?.();
    const now = this.#clock.now();
    this.announcer.tick(now);
    this.#note();
    // Its dialog goes first: what is said of the answer must not go down with it.
    this.#forget();
    if (this.#tabs.speaks) this.#speakNow(now);
    else this.#store(now);
    const gate = this.#waitsFor;
    const times = [this.announcer.wakeAt(now), gate > now ? gate : undefined].filter(
      (at) => at !== undefined,
    );
    if (times.length === 0) return;
    this.#timer = this.#clock.timer(Math.max(Math.min(...times), now + 1), () => this.pump());
  }

  /** One sentence at a time, each given the time to be heard; what is critical waits for the end of one, no longer. */
  #speakNow(now: number): void {
    while (this.#waitsFor <= now) {
      const own = this.announcer.urgent && !this.#unsaid.urgent ? undefined : this.#unsaid.take();
      const utterance = own ?? this.#next(now);
      if (!utterance) return;
      const { words, reply_token, asked } = utterance;
      // What the person asked for by a key comes at once, also behind something older.
      if (asked && this.#pacer.hurried && this.announcer.urgent) continue;
      this.#pacer.said(now, words, paceOf(this.#settings), rateOf(this.#settings, this.#state.honored));
      if (asked) continue;
      this.#tell({ do: "said", key: keyOf(utterance), reply_token });
      this.#view.say(utterance);
    }
  }

  get #waitsFor(): number {
    return this.#pacer.readyAt(this.announcer.urgent || this.#unsaid.urgent);
  }

  /** Nobody looks here: kept until another tab has said it, or somebody does. */
  #store(now: number): void {
    for (;;) {
      const utterance = this.#next(now);
      if (!utterance) return;
      if (!utterance.asked) this.#unsaid.add(utterance);
    }
  }

  /** A question goes to its dialog, not to the mouth. */
  #next(now: number): Utterance | undefined {
    const utterance = this.announcer.advance(now).find((one) => one.do === "say")?.utterance;
    if (!utterance) return undefined;
    // A page cannot tell when it has been heard: the queue goes on, and the gate is the page's own.
    this.announcer.finished(utterance.id, now);
    if (utterance.asked) {
      this.#asked = utterance;
      this.#view.changed();
    }
    return utterance;
  }

  #note(): void {
    const fresh = this.announcer.history.filter(({ utterance }) => utterance.id > this.#noted);
    for (const { utterance } of fresh) this.#view.note(utterance);
    this.#noted = fresh.at(-1)?.utterance.id ?? this.#noted;
  }

  #forget(): void {
    const current = this.announcer.question as { readonly reply_token: string } | undefined;
    if (!this.#asked || current?.reply_token === this.#asked.reply_token) return;
    this.#asked = undefined;
    this.#view.changed();
  }

  #flush(): boolean {
    const messages = this.announcer.outgoing();
    for (const message of messages) {
      const settle = (taken: boolean | undefined) => {
        this.announcer.sent(message, taken, this.#clock.now());
        this.pump();
        this.#view.changed();
      };
      this.#outbox.add(message, settle);
    }
    this.pump();
    this.#view.changed();
    return messages.length > 0;
  }

  async #lead(): Promise<void> {
    this.#sync();
    const { connectLeader } = await import("./leader-connection.ts");
    if (this.#stopped) return;
    const { address, token } = this.#options;
    this.#connection = connectLeader({
      address,
      capabilities: capabilitiesOf(this.#settings),
      token,
      resume: this.#resume,
      clock: this.#clock,
      isOpen: (reply_token) => this.announcer.isOpen(reply_token),
      event: (event, resume) => {
        this.#tell({ do: "event", event, resume });
        this.#event(event, resume);
      },
      state: (state) => {
        this.#tell({ do: "state", state });
        this.#connectionState(state);
      },
    });
    this.#outbox.again();
  }

  #follow(): void {
    if (this.#synced === "no") this.#tell({ do: "sync" });
    this.#outbox.again();
  }

  #speaker(): void {
    if (this.#tabs.speaks) {
      const missed = this.#unsaid.fold();
      if (missed > 0) {
        const runs = this.announcer.phrases.say("while_paused", { count: missed });
        this.#unsaid.first({ id: --this.#numbers, kind: "digest", urgency: "normal", runs, words: 8 });
      }
    }
    this.pump();
    this.#view.changed();
  }

  #hear(message: Shared): void {
    if (this.#stopped) return;
    switch (message.do) {
      case "event":
        // Before a tab knows what there was, it is not ready for what comes.
        if (this.#synced !== "yes") return void this.#early.push(message);
        return this.#event(message.event, message.resume);
      case "state":
        return this.#connectionState(message.state);
      case "sync":
        if (this.#tabs.leads) this.#tell(this.#sofar);
        return;
      case "log":
        return void this.#catchUp(message);
      case "send":
        return this.#outbox.forward(message.id, message.message, message.again);
      case "sent":
        return this.#outbox.settle(message.id, message.taken);
      case "said":
        return this.#unsaid.said(message.key, message.reply_token);
      case "postponed":
        this.#postponed.add(message.reply_token);
        return this.#view.changed();
      case "settings":
        return void this.#apply(message.settings);
    }
  }

  #tell(message: Shared): void {
    this.#tabs.post(message);
  }

  get #sofar(): Shared {
    const about = { state: this.#state, resume: this.#resume, settings: this.#settings };
    return { do: "log", events: this.#log, ...about };
  }

  /** A tab that comes later is told what there was; none of it is news any more. */
  async #catchUp({ events, state, resume, settings }: Shared & { readonly do: "log" }): Promise<void> {
    if (this.#synced !== "no") return;
    this.#synced = "soon";
    // What was broadcast before the log is part of it.
    this.#early.length = 0;
    await this.#apply(settings);
    const now = this.#clock.now();
    for (const event of events) {
      keepIn(this.#log, event);
      this.announcer.hear(event, now);
      this.#view.event(event);
      this.#note();
    }
    this.#resume = resume;
    this.#state = state;
    this.#store(now);
    this.#unsaid.clear();
    this.#sync();
    this.pump();
    this.#view.changed();
  }

  #sync(): void {
    this.#synced = "yes";
    for (const { event, resume } of this.#early.splice(0)) this.#event(event, resume);
  }

  #event(event: AgentEvent, resume: ResumePoint): void {
    this.#resume = resume;
    keepIn(this.#log, event);
    this.announcer.hear(event, this.#clock.now());
    this.#view.event(event);
    this.#note();
    this.#flush();
  }

  #connectionState(state: ConnectionState): void {
    const before = this.#state;
    this.#state = state.agent === "" ? { ...state, agent: before.agent } : state;
    const news = newsOf(before, state);
    if (news) this.announcer.connection(news, this.#state.agent, this.#clock.now());
    this.pump();
    this.#view.changed();
  }

  async #apply(settings: EarSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    if (settings.languages !== before.languages) await this.#speak(settings);
    const { verbosity, load, languages } = settings;
    this.announcer.set({ verbosity, load, languages });
    this.#view.changed();
    if (!this.#connection) return;
    try {
      const honored = await this.#connection.renegotiate(capabilitiesOf(settings));
      this.#connectionState({ ...this.#state, honored });
      this.#tell({ do: "state", state: this.#state });
    } catch {
      // The line says itself that it is lost; the wish is part of the next request.
    }
  }

  async #speak(settings: EarSettings): Promise<void> {
    await loadLanguage(settings.languages);
    this.announcer.set({ languages: settings.languages });
  }
}
