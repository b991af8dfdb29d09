/** Who is at work, and on what: kept apart by producer and session, and named where it would otherwise be unclear (SUB-16). */
import type { AgentEvent } from "../../protocol/types.ts";
import type { OutputBuffer } from "./output-buffer.ts";
import type { Phrases } from "./phrase.ts";
import { nameOf } from "./reader.ts";
import type { Run } from "./utterance.ts";

export interface Session {
  readonly id: string;
  readonly key: string;
  readonly source: string;
  readonly producer: string;
  readonly agent_id: string;
  readonly name: string;
  /** The name as far as an ear can tell it from others. */
  readonly sound: string;
  readonly number: number;
  ended: boolean;
  /** Its agent left, or came back without knowing us: nobody can tell what it does until it speaks. */
  unsure: boolean;
  /** What it is about, what it does, how far it is: for those who ask. */
  about: readonly Run[] | undefined;
  state: readonly Run[] | undefined;
  /** That is what the state says. */
  awaiting: boolean;
  progress: readonly Run[] | undefined;
  readonly tools: Map<string, { readonly said: Run; readonly brief: Run; readonly irreversible: boolean }>;
  readonly outputs: Map<string, OutputBuffer>;
  lastState: string;
  lastProgressAt: number;
  /** For the one sentence at the end of what was and was not done. */
  done: Run[];
  undone: Run[];
}

/** Sessions remembered; of the oldest, those that ended go first. */
const MOST_SESSIONS = 500;

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #counts = new Map<string, number>();
  readonly #left: (session: Session) => void;

  /** `left` is told of each that is forgotten. */
  constructor(left: (session: Session) => void) {
    this.#left = left;
  }

  of(event: AgentEvent, source: string): Session {
    const key = `${source} ${event.session_id}`;
    const known = this.#sessions.get(key);
    if (known) return known;
    const producer = `${source} ${event.producer.agent_id}`;
    const number = (this.#counts.get(producer) ?? 0) + 1;
    this.#counts.set(producer, number);
    if (this.#counts.size > MOST_SESSIONS) this.#counts.delete(this.#counts.keys().next().value!);
    const name = nameOf(event.producer);
    const session: Session = {
      id: event.session_id,
      key,
      source,
      producer,
      agent_id: event.producer.agent_id,
      name,
      sound: sound(name),
      number,
      ended: false,
      unsure: false,
      about: undefined,
      state: undefined,
      awaiting: false,
      progress: undefined,
      tools: new Map(),
      outputs: new Map(),
      lastState: "",
      lastProgressAt: -Infinity,
      done: [],
      undone: [],
    };
    this.#sessions.set(key, session);
    if (this.#sessions.size > MOST_SESSIONS) this.#forget();
    return session;
  }

  get active(): Session[] {
    return [...this.#sessions.values()].filter(({ ended, unsure }) => !ended && !unsure);
  }

  open(source: string): Session[] {
    return [...this.#sessions.values()].filter((one) => one.source === source && !one.ended);
  }

  doubt(source: string): void {
    for (const session of this.open(source)) session.unsure = true;
  }

  /** Who is at the end of a connection, if anything was heard over it. */
  nameOf(source: string): string | undefined {
    const session = [...this.#sessions.values()].filter((one) => one.source === source).at(-1);
    return session && this.#plain(session);
  }

  /** The name as it must be spoken to be unmistakable, and whether it must be: what begins may be anybody's. */
  spoken(session: Session, phrases: Phrases, begins = false): { name: string; ambiguous: boolean } {
    const others = this.active.filter((one) => one !== session);
    const plain = this.#plain(session);
    const twin = others.some((one) => one.producer === session.producer);
    return {
      name: twin ? phrases.text("task", { agent: plain, number: session.number }) : plain,
      ambiguous: others.length > 0 || (begins && this.#elsewhere(session).length > 0),
    };
  }

  /** Of other agents that are still there. */
  #elsewhere({ producer }: Session): Session[] {
    return [...this.#sessions.values()].filter((one) => one.producer !== producer && !one.unsure);
  }

  #plain(session: Session): string {
    const namesakes = this.#elsewhere(session).filter(({ sound }) => sound === session.sound);
    const id = nameOf({ agent_id: session.agent_id });
    const longer = namesakes.length > 0 && id !== session.name ? `${session.name}, ${id}` : session.name;
    // Two connections may claim one and the same id: then only their order tells them apart.
    const double = namesakes.some(({ agent_id }) => agent_id === session.agent_id);
    return double ? `${longer}, ${this.#place(session)}` : longer;
  }

  /** Which of the connections with this agent id it came over, by when they were first heard. */
  #place({ producer, agent_id }: Session): number {
    const known = [
      ...new Set(
        [...this.#sessions.values()].filter((one) => one.agent_id === agent_id).map((one) => one.producer),
      ),
    ];
    return known.indexOf(producer) + 1;
  }

  #forget(): void {
    const all = [...this.#sessions.values()];
    const gone = all.find(({ ended }) => ended) ?? all[0]!;
    this.#sessions.delete(gone.key);
    this.#left(gone);
  }
}

/** Names a person could not tell apart by ear. */
const sound = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
