/**
 * An agent with several lives: each life is a process of its own, with its own timers, over the same store. A life ends
 * without a word, at any append if one likes; the next one finds what the store had acknowledged, and nothing else.
 */

import type { Fact, LogEntry, LogStore } from "../../src/hub/store.ts";
import { createProducer, hubOf, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../../src/protocol/extension.ts";
import type { Capabilities, CoreEvent } from "../../src/protocol/types.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/clock.ts";
import { spokenBy } from "../../src/testing/spoken.ts";
import type { AnyQuestion } from "../support/hub-listener.ts";

type Hub = ReturnType<typeof hubOf>;
type Principal = Parameters<Hub["subscribe"]>[1];
type Peer = Parameters<Hub["connect"]>[1];
type Subscription = NonNullable<ReturnType<Hub["find"]>>;

const never = () => new Promise<never>(() => {});

/** When a life ends by itself: at this append, which is kept or lost, but never acknowledged. */
export interface Death {
  readonly append: number;
  readonly kept: boolean;
}

export class AgentProcess {
  readonly clock: FakeClock;
  readonly agent: Producer;
  readonly warnings: string[] = [];
  appends = 0;
  dead = false;

  constructor(store: LogStore, at: string, options: Partial<ProducerOptions>, death?: Death) {
    this.clock = createFakeClock(at);
    const mortal: LogStore = {
      identity: store.identity,
      ...(store.durable ? { durable: true } : {}),
      recent: () => asWritten(store.recent()),
      facts: (kind) => asWritten(store.facts(kind)),
      follow: (from, receive) =>
        store.follow(from, (entries) => {
          if (!this.dead) receive(asWritten(entries));
        }),
      read: (from) => store.read(from),
      append: async (entries: readonly LogEntry[], facts?: readonly Fact[]) => {
        if (this.dead) return never();
        this.appends++;
        this.dead = this.appends === death?.append;
        const stores = !this.dead || death?.kept;
        const first = stores ? await store.append(asWritten(entries), facts && asWritten(facts)) : 0;
        // Whoever dies in the middle of a write learns nothing of it any more.
        return this.dead ? never() : first;
      },
    };
    const named = { agent_id: "com.example.bank", agent_name: "Bank" };
    const warn = (sentence: string) => void this.warnings.push(sentence);
    this.agent = createProducer({ ...named, store: mortal, clock: this.clock, warn, ...options });
  }

  /** kill -9: nothing it does any more reaches anybody. */
  kill(): void {
    this.dead = true;
  }

  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
  }
  settle(): Promise<void> {
    return this.clock.settle();
  }
}

/** What comes back from a disk is a copy. */
const asWritten = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export class AgentProcesses {
  readonly store: LogStore;
  life: AgentProcess;
  readonly #options: Partial<ProducerOptions>;

  constructor(options: Partial<ProducerOptions> = {}, store = createMemoryStore(), death?: Death) {
    this.store = store;
    this.#options = options;
    this.life = new AgentProcess(store, "2026-01-01T00:00:00.000Z", options, death);
  }

  /** The process is killed and, some time later, started again. */
  async restart(seconds = 1, death?: Death): Promise<AgentProcess> {
    const { clock } = this.life;
    this.life.kill();
    const at = new Date(Date.parse(clock.timestamp()) + seconds * 1000).toISOString();
    this.life = new AgentProcess(this.store, at, this.#options, death);
    await this.life.settle();
    return this.life;
  }

  get events(): CoreEvent[] {
    return this.store.recent().map(({ event }) => event as CoreEvent);
  }
  /** Everything said, as it is in the log. */
  get told(): string[] {
    return this.events.flatMap(spokenBy);
  }
}

export interface PhoneOptions {
  readonly principal?: Principal;
  readonly transport?: string;
  readonly capabilities?: Capabilities;
}

/** A listener's device: it outlives the agent's process, knows its subscription and the last event it got. */
export class Phone {
  readonly events: CoreEvent[] = [];
  lastEventId: string | undefined;
  subscription_id = "";
  readonly #options: PhoneOptions;
  readonly #principal: Principal;
  #life: AgentProcess | undefined;
  #subscription: Subscription | undefined;
  #line: Peer | undefined;

  constructor(options: PhoneOptions = {}) {
    this.#options = options;
    this.#principal = options.principal ?? { id: "ada", role: "reply", audiences: "all" };
  }

  /** The first time, or as if it were. */
  join(life: AgentProcess): this {
    this.#life = life;
    const { subscription, answer } = hubOf(life.agent).subscribe(
      {
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: "phone",
        capabilities: {
          supports_confirmation_reply: true,
          supports_clarification_reply: true,
          supported_extensions: [EXTENSION_URI],
          ...this.#options.capabilities,
        },
      },
      this.#principal,
      this.#options.transport ?? "sse",
    );
    if (!subscription) throw new Error(answer.type);
    this.subscription_id = subscription.id;
    this.#open(subscription);
    return this;
  }

  /** Goes on where it was, as an EventSource does. False where the agent does not know it any more. */
  rejoin(life: AgentProcess): boolean {
    this.#life = life;
    const subscription = hubOf(life.agent).find(this.subscription_id, this.#principal);
    if (subscription) this.#open(subscription, this.lastEventId);
    return subscription !== undefined;
  }

  /** Its messages reach the new process before its stream does. */
  reach(life: AgentProcess): void {
    this.#life = life;
    this.#line = undefined;
  }

  drop(): void {
    const line = this.#line;
    this.#line = undefined;
    if (line && this.#subscription) hubOf(this.#life!.agent).disconnect(this.#subscription, line);
  }

  follow(...sessions: string[]): void {
    const { subscription_id } = this;
    hubOf(this.#life!.agent).handle({ type: "earshot:follow", subscription_id, sessions }, this.#principal);
  }

  close(): void {
    const { subscription_id } = this;
    const reason_code = "subscriber_shutdown";
    hubOf(this.#life!.agent).handle(
      { type: "subscription.close", subscription_id, reason_code },
      this.#principal,
    );
  }

  get questions(): AnyQuestion[] {
    return this.events.filter((event): event is AnyQuestion => "reply_token" in event);
  }
  get tokens(): string[] {
    return [...new Set(this.questions.map(({ reply_token }) => reply_token))];
  }
  get settled(): string[] {
    return this.events.flatMap(({ extensions }) => {
      const resolves = extensions?.[EXTENSION_PREFIX]?.["resolves"] as { outcome: string } | undefined;
      return resolves ? [resolves.outcome] : [];
    });
  }
  get spoken(): string[] {
    return this.events.flatMap(spokenBy);
  }
  /** The agent's words, each once. */
  get text(): string {
    return this.events
      .map((event) => (event.type === "aaep:agent.output.streaming" ? event.chunk : ""))
      .join("");
  }

  accept(question = this.questions.at(-1), extra: object = {}): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "accept", ...extra });
  }
  reject(question = this.questions.at(-1)): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "reject" });
  }
  answer(response: string, question = this.questions.at(-1)): Promise<boolean> {
    return this.#reply(question, { type: "clarification.reply", response });
  }
  moreTime(question = this.questions.at(-1)): Promise<boolean> {
    return this.#say({ type: "earshot:more_time", reply_token: question?.reply_token ?? "" });
  }
  stop(session_id: string): Promise<boolean> {
    return this.#say({ type: "earshot:cancel", session_id });
  }

  async #reply(question: AnyQuestion | undefined, fields: object): Promise<boolean> {
    if (!question) return false;
    const { reply_token } = question;
    return this.#say({ reply_token, timestamp: this.#life!.clock.timestamp(), ...fields });
  }

  async #say(message: object): Promise<boolean> {
    if (this.#life!.dead) return false;
    const full = { subscription_id: this.subscription_id, ...message } as Parameters<Hub["handle"]>[0];
    const handled = await hubOf(this.#life!.agent).handle(full, this.#principal);
    return "taken" in handled && handled.taken;
  }

  #open(subscription: Subscription, lastEventId?: string): void {
    const life = this.#life!;
    const line: Peer = {
      send: ({ json, event_id, cursor }) => {
        if (line !== this.#line || life.dead) return undefined;
        if (cursor) this.lastEventId = event_id;
        const event = JSON.parse(json) as CoreEvent;
        // As a subscriber does: an event it has is no news (CON-16).
        if (!this.events.some((known) => known.event_id === event.event_id)) this.events.push(event);
        return undefined;
      },
      tell: () => undefined,
      close: () => undefined,
    };
    this.#line = line;
    this.#subscription = subscription;
    hubOf(life.agent).connect(subscription, line, lastEventId);
  }
}
