/** The reducer behind lifecycle.ts: checks one event against the state of its session and returns the next state. */

import { codePoints } from "../text/language.ts";
import type {
  Lifecycle,
  LifecycleInput,
  LifecycleOptions,
  LifecycleStep,
  OpenOutput,
  OpenQuestion,
  OpenTool,
  Resolution,
  TerminalType,
  Violation,
} from "./lifecycle.ts";
import type {
  AgentEvent,
  AwaitingClarification,
  AwaitingConfirmation,
  CoreEvent,
  OutputStreaming,
  StateChanged,
  ToolCompleted,
  ToolInvoked,
} from "./types.ts";
import type {} from "./validate.ts";

/** Which checks the options allow. */
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

/** A confirmation that no invocation has used yet. */
interface Consent {
  readonly reply_token: string;
  readonly tool_call_id: string | undefined;
  readonly outcome: "asked" | Resolution["outcome"];
}

interface TrackedOutput extends OpenOutput {
  /** The lowest valid position of more text: two chunks share a position only if one is empty (CON-10). */
  readonly minTextPosition: number;
}

interface TrackedQuestion extends OpenQuestion {
  readonly deadline: number;
  readonly turn: number;
}

/** The whole state: the public part, and what only the reducer needs. */
export interface State extends Lifecycle {
  readonly rules: Rules;
  /** False once events may have been missed. */
  readonly pastKnown: boolean;
  /** Undefined: session.started may have been sent before we joined. */
  readonly started: boolean | undefined;
  readonly eventIds: GrowingSet;
  readonly clock: string;
  readonly numbering: "unknown" | "on" | "off" | "mixed";
  readonly number: number;
  /** The from_state that the next state.changed must have; undefined if unknown. */
  readonly chain: string | undefined;
  readonly moved: boolean;
  /** States implied by events since the last state.changed (4.2.1). */
  readonly implied: readonly string[];
  /** Counts state changes that may mean a question was answered, where replies are not seen. */
  readonly turn: number;
  /** A question was asked and the session has not entered awaiting_input yet. */
  readonly awaitingDue: boolean;
  readonly invoked: GrowingSet;
  readonly completed: GrowingSet;
  readonly closedOutputs: GrowingSet;
  readonly consents: readonly Consent[];
  readonly openOutputs: ReadonlyMap<string, TrackedOutput>;
  readonly openQuestions: ReadonlyMap<string, TrackedQuestion>;
}

/** One step: `next` is a fresh copy, and the only thing the step may write to. */
interface Step {
  readonly next: { -readonly [K in keyof State]: State[K] };
  readonly event: AgentEvent;
  found: Violation[] | undefined;
}

function fail(step: Step, id: string, message: string): void {
  step.found ??= [];
  step.found.push({ id, event_id: step.event.event_id, message });
}

/**
 * A persistent set that only grows. All states of a session share one map, and each state sees its first `size`
 * entries, so a step costs one insertion. Only a second step from the same state has to copy.
 */
interface GrowingSet {
  readonly all: Map<string, number>;
  readonly size: number;
}

const emptySet = (): GrowingSet => ({ all: new Map(), size: 0 });

const has = (set: GrowingSet, item: string): boolean => {
  const at = set.all.get(item);
  return at !== undefined && at < set.size;
};

function add(set: GrowingSet, item: string): GrowingSet {
  if (has(set, item)) return set;
  const { size } = set;
  const isNewest = set.all.size === size || set.all.get(item) === size;
  const all = isNewest ? set.all : new Map([...set.all].slice(0, size));
  return { all: all.set(item, size), size: size + 1 };
}

/** Microseconds since 1970. NaN if Date cannot parse it: NaN compares as neither earlier nor later. */
const instant = (timestamp: string): number =>
  Date.parse(timestamp) * 1000 + Number(/\.\d{3}(\d{3})/.exec(timestamp)?.[1] ?? 0);

function isEarlier(a: string, b: string): boolean {
  // Fast path: for UTC times in the same format, which most streams use, text order is time order.
  return a.length === b.length && a.endsWith("Z") && b.endsWith("Z") && a[10] === b[10]
    ? a < b
    : instant(a) < instant(b);
}

const STARTED = "aaep:agent.session.started";
const COMPLETED = "aaep:agent.session.completed";
const STATE = "aaep:agent.state.changed";
const CONFIRMATION = "aaep:agent.awaiting.confirmation";
const CLARIFICATION = "aaep:agent.awaiting.clarification";
const AWAITING_INPUT = "awaiting_input";
const TERMINALS = [COMPLETED, "aaep:agent.session.errored", "aaep:agent.session.cancelled"] as const;
const IMPLIED: Partial<Record<string, string>> = {
  "aaep:agent.tool.invoked": "calling_tool",
  "aaep:agent.output.streaming": "writing_output",
  "aaep:agent.handoff.requested": "handing_off",
  [CONFIRMATION]: AWAITING_INPUT,
  [CLARIFICATION]: AWAITING_INPUT,
};
const NONE: readonly Violation[] = Object.freeze([]);

const isTerminal = (type: string): type is TerminalType => (TERMINALS as readonly string[]).includes(type);

type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

export const isQuestion = (event: AgentEvent): event is QuestionEvent =>
  event.type === CONFIRMATION || event.type === CLARIFICATION;

const nothingOpen = () => ({
  eventIds: emptySet(),
  invoked: emptySet(),
  completed: emptySet(),
  closedOutputs: emptySet(),
  consents: [],
  openTools: [],
  openOutputs: new Map(),
  openQuestions: new Map(),
});

/** The state before a session's first event. */
export function startLifecycle(options: LifecycleOptions = {}): Lifecycle {
  const visible = options.visible ?? (() => true);
  const rules: State["rules"] = {
    states: options.stateChain !== "sampled" && visible(STATE),
    replies: options.replies === "seen",
    ids: options.eventIds !== "trusted",
    whole: !options.visible && options.stateChain !== "sampled",
    started: visible(STARTED),
    terminal: TERMINALS.every((type) => visible(type)),
    invoked: visible("aaep:agent.tool.invoked"),
    completed: visible("aaep:agent.tool.completed"),
    output: visible("aaep:agent.output.streaming"),
    confirmation: visible(CONFIRMATION),
  };
  const full: State = {
    ...nothingOpen(),
    phase: rules.started ? "before" : "unknown",
    terminal: undefined,
    currentState: "idle",
    rules,
    pastKnown: true,
    started: rules.started ? false : undefined,
    clock: "",
    numbering: "unknown",
    number: 0,
    chain: "idle",
    moved: false,
    implied: [],
    turn: 0,
    awaitingDue: false,
  };
  return options.joined === "mid" ? gapLifecycle(full) : full;
}

/** Events may have been missed: continue as if joined mid-session, but keep what is certain. */
export function gapLifecycle(state: Lifecycle): Lifecycle {
  const full = state as State;
  if (full.phase === "ended") return state;
  const missed: State = {
    ...full,
    phase: "unknown",
    pastKnown: false,
    started: full.started || undefined,
    currentState: undefined,
    chain: undefined,
    moved: true,
    implied: [],
    awaitingDue: false,
    clock: "",
    numbering: "unknown",
    consents: [],
    openTools: [],
    openOutputs: new Map(),
    openQuestions: new Map(),
  };
  return missed;
}

/** One step of the state machine: takes an event or a resolution, returns the next state and any violations. */
export function stepLifecycle(state: Lifecycle, input: LifecycleInput): LifecycleStep {
  const full = state as State;
  if (input.type === "resolution")
    return { state: resolveQuestion(full, input as Resolution), violations: NONE };
  const step: Step = { next: { ...full }, event: input as AgentEvent, found: undefined };
  if (full.phase === "ended") {
    afterEnd(step);
    return { state, violations: step.found ?? NONE };
  }
  if (isResent(step)) {
    if (step.event.sequence_number === step.next.number + 1) step.next.number++;
  } else {
    checkEnvelope(step);
    checkPhase(step);
    checkPayload(step);
  }
  return { state: step.next, violations: step.found ?? NONE };
}

function afterEnd(step: Step): void {
  const { type } = step.event;
  const ended = `The session already ended with ${step.next.terminal}`;
  if (type === COMPLETED && step.next.terminal !== COMPLETED) {
    fail(step, "SEQ-04", `${ended}; it can no longer be completed.`);
  } else if (isTerminal(type)) {
    fail(step, "SEQ-02", `${ended}; send exactly one terminal event.`);
  } else {
    fail(step, "SEQ-03", `${ended}; send ${type} before the end, or in a new session.`);
  }
}

/** A subscriber that rejoins gets every open question again, unchanged (CON-16). */
function isResent({ next, event }: Step): boolean {
  if (!isQuestion(event)) return false;
  if (next.openQuestions.get(event.reply_token)?.event_id === event.event_id) return true;
  if (next.pastKnown || !has(next.eventIds, event.event_id)) return false;
  trackQuestion(next, event);
  next.phase = "open";
  return true;
}

function checkEnvelope(step: Step): void {
  const { next, event } = step;
  if (next.rules.ids) {
    if (has(next.eventIds, event.event_id)) {
      fail(step, "ENV-10", `event_id ${event.event_id} was used before; each event needs a new one.`);
    }
    next.eventIds = add(next.eventIds, event.event_id);
  }
  // After a (re)join the first events describe the past: questions keep their old timestamp, a summary has a newer one.
  const isCatchUp =
    !next.pastKnown && (isQuestion(event) || (event.type === STATE && event.from_state === event.to_state));
  if (!isCatchUp) {
    if (next.clock && isEarlier(event.timestamp, next.clock)) {
      fail(
        step,
        "ENV-15",
        `The timestamp goes back from ${next.clock} to ${event.timestamp}; it must not decrease.`,
      );
    }
    next.clock = event.timestamp;
  }
  checkNumber(step);
}

function checkNumber(step: Step): void {
  const { next, event } = step;
  const number = event.sequence_number;
  const numbering = number === undefined ? "off" : "on";
  const isFirst = next.numbering === "unknown";
  if (isFirst) {
    next.numbering = numbering;
  } else if (next.numbering !== numbering) {
    if (next.numbering !== "mixed") {
      fail(step, "ENV-25", "Only some events of this session have a sequence_number; number all or none.");
    }
    next.numbering = "mixed";
  }
  if (number === undefined || next.numbering === "mixed") return;
  const expected = isFirst ? 0 : next.number + 1;
  const isWrong = isFirst
    ? next.pastKnown && next.rules.whole && number !== 0
    : next.rules.whole
      ? number !== expected
      : number < expected;
  if (isWrong) {
    fail(step, "ENV-24", `sequence_number is ${number}, expected ${expected}; count from 0 in steps of 1.`);
  }
  next.number = number;
}

function checkPhase(step: Step): void {
  const { next, event } = step;
  if (event.type === STARTED) {
    if (next.started) {
      fail(step, "SEQ-01", "The session was already started; a new session needs a new session_id.");
    } else if (next.started === false && next.phase !== "before") {
      fail(step, "SEQ-03", "Events of this session came before session.started; send session.started first.");
    }
    next.started = true;
  } else if (next.phase === "before") {
    fail(step, "SEQ-01", `The session begins with ${event.type}; send session.started first.`);
  }
  next.phase = "open";
}

function checkPayload(step: Step): void {
  const event = step.event as CoreEvent;
  switch (event.type) {
    case "aaep:agent.output.streaming":
      checkOutput(step, event);
      break;
    case "aaep:agent.state.changed":
      changeState(step, event);
      break;
    case "aaep:agent.tool.invoked":
      invokeTool(step, event);
      break;
    case "aaep:agent.tool.completed":
      completeTool(step, event);
      break;
    case "aaep:agent.awaiting.confirmation":
    case "aaep:agent.awaiting.clarification":
      askQuestion(step, event);
      break;
    case "aaep:agent.session.completed":
    case "aaep:agent.session.errored":
    case "aaep:agent.session.cancelled":
      endSession(step, event.type);
  }
  const { next } = step;
  const implied = IMPLIED[event.type];
  if (implied && !next.implied.includes(implied)) next.implied = [...next.implied, implied];
}

function checkOutput(step: Step, event: OutputStreaming): void {
  const { next } = step;
  const { chunk, position, complete } = event;
  const key = event.output_id ?? "";
  if (has(next.closedOutputs, key)) {
    fail(step, "SEQ-21", `${outputName(key)} was already complete; send more text as a new output.`);
    return;
  }
  const open = next.openOutputs.get(key);
  const lowest = open ? Math.max(open.position, chunk ? open.minTextPosition : 0) : 0;
  if (position < lowest) {
    fail(
      step,
      "SEQ-22",
      `${outputName(key)} has reached position ${lowest}; a chunk at ${position} goes back.`,
    );
  }
  const outputs = new Map(next.openOutputs);
  next.openOutputs = outputs;
  if (complete) {
    outputs.delete(key);
    next.closedOutputs = add(next.closedOutputs, key);
    return;
  }
  outputs.set(key, {
    position,
    nextPosition: position + codePoints(chunk),
    minTextPosition: chunk ? position + 1 : (open?.minTextPosition ?? 0),
  });
}

const outputName = (key: string): string => (key ? `The output ${key}` : "The session's output");

function changeState(step: Step, { from_state: from, to_state: to }: StateChanged): void {
  const { next } = step;
  const isSummary = from === to; // CON-26
  // After a gap a summary is newer than the replayed events, so it neither matches their state chain nor starts one.
  const chain = isSummary && !next.pastKnown ? undefined : next.chain;
  if (next.rules.states && chain !== undefined && from !== chain) {
    if (!next.moved) {
      fail(step, "SEQ-05", `The first state.changed has from_state "${from}"; a session starts as "idle".`);
    } else if (!next.implied.includes(from)) {
      fail(
        step,
        "SEQ-06",
        `from_state is "${from}", but the state was "${chain}"; report every state change.`,
      );
    }
  }
  next.currentState = to;
  next.implied = [];
  if (isSummary) {
    next.chain = next.pastKnown ? to : undefined;
    next.turn++;
    return;
  }
  next.chain = to;
  next.moved = true;
  if (to !== AWAITING_INPUT) {
    if (next.awaitingDue)
      fail(step, "SEQ-19", `A question is open, but the state changed to "${to}" instead of awaiting_input.`);
    next.turn++;
    // Where replies are not seen, leaving awaiting_input means answered or withdrawn (CON-13, CON-27).
    if (!next.rules.replies && next.openQuestions.size) next.openQuestions = new Map();
  }
  next.awaitingDue = false;
}

function endSession(step: Step, type: TerminalType): void {
  const { next } = step;
  for (const { tool, tool_call_id: call } of next.openTools) {
    const name = call ? `${tool} (${call})` : tool;
    fail(
      step,
      "SEQ-10",
      `${name} was invoked and never completed; send tool.completed, if need be with status timeout.`,
    );
  }
  if (next.rules.output) {
    for (const key of next.openOutputs.keys()) {
      fail(
        step,
        "SEQ-20",
        `${outputName(key)} was never completed; before the end, send a chunk with complete: true.`,
      );
    }
  }
  Object.assign(next, nothingOpen(), { phase: "ended", terminal: type });
}

// Tool calls and questions: pairing, consent and what uses it up (4.5.2, 4.5.3, 6.1).

function invokeTool(step: Step, event: ToolInvoked): void {
  const { next } = step;
  const { tool, tool_call_id: call } = event;
  if (call !== undefined) {
    if (has(next.invoked, call) || has(next.completed, call)) {
      fail(step, "SEQ-11", `tool_call_id ${call} was used before; each call in a session needs a new one.`);
    }
    next.invoked = add(next.invoked, call);
  }
  next.invoked = add(next.invoked, toolNameKey(tool));
  if (next.rules.completed) next.openTools = [...next.openTools, { tool, tool_call_id: call }];
  consumeConsent(step, event);
}

/** Tool names share one set with call ids, which have no spaces. */
const toolNameKey = (tool: string): string => `tool ${tool}`;

/**
 * One accepted question authorises one invocation (CON-49); a timeout never authorises an irreversible one (CON-02).
 */
function consumeConsent(step: Step, { tool, tool_call_id: call, irreversible }: ToolInvoked): void {
  const { next } = step;
  const isGrant = ({ outcome }: Consent) =>
    outcome === "accept" || (outcome === "asked" && !next.rules.replies);
  const linked = call === undefined ? undefined : next.consents.find((one) => one.tool_call_id === call);
  const unlinked =
    irreversible && !linked ? next.consents.filter((one) => one.tool_call_id === undefined) : [];
  const consent = linked ?? unlinked.find(isGrant) ?? unlinked.at(-1);
  const isGranted = consent !== undefined && isGrant(consent);
  const isCertain = linked !== undefined || (next.pastKnown && next.rules.confirmation);
  if (isCertain && !isGranted) {
    if (consent?.outcome === "reject") {
      fail(
        step,
        "SEQ-16",
        `${tool} was invoked although the action was rejected; do not invoke it, or ask again.`,
      );
    } else if (irreversible) {
      const why = consent
        ? "its question was not accepted"
        : "no question asked for it, or its accept was already used";
      fail(
        step,
        "SEQ-14",
        `${tool} is irreversible and was invoked, but ${why}; each call needs its own accept.`,
      );
    } else if (consent?.outcome === "asked") {
      fail(step, "CNF-02", `${tool} was invoked while its question is still open; wait for the reply.`);
    }
  }
  if (!consent || !(isGranted || linked)) return;
  next.consents = next.consents.filter((one) => one !== consent);
  if (!next.rules.replies) next.openQuestions = without(next.openQuestions, consent.reply_token);
}

function completeTool(step: Step, { tool, tool_call_id: call }: ToolCompleted): void {
  const { next } = step;
  const alreadyCompleted = call !== undefined && has(next.completed, call);
  const open = findOpen(next.openTools, tool, call, alreadyCompleted);
  const isCertain = next.pastKnown && next.rules.invoked && next.rules.completed;
  if (open) {
    if (open.tool !== tool) {
      fail(
        step,
        "SEQ-11",
        `Call ${call} was invoked as ${open.tool} and completed as ${tool}; use one name.`,
      );
    }
    next.openTools = next.openTools.filter((one) => one !== open);
  } else if (alreadyCompleted) {
    fail(step, "SEQ-10", `Call ${call} was completed before; complete each call exactly once.`);
  } else if (isCertain && call === undefined && has(next.invoked, toolNameKey(tool))) {
    fail(step, "SEQ-10", `${tool} was completed more often than invoked; complete each call once.`);
  } else if (isCertain) {
    fail(step, "SEQ-09", `${tool} was completed but never invoked; send tool.invoked before the tool runs.`);
  }
  // A completion without an id may belong to a call this stream did not carry.
  const id = call ?? (isCertain ? open?.tool_call_id : undefined);
  if (id !== undefined) next.completed = add(next.completed, id);
}

/** Matches by id, else by name (4.5.2), preferring a call without an id. */
function findOpen(
  tools: readonly OpenTool[],
  tool: string,
  call: string | undefined,
  alreadyCompleted: boolean,
) {
  const sameId = call === undefined ? undefined : tools.find((one) => one.tool_call_id === call);
  if (sameId || alreadyCompleted) return sameId;
  const sameName = tools.filter((one) => one.tool === tool);
  return (
    sameName.find((one) => one.tool_call_id === undefined) ?? (call === undefined ? sameName[0] : undefined)
  );
}

function askQuestion(step: Step, event: QuestionEvent): void {
  const { next } = step;
  // Where replies are not seen, a question is certainly open only while the session keeps waiting.
  const isOpen = (one: TrackedQuestion) =>
    next.rules.replies ||
    (next.rules.states && one.turn === next.turn && !(instant(event.timestamp) >= one.deadline));
  const link = linkOf(event);
  const duplicate =
    event.type === CONFIRMATION &&
    [...next.openQuestions.values()].find(
      (one) =>
        one.type === CONFIRMATION &&
        (one.text === event.action || (link !== undefined && one.tool_call_id === link)) &&
        isOpen(one),
    );
  if (duplicate)
    fail(
      step,
      "SEQ-25",
      `A question about the same action is open ("${duplicate.text}"); wait for its reply.`,
    );
  if (next.rules.states && next.chain !== undefined && next.chain !== AWAITING_INPUT) next.awaitingDue = true;
  trackQuestion(next, event);
}

const linkOf = (event: QuestionEvent): string | undefined => {
  const link = event.type === CONFIRMATION ? event.extra_context?.["tool_call_id"] : undefined;
  return typeof link === "string" ? link : undefined;
};

function trackQuestion(next: Step["next"], event: QuestionEvent): void {
  const { reply_token, event_id, type } = event;
  const tool_call_id = linkOf(event);
  next.openQuestions = new Map(next.openQuestions).set(reply_token, {
    type,
    event_id,
    text: type === CONFIRMATION ? event.action : event.question,
    tool_call_id,
    deadline: instant(event.timestamp) + event.timeout_seconds * 1e6,
    turn: next.turn,
  });
  if (type !== CONFIRMATION) return;
  // A new question about a call replaces the earlier one and its answer.
  const others = next.consents.filter(
    (one) => tool_call_id === undefined || one.tool_call_id !== tool_call_id,
  );
  next.consents = [...others, { reply_token, tool_call_id, outcome: "asked" }];
}

function resolveQuestion(state: State, { reply_token, outcome }: Resolution): State {
  return {
    ...state,
    openQuestions: without(state.openQuestions, reply_token),
    consents: state.consents.map((one) =>
      one.reply_token === reply_token && one.outcome === "asked" ? { ...one, outcome } : one,
    ),
  };
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
