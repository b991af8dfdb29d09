/**
 * What the scenarios need of a transport: connect a listener to an agent, hear events, send messages, lose the line.
 * They are written against this alone, so that the same stories run in memory, over SSE and over WebSocket.
 */
import { expect } from "vitest";
import { createProducer, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../../src/protocol/extension.ts";
import type { Handled, Incoming } from "../../src/protocol/hub-port.ts";
import { type CheckOptions, checkStream } from "../../src/protocol/lifecycle.ts";
import { parseValue } from "../../src/protocol/parse.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  Capabilities,
  CoreEvent,
  CoreEventMap,
  OtherMessage,
  StateChanged,
  SubscriptionAccepted,
} from "../../src/protocol/types.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/clock.ts";
import { spokenBy } from "../../src/testing/spoken.ts";
import { HubListener } from "./hub-listener.ts";

/** One listener's end of a transport. */
export interface Wire {
  readonly accepted: SubscriptionAccepted;
  readonly events: readonly CoreEvent[];
  readonly messages: readonly OtherMessage[];
  /** Why the line was closed by the agent, once it was. */
  readonly closed: string | undefined;
  readonly lastEventId: string | undefined;
  send(message: Incoming, as?: Principal): Promise<Handled>;
  drop(): Promise<void>;
  reconnect(lastEventId?: string): Promise<void>;
}

export interface EarOptions {
  readonly capabilities?: Capabilities;
  readonly principal?: Principal;
  readonly subscriber_id?: string;
  /** False: a peer that knows nothing of our extension. */
  readonly extension?: boolean;
  /** Keep the place when the line drops. */
  readonly resume?: boolean;
}

export interface Driver {
  readonly name: string;
  connect(agent: Producer, options: EarOptions): Promise<Wire>;
  /** Lets everything that is on its way arrive. */
  settle(clock: FakeClock): Promise<void>;
}

export const memoryDriver: Driver = {
  name: "memory",
  async connect(agent, options) {
    const listener = new HubListener(agent, options);
    return {
      get accepted() {
        return listener.accepted;
      },
      get events() {
        return listener.events;
      },
      get messages() {
        return listener.messages;
      },
      get closed() {
        return listener.closed;
      },
      get lastEventId() {
        return listener.lastEventId;
      },
      send: async (message, as) => listener.send(message, as),
      drop: async () => listener.drop(),
      reconnect: async (lastEventId) => listener.connect(lastEventId),
    };
  },
  settle: (clock) => clock.settle(),
};

export type AnyQuestion = AwaitingConfirmation | AwaitingClarification;
type Short = keyof CoreEventMap extends `aaep:agent.${infer Name}` ? Name : never;

/** A listener with hands: everything a person could do. */
export class Ear {
  readonly wire: Wire;
  readonly #world: World;

  constructor(wire: Wire, world: World) {
    this.wire = wire;
    this.#world = world;
  }

  get id(): string {
    return this.wire.accepted.subscription_id;
  }
  get events(): readonly CoreEvent[] {
    return this.wire.events;
  }
  /** The types heard, in short, in order. */
  get types(): string[] {
    return this.events.map(({ type }) => type.replace("aaep:agent.", ""));
  }
  get spoken(): string[] {
    return this.events.flatMap(spokenBy);
  }
  all<Name extends Short>(type: Name): CoreEventMap[`aaep:agent.${Name}`][] {
    return this.events.filter((event) => event.type === `aaep:agent.${type}`) as never;
  }
  /** Every question heard, each once. */
  get questions(): AnyQuestion[] {
    const heard = this.events.filter((event): event is AnyQuestion => "reply_token" in event);
    return [...new Map(heard.map((question) => [question.reply_token, question])).values()];
  }
  get question(): AnyQuestion {
    const question = this.questions.at(-1);
    if (!question) throw new Error("No question was heard.");
    return question;
  }
  /** Tokens known to be settled, with the outcome. */
  get settled(): Map<string, string> {
    const notices = this.events.flatMap(({ extensions }) => {
      const resolves = extensions?.[EXTENSION_PREFIX]?.["resolves"];
      return resolves ? [resolves as { reply_token: string; outcome: string }] : [];
    });
    return new Map(notices.map(({ reply_token, outcome }) => [reply_token, outcome]));
  }

  async send(message: Incoming, as?: Principal): Promise<Handled> {
    const handled = await this.wire.send(message, as);
    await this.#world.settle();
    return handled;
  }
  async #taken(message: Incoming, as?: Principal): Promise<boolean> {
    const handled = await this.send(message, as);
    return "taken" in handled && handled.taken;
  }
  accept(question: AnyQuestion = this.question, extra: object = {}): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "accept", ...extra });
  }
  reject(question: AnyQuestion = this.question): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "reject" });
  }
  answer(response: string | number | boolean, question: AnyQuestion = this.question): Promise<boolean> {
    return this.#reply(question, { type: "clarification.reply", response });
  }
  #reply({ reply_token }: AnyQuestion, fields: object): Promise<boolean> {
    const timestamp = this.#world.clock.timestamp();
    return this.#taken({ reply_token, subscription_id: this.id, timestamp, ...fields } as Incoming);
  }
  moreTime({ reply_token }: AnyQuestion = this.question): Promise<boolean> {
    return this.#taken({ type: "earshot:more_time", subscription_id: this.id, reply_token });
  }
  status(session_id?: string): Promise<boolean> {
    return this.#taken({
      type: "earshot:status",
      subscription_id: this.id,
      ...(session_id ? { session_id } : {}),
    });
  }
  stop(session_id: string, reason?: string): Promise<boolean> {
    return this.#taken({
      type: "earshot:cancel",
      subscription_id: this.id,
      session_id,
      ...(reason ? { reason } : {}),
    });
  }
  follow(...sessions: string[]): Promise<boolean> {
    return this.#taken({ type: "earshot:follow", subscription_id: this.id, sessions });
  }
  async renegotiate(capabilities: Capabilities): Promise<SubscriptionAccepted> {
    const handled = await this.send({
      type: "subscription.renegotiate",
      subscription_id: this.id,
      capabilities,
    });
    return (handled as { answer: SubscriptionAccepted }).answer;
  }
  async close(): Promise<void> {
    await this.send({
      type: "subscription.close",
      subscription_id: this.id,
      reason_code: "subscriber_shutdown",
    });
  }
  async drop(): Promise<void> {
    await this.wire.drop();
    await this.#world.settle();
  }
  async reconnect(lastEventId?: string): Promise<void> {
    await this.wire.reconnect(lastEventId);
    await this.#world.settle();
  }
}

/** An agent, a clock that moves when told to, and everyone who listens. */
export class World {
  readonly clock: FakeClock;
  readonly agent: Producer;
  readonly warnings: string[] = [];
  /** Hears everything from the start and answers nothing; its stream is checked at the end. */
  witness!: Ear;
  readonly #driver: Driver;
  readonly #ears: Ear[] = [];

  constructor(driver: Driver, options: Partial<ProducerOptions>) {
    this.#driver = driver;
    this.clock = createFakeClock();
    this.agent = createProducer({
      agent_id: "com.example.planner",
      agent_name: "Planner",
      clock: this.clock,
      warn: (sentence) => this.warnings.push(sentence),
      ...options,
    });
  }

  async connect({ resume, capabilities, ...options }: EarOptions = {}): Promise<Ear> {
    const wishes = { ...capabilities, ...(resume ? { earshot: { resume: true } } : {}) } as Capabilities;
    const ear = new Ear(await this.#driver.connect(this.agent, { ...options, capabilities: wishes }), this);
    this.#ears.push(ear);
    await this.settle();
    return ear;
  }

  settle(): Promise<void> {
    return this.#driver.settle(this.clock);
  }
  /** Work that takes time: over when the clock has moved that far. */
  pause(seconds: number): Promise<void> {
    return new Promise((resolve) => this.clock.timer(this.clock.now() + seconds * 1000, resolve));
  }
  async advance(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
    await this.settle();
  }

  /** Every event anybody got is strictly valid, and the witness saw lawful sessions. */
  check(options: CheckOptions = {}): void {
    for (const ear of [...this.#ears, this.witness]) for (const event of ear.events) expectValid(event);
    const found = checkStream(this.witness.events, { stateChain: "exact", ...options });
    expect(found.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
  }
}

export function expectValid(event: unknown): void {
  const parsed = parseValue(event, { mode: "strict", extensions: { [EXTENSION_PREFIX]: EXTENSION_URI } });
  expect(parsed.ok ? [] : parsed.issues, JSON.stringify(event)).toEqual([]);
}

const WITNESS: EarOptions = {
  subscriber_id: "witness",
  principal: { id: "witness", role: "admin", audiences: "all" },
  capabilities: {
    supports_confirmation_reply: false,
    supports_clarification_reply: false,
    earshot: { view_prompts: true },
  } as Capabilities,
};

export async function openWorld(
  options: Partial<ProducerOptions> = {},
  driver: Driver = memoryDriver,
): Promise<World> {
  const world = new World(driver, options);
  world.witness = new Ear(await driver.connect(world.agent, WITNESS), world);
  await world.settle();
  return world;
}

/** Moves from one state to another, as the pairs they are. */
export const moves = (ear: Ear): [string, string][] =>
  ear.all("state.changed").map(({ from_state, to_state }: StateChanged) => [from_state, to_state]);

export const TRANSFER = {
  tool: "transfer_funds",
  summary: "Transferring 500 dollars to savings.",
  risk: "high",
  irreversible: true,
  params: { amount: 500, to: "savings" },
  action: (params: { readonly amount: number; readonly to: string }) =>
    `Transfer ${params.amount} dollars to ${params.to}.`,
  consequence: "The money moves at once and cannot be called back.",
} as const;
