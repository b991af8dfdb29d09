/** What an agent's author starts with: a name, and every session of the agent is audible, answerable and gated. */
import { Hub, type HubOptions } from "../hub/hub.ts";
import type { LogStore } from "../hub/store.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import { createIds, type RandomBytes, systemRandom } from "../protocol/ids.ts";
import type { ExtensionOffer, Offer } from "../protocol/negotiate.ts";
import { AAEP_VERSION, type ProducerIdentity } from "../protocol/types.ts";
import { createMemoryStore } from "../stores/memory.ts";
import type { QuestionTimes } from "./asking.ts";
import type { AcceptHook } from "./gate.ts";
import { ENGLISH, type Phrases } from "./phrases.ts";
import { createRelay, type Relay } from "./relay.ts";
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
  /** Called after a yes, before the tool runs: demand a second factor or a second person. */
  readonly onAccept?: AcceptHook;
  /** Told how each question ended, and by whom, for your books. */
  readonly audit?: HubOptions["audit"];
  /** Takes more secrets out of text meant for people. Text it fails on is withheld, and the operator is told. */
  readonly redact?: (text: string) => string;
  /** Sentences for whoever operates the agent; console.warn by default. */
  readonly warn?: (sentence: string) => void;
  readonly hub?: Partial<
    Pick<
      HubOptions,
      | "max_subscriptions"
      | "max_subscriptions_per_principal"
      | "max_questions_per_principal"
      | "unopened_seconds"
      | "grace_seconds"
      | "resume_seconds"
    >
  >;
}

export interface Producer {
  readonly identity: ProducerIdentity;
  /** Where transports plug in. */
  readonly hub: Hub;
  /** Completes when `work` returns, fails when it throws, cancels when the signal aborts. Rethrows what was thrown. */
  run<T>(spec: SessionSpec, work: (session: Session) => T | Promise<T>): Promise<T>;
  /** A session you end yourself: complete, fail or cancel it. */
  start(spec: SessionSpec): Session;
  /** The one door for events that happened elsewhere: checked, marked, and running nothing. */
  readonly relay: Relay;
}

const DEFAULT_TIMES: QuestionTimes = { timeout_seconds: 120, extensions: 10, ceiling_seconds: 86_400 };
const HOUR_MS = 3_600_000;

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
    ...(manifest_uri === undefined ? {} : { manifest_uri }),
  };
  const hub = new Hub({
    store,
    clock,
    ids,
    offer,
    phrases,
    ceiling_seconds: questions.ceiling_seconds,
    audit: (record) => {
      try {
        options.audit?.(record);
      } catch (error) {
        warn(`The record of an answer could not be kept: ${String(error)}`);
      }
    },
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
    onAccept: options.onAccept,
    warn,
  };
  const start = (spec: SessionSpec): Session => new Session(spec, context);
  return {
    identity,
    hub,
    start,
    async run(spec, work) {
      const session = start(spec);
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
    relay: createRelay(hub, ids),
  };
}

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
