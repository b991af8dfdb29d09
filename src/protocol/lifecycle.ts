/**
 * The session state machine (4.5, Appendix A) as a pure reducer over the events of one session. Each step returns the
 * next state and every violation, named by the id of its requirement. Producers run it before they emit, checkers
 * after.
 */
import { isQuestion, type State, startLifecycle, stepLifecycle } from "./lifecycle-reducer.ts";
import type { AgentEvent } from "./types.ts";

export { gapLifecycle, startLifecycle, stepLifecycle } from "./lifecycle-reducer.ts";

/** A broken requirement, and the event that shows it. */
export interface Violation {
  /** The requirement that was broken, e.g. "SEQ-21". */
  id: string;
  /** The event that shows it. */
  event_id: string;
  /** A sentence: what happened, and what should have. */
  message: string;
}

/** How a question ended, which the event stream itself does not say. A timeout that rejects counts as a reject. */
export interface Resolution {
  type: "resolution";
  reply_token: string;
  outcome: "accept" | "reject" | "timeout_accept" | "withdrawn" | "answered";
}

/** What is known about a stream of events, so that nothing is reported that cannot be seen. */
export interface LifecycleOptions {
  /** "mid": the stream begins inside the session. Nothing that may have come before it is reported as missing. */
  joined?: "start" | "mid";
  /**
   * Which event types this stream carries (a subscription's filters; prompts too, where they are withheld). Hidden
   * events are not reported as missing, and sequence numbers may have holes.
   */
  visible?: (type: string) => boolean;
  /** "sampled": delivery may merge or drop state.changed events, so one may not start where the last one ended. */
  stateChain?: "exact" | "sampled";
  /** "seen": resolutions are fed in and only an accept authorises a call. "unseen": having asked is enough. */
  replies?: "seen" | "unseen";
  /** "trusted": the id generator cannot repeat itself, so no ids are kept for comparison. */
  eventIds?: "checked" | "trusted";
}

/** A tool call that has not completed. */
export interface OpenTool {
  readonly tool: string;
  readonly tool_call_id: string | undefined;
}

/** An output that is being streamed. */
export interface OpenOutput {
  /** Where the last chunk began. */
  readonly position: number;
  /** Where the next chunk begins, in code points (CON-10). */
  readonly nextPosition: number;
}

/** A question without an answer yet. */
export interface OpenQuestion {
  readonly type: "aaep:agent.awaiting.confirmation" | "aaep:agent.awaiting.clarification";
  readonly event_id: string;
  /** The action to confirm, or the question. */
  readonly text: string;
  /** The call that an accept authorises (CON-49). */
  readonly tool_call_id: string | undefined;
}

/** The events that end a session. */
export type TerminalType =
  | "aaep:agent.session.completed"
  | "aaep:agent.session.errored"
  | "aaep:agent.session.cancelled";

/** The state of one session. Immutable: a step returns a new one. */
export interface Lifecycle {
  readonly phase: "unknown" | "before" | "open" | "ended";
  readonly terminal: TerminalType | undefined;
  /** Undefined when joined mid-session and no state.changed has come yet. */
  readonly currentState: string | undefined;
  readonly openTools: readonly OpenTool[];
  /** By output_id; "" is the output without one. */
  readonly openOutputs: ReadonlyMap<string, OpenOutput>;
  /** By reply_token. */
  readonly openQuestions: ReadonlyMap<string, OpenQuestion>;
}

/** What the state machine takes: an event, or how a question ended. */
export type LifecycleInput = AgentEvent | Resolution;

/** The next state, and what was wrong with the step. */
export interface LifecycleStep {
  readonly state: Lifecycle;
  readonly violations: readonly Violation[];
}

/** Options of `checkSession` and `checkStream`. */
export interface CheckOptions extends LifecycleOptions {
  /** The stream is complete: a session without its terminal event is a violation. */
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
        const message = `The session_id changes from ${first.session_id} to ${last.session_id}; it must stay the same.`;
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

/** Checks a stream that interleaves the events of any number of sessions. */
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
    if (event && options.eventIds !== "trusted") {
      // Ids are unique per producer, not only per session.
      const key = `${event.event_id} ${event.producer.agent_id}`;
      const owner = owners.get(key) ?? id;
      owners.set(key, owner);
      if (owner !== id) {
        const message = `event_id ${event.event_id} was already used in ${owner}; each event needs a new one.`;
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
  if (state.phase === "ended" || !(state as State).rules.terminal) return [];
  const message = "The session never ended; send completed, errored or cancelled as its last event.";
  return [{ id: "SEQ-02", event_id: last.event_id, message }];
}
