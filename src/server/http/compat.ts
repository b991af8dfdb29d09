/**
 * Clients without a handshake (`compat: true`, loopback only), as existing public AAEP clients and test drivers are.
 * A plain `GET /events` is a stream, `POST /messages` accepts anything, and a WebSocket needs no subprotocol. Such a
 * listener has an implicit subscription that can reply; its replies are matched by their token, whatever subscription
 * they name; a subscription request replaces it.
 */
import {
  type Delivery,
  framed,
  type HubPort,
  type Incoming,
  type Peer,
  type SubscriptionHandle,
} from "../../protocol/hub-port.ts";
import { hasDuplicateKeys } from "../../protocol/limits.ts";
import { type Parsed, parseValue } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { AAEP_VERSION, type SubscriptionRejected, type SubscriptionRequest } from "../../protocol/types.ts";
import {
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  json,
  type StreamEvents,
} from "../../transports/http.ts";
import { answerInvalid, onExpiry } from "../../transports/server-connection.ts";
import { rejection, STREAM_HEADERS } from "../../transports/sse/server.ts";

/**
 * Called with JSON that is not an AAEP message: test drivers start sessions that way. `tell` sends a message to the
 * sender's stream, before any later event.
 */
export type OtherMessageHook = (
  value: unknown,
  principal: Principal,
  tell: (message: Readonly<Record<string, unknown>>) => void,
) => void;

interface CompatOptions {
  readonly heartbeatMs: number;
  readonly every: (ms: number, callback: () => void) => () => void;
  readonly onOther?: OtherMessageHook | undefined;
}

/** A WebSocket without subprotocol. */
interface PlainSocket {
  send(text: string): Promise<void> | undefined;
  close(): void;
}

export interface Compat {
  readonly http: HttpHandler;
  /** Undefined if the subscription was rejected; the client has been told why. */
  readonly openSocket: (
    socket: PlainSocket,
    principal: Principal,
  ) => { message(text: string): void; closed(): void } | undefined;
}

const IMPLICIT: SubscriptionRequest = {
  type: "subscription.request",
  aaep_version: AAEP_VERSION,
  subscriber_id: "implicit",
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_conformance_levels: [1, 2],
  },
};
const MAX_HEARTBEAT_MS = 25_000;
/** How long, and for how many principals, a subscription request that arrives before its stream is kept. */
const EARLY_MS = 30_000;
const MAX_EARLY = 64;
const OK: HttpResponse = json(202, { status: "received" });
/** What a form of a foreign page can send without a preflight (A20); many programs send it by default. */
const FORM_TYPE = /^\s*(?:text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** A listener without a handshake: its connection, and its implicit subscription. */
class ImplicitListener {
  readonly principal: Principal;
  readonly peer: Peer;
  disconnected = false;
  subscription: SubscriptionHandle;
  readonly #hub: HubPort;
  readonly #transport: string;

  constructor(
    hub: HubPort,
    transport: string,
    principal: Principal,
    peer: Peer,
    subscription: SubscriptionHandle,
  ) {
    this.#hub = hub;
    this.#transport = transport;
    this.principal = principal;
    this.peer = peer;
    this.subscription = subscription;
  }

  /** True if the message had an effect. */
  async receive(value: Record<string, unknown>): Promise<boolean> {
    const parsed = parseValue(
      { ...value, ...(isRequest(value) ? {} : { subscription_id: this.subscription.id }) },
      { mode: "tolerant" },
    );
    if (!parsed.ok) return this.#receiveInvalid(parsed);
    if (parsed.kind !== "message") return false;
    if (parsed.message.type === "subscription.request")
      return this.#replace(parsed.message as SubscriptionRequest);
    if (!("subscription_id" in parsed.message)) return false;
    const message = parsed.message as Incoming;
    const handled = await this.#hub.handle(message, this.principal, this.subscription);
    if ("answer" in handled) {
      this.peer.tell(handled.answer);
      // The subscription has ended, but the client is still connected.
      if (handled.answer.type === "subscription.rejected") this.#replace(IMPLICIT, true);
      return true;
    }
    if (message.type === "subscription.close" && handled.taken) this.peer.close("subscriber_closed");
    return handled.taken;
  }

  async #receiveInvalid(parsed: Extract<Parsed, { ok: false }>): Promise<boolean> {
    const answered = await answerInvalid(parsed, this.#hub, this.principal, this.subscription);
    if (!answered) return false;
    this.peer.tell(answered.answer);
    if (answered.ends) this.#replace(IMPLICIT, true);
    return true;
  }

  #replace(request: SubscriptionRequest, quietly = false): boolean {
    const { answer, subscription } = this.#hub.subscribe(request, this.principal, this.#transport);
    if (!quietly) this.peer.tell(answer);
    if (!subscription) return false;
    // The new subscription has every open question before the old one ends, so no question counts as unanswered.
    this.close();
    this.subscription = subscription;
    subscription.connect(this.peer);
    return true;
  }

  close(): void {
    const close = {
      type: "subscription.close",
      subscription_id: this.subscription.id,
      reason_code: "replaced",
    } as const;
    void this.#hub.handle(close, this.principal, this.subscription);
  }
}

/** Every browser sends one of these, and no page can change them for a form. */
const isBrowser = (header: HttpRequest["header"]): boolean =>
  /^Mozilla\//i.test(header("user-agent") ?? "") ||
  ["origin", "sec-fetch-site", "sec-fetch-mode"].some((name) => header(name) !== undefined);

const isRequest = ({ type }: Record<string, unknown>): boolean => type === "subscription.request";
const isReply = ({ type }: Record<string, unknown>): boolean =>
  type === "confirmation.reply" || type === "clarification.reply";

export function createCompat(hub: HubPort, { heartbeatMs, every, onOther }: CompatOptions): Compat {
  /** By principal, the newest first. */
  const listeners = new Map<string, ImplicitListener[]>();
  const early = new Map<string, { value: Record<string, unknown>; at: number }>();

  /** A message as an object; JSON without a type goes to the hook. */
  function read(
    bytes: string | Uint8Array,
    principal: Principal,
    peer: () => Peer | undefined,
  ): Record<string, unknown> | undefined {
    let value: unknown;
    try {
      const text =
        typeof bytes === "string" ? bytes : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      value = JSON.parse(text);
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
      if (isReply(value as Record<string, unknown>) && hasDuplicateKeys(text)) return undefined;
    } catch {
      return undefined;
    }
    if (typeof (value as { type?: unknown }).type === "string") return value as Record<string, unknown>;
    onOther?.(value, principal, (message) => peer()?.tell(message as unknown as Parameters<Peer["tell"]>[0]));
    return undefined;
  }

  function events(principal: Principal): HttpResponse {
    const { answer, subscription } = hub.subscribe(IMPLICIT, principal, "sse");
    if (!subscription) return rejection(answer as SubscriptionRejected);
    return {
      status: 200,
      headers: STREAM_HEADERS,
      stream: (stream) => openStream(stream, subscription, principal),
    };
  }

  function openStream(
    stream: HttpStream,
    subscription: SubscriptionHandle,
    principal: Principal,
  ): StreamEvents {
    const end = () => {
      stop();
      stream.end(": closing\n\n");
    };
    const listener = new ImplicitListener(hub, "sse", principal, plainPeer(stream, end), subscription);
    const stopHeartbeat = every(Math.min(heartbeatMs, MAX_HEARTBEAT_MS), () => void stream.write(": \n\n"));
    const stopExpiry = onExpiry(principal, () => listener.peer.close("credential_expired"));
    const stop = () => {
      stopHeartbeat();
      stopExpiry();
    };
    void stream.write(": connected\n\n");
    subscription.connect(listener.peer);
    const mine = listeners.get(principal.id) ?? [];
    // The principal is subscribed, not the stream: a stream opened again replaces those that were lost.
    for (const lost of mine.filter(({ disconnected }) => disconnected)) lost.close();
    listeners.set(principal.id, [listener, ...mine.filter(({ disconnected }) => !disconnected)]);
    const request = early.get(principal.id);
    early.delete(principal.id);
    if (request && performance.now() - request.at < EARLY_MS) void listener.receive(request.value);
    const closed = () => {
      stop();
      listener.disconnected = true;
      listener.subscription.disconnect(listener.peer);
    };
    return {
      closed,
      tooSlow: () => {
        closed();
        end();
      },
    };
  }

  async function messages({ header, body }: HttpRequest, principal: Principal): Promise<HttpResponse> {
    if (FORM_TYPE.test(header("content-type") ?? "") && isBrowser(header)) {
      return json(415, {
        error: "unsupported_media_type",
        message: "Send the message with Content-Type: application/json.",
      });
    }
    const bytes = await body();
    const connected = () => listeners.get(principal.id)?.find(({ disconnected }) => !disconnected)?.peer;
    const value = bytes === "too_large" ? undefined : read(bytes, principal, connected);
    if (!value) return OK;
    const [newest, ...older] = listeners.get(principal.id) ?? [];
    if (!newest || (newest.disconnected && !isReply(value))) {
      if (early.size >= MAX_EARLY) early.delete(early.keys().next().value!);
      if (isRequest(value)) early.set(principal.id, { value, at: performance.now() });
    } else if (!(await newest.receive(value)) && isReply(value)) {
      for (const listener of older) if (await listener.receive(value)) break;
    }
    return OK;
  }

  return {
    async http(request, { principal }, path) {
      const { method, url } = request;
      if (path === "/messages" && method === "POST") return messages(request, principal);
      if (path === "/events" && method === "GET" && !url.searchParams.has("subscription_id"))
        return events(principal);
      return undefined;
    },
    openSocket(socket, principal) {
      const peer: Peer = {
        send: ({ json }) => socket.send(json),
        tell: (message) => void socket.send(JSON.stringify(message)),
        close: () => socket.close(),
      };
      const { answer, subscription } = hub.subscribe(IMPLICIT, principal, "websocket");
      if (!subscription) {
        peer.tell(answer);
        return undefined;
      }
      const listener = new ImplicitListener(hub, "websocket", principal, peer, subscription);
      const stopExpiry = onExpiry(principal, () => socket.close());
      subscription.connect(peer);
      return {
        message: (text) => {
          const value = read(text, principal, () => peer);
          if (value) void listener.receive(value);
        },
        closed: () => {
          stopExpiry();
          listener.subscription.disconnect(peer);
        },
      };
    },
  };
}

/** Data lines without an event name: these clients read nothing else. */
const encodePlain = ({ json, event_id, cursor }: Delivery): string =>
  `${cursor ? `id: ${event_id}\n` : ""}data: ${json}\n\n`;

function plainPeer(stream: HttpStream, end: () => void): Peer {
  return {
    send: (event) => stream.write(framed(event, "compat-sse", encodePlain), !event.critical),
    tell: (message) => void stream.write(`data: ${JSON.stringify(message)}\n\n`),
    close: end,
  };
}
