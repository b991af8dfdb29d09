/**
 * AAEP over Server-Sent Events and POST (B.1, CON-65): three paths, the same for every HTTP server. Requests arrive
 * authenticated.
 */
import { encodeSseEvent, encodeSseMessage, SSE_HEARTBEAT } from "../../framing/sse.ts";
import { closeReason } from "../../protocol/close-reasons.ts";
import type { Issue } from "../../protocol/errors.ts";
import {
  type Delivery,
  framed,
  type HubPort,
  type Incoming,
  type Peer,
  type SubscriptionHandle,
} from "../../protocol/hub-port.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { SubscriptionRejected } from "../../protocol/types.ts";
import {
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  json,
  methodNotAllowed,
  type StreamEvents,
} from "../http.ts";
import { onExpiry } from "../server-connection.ts";

export interface SseOptions {
  readonly prefix: string;
  readonly heartbeatMs: number;
  /** Calls back at this interval until cancelled. */
  readonly every: (ms: number, callback: () => void) => () => void;
  readonly random?: () => number;
  /** The body limit, for the answer to a larger body. */
  readonly bodyBytes?: number;
  /** A ticket that lets a browser's EventSource open this one stream (CON-52). */
  readonly ticket?: (subscription_id: string, identity: Principal) => string | undefined;
}

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const STATUS: Record<SubscriptionRejected["reason_code"], number> = {
  version_unsupported: 400,
  manifest_signature_required: 409,
  capabilities_incompatible: 409,
  rate_limit: 429,
  authentication_required: 401,
  authorization_denied: 403,
  transport_unavailable: 503,
  unknown: 400,
};

const bad = (issues: readonly Issue[]): HttpResponse =>
  json(issues[0]?.code === "too_large" ? 413 : 400, {
    error: "invalid_message",
    message: "The message is not valid; each issue says what was expected.",
    issues: issues.slice(0, 16),
  });

const MOST_REASON = 4_096;

/** A rejection has one text for all issues; each says what was expected. */
const refusal = (issues: readonly (Pick<Issue, "message"> & Partial<Issue>)[]): HttpResponse => {
  const reason_message = issues
    .slice(0, 16)
    .map(({ message }) => message)
    .join(" ")
    .slice(0, MOST_REASON);
  return rejected(issues[0]?.code === "too_large" ? 413 : 400, reason_message);
};

/** A subscription request is always answered with an AAEP rejection, whatever was wrong (HS-04). */
export const rejected = (status: number, reason_message: string): HttpResponse =>
  json(status, { type: "subscription.rejected", reason_code: "unknown", reason_message });

/** Why a body was not read. */
interface Unread {
  readonly status: number;
  readonly error: string;
  readonly message: string;
}

/** Every refused reply gets the same answer, whatever was wrong with it (CON-11). */
const REPLY_REFUSED: HttpResponse = json(400, { error: "reply_not_accepted" });

const tooManyReplies = (seconds: number): HttpResponse =>
  json(
    429,
    {
      error: "too_many_replies",
      message: "Too many replies did not count. Wait a moment, then answer a question you were asked.",
    },
    { "retry-after": String(seconds) },
  );

export function rejection(rejected: SubscriptionRejected): HttpResponse {
  const retry = rejected.retry_after_seconds;
  return json(STATUS[rejected.reason_code], rejected, {
    ...(retry === undefined ? {} : { "retry-after": String(retry) }),
    ...(rejected.reason_code === "authentication_required"
      ? { "www-authenticate": 'Bearer realm="aaep"' }
      : {}),
  });
}

export function createSseServer(hub: HubPort, options: SseOptions): HttpHandler {
  /** The open stream of each subscription: a reply sent in another request may end it. */
  const streams = new Map<string, { readonly owner: string; readonly close: (code: string) => void }>();
  /** Only a subscription's own principal can end its stream. */
  const endStream = (subscription_id: string, { id }: Principal, code: string) => {
    const stream = streams.get(subscription_id);
    if (stream?.owner === id) stream.close(code);
  };
  return async (request, { principal, identity }, path) => {
    switch (path) {
      case "/subscriptions":
        return request.method === "POST" ? subscribe(request, principal, identity) : methodNotAllowed("POST");
      case "/replies":
        return request.method === "POST" ? reply(request, principal) : methodNotAllowed("POST");
      case "/events":
        return request.method === "GET" ? events(request, principal) : methodNotAllowed("GET");
      default:
        return undefined;
    }
  };

  async function read(request: HttpRequest): Promise<Uint8Array | Unread> {
    const type = request.header("content-type") ?? "";
    const unsupported = (message: string) => ({ status: 415, error: "unsupported_media_type", message });
    if (!/^application\/json\s*(?:;|$)/i.test(type))
      return unsupported("Send the message with Content-Type: application/json.");
    const coding = request.header("content-encoding") ?? "identity";
    if (coding.toLowerCase() !== "identity")
      return unsupported("Send the message as it is, without Content-Encoding.");
    const bytes = await request.body();
    if (bytes !== "too_large") return bytes;
    const most = options.bodyBytes === undefined ? "" : ` Send at most ${options.bodyBytes} bytes.`;
    return { status: 413, error: "too_large", message: `The message is larger than allowed.${most}` };
  }

  async function subscribe(
    request: HttpRequest,
    principal: Principal,
    identity: Principal,
  ): Promise<HttpResponse> {
    const body = await read(request);
    if ("error" in body) return rejected(body.status, body.message);
    const parsed = parse(body, { mode: "tolerant" });
    if (!parsed.ok) return refusal(parsed.issues);
    if (parsed.message.type !== "subscription.request")
      return refusal([{ message: "Send a subscription.request here; replies go to the replies path." }]);
    const { answer, subscription } = hub.subscribe(parsed.message as never, principal, "sse");
    if (!subscription) return rejection(answer as SubscriptionRejected);
    const ticket = options.ticket?.(subscription.id, identity);
    const location = `${options.prefix}/events?subscription_id=${subscription.id}${ticket ? `&ticket=${ticket}` : ""}`;
    return json(201, answer, { location });
  }

  async function reply(request: HttpRequest, principal: Principal): Promise<HttpResponse> {
    const wait = hub.retryAfter(principal);
    if (wait !== undefined) return tooManyReplies(wait);
    const body = await read(request);
    if ("error" in body) return json(body.status, { error: body.error, message: body.message });
    const parsed = parse(body, { mode: "tolerant" });
    const type = parsed.ok ? parsed.message.type : parsed.type;
    const isReply = type === "confirmation.reply" || type === "clarification.reply";
    if (!parsed.ok) return isReply ? REPLY_REFUSED : bad(parsed.issues);
    if (isReply && !("subscription_id" in parsed.message)) return REPLY_REFUSED;
    if (
      parsed.kind !== "message" ||
      !("subscription_id" in parsed.message) ||
      parsed.message.type === "subscription.accepted"
    ) {
      return json(400, {
        error: "invalid_message",
        message: "This path takes replies, renegotiations and closes.",
      });
    }
    const message = parsed.message as Incoming;
    const handled = await hub.handle(message, principal);
    if (message.type === "subscription.close" && "taken" in handled && handled.taken)
      endStream(message.subscription_id, principal, "subscriber_closed");
    if ("answer" in handled) {
      // A rejected renegotiation ends the subscription; an expired credential does not.
      const { answer } = handled;
      if (answer.type === "subscription.rejected" && answer.reason_code !== "authentication_required")
        endStream(message.subscription_id, principal, "rejected");
      return handled.answer.type === "subscription.accepted"
        ? json(200, handled.answer)
        : rejection(handled.answer);
    }
    return handled.taken ? { status: 204, headers: { "cache-control": "no-store" } } : REPLY_REFUSED;
  }

  function events(request: HttpRequest, principal: Principal): HttpResponse {
    const id = request.url.searchParams.get("subscription_id") ?? "";
    if (id === "") {
      return json(400, {
        error: "subscription_missing",
        message: `Add ?subscription_id=… to the address. To get one, POST a subscription.request to ${options.prefix}/subscriptions.`,
      });
    }
    const subscription = hub.find(id, principal);
    // EventSource never retries after anything but 200. That is right here: only a new request opens a stream (F16).
    if (!subscription) {
      return json(410, {
        error: "subscription_unknown",
        message: "This subscription does not exist or has ended. Send a new subscription.request.",
      });
    }
    const lastEventId =
      request.header("last-event-id") || request.url.searchParams.get("last_event_id") || undefined;
    return {
      status: 200,
      headers: STREAM_HEADERS,
      stream: (stream) => openEvents(stream, subscription, lastEventId, principal),
    };
  }

  function openEvents(
    stream: HttpStream,
    subscription: SubscriptionHandle,
    lastEventId: string | undefined,
    principal: Principal,
  ): StreamEvents {
    let open = true;
    const end = (code: string) => {
      if (!open) return;
      stop();
      stream.end(encodeClosing(code));
    };
    const stop = () => {
      open = false;
      stopHeartbeat();
      stopExpiry();
      if (streams.get(subscription.id)?.close === close) streams.delete(subscription.id);
    };
    const peer = createPeer(stream, end);
    /** Closes the stream from this side. The hub goes first, so that no event follows the reason. */
    const close = (code: string) => {
      subscription.disconnect(peer);
      end(code);
    };
    const stopHeartbeat = options.every(options.heartbeatMs, () => void stream.write(SSE_HEARTBEAT));
    const stopExpiry = onExpiry(principal, () => close("credential_expired"));
    // Something at once, so that proxies forward the headers; and a random retry delay, because EventSource has no
    // jitter: all listeners of a lost agent would reconnect at the same moment (F16).
    void stream.write(`: connected\n${retryLine(options.random)}${keepId(lastEventId)}\n`);
    streams.set(subscription.id, { owner: principal.id, close });
    subscription.connect(peer, lastEventId);
    return {
      closed: () => {
        stop();
        subscription.disconnect(peer);
      },
      tooSlow: () => close("too_slow"),
    };
  }
}

const encodeEvent = ({ json, event_id, cursor }: Delivery): string =>
  encodeSseEvent(json, cursor ? event_id : undefined);

function createPeer(stream: HttpStream, close: (code: string) => void): Peer {
  return {
    send: (event) => stream.write(framed(event, "sse", encodeEvent), !event.critical),
    tell: (message) => void stream.write(encodeSseMessage(JSON.stringify(message))),
    close,
  };
}

/**
 * By the standard a stream starts with an empty last event id. The summaries and questions it begins with have no id of
 * their own, so without this the listener would lose its cursor.
 */
const keepId = (id: string | undefined): string =>
  id !== undefined && /^[!-~]{1,256}$/.test(id) ? `id: ${id}\n` : "";

/** After how many milliseconds a browser reconnects by itself. */
const retryLine = (random: () => number = Math.random): string =>
  `retry: ${Math.round(500 + 3_000 * random())}\n`;

/** A stream opened while the agent shuts down: it ends at once and says to reconnect. */
export const stoppingStream = (): HttpResponse => ({
  status: 200,
  headers: STREAM_HEADERS,
  body: `${retryLine()}${encodeClosing("producer_shutdown")}`,
});

/** SSE has no close codes: the last message says why a stream ends and whether to reconnect. */
function encodeClosing(code: string): string {
  const { reconnect, sentence } = closeReason(code);
  return encodeSseMessage(
    JSON.stringify({ type: "earshot:closing", reason_code: code, reason_message: sentence, reconnect }),
  );
}
