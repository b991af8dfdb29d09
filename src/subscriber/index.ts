export { type Clock, systemClock } from "../protocol/clock.ts";
export type { ClarificationAsk, ConfirmationAsk } from "./asks.ts";
export { FORWARDER, type ForwardSink, forward } from "./forward.ts";
export {
  type SubscribeOptions,
  Subscriber,
  type SubscriberEvents,
} from "./subscriber.ts";
export { type ClientLine, type ClientTransport, LineError } from "./transport.ts";
