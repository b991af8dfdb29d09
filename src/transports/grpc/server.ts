/**
 * AAEP over gRPC (B.5, CON-63): one stream is one subscription. It is given a stream whose caller has already been
 * authenticated. A caller that ends its half keeps receiving, as usual in gRPC, but can no longer reply.
 */
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { type Parsed, parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { OtherMessage, SubscriptionRejected } from "../../protocol/types.ts";
import { type Answer, type ConnectionObserver, ServerConnection } from "../server-connection.ts";
import { decodeJson, encodeAaepMessage, encodeEvent } from "./protobuf.ts";
import { type Ending, endingOf, rejectionOf } from "./status.ts";

export interface GrpcOutput {
  /** Writes one message. A promise is backpressure. */
  write(message: Buffer): Promise<void> | undefined;
  /** Ends the stream after everything written has been sent. */
  end(ending: Ending): void;
}

export interface GrpcConnection {
  /** A promise is backpressure: read nothing more until it settles. */
  message(bytes: Uint8Array): Promise<void> | undefined;
  /** The caller will send nothing more. */
  halfClosed(): void;
  closed(): void;
  close(code: CloseCode): void;
  readonly subscribed: boolean;
}

const invalid = (message: string): Parsed => ({
  ok: false,
  type: undefined,
  issues: [{ path: "", code: "protobuf", message, ruling: "GRPC-02" }],
});

export function openGrpc(
  output: GrpcOutput,
  hub: HubPort,
  principal: Principal,
  observer?: ConnectionObserver,
): GrpcConnection {
  /** A rejection ends the stream with a status of its own. */
  let rejected: SubscriptionRejected | undefined;
  const tell = (message: OtherMessage) => {
    if (message.type === "subscription.rejected") rejected = message;
    void output.write(encodeAaepMessage(JSON.stringify(message), message.type));
  };
  const respond = (answer?: Answer) => answer && tell(answer);
  const connection = new ServerConnection(
    {
      transport: "grpc",
      framing: "grpc",
      resumable: true,
      hasCloseCodes: false,
      encode: encodeEvent,
      write: (message) => output.write(message as Buffer),
      tell,
      close: (code) => output.end(code === "rejected" && rejected ? rejectionOf(rejected) : endingOf(code)),
    },
    hub,
    principal,
    observer,
  );
  return {
    message(bytes) {
      const json = decodeJson(bytes);
      if (json) return connection.receive(parse(json, { mode: "tolerant" }), respond);
      // A caller that cannot encode the two fields will not be understood later either.
      if (connection.subscribed) connection.close("protocol_violation");
      else connection.receive(invalid("The bytes are no aaep.v1.AaepMessage."), respond);
      return undefined;
    },
    halfClosed() {
      if (connection.subscribed) return;
      connection.receive(invalid("The stream ended before a subscription.request was sent."), respond);
    },
    closed: () => connection.closed(),
    close: (code) => connection.close(code),
    get subscribed() {
      return connection.subscribed;
    },
  };
}

/** The writing half of a gRPC stream. */
export interface MessageStream {
  /** False once it is full. `done` is called when the message has been sent. */
  write(message: Buffer, done: () => void): boolean;
  once(name: "drain", listener: () => void): unknown;
}

interface StreamWriterOptions {
  /** Most bytes that may wait in one stream. */
  readonly queueBytes: number;
  /** How long a stream may take none. */
  readonly blockedMs: number;
  /** Called once, when either limit is exceeded. */
  readonly onSlow: () => void;
}

export interface StreamWriter {
  /** A promise is backpressure. */
  write(message: Buffer): Promise<void> | undefined;
  /** Sends nothing more, and releases the backpressure. */
  release(): void;
}

/** Writes to one gRPC stream with backpressure and a bounded queue (F14). */
export function createStreamWriter(
  stream: MessageStream,
  { queueBytes, blockedMs, onSlow }: StreamWriterOptions,
): StreamWriter {
  let waiting = 0;
  /** Messages are sent in order, so one shared callback is enough; with one each, Node takes a turn per message. */
  const sizes: number[] = [];
  const sent = () => {
    waiting -= sizes.shift() ?? 0;
  };
  let over = false;
  let blocked: { promise: Promise<void>; release: () => void } | undefined;

  const tooSlow = () => {
    if (over) return;
    // Before the backpressure is released: code that waits for it must find the connection closed.
    over = true;
    onSlow();
    blocked?.release();
  };
  const block = (): Promise<void> => {
    if (blocked) return blocked.promise;
    let resolve = () => {};
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    const timer = setTimeout(tooSlow, blockedMs);
    timer.unref();
    const release = () => {
      clearTimeout(timer);
      blocked = undefined;
      resolve();
    };
    blocked = { promise, release };
    stream.once("drain", release);
    return promise;
  };

  return {
    write(message) {
      if (over) return undefined;
      const size = message.byteLength;
      waiting += size;
      if (waiting > queueBytes) return void tooSlow();
      sizes.push(size);
      return stream.write(message, sent) ? undefined : block();
    },
    release() {
      over = true;
      blocked?.release();
    },
  };
}
