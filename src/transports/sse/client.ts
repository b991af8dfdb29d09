/** AAEP over SSE, the listener's side: fetch-based, so that headers work in browsers too. No browser, no Node in particular. */
import { createParser } from "eventsource-parser";
import { createUtf8Decoder } from "../../framing/utf8.ts";
import { parse } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRejected } from "../../protocol/types.ts";
import {
  type Alarm,
  createAlarm,
  type LineEvents,
  lineError,
  type ResumePoint,
  SILENCE_MS,
  type Token,
  tokenOf,
  withResume,
} from "../line.ts";

export interface SseClientOptions {
  /** The agent's address, e.g. http://127.0.0.1:4600. */
  readonly url: string;
  readonly token?: Token;
  readonly prefix?: string;
  readonly fetch?: typeof fetch;
  /** Bytes, heartbeats included, must come at least this often; otherwise the line is taken for dead (F15). */
  readonly silence_ms?: number;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;

/** Characters of one event, unfinished: no message may be larger than 1 MiB. */
const MOST_BUFFERED = 1_114_112;

/** Fills the subscriber's transport port; typed by shape, so that transports lean on nothing of it. */
export function createSseClient(options: SseClientOptions) {
  const { prefix = "/aaep/v1", silence_ms = SILENCE_MS } = options;
  const base = options.url.replace(/\/$/, "");
  const call = options.fetch ?? fetch;
  /** The subscription this client has, for when its stream is opened again without a handshake. */
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
      signal: AbortSignal.timeout(silence_ms),
    });

  /** While an agent restarts, nobody answers there, or a proxy does in its place. */
  async function deliver(message: OtherMessage): Promise<Response> {
    const response = await post("/replies", message).catch((error: unknown) => {
      throw lineError("unreachable", "The agent cannot be reached.", true, error);
    });
    if (response.status < 500) return response;
    await response.body?.cancel();
    throw lineError("unreachable", `The agent cannot be reached (${response.status}).`, true);
  }

  /** The stream's address as the producer gave it, unless it leads elsewhere: credentials go nowhere else. */
  function streamOf(response: Response, { subscription_id }: SubscriptionAccepted): string {
    const own = `${base}${prefix}/events?subscription_id=${encodeURIComponent(subscription_id)}`;
    const location = response.headers.get("location");
    if (location === null || !URL.canParse(location, own)) return own;
    const url = new URL(location, own);
    return url.origin === new URL(own).origin ? url.href : own;
  }

  async function handshake(
    request: object,
    resume: ResumePoint | undefined,
  ): Promise<{ answer: Answer; stream: string }> {
    const response = await post("/subscriptions", withResume(request, resume));
    const answer = await answerOf(response);
    return { answer, stream: answer.type === "subscription.accepted" ? streamOf(response, answer) : "" };
  }

  return {
    name: "sse",
    async open(request: object, resume: ResumePoint | undefined, events: LineEvents) {
      const abort = new AbortController();
      const alarm = createAlarm(silence_ms, () => abort.abort());
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
            alarm.stop();
            return { answer: shaken.answer, send: async () => ({ taken: false }), close() {} };
          }
          known = shaken as { answer: SubscriptionAccepted; stream: string };
          stream = await listen(known.stream);
          if (stream.status !== 200)
            throw lineError(
              "stream_refused",
              `The stream was refused with status ${stream.status}.`,
              stream.status >= 500,
            );
        }
      } catch (error) {
        alarm.stop();
        abort.abort();
        throw error instanceof Error && "reconnect" in error
          ? error
          : lineError("unreachable", "The agent cannot be reached.", true, error);
      }
      void pump(stream, events, abort, alarm);
      return {
        answer: known!.answer as Answer,
        async send(message: OtherMessage) {
          const response = await deliver(message);
          if (message.type === "subscription.renegotiate") {
            const answer = await answerOf(response);
            if (answer.type === "subscription.accepted" && known) known = { ...known, answer };
            return { taken: answer.type === "subscription.accepted", answer };
          }
          await response.body?.cancel();
          // Other people's agents may say no more than that it arrived (SSE-04).
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
  throw lineError(
    "unexpected_answer",
    `The agent answered ${response.status} without saying whether it accepts.`,
    response.status >= 500 || response.status === 429,
  );
}

async function pump(
  response: Response,
  events: LineEvents,
  abort: AbortController,
  alarm: Alarm,
): Promise<void> {
  let reason = { code: "connection_lost", reconnect: true, message: "The connection was lost." };
  const parser = createParser({
    maxBufferSize: MOST_BUFFERED,
    onEvent: ({ event, id, data }) => {
      // Names are a SHOULD (SSE-03): what has none is heard too.
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
      alarm.heard();
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(decode(value));
    }
  } catch {
    // Lost, or closed by us: the subscriber knows which.
  } finally {
    alarm.stop();
    abort.abort();
    events.closed(reason);
  }
}
