/** What the session state machine (lifecycle.ts) remembers of one session, and how it keeps that cheap. */
import type { AgentEvent } from "./types.ts";

export interface Violation {
  /** The requirement that was broken, e.g. "SEQ-21". */
  id: string;
  /** The event that shows it. */
  event_id: string;
  /** A sentence: what happened, and what should have. */
  message: string;
}

/** How a question ended: a fact the stream of events does not carry by itself. A timeout that rejects is a reject. */
export interface Resolution {
  type: "resolution";
  reply_token: string;
  outcome: "accept" | "reject" | "timeout_accept" | "withdrawn" | "answered";
}

export interface LifecycleOptions {
  /** "mid": the stream begins inside the session. What came before is unknown and never held against it. */
  joined?: "start" | "mid";
  /**
   * Which event types this stream carries (a subscription's filters; prompts too, where they are withheld). What
   * cannot be seen is never held against it, and sequence numbers may have holes.
   */
  visible?: (type: string) => boolean;
  /** "sampled": state.changed may be merged or left out on the way, so the chain may jump. */
  state_chain?: "exact" | "sampled";
  /** "seen": resolutions are fed in, and only a real accept authorises. "unseen": having asked is enough. */
  replies?: "seen" | "unseen";
  /** "trusted": ids come from a generator that cannot repeat itself; none are remembered. */
  event_ids?: "checked" | "trusted";
}

export interface OpenTool {
  readonly tool: string;
  readonly tool_call_id: string | undefined;
}

export interface OpenOutput {
  /** Where the last chunk began. */
  readonly position: number;
  /** Where the next chunk begins, in code points (CON-10). */
  readonly next_position: number;
}

export interface OpenQuestion {
  readonly type: "aaep:agent.awaiting.confirmation" | "aaep:agent.awaiting.clarification";
  readonly event_id: string;
  /** The action to confirm, or the question. */
  readonly text: string;
  /** The call a yes would authorise (CON-49). */
  readonly tool_call_id: string | undefined;
}

export type TerminalType =
  | "aaep:agent.session.completed"
  | "aaep:agent.session.errored"
  | "aaep:agent.session.cancelled";

/** Where one session stands. A value: stepping never changes it. */
export interface Lifecycle {
  readonly phase: "unknown" | "before" | "open" | "ended";
  readonly terminal: TerminalType | undefined;
  /** Undefined when joined mid-session and no state.changed has come yet. */
  readonly current_state: string | undefined;
  readonly open_tools: readonly OpenTool[];
  /** By output_id; "" is the output that has none. */
  readonly open_outputs: ReadonlyMap<string, OpenOutput>;
  /** By reply_token. */
  readonly open_questions: ReadonlyMap<string, OpenQuestion>;
}

/** What the options come to. */
interface Rules {
  readonly states: boolean;
  readonly replies: boolean;
  readonly ids: boolean;
  readonly whole: boolean;
  readonly started: boolean;
  readonly terminal: boolean;
  readonly invoked: boolean;
  readonly completed: boolean;
  readonly output: boolean;
  readonly confirmation: boolean;
}

/** A confirmation that no invocation has spent yet. */
export interface Consent {
  readonly reply_token: string;
  readonly tool_call_id: string | undefined;
  readonly outcome: "asked" | Resolution["outcome"];
}

interface BookedOutput extends OpenOutput {
  /** The lowest position at which more text can stand: two chunks share one only if one is empty (CON-10). */
  readonly text_from: number;
}

export interface BookedQuestion extends OpenQuestion {
  readonly deadline: number;
  readonly turn: number;
}

/** The whole state: what is public, and the bookkeeping behind it. */
export interface Book extends Lifecycle {
  readonly rules: Rules;
  /** False once something may have been missed. */
  readonly past_known: boolean;
  /** Undefined: it may have come without our seeing it. */
  readonly started: boolean | undefined;
  readonly event_ids: Grown;
  readonly clock: string;
  readonly numbering: "unknown" | "on" | "off" | "mixed";
  readonly number: number;
  /** Where the next state.changed has to start from, where that is certain. */
  readonly chain: string | undefined;
  readonly moved: boolean;
  /** States that events since the last state.changed imply (4.2.1). */
  readonly implied: readonly string[];
  /** Counts the state.changed that may mean an answer, for who cannot see answers. */
  readonly turn: number;
  /** A question is out that awaiting_input has not been entered for. */
  readonly unentered: boolean;
  readonly invoked: Grown;
  readonly completed: Grown;
  readonly closed_outputs: Grown;
  readonly consents: readonly Consent[];
  readonly open_outputs: ReadonlyMap<string, BookedOutput>;
  readonly open_questions: ReadonlyMap<string, BookedQuestion>;
}

/** One step under way: `next` is a fresh copy, the only thing a step may write to. */
export interface Step {
  readonly next: { -readonly [K in keyof Book]: Book[K] };
  readonly event: AgentEvent;
  found: Violation[] | undefined;
}

export function fail(step: Step, id: string, message: string): void {
  step.found ??= [];
  step.found.push({ id, event_id: step.event.event_id, message });
}

/**
 * A set that only grows. All states of a session share one map and each sees its first `size` entries, so going
 * forward costs one insertion. Only a second step from the same state pays for a copy.
 */
interface Grown {
  readonly all: Map<string, number>;
  readonly size: number;
}

export const noneGrown = (): Grown => ({ all: new Map(), size: 0 });

export const has = (set: Grown, item: string): boolean => {
  const at = set.all.get(item);
  return at !== undefined && at < set.size;
};

export function grow(set: Grown, item: string): Grown {
  if (has(set, item)) return set;
  const { size } = set;
  const isNewest = set.all.size === size || set.all.get(item) === size;
  const all = isNewest ? set.all : new Map([...set.all].slice(0, size));
  return { all: all.set(item, size), size: size + 1 };
}

/** Microseconds since 1970; NaN, which compares as neither earlier nor later, for what Date cannot read. */
export const instant = (timestamp: string): number =>
  Date.parse(timestamp) * 1000 + Number(/\.\d{3}(\d{3})/.exec(timestamp)?.[1] ?? 0);

export function isEarlier(a: string, b: string): boolean {
  // Text order is time order for equally written UTC times, which is what streams are made of.
  return a.length === b.length && a.endsWith("Z") && b.endsWith("Z") && a[10] === b[10]
    ? a < b
    : instant(a) < instant(b);
}
