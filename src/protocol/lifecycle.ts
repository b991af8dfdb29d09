/**
 * A session's state machine (4.5, Appendix A) as a pure reducer over the events of one session: the next state, and
 * every violation by the id of its requirement. Producers ask it before they emit, checkers after.
 */
import type { Book, Lifecycle, LifecycleOptions, Resolution, Violation } from "./lifecycle-book.ts";
import { isQuestion } from "./lifecycle-calls.ts";
import { type LifecycleInput, startLifecycle, stepLifecycle } from "./lifecycle-machine.ts";
import type { AgentEvent } from "./types.ts";

export type {
  Lifecycle,
  LifecycleOptions,
  OpenOutput,
  OpenQuestion,
  OpenTool,
  Resolution,
  TerminalType,
  Violation,
} from "./lifecycle-book.ts";
export {
  gapLifecycle,
  type LifecycleInput,
  type LifecycleStep,
  startLifecycle,
  stepLifecycle,
} from "./lifecycle-machine.ts";

export interface CheckOptions extends LifecycleOptions {
  /** Nothing more will come: a session without its terminal event is a violation. */
  ended?: boolean;
}

/** Checks the events of one session. */
export function checkSession(events: Iterable<LifecycleInput>, options: CheckOptions = {}): Violation[] {
  const found: Violation[] = [];
  let state = startLifecycle(options);
  let first: AgentEvent | undefined;
  let last: AgentEvent | undefined;
  for (const input of events) {
    if (input.type !== "resolution") {
      last = input as AgentEvent;
      first ??= last;
      if (last.session_id !== first.session_id) {
        const message = `The session_id changes from ${first.session_id} to ${last.session_id}; keep one per session.`;
        found.push({ id: "ENV-11", event_id: last.event_id, message });
      }
    }
    const step = stepLifecycle(state, input);
    state = step.state;
    found.push(...step.violations);
  }
  if (options.ended && last) found.push(...missingEnd(state, last));
  return found;
}

/** Checks a stream in which the events of any number of sessions are mixed. */
export function checkStream(events: Iterable<LifecycleInput>, options: CheckOptions = {}): Violation[] {
  const found: Violation[] = [];
  const sessions = new Map<string, { state: Lifecycle; last: AgentEvent | undefined }>();
  const sessionOf = new Map<string, string>();
  const owners = new Map<string, string>();
  for (const input of events) {
    const event = input.type === "resolution" ? undefined : (input as AgentEvent);
    const id = event ? event.session_id : sessionOf.get((input as Resolution).reply_token);
    if (id === undefined) continue;
    if (event && isQuestion(event)) sessionOf.set(event.reply_token, id);
    if (event && options.event_ids !== "trusted") {
      // Ids are unique to a producer, not only to a session.
      const key = `${event.event_id} ${event.producer.agent_id}`;
      const owner = owners.get(key) ?? id;
      owners.set(key, owner);
      if (owner !== id) {
        const message = `The event_id ${event.event_id} was used in ${owner}; every event needs its own.`;
        found.push({ id: "ENV-10", event_id: event.event_id, message });
      }
    }
    const session = sessions.get(id) ?? { state: startLifecycle(options), last: undefined };
    sessions.set(id, session);
    const step = stepLifecycle(session.state, input);
    session.state = step.state;
    session.last = event ?? session.last;
    found.push(...step.violations);
  }
  if (options.ended) {
    for (const { state, last } of sessions.values()) if (last) found.push(...missingEnd(state, last));
  }
  return found;
}

function missingEnd(state: Lifecycle, last: AgentEvent): Violation[] {
  if (state.phase === "ended" || !(state as Book).rules.terminal) return [];
  const message = "The session never ended; send completed, errored or cancelled as its last event.";
  return [{ id: "SEQ-02", event_id: last.event_id, message }];
}
