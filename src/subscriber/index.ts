/** `earshot/subscriber`: hear an agent and answer it, at any address. */

export { type Clock, systemClock } from "../protocol/clock.ts";
export {
  type ClientConnection,
  type ClientTransport,
  ConnectionError,
} from "../transports/client-connection.ts";
export type { ClarificationAsk, ConfirmationAsk } from "./asks.ts";
export { type ConnectOptions, subscribe, transportFor } from "./connect.ts";
export { addressesIn } from "./fallback.ts";
export { FORWARDER, type ForwardSink, forward } from "./forward.ts";
export {
  type SubscribeOptions,
  Subscriber,
  type SubscriberEvents,
} from "./subscriber.ts";
