export {
  type ClarificationAsk,
  type ConfirmationAsk,
  type SubscribeOptions,
  Subscriber,
  type SubscriberEvents,
} from "./subscriber.ts";
export { type ClientLine, type ClientTransport, LineError } from "./transport.ts";
