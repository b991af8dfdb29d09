/**
 * Random sessions that break no rule: parallel tools, several outputs, questions with every outcome, any ending.
 * Each event is strictly valid. Scripts also hold the resolutions that never travel; sessions hold events alone.
 */
import fc from "fast-check";
import type { LifecycleInput, Resolution } from "../../src/protocol/lifecycle.ts";
import {
  AAEP_VERSION,
  type AgentEvent,
  CORE_CONTEXT,
  type CoreEvent,
  type CoreEventMap,
  type CoreEventType,
} from "../../src/protocol/types.ts";
import { codePoints } from "../../src/text/language.ts";

export interface LegalSessionOptions {
  /** Makes session_id, event ids and tokens differ from those of other sessions; letters and digits. */
  tag?: string;
  /** Put a sequence_number on every event. */
  numbered?: boolean;
  /** Also emit events of the extension declared in EXTENSIONS. */
  extension?: boolean;
  /** The most moves a session is made of; one move is up to three events. */
  moves?: number;
}

/** What a strict validator has to know when `extension` is on. */
export const EXTENSIONS = { medai: "https://medai.example/context/v1" };

type ShortType = CoreEventType extends `aaep:agent.${infer Short}` ? Short : never;
type Fields<T extends ShortType> = Partial<CoreEventMap[`aaep:agent.${T}`]>;

const CRITICAL = ["session.errored", "awaiting.confirmation", "awaiting.clarification", "handoff.requested"];

/** Writes valid events of one session: fresh ids, time that only advances. */
export interface Scribe {
  readonly session_id: string;
  /** Lets time pass before the next event. */
  wait(ms: number): void;
  event<T extends ShortType>(type: T, fields?: Fields<T>): CoreEventMap[`aaep:agent.${T}`];
  extension(type: string, fields?: Record<string, unknown>): AgentEvent;
}

export function createScribe({ tag = "a1", numbered = false }: LegalSessionOptions = {}): Scribe {
  let count = 0;
  let now = Date.UTC(2026, 4, 24, 14, 22, 11, 342);
  const session_id = `sess_${tag}`;
  const envelope = (type: string, context: unknown, fields: object) => ({
    "@context": context,
    aaep_version: AAEP_VERSION,
    type,
    event_id: `evt_${tag}x${count}`,
    session_id,
    ...(numbered ? { sequence_number: count } : {}),
    timestamp: new Date(now).toISOString(),
    producer: { agent_id: "planner" },
    localization_hints: { primary_language: "en-US", text_direction: "ltr" },
    ...fields,
  });
  return {
    session_id,
    wait: (ms) => {
      now += ms;
    },
    event: (type, fields = {}) => {
      const made = envelope(`aaep:agent.${type}`, CORE_CONTEXT, {
        urgency: CRITICAL.includes(type) ? "critical" : type === "progress.updated" ? "background" : "normal",
        ...(type === "output.streaming" ? {} : { summary_normal: `${type}, number ${count}.` }),
        ...fields,
      });
      count++;
      return made as never;
    },
    extension: (type, fields = {}) => {
      const made = envelope(type, [CORE_CONTEXT, EXTENSIONS.medai], { urgency: "normal", ...fields });
      count++;
      return made as AgentEvent;
    },
  };
}

/** The same in fewer words, for tests that spell a session out. */
export function createWriter(scribe: Scribe = createScribe()) {
  const { event } = scribe;
  return {
    ...scribe,
    started: () => event("session.started"),
    completed: () => event("session.completed"),
    errored: () => event("session.errored", { error_category: "transient" }),
    cancelled: () => event("session.cancelled", { cancelled_by: "user" }),
    state: (from_state: string, to_state: string) => event("state.changed", { from_state, to_state }),
    progress: () => event("progress.updated", { progress: { percent: 40 } }),
    call: (tool: string, tool_call_id?: string, irreversible = false) =>
      event("tool.invoked", { tool, irreversible, ...(tool_call_id === undefined ? {} : { tool_call_id }) }),
    done: (tool: string, tool_call_id?: string) =>
      event("tool.completed", {
        tool,
        status: "success",
        ...(tool_call_id === undefined ? {} : { tool_call_id }),
      }),
    say: (chunk: string, position: number, complete = false, output_id?: string) =>
      event("output.streaming", {
        chunk,
        position,
        complete,
        ...(output_id === undefined ? {} : { output_id }),
      }),
    confirm: (reply_token: string, action: string, tool_call_id?: string) =>
      event("awaiting.confirmation", {
        action,
        consequence: "It happens at once.",
        reply_token,
        timeout_seconds: 300,
        default_decision: "reject",
        ...(tool_call_id === undefined ? {} : { extra_context: { tool_call_id } }),
      }),
  };
}

export const resolved = (reply_token: string, outcome: Resolution["outcome"]): Resolution => ({
  type: "resolution",
  reply_token,
  outcome,
});

interface Deed {
  action: string;
  tool: string;
  irreversible: boolean;
  link: string | undefined;
}

interface Asked extends Deed {
  token: string;
  kind: "confirmation" | "clarification";
}

const KINDS = {
  state: 3,
  summary: 1,
  progress: 2,
  invoke: 3,
  complete: 3,
  say: 6,
  finish: 2,
  confirm: 4,
  clarify: 1,
  settle: 5,
  spend: 6,
  handoff: 1,
  extension: 1,
} as const;

type Kind = keyof typeof KINDS;

const move = fc.record({
  kind: fc.oneof(
    ...Object.entries(KINDS).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as Kind) })),
  ),
  ms: fc.constantFrom(0, 0, 1, 40, 1500),
  picks: fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 }),
});

type Move = { kind: Kind; ms: number; picks: number[] };

const STATES = ["thinking", "calling_tool", "writing_output", "deciding", "handing_off", "idle", "recalling"];
const TOOLS = ["search", "fetch_balance", "transfer", "mail.send"];
const ACTIONS = ["Transfer $500 to savings.", "Send the mail to Ada.", "Delete the draft."];
const CHUNKS = ["Hel", "lo ", "wörld", "👋🏽", "", "日本語。"];
const ENDINGS = ["session.completed", "session.errored", "session.cancelled"] as const;

/** A legal session with its resolutions in place. */
export const legalScript = (options: LegalSessionOptions = {}): fc.Arbitrary<LifecycleInput[]> =>
  fc
    .tuple(
      fc.array(move, { maxLength: options.moves ?? 40, size: "max" }),
      fc.constantFrom(...ENDINGS),
      fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 }),
    )
    .map(([moves, ending, picks]) => play(moves, ending, picks, options));

/** The events of a legal session. */
export const legalSession = (options: LegalSessionOptions = {}): fc.Arbitrary<CoreEvent[]> =>
  legalScript({ ...options, extension: false }).map((script) => script.filter(isEvent) as CoreEvent[]);

export const isEvent = (input: LifecycleInput): input is AgentEvent => input.type !== "resolution";

function play(moves: Move[], ending: (typeof ENDINGS)[number], last: number[], options: LegalSessionOptions) {
  const script: LifecycleInput[] = [];
  const scribe = createScribe(options);
  const tag = options.tag ?? "a1";
  const tools: { tool: string; tool_call_id?: string }[] = [];
  const outputs = new Map<string, number>();
  const questions: Asked[] = [];
  const granted: Deed[] = [];
  const refusedLinks = new Map<string, string>();
  let picks: number[] = [];
  let state = "idle";
  let minted = 0;
  let implicitDone = false;

  const mint = (prefix: string) => `${prefix}_${tag}n${minted++}`;
  const pick = <T>(items: readonly T[]): T => {
    const n = picks.shift() ?? 0;
    picks.push(n);
    return items[n % items.length]!;
  };
  const flip = () => pick([true, false]);
  const emit = <T extends ShortType>(type: T, fields?: Fields<T>) => script.push(scribe.event(type, fields));
  const change = (to: string) => {
    emit("state.changed", { from_state: state, to_state: to });
    state = to;
  };
  const say = (id: string, chunk: string, complete: boolean) => {
    const position = outputs.get(id) ?? 0;
    const output_id = id ? { output_id: id } : {};
    emit("output.streaming", {
      chunk,
      position,
      complete,
      coalesce_hint: complete ? "completion" : "none",
      ...output_id,
    });
    outputs.set(id, position + codePoints(chunk));
    if (complete) outputs.delete(id);
    if (complete && !id) implicitDone = true;
  };
  const invoke = (tool: string, tool_call_id: string | undefined, irreversible: boolean) => {
    const call = { tool, ...(tool_call_id === undefined ? {} : { tool_call_id }) };
    emit("tool.invoked", { ...call, ...(irreversible ? { irreversible, risk_level: "high" } : {}) });
    tools.push(call);
  };
  const complete = () => {
    const call = pick(tools);
    tools.splice(tools.indexOf(call), 1);
    emit("tool.completed", { ...call, status: pick(["success", "error", "timeout"] as const) });
  };
  const ask = (send: () => void) => {
    const enterFirst = flip();
    if (state !== "awaiting_input" && enterFirst) change("awaiting_input");
    send();
    if (state !== "awaiting_input") change("awaiting_input");
  };
  const confirm = () => {
    const free = ACTIONS.filter((action) => ![...questions, ...granted].some((one) => one.action === action));
    if (free.length === 0) return;
    const action = pick(free);
    const irreversible = flip();
    const link = flip() ? ((flip() ? refusedLinks.get(action) : undefined) ?? mint("call")) : undefined;
    refusedLinks.delete(action);
    const token = mint("rpl");
    ask(() =>
      emit("awaiting.confirmation", {
        action,
        consequence: "It happens at once.",
        reply_token: token,
        timeout_seconds: 300,
        default_decision: irreversible ? "reject" : "accept",
        risk_level: irreversible ? "high" : "low",
        irreversible,
        ...(link === undefined ? {} : { extra_context: { tool_call_id: link } }),
      }),
    );
    questions.push({ kind: "confirmation", token, action, irreversible, link, tool: pick(TOOLS) });
  };
  const clarify = () => {
    const token = mint("rpl");
    ask(() =>
      emit("awaiting.clarification", {
        question: "Which account?",
        reply_token: token,
        timeout_seconds: 120,
      }),
    );
    questions.push({
      kind: "clarification",
      token,
      action: "",
      irreversible: false,
      link: undefined,
      tool: "",
    });
  };
  const settle = (only?: Resolution["outcome"]) => {
    const question = pick(questions);
    questions.splice(questions.indexOf(question), 1);
    const outcomes: Resolution["outcome"][] =
      question.kind === "clarification"
        ? ["answered", "withdrawn"]
        : [
            "accept",
            "reject",
            "accept",
            "withdrawn",
            ...(question.irreversible ? [] : ["timeout_accept" as const]),
          ];
    const outcome = only ?? pick(outcomes);
    script.push({ type: "resolution", reply_token: question.token, outcome });
    if (outcome === "accept" || outcome === "timeout_accept") granted.push(question);
    if (outcome === "reject" && question.link !== undefined) refusedLinks.set(question.action, question.link);
    change(questions.length > 0 ? "awaiting_input" : pick(["thinking", "deciding"]));
  };
  const act: Record<Kind, () => void> = {
    state: () => {
      if (questions.length === 0) change(pick(STATES.filter((one) => one !== state)));
    },
    summary: () => change(state),
    progress: () => emit("progress.updated", { progress: { percent: pick([5, 40, 99.5]) } }),
    invoke: () => invoke(pick(TOOLS), flip() ? mint("call") : undefined, false),
    complete: () => tools.length > 0 && complete(),
    say: () => {
      const fresh = [...(implicitDone || outputs.has("") ? [] : [""]), mint("out")];
      say(pick(outputs.size < 3 ? [...outputs.keys(), ...fresh] : [...outputs.keys()]), pick(CHUNKS), false);
    },
    finish: () => outputs.size > 0 && say(pick([...outputs.keys()]), pick(["", "Done."]), true),
    confirm,
    clarify,
    settle: () => questions.length > 0 && settle(),
    spend: () => {
      const deed = granted.shift();
      if (deed) invoke(deed.tool, deed.link ?? (flip() ? mint("call") : undefined), deed.irreversible);
    },
    handoff: () => emit("handoff.requested", { reason: "A person must decide.", target_kind: "human" }),
    extension: () =>
      options.extension && script.push(scribe.extension("medai:case.opened", { summary_normal: "Case." })),
  };

  emit("session.started", { summary_normal: "Planning your week." });
  for (const one of moves) {
    picks = [...one.picks];
    scribe.wait(one.ms);
    act[one.kind]();
  }
  picks = [...last];
  while (tools.length > 0) complete();
  // Cancelling voids what is still being asked (CNF-34); any other ending settles it first.
  while (questions.length > 0 && !(ending === "session.cancelled" && flip())) settle("withdrawn");
  for (const id of [...outputs.keys()]) say(id, "", true);
  if (ending === "session.completed") emit(ending, { summary_normal: "Done." });
  else if (ending === "session.errored") emit(ending, { error_category: "transient" });
  else emit(ending, { cancelled_by: "user" });
  return script;
}
