/** A listener that follows a script: for people who test their own agents, above all their gates. */
import type { Producer } from "../producer/producer.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  Capabilities,
  CoreEvent,
  OtherMessage,
  SubscriptionAccepted,
} from "../protocol/types.ts";

type Hub = Producer["hub"];
type Principal = Parameters<Hub["subscribe"]>[1];
type Subscription = NonNullable<ReturnType<Hub["subscribe"]>["subscription"]>;

const LOCAL: Principal = { id: "local", role: "reply", audiences: "all" };

export interface ListenerOptions {
  readonly capabilities?: Capabilities;
  readonly principal?: Principal;
  readonly subscriber_id?: string;
  readonly transport?: string;
  /** Answers every yes/no question the moment it is heard; without it, you answer yourself. */
  readonly confirm?: (question: AwaitingConfirmation) => "accept" | "reject" | undefined;
  readonly clarify?: (question: AwaitingClarification) => string | boolean | number | undefined;
}

export class TestListener {
  /** Everything heard, in order. */
  readonly events: CoreEvent[] = [];
  readonly messages: OtherMessage[] = [];
  readonly accepted: SubscriptionAccepted;
  readonly subscription: Subscription;
  /** Why the line was closed, once it was. */
  closed: string | undefined;
  readonly #hub: Hub;
  readonly #options: ListenerOptions;
  readonly #principal: Principal;
  #peer: Parameters<Hub["connect"]>[1] | undefined;

  constructor(producer: Producer, options: ListenerOptions = {}) {
    this.#hub = producer.hub;
    this.#options = options;
    this.#principal = options.principal ?? LOCAL;
    const subscribed = this.#hub.subscribe(
      {
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: options.subscriber_id ?? "test-listener",
        capabilities: { supports_confirmation_reply: true, supports_clarification_reply: true, supported_conformance_levels: [1, 2, 3], ...options.capabilities },
      },
      this.#principal,
      options.transport ?? "memory",
    );
    if (!subscribed.subscription) throw new Error(`The producer rejected the listener: ${subscribed.answer.reason_message}`);
    this.accepted = subscribed.answer;
    this.subscription = subscribed.subscription;
    this.connect();
  }

  get id(): string {
    return this.subscription.id;
  }

  /** Connects, or connects again after the given event. */
  connect(lastEventId?: string): void {
    this.closed = undefined;
    const peer: Parameters<Hub["connect"]>[1] = {
      send: ({ json }) => {
        if (peer === this.#peer) this.#hear(JSON.parse(json));
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

  /** The line drops without a word. */
  drop(): void {
    const peer = this.#peer;
    this.#peer = undefined;
    if (peer) this.#hub.disconnect(this.subscription, peer);
  }

  close(): void {
    this.send({ type: "subscription.close", subscription_id: this.id, reason_code: "subscriber_shutdown" });
  }

  /** Sends anything a listener may send; says whether it was taken, or what was answered. */
  send(message: Parameters<Hub["handle"]>[0], principal = this.#principal): ReturnType<Hub["handle"]> {
    return this.#hub.handle(message, principal);
  }

  /** The questions heard and not known to be settled. */
  get questions(): (AwaitingConfirmation | AwaitingClarification)[] {
    const settled = new Set(
      this.events.map((event) => (event.extensions?.["earshot"]?.["resolves"] as { reply_token?: string } | undefined)?.reply_token),
    );
    const seen = new Set<string>();
    return this.events.filter((event): event is AwaitingConfirmation | AwaitingClarification => {
      const token = (event as AwaitingConfirmation).reply_token;
      if (token === undefined || settled.has(token) || seen.has(token)) return false;
      seen.add(token);
      return true;
    });
  }

  accept(question = this.#first("aaep:agent.awaiting.confirmation"), extra: object = {}): boolean {
    return this.#reply(question, { type: "confirmation.reply", decision: "accept", ...extra });
  }
  reject(question = this.#first("aaep:agent.awaiting.confirmation")): boolean {
    return this.#reply(question, { type: "confirmation.reply", decision: "reject" });
  }
  answer(response: string | boolean | number, question = this.#first("aaep:agent.awaiting.clarification")): boolean {
    return this.#reply(question, { type: "clarification.reply", response });
  }
  moreTime(question = this.questions[0]): boolean {
    const handled = this.send({ type: "earshot:more_time", subscription_id: this.id, reply_token: question?.reply_token ?? "" });
    return "taken" in handled && handled.taken;
  }

  /** The agent's words, as this listener got them. */
  get text(): string {
    return this.events.map((event) => (event.type === "aaep:agent.output.streaming" ? event.chunk : "")).join("");
  }

  #first(type: string): AwaitingConfirmation | AwaitingClarification | undefined {
    return this.questions.find((question) => question.type === type);
  }

  #reply(question: AwaitingConfirmation | AwaitingClarification | undefined, fields: object): boolean {
    if (!question) return false;
    const reply = { reply_token: question.reply_token, subscription_id: this.id, timestamp: question.timestamp, ...fields };
    const handled = this.send(reply as Parameters<Hub["handle"]>[0]);
    return "taken" in handled && handled.taken;
  }

  #hear(event: CoreEvent): void {
    this.events.push(event);
    if (event.type === "aaep:agent.awaiting.confirmation") {
      const decision = this.#options.confirm?.(event);
      if (decision) this.#reply(event, { type: "confirmation.reply", decision });
    } else if (event.type === "aaep:agent.awaiting.clarification") {
      const response = this.#options.clarify?.(event);
      if (response !== undefined) this.#reply(event, { type: "clarification.reply", response });
    }
  }
}

export const listen = (producer: Producer, options?: ListenerOptions): TestListener => new TestListener(producer, options);
