/** The entry point for an agent's author: createProducer, and through it every session, its questions and its gate. */
import { HUB_DEFAULTS, Hub, type HubOptions } from "../hub/hub.ts";
import type { LogStore } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { ServerPort } from "../protocol/hub-port.ts";
import type { ExtensionOffer, Offer } from "../protocol/negotiate.ts";
import { type Clock, createIds, type RandomBytes, systemClock, systemRandom } from "../protocol/platform.ts";
import { AAEP_VERSION, type ProducerIdentity } from "../protocol/types.ts";
import { createMemoryStore } from "../stores/memory.ts";
import type { AcceptHook } from "./gate.ts";
import { ENGLISH, type Phrases } from "./phrases.ts";
import type { QuestionTimes } from "./questions.ts";
import { createRedactor } from "./redaction.ts";
import { createRelay, endOf, type Relay } from "./relay.ts";
import { restoredSessions } from "./restore.ts";
import { Session, type SessionContext } from "./session.ts";
import type { SessionSpec } from "./specs.ts";

export interface ProducerOptions extends ProducerIdentity {
  /** Language of your texts, unless a session says otherwise. */
  readonly language?: string;
  /** Further languages of your texts. */
  readonly languages?: readonly string[];
  /** The library's own sentences in languages other than English, by tag. */
  readonly phrases?: Readonly<Record<string, Phrases>>;
  /** Where the log is stored; in memory by default. */
  readonly store?: LogStore;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly extensions?: readonly ExtensionOffer[];
  /** Most events per second for any listener. */
  readonly max_events_per_second?: number;
  /** How long a question stays open, how often a person may ask for more time, and the most in all (WCAG 2.2.1). */
  readonly questions?: Partial<QuestionTimes>;
  /** Default time limit for tools; an hour by default. */
  readonly toolTimeoutMs?: number;
  /** After a restart, a session that no agent resumes within this time is closed; 60 by default. */
  readonly resumeWithinSeconds?: number;
  /** Called after an approval, before the tool runs: demand a second factor or a second person. */
  readonly onAccept?: AcceptHook;
  /** Receives what was asked, delivered, answered and done, and by whom. */
  readonly audit?: HubOptions["audit"];
  /** Removes more secrets from text meant for people. If it throws, the text is withheld and `warn` is called. */
  readonly redact?: (text: string) => string;
  /** Receives warnings for the operator; console.warn by default. */
  readonly warn?: (sentence: string) => void;
  /** Limits and times of the hub. */
  readonly hub?: Partial<
    Pick<
      HubOptions,
      | "maxSubscriptions"
      | "maxSubscriptionsPerPrincipal"
      | "maxQuestionsPerPrincipal"
      | "unopenedSeconds"
      | "graceSeconds"
      | "resumeSeconds"
      | "replyLimit"
    >
  >;
}

/** An agent as its listeners know it: runs sessions and holds their questions. */
export interface Producer {
  readonly identity: ProducerIdentity;
  /** How many subscriptions there are now. */
  readonly subscriptions: number;
  /** For servers and transports. It does not lead to the log. */
  readonly port: ServerPort;
  /** Runs a session: completes it when `work` returns, fails it when `work` throws, and rethrows. */
  run<T>(spec: SessionSpec | Session, work: (session: Session) => T | Promise<T>): Promise<T>;
  /** Starts a session that you end yourself: complete, fail or cancel it. */
  start(spec: SessionSpec): Session;
  /**
   * Continues a session that was open when the process stopped. Ask again what you had asked, with the same key: you get
   * the same question or its answer, and nobody is asked twice.
   */
  resume(session_id: string, options?: { readonly signal?: AbortSignal }): Session;
  /** The sessions that were open when the process stopped and that no agent has resumed yet. */
  readonly interrupted: readonly InterruptedSession[];
  /**
   * Graceful stop. With a durable store, listeners are told to reconnect, questions stay open, the next process on that
   * store can resume the sessions, and approved tools that are running get `finishSeconds` (5) to finish; from then on
   * calls on a session never settle. `keep: false`, or a store that is not durable, closes every subscription instead.
   */
  close(options?: { readonly keep?: boolean; readonly finishSeconds?: number }): Promise<void>;
  /** For events that happened elsewhere: checked, marked as relayed, and running nothing. */
  readonly relay: Relay;
}

/** A session that was open when the process stopped; `producer.resume` continues it. */
export interface InterruptedSession {
  readonly session_id: string;
  /** As given when it was started, to tell which work it belongs to. */
  readonly correlation_id: string | undefined;
}

const DEFAULT_TIMES: QuestionTimes = { timeout_seconds: 120, extensions: 10, ceiling_seconds: 86_400 };
const HOUR_MS = 3_600_000;
/** A recording may show a tool call without the question before it, which must not look like something done now. */
const REPLAY_APART =
  "A producer either has sessions of its own or replays a recording, never both: make another producer for the recording.";

/** Private, because the hub can append to the log without passing the gate. */
const hubs = new WeakMap<Producer, Hub>();

/**
 * The hub of a producer, for tests. No entry point exports this.
 * @internal
 */
export function hubOf(producer: Producer): Hub {
  const hub = hubs.get(producer);
  if (!hub) throw new EarshotError("not_a_producer", "Pass a producer made by createProducer.");
  return hub;
}

/** Creates a producer: the object an agent starts its sessions with. `serve` puts it on a server. */
export function createProducer(options: ProducerOptions): Producer {
  const { language = "en", languages = [], clock = systemClock, random = systemRandom } = options;
  const { store = createMemoryStore({ random }), manifest_uri } = options;
  const identity = identityOf(options);
  const ids = createIds(random);
  const { warn: say = (sentence: string) => console.warn(sentence) } = options;
  const warn = (sentence: string): void => {
    try {
      say(sentence);
    } catch {
      // A failing `warn` must not block a reply.
    }
  };
  const questions = { ...DEFAULT_TIMES, ...options.questions };
  const phrases = { en: ENGLISH, ...options.phrases };
  const offer: Offer = {
    producer: identity,
    versions: [AAEP_VERSION],
    levels: [1, 2, 3],
    languages: { available: [...new Set([language, ...languages])], primary: language },
    ...(options.max_events_per_second === undefined
      ? {}
      : { max_events_per_second: options.max_events_per_second }),
    ...(options.extensions ? { extensions: options.extensions } : {}),
    max_subscriptions: options.hub?.maxSubscriptions ?? HUB_DEFAULTS.maxSubscriptions,
    ...(manifest_uri === undefined ? {} : { manifest_uri }),
  };
  const hub = new Hub({
    store,
    warn,
    clock,
    ids,
    offer,
    phrases,
    ceilingSeconds: questions.ceiling_seconds,
    ...(options.audit ? { audit: safely(options.audit, warn) } : {}),
    ...options.hub,
  });
  const context: SessionContext = {
    hub,
    clock,
    ids,
    producer: identity,
    language,
    phrases,
    redactor: createRedactor(options.redact, warn),
    questions,
    toolTimeoutMs: options.toolTimeoutMs ?? HOUR_MS,
    resumeWithinSeconds: options.resumeWithinSeconds ?? 60,
    onAccept: options.onAccept,
    warn,
  };
  const interrupted = restoreSessions(store, context);
  let role: "live" | "replay" | undefined = interrupted.size > 0 ? "live" : undefined;
  const claimRole = (claimed: "live" | "replay"): void => {
    if (role !== undefined && role !== claimed) throw new EarshotError("replay_apart", REPLAY_APART);
    role = claimed;
  };
  const start = (spec: SessionSpec): Session => {
    claimRole("live");
    return new Session(spec, context);
  };
  const producer: Producer = {
    identity,
    get subscriptions() {
      return hub.subscriptions;
    },
    port: portOf(hub),
    start,
    resume(session_id, { signal } = {}) {
      const session = interrupted.get(session_id);
      if (!session?.interrupted) throw notResumable(session_id, session);
      session.reattach(signal);
      return session;
    },
    get interrupted() {
      const sessions = [...interrupted.values()].filter((session) => session.interrupted);
      return sessions.map(({ session_id, correlation_id }) => ({ session_id, correlation_id }));
    },
    async run(spec, work) {
      const session = spec instanceof Session ? spec : start(spec);
      try {
        const result = await work(session);
        if (!session.ended) await session.complete();
        return result;
      } catch (error) {
        // Listeners hear a plain sentence; the error goes to the caller only.
        const summary = Object.fromEntries(Object.entries(phrases).map(([tag, { failed }]) => [tag, failed]));
        if (!session.ended) await session.fail({ summary, category: "unknown" }).catch(() => undefined);
        throw error;
      }
    },
    async close({ keep = store.durable === true, finishSeconds = 5 } = {}) {
      if (keep) await hub.shutdown(finishSeconds);
      else hub.closeAll("producer_shutdown", "The agent is shutting down.");
    },
    relay: createRelay(hub, ids, () => claimRole("replay")),
  };
  hubs.set(producer, hub);
  return producer;
}

/** Restores the sessions that the previous process left open, and ends relayed ones, which nobody can resume. */
function restoreSessions(store: LogStore, context: SessionContext): Map<string, Session> {
  const { hub, clock, warn } = context;
  const { tracks, running } = hub.engine.window;
  const unfinished = [...running].filter(({ ended }) => !ended);
  const sessions = new Map<string, Session>();
  const eventsOf = (id: string) => tracks.get(id)?.entries.map(({ entry }) => entry.event) ?? [];
  for (const restored of restoredSessions(store, eventsOf)) {
    const { session_id } = restored;
    try {
      sessions.set(session_id, new Session(restored, context));
    } catch (error) {
      warn(`The session ${session_id} could not be restored after the restart: ${String(error)}`);
    }
  }
  for (const { session_id, last } of unfinished) {
    if (!last || sessions.has(session_id)) continue;
    const now = clock.timestamp();
    const timestamp = now > last.timestamp ? now : last.timestamp;
    hub.append(endOf({ ...last, timestamp })).catch(() => undefined);
  }
  return sessions;
}

function notResumable(session_id: string, session: Session | undefined): EarshotError {
  const why = !session
    ? "this agent's log has no open session of that id. It has ended, or belongs to another agent. `producer.interrupted` lists the sessions that can be resumed"
    : session.ended
      ? "it has ended. Start a new one"
      : "it has been resumed already, or was started in this process";
  const code = !session ? "session_unknown" : session.ended ? "session_ended" : "session_in_use";
  return new EarshotError(code, `The session ${session_id} cannot be resumed: ${why}.`);
}

/** A failing audit hook must not block a reply. */
const safely =
  (
    audit: NonNullable<HubOptions["audit"]>,
    warn: (sentence: string) => void,
  ): NonNullable<HubOptions["audit"]> =>
  (record) => {
    try {
      audit(record);
    } catch (error) {
      warn(`The audit hook failed: ${String(error)}`);
    }
  };

/** Only what servers need. An object and not the hub itself, because the hub leads to the log. */
const portOf = (hub: Hub): ServerPort => ({
  get offer() {
    return hub.offer;
  },
  get subscriptions() {
    return hub.subscriptions;
  },
  get nextPosition() {
    return hub.log.next;
  },
  observe: (observer) => hub.observe(observer),
  subscribe: (...given) => hub.subscribe(...given),
  find: (...given) => hub.find(...given),
  handle: (...given) => hub.handle(...given),
  retryAfter: (principal) => hub.retryAfter(principal),
});

function identityOf(options: ProducerOptions): ProducerIdentity {
  const { agent_id, agent_version, agent_name, model, manifest_uri } = options;
  if (typeof agent_id !== "string" || agent_id.trim() === "") {
    throw new EarshotError(
      "ENV-16",
      "Give the agent an agent_id: a name that stays the same, such as com.example.planner.",
    );
  }
  if ((agent_version && agent_id.includes(agent_version)) || /[@_/-]v?\d+\.\d+(?:\.\d+)?$/.test(agent_id)) {
    throw new EarshotError(
      "ENV-16",
      "An agent_id stays the same across versions: put the version into agent_version.",
    );
  }
  const given = Object.entries({ agent_id, agent_version, agent_name, model, manifest_uri });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as unknown as ProducerIdentity;
}
