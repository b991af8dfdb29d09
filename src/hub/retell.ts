/**
 * What a listener that comes back is told besides the log: how a question it had heard was settled meanwhile, in the
 * words of that time, and how long there is now for one that is sent again.
 */
import { encodeDelivery, type LaneDelivery } from "../delivery/lane.ts";
import type { LogWindow } from "../delivery/log-window.ts";
import { applyShape, type ExtensionRegistry, shapeOf, variantsOf } from "../delivery/shape.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { Peer } from "../protocol/hub-port.ts";
import type { AgentEvent } from "../protocol/types.ts";
import type { Question } from "./questions.ts";
import type { HubSubscription, Missed } from "./subscription.ts";

export function retell(
  missed: readonly Missed[],
  subscription: HubSubscription,
  peer: Peer,
  window: LogWindow,
  registry: ExtensionRegistry,
): void {
  const shape = shapeOf(subscription.terms, registry);
  for (const { session_id, reply_token } of missed) {
    const track = window.tracks.get(session_id);
    if (!track || !subscription.view.hears(track)) continue;
    const marked = track.entries.find(({ entry }) => resolvedBy(entry.event) === reply_token);
    const event = marked && applyShape(marked.entry, shape, marked.variants);
    if (!event) continue;
    const critical = event.urgency === "critical";
    const fields = event as unknown as Record<string, unknown>;
    peer.send(encodeDelivery(fields, event.event_id, critical, false))?.catch(() => undefined);
  }
}

/** A question sent again is unchanged, its first time included: where there is more or less by now, that is said next (CON-47). */
export function movedDeadline(
  question: Question,
  { terms }: HubSubscription,
  registry: ExtensionRegistry,
): LaneDelivery | undefined {
  const moved = Math.abs(question.msLeft - question.spec.event.timeout_seconds * 1000) >= 1000;
  const entry = moved ? question.hooks.remaining?.(question) : undefined;
  const event =
    entry &&
    applyShape({ ...entry, seq: 0, insist: true }, shapeOf(terms, registry), variantsOf(entry.event));
  if (!event) return undefined;
  const fields = event as unknown as Record<string, unknown>;
  return encodeDelivery(fields, event.event_id, event.urgency === "critical", false);
}

const resolvedBy = ({ extensions }: AgentEvent): unknown =>
  (extensions?.[EXTENSION_PREFIX]?.["resolves"] as { reply_token?: string } | undefined)?.reply_token;
