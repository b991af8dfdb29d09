/**
 * The hub as transports see it: the only interface between the two. Messages arrive here parsed and senders authenticated; a
 * transport needs nothing else of the hub, and the hub nothing else of a transport.
 */
import type { Offer } from "./negotiate.ts";
import type { Principal } from "./principal.ts";
import type {
  CancelSession,
  FollowSessions,
  MoreTime,
  OtherMessage,
  Reply,
  SubscriptionAccepted,
  SubscriptionClose,
  SubscriptionRejected,
  SubscriptionRenegotiate,
  SubscriptionRequest,
  WhatIsHappening,
} from "./types.ts";

/** One event on its way to subscribers. It is serialized once, however many receive it. */
export interface Delivery {
  readonly event_id: string;
  readonly json: string;
  /** Sent at once; everything else may be batched for a moment. */
  readonly critical: boolean;
  /** False for summaries and re-sent questions: their id is not a cursor. */
  readonly cursor: boolean;
  /** Framed bytes by framing, cached here by transports; see `framed`. */
  frame?: unknown;
}

/** The subscriber's end of a connection, as the hub sees it. */
export interface Peer {
  /** A promise is backpressure: send nothing more until it settles. */
  send(delivery: Delivery): Promise<void> | undefined;
  /** Sends a message that is not part of the event stream. */
  tell(message: OtherMessage): void;
  close(reason: string): void;
}

/** Everything a subscriber may send besides a subscription request. */
export type Incoming =
  | Reply
  | SubscriptionRenegotiate
  | SubscriptionClose
  | MoreTime
  | WhatIsHappening
  | CancelSession
  | FollowSessions;

/** The result of a message: an answer to send back, or whether it took effect. */
export type Handled =
  | { readonly answer: SubscriptionAccepted | SubscriptionRejected }
  | { readonly taken: boolean };

/** An accepted subscription, ready to be connected. */
export interface SubscriptionHandle {
  readonly id: string;
  /** Starts the event stream, or resumes it after the given event. */
  connect(peer: Peer, lastEventId?: string): void;
  /** The connection was lost without a close message. */
  disconnect(peer: Peer): void;
}

export type Subscribed =
  | { readonly answer: SubscriptionRejected; readonly subscription?: undefined }
  | { readonly answer: SubscriptionAccepted; readonly subscription: SubscriptionHandle };

export interface HubPort {
  subscribe(request: SubscriptionRequest, principal: Principal, transport: string): Subscribed;
  /** A subscription of this principal, to open its stream. */
  find(subscription_id: string, principal: Principal): SubscriptionHandle | undefined;
  /** `subscription` is the one the message's connection belongs to, where it belongs to one. */
  handle(message: Incoming, principal: Principal, subscription?: SubscriptionHandle): Promise<Handled>;
  /** Where the principal is over the reply rate limit: after how many seconds to try again. */
  retryAfter(principal: Principal): number | undefined;
}

/** Notified of what happens at the port, for metrics and logs. */
export interface HubObserver {
  handshake(
    request: SubscriptionRequest,
    subscribed: Subscribed,
    principal: Principal,
    transport: string,
  ): void;
  connected(subscription_id: string, principal: Principal, transport: string, resumed: boolean): void;
  disconnected(subscription_id: string, principal: Principal): void;
  replied(message: Incoming, principal: Principal, outcome: "taken" | "refused"): void;
  /** The reply rate limit turned a message away. */
  rateLimited(principal: Principal): void;
  /** A principal came back with other rights, so the subscription made with the old ones was closed. */
  rightsChanged(subscription_id: string, principal: Principal): void;
}

/** What a producer gives to servers: the hub port, and what they publish and measure. It does not lead to the log. */
export interface ServerPort extends HubPort {
  readonly offer: Offer;
  readonly subscriptions: number;
  /** The position of the next log entry. */
  readonly nextPosition: number;
  /** Reports what happens at the port until the returned function is called. */
  observe(observer: HubObserver): () => void;
}

/** Framed bytes of a delivery, made once per framing and shared by every connection that sends it. */
export function framed<Bytes>(
  delivery: Delivery,
  framing: string,
  encode: (delivery: Delivery) => Bytes,
): Bytes {
  delivery.frame ??= {};
  const frames = delivery.frame as Record<string, Bytes>;
  frames[framing] ??= encode(delivery);
  return frames[framing];
}
