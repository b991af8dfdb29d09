/** The reasons for closing a connection, in one table: whether to reconnect, the close code, and a sentence. */
export interface CloseReason {
  /** Whether the subscriber should reconnect. */
  readonly reconnect: boolean;
  /** WebSocket close code (B.2.6). */
  readonly websocket: number;
  /** Safe to show to the peer and to a person. */
  readonly sentence: string;
}

export const CLOSE_REASONS = {
  subscriber_closed: { reconnect: false, websocket: 4005, sentence: "The listener ended the subscription." },
  producer_closed: { reconnect: false, websocket: 4000, sentence: "The agent ended the subscription." },
  producer_shutdown: {
    reconnect: true,
    websocket: 1012,
    sentence: "The agent is restarting. Reconnect in a moment.",
  },
  rejected: { reconnect: false, websocket: 4001, sentence: "The subscription was rejected." },
  authentication_failed: {
    reconnect: false,
    websocket: 4002,
    sentence: "The credentials are missing or not valid.",
  },
  credential_expired: {
    reconnect: true,
    websocket: 4002,
    sentence: "The credentials have expired. Sign in again and reconnect.",
  },
  authorization_denied: {
    reconnect: false,
    websocket: 4003,
    sentence: "These credentials do not allow this.",
  },
  protocol_violation: {
    reconnect: false,
    websocket: 4004,
    sentence: "A message broke the rules of the protocol.",
  },
  not_found: {
    reconnect: false,
    websocket: 4004,
    sentence: "This subscription does not exist any more. Send a new request.",
  },
  replaced: {
    reconnect: false,
    websocket: 4000,
    sentence: "The same subscription was opened again elsewhere.",
  },
  too_large: { reconnect: false, websocket: 1009, sentence: "A message was larger than allowed." },
  too_slow: {
    reconnect: true,
    websocket: 1013,
    sentence: "This listener could not keep up. Reconnect and go on from the last event.",
  },
  unreachable: { reconnect: true, websocket: 1001, sentence: "The other side did not answer any more." },
  connection_lost: { reconnect: true, websocket: 1006, sentence: "The connection was lost." },
} as const satisfies Record<string, CloseReason>;

export type CloseCode = keyof typeof CLOSE_REASONS;

export const closeReason = (code: string): CloseReason =>
  Object.hasOwn(CLOSE_REASONS, code) ? CLOSE_REASONS[code as CloseCode] : CLOSE_REASONS.producer_closed;
