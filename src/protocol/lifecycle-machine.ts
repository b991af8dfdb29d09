/** The reducer of lifecycle.ts: one event in, the next state and what was wrong out. */
import { codePoints } from "./formats.ts";
import {
  type Book,
  fail,
  grow,
  has,
  isEarlier,
  type Lifecycle,
  type LifecycleOptions,
  noneGrown,
  type Resolution,
  type Step,
  type TerminalType,
  type Violation,
} from "./lifecycle-book.ts";
import {
  AWAITING_INPUT,
  ask,
  CLARIFICATION,
  CONFIRMATION,
  complete,
  invoke,
  isQuestion,
  remember,
  resolve,
} from "./lifecycle-calls.ts";
import type { AgentEvent, CoreEvent, OutputStreaming, StateChanged } from "./types.ts";

export type LifecycleInput = AgentEvent | Resolution;

export interface LifecycleStep {
  readonly state: Lifecycle;
  readonly violations: readonly Violation[];
}

const STARTED = "aaep:agent.session.started";
const COMPLETED = "aaep:agent.session.completed";
const STATE = "aaep:agent.state.changed";
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

const nothingOpen = () => ({
  event_ids: noneGrown(),
  invoked: noneGrown(),
  completed: noneGrown(),
  closed_outputs: noneGrown(),
  consents: [],
  open_tools: [],
  open_outputs: new Map(),
  open_questions: new Map(),
});

export function startLifecycle(options: LifecycleOptions = {}): Lifecycle {
  const visible = options.visible ?? (() => true);
  const rules: Book["rules"] = {
    states: options.state_chain !== "sampled" && visible(STATE),
    replies: options.replies === "seen",
    ids: options.event_ids !== "trusted",
    whole: !options.visible && options.state_chain !== "sampled",
    started: visible(STARTED),
    terminal: TERMINALS.every((type) => visible(type)),
    invoked: visible("aaep:agent.tool.invoked"),
    completed: visible("aaep:agent.tool.completed"),
    output: visible("aaep:agent.output.streaming"),
    confirmation: visible(CONFIRMATION),
  };
  const book: Book = {
    ...nothingOpen(),
    phase: rules.started ? "before" : "unknown",
    terminal: undefined,
    current_state: "idle",
    rules,
    past_known: true,
    started: rules.started ? false : undefined,
    clock: "",
    numbering: "unknown",
    number: 0,
    chain: "idle",
    moved: false,
    implied: [],
    turn: 0,
    unentered: false,
  };
  return options.joined === "mid" ? gapLifecycle(book) : book;
}

/** Something may have been missed. From here on as if joined mid-session, but what is certain is kept. */
export function gapLifecycle(state: Lifecycle): Lifecycle {
  const book = state as Book;
  if (book.phase === "ended") return state;
  const missed: Book = {
    ...book,
    phase: "unknown",
    past_known: false,
    started: book.started || undefined,
    current_state: undefined,
    chain: undefined,
    moved: true,
    implied: [],
    unentered: false,
    clock: "",
    numbering: "unknown",
    consents: [],
    open_tools: [],
    open_outputs: new Map(),
    open_questions: new Map(),
  };
  return missed;
}

export function stepLifecycle(state: Lifecycle, input: LifecycleInput): LifecycleStep {
  const book = state as Book;
  if (input.type === "resolution") return { state: resolve(book, input as Resolution), violations: NONE };
  const step: Step = { next: { ...book }, event: input as AgentEvent, found: undefined };
  if (book.phase === "ended") {
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
    fail(step, "SEQ-04", `${ended}; it cannot be reported as completed any more.`);
  } else if (isTerminal(type)) {
    fail(step, "SEQ-02", `${ended}; send exactly one terminal event.`);
  } else {
    fail(step, "SEQ-03", `${ended}; ${type} has to come before that, or belong to a new session.`);
  }
}

/** An open question is sent again, unchanged, to whoever rejoins (CON-16). */
function isResent({ next, event }: Step): boolean {
  if (!isQuestion(event)) return false;
  if (next.open_questions.get(event.reply_token)?.event_id === event.event_id) return true;
  if (next.past_known || !has(next.event_ids, event.event_id)) return false;
  remember(next, event);
  next.phase = "open";
  return true;
}

function checkEnvelope(step: Step): void {
  const { next, event } = step;
  if (next.rules.ids) {
    if (has(next.event_ids, event.event_id)) {
      fail(step, "ENV-10", `The event_id ${event.event_id} was used before; every event needs its own.`);
    }
    next.event_ids = grow(next.event_ids, event.event_id);
  }
  // What a (re)join begins with tells of the past: questions keep their old time, a summary is newer than a replay.
  const recap =
    !next.past_known && (isQuestion(event) || (event.type === STATE && event.from_state === event.to_state));
  if (!recap) {
    if (next.clock && isEarlier(event.timestamp, next.clock)) {
      fail(
        step,
        "ENV-15",
        `The time goes back from ${next.clock} to ${event.timestamp}; it may only stand or advance.`,
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
      fail(
        step,
        "ENV-25",
        "Some events of this session have a sequence_number and some do not; number all or none.",
      );
    }
    next.numbering = "mixed";
  }
  if (number === undefined || next.numbering === "mixed") return;
  const expected = isFirst ? 0 : next.number + 1;
  const isWrong = isFirst
    ? next.past_known && next.rules.whole && number !== 0
    : next.rules.whole
      ? number !== expected
      : number < expected;
  if (isWrong) {
    fail(
      step,
      "ENV-24",
      `The sequence_number is ${number} where ${expected} was due; count from 0 in steps of 1.`,
    );
  }
  next.number = number;
}

function checkPhase(step: Step): void {
  const { next, event } = step;
  if (event.type === STARTED) {
    if (next.started) {
      fail(step, "SEQ-01", "The session was started already; another one needs a session_id of its own.");
    } else if (next.started === false && next.phase !== "before") {
      fail(
        step,
        "SEQ-03",
        "Events of this session came before its start; send session.started ahead of them.",
      );
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
      stream(step, event);
      break;
    case "aaep:agent.state.changed":
      move(step, event);
      break;
    case "aaep:agent.tool.invoked":
      invoke(step, event);
      break;
    case "aaep:agent.tool.completed":
      complete(step, event);
      break;
    case "aaep:agent.awaiting.confirmation":
    case "aaep:agent.awaiting.clarification":
      ask(step, event);
      break;
    case "aaep:agent.session.completed":
    case "aaep:agent.session.errored":
    case "aaep:agent.session.cancelled":
      end(step, event.type);
  }
  const { next } = step;
  const implied = IMPLIED[event.type];
  if (implied && !next.implied.includes(implied)) next.implied = [...next.implied, implied];
}

function stream(step: Step, event: OutputStreaming): void {
  const { next } = step;
  const { chunk, position, complete } = event;
  const key = event.output_id ?? "";
  if (has(next.closed_outputs, key)) {
    fail(step, "SEQ-21", `${outputName(key)} was complete; put further text into a new output.`);
    return;
  }
  const open = next.open_outputs.get(key);
  const lowest = open ? Math.max(open.position, chunk ? open.text_from : 0) : 0;
  if (position < lowest) {
    fail(
      step,
      "SEQ-22",
      `${outputName(key)} is at position ${lowest} or beyond; a chunk at ${position} goes back.`,
    );
  }
  const outputs = new Map(next.open_outputs);
  next.open_outputs = outputs;
  if (complete) {
    outputs.delete(key);
    next.closed_outputs = grow(next.closed_outputs, key);
    return;
  }
  outputs.set(key, {
    position,
    next_position: position + codePoints(chunk),
    text_from: chunk ? position + 1 : (open?.text_from ?? 0),
  });
}

const outputName = (key: string): string => (key ? `The output ${key}` : "The session's output");

function move(step: Step, { from_state: from, to_state: to }: StateChanged): void {
  const { next } = step;
  const isSummary = from === to; // CON-26
  // After a gap a summary runs ahead of what is replayed, so it neither fits the chain nor anchors it.
  const chain = isSummary && !next.past_known ? undefined : next.chain;
  if (next.rules.states && chain !== undefined && from !== chain) {
    if (!next.moved) {
      fail(step, "SEQ-05", `The first state.changed leaves "${from}"; a session starts out idle.`);
    } else if (!next.implied.includes(from)) {
      fail(
        step,
        "SEQ-06",
        `This state.changed leaves "${from}", but the state was "${chain}"; report every one.`,
      );
    }
  }
  next.current_state = to;
  next.implied = [];
  if (isSummary) {
    next.chain = next.past_known ? to : undefined;
    next.turn++;
    return;
  }
  next.chain = to;
  next.moved = true;
  if (to !== AWAITING_INPUT) {
    if (next.unentered)
      fail(step, "SEQ-19", `A question is out, but the state went to "${to}", not to awaiting_input.`);
    next.turn++;
    // Whoever cannot see the answers learns from this that there was one, or a withdrawal (CON-13, CON-27).
    if (!next.rules.replies && next.open_questions.size) next.open_questions = new Map();
  }
  next.unentered = false;
}

function end(step: Step, type: TerminalType): void {
  const { next } = step;
  for (const { tool, tool_call_id: call } of next.open_tools) {
    const name = call ? `${tool} (${call})` : tool;
    fail(
      step,
      "SEQ-10",
      `${name} was invoked and never completed; close it, with status timeout if it must be.`,
    );
  }
  if (next.rules.output) {
    for (const key of next.open_outputs.keys()) {
      fail(
        step,
        "SEQ-20",
        `${outputName(key)} was never complete; close it with an empty chunk before the end.`,
      );
    }
  }
  Object.assign(next, nothingOpen(), { phase: "ended", terminal: type });
}
