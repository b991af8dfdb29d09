/** An announcer at the end of a subscription: what is heard goes in, what a person answers goes out, and comes back. */
import type { Clock } from "../../protocol/clock.ts";
import { systemClock } from "../../protocol/clock.ts";
import type { Announcer } from "../announcer.ts";
import type { ClarificationAsk, ConfirmationAsk } from "../asks.ts";
import type { Outgoing } from "../replies.ts";
import type { Subscriber } from "../subscriber.ts";

export interface AttachOptions {
  /** Keeps apart agents heard over several connections. */
  readonly source?: string;
  readonly clock?: Clock;
  /** Called after anything changed, e.g. a speaker's `pump`. */
  changed(): void;
}

const MOST_ASKS = 256;

/** Returns a function that detaches. Call `flush` of the result after `announcer.answer`. */
export function attach(announcer: Announcer, subscriber: Subscriber, options: AttachOptions) {
  const { source = "", clock = systemClock, changed } = options;
  const asks = new Map<string, ConfirmationAsk | ClarificationAsk>();
  const keep = (ask: ConfirmationAsk | ClarificationAsk) => {
    asks.set(ask.event.reply_token, ask);
    if (asks.size > MOST_ASKS) asks.delete(asks.keys().next().value!);
  };
  const name = () => subscriber.accepted.producer.agent_name ?? subscriber.accepted.producer.agent_id;
  let lost = false;

  const send = async (message: Outgoing): Promise<boolean | undefined> => {
    const { reply_token } = message;
    const own = { reply_token, subscription_id: subscriber.id };
    const ask = asks.get(reply_token);
    if (message.do === "more_time")
      return (await subscriber.send({ type: "earshot:more_time", ...own })).taken;
    if (message.do === "answer") return (ask as ClarificationAsk).answer(message.response);
    if (message.decided_by === undefined)
      return message.decision === "accept"
        ? (ask as ConfirmationAsk).accept()
        : (ask as ConfirmationAsk).reject();
    const { decision, decided_by } = message;
    const reply = {
      type: "confirmation.reply",
      ...own,
      decision,
      decided_by,
      timestamp: clock.timestamp(),
    } as const;
    return (await subscriber.send(reply)).taken;
  };

  /** Sends what the person decided; what came of it is said, and a line that failed is no yes. */
  const flush = (): void => {
    for (const message of announcer.outgoing()) {
      const report = (taken: boolean | undefined) => {
        announcer.sent(message, taken, clock.now());
        changed();
      };
      send(message).then(report, () => report(undefined));
    }
    changed();
  };

  const off = [
    subscriber.on("confirmation", keep),
    subscriber.on("clarification", keep),
    subscriber.on("event", (event) => {
      announcer.hear(event, clock.now(), source);
      // A person's own rule may answer at once; its ask is there only after this event.
      queueMicrotask(flush);
    }),
    subscriber.on("line", ({ state }) => {
      // The first connection is no news, a lost one is.
      if (state === "lost" || lost) announcer.line(state, name(), clock.now(), source);
      lost = state === "lost";
      changed();
    }),
  ];
  return { flush, detach: () => off.forEach((stop) => void stop()) };
}
