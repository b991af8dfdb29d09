/** `earshot/subscriber`: subscribe to an agent at any address and reply to it. */

export { type Clock, systemClock } from "../protocol/platform.ts";

export {
  type ClientConnection,
  type ClientTransport,
  ConnectionError,
  type Sent,
  type Token,
} from "../transports/client-connection.ts";
export { addressesIn, type ConnectOptions, subscribe, transportFor } from "./connect.ts";
export { FORWARDER, type ForwardSink, forward } from "./forward.ts";
export {
  type ClarificationAsk,
  type ConfirmationAsk,
  type ReplyFields,
  type SubscribeOptions,
  Subscriber,
  type SubscriberEvents,
} from "./subscriber.ts";
