/**
 * One person, several agents (SUB-16): connects subscriptions to one announcer. Each agent is kept apart by its source,
 * and an answer goes back over the subscription its question came from. Questions that wait for a person are stored in
 * the announcer only; sending an answer needs nothing but its token.
 */
import { type Clock, systemClock } from "../protocol/platform.ts";
import { Announcer, type AnnouncerOptions, type AnswerInput, type Outgoing } from "./announcer.ts";
import { type ConnectOptions, subscribe } from "./connect.ts";
import { type Subscriber, sendReply } from "./subscriber.ts";
import { sendOutgoing, speakWith, type Voice } from "./voice.ts";

/** Options of `createListener`. */
export interface ListenerOptions {
  readonly clock?: Clock;
  /** Called after anything changed, e.g. a speaker's `pump`. */
  changed(): void;
}

/** Listens to any number of agents for one announcer. */
export interface Listener {
  /** Listens to one more agent. `source` keeps it apart from the others; a number by default. */
  add(subscriber: Subscriber, source?: string): string;
  /** Stops listening to it; its subscription stays open. */
  detach(source: string): void;
  /** Ends that subscription and announces it. */
  remove(source: string): Promise<void>;
  /** What the person said; it is sent to the agent that asked. */
  answer(input: AnswerInput): void;
  /** Sends the announcer's outgoing messages, where you called `announcer.answer` yourself. */
  flush(): void;
  /** Ends every subscription and tells each agent. */
  close(): Promise<void>;
}

interface Source {
  readonly subscriber: Subscriber;
  readonly off: (() => void)[];
}

/** Connects subscriptions to an announcer: events in, answers out. */
export function createListener(announcer: Announcer, options: ListenerOptions): Listener {
  const { clock = systemClock, changed } = options;
  const sources = new Map<string, Source>();
  let count = 0;

  const send = async (message: Outgoing): Promise<boolean | undefined> => {
    const { source } = message;
    const subscriber = sources.get(source)?.subscriber;
    return subscriber && sendReply(subscriber, message, (token) => announcer.isOpen(token, source));
  };
  const flush = () => void sendOutgoing(announcer, send, { clock, changed });

  const add = (subscriber: Subscriber, source = String(++count)): string => {
    if (sources.has(source))
      throw new TypeError(`The source "${source}" is in use. Give each agent its own.`);
    const { agent_id, agent_name } = subscriber.accepted.producer;
    let { id } = subscriber;
    const announce = (state: "lost" | "connected" | "ended") => {
      // A new subscription id: the agent has forgotten the old subscription, and maybe its work.
      const forgot = id !== subscriber.id;
      id = subscriber.id;
      announcer.connection(state, agent_name ?? agent_id, clock.now(), source, forgot);
      changed();
    };
    let lost = false;
    const off = [
      subscriber.on("event", (event) => {
        announcer.hear(event, clock.now(), source);
        // After the events that arrived with it. There is something to send where a person's own rule answered.
        queueMicrotask(flush);
      }),
      subscriber.on("connection", ({ state }) => {
        // The first connection is no news; a lost one is, and one that is back.
        if (state !== "connecting" && (state === "lost" || lost)) announce(state);
        lost = state === "lost";
      }),
      subscriber.on("closed", () => announce("ended")),
    ];
    sources.set(source, { subscriber, off });
    return source;
  };

  const detach = (source: string): void => {
    for (const stop of sources.get(source)?.off ?? []) stop();
    sources.delete(source);
  };

  const remove = async (source: string): Promise<void> => {
    const one = sources.get(source);
    if (!one) return;
    await one.subscriber.close();
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

/** Options of `attach`. */
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

/** Options of `createVoiceListener` and `listen`. */
export interface VoiceListenerOptions extends AnnouncerOptions {
  readonly clock?: Clock;
}

/** An announcer that speaks through one voice, and listens to as many agents as you `add`. */
export interface VoiceListener extends Listener {
  readonly announcer: Announcer;
  /** Call it after anything was passed to the announcer directly. */
  pump(): void;
}

/** An announcer, a voice and a listener in one: `add` the subscriptions it should speak. */
export function createVoiceListener(voice: Voice, options: VoiceListenerOptions = {}): VoiceListener {
  const { clock = systemClock, ...settings } = options;
  const announcer = new Announcer({ can: (language) => voice.can(language), ...settings });
  const { pump, close } = speakWith(announcer, voice, clock);
  const listener = createListener(announcer, { clock, changed: pump });
  return {
    ...listener,
    announcer,
    pump,
    async close() {
      await close();
      await listener.close();
    },
  };
}

/**
 * Listens to the agent at an address: connects, announces what it does through the voice, and sends the person's
 * answers. The capabilities in `options` also set how the announcer speaks.
 */
export async function listen(
  address: string | readonly [string, ...string[]],
  voice: Voice,
  options: ConnectOptions = {},
): Promise<VoiceListener> {
  const { languages = ["en"], preferred_verbosity, cognitive_load, pace_wpm, clock } = options;
  // The producer cuts text at sentence ends, so that no sentence is spoken in pieces.
  const subscriber = await subscribe(address, { coalesce_boundaries: ["sentence"], ...options, languages });
  const listener = createVoiceListener(voice, {
    languages,
    ...(preferred_verbosity === undefined ? {} : { verbosity: preferred_verbosity }),
    ...(cognitive_load === undefined ? {} : { load: cognitive_load }),
    ...(pace_wpm === undefined ? {} : { pace_wpm }),
    ...(clock === undefined ? {} : { clock }),
  });
  listener.add(subscriber);
  return listener;
}
