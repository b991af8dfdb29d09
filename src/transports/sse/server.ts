/**
 * AAEP over Server-Sent Events and POST (B.1, CON-65): three paths, the same for every HTTP server. It is handed
 * functions and byte streams; sockets, frameworks and authentication are somebody else's.
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
import { onExpiry } from "../server-connection.ts";

/** A response body that stays open. */
export interface TextStream {
  /** A promise means: wait until it settles before writing more. What is deferrable may wait a moment. */
  write(text: string, deferrable?: boolean): Promise<void> | undefined;
  /** Sends what is waiting and these last words, then ends. */
  end(last: string): void;
}

/** What whoever holds the bytes tells the binding. */
export interface OpenStream {
  /** The stream is gone. */
  gone(): void;
  /** Its reader does not keep up: say so and end it (F14). */
  slow(): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Called with the stream once the headers are out. */
  readonly stream?: (stream: TextStream) => OpenStream;
}

export interface HttpQuestion {
  readonly method: string;
  /** The path after the prefix: "/subscriptions", "/events", "/replies". */
  readonly path: string;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  readonly principal: Principal;
  /** The body, or "too_large"; only read where one is expected. */
  body(): Promise<Uint8Array | "too_large">;
}

export interface SseOptions {
  readonly prefix: string;
  readonly heartbeatMs: number;
  /** Calls back every so often until cancelled. */
  readonly every: (ms: number, callback: () => void) => () => void;
  readonly random?: () => number;
  /** The largest body there may be, for those whose body was larger. */
  readonly bodyBytes?: number;
  /** A ticket that lets a browser's EventSource open this one stream (CON-52). */
  readonly ticket?: (subscription_id: string, principal: Principal) => string | undefined;
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

const STREAM_HEADERS = {
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

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
});

const bad = (issues: readonly Issue[]): HttpAnswer =>
  json(issues[0]?.code === "too_large" ? 413 : 400, {
    error: "invalid_message",
    message: "The message is not valid; each issue says what was expected.",
    issues: issues.slice(0, 16),
  });

const MOST_REASON = 4_096;

/** A rejection has one sentence for all that is wrong: each issue says what was expected. */
const refusal = (issues: readonly (Pick<Issue, "message"> & Partial<Issue>)[]): HttpAnswer => {
  const reason_message = issues
    .slice(0, 16)
    .map(({ message }) => message)
    .join(" ")
    .slice(0, MOST_REASON);
  return rejected(issues[0]?.code === "too_large" ? 413 : 400, reason_message);
};

/** Whoever asks for a subscription is answered in AAEP's words, whatever was wrong (HS-04). */
export const rejected = (status: number, reason_message: string): HttpAnswer =>
  json(status, { type: "subscription.rejected", reason_code: "unknown", reason_message });

/** Why a message was not even looked at. */
interface Unread {
  readonly status: number;
  readonly error: string;
  readonly message: string;
}

/** Every refused reply looks like this, whatever was wrong with it (CON-11). */
const REPLY_REFUSED: HttpAnswer = json(400, { error: "reply_not_accepted" });

const tooManyReplies = (seconds: number): HttpAnswer =>
  json(
    429,
    {
      error: "too_many_replies",
      message: "Too many replies did not count. Wait a moment, then send one for a question you were asked.",
    },
    { "retry-after": String(seconds) },
  );

export function rejection(rejected: SubscriptionRejected): HttpAnswer {
  const retry = rejected.retry_after_seconds;
  return json(STATUS[rejected.reason_code], rejected, {
    ...(retry === undefined ? {} : { "retry-after": String(retry) }),
    ...(rejected.reason_code === "authentication_required"
      ? { "www-authenticate": 'Bearer realm="aaep"' }
      : {}),
  });
}

export function createSseServer(hub: HubPort, options: SseOptions) {
  /** How to end each subscription's open stream: what ends one may come by another call. */
  const streams = new Map<string, { readonly owner: string; readonly leave: (code: string) => void }>();
  /** Only what its owner did ends it. */
  const endStream = (subscription_id: string, { id }: Principal, code: string) => {
    const stream = streams.get(subscription_id);
    if (stream?.owner === id) stream.leave(code);
  };
  return async (question: HttpQuestion): Promise<HttpAnswer | undefined> => {
    const { method, path } = question;
    const allow = (...methods: string[]): HttpAnswer | undefined =>
      methods.includes(method)
        ? undefined
        : json(
            405,
            { error: "method_not_allowed", message: `Use ${methods.join(" or ")} here.` },
            { allow: methods.join(", ") },
          );
    switch (path) {
      case "/subscriptions":
        return allow("POST") ?? subscribe(question);
      case "/replies":
        return allow("POST") ?? reply(question);
      case "/events":
        return allow("GET") ?? events(question);
      default:
        return undefined;
    }
  };

  async function read(question: HttpQuestion): Promise<Uint8Array | Unread> {
    const type = question.header("content-type") ?? "";
    const unsupported = (message: string) => ({ status: 415, error: "unsupported_media_type", message });
    if (!/^application\/json\s*(?:;|$)/i.test(type))
      return unsupported("Send the message with Content-Type: application/json.");
    const coding = question.header("content-encoding") ?? "identity";
    if (coding.toLowerCase() !== "identity")
      return unsupported("Send the message as it is, without Content-Encoding.");
    const bytes = await question.body();
    if (bytes !== "too_large") return bytes;
    const most = options.bodyBytes === undefined ? "" : ` Send at most ${options.bodyBytes} bytes.`;
    return { status: 413, error: "too_large", message: `The message is larger than allowed.${most}` };
  }

  async function subscribe(question: HttpQuestion): Promise<HttpAnswer> {
    const body = await read(question);
    if ("error" in body) return rejected(body.status, body.message);
    const parsed = parse(body, { mode: "tolerant" });
    if (!parsed.ok) return refusal(parsed.issues);
    if (parsed.message.type !== "subscription.request")
      return refusal([{ message: "Send a subscription.request here; replies go to the replies path." }]);
    const { answer, subscription: line } = hub.subscribe(parsed.message as never, question.principal, "sse");
    if (!line) return rejection(answer as SubscriptionRejected);
    const ticket = options.ticket?.(line.id, question.principal);
    const location = `${options.prefix}/events?subscription_id=${line.id}${ticket ? `&ticket=${ticket}` : ""}`;
    return json(201, answer, { location });
  }

  async function reply(question: HttpQuestion): Promise<HttpAnswer> {
    const wait = hub.retryAfter(question.principal);
    if (wait !== undefined) return tooManyReplies(wait);
    const body = await read(question);
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
    const handled = await hub.handle(message, question.principal);
    if (message.type === "subscription.close" && "taken" in handled && handled.taken)
      endStream(message.subscription_id, question.principal, "subscriber_closed");
    if ("answer" in handled) {
      // A no to a renegotiation is the end of what was negotiated; a credential that ran out is not.
      const { answer } = handled;
      if (answer.type === "subscription.rejected" && answer.reason_code !== "authentication_required")
        endStream(message.subscription_id, question.principal, "rejected");
      return handled.answer.type === "subscription.accepted"
        ? json(200, handled.answer)
        : rejection(handled.answer);
    }
    return handled.taken ? { status: 204, headers: { "cache-control": "no-store" } } : REPLY_REFUSED;
  }

  function events(question: HttpQuestion): HttpAnswer {
    const id = question.query.get("subscription_id") ?? "";
    if (id === "") {
      return json(400, {
        error: "subscription_missing",
        message: `Name your subscription: ?subscription_id=…. POST a subscription.request to ${options.prefix}/subscriptions for one.`,
      });
    }
    const line = hub.find(id, question.principal);
    // EventSource gives up for good on anything but 200, and rightly so here: only a new request brings a stream (F16).
    if (!line) {
      return json(410, {
        error: "subscription_unknown",
        message: "This subscription does not exist or has ended. Send a new subscription.request.",
      });
    }
    const lastEventId = question.header("last-event-id") || question.query.get("last_event_id") || undefined;
    return {
      status: 200,
      headers: STREAM_HEADERS,
      stream: (stream) => openEvents(stream, line, lastEventId, question.principal),
    };
  }

  function openEvents(
    stream: TextStream,
    line: SubscriptionHandle,
    lastEventId: string | undefined,
    principal: Principal,
  ): OpenStream {
    let open = true;
    const close = (code: string) => {
      if (!open) return;
      done();
      stream.end(encodeClosing(code));
    };
    const done = () => {
      open = false;
      stopHeartbeat();
      stopExpiry();
      if (streams.get(line.id)?.leave === leave) streams.delete(line.id);
    };
    const peer = createPeer(stream, close);
    /** Ended from this side of the hub: the hub lets go first, so that nothing is sent after the last words. */
    const leave = (code: string) => {
      line.disconnect(peer);
      close(code);
    };
    const stopHeartbeat = options.every(options.heartbeatMs, () => void stream.write(SSE_HEARTBEAT));
    const stopExpiry = onExpiry(principal, () => leave("credential_expired"));
    // Something at once, so that proxies pass the headers on; and a pause of its own for everyone, because EventSource
    // has no jitter: a crowd that lost its agent would come back as one (F16).
    void stream.write(`: connected\n${retryLine(options.random)}${keepId(lastEventId)}\n`);
    streams.set(line.id, { owner: principal.id, leave });
    line.connect(peer, lastEventId);
    return {
      gone: () => {
        done();
        line.disconnect(peer);
      },
      slow: () => leave("too_slow"),
    };
  }
}

const encodeEvent = ({ json, event_id, cursor }: Delivery): string =>
  encodeSseEvent(json, cursor ? event_id : undefined);

function createPeer(stream: TextStream, close: (code: string) => void): Peer {
  return {
    send: (event) => stream.write(framed(event, "sse", encodeEvent), !event.critical),
    tell: (message) => void stream.write(encodeSseMessage(JSON.stringify(message))),
    close,
  };
}

/**
 * A stream begins with an empty last event id, by the letter of the standard: the summaries and questions it starts
 * with have none of their own, and would wipe out the place its listener had.
 */
const keepId = (id: string | undefined): string =>
  id !== undefined && /^[!-~]{1,256}$/.test(id) ? `id: ${id}\n` : "";

/** When a browser calls again by itself, in milliseconds. */
const retryLine = (random: () => number = Math.random): string =>
  `retry: ${Math.round(500 + 3_000 * random())}\n`;

/** For whoever opens a stream while the agent stops: it ends at once, and says to come back. */
export const stoppingStream = (): HttpAnswer => ({
  status: 200,
  headers: STREAM_HEADERS,
  body: `${retryLine()}${encodeClosing("producer_shutdown")}`,
});

/** SSE has no close codes: why a stream ends, and whether to come back, is its last message. */
function encodeClosing(code: string): string {
  const { reconnect, sentence } = closeReason(code);
  return encodeSseMessage(
    JSON.stringify({ type: "earshot:closing", reason_code: code, reason_message: sentence, reconnect }),
  );
}
