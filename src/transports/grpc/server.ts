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
import { decodeJson, encodeAaepMessage, encodeEvent } from "./message.ts";
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
