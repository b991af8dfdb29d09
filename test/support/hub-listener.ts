/** A subscriber directly at the hub, for tests of the hub itself: it sees each delivery as it is sent and can send anything. */

import type { Producer } from "../../src/producer/producer.ts";
import { hubOf } from "../../src/producer/producer.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  Capabilities,
  CoreEvent,
  OtherMessage,
  StateChanged,
  SubscriptionAccepted,
} from "../../src/protocol/types.ts";
import { spokenBy } from "../../src/testing/spoken.ts";

type Hub = ReturnType<typeof hubOf>;
type Principal = Parameters<Hub["subscribe"]>[1];
type Subscription = NonNullable<ReturnType<Hub["subscribe"]>["subscription"]>;
type Peer = Parameters<Hub["connect"]>[1];
export type AnyQuestion = AwaitingConfirmation | AwaitingClarification;

const LOCAL: Principal = { id: "local", role: "reply", audiences: "all" };

export interface ListenerOptions {
  readonly capabilities?: Capabilities;
  /** Whom the transport would have authenticated; one local user by default. */
  readonly principal?: Principal;
  readonly subscriber_id?: string;
  readonly transport?: string;
  /** False: a listener that knows AAEP 1.0 and nothing of our extension. */
  readonly extension?: boolean;
  /** False: the subscription is accepted, its stream not opened; call `connect` yourself. */
  readonly connect?: boolean;
  /** Answers every yes/no question the moment it is heard; without it, you answer yourself. */
  readonly confirm?: (question: AwaitingConfirmation) => "accept" | "reject" | undefined;
  readonly clarify?: (question: AwaitingClarification) => string | boolean | number | undefined;
}

export class HubListener {
  /** Everything heard, in order. */
  readonly events: CoreEvent[] = [];
  readonly messages: OtherMessage[] = [];
  readonly accepted: SubscriptionAccepted;
  readonly subscription: Subscription;
  /** Why the connection was closed, once it was. */
  closed: string | undefined;
  /** The last event that is a place to go on from. */
  lastEventId: string | undefined;
  readonly #hub: Hub;
  readonly #options: ListenerOptions;
  readonly #principal: Principal;
  #peer: Peer | undefined;

  constructor(producer: Producer, options: ListenerOptions = {}) {
    this.#hub = hubOf(producer);
    this.#options = options;
    this.#principal = options.principal ?? LOCAL;
    const subscribed = this.#hub.subscribe(
      {
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: options.subscriber_id ?? "test-listener",
        capabilities: {
          supports_confirmation_reply: true,
          supports_clarification_reply: true,
          supported_conformance_levels: [1, 2, 3],
          ...(options.extension === false ? {} : { supported_extensions: [EXTENSION_URI] }),
          ...options.capabilities,
        },
      },
      this.#principal,
      options.transport ?? "memory",
    );
    if (!subscribed.subscription) {
      throw new Error(`The producer rejected the listener: ${subscribed.answer.reason_message}`);
    }
    this.accepted = subscribed.answer;
    this.subscription = subscribed.subscription;
    if (options.connect !== false) this.connect();
  }

  get id(): string {
    return this.subscription.id;
  }

  /** Connects, or connects again after the given event. */
  connect(lastEventId?: string): void {
    this.closed = undefined;
    const peer: Peer = {
      send: ({ json, event_id, cursor }) => {
        if (peer !== this.#peer) return undefined;
        if (cursor) this.lastEventId = event_id;
        this.#hear(JSON.parse(json));
        return undefined;
      },
      tell: (message) => void this.messages.push(message),
      close: (reason) => {
        if (peer === this.#peer) this.closed = reason;
      },
    };
    this.#peer = peer;
    this.#hub.connect(this.subscription, peer, lastEventId);
  }

  /** The connection is lost without a close message. */
  drop(): void {
    const peer = this.#peer;
    this.#peer = undefined;
    if (peer) this.#hub.disconnect(this.subscription, peer);
  }

  close(): void {
    void this.send({
      type: "subscription.close",
      subscription_id: this.id,
      reason_code: "subscriber_shutdown",
    });
  }

  renegotiate(capabilities: Capabilities): ReturnType<Hub["handle"]> {
    return this.send({ type: "subscription.renegotiate", subscription_id: this.id, capabilities });
  }

  /** Sends anything a listener may send; says whether it was taken, or what was answered. */
  send(message: Parameters<Hub["handle"]>[0], principal = this.#principal): ReturnType<Hub["handle"]> {
    return this.#hub.handle(message, principal);
  }

  /** The questions heard and not known to be settled. */
  get questions(): AnyQuestion[] {
    const open = new Map<string, AnyQuestion>();
    for (const event of this.events) {
      if ("reply_token" in event) open.set(event.reply_token, event);
      const resolved = event.extensions?.["earshot"]?.["resolves"] as { reply_token: string } | undefined;
      if (resolved) open.delete(resolved.reply_token);
      // Without our extension, leaving awaiting_input or the session's end is all there is (CON-13).
      const { from_state, to_state } = event as StateChanged;
      const moved = from_state === "awaiting_input" && to_state !== "awaiting_input";
      if (!moved && !/session\.(?:completed|errored|cancelled)$/.test(event.type)) continue;
      for (const [token, { session_id }] of open) if (session_id === event.session_id) open.delete(token);
    }
    return [...open.values()];
  }

  accept(question = this.#first("aaep:agent.awaiting.confirmation"), extra: object = {}): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "accept", ...extra });
  }
  reject(question = this.#first("aaep:agent.awaiting.confirmation")): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "reject" });
  }
  answer(
    response: string | boolean | number,
    question = this.#first("aaep:agent.awaiting.clarification"),
  ): Promise<boolean> {
    return this.#reply(question, { type: "clarification.reply", response });
  }
  async moreTime(question = this.questions[0]): Promise<boolean> {
    if (!question) return false;
    const { reply_token } = question;
    return this.#taken(this.send({ type: "earshot:more_time", subscription_id: this.id, reply_token }));
  }
  /** "What is happening?" */
  status(session_id?: string): Promise<boolean> {
    return this.#taken(
      this.send({ type: "earshot:status", subscription_id: this.id, ...(session_id ? { session_id } : {}) }),
    );
  }
  /** A person wants a session stopped. */
  stop(session_id: string): Promise<boolean> {
    return this.#taken(this.send({ type: "earshot:cancel", subscription_id: this.id, session_id }));
  }
  follow(...sessions: string[]): Promise<boolean> {
    return this.#taken(this.send({ type: "earshot:follow", subscription_id: this.id, sessions }));
  }

  /** The agent's words, as this listener got them. */
  get text(): string {
    return this.events
      .map((event) => (event.type === "aaep:agent.output.streaming" ? event.chunk : ""))
      .join("");
  }

  /** What a person would hear, one line for each thing said, word for word. */
  get spoken(): string[] {
    return this.events.flatMap(spokenBy);
  }

  #first(type: string): AnyQuestion | undefined {
    return this.questions.find((question) => question.type === type);
  }

  async #reply(question: AnyQuestion | undefined, fields: object): Promise<boolean> {
    if (!question) return false;
    const { reply_token, timestamp } = question;
    const reply = { reply_token, subscription_id: this.id, timestamp, ...fields };
    return this.#taken(this.send(reply as Parameters<Hub["handle"]>[0]));
  }

  async #taken(handling: ReturnType<Hub["handle"]>): Promise<boolean> {
    const handled = await handling;
    return "taken" in handled && handled.taken;
  }

  #hear(event: CoreEvent): void {
    this.events.push(event);
    if (event.type === "aaep:agent.awaiting.confirmation") {
      const decision = this.#options.confirm?.(event);
      if (decision) void this.#reply(event, { type: "confirmation.reply", decision });
    } else if (event.type === "aaep:agent.awaiting.clarification") {
      const response = this.#options.clarify?.(event);
      if (response !== undefined) void this.#reply(event, { type: "clarification.reply", response });
    }
  }
}

export const listen = (producer: Producer, options?: ListenerOptions): HubListener =>
  new HubListener(producer, options);
