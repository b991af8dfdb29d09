/** Listeners made by hand, one per binding: they speak B.1 and B.2 and keep every frame as it came. */
import type { Socket } from "node:net";
import { createParser } from "eventsource-parser";
import { WebSocket } from "ws";
import type { Principal } from "../../src/protocol/principal.ts";
import type { SubscriptionAccepted, SubscriptionRejected } from "../../src/protocol/types.ts";
import { bearerOf, LOCAL, type Posted, type TestServer } from "./test-server.ts";

export interface Frame {
  /** The SSE event's name; over WebSocket a guess by content. */
  readonly name: string;
  readonly id: string | undefined;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly json: any;
}

export interface Ended {
  /** WebSocket's close code; SSE has none. */
  readonly code: number | undefined;
  readonly reason: string;
}

export interface RawClient {
  readonly answer: SubscriptionAccepted | SubscriptionRejected;
  /** The handshake's HTTP status; WebSocket has none. */
  readonly posted: Posted | undefined;
  readonly frames: readonly Frame[];
  readonly socket: Socket;
  /** The first frame, from the start or yet to come, that fits. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  untilType(type: string): Promise<Frame>;
  /** Over SSE with the answer to the POST; over WebSocket there is none. */
  send(message: object, as?: Principal): Promise<Posted | undefined>;
  readonly ended: Promise<Ended>;
  drop(): void;
}

export interface Calling {
  readonly request?: object;
  readonly principal?: Principal;
  /** Go on in this subscription, after this event. */
  readonly resume?: { readonly subscription_id: string; readonly last_event_id?: string };
}

export const requestWith = (fields: object = {}): object => ({
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "by-hand",
  capabilities: { supports_confirmation_reply: true, supports_clarification_reply: true },
  ...fields,
});

class Frames {
  readonly all: Frame[] = [];
  readonly #waiting = new Set<(frame: Frame) => void>();

  push(name: string, id: string | undefined, text: string): void {
    const frame = { name, id, text, json: JSON.parse(text) };
    this.all.push(frame);
    for (const tell of this.#waiting) tell(frame);
  }

  until(fits: (frame: Frame) => boolean): Promise<Frame> {
    const known = this.all.find(fits);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      const tell = (frame: Frame) => {
        if (!fits(frame)) return;
        this.#waiting.delete(tell);
        resolve(frame);
      };
      this.#waiting.add(tell);
    });
  }
}

const isType = (type: string) => (frame: Frame) => frame.json.type === type;

async function callSse(
  server: TestServer,
  { request = requestWith(), principal = LOCAL, resume }: Calling = {},
): Promise<RawClient> {
  const posted = resume ? undefined : await server.post("/subscriptions", request, principal);
  const answer = posted ? JSON.parse(posted.body) : { subscription_id: resume!.subscription_id };
  const frames = new Frames();
  const base = {
    answer,
    posted,
    frames: frames.all,
    until: (fits: (frame: Frame) => boolean) => frames.until(fits),
    untilType: (type: string) => frames.until(isType(type)),
    send: (message: object, as = principal) => server.post("/replies", message, as),
  };
  if (posted && posted.status !== 201)
    return { ...base, socket: undefined as never, ended: new Promise(() => {}), drop() {} };
  const last = resume?.last_event_id;
  const { response, socket } = await server.stream(
    answer.subscription_id,
    principal,
    last === undefined ? {} : { "last-event-id": last },
  );
  if (response.statusCode !== 200) throw new Error(`The stream was refused with ${response.statusCode}.`);
  const parser = createParser({ onEvent: ({ event = "message", id, data }) => frames.push(event, id, data) });
  response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
  const ended = new Promise<Ended>((resolve) => {
    response.on("error", () => {});
    response.on("close", () => {
      const closing = frames.all.find(isType("earshot:closing"));
      resolve({ code: undefined, reason: closing?.json.reason_code ?? "connection_lost" });
    });
  });
  return { ...base, socket, ended, drop: () => void socket.destroy() };
}

function callWebSocket(
  server: TestServer,
  { request = requestWith(), principal = LOCAL, resume }: Calling = {},
): Promise<RawClient> {
  const frames = new Frames();
  const dialled = server.dial();
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/aaep/v1/ws`, "aaep.v1", {
    headers: { authorization: `Bearer ${bearerOf(principal)}` },
    createConnection: () => dialled,
  });
  const asked = resume ? { ...request, extensions: { earshot: { resume } } } : request;
  socket.on("open", () => socket.send(JSON.stringify(asked)));
  socket.on("message", (data) => {
    const text = String(data);
    frames.push(text.includes('"event_id"') ? "aaep.event" : "aaep.message", undefined, text);
  });
  const ended = new Promise<Ended>((resolve) => {
    socket.on("error", () => {});
    socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
  });
  return Promise.race([
    frames.until((frame) => /^subscription\.(?:accepted|rejected)$/.test(frame.json.type)),
    ended.then(({ code, reason }) => {
      throw Object.assign(new Error(`Closed before an answer: ${code} ${reason}`), { code, reason });
    }),
  ]).then((first) => ({
    answer: first.json,
    posted: undefined,
    frames: frames.all,
    socket: dialled,
    until: (fits) => frames.until(fits),
    untilType: (type) => frames.until(isType(type)),
    send: async (message, as) => {
      if (as) return server.post("/replies", message, as);
      socket.send(JSON.stringify(message));
      return undefined;
    },
    ended,
    drop: () => socket.terminate(),
  }));
}

export const TRANSPORTS = [
  ["sse", callSse],
  ["websocket", callWebSocket],
] as const;
