/** What a transport is handed: the hub's functions and nothing else. Messages have been parsed, senders authenticated. */
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

/** One event on its way: the text is made once, however many get it. */
export interface Outgoing {
  readonly event_id: string;
  readonly json: string;
  /** Never held up, not even for a moment. */
  readonly critical: boolean;
  /** False for summaries and re-sent questions: their id is no place to resume from. */
  readonly cursor: boolean;
  /** A transport keeps its framed bytes here, so that they too are made once. */
  frame?: unknown;
}

/** The listener's end of a transport, as the hub sees it. */
export interface Peer {
  /** A promise means: wait until it settles before sending more. */
  send(event: Outgoing): Promise<void> | undefined;
  /** A message that is not part of the event stream. */
  tell(message: OtherMessage): void;
  close(reason: string): void;
}

/** Everything a subscriber may send besides a request. */
export type Incoming =
  | Reply
  | SubscriptionRenegotiate
  | SubscriptionClose
  | MoreTime
  | WhatIsHappening
  | CancelSession
  | FollowSessions;

/** An accepted subscription, ready to be connected. */
export interface Line {
  readonly id: string;
  /** Starts the stream, or starts it again after an event. */
  connect(peer: Peer, lastEventId?: string): void;
  /** The line dropped without a word. */
  disconnect(peer: Peer): void;
}

export type Handled =
  | { readonly answer: SubscriptionAccepted | SubscriptionRejected }
  | { readonly taken: boolean };

export interface Door {
  request(
    request: SubscriptionRequest,
    principal: Principal,
    transport: string,
  ):
    | { readonly answer: SubscriptionRejected; readonly line?: undefined }
    | { readonly answer: SubscriptionAccepted; readonly line: Line };
  /** A subscription of this principal's, to open its stream. */
  find(subscription_id: string, principal: Principal): Line | undefined;
  handle(message: Incoming, principal: Principal, line?: Line): Handled;
}

/** Framed bytes of an event, made once per framing and shared by every connection that sends it. */
export function framed<Bytes>(event: Outgoing, framing: string, make: (event: Outgoing) => Bytes): Bytes {
  event.frame ??= {};
  const frames = event.frame as Record<string, Bytes>;
  frames[framing] ??= make(event);
  return frames[framing];
}
