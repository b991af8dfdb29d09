/**
 * Forwarding (6.6, CNF-31, SUB-12): everything heard goes on, as it came and in order, to wherever a person will hear it.
 * A forwarder answers nothing and therefore claims no reply support; whoever it reaches answers on a subscription of
 * their own. That a question was settled or withdrawn is forwarded like everything else.
 */
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import type { Subscriber, SubscriberEvents } from "./subscriber.ts";

/** What a forwarder asks for: questions to pass on, none to answer. `subscribe(address, { ...FORWARDER })`. */
export const FORWARDER: Capabilities = {
  supports_confirmation_reply: false,
  supports_clarification_reply: false,
  [EXTENSION_PREFIX]: { view_prompts: true },
};

/** Where forwarded events go. */
export interface ForwardSink {
  /** The next event waits until this one is through. */
  event(event: AgentEvent): void | Promise<void>;
  /** Something is missing before the next event. */
  gap?(gap: SubscriberEvents["gap"]): void;
}

/** Resolves when the subscription has ended; rejects, and ends it, if the sink fails: nobody is left believing it goes on. */
export async function forward(subscriber: Subscriber, sink: ForwardSink): Promise<void> {
  const { supports_confirmation_reply: confirms, supports_clarification_reply: clarifies } =
    subscriber.accepted.honored_capabilities;
  if (confirms || clarifies)
    throw new EarshotError(
      "may_not_forward",
      "This subscription promised to answer questions. Subscribe with `...FORWARDER` to forward them.",
    );
  const off = subscriber.on("gap", (gap) => sink.gap?.(gap));
  try {
    for await (const event of subscriber) await sink.event(event);
  } finally {
    off();
    await subscriber.close();
  }
}
