/**
 * How many answers that do not count somebody may send (A02, SEC-04). Guessing 128 random bits is hopeless anyway; this
 * bounds the work, and makes a pattern of it visible. It is per principal, across all their subscriptions, and whoever
 * is over it learns nothing but that: right and wrong answers are turned away alike.
 */
export interface ReplyRateOptions {
  /** Refused replies at once. */
  readonly refused_replies: number;
  /** One more is forgiven this often. */
  readonly forgive_ms: number;
}

export interface ReplyRate {
  allows(principal_id: string): boolean;
  refused(principal_id: string): void;
  /** Always the same, so that it tells nothing. */
  readonly retry_after_seconds: number;
}

const MOST_PRINCIPALS = 10_000;

export function createReplyRate(
  { refused_replies, forgive_ms }: ReplyRateOptions,
  now: () => number = () => performance.now(),
): ReplyRate {
  /** When the last failure will be forgiven; whoever failed longest ago first. */
  const until = new Map<string, number>();
  return {
    retry_after_seconds: Math.max(1, Math.ceil(forgive_ms / 1000)),
    allows: (id) => (until.get(id) ?? 0) - now() <= (refused_replies - 1) * forgive_ms,
    refused(id) {
      const forgiven = Math.max(until.get(id) ?? 0, now()) + forgive_ms;
      until.delete(id);
      if (until.size >= MOST_PRINCIPALS) until.delete(until.keys().next().value!);
      until.set(id, forgiven);
    },
  };
}
