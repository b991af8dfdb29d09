/** What an agent's author starts with: a name, and every session of the agent is audible, answerable and gated. */
import { HUB_DEFAULTS, Hub, type HubOptions } from "../hub/hub.ts";
import type { LogStore } from "../hub/store.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import { createIds, type RandomBytes, systemRandom } from "../protocol/ids.ts";
import type { ExtensionOffer, Offer } from "../protocol/negotiate.ts";
import { AAEP_VERSION, type ProducerIdentity } from "../protocol/types.ts";
import { createMemoryStore } from "../stores/memory.ts";
import type { QuestionTimes } from "./asking.ts";
import type { AcceptHook } from "./gate.ts";
import { pastOf } from "./past.ts";
import { ENGLISH, type Phrases } from "./phrases.ts";
import { createRelay, endOf, type Relay } from "./relay.ts";
import { createSecretCatcher } from "./secrets.ts";
import { Session, type SessionContext } from "./session.ts";
import type { SessionSpec } from "./specs.ts";

export interface ProducerOptions extends ProducerIdentity {
  /** Language of the words you write, unless a session says otherwise. */
  readonly language?: string;
  /** Further languages your words come in. */
  readonly languages?: readonly string[];
  /** The library's own sentences in other languages than English, by tag. */
  readonly phrases?: Readonly<Record<string, Phrases>>;
  readonly store?: LogStore;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly extensions?: readonly ExtensionOffer[];
  /** Most events a second any listener is promised. */
  readonly max_events_per_second?: number;
  /** Seconds a question stays open; how often more time can be had, and the most in all (WCAG 2.2.1). */
  readonly questions?: Partial<QuestionTimes>;
  /** A tool that has not returned after this is reported as timed out; an hour by default. */
  readonly tool_timeout_ms?: number;
  /** After a restart, a session that no agent has resumed by then is closed, and says so; 60 by default. */
  readonly resume_within_seconds?: number;
  /** Called after a yes, before the tool runs: demand a second factor or a second person. */
  readonly onAccept?: AcceptHook;
  /** Told what was asked, delivered, answered and done, and by whom, for your books. */
  readonly audit?: HubOptions["audit"];
  /** Takes more secrets out of text meant for people. Text it fails on is withheld, and the operator is told. */
  readonly redact?: (text: string) => string;
  /** Sentences for whoever operates the agent; console.warn by default. */
  readonly warn?: (sentence: string) => void;
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

export interface Producer {
  readonly identity: ProducerIdentity;
  /** How many subscriptions there are now. */
  readonly subscriptions: number;
  /** Completes when `work` returns, fails when it throws, cancels when the signal aborts. Rethrows what was thrown. */
  run<T>(spec: SessionSpec | Session, work: (session: Session) => T | Promise<T>): Promise<T>;
  /** A session you end yourself: complete, fail or cancel it. */
  start(spec: SessionSpec): Session;
  /**
   * Goes on with a session that was open when the process stopped. Ask again what you had asked, with the same key:
   * you get the same question, or the answer, and nobody is asked twice.
   */
  resume(session_id: string, options?: { readonly signal?: AbortSignal }): Session;
  /** The sessions that were open when the process stopped and that no agent has resumed yet. */
  readonly interrupted: readonly InterruptedSession[];
  /**
   * Tells everyone that the agent stops. With a store that outlives the process nothing is given up: listeners are told
   * to come back, questions stay open, sessions can be resumed by the next process on that store, and what runs on
   * somebody's yes gets `finish_seconds` (5) to end, so that its outcome is known. From then on calls on a session do not
   * settle any more. `keep: false` ends every subscription instead, as without such a store.
   */
  close(options?: { readonly keep?: boolean; readonly finish_seconds?: number }): Promise<void>;
  /** The one door for events that happened elsewhere: checked, marked, and running nothing. */
  readonly relay: Relay;
}

export interface InterruptedSession {
  readonly session_id: string;
  /** As given when it was started: to tell which work it belongs to. */
  readonly correlation_id: string | undefined;
}

const DEFAULT_TIMES: QuestionTimes = { timeout_seconds: 120, extensions: 10, ceiling_seconds: 86_400 };
const HOUR_MS = 3_600_000;
/** A recording may show an act without the question before it: nobody may take that for something done now. */
const REPLAY_APART =
  "A producer either has sessions of its own or replays a recording, never both: make another producer for the recording.";

/** Private, because whoever holds the hub can append to the log past the gate. */
const hubs = new WeakMap<Producer, Hub>();

/** The hub of a producer, for servers and tests. No entry point exports this. */
export function hubOf(producer: Producer): Hub {
  const hub = hubs.get(producer);
  if (!hub) throw new EarshotError("not_a_producer", "Pass a producer made by createProducer.");
  return hub;
}

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
      // Whoever does not want to know must not stop an answer on its way.
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
    secrets: createSecretCatcher(options.redact, warn),
    questions,
    tool_timeout_ms: options.tool_timeout_ms ?? HOUR_MS,
    resume_within_seconds: options.resume_within_seconds ?? 60,
    onAccept: options.onAccept,
    warn,
  };
  const left = leftOpen(store, context);
  let role: "live" | "replay" | undefined = left.size > 0 ? "live" : undefined;
  const play = (part: "live" | "replay"): void => {
    if (role !== undefined && role !== part) throw new EarshotError("replay_apart", REPLAY_APART);
    role = part;
  };
  const start = (spec: SessionSpec): Session => {
    play("live");
    return new Session(spec, context);
  };
  const producer: Producer = {
    identity,
    get subscriptions() {
      return hub.subscriptions;
    },
    start,
    resume(session_id, { signal } = {}) {
      const session = left.get(session_id)?.session;
      if (!session?.interrupted) throw notResumable(session_id, session);
      session.reattach(signal);
      return session;
    },
    get interrupted() {
      return [...left.values()].filter(({ session }) => session.interrupted).map(({ named }) => named);
    },
    async run(spec, work) {
      const session = spec instanceof Session ? spec : start(spec);
      try {
        const result = await work(session);
        if (!session.ended) await session.complete();
        return result;
      } catch (error) {
        // The listener hears a plain sentence; what was thrown stays with the caller.
        const summary = Object.fromEntries(Object.entries(phrases).map(([tag, { failed }]) => [tag, failed]));
        if (!session.ended) await session.fail({ summary, category: "unknown" }).catch(() => undefined);
        throw error;
      }
    },
    async close({ keep = store.durable === true, finish_seconds = 5 } = {}) {
      if (keep) await hub.shutdown(finish_seconds);
      else hub.closeAll("producer_shutdown", "The agent is shutting down.");
    },
    relay: createRelay(hub, ids, () => play("replay")),
  };
  hubs.set(producer, hub);
  return producer;
}

interface LeftOpen {
  readonly session: Session;
  readonly named: InterruptedSession;
}

/** What the process before this one left open: sessions an agent may resume, and others nobody can. */
function leftOpen(store: LogStore, context: SessionContext): Map<string, LeftOpen> {
  const { hub, clock, warn } = context;
  const { tracks, running } = hub.engine.window;
  const unfinished = [...running].filter(({ ended }) => !ended);
  const sessions = new Map<string, LeftOpen>();
  const eventsOf = (id: string) => tracks.get(id)?.entries.map(({ entry }) => entry.event) ?? [];
  for (const past of pastOf(store, eventsOf)) {
    const { session_id, fact } = past;
    const named = { session_id, correlation_id: fact.correlation_id };
    try {
      sessions.set(session_id, { session: new Session(past, context), named });
    } catch (error) {
      warn(`The session ${session_id} could not be taken up after the restart: ${String(error)}`);
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
    ? "this agent's log has no open session of that id. It has ended, or it is another agent's. `agent.interrupted` lists those that can be resumed"
    : session.ended
      ? "it has ended meanwhile. Start a new one"
      : "it has been resumed already, or runs in this process";
  const code = !session ? "session_unknown" : session.ended ? "session_ended" : "session_in_use";
  return new EarshotError(code, `The session ${session_id} cannot be resumed: ${why}.`);
}

/** Books that cannot be kept must not stop an answer on its way. */
const safely =
  (
    audit: NonNullable<HubOptions["audit"]>,
    warn: (sentence: string) => void,
  ): NonNullable<HubOptions["audit"]> =>
  (record) => {
    try {
      audit(record);
    } catch (error) {
      warn(`The record of an answer could not be kept: ${String(error)}`);
    }
  };

function identityOf(options: ProducerOptions): ProducerIdentity {
  const { agent_id, agent_version, agent_name, model, manifest_uri } = options;
  if (typeof agent_id !== "string" || agent_id.trim() === "") {
    throw new EarshotError(
      "ENV-16",
      "An agent needs an agent_id: a name that stays the same, such as com.example.planner.",
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
