/** Who may hear which session, and who may answer (SEC-15, SEC-18). On one's own machine, one user may do both. */
import type { View } from "../delivery/lane.ts";
import type { SessionTrack } from "../delivery/log-window.ts";
import type { Principal } from "../protocol/principal.ts";
import type { Subscription } from "./subscription.ts";

export const mayAnswer = ({ role }: Principal): boolean => role !== "listen";

export function mayHear({ role, audiences }: Principal, audience: readonly string[] | undefined): boolean {
  return (
    role === "admin" ||
    audiences === "all" ||
    audience === undefined ||
    audience.some((name) => audiences.includes(name))
  );
}

/** Whether a subscription can be asked a question of this type by this session. */
export const canBeAsked = (
  subscription: Subscription,
  type: string,
  session: { readonly session_id: string; readonly audience: readonly string[] | undefined },
): boolean =>
  subscription.live &&
  subscription.answers(type) &&
  mayAnswer(subscription.principal) &&
  subscription.follows(session.session_id) &&
  mayHear(subscription.principal, session.audience);

/** The sessions a subscription receives: all that its principal may hear, or only those it follows among them. */
export function viewOf(principal: Principal, follow: readonly string[] = []): View {
  const { audiences } = principal;
  const all = principal.role === "admin" || audiences === "all";
  const heard = all ? "all" : JSON.stringify([...audiences].sort());
  const only = follow.length > 0 ? new Set(follow) : undefined;
  return {
    key: `${heard} ${JSON.stringify([...follow].sort())}`,
    hears: (track: SessionTrack) =>
      (only === undefined || only.has(track.session_id)) && mayHear(principal, track.audience),
  };
}
