/** Telling a listener that comes back how a question it had heard was settled meanwhile, in the words of that time. */
import { deliveryOf } from "../delivery/lane.ts";
import { dress, type ExtensionRegistry, shapeOf } from "../delivery/shape.ts";
import type { LogWindow } from "../delivery/window.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { AgentEvent } from "../protocol/types.ts";
import type { HubSubscription, Missed, Peer } from "./subscription.ts";

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
    const event = marked && dress(marked.entry, shape, marked.variants);
    if (!event) continue;
    const critical = event.urgency === "critical";
    const fields = event as unknown as Record<string, unknown>;
    peer.send(deliveryOf(fields, event.event_id, critical, false))?.catch(() => undefined);
  }
}

const resolvedBy = ({ extensions }: AgentEvent): unknown =>
  (extensions?.[EXTENSION_PREFIX]?.["resolves"] as { reply_token?: string } | undefined)?.reply_token;
