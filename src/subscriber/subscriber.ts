/**
 * What an assistive technology's author touches: subscribe, iterate, answer. Lines drop and come back underneath; what
 * comes out is every event once, in order, and a notice where something is missing.
 */
import type { Clock } from "../protocol/clock.ts";
import { systemClock } from "../protocol/clock.ts";
import { closeReason } from "../protocol/close-reasons.ts";
import { EarshotError, type Issue, ProtocolError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../protocol/extension.ts";
import { createReader } from "../protocol/reader.ts";
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
import {
  type ClarificationAsk,
  type ConfirmationAsk,
  clarificationAsk,
  confirmationAsk,
  type ReplyFields,
} from "./asks.ts";
import { Mailbox } from "./mailbox.ts";
import { backoff, Memory } from "./resume.ts";

export interface SubscribeOptions extends Capabilities {
  /** Stable name of your software. */
  readonly subscriber_id?: string;
  readonly subscriber_name?: string;
  /** Come back by yourself when the line drops; true by default. */
  readonly reconnect?: boolean;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly signal?: AbortSignal;
}

export interface SubscriberEvents {
  event: AgentEvent;
  confirmation: ConfirmationAsk;
  clarification: ClarificationAsk;
  /** Something is missing, and the producer said so. */
  gap: { readonly reason: string; readonly session_id: string };
  /** The line dropped or came back. */
  line: { readonly state: "connected" | "lost"; readonly message: string };
  /** A message that could not be read; it was passed over. */
  violation: { readonly issues: readonly Issue[]; readonly type: string | undefined };
  closed: { readonly code: string; readonly message: string };
}

/** The producer's no to a request. */
class Rejected extends ProtocolError {
  readonly retry_after_seconds: number | undefined;
  constructor(code: string, message: string, retry_after_seconds: number | undefined) {
    super(code, message);
    this.retry_after_seconds = retry_after_seconds;
  }
}

type Handler<Name extends keyof SubscriberEvents> = (value: SubscriberEvents[Name]) => void;

const OWN_OPTIONS = new Set(["subscriber_id", "subscriber_name", "reconnect", "clock", "random", "signal"]);
/** Events waiting for an iterator; beyond this the oldest goes, and whoever iterates is told of the gap. */
const MOST_WAITING = 10_000;
/** Answers that may have been lost on the way, kept until the producer is known to have them. */
const MOST_ANSWERS = 64;
const NOT_THROUGH =
  "The agent could not be reached in time, so it is not known whether it has your answer. Listen for what it says of the question when it is back; if it asks again, answer again.";
/** A line that lasted so long was a good one, also if nothing was said on it. */
const HELD_MS = 30_000;
/** How long a goodbye over a line that is down is tried for: whoever leaves does not want to wait. */
const GOODBYE_MS = 2_000;

export class Subscriber implements AsyncIterable<AgentEvent> {
  readonly #transport: ClientTransport;
  readonly #options: SubscribeOptions;
  readonly #clock: Clock;
  readonly #memory = new Memory();
  readonly #read = createReader();
  readonly #handlers = new Map<keyof SubscriberEvents, Set<Handler<never>>>();
  readonly #mailbox = new Mailbox<AgentEvent>({
    most: MOST_WAITING,
    asked: () => this.#listened(),
    lost: ({ session_id }) => this.#emit("gap", { reason: "not_read", session_id }),
  });
  /** Answers sent over a line that cannot say whether they arrived, by token. */
  readonly #answers = new Map<string, OtherMessage>();
  readonly #waiting = new Set<{ resolve(line: ClientConnection): void; reject(error: Error): void }>();
  #request: SubscriptionRequest;
  #line: ClientConnection | undefined;
  #accepted: SubscriptionAccepted | undefined;
  /** Heard before anyone listened, e.g. a question that stood when the subscription began. */
  #early: [text: string, cursor: boolean][] | undefined = [];
  #opening: Promise<void> | undefined;
  #ended = false;
  /** Tries since something new was heard, or a line held: one that is taken and dropped at once is no success. */
  #attempt = 0;
  #openedAt = 0;
  #retry: (() => void) | undefined;

  constructor(transport: ClientTransport, options: SubscribeOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
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
  /** The last event heard that is a place to go on from: what another process needs to take this subscription over. */
  get cursor(): string | undefined {
    return this.#memory.cursor;
  }

  async connect(): Promise<this> {
    await this.#connect(undefined);
    return this;
  }

  on<Name extends keyof SubscriberEvents>(name: Name, handler: Handler<Name>): () => void {
    const handlers = this.#handlers.get(name) ?? new Set();
    handlers.add(handler as Handler<never>);
    this.#handlers.set(name, handlers);
    // After this turn: handlers that are set together hear the same.
    if (this.#early) queueMicrotask(() => this.#listened());
    return () => void handlers.delete(handler as Handler<never>);
  }

  /** Changes only what is named (5.7). */
  async renegotiate(capabilities: Capabilities): Promise<SubscriptionAccepted> {
    const { answer } = await this.#send({
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

  /** Sends any message of yours, e.g. one of the extension's. */
  send(message: OtherMessage): Promise<Sent> {
    return this.#send(message);
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const line = this.#line;
    this.#end("subscriber_closed", "You ended the subscription.");
    if (line) return this.#leave(line);
    if (!this.#accepted) return;
    // The line is down: an agent that does not know would keep asking someone who has left.
    await Promise.race([
      (this.#opening ?? this.#connect(this.#memory.cursor)).catch(() => undefined),
      new Promise<void>((resolve) => this.#clock.timer(this.#clock.now() + GOODBYE_MS, resolve)),
    ]);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<AgentEvent> {
    return this.#mailbox.iterate();
  }

  #connect(last: string | undefined): Promise<void> {
    this.#opening = this.#open(last).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(last: string | undefined): Promise<void> {
    const subscription_id = this.#accepted?.subscription_id;
    this.#memory.reconnected();
    // A line may speak, or drop, before it is in hand: a question heard then could not be answered.
    let early: (() => void)[] | undefined = [];
    const inTurn = (job: () => void) => (early ? void early.push(job) : job());
    const line = await this.#transport.open(
      this.#request,
      subscription_id ? { subscription_id, last_event_id: last } : undefined,
      {
        message: (text, cursor) => inTurn(() => this.#line === line && this.#receive(text, cursor)),
        closed: (reason) => inTurn(() => this.#line === line && this.#lost(reason)),
      },
    );
    const { answer } = line;
    if (answer.type === "subscription.rejected") {
      line.close();
      throw new Rejected(answer.reason_code, answer.reason_message, answer.retry_after_seconds);
    }
    this.#accepted = answer;
    if (this.#ended) return this.#leave(line);
    this.#line = line;
    this.#openedAt = this.#clock.now();
    this.#emit("line", { state: "connected", message: "Connected." });
    for (const { resolve } of this.#waiting) resolve(line);
    this.#waiting.clear();
    const jobs = early;
    early = undefined;
    for (const job of jobs) job();
  }

  #lost(reason: ConnectionClosed): void {
    this.#line = undefined;
    if (this.#ended) return;
    if (this.#clock.now() - this.#openedAt >= HELD_MS) this.#attempt = 0;
    this.#emit("line", { state: "lost", message: reason.message });
    if (reason.reconnect && this.#options.reconnect !== false) this.#again();
    else this.#end(reason.code, reason.message);
  }

  #again(least_seconds = 0): void {
    if (this.#ended) return;
    const wait =
      Math.max(least_seconds * 1000, 0) + backoff(this.#attempt++, this.#options.random ?? Math.random);
    this.#retry = this.#clock.timer(this.#clock.now() + wait, () => {
      this.#connect(this.#memory.cursor).catch((error: unknown) => {
        if (this.#ended) return;
        const { code = "unreachable", message, reconnect = true } = error as Partial<ConnectionError> & Error;
        if (error instanceof Rejected && error.code === "rate_limit") this.#again(error.retry_after_seconds);
        else if (error instanceof Rejected || !reconnect) this.#end(code, message);
        else this.#again();
      });
    });
  }

  #receive(text: string, cursor: boolean): void {
    if (!this.#early) return this.#hear(text, cursor);
    this.#early.push([text, cursor]);
    if (this.#early.length > MOST_WAITING) this.#listened();
  }

  #listened(): void {
    const early = this.#early;
    if (!early) return;
    this.#early = undefined;
    for (const [text, cursor] of early) this.#hear(text, cursor);
  }

  #hear(text: string, cursor: boolean): void {
    const parsed = this.#read(text);
    if (!parsed.ok) return this.#emit("violation", { issues: parsed.issues, type: parsed.type });
    if (parsed.kind === "message") {
      if (parsed.message.type === "subscription.close") this.#closedBy(parsed.message);
      return;
    }
    this.#answerAgain(parsed.message);
    const event = this.#memory.take(parsed.message, cursor);
    if (!event) return;
    if (cursor) this.#attempt = 0;
    const gap = event.extensions?.["earshot"]?.["gap"] as { reason?: string } | undefined;
    if (gap) this.#emit("gap", { reason: String(gap.reason), session_id: event.session_id });
    this.#mailbox.put(event);
    this.#emit("event", event);
    if (event.type === "aaep:agent.awaiting.confirmation")
      this.#emit("confirmation", confirmationAsk(event as AwaitingConfirmation, this.#reply));
    else if (event.type === "aaep:agent.awaiting.clarification")
      this.#emit("clarification", clarificationAsk(event as AwaitingClarification, this.#reply));
  }

  /** A restart, or a listener that was too slow, is not the end: the table of reasons says which (HS-19). */
  #closedBy({ reason_code, reason_message }: SubscriptionClose): void {
    const { reconnect, sentence } = closeReason(reason_code);
    const line = this.#line;
    const message = reason_message ?? sentence;
    if (reconnect) this.#lost({ code: reason_code, reconnect, message });
    else this.#end(reason_code, message);
    line?.close();
  }

  /** A question that is asked again although it was answered: the answer went down with the line. */
  #answerAgain(event: AgentEvent): void {
    const token = (event as { reply_token?: unknown }).reply_token;
    const answer = typeof token === "string" ? this.#answers.get(token) : undefined;
    if (answer) void this.#line?.send(answer).catch(() => undefined);
  }

  readonly #reply = async (fields: ReplyFields, seconds: number): Promise<boolean | undefined> => {
    const { reply_token } = fields;
    const message = { ...fields, subscription_id: this.id, timestamp: this.#clock.timestamp() };
    this.#answers.set(reply_token, message);
    if (this.#answers.size > MOST_ANSWERS) this.#answers.delete(this.#answers.keys().next().value!);
    const taken = await this.#getThrough(message, this.#clock.now() + seconds * 1000);
    if (taken !== undefined) this.#answers.delete(reply_token);
    return taken;
  };

  /** What a person said is said again while the agent cannot be reached: it may only be restarting. */
  async #getThrough(message: OtherMessage, until: number): Promise<boolean | undefined> {
    for (let attempt = 0; ; attempt++) {
      try {
        const { taken } = await this.#send(message);
        // An earlier try may have arrived, and the token is used only once: then a no to this one says nothing.
        return attempt > 0 && taken === false ? undefined : taken;
      } catch (error) {
        if (this.#ended || (error as Partial<ConnectionError>).reconnect !== true) throw error;
        const at = this.#clock.now() + backoff(attempt, this.#options.random ?? Math.random);
        if (at >= until) throw new EarshotError("agent_unreachable", NOT_THROUGH, { cause: error });
        await new Promise<void>((resolve) => this.#clock.timer(at, resolve));
      }
    }
  }

  /** Waits for the line while it is being brought back: what a person said is not lost because it was said in between. */
  async #send(message: OtherMessage): Promise<Sent> {
    if (this.#ended || !this.#accepted)
      throw new EarshotError("not_connected", "The subscription has ended, or was never accepted.");
    const line =
      this.#line ??
      (await new Promise<ClientConnection>((resolve, reject) => this.#waiting.add({ resolve, reject })));
    return line.send(message);
  }

  async #leave(line: ClientConnection): Promise<void> {
    const { subscription_id } = this.accepted;
    await line
      .send({ type: "subscription.close", subscription_id, reason_code: "subscriber_shutdown" })
      .catch(() => undefined);
    line.close();
  }

  #emit<Name extends keyof SubscriberEvents>(name: Name, value: SubscriberEvents[Name]): void {
    const handlers = this.#handlers.get(name);
    if (!handlers) return;
    for (const handler of handlers) {
      // One listener's mistake must not silence the others.
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
    this.#retry?.();
    this.#mailbox.end();
    for (const { reject } of this.#waiting) reject(new EarshotError("not_connected", message));
    this.#waiting.clear();
    this.#emit("closed", { code, message });
  }
}
