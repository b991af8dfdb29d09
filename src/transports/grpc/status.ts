/** How a stream ends: a standard gRPC status, and our close reason in the trailers. */
import { type CloseCode, closeReason } from "../../protocol/close-reasons.ts";
import type { SubscriptionRejected } from "../../protocol/types.ts";

/** The gRPC status codes used here. */
export const STATUS = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** The close reason and whether to reconnect; a rejection also has its reason code. */
const CLOSE_TRAILER = "aaep-close-reason";
const RECONNECT_TRAILER = "aaep-reconnect";
const REJECTION_TRAILER = "aaep-rejection-reason";
const RETRY_TRAILER = "aaep-retry-after-seconds";

export interface Ending {
  readonly code: number;
  /** Safe to show to the peer and to a person. */
  readonly details: string;
  readonly trailers: Readonly<Record<string, string>>;
}

const MOST_DETAILS = 200;

const BY_CLOSE: Readonly<Record<CloseCode, number>> = {
  subscriber_closed: STATUS.OK,
  producer_closed: STATUS.OK,
  producer_shutdown: STATUS.UNAVAILABLE,
  rejected: STATUS.FAILED_PRECONDITION,
  authentication_failed: STATUS.UNAUTHENTICATED,
  credential_expired: STATUS.UNAUTHENTICATED,
  authorization_denied: STATUS.PERMISSION_DENIED,
  protocol_violation: STATUS.INVALID_ARGUMENT,
  not_found: STATUS.NOT_FOUND,
  replaced: STATUS.ABORTED,
  too_large: STATUS.RESOURCE_EXHAUSTED,
  too_slow: STATUS.RESOURCE_EXHAUSTED,
  unreachable: STATUS.UNAVAILABLE,
  connection_lost: STATUS.UNAVAILABLE,
};

const BY_REJECTION: Readonly<Record<SubscriptionRejected["reason_code"], number>> = {
  version_unsupported: STATUS.FAILED_PRECONDITION,
  manifest_signature_required: STATUS.FAILED_PRECONDITION,
  capabilities_incompatible: STATUS.FAILED_PRECONDITION,
  rate_limit: STATUS.RESOURCE_EXHAUSTED,
  authentication_required: STATUS.UNAUTHENTICATED,
  authorization_denied: STATUS.PERMISSION_DENIED,
  transport_unavailable: STATUS.UNIMPLEMENTED,
  unknown: STATUS.INVALID_ARGUMENT,
};

export function endingOf(close: string): Ending {
  const { reconnect, sentence } = closeReason(close);
  return {
    code: BY_CLOSE[close as CloseCode] ?? STATUS.OK,
    details: sentence,
    trailers: { [CLOSE_TRAILER]: close, [RECONNECT_TRAILER]: String(reconnect) },
  };
}

/** After a rejected request, or a rejected renegotiation, which ends the subscription too. */
export function rejectionOf({
  reason_code,
  reason_message,
  retry_after_seconds,
}: SubscriptionRejected): Ending {
  return {
    code: BY_REJECTION[reason_code] ?? STATUS.FAILED_PRECONDITION,
    // The message has the full text. Trailers are kept small, because some clients refuse large ones.
    details: Array.from(reason_message.replace(/\p{Surrogate}/gu, ""))
      .slice(0, MOST_DETAILS)
      .join(""),
    trailers: {
      [CLOSE_TRAILER]: "rejected",
      [RECONNECT_TRAILER]: "false",
      [REJECTION_TRAILER]: reason_code,
      ...(retry_after_seconds === undefined ? {} : { [RETRY_TRAILER]: String(retry_after_seconds) }),
    },
  };
}

/**
 * The close reason of a stream, on the client: from our trailers, or, for a producer without them, from the status.
 * A status that is not clearly a rejection is treated as a network failure, so the client reconnects.
 */
export function closeOf(
  code: number,
  details: string,
  trailer: (name: string) => string | undefined,
): { code: string; reconnect: boolean; message: string } {
  const own = trailer(CLOSE_TRAILER);
  const close = own ?? BY_STATUS.get(code) ?? "connection_lost";
  const { reconnect, sentence } = closeReason(close);
  const said = trailer(RECONNECT_TRAILER);
  return {
    code: close,
    reconnect: said === undefined ? reconnect : said === "true",
    message: (own !== undefined && details) || sentence,
  };
}

const BY_STATUS = new Map<number, CloseCode>([
  [STATUS.OK, "producer_closed"],
  [STATUS.INVALID_ARGUMENT, "protocol_violation"],
  [STATUS.FAILED_PRECONDITION, "rejected"],
  [STATUS.NOT_FOUND, "not_found"],
  [STATUS.PERMISSION_DENIED, "authorization_denied"],
  [STATUS.UNIMPLEMENTED, "rejected"],
  [STATUS.UNAUTHENTICATED, "authentication_failed"],
]);
