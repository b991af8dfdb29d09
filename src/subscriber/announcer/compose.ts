/** What is said of an event, at a verbosity and a load (SUB-02, SUB-03, SUB-06, SUB-18; CON-22). Questions are elsewhere. */
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
import type { Reader } from "./reader.ts";
import type { Run, UtteranceKind } from "./utterance.ts";

export interface Telling {
  readonly reader: Reader;
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  /** Who speaks, fit to be spoken. */
  readonly name: string;
}

/** `quiet`: kept in the history and told on request, not said by itself. */
export interface Told {
  readonly kind: UtteranceKind;
  readonly parts: readonly (readonly Run[])[];
  readonly quiet?: boolean;
}

type Teller = (event: never, telling: Telling) => Told | undefined;

/** A map: states are the producer's words, "constructor" included. */
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

const started = (_event: AgentEvent, { reader }: Telling): Told => ({
  kind: "started",
  parts: [reader.phrases.say("started", { summary: reader.summary() ?? "" })],
});

function completed(event: SessionCompleted, { reader, verbosity }: Telling): Told {
  const { phrases } = reader;
  const said = reader.summary();
  const parts = [
    isBare(said?.text, phrases)
      ? phrases.say("completed_bare")
      : phrases.say("completed", { summary: said! }),
  ];
  const result = verbosity === "terse" ? undefined : reader.field("output_summary");
  if (result && result.text !== said?.text) parts.push(phrases.say("result", { summary: result }));
  if (verbosity === "detailed" && event.duration_ms !== undefined && event.duration_ms >= 1000)
    parts.push(phrases.say("took", { duration: phrases.duration(event.duration_ms) }));
  return { kind: "completed", parts };
}

const LETTERS = /[^\p{L}\p{N}]+/gu;

/** "Done: Done." tells nothing twice, and a bare "Done." might be any tool's. */
function isBare(summary: string | undefined, phrases: Reader["phrases"]): boolean {
  const plain = (text: string) => text.replaceAll(LETTERS, "").toLowerCase();
  const said = plain(summary ?? "");
  return said === "" || said === "done" || said === plain(phrases.text("completed"));
}

function errored(event: SessionErrored, { reader, verbosity }: Telling): Told {
  const { phrases } = reader;
  const parts = [phrases.say("errored", { summary: reader.summary() ?? "" })];
  // The way out is part of the news, at every verbosity.
  const hint = reader.field("remediation_hint");
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

function cancelled(event: SessionCancelled, { reader, verbosity }: Telling): Told {
  const by: Partial<Record<string, MessageKey>> = {
    user: "cancelled_user",
    producer: "cancelled_producer",
    timeout: "cancelled_timeout",
  };
  const { phrases } = reader;
  const parts = [
    phrases.say(by[event.cancelled_by] ?? "cancelled_system", { summary: reader.summary() ?? "" }),
  ];
  const partial = verbosity === "terse" ? undefined : reader.field("partial_result");
  if (partial) parts.push(phrases.say("partial", { summary: partial }));
  return { kind: "cancelled", parts };
}

function stateChanged(event: StateChanged, { reader, load }: Telling): Told {
  const { phrases } = reader;
  const key = STATES.get(event.to_state);
  const said = reader.summary();
  const words = said
    ? [said]
    : key
      ? phrases.say(key)
      : phrases.say("state_other", { state: reader.label(event.to_state.replaceAll(/[_-]+/g, " ")) });
  // At low load what the agent is busy with is there for those who ask; a question speaks for itself.
  const asks = event.to_state === "awaiting_input" && event.from_state !== "awaiting_input";
  const quiet = event.urgency !== "critical" && (load === "low" || (asks && load !== "high"));
  return { kind: "state", parts: [words], quiet };
}

function progress(event: ProgressUpdated, { reader, verbosity, load }: Telling): Told {
  const { phrases } = reader;
  const { percent, step, total_steps, description } = event.progress;
  const parts: Run[][] = [];
  const said = reader.summary() ?? (description === undefined ? undefined : reader.plain(description));
  if (said) parts.push([said]);
  else if (step !== undefined && total_steps !== undefined && step <= total_steps)
    parts.push(phrases.say("step", { step, total: total_steps }));
  else if (percent !== undefined) parts.push([phrases.own(`${phrases.percent(percent)}.`)]);
  else parts.push(phrases.say("still_working"));
  if (verbosity === "detailed" && event.eta_ms !== undefined && event.eta_ms >= 1000)
    parts.push(phrases.say("time_to_go", { duration: phrases.duration(event.eta_ms) }));
  return { kind: "progress", parts, quiet: load === "low" && event.urgency !== "critical" };
}

function toolInvoked(event: ToolInvoked, { reader, verbosity }: Telling): Told {
  const { phrases } = reader;
  const said = reader.summary();
  const parts: Run[][] = [said ? [said] : phrases.say("tool_started", { tool: reader.label(event.tool) })];
  if (verbosity === "detailed") {
    const description = reader.field("description");
    if (description) parts.push([description]);
    const with_ = event.args_summary === undefined ? undefined : reader.plain(event.args_summary);
    if (with_) parts.push([with_]);
  }
  if (event.irreversible && verbosity !== "terse") parts.push(phrases.say("irreversible"));
  return { kind: "tool", parts };
}

function toolCompleted(event: ToolCompleted, { reader, verbosity, load }: Telling): Told {
  const { phrases } = reader;
  const said = reader.summary();
  if (event.status === "success") {
    const words = said ? [said] : phrases.say("tool_finished", { tool: reader.label(event.tool) });
    return { kind: "tool", parts: [words], quiet: load === "low" || (verbosity === "terse" && !said) };
  }
  const key = event.status === "timeout" ? "tool_late" : "tool_failed";
  const parts = [phrases.say(key, { summary: said ?? reader.label(event.tool) })];
  const why = verbosity === "terse" ? undefined : reader.field("error_message");
  if (why && why.text !== said?.text) parts.push([why]);
  return { kind: "tool", parts };
}

function handoff(event: HandoffRequested, { reader, name }: Telling): Told {
  const keys: Partial<Record<string, MessageKey>> = {
    human: "handoff_human",
    specialist_agent: "handoff_specialist_agent",
  };
  const key = keys[event.target_kind] ?? "handoff_escalation_queue";
  const reason = reader.field("reason") ?? reader.summary() ?? "";
  return { kind: "handoff", parts: [reader.phrases.say(key, { agent: name, reason })] };
}

/** A type nobody here knows: its summary; a core type of a later version is never passed over in silence (SUB-04, EXT-07). */
function unknown(event: AgentEvent, { reader, name }: Telling): Told | undefined {
  const said = reader.summary();
  if (said)
    return { kind: "unknown", parts: [reader.phrases.say("unknown", { agent: name, summary: said })] };
  if (!event.type.startsWith("aaep:") && event.urgency !== "critical") return undefined;
  return { kind: "unknown", parts: [reader.phrases.say("unknown_bare", { agent: name })] };
}

const TELLERS: Readonly<Record<string, Teller>> = {
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

export function tell(event: AgentEvent, telling: Telling): Told | undefined {
  return (TELLERS[event.type] ?? (unknown as Teller))(event as never, telling);
}
