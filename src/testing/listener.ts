/**
 * A scripted listener, for people who test their own agents, above all their gates: a real subscriber over the
 * in-process transport, with a script that answers.
 */
import type { Producer } from "../producer/producer.ts";
import type { Clock } from "../protocol/platform.ts";
import type { Principal } from "../protocol/principal.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  Capabilities,
  CoreEvent,
  OtherMessage,
  StateChanged,
  SubscriptionAccepted,
} from "../protocol/types.ts";
import { type ReplyFields, Subscriber } from "../subscriber/subscriber.ts";
import { createMemoryClient } from "../transports/memory/client.ts";
import { spokenBy } from "./spoken.ts";

/** A question as an agent asks it: yes or no, or in the person's own words. */
export type AnyQuestion = AwaitingConfirmation | AwaitingClarification;

/** Options of a test listener. */
export interface ListenerOptions {
  readonly capabilities?: Capabilities;
  /** The authenticated caller; one local user by default. */
  readonly principal?: Principal;
  readonly subscriber_id?: string;
  /** Answers every yes/no question as soon as it arrives; without it, call `accept` or `reject` yourself. */
  readonly confirm?: (question: AwaitingConfirmation) => "accept" | "reject" | undefined;
  /** Answers every clarification as soon as it arrives. */
  readonly clarify?: (question: AwaitingClarification) => string | boolean | number | undefined;
  /** For the times of replies; the producer's clock, if you gave it one. */
  readonly clock?: Clock;
}

/** A listener for tests: records what it receives, and answers as told. */
export class TestListener {
  /** Everything received, in order, each event once. */
  readonly events: CoreEvent[] = [];
  /** The producer's answer: what it honors of the capabilities. */
  readonly accepted: SubscriptionAccepted;
  /** Why the subscription ended, once it has. */
  closed: string | undefined;
  readonly #subscriber: Subscriber;
  readonly #options: ListenerOptions;

  constructor(producer: Producer, options: ListenerOptions = {}) {
    const { capabilities, principal, subscriber_id = "test-listener", clock } = options;
    this.#options = options;
    const transport = createMemoryClient(producer.port, principal ? { principal } : {});
    this.#subscriber = new Subscriber(transport, {
      ...capabilities,
      subscriber_id,
      ...(clock ? { clock } : {}),
    });
    this.#subscriber.on("event", (event) => this.#receive(event as CoreEvent));
    this.#subscriber.on("closed", ({ code }) => {
      this.closed = code;
    });
    // In this process the producer answers at once; only the events come later.
    this.#subscriber.connect().catch(() => undefined);
    const answer = transport.answer!;
    if (answer.type === "subscription.rejected")
      throw new Error(`The producer rejected the listener: ${answer.reason_message}`);
    this.accepted = answer;
  }

  get id(): string {
    return this.accepted.subscription_id;
  }

  /** The questions received and not known to be settled. */
  get questions(): AnyQuestion[] {
    const open = new Map<string, AnyQuestion>();
    for (const event of this.events) {
      if ("reply_token" in event) open.set(event.reply_token, event);
      const resolved = event.extensions?.["earshot"]?.["resolves"] as { reply_token: string } | undefined;
      if (resolved) open.delete(resolved.reply_token);
      const { from_state, to_state } = event as StateChanged;
      const moved = from_state === "awaiting_input" && to_state !== "awaiting_input";
      if (!moved && !/session\.(?:completed|errored|cancelled)$/.test(event.type)) continue;
      for (const [token, { session_id }] of open) if (session_id === event.session_id) open.delete(token);
    }
    return [...open.values()];
  }

  /** The agent's text so far. */
  get text(): string {
    return this.events
      .map((event) => (event.type === "aaep:agent.output.streaming" ? event.chunk : ""))
      .join("");
  }

  /** What a person would hear, one line per announcement, word for word. */
  get spoken(): string[] {
    return this.events.flatMap(spokenBy);
  }

  /** Each of these resolves with whether the producer accepted the reply. */
  /** `modified_action` changes parameters, which makes it a new question. */
  accept(
    question = this.#first("aaep:agent.awaiting.confirmation"),
    fields: { readonly modified_action?: Readonly<Record<string, unknown>> } = {},
  ): Promise<boolean> {
    return this.#reply(question, { type: "confirmation.reply", decision: "accept", ...fields });
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
    return this.#send({ type: "earshot:more_time", subscription_id: this.id, reply_token });
  }
  /** "What is happening?" The answer arrives as an event. */
  status(session_id?: string): Promise<boolean> {
    const about = session_id ? { session_id } : {};
    return this.#send({ type: "earshot:status", subscription_id: this.id, ...about });
  }
  /** The person stops a session. */
  stop(session_id: string): Promise<boolean> {
    return this.#send({ type: "earshot:cancel", subscription_id: this.id, session_id });
  }
  /** Limits the subscription to these sessions. */
  follow(...sessions: string[]): Promise<boolean> {
    return this.#send({ type: "earshot:follow", subscription_id: this.id, sessions });
  }
  renegotiate(capabilities: Capabilities): Promise<SubscriptionAccepted> {
    return this.#subscriber.renegotiate(capabilities);
  }
  /** Ends the subscription. */
  close(): Promise<void> {
    return this.#subscriber.close();
  }

  #first(type: string): AnyQuestion | undefined {
    return this.questions.find((question) => question.type === type);
  }

  async #reply(
    question: AnyQuestion | undefined,
    fields:
      | Omit<Extract<ReplyFields, { type: "confirmation.reply" }>, "reply_token">
      | Omit<Extract<ReplyFields, { type: "clarification.reply" }>, "reply_token">,
  ): Promise<boolean> {
    if (!question) return false;
    return (await this.#subscriber.reply({ ...fields, reply_token: question.reply_token })) === true;
  }

  async #send(message: OtherMessage): Promise<boolean> {
    return (await this.#subscriber.send(message)).taken === true;
  }

  #receive(event: CoreEvent): void {
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

/** Subscribes to a producer of this process. */
export const listen = (producer: Producer, options?: ListenerOptions): TestListener =>
  new TestListener(producer, options);
