/**
 * Checks the rules of an event stream, event by event and with constant memory. Sessions may be interleaved. A session
 * whose start is not in the stream is assumed to have started before it.
 */
import type { AgentEvent } from "../protocol/index.ts";
import {
  gapLifecycle,
  type Lifecycle,
  startLifecycle,
  stepLifecycle,
  type Violation,
} from "../protocol/lifecycle.ts";

/** At least this many ids and sessions are remembered, at most twice as many. */
const MOST_IDS = 50_000;
const MOST_SESSIONS = 10_000;

export interface StreamCheck {
  check(event: AgentEvent): readonly Violation[];
  /** Sessions that have started and not ended. */
  unfinished(): string[];
}

const STARTED = "aaep:agent.session.started";

interface StreamCheckOptions {
  /** States may be missing, as in the stream of a listener with a rate limit. */
  readonly sampled?: boolean;
  /** Every session must start in this stream. */
  readonly complete?: boolean;
}

export function createStreamCheck({
  sampled = false,
  complete = false,
}: StreamCheckOptions = {}): StreamCheck {
  const sessions = new BoundedMap<Lifecycle>(MOST_SESSIONS);
  const ids = new BoundedMap<{ session_id: string; token: unknown }>(MOST_IDS);

  function repeats(event: AgentEvent): Violation | undefined {
    const { event_id, session_id, producer } = event;
    const key = `${event_id} ${producer.agent_id}`;
    const token = (event as { reply_token?: unknown }).reply_token;
    const known = ids.get(key);
    if (!known) {
      ids.set(key, { session_id, token });
      return undefined;
    }
    // An open question is sent again, unchanged, to a listener that rejoins (CON-16).
    if (token !== undefined && token === known.token) return undefined;
    const where = known.session_id === session_id ? "before" : `in ${known.session_id}`;
    return {
      id: "ENV-10",
      event_id,
      message: `The event_id ${event_id} was used ${where}; every event needs its own.`,
    };
  }

  return {
    check(event) {
      const { session_id } = event;
      const own = event.extensions?.["earshot"];
      let state =
        sessions.get(session_id) ??
        startLifecycle({
          eventIds: "trusted",
          replies: "unseen",
          joined: complete || event.type === STARTED ? "start" : "mid",
          stateChain: sampled ? "sampled" : "exact",
        });
      if (own?.["gap"] !== undefined) state = gapLifecycle(state);
      const step = stepLifecycle(state, event);
      sessions.set(session_id, step.state);
      const repeated = repeats(event);
      return repeated ? [repeated, ...step.violations] : step.violations;
    },
    unfinished: () => [...sessions.entries()].filter(([, { phase }]) => phase !== "ended").map(([id]) => id),
  };
}

/**
 * A map with a bound, for flat memory. The most recent entries are kept in two generations: discarding the older one is
 * cheap, however often it happens.
 */
export class BoundedMap<Value> {
  readonly #most: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: Value): void {
    this.#old.delete(key);
    this.#young.set(key, value);
    if (this.#young.size < this.#most) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  *entries(): Iterable<[string, Value]> {
    yield* this.#old;
    yield* this.#young;
  }
}
