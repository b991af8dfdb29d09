/** Protocol violations of an agent, with requirement ids: per message and per session. */
import type { AgentEvent } from "../src/protocol/index.ts";
import { gapLifecycle, type Lifecycle, startLifecycle, stepLifecycle } from "../src/protocol/lifecycle.ts";
import { type ReceivedMessage, readMessage } from "./messages.ts";

export interface Finding {
  /** Time of the event. */
  readonly at: number;
  /** The requirement or ruling; "" for a plain schema issue. */
  readonly id: string;
  /** Listeners reject errors; warnings are accepted but should be fixed. */
  readonly kind: "error" | "warning";
  readonly message: string;
  readonly event_id: string | undefined;
  readonly type: string | undefined;
}

/** Sessions and ids remembered; the oldest are evicted first. */
const MAX_SESSIONS = 2_000;
const MAX_IDS = 200_000;

function remember<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value!);
}

export class Checker {
  readonly #sessions = new Map<string, Lifecycle>();
  readonly #ids = new Map<string, unknown>();

  check({ text, event, at, issues = readMessage(text).issues }: ReceivedMessage): Finding[] {
    const { event_id, type } = event ?? {};
    const found = issues.map(
      ({ path, message, ruling }): Finding => ({
        at,
        id: ruling ?? "",
        kind: event ? "warning" : "error",
        message: path === "" ? message : `${path}: ${message}`,
        event_id,
        type,
      }),
    );
    if (!event) return found;
    for (const { id, message } of [...this.#repeats(event), ...this.#step(event)])
      found.push({ at, id, kind: "error", message, event_id, type });
    return found;
  }

  #step(event: AgentEvent) {
    const { session_id } = event;
    let state =
      this.#sessions.get(session_id) ??
      startLifecycle({
        eventIds: "trusted",
        replies: "unseen",
        // A session that began before this page was opened cannot be checked from its start.
        joined: event.type === "aaep:agent.session.started" ? "start" : "mid",
        stateChain: "exact",
      });
    if (event.extensions?.["earshot"]?.["gap"] !== undefined) state = gapLifecycle(state);
    const step = stepLifecycle(state, event);
    remember(this.#sessions, session_id, step.state, MAX_SESSIONS);
    return step.violations;
  }

  #repeats(event: AgentEvent): { id: string; message: string }[] {
    const key = `${event.event_id} ${event.producer.agent_id}`;
    const token = (event as { reply_token?: unknown }).reply_token ?? "";
    const known = this.#ids.get(key);
    remember(this.#ids, key, token, MAX_IDS);
    // An open question is sent again, unchanged, to a subscriber that reconnects.
    if (known === undefined || (token !== "" && known === token)) return [];
    return [
      { id: "ENV-10", message: `The event_id ${event.event_id} was used before; every event needs its own.` },
    ];
  }
}
