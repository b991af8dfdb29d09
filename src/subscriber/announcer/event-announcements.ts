/**
 * What is announced for an event, depending on verbosity and cognitive load (SUB-02, SUB-03, SUB-06, SUB-18; CON-22), and
 * whether it is spoken: repeated news is only recorded, and short-lived states are debounced (DEL-24). For questions see
 * question-text.ts.
 */
import { isCritical } from "../../protocol/filters.ts";
import type {
  AgentEvent,
  CognitiveLoad,
  HandoffRequested,
  ProgressUpdated,
  SessionCancelled,
  SessionCompleted,
  SessionErrored,
  StateChanged,
  ToolCompleted,
  ToolInvoked,
  Verbosity,
} from "../../protocol/types.ts";
import type { MessageKey } from "../catalogs/catalog.ts";
import type { EventText } from "./phrases.ts";
import type { ObservedSession } from "./sessions.ts";
import type { Run, Utterance, UtteranceKind } from "./utterance.ts";

export interface AnnouncementContext {
  readonly text: EventText;
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  /** The agent's name, as it is spoken. */
  readonly name: string;
}

/** `quiet`: recorded in the history, not spoken. */
export interface Announcement {
  readonly kind: UtteranceKind;
  readonly parts: readonly (readonly Run[])[];
  readonly quiet?: boolean;
}

type Composer = (event: never, context: AnnouncementContext) => Announcement | undefined;

/** A Map, not an object: state names come from the producer and may be "constructor". */
const STATES: ReadonlyMap<string, MessageKey> = new Map<string, MessageKey>(
  Object.entries({
    idle: "state_idle",
    thinking: "state_thinking",
    calling_tool: "state_calling_tool",
    writing_output: "state_writing_output",
    awaiting_input: "state_awaiting_input",
    deciding: "state_deciding",
    handing_off: "state_handing_off",
  } as const),
);

const started = (_event: AgentEvent, { text }: AnnouncementContext): Announcement => ({
  kind: "started",
  parts: [text.phrases.say("started", { summary: text.summary() ?? "" })],
});

function completed(event: SessionCompleted, { text, verbosity }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const said = text.summary();
  const parts = [
    isBare(said?.text, phrases)
      ? phrases.say("completed_bare")
      : phrases.say("completed", { summary: said! }),
  ];
  const result = verbosity === "terse" ? undefined : text.field("output_summary");
  if (result && result.text !== said?.text) parts.push(phrases.say("result", { summary: result }));
  if (verbosity === "detailed" && event.duration_ms !== undefined && event.duration_ms >= 1000)
    parts.push(phrases.say("took", { duration: phrases.duration(event.duration_ms) }));
  return { kind: "completed", parts };
}

const NOT_LETTERS = /[^\p{L}\p{N}]+/gu;

/** Avoids "Done: Done."; a bare "Done." could also be a tool's. */
function isBare(summary: string | undefined, phrases: EventText["phrases"]): boolean {
  const plain = (words: string) => words.replaceAll(NOT_LETTERS, "").toLowerCase();
  const said = plain(summary ?? "");
  return said === "" || said === "done" || said === plain(phrases.text("completed"));
}

function errored(event: SessionErrored, { text, verbosity }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const parts = [phrases.say("errored", { summary: text.summary() ?? "" })];
  // How to recover is announced at every verbosity.
  const hint = text.field("remediation_hint");
  if (hint) parts.push(phrases.say("hint", { hint }));
  const category: Partial<Record<string, MessageKey>> = {
    transient: "error_transient",
    permanent: "error_permanent",
    requires_user: "error_requires_user",
  };
  const advice = category[event.error_category];
  if (advice && (!hint || verbosity === "detailed")) parts.push(phrases.say(advice));
  return { kind: "errored", parts };
}

function cancelled(event: SessionCancelled, { text, verbosity }: AnnouncementContext): Announcement {
  const by: Partial<Record<string, MessageKey>> = {
    user: "cancelled_user",
    producer: "cancelled_producer",
    timeout: "cancelled_timeout",
  };
  const { phrases } = text;
  const parts = [
    phrases.say(by[event.cancelled_by] ?? "cancelled_system", { summary: text.summary() ?? "" }),
  ];
  const partial = verbosity === "terse" ? undefined : text.field("partial_result");
  if (partial) parts.push(phrases.say("partial", { summary: partial }));
  return { kind: "cancelled", parts };
}

function stateChanged(event: StateChanged, { text, load }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const key = STATES.get(event.to_state);
  const said = text.summary();
  const words = said
    ? [said]
    : key
      ? phrases.say(key)
      : phrases.say("state_other", { state: text.label(event.to_state.replaceAll(/[_-]+/g, " ")) });
  // At low load the state is available on request; a question announces itself.
  const asks = event.to_state === "awaiting_input" && event.from_state !== "awaiting_input";
  const quiet = event.urgency !== "critical" && (load === "low" || (asks && load !== "high"));
  return { kind: "state", parts: [words], quiet };
}

function progress(event: ProgressUpdated, { text, verbosity, load }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const { percent, step, total_steps, description } = event.progress;
  const parts: Run[][] = [];
  const said = text.summary() ?? (description === undefined ? undefined : text.plain(description));
  if (said) parts.push([said]);
  else if (step !== undefined && total_steps !== undefined && step <= total_steps)
    parts.push(phrases.say("step", { step, total: total_steps }));
  else if (percent !== undefined) parts.push([phrases.own(`${phrases.percent(percent)}.`)]);
  else parts.push(phrases.say("still_working"));
  if (verbosity === "detailed" && event.eta_ms !== undefined && event.eta_ms >= 1000)
    parts.push(phrases.say("time_to_go", { duration: phrases.duration(event.eta_ms) }));
  return { kind: "progress", parts, quiet: load === "low" && event.urgency !== "critical" };
}

function toolInvoked(event: ToolInvoked, { text, verbosity }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const said = text.summary();
  const parts: Run[][] = [said ? [said] : phrases.say("tool_started", { tool: text.label(event.tool) })];
  if (verbosity === "detailed") {
    const description = text.field("description");
    if (description) parts.push([description]);
    const with_ = event.args_summary === undefined ? undefined : text.plain(event.args_summary);
    if (with_) parts.push([with_]);
  }
  if (event.irreversible && verbosity !== "terse") parts.push(phrases.say("irreversible"));
  return { kind: "tool", parts };
}

function toolCompleted(event: ToolCompleted, { text, verbosity, load }: AnnouncementContext): Announcement {
  const { phrases } = text;
  const said = text.summary();
  if (event.status === "success") {
    const words = said ? [said] : phrases.say("tool_finished", { tool: text.label(event.tool) });
    return { kind: "tool", parts: [words], quiet: load === "low" || (verbosity === "terse" && !said) };
  }
  const key = event.status === "timeout" ? "tool_late" : "tool_failed";
  const parts = [phrases.say(key, { summary: said ?? text.label(event.tool) })];
  const why = verbosity === "terse" ? undefined : text.field("error_message");
  if (why && why.text !== said?.text) parts.push([why]);
  return { kind: "tool", parts };
}

function handoff(event: HandoffRequested, { text, name }: AnnouncementContext): Announcement {
  const keys: Partial<Record<string, MessageKey>> = {
    human: "handoff_human",
    specialist_agent: "handoff_specialist_agent",
  };
  const key = keys[event.target_kind] ?? "handoff_escalation_queue";
  const reason = text.field("reason") ?? text.summary() ?? "";
  return { kind: "handoff", parts: [text.phrases.say(key, { agent: name, reason })] };
}

/** An unknown type: its summary. A core type of a later protocol version is always announced (SUB-04, EXT-07). */
function unknown(event: AgentEvent, { text, name }: AnnouncementContext): Announcement | undefined {
  const said = text.summary();
  if (said) return { kind: "unknown", parts: [text.phrases.say("unknown", { agent: name, summary: said })] };
  if (!event.type.startsWith("aaep:") && event.urgency !== "critical") return undefined;
  return { kind: "unknown", parts: [text.phrases.say("unknown_bare", { agent: name })] };
}

const COMPOSERS: Readonly<Record<string, Composer>> = {
  "aaep:agent.session.started": started,
  "aaep:agent.session.completed": completed,
  "aaep:agent.session.errored": errored,
  "aaep:agent.session.cancelled": cancelled,
  "aaep:agent.state.changed": stateChanged,
  "aaep:agent.progress.updated": progress,
  "aaep:agent.tool.invoked": toolInvoked,
  "aaep:agent.tool.completed": toolCompleted,
  "aaep:agent.handoff.requested": handoff,
};

export function announcementFor(event: AgentEvent, context: AnnouncementContext): Announcement | undefined {
  return (COMPOSERS[event.type] ?? (unknown as Composer))(event as never, context);
}

const PROGRESS_EVERY_MS = 10_000;

/** Whether an event repeats what was just announced, or is outdated. Updates the session for the next call. */
export function isRepetition(
  event: AgentEvent,
  { kind, quiet = false }: Announcement,
  text: string,
  session: ObservedSession,
  load: CognitiveLoad,
  now: number,
): boolean {
  const gap = event.extensions?.["earshot"]?.["gap"] !== undefined;
  const critical = isCritical(event);
  // Late news about a session that has ended would be wrong by now.
  let old = (quiet && !gap) || (session.ended && !critical);
  if (kind === "state") {
    old ||= text === session.lastState && !critical;
    session.lastState = text;
  }
  if (kind === "progress" && !old) {
    const recent = now - session.lastProgressAt < PROGRESS_EVERY_MS;
    old = load !== "high" && recent && event.urgency !== "critical";
    if (!old) session.lastProgressAt = now;
  }
  return old;
}

/** Progress of this session, which a newer update replaces. */
export const isProgressOf = (session: ObservedSession) => (one: Utterance) =>
  one.kind === "progress" && one.urgency !== "critical" && one.session_id === session.key;

/** Too short to be noticed as silence, long enough for a program's next event. */
const STATE_DEBOUNCE_MS = 500;
const MAX_SPOKEN_STATES = 500;

/** With `quiet`, the state is only recorded. Returns the utterance's id. */
type SayState = (now: number, quiet: boolean) => number;

interface PendingState {
  readonly at: number;
  readonly said: string;
  readonly say: SayState;
}

/**
 * Debounces states: "Thinking" is spoken only if nothing else of its session follows within a moment; otherwise it is
 * only recorded (DEL-24).
 */
export class StateDebouncer {
  readonly #waiting = new Map<ObservedSession, PendingState>();
  /** Utterance ids of states that may still be in the speech queue. */
  readonly #queued = new Map<ObservedSession, number>();
  readonly #skip: (stale: (utterance: Utterance) => boolean) => void;

  /** `skip` removes matching utterances from the speech queue. */
  constructor(skip: (stale: (utterance: Utterance) => boolean) => void) {
    this.#skip = skip;
  }

  add(session: ObservedSession, now: number, say: SayState): void {
    this.supersede(session, now);
    this.#waiting.set(session, { at: now + STATE_DEBOUNCE_MS, said: session.lastState, say });
  }

  /** Something else is announced for this session, so its last state is outdated. */
  supersede(session: ObservedSession, now: number): void {
    const waiting = this.#waiting.get(session);
    if (waiting) {
      this.#waiting.delete(session);
      // It was not spoken, so the same state is not a repetition next time.
      if (waiting.said === session.lastState) session.lastState = "";
      waiting.say(now, true);
    }
    const said = this.#queued.get(session);
    if (!this.#queued.delete(session)) return;
    this.#skip(({ id }) => id === said);
  }

  /** Speaks the states that have lasted. */
  due(now: number): void {
    for (const [session, { at, say }] of this.#waiting) {
      if (at > now) continue;
      this.#waiting.delete(session);
      this.#queued.set(session, say(now, session.ended));
      if (this.#queued.size > MAX_SPOKEN_STATES) this.#queued.delete(this.#queued.keys().next().value!);
    }
  }

  get wakeAt(): number | undefined {
    return this.#waiting.size === 0
      ? undefined
      : Math.min(...[...this.#waiting.values()].map(({ at }) => at));
  }
}
