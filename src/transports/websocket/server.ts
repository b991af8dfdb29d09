/**
 * AAEP over WebSocket (B.2, CON-64): one endpoint, one message per text frame, the request first. It is handed a socket
 * that already passed authentication; frames are built once per event and written straight to the connection.
 */
import { type CloseCode, closeReason } from "../../protocol/close-reasons.ts";
import {
  type Delivery,
  framed,
  type HubPort,
  type Incoming,
  type Peer,
  type SubscriptionHandle,
} from "../../protocol/hub-port.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { SubscriptionRequest } from "../../protocol/types.ts";
import { whenExpired } from "../expiry.ts";
import { answerUnreadable, reasonOf } from "../unreadable.ts";

export const SUBPROTOCOL = "aaep.v1";
/** A no to a renegotiation ends what was accepted; 4001 is for the handshake alone (CON-64). */
const REFUSED_LATER = 4004;

/** A WebSocket as this binding needs it. */
export interface ServerSocket {
  /** Writes one whole text frame, as `frame` made it. What is patient may wait a moment for more to go with it. */
  write(frame: Uint8Array, patient?: boolean): Promise<void> | undefined;
  frame(text: string): Uint8Array;
  close(code: number, reason: string): void;
}

export interface WebSocketSession {
  /** Text, or binary bytes that are read as text all the same. */
  message(data: string | Uint8Array): void;
  closed(): void;
  /** Nothing was asked for, or nothing is read: say why and end it (F14). */
  leave(code: CloseCode): void;
  /** Whether a subscription has been asked for and accepted. */
  readonly subscribed: boolean;
}

export function openWebSocket(socket: ServerSocket, hub: HubPort, principal: Principal): WebSocketSession {
  let line: SubscriptionHandle | undefined;
  let ended = false;
  const encode = ({ json }: Delivery) => socket.frame(json);
  const tell = (message: unknown) => void socket.write(socket.frame(JSON.stringify(message)));
  const close = (code: string, number?: number) => {
    if (ended) return;
    ended = true;
    stopExpiry();
    const { websocket, sentence } = closeReason(code);
    socket.close(number ?? websocket, sentence);
  };
  /** Ended from this side of the hub: the hub lets go first, so that nothing is sent after the close frame. */
  const leave = (code: CloseCode) => {
    line?.disconnect(peer);
    close(code);
  };
  const peer: Peer = {
    send: (event) => socket.write(framed(event, "websocket", encode), !event.critical),
    tell,
    close,
  };
  const stopExpiry = whenExpired(principal, () => leave("credential_expired"));

  function subscribe(request: SubscriptionRequest): void {
    if (line) {
      return tell({
        type: "subscription.rejected",
        reason_code: "capabilities_incompatible",
        reason_message:
          "There is one subscription per connection. Renegotiate this one, or open another connection.",
      });
    }
    const { answer, subscription } = hub.subscribe(request, principal, "websocket");
    tell(answer);
    if (!subscription) return close("rejected");
    line = subscription;
    line.connect(peer);
  }

  return {
    message(data) {
      if (ended) return;
      const parsed = parse(data, { mode: "tolerant" });
      if (!parsed.ok) {
        // Before the handshake nothing can be right; after it, one bad message ends nothing.
        if (parsed.issues[0]?.code === "too_large") return close("too_large");
        if (!line) return refuse(reasonOf(parsed));
        return void answerUnreadable(parsed, hub, principal, line).then((answered) => {
          if (answered) tell(answered.answer);
          if (answered?.ends) close("rejected", REFUSED_LATER);
        });
      }
      const { message } = parsed;
      if (message.type === "subscription.request") return subscribe(message as SubscriptionRequest);
      if (!line) return refuse("Send a subscription.request first.");
      if (parsed.kind !== "message" || !("subscription_id" in message)) return;
      void hub.handle(message as Incoming, principal, line).then((handled) => {
        if ("answer" in handled) {
          tell(handled.answer);
          // The subscription is over, which is the agent's doing (4004), and not for anything that was sent wrongly.
          if (handled.answer.type === "subscription.rejected") close("rejected", REFUSED_LATER);
        } else if (message.type === "subscription.close" && handled.taken) close("subscriber_closed");
      });
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

  function refuse(reason_message: string): void {
    tell({ type: "subscription.rejected", reason_code: "unknown", reason_message });
    close("rejected");
  }
}
