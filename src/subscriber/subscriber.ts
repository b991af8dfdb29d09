/**
 * One subscription: iterate its events, answer its questions. It reconnects with backoff and resumes, so that every
 * event comes out once and in order, with a notice where something is missing.
 */

import { closeReason } from "../protocol/close-reasons.ts";
import { EarshotError, type Issue, ProtocolError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, EXTENSION_URI, type ResumePoint } from "../protocol/extension.ts";
import { createStreamParser } from "../protocol/parse.ts";
import { type Clock, systemClock } from "../protocol/platform.ts";
import {
  AAEP_VERSION,
  type AgentEvent,
  type AwaitingClarification,
  type AwaitingConfirmation,
  type Capabilities,
  type OtherMessage,
  type SubscriptionAccepted,
  type SubscriptionClose,
  type SubscriptionRequest,
} from "../protocol/types.ts";
import type {
  ClientConnection,
  ClientTransport,
  ConnectionClosed,
  ConnectionError,
  Sent,
} from "../transports/client-connection.ts";
import type { Outgoing } from "./announcer.ts";
import { Deduplicator } from "./deduplicate.ts";

export interface SubscribeOptions extends Capabilities {
  /** Stable name of your software. */
  readonly subscriber_id?: string;
  readonly subscriber_name?: string;
  /** Reconnect when the connection is lost; true by default. */
  readonly reconnect?: boolean;
  /** Continue a subscription that another process or tab has released, after its last event. */
  readonly resume?: ResumePoint;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly signal?: AbortSignal;
}

/** A yes/no question of an agent, with the calls that answer it. */
export interface ConfirmationAsk {
  readonly event: AwaitingConfirmation;
  /**
   * Resolves with true if the producer accepted the reply, with undefined where the transport cannot tell. While the
   * agent cannot be reached, the reply is sent again until the question's timeout.
   */
  accept(): Promise<boolean | undefined>;
  reject(): Promise<boolean | undefined>;
}

/** An open question of an agent, with the call that answers it. */
export interface ClarificationAsk {
  readonly event: AwaitingClarification;
  answer(response: string | boolean | number): Promise<boolean | undefined>;
}

/** A reply without the fields every reply has: subscription and time. The token is returned as it came (CNF-09). */
export type ReplyFields =
  | {
      readonly type: "confirmation.reply";
      readonly reply_token: string;
      readonly decision: "accept" | "reject";
      readonly decided_by?: string;
    }
  | {
      readonly type: "clarification.reply";
      readonly reply_token: string;
      readonly response: string | boolean | number;
    };

/** The events of a `Subscriber`, by name, for `on`. */
export interface SubscriberEvents {
  event: AgentEvent;
  confirmation: ConfirmationAsk;
  clarification: ClarificationAsk;
  /** Something is missing, and the producer said so. */
  gap: { readonly reason: string; readonly session_id: string };
  /** The connection was lost or restored; `connecting`: an attempt of `connect({ retry: true })` failed. */
  connection: { readonly state: "connecting" | "connected" | "lost"; readonly message: string };
  /** A message that could not be read; it was skipped. */
  violation: { readonly issues: readonly Issue[]; readonly type: string | undefined };
  closed: { readonly code: string; readonly message: string };
}

/** The producer rejected the request. */
class Rejected extends ProtocolError {
  readonly retry_after_seconds: number | undefined;
  constructor(code: string, message: string, retry_after_seconds: number | undefined) {
    super(code, message);
    this.retry_after_seconds = retry_after_seconds;
  }
}

type Handler<Name extends keyof SubscriberEvents> = (value: SubscriberEvents[Name]) => void;

const OWN_OPTIONS = new Set([
  "subscriber_id",
  "subscriber_name",
  "reconnect",
  "resume",
  "clock",
  "random",
  "signal",
]);
/** Events that may wait for an iterator; beyond this the oldest is dropped, with a `gap` event. */
const MOST_WAITING = 10_000;
/** How many replies with an unknown outcome are kept. */
const MOST_UNACKNOWLEDGED = 64;
const REPLY_UNKNOWN =
  "The agent could not be reached in time, so it is not known whether it has your answer. Listen for what it says of the question when it is back; if it asks again, answer again.";
/** A connection that lasted this long resets the backoff, even if nothing was received on it. */
const STABLE_MS = 30_000;
/** How long `close` tries to reconnect in order to end the subscription. */
const CLOSE_MS = 2_000;

/** A subscription to an agent: iterate over its events, answer its questions, close it. */
export class Subscriber implements AsyncIterable<AgentEvent> {
  readonly #transport: ClientTransport;
  readonly #options: SubscribeOptions;
  readonly #clock: Clock;
  readonly #received = new Deduplicator();
  readonly #read = createStreamParser();
  readonly #handlers = new Map<keyof SubscriberEvents, Set<Handler<never>>>();
  readonly #queue = new EventQueue<AgentEvent>({
    most: MOST_WAITING,
    requested: () => this.#handlersReady(),
    dropped: ({ session_id }) => this.#emit("gap", { reason: "not_read", session_id }),
  });
  /** Replies with an unknown outcome, by token: sent again if the question is asked again. */
  readonly #unacknowledged = new Map<string, ReplyFields & { readonly timestamp: string }>();
  /** Calls that wait for a connection. */
  readonly #waiting = new Set<{
    resolve(connection: ClientConnection): void;
    reject(error: Error): void;
  }>();
  #request: SubscriptionRequest;
  #connection: ClientConnection | undefined;
  #accepted: SubscriptionAccepted | undefined;
  /** Messages received before there was a handler or iterator, e.g. a question that was open already. */
  #early: [text: string, cursor: boolean][] | undefined = [];
  #connecting: Promise<void> | undefined;
  #retriesConnect = false;
  #released = false;
  #ended = false;
  /** Attempts since an event arrived or a connection proved stable: one that is accepted and dropped at once is no success. */
  #attempt = 0;
  #openedAt = 0;
  #cancelRetry: (() => void) | undefined;

  constructor(transport: ClientTransport, options: SubscribeOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#received.cursor = options.resume?.last_event_id;
    const asked = Object.fromEntries(
      Object.entries(options).filter(([key, value]) => !OWN_OPTIONS.has(key) && value !== undefined),
    ) as Capabilities;
    this.#request = {
      type: "subscription.request",
      aaep_version: AAEP_VERSION,
      subscriber_id: options.subscriber_id ?? "earshot",
      ...(options.subscriber_name === undefined ? {} : { subscriber_name: options.subscriber_name }),
      capabilities: {
        supports_confirmation_reply: true,
        supports_clarification_reply: true,
        supported_conformance_levels: [1, 2, 3],
        ...asked,
        supported_extensions: [...new Set([EXTENSION_URI, ...(asked.supported_extensions ?? [])])],
        [EXTENSION_PREFIX]: { resume: true, ...(asked[EXTENSION_PREFIX] as object | undefined) },
      },
    };
    options.signal?.addEventListener("abort", () => void this.close(), { once: true });
  }

  get accepted(): SubscriptionAccepted {
    if (!this.#accepted)
      throw new EarshotError("not_connected", "The subscription has not been accepted yet.");
    return this.#accepted;
  }
  get id(): string {
    return this.accepted.subscription_id;
  }
  /** The last event that can be resumed from: what another process needs to continue this subscription. */
  get cursor(): string | undefined {
    return this.#received.cursor;
  }

  /** Resolves once the producer has accepted. `retry`: with backoff, for as long as trying again makes sense. */
  async connect({ retry = false }: { readonly retry?: boolean } = {}): Promise<this> {
    this.#retriesConnect = retry;
    try {
      await this.#connect();
    } catch (error) {
      if (!retry) throw error;
      this.#attemptFailed(error);
      await this.#whenConnected();
    }
    return this;
  }

  on<Name extends keyof SubscriberEvents>(name: Name, handler: Handler<Name>): () => void {
    const handlers = this.#handlers.get(name) ?? new Set();
    handlers.add(handler as Handler<never>);
    this.#handlers.set(name, handlers);
    // After this turn, so that handlers that are added together receive the same events.
    if (this.#early) queueMicrotask(() => this.#handlersReady());
    return () => void handlers.delete(handler as Handler<never>);
  }

  /** Changes the named capabilities only (5.7). */
  async renegotiate(capabilities: Capabilities): Promise<SubscriptionAccepted> {
    const { answer } = await this.send({
      type: "subscription.renegotiate",
      subscription_id: this.id,
      capabilities,
    });
    if (answer?.type === "subscription.rejected") {
      this.#end("rejected", answer.reason_message);
      throw new ProtocolError(answer.reason_code, answer.reason_message);
    }
    this.#request = { ...this.#request, capabilities: { ...this.#request.capabilities, ...capabilities } };
    if (answer) this.#accepted = answer;
    return this.accepted;
  }

  /** Sends any message, e.g. one of the extension. Waits for the connection while it is being restored. */
  async send(message: OtherMessage): Promise<Sent> {
    return (await this.#whenConnected()).send(message);
  }

  /**
   * Replies to a question by its token. Resolves with true if the producer accepted the reply, with false if it
   * refused it (too late, already answered, not entitled), with undefined where nobody can tell: only SSE and the
   * in-process transport report a verdict. While the agent cannot be reached, the reply is sent again with
   * backoff for as long as `keepTrying` says so; replies are idempotent, since a token counts once.
   */
  async reply(
    fields: ReplyFields,
    keepTrying: (at: number) => boolean = () => true,
  ): Promise<boolean | undefined> {
    const reply = { ...fields, timestamp: this.#clock.timestamp() };
    // An earlier reply to the same question is replaced and must not be sent again.
    this.#unacknowledged.delete(fields.reply_token);
    for (let attempt = 0; ; attempt++) {
      try {
        const connection = await this.#whenConnected();
        const { taken } = await connection.send(this.#addressed(reply));
        if (taken === undefined) this.#rememberReply(reply);
        // An earlier attempt may have arrived, and a token counts once: then a no to this attempt proves nothing.
        return attempt > 0 && taken === false ? undefined : taken;
      } catch (error) {
        if (this.#ended || (error as Partial<ConnectionError>).reconnect !== true) throw error;
        const at = this.#clock.now() + backoff(attempt, this.#options.random ?? Math.random);
        if (!keepTrying(at)) {
          this.#rememberReply(reply);
          throw new EarshotError("agent_unreachable", REPLY_UNKNOWN, { cause: error });
        }
        await new Promise<void>((resolve) => this.#clock.timer(at, resolve));
      }
    }
  }

  /** Ends the subscription and tells the producer. */
  async close(): Promise<void> {
    if (this.#ended) return;
    const connection = this.#connection;
    this.#end("subscriber_closed", "You ended the subscription.");
    if (connection) return this.#unsubscribe(connection);
    if (!this.#accepted) return;
    // Not connected: a producer that does not learn of it would keep asking a listener that has left.
    await Promise.race([
      (this.#connecting ?? this.#connect()).catch(() => undefined),
      new Promise<void>((resolve) => this.#clock.timer(this.#clock.now() + CLOSE_MS, resolve)),
    ]);
  }

  /**
   * Closes the connection and keeps the subscription, so that another process or tab can continue it: give it the
   * result as `resume`.
   */
  release(): ResumePoint | undefined {
    const point = this.#resumePoint;
    this.#released = true;
    const connection = this.#connection;
    this.#end("released", "The subscription was released.");
    connection?.close();
    return point;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<AgentEvent> {
    return this.#queue.iterate();
  }

  get #resumePoint(): ResumePoint | undefined {
    return this.#accepted
      ? { subscription_id: this.#accepted.subscription_id, last_event_id: this.#received.cursor }
      : this.#options.resume;
  }

  #connect(): Promise<void> {
    this.#connecting = this.#openConnection().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #openConnection(): Promise<void> {
    this.#received.reconnected();
    // Messages may arrive, and the connection may drop, before `open` resolves: they wait, since an answer to a
    // question among them could not be sent yet.
    let early: (() => void)[] | undefined = [];
    const inTurn = (job: () => void) => (early ? void early.push(job) : job());
    const connection = await this.#transport.open(this.#request, this.#resumePoint, {
      message: (text, cursor) => inTurn(() => this.#connection === connection && this.#receive(text, cursor)),
      closed: (reason) => inTurn(() => this.#connection === connection && this.#lost(reason)),
    });
    const { answer } = connection;
    if (answer.type === "subscription.rejected") {
      connection.close();
      throw new Rejected(answer.reason_code, answer.reason_message, answer.retry_after_seconds);
    }
    if (this.#released) return connection.close();
    this.#accepted = answer;
    if (this.#ended) return this.#unsubscribe(connection);
    this.#connection = connection;
    this.#openedAt = this.#clock.now();
    this.#emit("connection", { state: "connected", message: "Connected." });
    for (const { resolve } of this.#waiting) resolve(connection);
    this.#waiting.clear();
    const jobs = early;
    early = undefined;
    for (const job of jobs) job();
  }

  #lost(reason: ConnectionClosed): void {
    this.#connection = undefined;
    if (this.#ended) return;
    if (this.#clock.now() - this.#openedAt >= STABLE_MS) this.#attempt = 0;
    this.#emit("connection", { state: "lost", message: reason.message });
    if (reason.reconnect && this.#options.reconnect !== false) this.#reconnectLater();
    else this.#end(reason.code, reason.message);
  }

  #reconnectLater(leastSeconds = 0): void {
    if (this.#ended) return;
    const wait = leastSeconds * 1000 + backoff(this.#attempt++, this.#options.random ?? Math.random);
    this.#cancelRetry = this.#clock.timer(this.#clock.now() + wait, () => {
      this.#connect().catch((error: unknown) => this.#attemptFailed(error));
    });
  }

  #attemptFailed(error: unknown): void {
    if (this.#ended) return;
    const { code = "unreachable", message, reconnect } = error as Partial<ConnectionError> & Error;
    const limited = error instanceof Rejected && error.code === "rate_limit";
    // An error of unknown cause may pass once the producer was reached before; at first it is rather a mistake.
    const retry = limited || (!(error instanceof Rejected) && (reconnect ?? this.#accepted !== undefined));
    if (!retry) return this.#end(code, message);
    if (!this.#accepted) this.#emit("connection", { state: "connecting", message });
    this.#reconnectLater(limited ? error.retry_after_seconds : 0);
  }

  #receive(text: string, cursor: boolean): void {
    if (!this.#early) return this.#handle(text, cursor);
    this.#early.push([text, cursor]);
    if (this.#early.length > MOST_WAITING) this.#handlersReady();
  }

  #handlersReady(): void {
    const early = this.#early;
    if (!early) return;
    this.#early = undefined;
    for (const [text, cursor] of early) this.#handle(text, cursor);
  }

  #handle(text: string, cursor: boolean): void {
    const parsed = this.#read(text);
    if (!parsed.ok) return this.#emit("violation", { issues: parsed.issues, type: parsed.type });
    if (parsed.kind === "message") {
      if (parsed.message.type === "subscription.close") this.#closedBy(parsed.message);
      return;
    }
    this.#resendReply(parsed.message);
    const event = this.#received.take(parsed.message, cursor);
    if (!event) return;
    if (cursor) this.#attempt = 0;
    const gap = event.extensions?.["earshot"]?.["gap"] as { reason?: string } | undefined;
    if (gap) this.#emit("gap", { reason: String(gap.reason), session_id: event.session_id });
    this.#queue.put(event);
    this.#emit("event", event);
    if (event.type === "aaep:agent.awaiting.confirmation") this.#confirmation(event as AwaitingConfirmation);
    else if (event.type === "aaep:agent.awaiting.clarification")
      this.#clarification(event as AwaitingClarification);
  }

  /** A restart, or a subscriber that was too slow, is no reason to end: the close-reason table decides (HS-19). */
  #closedBy({ reason_code, reason_message }: SubscriptionClose): void {
    const { reconnect, sentence } = closeReason(reason_code);
    const connection = this.#connection;
    const message = reason_message ?? sentence;
    if (reconnect) this.#lost({ code: reason_code, reconnect, message });
    else this.#end(reason_code, message);
    connection?.close();
  }

  #confirmation(event: AwaitingConfirmation): void {
    if (!this.#handlers.has("confirmation")) return;
    const { reply_token, timeout_seconds } = event;
    const decide = (decision: "accept" | "reject") =>
      this.reply({ type: "confirmation.reply", reply_token, decision }, this.#within(timeout_seconds));
    this.#emit("confirmation", { event, accept: () => decide("accept"), reject: () => decide("reject") });
  }

  #clarification(event: AwaitingClarification): void {
    if (!this.#handlers.has("clarification")) return;
    const { reply_token, timeout_seconds } = event;
    const answer = (response: string | boolean | number) =>
      this.reply({ type: "clarification.reply", reply_token, response }, this.#within(timeout_seconds));
    this.#emit("clarification", { event, answer });
  }

  #within(seconds: number): (at: number) => boolean {
    const until = this.#clock.now() + seconds * 1000;
    return (at) => at < until;
  }

  /** A question that is asked again although it was answered: the reply was lost with the connection. */
  #resendReply(event: AgentEvent): void {
    const token = (event as { reply_token?: unknown }).reply_token;
    const reply = typeof token === "string" ? this.#unacknowledged.get(token) : undefined;
    if (reply) void this.#connection?.send(this.#addressed(reply)).catch(() => undefined);
  }

  #rememberReply(reply: ReplyFields & { readonly timestamp: string }): void {
    this.#unacknowledged.set(reply.reply_token, reply);
    if (this.#unacknowledged.size > MOST_UNACKNOWLEDGED)
      this.#unacknowledged.delete(this.#unacknowledged.keys().next().value!);
  }

  #addressed(reply: ReplyFields & { readonly timestamp: string }): OtherMessage {
    return { ...reply, subscription_id: this.id };
  }

  /** Waits while the connection is being restored: what a person answered meanwhile is not lost. */
  async #whenConnected(): Promise<ClientConnection> {
    if (this.#ended || !(this.#accepted || this.#retriesConnect))
      throw new EarshotError("not_connected", "The subscription has ended, or was never accepted.");
    return this.#connection ?? new Promise((resolve, reject) => void this.#waiting.add({ resolve, reject }));
  }

  async #unsubscribe(connection: ClientConnection): Promise<void> {
    const { subscription_id } = this.accepted;
    await connection
      .send({ type: "subscription.close", subscription_id, reason_code: "subscriber_shutdown" })
      .catch(() => undefined);
    connection.close();
  }

  #emit<Name extends keyof SubscriberEvents>(name: Name, value: SubscriberEvents[Name]): void {
    const handlers = this.#handlers.get(name);
    if (!handlers) return;
    for (const handler of handlers) {
      // An error in one handler must not keep the event from the others.
      try {
        (handler as Handler<Name>)(value);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #end(code: string, message: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelRetry?.();
    this.#queue.end();
    for (const { reject } of this.#waiting) reject(new EarshotError("not_connected", message));
    this.#waiting.clear();
    this.#emit("closed", { code, message });
  }
}

/** Sends a person's answer as the announcer decided it. True if the agent accepted it, undefined where nobody can tell. */
export async function sendReply(
  subscriber: Subscriber,
  message: Outgoing,
  isOpen: (reply_token: string) => boolean,
): Promise<boolean | undefined> {
  const { reply_token } = message;
  const keepTrying = () => isOpen(reply_token);
  switch (message.do) {
    case "more_time": {
      const subscription_id = subscriber.id;
      return (await subscriber.send({ type: "earshot:more_time", subscription_id, reply_token })).taken;
    }
    case "answer": {
      const { response } = message;
      return subscriber.reply({ type: "clarification.reply", reply_token, response }, keepTrying);
    }
    case "confirm": {
      const { decision, decided_by } = message;
      const reason = decided_by === undefined ? {} : { decided_by };
      return subscriber.reply({ type: "confirmation.reply", reply_token, decision, ...reason }, keepTrying);
    }
  }
}

/** Exponential backoff with full jitter, so that many subscribers do not reconnect at the same time (F16). */
export const backoff = (attempt: number, random: () => number, first = 250, most = 30_000): number =>
  random() * Math.min(most, first * 2 ** Math.min(attempt, 20));

interface EventQueueOptions<Item> {
  /** How many items may wait; beyond this the oldest is dropped. */
  readonly most: number;
  /** Called whenever an iterator asks for an item. */
  readonly requested: () => void;
  /** An item was dropped unread while somebody iterates. */
  readonly dropped: (item: Item) => void;
}

type Waiter<Item> = (result: IteratorResult<Item>) => void;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/** A bounded queue between the connection and `for await`; written by hand, since a generator delays every token. */
class EventQueue<Item> {
  readonly #options: EventQueueOptions<Item>;
  readonly #queue: Item[] = [];
  /** Waiting calls of next(), first come first served; while there are any, the queue is empty. */
  readonly #waiters = new Set<Waiter<Item>>();
  #iterating = false;
  #ended = false;

  constructor(options: EventQueueOptions<Item>) {
    this.#options = options;
  }

  put(item: Item): void {
    if (this.#waiters.size > 0)
      for (const deliver of this.#waiters) return deliver({ value: item, done: false });
    if (this.#queue.length >= this.#options.most) {
      const oldest = this.#queue.shift()!;
      if (this.#iterating) this.#options.dropped(oldest);
    }
    this.#queue.push(item);
  }

  /** No more items follow; those in the queue can still be read. */
  end(): void {
    this.#ended = true;
    for (const deliver of this.#waiters) deliver(DONE);
  }

  iterate(): AsyncIterableIterator<Item> {
    const own = new Set<Waiter<Item>>();
    let over = false;
    const stop = (): Promise<IteratorResult<Item>> => {
      over = true;
      this.#iterating = false;
      for (const deliver of own) deliver(DONE);
      return Promise.resolve(DONE);
    };
    const next = (): Promise<IteratorResult<Item>> => {
      if (over) return Promise.resolve(DONE);
      this.#iterating = true;
      this.#options.requested();
      if (this.#queue.length > 0) return Promise.resolve({ value: this.#queue.shift()!, done: false });
      if (this.#ended) return stop();
      return new Promise((resolve) => {
        const deliver: Waiter<Item> = (result) => {
          own.delete(deliver);
          this.#waiters.delete(deliver);
          resolve(result);
        };
        own.add(deliver);
        this.#waiters.add(deliver);
      });
    };
    const iterator = { next, return: stop, [Symbol.asyncIterator]: () => iterator };
    return iterator;
  }
}
