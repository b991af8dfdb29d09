// An agent behind a real gRPC server on loopback, our own listeners for it, and bare gRPC clients that see every byte.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import { createProducer, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import { type GrpcOptions, type ServingGrpc, serveGrpc } from "../../src/server/grpc/grpc.ts";
import type { LogEntry } from "../../src/server/telemetry.ts";
import { type ConnectOptions, subscribe } from "../../src/subscriber/connect.ts";
import type { Subscriber } from "../../src/subscriber/subscriber.ts";
import { asBytes, SUBSCRIBE_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson, encodeAaepMessage } from "../../src/transports/grpc/protobuf.ts";

export type Message = Record<string, unknown> & { type: string };

/** Runs when the test ends, last registered first. Not a hook of this module: it would run for one test file only. */
export const later = (cleanup: () => unknown): void => onTestFinished(async () => void (await cleanup()));

export interface World {
  producer: Producer;
  server: ServingGrpc;
  logs: LogEntry[];
}

export async function world(
  options: GrpcOptions = {},
  producing: Partial<ProducerOptions> = {},
): Promise<World> {
  const logs: LogEntry[] = [];
  const producer = createProducer({ agent_id: "bank", agent_name: "Bank", warn: () => {}, ...producing });
  const server = await serveGrpc(producer, { port: 0, log: (entry) => logs.push(entry), ...options });
  later(() => server.close());
  return { producer, server, logs };
}

/** One of our own listeners. Waits between tries are nothing, so that a test need not wait either. */
export async function listen(
  { server }: { server: ServingGrpc },
  options: ConnectOptions = {},
  url = server.address,
): Promise<Subscriber> {
  const listener = await subscribe(url, {
    languages: ["en-US"],
    random: () => 0,
    ...(server.token === undefined ? {} : { token: server.token }),
    ...options,
  });
  later(() => listener.close());
  return listener;
}

export const REQUEST = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "bare",
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_extensions: [EXTENSION_URI],
  },
};

/** A stream of a client that knows gRPC and nothing else. */
export class Bare {
  readonly call: grpc.ClientDuplexStream<Buffer, Buffer>;
  readonly messages: Message[] = [];
  readonly ended: Promise<grpc.StatusObject>;
  #woken = () => {};

  constructor(
    server: ServingGrpc,
    {
      token = server.token,
      metadata = {},
      options = {},
      credentials = grpc.credentials.createInsecure(),
    }: BareOptions = {},
  ) {
    const client = new grpc.Client(`127.0.0.1:${server.port}`, credentials, {
      "grpc.use_local_subchannel_pool": 1,
      ...options,
    });
    const sent = new grpc.Metadata();
    if (token != null) sent.set("authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    this.call = client.makeBidiStreamRequest(SUBSCRIBE_PATH, asBytes, asBytes, sent);
    this.call.on("error", () => {});
    this.ended = new Promise((resolve) => this.call.on("status", resolve));
    void this.ended.then(() => this.#woken());
    this.call.on("data", (bytes: Buffer) => {
      this.messages.push(JSON.parse(Buffer.from(decodeJson(bytes)!).toString()));
      this.#woken();
    });
    later(() => {
      this.call.cancel();
      client.close();
    });
  }

  send(message: object, hint = String((message as Message).type)): void {
    this.call.write(encodeAaepMessage(JSON.stringify(message), hint));
  }

  /** The first message that fits, now or later; never comes back if the stream ends before it. */
  async until(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => {
        this.#woken = resolve;
      });
    }
  }

  type(type: string): Promise<Message> {
    return this.until((message) => message.type === type);
  }

  trailer = async (name: string): Promise<string | undefined> =>
    (await this.ended).metadata.get(name)[0]?.toString();
}

export interface BareOptions {
  /** Null shows none. */
  token?: string | null | undefined;
  metadata?: Record<string, string>;
  options?: grpc.ChannelOptions;
  credentials?: grpc.ChannelCredentials;
}

/** A listener that has been accepted. */
export async function admitted(server: ServingGrpc, options?: BareOptions): Promise<Bare & { id: string }> {
  const bare = new Bare(server, options);
  bare.send(REQUEST);
  const { subscription_id } = await bare.type("subscription.accepted");
  return Object.assign(bare, { id: String(subscription_id) });
}

/** A cable between a listener and the server, to be cut by hand, or after so many bytes towards the listener. */
export class Cable {
  port = 0;
  cuts = 0;
  cutting = false;
  readonly #open = new Set<Socket>();

  static async lay(target: () => number, bytes?: () => number): Promise<Cable> {
    const cable = new Cable();
    const server = createServer((near) => {
      // Anywhere: inside the settings, inside the headers, inside a message, between two.
      cable.#join(
        near,
        connect(target(), "127.0.0.1"),
        cable.cutting && bytes ? bytes() : Number.POSITIVE_INFINITY,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cable.port = (server.address() as AddressInfo).port;
    later(() => {
      cable.cut();
      server.close();
    });
    return cable;
  }

  get url(): string {
    return `grpc://127.0.0.1:${this.port}`;
  }

  #join(near: Socket, far: Socket, bytes: number): void {
    let left = bytes;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.#open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end).on("close", end);
      socket.on("close", () => this.#open.delete(socket));
    }
    near.on("data", (data) => far.write(data));
    far.on("data", (data: Buffer) => {
      if (left <= 0) return;
      const part = data.subarray(0, Math.min(data.length, left));
      left -= part.length;
      if (left > 0) return void near.write(part);
      this.cuts++;
      // Written first: what comes before the cut must have a chance to arrive.
      near.write(part, end);
    });
  }

  cut(): void {
    for (const socket of [...this.#open]) socket.destroy();
  }

  /** Neither side hears anything any more, not even that the other is gone. */
  freeze(): void {
    for (const socket of this.#open) socket.pause();
  }
}

/** Settles once something holds, asked again whenever the event loop comes round. */
export async function eventually(holds: () => boolean, what: string, ms = 20_000): Promise<void> {
  const until = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > until) throw new Error(`It never came to that: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
