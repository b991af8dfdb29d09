/** The hub as transports see it. */
import type { Hub } from "../hub/hub.ts";
import type { Door, Line } from "../protocol/door.ts";

type Subscription = NonNullable<ReturnType<Hub["find"]>>;

export function doorOf(hub: Hub): Door {
  const subscriptions = new WeakMap<Line, Subscription>();
  const lineOf = (subscription: Subscription, resumeAt?: string, terms = subscription.terms): Line => {
    let first = true;
    const line: Line = {
      id: subscription.id,
      connect(peer, lastEventId) {
        // A resume asked for in the handshake counts for the first stream only.
        hub.connect(
          subscription,
          peer,
          lastEventId ?? (first ? resumeAt : undefined),
          first ? terms : subscription.terms,
        );
        first = false;
      },
      disconnect: (peer) => hub.disconnect(subscription, peer),
    };
    subscriptions.set(line, subscription);
    return line;
  };
  return {
    request(request, principal, transport) {
      const subscribed = hub.subscribe(request, principal, transport);
      if (!subscribed.subscription) return { answer: subscribed.answer };
      return {
        answer: subscribed.answer,
        line: lineOf(subscribed.subscription, subscribed.lastEventId, subscribed.terms),
      };
    },
    find(subscription_id, principal) {
      const subscription = hub.find(subscription_id, principal);
      return subscription && lineOf(subscription);
    },
    handle: (message, principal, line) => hub.handle(message, principal, line && subscriptions.get(line)),
  };
}
