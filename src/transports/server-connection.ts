/**
 * The server side of a connection, shared by every transport that carries messages both ways (WebSocket, IPC, stdio,
 * gRPC): one subscription per connection (CON-51), the handshake first, then events one way and replies the other
 * (IPC-05), until the credential expires or either side closes. A transport supplies framing and a socket.
 */
import { type CloseCode, closeReason } from "../protocol/close-reasons.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import {
  type Delivery,
  framed,
  type HubPort,
  type Incoming,
  type Peer,
  type SubscriptionHandle,
} from "../protocol/hub-port.ts";
import type { Parsed } from "../protocol/parse.ts";
import type { Principal } from "../protocol/principal.ts";
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../protocol/types.ts";

export type Answer = SubscriptionAccepted | SubscriptionRejected;

/** What a transport supplies. */
export interface ServerSocket {
  /** As the hub and the metrics know the transport. */
  readonly transport: string;
  /** Connections with the same framing share an event's encoded bytes. */
  readonly framing: string;
  /** Whether a subscription can resume on another connection. */
  readonly resumable: boolean;
  /** Whether `close` itself tells the peer the reason, as a WebSocket close frame does. If not, a message tells it. */
  readonly hasCloseCodes: boolean;
  encode(event: Delivery): Uint8Array;
  /** A promise is backpressure. A deferrable frame may wait a few milliseconds to share a write with others. */
  write(frame: Uint8Array, deferrable: boolean): Promise<void> | undefined;
  /** Sends a message that is not part of the event stream. */
  tell(message: OtherMessage): void;
  /** Closes the connection after everything written has been sent. `established`: the handshake was accepted. */
  close(code: string, established: boolean): void;
}

/** Notified about connections, for metrics and logs. */
export interface ConnectionObserver {
  /** This side closed a connection. */
  closed(transport: string, reason: CloseCode): void;
  /** The hub could not handle a message. */
  failed(transport: string, error: unknown): void;
}

/** Called once a message has been handled, with the answer if it has one. */
type Respond = (answer?: Answer) => void;

/**
 * Messages of one connection are handled one after the other, so that answers keep their order. This many may wait;
 * beyond it the transport is asked to stop reading.
 */
const MAX_QUEUED = 64;

const ONE_PER_CONNECTION =
  "There is one subscription per connection. Renegotiate this one, or open another connection.";

export class ServerConnection {
  readonly #socket: ServerSocket;
  readonly #hub: HubPort;
  readonly #principal: Principal;
  readonly #observer: ConnectionObserver | undefined;
  readonly #peer: Peer;
  readonly #stopExpiry: () => void;
  #subscription: SubscriptionHandle | undefined;
  /** The subscription outlives this connection. */
  #resumes = false;
  #ended = false;
  /** The hub itself has told the peer that the subscription is closed. */
  #closeTold = false;
  #handling = false;
  #queue: { readonly parsed: Parsed; readonly respond: Respond }[] = [];
  #room: { readonly promise: Promise<void>; readonly release: () => void } | undefined;

  constructor(socket: ServerSocket, hub: HubPort, principal: Principal, observer?: ConnectionObserver) {
    this.#socket = socket;
    this.#hub = hub;
    this.#principal = principal;
    this.#observer = observer;
    const encode = (event: Delivery) => socket.encode(event);
    this.#peer = {
      send: (event) =>
        this.#ended ? undefined : socket.write(framed(event, socket.framing, encode), !event.critical),
      tell: (message) => {
        this.#closeTold ||= message.type === "subscription.close";
        if (!this.#ended) socket.tell(message);
      },
      close: (code) => {
        this.#tellReason(code);
        this.#end(code);
      },
    };
    this.#stopExpiry = onExpiry(principal, () => this.close("credential_expired"));
  }

  get subscribed(): boolean {
    return this.#subscription !== undefined;
  }

  /** A promise is backpressure: read nothing more until it settles. */
  receive(parsed: Parsed, respond: Respond): Promise<void> | undefined {
    if (this.#ended) return undefined;
    if (!this.#handling) this.#process(parsed, respond);
    else this.#queue.push({ parsed, respond });
    if (this.#queue.length < MAX_QUEUED) return undefined;
    this.#room ??= deferred();
    return this.#room.promise;
  }

  /** Closes the connection from this side. The hub goes first, so that no event follows the reason. */
  close(code: CloseCode): void {
    if (!this.#ended) this.#observer?.closed(this.#socket.transport, code);
    this.#subscription?.disconnect(this.#peer);
    this.#tellReason(code);
    this.#end(code);
  }

  /** The socket is closed. */
  closed(): void {
    this.#stop();
    this.#subscription?.disconnect(this.#peer);
  }

  #end(code: string): void {
    if (this.#ended) return;
    this.#stop();
    this.#socket.close(code, this.subscribed);
  }

  #stop(): void {
    this.#ended = true;
    this.#stopExpiry();
    this.#queue = [];
    this.#room?.release();
  }

  /**
   * Where there are no close codes, the reason is the last message. If the subscription outlives the connection, only
   * the connection is closed; if it does not, the subscription is, with AAEP's own message (5.8).
   */
  #tellReason(code: string): void {
    if (this.#socket.hasCloseCodes || !this.#subscription) return;
    if (this.#ended || this.#closeTold || code === "subscriber_closed") return;
    const { sentence, reconnect } = closeReason(code);
    const reason = { reason_code: code, reason_message: sentence };
    if (this.#resumes) this.#socket.tell({ type: "earshot:closing", ...reason, reconnect });
    else this.#socket.tell({ type: "subscription.close", subscription_id: this.#subscription.id, ...reason });
  }

  #process(parsed: Parsed, respond: Respond): void {
    const handling = this.#handle(parsed, respond);
    if (!handling) return;
    this.#handling = true;
    handling
      .catch((error: unknown) => this.#observer?.failed(this.#socket.transport, error))
      .then(() => this.#next());
  }

  #next(): void {
    this.#handling = false;
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#process(next.parsed, next.respond);
      if (this.#handling) break;
    }
    if (this.#queue.length >= MAX_QUEUED) return;
    this.#room?.release();
    this.#room = undefined;
  }

  /** Undefined where the message has been handled when this returns. */
  #handle(parsed: Parsed, respond: Respond): Promise<void> | undefined {
    if (!parsed.ok) return this.#handleInvalid(parsed, respond);
    const { message } = parsed;
    if (message.type === "subscription.request") {
      this.#subscribe(message as SubscriptionRequest, respond);
    } else if (!this.#subscription) {
      this.#refuse("Send a subscription.request first.", respond);
    } else if (parsed.kind === "message" && "subscription_id" in message) {
      return this.#handleMessage(message as Incoming, this.#subscription, respond);
    } else respond();
    return undefined;
  }

  /** Before the handshake an invalid message ends the connection; afterwards it does not. */
  #handleInvalid(parsed: Extract<Parsed, { ok: false }>, respond: Respond): Promise<void> | undefined {
    if (parsed.issues[0]?.code === "too_large") this.close("too_large");
    else if (!this.#subscription) this.#refuse(reasonOf(parsed), respond);
    else {
      return answerInvalid(parsed, this.#hub, this.#principal, this.#subscription).then((answered) => {
        respond(answered?.answer);
        if (answered?.ends) this.#end("rejected");
      });
    }
    return undefined;
  }

  async #handleMessage(message: Incoming, subscription: SubscriptionHandle, respond: Respond): Promise<void> {
    const handled = await this.#hub.handle(message, this.#principal, subscription);
    if ("answer" in handled) {
      respond(handled.answer);
      if (handled.answer.type === "subscription.rejected") this.#end("rejected");
      return;
    }
    if (message.type === "subscription.close" && handled.taken) this.#end("subscriber_closed");
    respond();
  }

  #subscribe(request: SubscriptionRequest, respond: Respond): void {
    if (this.#subscription) {
      return respond({
        type: "subscription.rejected",
        reason_code: "capabilities_incompatible",
        reason_message: ONE_PER_CONNECTION,
      });
    }
    const { answer, subscription } = this.#hub.subscribe(request, this.#principal, this.#socket.transport);
    respond(answer);
    if (!subscription) return this.#end("rejected");
    this.#subscription = subscription;
    const honored = answer.honored_capabilities as Record<string, { resume?: unknown } | undefined>;
    this.#resumes = this.#socket.resumable && honored[EXTENSION_PREFIX]?.resume === true;
    subscription.connect(this.#peer);
  }

  #refuse(reason_message: string, respond: Respond): void {
    respond({ type: "subscription.rejected", reason_code: "unknown", reason_message });
    this.#end("rejected");
  }
}

function deferred(): { readonly promise: Promise<void>; readonly release: () => void } {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

const reasonOf = ({ issues }: Extract<Parsed, { ok: false }>): string =>
  issues[0]?.message ?? "The message is not valid.";

/**
 * The answer to an invalid message after the handshake. Most are ignored, like any reply that does not count (CNF-15);
 * a request and a renegotiation are always answered (HS-04, HS-14). `ends`: the answer ends the subscription.
 */
export async function answerInvalid(
  parsed: Extract<Parsed, { ok: false }>,
  hub: HubPort,
  principal: Principal,
  subscription: SubscriptionHandle,
): Promise<{ answer: Answer; ends: boolean } | undefined> {
  const reason_message = reasonOf(parsed);
  if (parsed.type === "subscription.request")
    return { answer: { type: "subscription.rejected", reason_code: "unknown", reason_message }, ends: false };
  if (parsed.type !== "subscription.renegotiate") return undefined;
  // A mistake must not end the subscription: everything stays as negotiated, and a note says why.
  const unchanged = { type: parsed.type, subscription_id: subscription.id, capabilities: {} } as const;
  const handled = await hub.handle(unchanged, principal, subscription);
  if (!("answer" in handled)) return undefined;
  const { answer } = handled;
  if (answer.type === "subscription.rejected") return { answer, ends: true };
  const negotiation_notes = `Nothing was changed. ${reason_message}`;
  return { answer: { ...answer, negotiation_notes }, ends: false };
}

/** setTimeout fires at once beyond its limit; longer waits go in steps. */
const MAX_TIMEOUT_MS = 2_000_000_000;

/**
 * Calls back when a credential expires during a connection (F18). Wall-clock time, because that is what issuers use.
 * Returns a function that cancels it.
 */
export function onExpiry({ expiresAt }: Principal, callback: () => void): () => void {
  if (expiresAt === undefined) return () => {};
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    const wait = Math.min(Math.max(0, expiresAt - Date.now()), MAX_TIMEOUT_MS);
    timer = setTimeout(() => (Date.now() < expiresAt ? arm() : callback()), wait);
    (timer as { unref?: () => void }).unref?.();
  };
  arm();
  return () => clearTimeout(timer);
}
