/** The SSE client. It uses fetch instead of EventSource, so that request headers work in browsers too; runs anywhere. */
import { createParser } from "eventsource-parser";
import { createUtf8Decoder } from "../../framing/utf8.ts";
import type { ResumePoint } from "../../protocol/extension.ts";
import { parse } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRequest } from "../../protocol/types.ts";
import {
  type Answer,
  type ClientTransport,
  type ConnectionClosed,
  ConnectionError,
  type ConnectionEvents,
  closedWith,
  createSilenceTimer,
  SILENCE_MS,
  type SilenceTimer,
  type Token,
  tokenOf,
  withResume,
} from "../client-connection.ts";

export interface SseClientOptions {
  /** The agent's address, e.g. http://127.0.0.1:4600. */
  readonly url: string;
  readonly token?: Token;
  readonly prefix?: string;
  readonly fetch?: typeof fetch;
  /** A stream without any bytes, heartbeats included, for this long is closed as half-open (F15). */
  readonly silenceMs?: number;
}

/** Characters buffered of one unfinished event: no message may be larger than 1 MiB. */
const MOST_BUFFERED = 1_114_112;

export function createSseClient(options: SseClientOptions): ClientTransport {
  const { prefix = "/aaep/v1", silenceMs = SILENCE_MS } = options;
  const base = options.url.replace(/\/$/, "");
  const call = options.fetch ?? fetch;
  /** The accepted subscription: its stream can be reopened without a new handshake. */
  let known: { readonly answer: SubscriptionAccepted; readonly stream: string } | undefined;

  const authorization = async (): Promise<Record<string, string>> => {
    const token = await tokenOf(options.token);
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  };

  const post = async (path: string, message: unknown): Promise<Response> =>
    call(`${base}${prefix}${path}`, {
      method: "POST",
      headers: { ...(await authorization()), "content-type": "application/json" },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(silenceMs),
    });

  /** While an agent restarts, nothing answers at its address, or a proxy answers with a 5xx status. */
  async function deliver(message: OtherMessage): Promise<Response> {
    const response = await post("/replies", message).catch((error: unknown) => {
      throw new ConnectionError("unreachable", "The agent cannot be reached.", true, { cause: error });
    });
    if (response.status < 500) return response;
    await response.body?.cancel();
    throw new ConnectionError("unreachable", `The agent cannot be reached (${response.status}).`, true);
  }

  /** The stream's address as the producer gave it, unless it has another origin: credentials are sent to this origin only. */
  function streamOf(response: Response, { subscription_id }: SubscriptionAccepted): string {
    const own = `${base}${prefix}/events?subscription_id=${encodeURIComponent(subscription_id)}`;
    const location = response.headers.get("location");
    if (location === null || !URL.canParse(location, own)) return own;
    const url = new URL(location, own);
    return url.origin === new URL(own).origin ? url.href : own;
  }

  async function handshake(
    request: SubscriptionRequest,
    resume: ResumePoint | undefined,
  ): Promise<{ answer: Answer; stream: string }> {
    const response = await post("/subscriptions", withResume(request, resume));
    const answer = await answerOf(response);
    return { answer, stream: answer.type === "subscription.accepted" ? streamOf(response, answer) : "" };
  }

  return {
    name: "sse",
    async open(request, resume, events) {
      const abort = new AbortController();
      const silence = createSilenceTimer(silenceMs, () => abort.abort());
      const listen = async (address: string) => {
        const last = resume?.last_event_id;
        const headers = {
          ...(await authorization()),
          accept: "text/event-stream",
          "cache-control": "no-cache",
        };
        return call(address, {
          headers: last === undefined ? headers : { ...headers, "last-event-id": last },
          signal: abort.signal,
        });
      };
      let stream: Response | undefined;
      try {
        if (resume && known?.answer.subscription_id === resume.subscription_id) {
          stream = await listen(known.stream);
          if (stream.status !== 200) {
            await stream.body?.cancel();
            stream = known = undefined;
          }
        }
        if (!stream) {
          const shaken = await handshake(request, resume);
          if (shaken.answer.type === "subscription.rejected") {
            silence.stop();
            return { answer: shaken.answer, send: async () => ({ taken: false }), close() {} };
          }
          known = shaken as { answer: SubscriptionAccepted; stream: string };
          stream = await listen(known.stream);
          if (stream.status !== 200)
            throw new ConnectionError(
              "stream_refused",
              `The stream was refused with status ${stream.status}.`,
              stream.status >= 500,
            );
        }
      } catch (error) {
        silence.stop();
        abort.abort();
        throw error instanceof ConnectionError
          ? error
          : new ConnectionError("unreachable", "The agent cannot be reached.", true, { cause: error });
      }
      void pump(stream, events, abort, silence);
      return {
        answer: known!.answer,
        async send(message: OtherMessage) {
          const response = await deliver(message);
          if (message.type === "subscription.renegotiate") {
            const answer = await answerOf(response);
            if (answer.type === "subscription.accepted" && known) known = { ...known, answer };
            return { taken: answer.type === "subscription.accepted", answer };
          }
          await response.body?.cancel();
          // Third-party producers may only confirm that it arrived (SSE-04).
          return { taken: response.status === 204 || (response.ok ? undefined : false) };
        },
        close: () => abort.abort(),
      };
    },
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const parsed = parse(await response.text(), { mode: "tolerant" });
  if (
    parsed.ok &&
    (parsed.message.type === "subscription.accepted" || parsed.message.type === "subscription.rejected")
  ) {
    return parsed.message as Answer;
  }
  throw new ConnectionError(
    "unexpected_answer",
    `The agent answered ${response.status} without saying whether it accepts.`,
    response.status >= 500 || response.status === 429,
  );
}

async function pump(
  response: Response,
  events: ConnectionEvents,
  abort: AbortController,
  silence: SilenceTimer,
): Promise<void> {
  let reason: ConnectionClosed = closedWith("connection_lost");
  const parser = createParser({
    maxBufferSize: MOST_BUFFERED,
    onEvent: ({ event, id, data }) => {
      // Event names are a SHOULD (SSE-03): unnamed events count too.
      if (event === "aaep.event" || event === "message" || event === undefined)
        events.message(data, id !== undefined);
      else if (event === "aaep.message") {
        const parsed = parse(data, { mode: "tolerant" });
        if (parsed.ok && parsed.message.type === "earshot:closing") {
          const { reason_code, reason_message, reconnect } = parsed.message as {
            reason_code: string;
            reason_message?: string;
            reconnect: boolean;
          };
          reason = {
            code: reason_code,
            reconnect,
            message: reason_message ?? "The agent closed the connection.",
          };
        } else events.message(data, false);
      }
    },
    onError: ({ type }) => {
      if (type !== "max-buffer-size-exceeded") return;
      reason = {
        code: "too_large",
        reconnect: false,
        message: "The agent sent a message larger than allowed.",
      };
      abort.abort();
    },
  });
  const decode = createUtf8Decoder();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      silence.reset();
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(decode(value));
    }
  } catch {
    // Lost, or closed by us: the subscriber knows which of the two.
  } finally {
    silence.stop();
    abort.abort();
    events.closed(reason);
  }
}
