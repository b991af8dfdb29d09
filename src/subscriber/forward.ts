/**
 * Forwarding (6.6, CNF-31, SUB-12): passes every event on, unchanged and in order, to where a person will hear it. A
 * forwarder declares no reply support; the recipient replies on its own subscription. Outcomes of questions are
 * forwarded like every other event.
 */
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import type { Subscriber, SubscriberEvents } from "./subscriber.ts";

/** Capabilities of a forwarder: receives questions and answers none. `subscribe(address, { ...FORWARDER })`. */
export const FORWARDER: Capabilities = {
  supports_confirmation_reply: false,
  supports_clarification_reply: false,
  [EXTENSION_PREFIX]: { view_prompts: true },
};

/** Where forwarded events go. */
export interface ForwardSink {
  /** Backpressure: the next event waits until the promise settles. */
  event(event: AgentEvent): void | Promise<void>;
  /** Events are missing before the next one. */
  gap?(gap: SubscriberEvents["gap"]): void;
}

/** Resolves when the subscription has ended. If the sink fails, ends the subscription and rejects. */
export async function forward(subscriber: Subscriber, sink: ForwardSink): Promise<void> {
  const { supports_confirmation_reply: confirms, supports_clarification_reply: clarifies } =
    subscriber.accepted.honored_capabilities;
  if (confirms || clarifies)
    throw new EarshotError(
      "may_not_forward",
      "This subscription declared that it can answer questions. Subscribe with `...FORWARDER` to forward them.",
    );
  const off = subscriber.on("gap", (gap) => sink.gap?.(gap));
  try {
    for await (const event of subscriber) await sink.event(event);
  } finally {
    off();
    await subscriber.close();
  }
}
