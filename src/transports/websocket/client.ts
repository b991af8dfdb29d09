/** AAEP over WebSocket, the listener's side. Resuming needs our extension; without it a drop means a fresh start (WS-06). */
import { CLOSE_REASONS } from "../../protocol/close-reasons.ts";
import { parse } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRejected } from "../../protocol/types.ts";
import {
  createAlarm,
  type LineEvents,
  lineError,
  type ResumePoint,
  SILENCE_MS,
  type Token,
  tokenOf,
  withResume,
} from "../line.ts";

export type { Token } from "../line.ts";

/** The part of a WebSocket that browsers, Node and the ws package share. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** The ws package shows pings and pongs, and sends them; browsers keep them to themselves. */
  on?(name: "ping" | "pong", listener: () => void): unknown;
  ping?(): void;
  terminate?(): void;
}

export interface WebSocketClientOptions {
  /** The endpoint, e.g. ws://127.0.0.1:4600/aaep/v1/ws. */
  readonly url: string;
  readonly token?: Token;
  readonly create: (
    url: string,
    protocol: string,
    headers: Readonly<Record<string, string>>,
  ) => WebSocketLike;
  /** Where pings can be seen, something must come at least this often; otherwise the line is taken for dead (F15). */
  readonly silence_ms?: number;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;
type Line = {
  answer: Answer;
  send(message: OtherMessage): Promise<{ taken: boolean | undefined; answer?: Answer }>;
  close(): void;
};

/** A close as our table knows it: by code and sentence, else by code; others are the network's doing. */
export function closeOf(
  code: number,
  sentence: string,
): { code: string; reconnect: boolean; message: string } {
  const known = Object.entries(CLOSE_REASONS).filter(([, { websocket }]) => websocket === code);
  const [name, reason] = known.find(([, one]) => one.sentence === sentence) ??
    known[0] ?? ["connection_lost", CLOSE_REASONS.connection_lost];
  return { code: name, reconnect: reason.reconnect, message: sentence || reason.sentence };
}

export function createWebSocketClient({
  url,
  token,
  create,
  silence_ms = SILENCE_MS,
}: WebSocketClientOptions) {
  return {
    name: "websocket",
    async open(request: object, resume: ResumePoint | undefined, events: LineEvents): Promise<Line> {
      const credential = await tokenOf(token);
      const socket = create(
        url,
        "aaep.v1",
        credential === undefined ? {} : { authorization: `Bearer ${credential}` },
      );
      return new Promise<Line>((resolve, reject) => {
        const renegotiations: { settle(answer: Answer): void; fail(error: Error): void }[] = [];
        let answered = false;
        const alarm = createAlarm(silence_ms, () => {
          ended({ code: "unreachable", reconnect: true, message: CLOSE_REASONS.unreachable.sentence });
          if (socket.terminate) socket.terminate();
          else socket.close();
        });
        /** Nobody has to ping us: an agent that is quiet is asked before it is given up. */
        const doubt = createAlarm(silence_ms / 2, () => answered && socket.ping?.());
        const heard = () => {
          alarm.heard();
          doubt.heard();
        };
        const deaf = () => {
          alarm.stop();
          doubt.stop();
        };
        const ended = (reason: ReturnType<typeof closeOf>) => {
          deaf();
          socket.onmessage = socket.onclose = null;
          for (const { fail } of renegotiations.splice(0))
            fail(lineError("connection_lost", "The line dropped before the answer came.", true));
          if (answered) events.closed(reason);
          else
            reject(
              lineError(
                reason.code === "connection_lost" ? "unreachable" : reason.code,
                reason.message,
                reason.reconnect,
              ),
            );
        };
        const line = (answer: Answer): Line => ({
          answer,
          async send(message) {
            socket.send(JSON.stringify(message));
            if (message.type !== "subscription.renegotiate") return { taken: undefined };
            const renegotiated = await new Promise<Answer>((settle, fail) =>
              renegotiations.push({ settle, fail }),
            );
            return { taken: renegotiated.type === "subscription.accepted", answer: renegotiated };
          },
          close: () =>
            socket.close(CLOSE_REASONS.subscriber_closed.websocket, CLOSE_REASONS.subscriber_closed.sentence),
        });
        socket.onopen = () => socket.send(JSON.stringify(withResume(request, resume)));
        socket.onmessage = ({ data }) => {
          heard();
          const text = String(data);
          // Handshake answers are few and short; everything else is the subscriber's to parse.
          const parsed = text.includes('"subscription.') ? parse(text, { mode: "tolerant" }) : undefined;
          const type = parsed?.ok ? parsed.message.type : undefined;
          if (type !== "subscription.accepted" && type !== "subscription.rejected")
            return events.message(text, true);
          const answer = (parsed as { message: unknown }).message as Answer;
          if (answered) return renegotiations.shift()?.settle(answer);
          answered = true;
          // Where pings cannot be seen, silence says nothing: an agent may have nothing to say for hours.
          if (socket.on) for (const sign of ["ping", "pong"] as const) socket.on(sign, heard);
          else deaf();
          resolve(line(answer));
        };
        socket.onerror = () => {};
        socket.onclose = ({ code, reason }) => ended(closeOf(code, reason));
      });
    },
  };
}
