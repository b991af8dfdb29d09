/**
 * AAEP over gRPC (B.5, CON-63): one stream is one subscription, the request first. It is handed a stream whose caller
 * already passed authentication; messages are encoded once per event. A caller that ends its half goes on listening,
 * as gRPC has it: it can hear everything and answer nothing.
 */
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { type Parsed, parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { OtherMessage, SubscriptionRejected } from "../../protocol/types.ts";
import { openLine } from "../open-line.ts";
import { decodeJson, encodeAaepMessage, encodeEvent } from "./message.ts";
import { type Ending, endingOf, rejectionOf } from "./status.ts";

/** A stream as this binding needs it. */
export interface ServerStream {
  /** Writes one message; a promise where the other side does not read fast enough. */
  write(message: Buffer): Promise<void> | undefined;
  /** After everything written before. */
  end(ending: Ending): void;
}

export interface GrpcSession {
  message(bytes: Uint8Array): void;
  /** The caller has nothing more to say. */
  halfClosed(): void;
  closed(): void;
  /** Nothing was asked for, nothing is read, or the server stops: say why and end it (F14). */
  leave(code: CloseCode): void;
  /** Whether a subscription has been asked for and accepted. */
  readonly subscribed: boolean;
}

const unreadable = (message: string): Parsed => ({
  ok: false,
  type: undefined,
  issues: [{ path: "", code: "protobuf", message, ruling: "GRPC-02" }],
});

export function openGrpc(stream: ServerStream, hub: HubPort, principal: Principal): GrpcSession {
  /** A rejection ends the stream with a status of its own. */
  let rejected: SubscriptionRejected | undefined;
  const tell = (message: OtherMessage) => {
    if (message.type === "subscription.rejected") rejected = message;
    void stream.write(encodeAaepMessage(JSON.stringify(message), message.type));
  };
  const line = openLine(
    {
      transport: "grpc",
      framing: "grpc",
      outlived: true,
      encode: encodeEvent,
      write: (message) => stream.write(message as Buffer),
      tell,
      end: (code) => stream.end(code === "rejected" && rejected ? rejectionOf(rejected) : endingOf(code)),
    },
    hub,
    principal,
  );
  return {
    message(bytes) {
      const json = decodeJson(bytes);
      if (json) void line.receive(parse(json, { mode: "tolerant" }), tell);
      // Whoever cannot write the two fields cannot be understood later either.
      else if (line.subscribed) line.leave("protocol_violation");
      else void line.receive(unreadable("The bytes are no aaep.v1.AaepMessage."), tell);
    },
    halfClosed() {
      if (line.subscribed) return;
      void line.receive(unreadable("The stream ended before a subscription.request was sent."), tell);
    },
    closed: line.closed,
    leave: line.leave,
    get subscribed() {
      return line.subscribed;
    },
  };
}
