/** What an agent's author starts with: a name, and every session of the agent is audible, answerable and gated. */
import { Hub, type HubOptions } from "../hub/hub.ts";
import type { LogStore } from "../hub/store.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import { createIds, type RandomBytes, systemRandom } from "../protocol/ids.ts";
import type { ExtensionOffer, Offer } from "../protocol/negotiate.ts";
import { AAEP_VERSION, type ProducerIdentity } from "../protocol/types.ts";
import { createMemoryStore } from "../stores/memory.ts";
import { createRelay, type Relay } from "./relay.ts";
import { createSecretCatcher } from "./secrets.ts";
import { type AcceptHook, Session, type SessionContext } from "./session.ts";
import type { SessionSpec } from "./specs.ts";

export interface ProducerOptions extends ProducerIdentity {
  /** Language of the words you write, unless a session says otherwise. */
  readonly language?: string;
  /** Further languages your words come in. */
  readonly languages?: readonly string[];
  readonly store?: LogStore;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly extensions?: readonly ExtensionOffer[];
  /** Most events a second any listener is promised. */
  readonly max_events_per_second?: number;
  /** Seconds a question stays open; how often more time can be had, and the most in all (WCAG 2.2.1). */
  readonly questions?: { readonly timeout_seconds?: number; readonly extensions?: number; readonly ceiling_seconds?: number };
  readonly onAccept?: AcceptHook;
  /** Takes more secrets out of text meant for people. */
  readonly redact?: (text: string) => string;
  /** Sentences for whoever operates the agent; console.warn by default. */
  readonly warn?: (sentence: string) => void;
  readonly hub?: Partial<Pick<HubOptions, "max_subscriptions" | "max_subscriptions_per_principal" | "unopened_seconds" | "grace_seconds" | "resume_seconds" | "words">>;
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

export function createProducer(options: ProducerOptions): Producer {
  const { language = "en", languages = [], store = createMemoryStore(), clock = systemClock, random = systemRandom } = options;
  const { agent_id, agent_version, agent_name, model, manifest_uri } = options;
  const identity = Object.fromEntries(
    Object.entries({ agent_id, agent_version, agent_name, model, manifest_uri }).filter(([, value]) => value !== undefined),
  ) as unknown as ProducerIdentity;
  const ids = createIds(random);
  const offer: Offer = {
    producer: identity,
    versions: [AAEP_VERSION],
    levels: [1, 2, 3],
    languages: { available: [language, ...languages], primary: language },
    ...(options.max_events_per_second === undefined ? {} : { max_events_per_second: options.max_events_per_second }),
    ...(options.extensions ? { extensions: options.extensions } : {}),
    ...(manifest_uri === undefined ? {} : { manifest_uri }),
  };
  const hub = new Hub({ store, clock, ids, offer, ...options.hub });
  const timeout_seconds = options.questions?.timeout_seconds ?? 120;
  const context: SessionContext = {
    hub,
    clock,
    ids,
    producer: identity,
    language,
    secrets: createSecretCatcher(options.redact),
    questions: {
      timeout_seconds,
      extensions: options.questions?.extensions ?? 10,
      ceiling_seconds: options.questions?.ceiling_seconds ?? 86_400,
    },
    onAccept: options.onAccept,
    warn: options.warn ?? ((sentence) => console.warn(sentence)),
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
        if (!session.ended) {
          if (spec.signal?.aborted) await session.cancel({ by: "system" });
          else await session.fail({ summary: "Something went wrong, so this could not be finished.", category: "unknown" }).catch(() => undefined);
        }
        throw error;
      }
    },
    relay: createRelay(hub, ids),
  };
}
