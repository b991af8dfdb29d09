/**
 * A message that cannot be read, on a line that is open. Most are passed over like any reply that does not count
 * (CNF-15); but whoever asked for something is answered (HS-04, HS-14).
 */
import type { HubPort, SubscriptionHandle } from "../protocol/hub-port.ts";
import type { Parsed } from "../protocol/parse.ts";
import type { Principal } from "../protocol/principal.ts";
import type { SubscriptionAccepted, SubscriptionRejected } from "../protocol/types.ts";

export const reasonOf = ({ issues }: Extract<Parsed, { ok: false }>): string =>
  issues[0]?.message ?? "The message is not valid.";

const rejectionOf = (parsed: Extract<Parsed, { ok: false }>): SubscriptionRejected => ({
  type: "subscription.rejected",
  reason_code: "unknown",
  reason_message: reasonOf(parsed),
});

/** What to say to it, if anything; the line goes on, unless that is a no to a renegotiation. */
export async function answerUnreadable(
  parsed: Extract<Parsed, { ok: false }>,
  hub: HubPort,
  principal: Principal,
  line: SubscriptionHandle,
): Promise<{ answer: SubscriptionAccepted | SubscriptionRejected; ends: boolean } | undefined> {
  if (parsed.type === "subscription.request") return { answer: rejectionOf(parsed), ends: false };
  if (parsed.type !== "subscription.renegotiate") return undefined;
  // A slip must not end what somebody listens to: everything stays as agreed, and a note says why.
  const nothing = { type: parsed.type, subscription_id: line.id, capabilities: {} } as const;
  const handled = await hub.handle(nothing, principal, line);
  if (!("answer" in handled)) return undefined;
  const { answer } = handled;
  if (answer.type === "subscription.rejected") return { answer, ends: true };
  const negotiation_notes = `Nothing was changed. ${reasonOf(parsed)}`;
  return { answer: { ...answer, negotiation_notes }, ends: false };
}
