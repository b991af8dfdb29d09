/** Calls and questions of a session: pairing, consent and its spending (4.5.2, 4.5.3, 6.1). Part of lifecycle.ts. */
import {
  type Book,
  type BookedQuestion,
  type Consent,
  fail,
  grow,
  has,
  instant,
  type OpenTool,
  type Resolution,
  type Step,
} from "./lifecycle-book.ts";
import type {
  AgentEvent,
  AwaitingClarification,
  AwaitingConfirmation,
  ToolCompleted,
  ToolInvoked,
} from "./types.ts";

export const AWAITING_INPUT = "awaiting_input";
export const CONFIRMATION = "aaep:agent.awaiting.confirmation";
export const CLARIFICATION = "aaep:agent.awaiting.clarification";

type Question = AwaitingConfirmation | AwaitingClarification;

export const isQuestion = (event: AgentEvent): event is Question =>
  event.type === CONFIRMATION || event.type === CLARIFICATION;

export function invoke(step: Step, event: ToolInvoked): void {
  const { next } = step;
  const { tool, tool_call_id: call } = event;
  if (call !== undefined) {
    if (has(next.invoked, call) || has(next.completed, call)) {
      fail(
        step,
        "SEQ-11",
        `The tool_call_id ${call} was used before; every call in a session needs its own.`,
      );
    }
    next.invoked = grow(next.invoked, call);
  }
  next.invoked = grow(next.invoked, nameEntry(tool));
  if (next.rules.completed) next.open_tools = [...next.open_tools, { tool, tool_call_id: call }];
  spend(step, event);
}

/** Kept in one set with the ids of calls, which have no spaces. */
const nameEntry = (tool: string): string => `tool ${tool}`;

/** One question authorises one invocation (CON-49), and silence authorises nothing irreversible (CON-02). */
function spend(step: Step, { tool, tool_call_id: call, irreversible }: ToolInvoked): void {
  const { next } = step;
  const isGrant = ({ outcome }: Consent) =>
    outcome === "accept" || (outcome === "asked" && !next.rules.replies);
  const linked = call === undefined ? undefined : next.consents.find((one) => one.tool_call_id === call);
  const unlinked =
    irreversible && !linked ? next.consents.filter((one) => one.tool_call_id === undefined) : [];
  const consent = linked ?? unlinked.find(isGrant) ?? unlinked.at(-1);
  const isGranted = consent !== undefined && isGrant(consent);
  const isCertain = linked !== undefined || (next.past_known && next.rules.confirmation);
  if (isCertain && !isGranted) {
    if (consent?.outcome === "reject") {
      fail(step, "SEQ-16", `${tool} was called although the action was rejected; leave it, or ask again.`);
    } else if (irreversible) {
      const why = consent
        ? "its question was not answered with an accept"
        : "nobody was asked, or that yes is spent";
      fail(
        step,
        "SEQ-14",
        `${tool} cannot be undone and was called, but ${why}; wait for one accept per call.`,
      );
    } else if (consent?.outcome === "asked") {
      fail(step, "CNF-02", `${tool} was called while its question is open; wait for the answer.`);
    }
  }
  if (!consent || !(isGranted || linked)) return;
  next.consents = next.consents.filter((one) => one !== consent);
  if (!next.rules.replies) next.open_questions = without(next.open_questions, consent.reply_token);
}

export function complete(step: Step, { tool, tool_call_id: call }: ToolCompleted): void {
  const { next } = step;
  const isAgain = call !== undefined && has(next.completed, call);
  const open = findOpen(next.open_tools, tool, call, isAgain);
  const isCertain = next.past_known && next.rules.invoked && next.rules.completed;
  if (open) {
    if (open.tool !== tool) {
      fail(
        step,
        "SEQ-11",
        `The call ${call} began as ${open.tool} and ends as ${tool}; use one name for both.`,
      );
    }
    next.open_tools = next.open_tools.filter((one) => one !== open);
  } else if (isAgain) {
    fail(step, "SEQ-10", `The call ${call} was completed before; complete every call exactly once.`);
  } else if (isCertain && call === undefined && has(next.invoked, nameEntry(tool))) {
    fail(step, "SEQ-10", `${tool} was completed more often than invoked; complete every call once.`);
  } else if (isCertain) {
    fail(step, "SEQ-09", `${tool} was completed but not invoked; send tool.invoked before it runs.`);
  }
  // A completion without an id may belong to a call that could not be seen.
  const id = call ?? (isCertain ? open?.tool_call_id : undefined);
  if (id !== undefined) next.completed = grow(next.completed, id);
}

/** By id, else by name (4.5.2): a call without an id first. */
function findOpen(tools: readonly OpenTool[], tool: string, call: string | undefined, isAgain: boolean) {
  const sameId = call === undefined ? undefined : tools.find((one) => one.tool_call_id === call);
  if (sameId || isAgain) return sameId;
  const sameName = tools.filter((one) => one.tool === tool);
  return (
    sameName.find((one) => one.tool_call_id === undefined) ?? (call === undefined ? sameName[0] : undefined)
  );
}

export function ask(step: Step, event: Question): void {
  const { next } = step;
  // Without sight of the answers, only an unbroken wait is certain to be one.
  const isOpen = (one: BookedQuestion) =>
    next.rules.replies ||
    (next.rules.states && one.turn === next.turn && !(instant(event.timestamp) >= one.deadline));
  const link = linkOf(event);
  const twin =
    event.type === CONFIRMATION &&
    [...next.open_questions.values()].find(
      (one) =>
        one.type === CONFIRMATION &&
        (one.text === event.action || (link !== undefined && one.tool_call_id === link)) &&
        isOpen(one),
    );
  if (twin)
    fail(
      step,
      "SEQ-25",
      `The same action is already being asked about ("${twin.text}"); wait for that answer.`,
    );
  if (next.rules.states && next.chain !== undefined && next.chain !== AWAITING_INPUT) next.unentered = true;
  remember(next, event);
}

const linkOf = (event: Question): string | undefined => {
  const link = event.type === CONFIRMATION ? event.extra_context?.["tool_call_id"] : undefined;
  return typeof link === "string" ? link : undefined;
};

export function remember(next: Step["next"], event: Question): void {
  const { reply_token, event_id, type } = event;
  const tool_call_id = linkOf(event);
  next.open_questions = new Map(next.open_questions).set(reply_token, {
    type,
    event_id,
    text: type === CONFIRMATION ? event.action : event.question,
    tool_call_id,
    deadline: instant(event.timestamp) + event.timeout_seconds * 1e6,
    turn: next.turn,
  });
  if (type !== CONFIRMATION) return;
  // A new question about a call takes back what was said about it.
  const others = next.consents.filter(
    (one) => tool_call_id === undefined || one.tool_call_id !== tool_call_id,
  );
  next.consents = [...others, { reply_token, tool_call_id, outcome: "asked" }];
}

export function resolve(state: Book, { reply_token, outcome }: Resolution): Book {
  return {
    ...state,
    open_questions: without(state.open_questions, reply_token),
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
