/**
 * The client side of a connection. The first half is the port that every transport's client implements for the
 * subscriber; the second half is the one implementation shared by the transports that carry messages both ways
 * (WebSocket, IPC, stdio, gRPC): handshake, request and answer, answer timeout, heartbeat, close reasons. Those
 * transports supply framing and a socket. SSE and the in-process transport implement the port directly.
 */
import { closeReason } from "../protocol/close-reasons.ts";
import { EXTENSION_PREFIX, type ResumePoint } from "../protocol/extension.ts";
import { parse } from "../protocol/parse.ts";
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../protocol/types.ts";

/** The producer's answer to a request or a renegotiation. */
export type Answer = SubscriptionAccepted | SubscriptionRejected;

/** Connects to one producer, as often as the subscriber asks. */
export interface ClientTransport {
  readonly name: string;
  /** Resolves with the producer's answer; rejects with a `ConnectionError` if there is none. */
  open(
    request: SubscriptionRequest,
    resume: ResumePoint | undefined,
    events: ConnectionEvents,
  ): Promise<ClientConnection>;
}

/** One open connection. */
export interface ClientConnection {
  readonly answer: Answer;
  send(message: OtherMessage): Promise<Sent>;
  close(): void;
}

/** What became of a message that was sent. */
export interface Sent {
  /** Whether the producer accepted it; `undefined` where the transport has no way to tell. */
  readonly taken: boolean | undefined;
  /** The answer to a renegotiation. */
  readonly answer?: Answer;
}

export interface ConnectionEvents {
  /** One message, as text. `cursor` is false where the transport says that its id is not a resume point. */
  message(text: string, cursor: boolean): void;
  /** The connection has ended. Called once, and only for a connection that was opened. */
  closed(reason: ConnectionClosed): void;
}

export interface ConnectionClosed {
  /** A code of the close-reason table. */
  readonly code: string;
  /** Whether connecting again makes sense. */
  readonly reconnect: boolean;
  readonly message: string;
}

/** A connection that could not be opened, or a message that could not be sent. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: string;
  /** Whether trying again makes sense. */
  readonly reconnect: boolean;
  constructor(code: string, message: string, reconnect: boolean, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.reconnect = reconnect;
  }
}

/** A bearer token, or a function that is called before every connection, so that an expired token is replaced. */
export type Token = string | (() => string | undefined | Promise<string | undefined>);

export const tokenOf = (token: Token | undefined): string | undefined | Promise<string | undefined> =>
  typeof token === "function" ? token() : token;

/** Three heartbeats: a connection that is silent for longer is treated as half-open. */
export const SILENCE_MS = 45_000;

/** Adds the resume point to a request. */
export const withResume = (
  request: SubscriptionRequest,
  resume: ResumePoint | undefined,
): SubscriptionRequest =>
  resume ? { ...request, extensions: { [EXTENSION_PREFIX]: { resume: { ...resume } } } } : request;

/** The close-reason table's entry for a code, with the producer's own sentence if it sent one. */
export function closedWith(code: string, message?: string): ConnectionClosed {
  const { reconnect, sentence } = closeReason(code);
  return { code, reconnect, message: message || sentence };
}

/** Calls `expired` once, unless `reset` is called often enough. */
export interface SilenceTimer {
  reset(): void;
  stop(): void;
}

export function createSilenceTimer(ms: number, expired: () => void): SilenceTimer {
  let last = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (wait: number) => {
    timer = setTimeout(check, wait);
    (timer as { unref?: () => void }).unref?.();
  };
  const check = () => {
    timer = undefined;
    const left = last + ms - performance.now();
    if (left > 0) arm(left);
    else expired();
  };
  arm(ms);
  return {
    // Called for every message: taking the time is much cheaper than setting a new timer.
    reset() {
      last = performance.now();
      if (timer === undefined) arm(ms);
    },
    stop: () => clearTimeout(timer),
  };
}

/** What a transport supplies: a socket that can write one message, framed its own way. */
export interface ClientSocket {
  /** `id` is given for messages that are answered: the request and renegotiations. */
  write(message: OtherMessage, id: number | undefined): void;
  /** Ends the connection after everything written has been sent. */
  close(): void;
  /** Ends the connection at once. */
  destroy(): void;
  /** Given where heartbeats can be observed: asks the producer for a sign of life. */
  ping?(): void;
}

/** What a transport reports. */
export interface ConnectionInput {
  /** Bytes of any kind arrived, such as a ping. */
  alive(): void;
  /** One message arrived. */
  message(text: string): void;
  /** An answer arrived; without an id it belongs to the oldest request that waits for one. */
  answered(answer: Answer, id?: number): void;
  /** The producer refused a request without an AAEP answer. */
  refused(error: ConnectionError, id: number): void;
  /** The socket is closed. `reason` holds unless the producer gave one in a message. */
  closed(reason: ConnectionClosed, cause?: unknown): void;
  /** The handshake has been answered. */
  readonly established: boolean;
}

export interface OpenOptions {
  readonly request: SubscriptionRequest;
  readonly events: ConnectionEvents;
  /** How long the producer may take to answer a request or a renegotiation. */
  readonly answerMs: number;
  /** With a socket that can ping: a connection that is silent for this long is closed. */
  readonly silenceMs?: number;
  /** Whether connecting again makes sense after an answer timeout; true by default. */
  readonly retryAfterTimeout?: boolean;
  connect(input: ConnectionInput): ClientSocket;
}

interface PendingAnswer {
  resolve(answer: Answer): void;
  reject(error: Error): void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** A producer that does not close its side within this time after ours is disconnected. */
const LINGER_MS = 1_000;

/** Opens one connection, sends the request and resolves with the answer. */
export const openConnection = (options: OpenOptions): Promise<ClientConnection> =>
  new MessageConnection(options).open();

class MessageConnection implements ConnectionInput {
  readonly #options: OpenOptions;
  readonly #events: ConnectionEvents;
  readonly #socket: ClientSocket;
  readonly #pending = new Map<number, PendingAnswer>();
  #requests = 0;
  #answer: Answer | undefined;
  #ended: ConnectionClosed | undefined;
  /** Why it ends: as the producer said in a message, or because this side closed it. */
  #announced: ConnectionClosed | undefined;
  #silence: SilenceTimer[] = [];

  constructor(options: OpenOptions) {
    this.#options = options;
    this.#events = options.events;
    this.#socket = options.connect(this);
  }

  get established(): boolean {
    return this.#answer !== undefined;
  }

  async open(): Promise<ClientConnection> {
    try {
      const answer = await this.#ask(this.#options.request);
      return { answer, send: (message) => this.#send(message), close: () => this.#close() };
    } catch (error) {
      // Nothing that arrives from now on counts.
      this.#ended ??= closedWith("unreachable");
      this.#socket.destroy();
      throw error;
    }
  }

  async #send(message: OtherMessage): Promise<Sent> {
    if (this.#ended) throw new ConnectionError("connection_lost", this.#ended.message, this.#ended.reconnect);
    if (message.type !== "subscription.renegotiate") {
      this.#socket.write(message, undefined);
      return { taken: undefined };
    }
    const answer = await this.#ask(message);
    return { taken: answer.type === "subscription.accepted", answer };
  }

  #close(): void {
    if (this.#ended) return;
    this.#announced ??= closedWith("subscriber_closed");
    this.#socket.close();
    const timer = setTimeout(() => this.#ended || this.#socket.destroy(), LINGER_MS);
    (timer as { unref?: () => void }).unref?.();
  }

  alive(): void {
    if (this.#ended) return;
    for (const timer of this.#silence) timer.reset();
  }

  message(text: string): void {
    if (this.#ended) return;
    this.alive();
    // Few messages concern the connection itself; searching the text is cheaper than parsing each event twice.
    const parsed =
      text.includes('"subscription.') || text.includes('"earshot:closing"')
        ? parse(text, { mode: "tolerant" })
        : undefined;
    const message = parsed?.ok && parsed.kind === "message" ? parsed.message : undefined;
    if (message?.type === "subscription.accepted" || message?.type === "subscription.rejected")
      return this.answered(message);
    if (message?.type === "subscription.close" || message?.type === "earshot:closing") {
      this.#announced = closedWith(message.reason_code, message.reason_message);
      // The subscription outlives this connection: the subscriber learns why from `closed`.
      if (message.type === "earshot:closing") return;
    }
    this.#events.message(text, true);
  }

  answered(answer: Answer, id?: number): void {
    const pending = this.#take(id);
    if (!pending || this.#ended) return;
    if (answer.type === "subscription.rejected") this.#announced = closedWith("rejected");
    if (!this.established) this.#established(answer);
    pending.resolve(answer);
  }

  refused(error: ConnectionError, id: number): void {
    this.#take(id)?.reject(error);
  }

  closed(reason: ConnectionClosed, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = this.#announced ?? reason;
    for (const timer of this.#silence) timer.stop();
    const { code, message, reconnect } = this.#ended;
    const error = this.established
      ? new ConnectionError(
          "connection_lost",
          "The connection was lost before the answer arrived.",
          reconnect,
        )
      : new ConnectionError(code === "connection_lost" ? "unreachable" : code, message, reconnect, { cause });
    for (const id of [...this.#pending.keys()]) this.#take(id)!.reject(error);
    if (this.established) this.#events.closed(this.#ended);
  }

  #ask(message: OtherMessage): Promise<Answer> {
    const { answerMs, retryAfterTimeout: retry = true } = this.#options;
    return new Promise((resolve, reject) => {
      // A pending answer that timed out stays in the queue: without ids, a late answer must not go to the next request.
      const timer = setTimeout(
        () => reject(new ConnectionError("unreachable", "The agent did not answer in time.", retry)),
        answerMs,
      );
      (timer as { unref?: () => void }).unref?.();
      this.#pending.set(++this.#requests, { resolve, reject, timer });
      this.#socket.write(message, this.#requests);
    });
  }

  #take(id: number | undefined = this.#pending.keys().next().value): PendingAnswer | undefined {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id!);
    clearTimeout(pending.timer);
    return pending;
  }

  #established(answer: Answer): void {
    this.#answer = answer;
    const { silenceMs = SILENCE_MS } = this.#options;
    const socket = this.#socket;
    // Where pings cannot be observed, silence proves nothing: an agent may have nothing to say for hours.
    if (!socket.ping) return;
    this.#silence = [
      // Producers need not send pings: a quiet one is asked before it is given up.
      createSilenceTimer(silenceMs / 2, () => socket.ping!()),
      createSilenceTimer(silenceMs, () => {
        this.closed(closedWith("unreachable"));
        socket.destroy();
      }),
    ];
  }
}
