/**
 * A page's listener: one announcer per tab, fed by the one line of this browser. It decides what is to be said, when,
 * and by which tab; how it gets to the person is the view's. No DOM here, so that any framework can sit on it.
 */
import { type Clock, systemClock } from "../protocol/clock.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import {
  Announcer,
  type AnswerInput,
  type Outgoing,
  textOf,
  type Utterance,
} from "../subscriber/announcer.ts";
import { loadLanguage } from "./languages.ts";
import type { Line } from "./line.ts";
import { capabilitiesOf, type EarSettings, paceOf, rateOf } from "./settings.ts";
import { Tabs, type TabsHost } from "./tabs.ts";
import { keyOf, Unsaid } from "./unsaid.ts";

/** Where a subscription is, for the tab that takes it over. */
export interface Place {
  readonly subscription_id: string;
  readonly last_event_id: string | undefined;
}

export interface LineOptions {
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly token?: Token;
  readonly place: Place | undefined;
}

export type Token = string | (() => string | undefined | Promise<string | undefined>);

export interface LineState {
  readonly state: "connecting" | "connected" | "lost" | "ended";
  /** Empty while nobody knows it. */
  readonly agent: string;
  readonly reason?: string;
  readonly honored?: Capabilities;
}

export interface EarOptions {
  /** The agent's address: http(s) or ws(s). */
  readonly address: string;
  readonly settings: EarSettings;
  readonly token?: Token;
  /** Who is signed in: tabs of different accounts share nothing. */
  readonly account?: string;
  readonly host: TabsHost;
  readonly presence: { readonly at: number; readonly visible: boolean };
  readonly clock?: Clock;
}

/** What a page shows. Every call is about this tab only. */
export interface EarView {
  /** To be heard now. */
  say(utterance: Utterance): void;
  /** Everything heard, for the transcript. */
  event(event: AgentEvent): void;
  /** Words about it, in the order things happened, said aloud or not. */
  note(utterance: Utterance): void;
  /** The question to be put, or that there is none any more; or anything else changed. */
  changed(): void;
}

type Shared =
  | { readonly do: "event"; readonly event: AgentEvent; readonly place: Place }
  | { readonly do: "state"; readonly state: LineState }
  | { readonly do: "sync" }
  | {
      readonly do: "log";
      readonly events: readonly AgentEvent[];
      readonly state: LineState;
      readonly place: Place | undefined;
      readonly settings: EarSettings;
    }
  | { readonly do: "send"; readonly id: string; readonly message: Outgoing; readonly again: boolean }
  | { readonly do: "sent"; readonly id: string; readonly taken: boolean | undefined }
  | { readonly do: "said"; readonly key: string; readonly reply_token: string | undefined }
  | { readonly do: "postponed"; readonly reply_token: string }
  | { readonly do: "settings"; readonly settings: EarSettings };

/** Events a new tab is told, so that its transcript has a beginning. */
const MOST_LOGGED = 2_000;
/** A sentence is given this long at most before the next may be said, whatever its length. */
const LONGEST_SENTENCE_MS = 8_000;
/** Something critical never waits longer than this for the end of a sentence. */
const CRITICAL_WAIT_MS = 2_500;

export class Ear {
  readonly announcer: Announcer;
  readonly #options: EarOptions;
  readonly #view: EarView;
  readonly #clock: Clock;
  readonly #tabs: Tabs;
  readonly #unsaid = new Unsaid();
  readonly #sending = new Map<
    string,
    { readonly message: Outgoing; readonly settle: (taken: boolean | undefined) => void }
  >();
  readonly #log: AgentEvent[] = [];
  readonly #postponed = new Set<string>();
  #settings: EarSettings;
  #state: LineState = { state: "connecting", agent: "" };
  #place: Place | undefined;
  #line: Line | undefined;
  #asked: Utterance | undefined;
  #synced = false;
  #stopped = false;
  #gate = -Infinity;
  #saidAt = -Infinity;
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
    this.#tabs.post({ do: "sync" } satisfies Shared);
    this.pump();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#line?.close(!this.#tabs.alone);
    this.#tabs.close();
  }

  get settings(): EarSettings {
    return this.#settings;
  }
  get line(): LineState {
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
    this.#tabs.post({ do: "settings", settings } satisfies Shared);
    await this.#apply(settings);
  }

  /** Whether there was something to send: no is the answer to words that are none. */
  answer(input: AnswerInput): boolean {
    this.announcer.answer(input, this.#clock.now());
    return this.#flush();
  }

  do(what: "what" | "repeat"): void {
    const asked = this.#asked?.reply_token;
    if (asked !== undefined) this.#postponed.delete(asked);
    this.announcer[what](this.#clock.now());
    this.pump();
  }

  /** Not now: it stays open, and this tab and the others leave it alone until the person returns to it. */
  postpone(): void {
    const token = this.#asked?.reply_token;
    if (token === undefined) return;
    this.#postponed.add(token);
    this.#tabs.post({ do: "postponed", reply_token: token } satisfies Shared);
    this.#view.changed();
  }
  /** The person is back for it: put from its beginning, with the time that is left. */
  reopen(): void {
    const token = this.#asked?.reply_token;
    if (token === undefined) return;
    this.#postponed.delete(token);
    this.announcer.repeat(this.#clock.now());
    this.pump();
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
    const now = this.#clock.now();
    this.#gate = Math.max(this.#gate, now + ms);
    this.#saidAt = Math.max(this.#saidAt, now + ms - CRITICAL_WAIT_MS);
    this.pump();
  }

  pump(): void {
    if (this.#stopped) return;
    this.#timer?.();
    const now = this.#clock.now();
    this.announcer.tick(now);
    this.#note();
    if (this.#tabs.speaks) this.#speakNow(now);
    else this.#store(now);
    this.#forget();
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
      const { words, reply_token } = utterance;
      const speech = Math.min((words / paceOf(this.#settings)) * 60_000, LONGEST_SENTENCE_MS);
      this.#saidAt = now;
      this.#gate = now + Math.max(speech, 1000 / rateOf(this.#settings, this.#state.honored));
      if (utterance.asked) continue;
      this.#tabs.post({ do: "said", key: keyOf(utterance), reply_token } satisfies Shared);
      this.#view.say(utterance);
    }
  }

  get #waitsFor(): number {
    const urgent = this.announcer.urgent || this.#unsaid.urgent;
    return urgent ? Math.min(this.#gate, this.#saidAt + CRITICAL_WAIT_MS) : this.#gate;
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
      const id = `${this.#tabs.id} ${++this.#numbers}`;
      this.#sending.set(id, { message, settle });
      this.#send(id, message, false);
    }
    this.pump();
    this.#view.changed();
    return messages.length > 0;
  }

  #send(id: string, message: Outgoing, again: boolean): void {
    if (!this.#line) return this.#tabs.post({ do: "send", id, message, again } satisfies Shared);
    this.#line.send(message).then(
      // Sent twice, a no may only mean that the first one was taken: then the agent's own word counts.
      (taken) => this.#sent(id, again && taken === false ? undefined : taken),
      () => this.#sent(id, undefined),
    );
  }

  #sent(id: string, taken: boolean | undefined): void {
    const sending = this.#sending.get(id);
    if (!sending) return this.#tabs.post({ do: "sent", id, taken } satisfies Shared);
    this.#sending.delete(id);
    sending.settle(taken);
  }

  async #lead(): Promise<void> {
    this.#synced = true;
    const { openLine } = await import("./line.ts");
    if (this.#stopped) return;
    const { address, token } = this.#options;
    this.#line = openLine(
      {
        address,
        capabilities: capabilitiesOf(this.#settings),
        ...(token === undefined ? {} : { token }),
        place: this.#place,
      },
      {
        hear: (event, place) => {
          this.#tabs.post({ do: "event", event, place } satisfies Shared);
          this.#event(event, place);
        },
        state: (state) => {
          this.#tabs.post({ do: "state", state } satisfies Shared);
          this.#lineState(state);
        },
      },
      this.#clock,
    );
    for (const [id, { message }] of this.#sending) this.#send(id, message, true);
  }

  #follow(): void {
    if (!this.#synced) this.#tabs.post({ do: "sync" } satisfies Shared);
    for (const [id, { message }] of this.#sending) this.#send(id, message, true);
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
        return this.#event(message.event, message.place);
      case "state":
        return this.#lineState(message.state);
      case "sync":
        if (this.#tabs.leads)
          this.#tabs.post({
            do: "log",
            events: this.#log,
            state: this.#state,
            place: this.#place,
            settings: this.#settings,
          } satisfies Shared);
        return;
      case "log":
        return void this.#catchUp(message);
      case "send":
        if (this.#line) this.#send(message.id, message.message, message.again);
        return;
      case "sent":
        if (this.#sending.has(message.id)) this.#sent(message.id, message.taken);
        return;
      case "said":
        return this.#unsaid.said(message.key, message.reply_token);
      case "postponed":
        this.#postponed.add(message.reply_token);
        return this.#view.changed();
      case "settings":
        return void this.#apply(message.settings);
    }
  }

  /** A tab that comes later is told what there was; none of it is news any more. */
  async #catchUp({ events, state, place, settings }: Shared & { readonly do: "log" }): Promise<void> {
    if (this.#synced) return;
    this.#synced = true;
    await this.#apply(settings);
    const now = this.#clock.now();
    for (const event of events) {
      this.#keep(event);
      this.announcer.hear(event, now);
      this.#note();
      this.#view.event(event);
    }
    this.#place = place;
    this.#state = state;
    this.#store(now);
    this.#unsaid.clear();
    this.pump();
    this.#view.changed();
  }

  #event(event: AgentEvent, place: Place): void {
    this.#place = place;
    this.#keep(event);
    this.announcer.hear(event, this.#clock.now());
    this.#note();
    this.#view.event(event);
    this.#flush();
  }

  #keep(event: AgentEvent): void {
    this.#log.push(event);
    if (this.#log.length > MOST_LOGGED) this.#log.shift();
  }

  #lineState(state: LineState): void {
    const before = this.#state;
    this.#state = state.agent === "" ? { ...state, agent: before.agent } : state;
    // The first connection is no news, a lost one is.
    const lost = before.state === "lost" || (before.state === "connecting" && before.agent !== "");
    if (state.state === "lost" && before.state === "connected")
      this.announcer.line("lost", this.#state.agent, this.#clock.now());
    else if (state.state === "connected" && lost)
      this.announcer.line("connected", state.agent, this.#clock.now());
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
    if (!this.#line) return;
    try {
      const honored = await this.#line.renegotiate(capabilitiesOf(settings));
      this.#lineState({ ...this.#state, honored });
      this.#tabs.post({ do: "state", state: this.#state } satisfies Shared);
    } catch {
      // The line says itself that it is lost; the wish is part of the next request.
    }
  }

  async #speak(settings: EarSettings): Promise<void> {
    await loadLanguage(settings.languages);
    this.announcer.set({ languages: settings.languages });
  }
}
