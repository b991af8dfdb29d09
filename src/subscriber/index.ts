export type { ClarificationAsk, ConfirmationAsk } from "./asks.ts";
export {
  type SubscribeOptions,
  Subscriber,
  type SubscriberEvents,
} from "./subscriber.ts";
export { type ClientLine, type ClientTransport, LineError } from "./transport.ts";
