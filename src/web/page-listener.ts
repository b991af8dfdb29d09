/**
 * The listener of a page: one announcer per tab, fed by the one connection of this browser. It decides what is
 * announced, when, and by which tab; the view shows it. No DOM here, so that any framework can use it.
 */

import type { ResumePoint } from "../protocol/extension.ts";
import { type Clock, systemClock } from "../protocol/platform.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import {
  Announcer,
  type AnswerInput,
  type Outgoing,
  textOf,
  type Utterance,
} from "../subscriber/announcer.ts";
import type { Token } from "../subscriber/index.ts";
import { sendOutgoing } from "../subscriber/voice.ts";
import type { LeaderConnection } from "./leader-connection.ts";
import { loadLanguage } from "./messages.ts";
import { keyOf, PendingAnnouncements } from "./pending-announcements.ts";
import { ReplyOutbox } from "./reply-outbox.ts";
import { capabilitiesOf, type PageSettings, paceOf, rateOf } from "./settings.ts";
import { SpeechPacer } from "./speech-pacer.ts";
import { keepInLog, type TabMessage, Tabs, type TabsHost } from "./tabs.ts";

/** The state of a page's connection to its agent. */
export interface ConnectionState {
  readonly state: "connecting" | "connected" | "lost" | "ended";
  /** The agent's name; empty until it is known. */
  readonly agent: string;
  readonly reason?: string;
  readonly honored?: Capabilities;
}

/** Options of a page's listener. */
export interface PageListenerOptions {
  /** The agent's address: http(s) or ws(s). */
  readonly address: string;
  readonly settings: PageSettings;
  readonly token?: Token;
  /** Who is signed in: tabs of different accounts share nothing. */
  readonly account?: string;
  readonly host: TabsHost;
  readonly presence: { readonly at: number; readonly visible: boolean };
  readonly clock?: Clock;
}

/** What a page implements to show announcements. Every call concerns this tab only. */
export interface PageView {
  /** Announce this now. */
  say(utterance: Utterance): void;
  /** Every event, for the transcript. */
  event(event: AgentEvent): void;
  /** Every announcement, in order, made aloud or not. */
  note(utterance: Utterance): void;
  /** Anything changed, such as the question to ask. */
  changed(): void;
}

/** The listener of a page, without any user interface: give it a view of your own. */
export class PageListener {
  readonly announcer: Announcer;
  readonly #options: PageListenerOptions;
  readonly #view: PageView;
  readonly #clock: Clock;
  readonly #tabs: Tabs;
  readonly #pacer = new SpeechPacer();
  readonly #unsaid = new PendingAnnouncements();
  readonly #outbox: ReplyOutbox;
  readonly #log: AgentEvent[] = [];
  readonly #postponed = new Set<string>();
  #settings: PageSettings;
  #state: ConnectionState = { state: "connecting", agent: "" };
  #resume: ResumePoint | undefined;
  #leader: LeaderConnection | undefined;
  #asked: Utterance | undefined;
  #synced: "no" | "soon" | "yes" = "no";
  readonly #early: (TabMessage & { readonly do: "event" })[] = [];
  #stopped = false;
  #timer: (() => void) | undefined;
  #numbers = 0;
  #noted = 0;

  constructor(options: PageListenerOptions, view: PageView) {
    this.#options = options;
    this.#view = view;
    this.#clock = options.clock ?? systemClock;
    this.#settings = options.settings;
    const { languages, verbosity, load } = options.settings;
    // A page cannot know which languages the screen reader can speak, so it assumes all.
    this.announcer = new Announcer({ languages, verbosity, load });
    const id = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
    const name = `${options.address} ${options.account ?? ""}`;
    this.#outbox = new ReplyOutbox(
      id,
      () => this.#leader,
      (message) => this.#tell(message),
    );
    this.#tabs = new Tabs(
      name,
      id,
      options.presence,
      {
        lead: () => void this.#lead(),
        follow: () => this.#follow(),
        message: (message) => this.#hear(message as TabMessage),
        speaker: () => this.#speaker(),
      },
      options.host,
    );
  }

  /** Loads the person's language first, so that the first announcement is in it. */
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
    this.#leader?.close(!this.#tabs.alone);
    this.#tabs.close();
  }

  get settings(): PageSettings {
    return this.#settings;
  }
  get connection(): ConnectionState {
    return this.#state;
  }
  get speaks(): boolean {
    return this.#tabs.speaks;
  }
  /** The question to ask now: never in a tab that is not looked at, nor one that was postponed. */
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

  /** Changes the person's settings in all tabs, and renegotiates them with the agent. */
  async set(changed: Partial<PageSettings>): Promise<void> {
    const settings = { ...this.#settings, ...changed };
    this.#tell({ do: "settings", settings });
    await this.#apply(settings);
  }

  /** Returns whether there was something to send: false for an input that is no answer.  */
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

  /** Not now: the question stays open, and no tab asks it until the person returns to it. */
  postpone(): void {
    const token = this.#asked?.reply_token;
    if (token === undefined) return;
    this.#postponed.add(token);
    this.#tell({ do: "postponed", reply_token: token });
    this.#view.changed();
  }
  /** The person returns to the question: it is asked from its beginning, with the time that is left. */
  reopen(): void {
    if (this.#asked) this.do("repeat");
  }

  /** An announcement of the page itself, e.g. that a question waits. */
  notice(utterance: Omit<Utterance, "id" | "words" | "kind">): void {
    this.#unsaid.add({
      ...utterance,
      id: --this.#numbers,
      words: textOf(utterance).split(/\s+/u).length,
      kind: "notice",
    });
    this.pump();
  }

  /** Announces nothing for a moment: screen readers speak after the focus has moved. */
  hush(ms: number): void {
    this.#pacer.delay(this.#clock.now(), ms);
  }

  pump(): void {
    if (this.#stopped) return;
    this.#timer?.();
    const now = this.#clock.now();
    this.announcer.tick(now);
    this.#note();
    // The dialog closes first: an announcement made while it is open would be lost with it.
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

  /** One sentence at a time, each with the time to be heard; a critical one waits for one sentence at most. */
  #speakNow(now: number): void {
    while (this.#waitsFor <= now) {
      const own = this.announcer.urgent && !this.#unsaid.urgent ? undefined : this.#unsaid.take();
      const utterance = own ?? this.#next(now);
      if (!utterance) return;
      const { words, reply_token, asked } = utterance;
      // What the person asked for by a key comes at once, even behind older announcements.
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

  /** This tab is not looked at: keep announcements until another tab has made them, or the person looks here. */
  #store(now: number): void {
    for (;;) {
      const utterance = this.#next(now);
      if (!utterance) return;
      if (!utterance.asked) this.#unsaid.add(utterance);
    }
  }

  /** The next announcement. A question goes to its dialog instead of the live region. */
  #next(now: number): Utterance | undefined {
    const utterance = this.announcer.advance(now).find((one) => one.do === "say")?.utterance;
    if (!utterance) return undefined;
    // A page is not told when speech ends: the queue goes on, and the pacer sets the time.
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
    const changed = () => {
      this.pump();
      this.#view.changed();
    };
    const send = (message: Outgoing) => this.#outbox.send(message);
    return sendOutgoing(this.announcer, send, { clock: this.#clock, changed }) > 0;
  }

  async #lead(): Promise<void> {
    this.#sync();
    const { connectLeader } = await import("./leader-connection.ts");
    if (this.#stopped) return;
    const { address, token } = this.#options;
    this.#leader = connectLeader({
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

  #hear(message: TabMessage): void {
    if (this.#stopped) return;
    switch (message.do) {
      case "event":
        // A tab that waits for the log keeps newer events until it has it.
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

  #tell(message: TabMessage): void {
    this.#tabs.post(message);
  }

  get #sofar(): TabMessage {
    const about = { state: this.#state, resume: this.#resume, settings: this.#settings };
    return { do: "log", events: this.#log, ...about };
  }

  /** A new tab receives the log; nothing in it is announced again. */
  async #catchUp({ events, state, resume, settings }: TabMessage & { readonly do: "log" }): Promise<void> {
    if (this.#synced !== "no") return;
    this.#synced = "soon";
    // What was broadcast before the log is part of it.
    this.#early.length = 0;
    await this.#apply(settings);
    const now = this.#clock.now();
    for (const event of events) {
      keepInLog(this.#log, event);
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
    keepInLog(this.#log, event);
    this.announcer.hear(event, this.#clock.now());
    this.#view.event(event);
    this.#note();
    this.#flush();
  }

  #connectionState(state: ConnectionState): void {
    const before = this.#state;
    this.#state = state.agent === "" ? { ...state, agent: before.agent } : state;
    const news = connectionNews(before, state);
    if (news) this.announcer.connection(news, this.#state.agent, this.#clock.now());
    this.pump();
    this.#view.changed();
  }

  async #apply(settings: PageSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    if (settings.languages !== before.languages) await this.#speak(settings);
    const { verbosity, load, languages } = settings;
    this.announcer.set({ verbosity, load, languages });
    this.#view.changed();
    if (!this.#leader) return;
    try {
      const honored = await this.#leader.renegotiate(capabilitiesOf(settings));
      this.#connectionState({ ...this.#state, honored });
      this.#tell({ do: "state", state: this.#state });
    } catch {
      // The connection reports that it is lost; the next request has the new settings.
    }
  }

  async #speak(settings: PageSettings): Promise<void> {
    await loadLanguage(settings.languages);
    this.announcer.set({ languages: settings.languages });
  }
}

/** What of a change of the connection is announced: not the first connection, but a lost one and one that is back. */
function connectionNews(
  before: ConnectionState,
  { state }: ConnectionState,
): "lost" | "connected" | undefined {
  if (state === "lost" && before.state === "connected") return "lost";
  const gone = before.state === "lost" || (before.state === "connecting" && before.agent !== "");
  return state === "connected" && gone ? "connected" : undefined;
}
