/**
 * AAEP over gRPC (B.5, CON-63): one stream is one subscription, the request first. It is handed a stream whose caller
 * already passed authentication; messages are encoded once per event. A caller that ends its half goes on listening,
 * as gRPC has it: it can hear everything and answer nothing.
 */
import { type CloseCode, closeReason } from "../../protocol/close-reasons.ts";
import { type Door, framed, type Incoming, type Line, type Peer } from "../../protocol/door.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { SubscriptionRejected, SubscriptionRequest } from "../../protocol/types.ts";
import { whenExpired } from "../expiry.ts";
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

export function openGrpc(stream: ServerStream, door: Door, principal: Principal): GrpcSession {
  let line: Line | undefined;
  let ended = false;
  const tell = (message: { readonly type: string }) =>
    void stream.write(encodeAaepMessage(JSON.stringify(message), message.type));
  const end = (ending: Ending) => {
    if (ended) return;
    ended = true;
    stopExpiry();
    stream.end(ending);
  };
  const close = (code: string) => end(endingOf(code));
  /** Ended from this side of the door: the hub lets go first, so that nothing is sent after the status. */
  const leave = (code: CloseCode) => {
    if (ended) return;
    line?.disconnect(peer);
    if (line && code === "producer_shutdown") {
      const reason_message = closeReason(code).sentence;
      tell({
        type: "subscription.close",
        subscription_id: line.id,
        reason_code: code,
        reason_message,
      } as never);
    }
    close(code);
  };
  const peer: Peer = { send: (event) => stream.write(framed(event, "grpc", encodeEvent)), tell, close };
  const stopExpiry = whenExpired(principal, () => leave("credential_expired"));

  function reject(rejected: SubscriptionRejected): void {
    tell(rejected);
    line?.disconnect(peer);
    end(rejectionOf(rejected));
  }
  const refuse = (reason_message: string) =>
    reject({ type: "subscription.rejected", reason_code: "unknown", reason_message });

  function subscribe(request: SubscriptionRequest): void {
    if (line) {
      return tell({
        type: "subscription.rejected",
        reason_code: "capabilities_incompatible",
        reason_message: "There is one subscription per stream. Renegotiate this one, or open another stream.",
      } as never);
    }
    const answered = door.request(request, principal, "grpc");
    if (!answered.line) return reject(answered.answer);
    tell(answered.answer);
    line = answered.line;
    line.connect(peer);
  }

  return {
    message(bytes) {
      if (ended) return;
      const json = decodeJson(bytes);
      // Whoever cannot write the two fields cannot be understood later either.
      if (!json) return line ? leave("protocol_violation") : refuse("The bytes are no aaep.v1.AaepMessage.");
      const parsed = parse(json, { mode: "tolerant" });
      if (!parsed.ok) {
        // Before the handshake nothing can be right; after it, one bad message is ignored like any other (CNF-15).
        if (parsed.issues[0]?.code === "too_large") leave("too_large");
        else if (!line) refuse(parsed.issues[0]?.message ?? "The message is not valid.");
        return;
      }
      const { message } = parsed;
      if (message.type === "subscription.request") return subscribe(message as SubscriptionRequest);
      if (!line) return refuse("Send a subscription.request first.");
      if (parsed.kind !== "message" || !("subscription_id" in message)) return;
      const handled = door.handle(message as Incoming, principal, line);
      if ("answer" in handled) {
        if (handled.answer.type === "subscription.rejected") reject(handled.answer);
        else tell(handled.answer);
      } else if (message.type === "subscription.close" && handled.taken) close("subscriber_closed");
    },
    halfClosed() {
      if (!line) refuse("The stream ended before a subscription.request was sent.");
    },
    closed() {
      ended = true;
      stopExpiry();
      line?.disconnect(peer);
    },
    leave,
    get subscribed() {
      return line !== undefined;
    },
  };
}
