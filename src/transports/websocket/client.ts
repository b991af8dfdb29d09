/** The WebSocket client. Resuming needs our extension; without it, a new connection is a new subscription (WS-06). */
import { CLOSE_REASONS } from "../../protocol/close-reasons.ts";
import {
  type ClientTransport,
  type ConnectionClosed,
  openConnection,
  SILENCE_MS,
  type Token,
  tokenOf,
  withResume,
} from "../client-connection.ts";

export type { Token } from "../client-connection.ts";

/** The part of a WebSocket that browsers, Node and the ws package share. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** The ws package reports pings and pongs and can send pings; browsers hide them. */
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
  /** Where pings can be observed: a connection that is silent for this long is closed as half-open (F15). */
  readonly silenceMs?: number;
}

/** A close code as an entry of the close-reason table: by code and sentence, else by code, else a lost connection. */
export function closeOf(code: number, sentence: string): ConnectionClosed {
  const known = Object.entries(CLOSE_REASONS).filter(([, { websocket }]) => websocket === code);
  const [name, reason] = known.find(([, one]) => one.sentence === sentence) ??
    known[0] ?? ["connection_lost", CLOSE_REASONS.connection_lost];
  return { code: name, reconnect: reason.reconnect, message: sentence || reason.sentence };
}

export function createWebSocketClient({
  url,
  token,
  create,
  silenceMs = SILENCE_MS,
}: WebSocketClientOptions): ClientTransport {
  return {
    name: "websocket",
    async open(request, resume, events) {
      const credential = await tokenOf(token);
      const headers: Record<string, string> =
        credential === undefined ? {} : { authorization: `Bearer ${credential}` };
      const socket = create(url, "aaep.v1", headers);
      return openConnection({
        request: withResume(request, resume),
        events,
        answerMs: silenceMs,
        silenceMs,
        connect(input) {
          socket.onmessage = ({ data }) => input.message(String(data));
          // The close event that follows says what is known.
          socket.onerror = () => {};
          socket.onclose = ({ code, reason }) => input.closed(closeOf(code, reason));
          for (const sign of ["ping", "pong"] as const) socket.on?.(sign, () => input.alive());
          return {
            write(message, id) {
              const text = JSON.stringify(message);
              // The request is the first message: it waits until the socket is open.
              if (id === 1) socket.onopen = () => socket.send(text);
              else socket.send(text);
            },
            close() {
              const { websocket, sentence } = CLOSE_REASONS.subscriber_closed;
              socket.close(websocket, sentence);
            },
            destroy: () => (socket.terminate ? socket.terminate() : socket.close()),
            ...(socket.on ? { ping: () => socket.ping?.() } : {}),
          };
        },
      });
    },
  };
}
