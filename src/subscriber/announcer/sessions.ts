/**
 * The agents' sessions as a listener observes them: kept apart by connection and session, named where it would be
 * unclear who speaks (SUB-16), with a summary of what each does and did, for "what is happening?" and for the sentence at
 * the end of a session.
 */
import type { QuestionOutcome } from "../../protocol/extension.ts";
import type {
  AgentEvent,
  ProgressUpdated,
  StateChanged,
  ToolCompleted,
  ToolInvoked,
} from "../../protocol/types.ts";
import { agentName, type EventText, type Phrases, soundKey } from "./phrases.ts";
import type { Run } from "./utterance.ts";

export interface ObservedSession {
  readonly id: string;
  readonly key: string;
  readonly source: string;
  readonly producer: string;
  readonly agent_id: string;
  readonly name: string;
  /** The name normalized, to find names that sound the same. */
  readonly sound: string;
  readonly number: number;
  ended: boolean;
  /** The agent disconnected, or came back without this subscription: its state is unknown until its next event. */
  unknown: boolean;
  /** Topic, state and progress, for "what is happening?". */
  about: readonly Run[] | undefined;
  state: readonly Run[] | undefined;
  /** The state is `awaiting_input`. */
  awaiting: boolean;
  progress: readonly Run[] | undefined;
  readonly tools: Map<string, { readonly said: Run; readonly brief: Run; readonly irreversible: boolean }>;
  lastState: string;
  lastProgressAt: number;
  /** For the sentence on what was and was not done. */
  done: Run[];
  undone: Run[];
}

/** Sessions remembered; ended ones are evicted first. */
const MAX_SESSIONS = 500;

export class ObservedSessions {
  readonly #sessions = new Map<string, ObservedSession>();
  readonly #counts = new Map<string, number>();
  readonly #evicted: (session: ObservedSession) => void;

  constructor(evicted: (session: ObservedSession) => void) {
    this.#evicted = evicted;
  }

  of(event: AgentEvent, source: string): ObservedSession {
    const key = `${source} ${event.session_id}`;
    const known = this.#sessions.get(key);
    if (known) return known;
    const producer = `${source} ${event.producer.agent_id}`;
    const number = (this.#counts.get(producer) ?? 0) + 1;
    this.#counts.set(producer, number);
    if (this.#counts.size > MAX_SESSIONS) this.#counts.delete(this.#counts.keys().next().value!);
    const name = agentName(event.producer);
    const session: ObservedSession = {
      id: event.session_id,
      key,
      source,
      producer,
      agent_id: event.producer.agent_id,
      name,
      sound: soundKey(name),
      number,
      ended: false,
      unknown: false,
      about: undefined,
      state: undefined,
      awaiting: false,
      progress: undefined,
      tools: new Map(),
      lastState: "",
      lastProgressAt: -Infinity,
      done: [],
      undone: [],
    };
    this.#sessions.set(key, session);
    if (this.#sessions.size > MAX_SESSIONS) this.#evict();
    return session;
  }

  get active(): ObservedSession[] {
    return [...this.#sessions.values()].filter(({ ended, unknown }) => !ended && !unknown);
  }

  open(source: string): ObservedSession[] {
    return [...this.#sessions.values()].filter((one) => one.source === source && !one.ended);
  }

  /** Their agent may have gone: nothing is known about them until they send an event. */
  markUnknown(source: string): void {
    for (const session of this.open(source)) session.unknown = true;
  }

  /** The agent at the other end of a connection, if it has sent anything. */
  agentOn(source: string): string | undefined {
    const session = [...this.#sessions.values()].filter((one) => one.source === source).at(-1);
    return session && this.#plain(session);
  }

  /** The agent's name, made unambiguous, and whether announcements need it. `starting`: a new session could be anyone's. */
  naming(session: ObservedSession, phrases: Phrases, starting = false): { name: string; ambiguous: boolean } {
    const others = this.active.filter((one) => one !== session);
    const plain = this.#plain(session);
    const twin = others.some((one) => one.producer === session.producer);
    return {
      name: twin ? phrases.text("task", { agent: plain, number: session.number }) : plain,
      ambiguous: others.length > 0 || (starting && this.#ofOthers(session).length > 0),
    };
  }

  /** Sessions of other agents that are still connected. */
  #ofOthers({ producer }: ObservedSession): ObservedSession[] {
    return [...this.#sessions.values()].filter((one) => one.producer !== producer && !one.unknown);
  }

  #plain(session: ObservedSession): string {
    const namesakes = this.#ofOthers(session).filter(({ sound }) => sound === session.sound);
    const id = agentName({ agent_id: session.agent_id });
    const longer = namesakes.length > 0 && id !== session.name ? `${session.name}, ${id}` : session.name;
    // Two connections may claim the same agent id: only a number tells them apart then.
    const double = namesakes.some(({ agent_id }) => agent_id === session.agent_id);
    return double ? `${longer}, ${this.#connectionNumber(session)}` : longer;
  }

  /** The number of this connection among those with the same agent id, in order of their first event. */
  #connectionNumber({ producer, agent_id }: ObservedSession): number {
    const known = [
      ...new Set(
        [...this.#sessions.values()].filter((one) => one.agent_id === agent_id).map((one) => one.producer),
      ),
    ];
    return known.indexOf(producer) + 1;
  }

  #evict(): void {
    const all = [...this.#sessions.values()];
    const gone = all.find(({ ended }) => ended) ?? all[0]!;
    this.#sessions.delete(gone.key);
    this.#evicted(gone);
  }
}

const MAX_TOOLS = 64;
/** Tools named in one sentence: more are hard to remember by ear. */
const MAX_NAMED = 3;

/** Updates what is known about a session from one of its events. */
export function observe(event: AgentEvent, session: ObservedSession, text: EventText): void {
  const said = text.summary();
  switch (event.type) {
    case "aaep:agent.session.started":
      session.about = said && [said];
      return;
    case "aaep:agent.state.changed": {
      const { to_state } = event as StateChanged;
      session.awaiting = to_state === "awaiting_input";
      session.state = said
        ? [said]
        : text.phrases.say("state_other", { state: text.label(to_state.replaceAll("_", " ")) });
      return;
    }
    case "aaep:agent.progress.updated": {
      const { percent } = (event as ProgressUpdated).progress;
      session.progress = said
        ? [said]
        : percent === undefined
          ? undefined
          : [text.phrases.own(`${text.phrases.percent(percent)}.`)];
      return;
    }
    case "aaep:agent.tool.invoked": {
      const { tool, tool_call_id, irreversible = false } = event as ToolInvoked;
      session.tools.set(tool_call_id ?? tool, {
        said: said ?? text.label(tool),
        brief: text.brief() ?? text.label(tool),
        irreversible,
      });
      if (session.tools.size > MAX_TOOLS) session.tools.delete(session.tools.keys().next().value!);
      session.progress = undefined;
      return;
    }
    case "aaep:agent.tool.completed": {
      const { tool, tool_call_id, status } = event as ToolCompleted;
      const known = session.tools.get(tool_call_id ?? tool);
      const words = known?.brief ?? text.label(tool);
      session.tools.delete(tool_call_id ?? tool);
      // A failed irreversible call, or a timeout, may have taken effect all the same: claim neither.
      if (status === "success") session.done = named(session.done, words);
      else if (status === "error" && known?.irreversible === false)
        session.undone = named(session.undone, words);
      return;
    }
  }
}

/** Answers "what is happening?". Without a connection, the last known state may be outdated. */
export function sessionStatus(
  session: ObservedSession,
  agent: string,
  disconnected: boolean,
  phrases: Phrases,
): Run[] {
  if (disconnected) return phrases.say("line_lost", { agent });
  return phrases.say("named", { agent, words: currentActivity(session, phrases) });
}

function currentActivity(session: ObservedSession, phrases: Phrases): Run[] {
  const tool = [...session.tools.values()].at(-1)?.said;
  const doing = [tool ? [tool] : session.state, session.progress].filter((one) => one !== undefined);
  return phrases.join(doing.length > 0 ? doing : [session.about ?? phrases.say("still_working")]);
}

/** A question of this session was settled. */
export function observeOutcome(
  session: ObservedSession,
  outcome: QuestionOutcome | "ended" | "closed",
  brief: Run | undefined,
): void {
  // It no longer waits for this answer.
  if (session.awaiting) session.state = undefined;
  if (brief && (outcome === "rejected" || outcome === "withdrawn"))
    session.undone = named(session.undone, brief);
}

/** One sentence on what was and was not done since the last one; empty if there is nothing to report. */
export function takeSummary(session: ObservedSession, phrases: Phrases): Run[][] {
  const { done, undone } = session;
  const slots = { done: listed(done, phrases), undone: listed(undone, phrases) };
  session.done = [];
  session.undone = [];
  if (done.length > 0 && undone.length > 0) return [phrases.say("done_and_not", slots)];
  if (done.length > 0) return [phrases.say("done", slots)];
  return undone.length > 0 ? [phrases.say("not_done", slots)] : [];
}

const named = (before: readonly Run[], one: Run): Run[] => [...before, one].slice(-MAX_NAMED);

/** "check the balance, find flights": without full stops, which would end the sentence. */
function listed(runs: readonly Run[], phrases: Phrases): Run[] {
  const shown = runs.map((one) => ({ ...one, text: one.text.replace(/[.。!！…]+$/u, "") }));
  const comma = /^(?:ja|zh)/.test(phrases.language) ? "、" : /^ar/.test(phrases.language) ? "، " : ", ";
  return shown.flatMap((one, index) => (index === 0 ? [one] : [phrases.own(comma), one]));
}
