/**
 * One person, several agents (SUB-16): subscriptions joined in one announcer. What each agent says is kept apart, named
 * where it would be unclear who speaks, and an answer goes back over the line its question came by.
 */
import type { Clock } from "../protocol/clock.ts";
import { systemClock } from "../protocol/clock.ts";
import type { Announcer, AnswerInput, Outgoing } from "./announcer.ts";
import type { ClarificationAsk, ConfirmationAsk } from "./asks.ts";
import type { Subscriber } from "./subscriber.ts";

export interface ListenerOptions {
  readonly clock?: Clock;
  /** Called after anything changed, e.g. a speaker's `pump`. */
  changed(): void;
}

export interface Listener {
  /** Hears one more agent. `source` keeps it apart from the others; a number if you give none. */
  add(subscriber: Subscriber, source?: string): string;
  /** Stops hearing it; its subscription stays yours. */
  detach(source: string): void;
  /** Ends that subscription and says so. */
  remove(source: string): Promise<void>;
  /** What the person said; it reaches whoever asked. */
  answer(input: AnswerInput): void;
  /** Sends what the announcer has to send, where you called `announcer.answer` yourself. */
  flush(): void;
  /** Ends every subscription, telling each agent. */
  close(): Promise<void>;
}

interface Heard {
  readonly subscriber: Subscriber;
  readonly asks: Map<string, ConfirmationAsk | ClarificationAsk>;
  readonly off: (() => void)[];
}

const MOST_ASKS = 256;

export function createListener(announcer: Announcer, options: ListenerOptions): Listener {
  const { clock = systemClock, changed } = options;
  const sources = new Map<string, Heard>();
  let count = 0;

  const send = async (message: Outgoing): Promise<boolean | undefined> => {
    const heard = sources.get(message.source);
    // Whoever asked is not heard any more: nothing was taken.
    if (!heard) return undefined;
    const { subscriber, asks } = heard;
    const { reply_token } = message;
    const own = { reply_token, subscription_id: subscriber.id };
    const ask = asks.get(reply_token);
    if (message.do === "more_time")
      return (await subscriber.send({ type: "earshot:more_time", ...own })).taken;
    if (message.do === "answer") return (ask as ClarificationAsk).answer(message.response);
    const { decision, decided_by } = message;
    if (decided_by === undefined) return (ask as ConfirmationAsk)[decision]();
    const timestamp = clock.timestamp();
    const reply = { type: "confirmation.reply", ...own, decision, decided_by, timestamp } as const;
    return (await subscriber.send(reply)).taken;
  };

  /** What came of an answer is said, and a line that failed is no yes. */
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

  const add = (subscriber: Subscriber, source = String(++count)): string => {
    if (sources.has(source)) throw new TypeError(`"${source}" is already heard: give each agent its own.`);
    const asks: Heard["asks"] = new Map();
    const keep = (ask: ConfirmationAsk | ClarificationAsk) => {
      asks.set(ask.event.reply_token, ask);
      if (asks.size <= MOST_ASKS) return;
      // Whatever a person can still be asked must be there to be answered.
      for (const token of asks.keys()) if (!announcer.isOpen(token, source)) asks.delete(token);
    };
    const { agent_id, agent_name } = subscriber.accepted.producer;
    let { id } = subscriber;
    const line = (state: "lost" | "connected" | "ended") => {
      // Another subscription than before: the agent has forgotten this one, and maybe what it was doing.
      const forgot = id !== subscriber.id;
      id = subscriber.id;
      announcer.line(state, agent_name ?? agent_id, clock.now(), source, forgot);
      changed();
    };
    let lost = false;
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
        if (state === "lost" || lost) line(state);
        lost = state === "lost";
      }),
      subscriber.on("closed", () => line("ended")),
    ];
    sources.set(source, { subscriber, asks, off });
    return source;
  };

  const detach = (source: string): void => {
    for (const stop of sources.get(source)?.off ?? []) stop();
    sources.delete(source);
  };

  const remove = async (source: string): Promise<void> => {
    const heard = sources.get(source);
    if (!heard) return;
    await heard.subscriber.close();
    detach(source);
  };

  return {
    add,
    detach,
    remove,
    answer(input) {
      announcer.answer(input, clock.now());
      flush();
    },
    flush,
    async close() {
      await Promise.all([...sources.keys()].map(remove));
    },
  };
}

export interface AttachOptions extends ListenerOptions {
  /** Keeps apart agents heard over several connections. */
  readonly source?: string;
}

/** For one agent alone. Call `flush` of the result after `announcer.answer`. */
export function attach(announcer: Announcer, subscriber: Subscriber, options: AttachOptions) {
  const { source = "", ...rest } = options;
  const listener = createListener(announcer, rest);
  listener.add(subscriber, source);
  return { flush: listener.flush, detach: () => listener.detach(source) };
}
