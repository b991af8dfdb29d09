/** The port a transport's client fills: open a line, hear text, send messages. Parsing and resuming are the subscriber's. */
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../protocol/types.ts";

/** Where a subscription was, for going on there. */
export interface ResumePoint {
  readonly subscription_id: string;
  readonly last_event_id: string | undefined;
}

export interface LineEvents {
  /** One message, as text. `cursor` is false where the transport says that its id is no place to resume from. */
  message(text: string, cursor: boolean): void;
  /** The line is gone; called once. */
  closed(reason: LineClosed): void;
}

export interface LineClosed {
  readonly code: string;
  readonly reconnect: boolean;
  readonly message: string;
}

/** What came of a message: taken or not, with an answer where there is one. */
export interface Sent {
  readonly taken: boolean | undefined;
  readonly answer?: SubscriptionAccepted | SubscriptionRejected;
}

export interface ClientLine {
  readonly answer: SubscriptionAccepted | SubscriptionRejected;
  /** `undefined` where the transport has no way to say whether a message was taken. */
  send(message: OtherMessage): Promise<Sent>;
  close(): void;
}

export interface ClientTransport {
  readonly name: string;
  open(
    request: SubscriptionRequest,
    resume: ResumePoint | undefined,
    events: LineEvents,
  ): Promise<ClientLine>;
}

/** The line could not be opened. `reconnect` says whether trying again makes sense. */
export class LineError extends Error {
  override readonly name = "LineError";
  readonly code: string;
  readonly reconnect: boolean;
  constructor(code: string, message: string, reconnect: boolean, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.reconnect = reconnect;
  }
}
