/**
 * One subscription on one connection (CON-51), from the request to the end, whatever carries it: the request comes
 * first, its answer next, then events one way and replies the other (IPC-05). A binding parses what came, hands it in
 * here, and is told what to write and when to end.
 */
import { type CloseCode, closeReason } from "../protocol/close-reasons.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import {
  type Delivery,
  framed,
  type HubPort,
  type Incoming,
  type Peer,
  type SubscriptionHandle,
} from "../protocol/hub-port.ts";
import type { Parsed } from "../protocol/parse.ts";
import type { Principal } from "../protocol/principal.ts";
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../protocol/types.ts";
import { whenExpired } from "./expiry.ts";
import { answerUnreadable, reasonOf } from "./unreadable.ts";

export type Answer = SubscriptionAccepted | SubscriptionRejected;

/** A connection as this needs it. */
interface LineSocket {
  /** The transport, as the hub and the metrics know it. */
  readonly transport: string;
  /** Two connections with the same framing share an event's bytes. */
  readonly framing: string;
  /** Whether a subscription can come back on another connection. */
  readonly outlived: boolean;
  encode(event: Delivery): Uint8Array;
  /** What is patient may wait a moment for more to go with it. */
  write(frame: Uint8Array, patient: boolean): Promise<void> | undefined;
  tell(message: OtherMessage): void;
  /** Lets the last words out, and ends. */
  end(code: string): void;
}

export interface OpenLine {
  /** `answer` is where this message's own answer goes. */
  receive(parsed: Parsed, answer: (message: Answer) => void): Promise<void>;
  /** The other side is gone. */
  closed(): void;
  /** Ended from this side, with a reason that is said first. */
  leave(code: CloseCode): void;
  readonly subscribed: boolean;
}

export function openLine(socket: LineSocket, hub: HubPort, principal: Principal): OpenLine {
  let line: SubscriptionHandle | undefined;
  let resumes = false;
  let ended = false;
  /** The hub has said itself that the subscription ends. */
  let told = false;
  const encode = (event: Delivery) => socket.encode(event);
  const end = (code: string) => {
    if (ended) return;
    ended = true;
    stopExpiry();
    socket.end(code);
  };
  /**
   * Streams have no close codes, so why it ends is the last message. Where the subscription outlives the line, only the
   * line is closed; where it does not, the subscription is, in AAEP's own words (5.8).
   */
  const say = (code: string) => {
    if (!line || ended || told || code === "subscriber_closed") return;
    const { sentence, reconnect } = closeReason(code);
    const why = { reason_code: code, reason_message: sentence };
    if (resumes) socket.tell({ type: "earshot:closing", ...why, reconnect });
    else socket.tell({ type: "subscription.close", subscription_id: line.id, ...why });
  };
  const leave = (code: CloseCode) => {
    line?.disconnect(peer);
    say(code);
    end(code);
  };
  const peer: Peer = {
    send: (event) =>
      ended ? undefined : socket.write(framed(event, socket.framing, encode), !event.critical),
    tell(message) {
      told ||= message.type === "subscription.close";
      if (!ended) socket.tell(message);
    },
    close(code) {
      say(code);
      end(code);
    },
  };
  const stopExpiry = whenExpired(principal, () => leave("credential_expired"));

  function subscribe(request: SubscriptionRequest, answer: (message: Answer) => void): void {
    if (line) {
      return answer({
        type: "subscription.rejected",
        reason_code: "capabilities_incompatible",
        reason_message:
          "There is one subscription per connection. Renegotiate this one, or open another connection.",
      });
    }
    const answered = hub.subscribe(request, principal, socket.transport);
    answer(answered.answer);
    if (!answered.subscription) return end("rejected");
    line = answered.subscription;
    const honored = answered.answer.honored_capabilities as Record<string, { resume?: unknown } | undefined>;
    resumes = socket.outlived && honored[EXTENSION_PREFIX]?.resume === true;
    line.connect(peer);
  }

  const refuse = (reason_message: string, answer: (message: Answer) => void) => {
    answer({ type: "subscription.rejected", reason_code: "unknown", reason_message });
    end("rejected");
  };

  return {
    async receive(parsed, answer) {
      if (ended) return;
      if (!parsed.ok) {
        // Before the handshake nothing can be right; after it, one bad message ends nothing.
        if (parsed.issues[0]?.code === "too_large") return leave("too_large");
        if (!line) return refuse(reasonOf(parsed), answer);
        const answered = await answerUnreadable(parsed, hub, principal, line);
        if (answered) answer(answered.answer);
        if (answered?.ends) end("rejected");
        return;
      }
      const { message } = parsed;
      if (message.type === "subscription.request") return subscribe(message as SubscriptionRequest, answer);
      if (!line) return refuse("Send a subscription.request first.", answer);
      if (parsed.kind !== "message" || !("subscription_id" in message)) return;
      const handled = await hub.handle(message as Incoming, principal, line);
      if ("answer" in handled) {
        answer(handled.answer);
        if (handled.answer.type === "subscription.rejected") end("rejected");
      } else if (message.type === "subscription.close" && handled.taken) end("subscriber_closed");
    },
    closed() {
      if (!ended) stopExpiry();
      ended = true;
      line?.disconnect(peer);
    },
    leave,
    get subscribed() {
      return line !== undefined;
    },
  };
}
