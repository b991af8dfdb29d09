// A real server on loopback and bare clients for it: sockets, HTTP and WebSocket, so that what is sent and answered is
// seen byte by byte. Everything waits for events; nothing sleeps.

import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { createParser } from "eventsource-parser";
import { onTestFinished } from "vitest";
import WebSocket from "ws";
import { createProducer, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import { type ServeOptions, type Serving, serve } from "../../src/server/serve.ts";
import type { LogEntry } from "../../src/server/telemetry.ts";

export type Message = Record<string, unknown> & { type: string };

/** Runs when the test ends, last registered first. Not a hook of this module: it would run for one test file only. */
export const later = (cleanup: () => unknown): void => onTestFinished(async () => void (await cleanup()));

export interface World {
  producer: Producer;
  server: Serving;
  logs: LogEntry[];
}

export async function world(
  options: ServeOptions = {},
  producing: Partial<ProducerOptions> = {},
): Promise<World> {
  const logs: LogEntry[] = [];
  const producer = createProducer({ agent_id: "bank", agent_name: "Bank", warn: () => {}, ...producing });
  const server = await serve(producer, {
    port: 0,
    tokenFile: false,
    log: (entry) => logs.push(entry),
    ...options,
  });
  later(() => server.close());
  return { producer, server, logs };
}

/** People by the bearer token they show. */
export const people = (known: Record<string, Partial<Principal>>) => ({
  auth: ({ bearer }: { bearer: string | undefined }): Principal | undefined =>
    bearer !== undefined && Object.hasOwn(known, bearer)
      ? { id: bearer, role: "reply", audiences: [bearer], ...known[bearer] }
      : undefined,
});

export interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  json: Record<string, unknown>;
}

export interface Call {
  method?: string;
  token?: string | undefined;
  headers?: Record<string, string>;
  body?: unknown;
  tls?: Record<string, unknown>;
}

function start(url: string, { method = "GET", token, headers = {}, body, tls = {} }: Call): ClientRequest {
  const make = url.startsWith("https:") ? httpsRequest : httpRequest;
  return make(url, {
    method,
    agent: false,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...tls,
  });
}

export function call(url: string, options: Call = {}): Promise<Answer> {
  const { body } = options;
  return new Promise((resolve, reject) => {
    const request = start(url, options);
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        let json = {};
        try {
          json = JSON.parse(text) as Record<string, unknown>;
        } catch {}
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
      response.on("error", reject);
    });
    request.end(
      body === undefined || typeof body === "string" || body instanceof Uint8Array
        ? body
        : JSON.stringify(body),
    );
  });
}

/** Sends bytes as they are and answers with every byte that came back until the other side closed. */
export function raw(
  port: number,
  bytes: string | Uint8Array,
  prepare?: (socket: Socket) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp(port, "127.0.0.1");
    const parts: Buffer[] = [];
    socket.on("data", (part: Buffer) => parts.push(part));
    socket.on("close", () => resolve(Buffer.concat(parts).toString("latin1")));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.write(bytes);
    prepare?.(socket);
    later(() => socket.destroy());
  });
}

export const REQUEST = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "listener",
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_conformance_levels: [1, 2, 3],
  },
};

/** What is heard, and a way to wait for it. */
export class Inbox {
  readonly heard: Message[] = [];
  #waiting: (() => void)[] = [];
  ended = false;

  push(message: Message): void {
    this.heard.push(message);
    this.#wake();
  }
  end(): void {
    this.ended = true;
    this.#wake();
  }
  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
  async until(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.heard.find(fits);
      if (found) return found;
      if (this.ended)
        throw new Error(`The stream ended; heard: ${this.heard.map(({ type }) => type).join(", ")}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
  of(type: string): Promise<Message> {
    return this.until((message) => message.type === type);
  }
}

export class Stream extends Inbox {
  status = 0;
  headers: IncomingMessage["headers"] = {};
  /** Every field of every event, as the parser saw it. */
  readonly frames: { event: string | undefined; id: string | undefined; data: string }[] = [];
  text = "";
  #looking: (() => void)[] = [];
  feed(part: string): void {
    this.text += part;
    for (const look of this.#looking.splice(0)) look();
  }
  /** Once the bytes so far fit. */
  async sees(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) await new Promise<void>((resolve) => this.#looking.push(resolve));
  }
  closed: Promise<void> = Promise.resolve();
  destroy: () => void = () => {};
}

export function openStream(url: string, options: Call = {}): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const stream = new Stream();
    const parser = createParser({
      onEvent: ({ event, id, data }) => {
        stream.frames.push({ event, id, data });
        stream.push(JSON.parse(data) as Message);
      },
    });
    const request = start(url, options);
    stream.destroy = () => request.destroy();
    later(stream.destroy);
    request.on("error", reject);
    request.on("response", (response) => {
      stream.status = response.statusCode ?? 0;
      stream.headers = response.headers;
      stream.closed = new Promise((done) =>
        response.once("close", () => {
          stream.end();
          done();
        }),
      );
      response.on("error", () => {});
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        stream.feed(part);
        parser.feed(part);
      });
      resolve(stream);
    });
    request.end();
  });
}

export interface Listener {
  id: string;
  stream: Stream;
  accepted: Record<string, unknown>;
  location: string;
}

export async function listen(
  server: Serving,
  token = server.token,
  request: object = REQUEST,
): Promise<Listener> {
  const answer = await call(`${server.http}${server.prefix}/subscriptions`, {
    method: "POST",
    token,
    body: request,
  });
  if (answer.status !== 201) throw new Error(`Not accepted: ${answer.status} ${answer.text}`);
  const id = String(answer.json["subscription_id"]);
  const location = String(answer.headers.location);
  const stream = await openStream(`${server.http}${server.prefix}/events?subscription_id=${id}`, { token });
  return { id, stream, accepted: answer.json, location };
}

export class Wire extends Inbox {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  constructor(socket: WebSocket) {
    super();
    this.socket = socket;
    socket.on("message", (data) => this.push(JSON.parse(String(data)) as Message));
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => {
        this.end();
        resolve({ code, reason: String(reason) });
      });
    });
    socket.on("error", () => {});
  }
  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }
}

export function dial(
  url: string,
  options: {
    token?: string | undefined;
    protocols?: string[];
    headers?: Record<string, string>;
    tls?: object;
  } = {},
): Promise<Wire> {
  const { token, protocols = ["aaep.v1"], headers = {}, tls = {} } = options;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, protocols, {
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...tls,
    });
    const wire = new Wire(socket);
    socket.on("open", () => resolve(wire));
    socket.on("unexpected-response", (_, response) => {
      response.resume();
      reject(Object.assign(new Error(`HTTP ${response.statusCode}`), { status: response.statusCode }));
    });
    socket.on("error", reject);
    later(() => socket.terminate());
  });
}

/** A question that waits, and what became of it. */
export function ask(producer: Producer, audience?: readonly string[]) {
  const session = producer.start({ summary: "Moving money.", ...(audience ? { audience } : {}) });
  const outcome = session.confirm({
    action: "Transfer 500 dollars to savings.",
    consequence: "Funds move at once.",
    risk: "high",
    irreversible: true,
    timeout_seconds: 120,
    waitForListenerSeconds: 60,
  });
  later(() => session.ended || session.cancel().catch(() => {}));
  return { session, outcome };
}

export const asked = async (inbox: Inbox, session_id: string): Promise<string> => {
  const prompt = await inbox.until(
    (one) => one.type === "aaep:agent.awaiting.confirmation" && one["session_id"] === session_id,
  );
  return String(prompt["reply_token"]);
};

export const reply = (reply_token: string, subscription_id: string, fields: object = {}) => ({
  type: "confirmation.reply",
  reply_token,
  decision: "accept",
  subscription_id,
  timestamp: new Date().toISOString(),
  ...fields,
});

export const sendReply = (server: Serving, token: string | undefined, body: unknown): Promise<Answer> =>
  call(`${server.http}${server.prefix}/replies`, { method: "POST", token, body });
