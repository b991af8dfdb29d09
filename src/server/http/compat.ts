/**
 * Existing clients (`compat: true`, loopback only): what the public AAEP clients and test drivers in the wild speak.
 * A bare `GET /events` is a stream without a handshake, `POST /messages` takes anything, and a WebSocket needs no
 * subprotocol. Such a listener has an implicit subscription that can answer; its replies are matched by their token,
 * whatever subscription they name; a request of its own replaces it.
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
import { answerInvalid, onExpiry } from "../../transports/server-connection.ts";
import {
  type HttpAnswer,
  type HttpQuestion,
  json,
  type OpenStream,
  rejection,
  type TextStream,
} from "../../transports/sse/server.ts";

/**
 * Told of whatever arrives that is no message of AAEP: test drivers start a session that way. `tell` answers whoever sent
 * it, where it listens, ahead of every event that comes after.
 */
export type StrayHook = (
  value: unknown,
  principal: Principal,
  tell: (message: Readonly<Record<string, unknown>>) => void,
) => void;

interface CompatOptions {
  readonly heartbeatMs: number;
  readonly every: (ms: number, callback: () => void) => () => void;
  readonly stray?: StrayHook | undefined;
}

/** A WebSocket as this needs it: whole texts, and no end but the client's. */
interface BareSocket {
  send(text: string): Promise<void> | undefined;
  close(): void;
}

export interface Compat {
  readonly http: (question: HttpQuestion) => Promise<HttpAnswer | undefined>;
  /** Undefined where there is no room for one more listener: it has been told why. */
  socket(
    socket: BareSocket,
    principal: Principal,
  ): { message(text: string): void; closed(): void } | undefined;
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
const LONGEST_HEARTBEAT_MS = 25_000;
/** A request that came before its stream is kept this long, and so many people's. */
const EARLY_MS = 30_000;
const MOST_EARLY = 64;
const OK: HttpAnswer = json(202, { status: "received" });
/** What a form of somebody else's page can send without being asked about (A20); programs send it by default. */
const FORM_TYPE = /^\s*(?:text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** One listener without a handshake: where it hears, and the subscription that stands for it. */
class Bare {
  readonly principal: Principal;
  readonly peer: Peer;
  gone = false;
  line: SubscriptionHandle;
  readonly #hub: HubPort;
  readonly #transport: string;

  constructor(hub: HubPort, transport: string, principal: Principal, peer: Peer, line: SubscriptionHandle) {
    this.#hub = hub;
    this.#transport = transport;
    this.principal = principal;
    this.peer = peer;
    this.line = line;
  }

  /** True if the message had an effect. */
  async take(value: Record<string, unknown>): Promise<boolean> {
    const parsed = parseValue(
      { ...value, ...(named(value) ? { subscription_id: this.line.id } : {}) },
      { mode: "tolerant" },
    );
    if (!parsed.ok) return this.#unreadable(parsed);
    if (parsed.kind !== "message") return false;
    if (parsed.message.type === "subscription.request")
      return this.#replace(parsed.message as SubscriptionRequest);
    if (!("subscription_id" in parsed.message)) return false;
    const message = parsed.message as Incoming;
    const handled = await this.#hub.handle(message, this.principal, this.line);
    if ("answer" in handled) {
      this.peer.tell(handled.answer);
      // The hub has let go of it; the listener has not.
      if (handled.answer.type === "subscription.rejected") this.#replace(IMPLICIT, true);
      return true;
    }
    if (message.type === "subscription.close" && handled.taken) this.peer.close("subscriber_closed");
    return handled.taken;
  }

  async #unreadable(parsed: Extract<Parsed, { ok: false }>): Promise<boolean> {
    const answered = await answerInvalid(parsed, this.#hub, this.principal, this.line);
    if (!answered) return false;
    this.peer.tell(answered.answer);
    if (answered.ends) this.#replace(IMPLICIT, true);
    return true;
  }

  #replace(request: SubscriptionRequest, quietly = false): boolean {
    const { answer, subscription: line } = this.#hub.subscribe(request, this.principal, this.#transport);
    if (!quietly) this.peer.tell(answer);
    if (!line) return false;
    // The new one holds every open question before the old one leaves: nothing counts as silence.
    this.leave();
    this.line = line;
    line.connect(this.peer);
    return true;
  }

  leave(): void {
    const close = {
      type: "subscription.close",
      subscription_id: this.line.id,
      reason_code: "replaced",
    } as const;
    void this.#hub.handle(close, this.principal, this.line);
  }
}

/** Every browser says so, however old, and no page can change it on a form. */
const isBrowser = (header: HttpQuestion["header"]): boolean =>
  /^Mozilla\//i.test(header("user-agent") ?? "") ||
  ["origin", "sec-fetch-site", "sec-fetch-mode"].some((name) => header(name) !== undefined);

const named = (value: Record<string, unknown>): boolean => value["type"] !== "subscription.request";
const isReply = ({ type }: Record<string, unknown>): boolean =>
  type === "confirmation.reply" || type === "clarification.reply";

export function createCompat(hub: HubPort, { heartbeatMs, every, stray }: CompatOptions): Compat {
  /** By principal, the newest first. */
  const listeners = new Map<string, Bare[]>();
  const early = new Map<string, { value: Record<string, unknown>; at: number }>();

  /** A message as an object; whatever else it is goes to whoever wants it. */
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
    stray?.(value, principal, (message) => peer()?.tell(message as unknown as Parameters<Peer["tell"]>[0]));
    return undefined;
  }

  function events(question: HttpQuestion): HttpAnswer {
    const { principal } = question;
    const { answer, subscription: line } = hub.subscribe(IMPLICIT, principal, "sse");
    if (!line) return rejection(answer as SubscriptionRejected);
    return {
      status: 200,
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      },
      stream: (stream) => open(stream, line, principal),
    };
  }

  function open(stream: TextStream, line: SubscriptionHandle, principal: Principal): OpenStream {
    const end = () => {
      stop();
      stream.end(": closing\n\n");
    };
    const bare = new Bare(hub, "sse", principal, plainPeer(stream, end), line);
    const stopHeartbeat = every(
      Math.min(heartbeatMs, LONGEST_HEARTBEAT_MS),
      () => void stream.write(": \n\n"),
    );
    const stopExpiry = onExpiry(principal, () => bare.peer.close("credential_expired"));
    const stop = () => {
      stopHeartbeat();
      stopExpiry();
    };
    void stream.write(": connected\n\n");
    line.connect(bare.peer);
    const mine = listeners.get(principal.id) ?? [];
    // It is the principal that is subscribed: a stream opened again takes the place of the ones that were lost.
    for (const lost of mine.filter(({ gone }) => gone)) lost.leave();
    listeners.set(principal.id, [bare, ...mine.filter(({ gone }) => !gone)]);
    const waiting = early.get(principal.id);
    early.delete(principal.id);
    if (waiting && performance.now() - waiting.at < EARLY_MS) void bare.take(waiting.value);
    const gone = () => {
      stop();
      bare.gone = true;
      bare.line.disconnect(bare.peer);
    };
    return {
      gone,
      slow: () => {
        gone();
        end();
      },
    };
  }

  async function messages(question: HttpQuestion): Promise<HttpAnswer> {
    const { principal, header } = question;
    if (FORM_TYPE.test(header("content-type") ?? "") && isBrowser(header)) {
      return json(415, {
        error: "unsupported_media_type",
        message: "Send the message with Content-Type: application/json.",
      });
    }
    const bytes = await question.body();
    const stream = () => listeners.get(principal.id)?.find(({ gone }) => !gone)?.peer;
    const value = bytes === "too_large" ? undefined : read(bytes, principal, stream);
    if (!value) return OK;
    const [newest, ...older] = listeners.get(principal.id) ?? [];
    if (!newest || (newest.gone && !isReply(value))) {
      if (early.size >= MOST_EARLY) early.delete(early.keys().next().value!);
      if (!named(value)) early.set(principal.id, { value, at: performance.now() });
    } else if (!(await newest.take(value)) && isReply(value)) {
      for (const bare of older) if (await bare.take(value)) break;
    }
    return OK;
  }

  return {
    async http(question) {
      const { method, path, query } = question;
      if (path === "/messages" && method === "POST") return messages(question);
      if (path === "/events" && method === "GET" && !query.has("subscription_id")) return events(question);
      return undefined;
    },
    socket(socket, principal) {
      const peer: Peer = {
        send: ({ json }) => socket.send(json),
        tell: (message) => void socket.send(JSON.stringify(message)),
        close: () => socket.close(),
      };
      const { answer, subscription: line } = hub.subscribe(IMPLICIT, principal, "websocket");
      if (!line) {
        peer.tell(answer);
        return undefined;
      }
      const bare = new Bare(hub, "websocket", principal, peer, line);
      const stopExpiry = onExpiry(principal, () => socket.close());
      line.connect(peer);
      return {
        message: (text) => {
          const value = read(text, principal, () => peer);
          if (value) void bare.take(value);
        },
        closed: () => {
          stopExpiry();
          bare.line.disconnect(peer);
        },
      };
    },
  };
}

/** Plain data lines: these clients look at nothing else. */
const encodePlain = ({ json, event_id, cursor }: Delivery): string =>
  `${cursor ? `id: ${event_id}\n` : ""}data: ${json}\n\n`;

function plainPeer(stream: TextStream, end: () => void): Peer {
  return {
    send: (event) => stream.write(framed(event, "compat-sse", encodePlain), !event.critical),
    tell: (message) => void stream.write(`data: ${JSON.stringify(message)}\n\n`),
    close: end,
  };
}
