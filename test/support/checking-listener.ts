/**
 * A listener that believes nothing: it assembles what arrives as a subscriber would, dropping repeats by id and overlap
 * by position, and complains about everything that the requirements do not allow.
 */
import { decodeId } from "../../src/delivery/cursor.ts";
import type { LogEntry, LogIdentity } from "../../src/delivery/entry.ts";
import { type Shape, shapeOf } from "../../src/delivery/shape.ts";
import { CRITICAL_TYPES, isCritical } from "../../src/protocol/filters.ts";
import {
  gapLifecycle,
  type Lifecycle,
  type LifecycleOptions,
  startLifecycle,
  stepLifecycle,
} from "../../src/protocol/lifecycle.ts";
import { parseValue } from "../../src/protocol/parse.ts";
import type { AgentEvent, OutputStreaming } from "../../src/protocol/types.ts";
import { type Listener, type Moment, REGISTRY } from "./delivery-harness.ts";

const GAP = /^Some of what the agent said/;
const EVENT_ID = /^evt_[A-Za-z0-9]+$/;

export const isGap = (event: AgentEvent): boolean =>
  event.type === "aaep:agent.state.changed" &&
  GAP.test((event as { summary_normal?: string }).summary_normal ?? "");

/** What the log says, by output. */
export class LogText {
  readonly texts = new Map<string, string[]>();
  readonly starts = new Map<string, Set<number>>();

  constructor(entries: readonly LogEntry[]) {
    for (const { event } of entries) {
      if (event.type !== "aaep:agent.output.streaming") continue;
      const { session_id, output_id = "", chunk } = event as OutputStreaming;
      const key = `${session_id} ${output_id}`;
      const points = this.texts.get(key) ?? [];
      const starts = this.starts.get(key) ?? new Set();
      starts.add(points.length);
      points.push(...chunk);
      this.texts.set(key, points);
      this.starts.set(key, starts);
    }
  }
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

interface Assembled {
  from: number;
  to: number;
  complete: boolean;
  generation: string;
}

export class Ear {
  readonly complaints: string[] = [];
  /** Code points that came more than once. */
  overlap = 0;
  gaps = 0;
  readonly outputs = new Map<string, Assembled>();
  readonly #log: LogText;
  readonly #identity: LogIdentity;
  readonly #entries: readonly LogEntry[];
  readonly #seen = new Map<string, string>();
  readonly #lives = new Map<string, { state: Lifecycle; clock: string }>();
  readonly #gapped = new Map<string, number>();
  readonly #listener: Listener;
  #generation = 0;
  #shape!: Shape;
  #framed = "";
  readonly #shapes: Shape[] = [];
  readonly #heard = new Set<string>();
  readonly #lasts = new Map<string, string>();
  #known: ReadonlySet<string> = new Set();

  constructor(listener: Listener, entries: readonly LogEntry[], identity: LogIdentity) {
    this.#listener = listener;
    this.#entries = entries;
    this.#identity = identity;
    this.#log = new LogText(entries);
    for (const moment of listener.moments) this.#hear(moment);
  }

  /** Whether everything said was heard: no gap told, never filtered, there from the start. */
  get whole(): boolean {
    return this.gaps === 0 && this.#generation === 0;
  }

  text(key: string): string | undefined {
    const heard = this.outputs.get(key);
    return heard && this.#log.texts.get(key)!.slice(heard.from, heard.to).join("");
  }

  /** What was said, passed every filter this listener ever had, and never came; and where it was left in the dark. */
  get missed(): string[] {
    if (!this.whole) return [];
    const missed: string[] = [];
    const lasts = new Map<string, string>();
    const always = (event: AgentEvent) =>
      this.#shapes.every((shape) => isCritical(event) || shape.passes(event.type));
    const answers = this.#shapes.every(({ confirmation, clarification }) => confirmation && clarification);
    for (const { event } of this.#entries) {
      const { type, session_id } = event;
      if (
        !this.#listener.view.hears({ session_id } as never) ||
        !always(event) ||
        type === "aaep:agent.output.streaming"
      )
        continue;
      if (type.includes("awaiting.") && !answers) continue;
      const merges = type === "aaep:agent.state.changed" || type === "aaep:agent.progress.updated";
      if (merges) lasts.set(`${session_id} ${type}`, lastWords(event));
      else if (!this.#heard.has(lastWords(event)))
        missed.push(`${this.#listener.name} never heard ${JSON.stringify(event)}`);
    }
    if (this.#shapes.some(({ low }) => low)) return missed;
    for (const [key, words] of lasts) {
      if (this.#lasts.get(key) !== words)
        missed.push(`${this.#listener.name}: ${key} was left at ${this.#lasts.get(key)}, not ${words}`);
    }
    return missed;
  }

  #complain(text: string, event?: AgentEvent): void {
    this.complaints.push(`${this.#listener.name}: ${text}${event ? ` in ${JSON.stringify(event)}` : ""}`);
  }

  #hear(moment: Moment): void {
    if (moment.what === "sent") return this.#take(moment);
    const shape = shapeOf(moment.terms, REGISTRY);
    const rules = rulesOf(shape);
    const framed = JSON.stringify([rules, shape.clarification]);
    const changed = framed !== this.#framed;
    this.#framed = framed;
    if (!shape.passes("aaep:agent.output.streaming")) this.#generation++;
    const attached = moment.what === "attach";
    // What began unheard, or before a place that is not known, begins in the middle.
    if (changed || (attached && moment.start !== "resumed")) this.#known = moment.known;
    if (attached && moment.start !== "resumed" && moment.known.size > 0) this.#generation++;
    for (const life of this.#lives.values()) {
      if (attached || changed) life.state = reframe(gapLifecycle(life.state), rules);
      if (attached) life.clock = "";
    }
    this.#shape = shape;
    this.#shapes.push(shape);
  }

  #take({ delivery, event }: Extract<Moment, { what: "sent" }>): void {
    const parsed = parseValue(event, { mode: "strict", extensions: REGISTRY });
    if (!parsed.ok) this.#complain(`not strictly valid: ${JSON.stringify(parsed.issues)}`, event);
    if (!EVENT_ID.test(event.event_id) || event.event_id !== delivery.event_id)
      this.#complain("a wrong id", event);
    if (!this.#listener.view.hears({ session_id: event.session_id } as never))
      this.#complain("another view's session", event);
    if (isCritical(event) !== delivery.critical) this.#complain("wrongly marked critical", event);
    this.#admit(event);
    if (isGap(event)) {
      this.gaps++;
      this.#gapped.set(event.session_id, (this.#gapped.get(event.session_id) ?? 0) + 1);
    }
    const again = this.#seen.get(event.event_id);
    if (again !== undefined) return this.#repeat(event, again);
    this.#seen.set(event.event_id, delivery.json);
    this.#matchLog(event);
    this.#heard.add(lastWords(event));
    if (this.#isLogged(event)) this.#lasts.set(`${event.session_id} ${event.type}`, lastWords(event));
    const fresh =
      event.type === "aaep:agent.output.streaming" ? this.#listen(event as OutputStreaming) : event;
    if (fresh) this.#live(fresh, delivery.cursor);
  }

  /** Nothing that the filters or the load leave out, and no token for who cannot answer. */
  #admit(event: AgentEvent): void {
    const shape = this.#shape;
    if (!shape.passes(event.type) && !isCritical(event)) this.#complain("a filtered type", event);
    if (shape.low && event.urgency === "background" && event.type === "aaep:agent.progress.updated")
      this.#complain("progress at low load", event);
    if (event.type === "aaep:agent.awaiting.confirmation" && !shape.confirmation)
      this.#complain("a token too many", event);
    if (event.type === "aaep:agent.awaiting.clarification" && !shape.clarification)
      this.#complain("a token too many", event);
    for (const prefix of Object.keys(event.extensions ?? {}))
      if (!shape.prefixes.has(prefix)) this.#complain("an extension too many", event);
  }

  /** Dropping by id must never swallow anything new. */
  #repeat(event: AgentEvent, first: string): void {
    if (event.type !== "aaep:agent.output.streaming") {
      const { timestamp: _, ...now } = event as unknown as Record<string, unknown>;
      const { timestamp: __, ...then } = JSON.parse(first) as Record<string, unknown>;
      const same = now["type"] === then["type"] && now["session_id"] === then["session_id"];
      if (!same) this.#complain(`an id used twice, before as ${first}`, event);
      return;
    }
    const { position, chunk, output_id = "", session_id } = event as OutputStreaming;
    const to = this.outputs.get(`${session_id} ${output_id}`)?.to ?? 0;
    if (position + [...chunk].length > to)
      this.#complain(`a used id with new text, before as ${first}`, event);
  }

  /** Of the log, not about it; what stands in for a question is not what was said. */
  #isLogged(event: AgentEvent): boolean {
    const cursor = decodeId(this.#identity, event.event_id);
    const { from_state, to_state, urgency } = event as unknown as Record<string, unknown>;
    const standsIn = urgency === "critical" && from_state === "awaiting_input" && from_state === to_state;
    return typeof cursor !== "string" && !(standsIn && cursor.kind === "run");
  }

  #matchLog(event: AgentEvent): void {
    const cursor = decodeId(this.#identity, event.event_id);
    if (typeof cursor === "string" || cursor.kind !== "event") return;
    const entry = this.#entries[cursor.seq - 1];
    if (entry?.event.type !== event.type || entry.event.session_id !== event.session_id)
      this.#complain("the id of another event", event);
  }

  #live(event: AgentEvent, cursor: boolean): void {
    const { session_id } = event;
    let life = this.#lives.get(session_id);
    if (!life) {
      // A session that begins with a notice has begun before.
      const joined = this.#known.has(session_id) || !cursor ? "mid" : "start";
      life = { state: startLifecycle({ ...optionsOf(this.#shape), joined }), clock: "" };
      this.#lives.set(session_id, life);
    }
    if (isGap(event)) Object.assign(life, { state: gapLifecycle(life.state), clock: "" });
    const step = stepLifecycle(life.state, event);
    life.state = step.state;
    for (const { id, message } of step.violations) this.#complain(`${id} ${message}`, event);
    // The lifecycle forgives time after a gap; on one line it never runs backwards, notices aside.
    if (!cursor) return;
    if (event.timestamp < life.clock) this.#complain(`ENV-15: the time was ${life.clock}`, event);
    life.clock = event.timestamp;
  }

  /** Takes text in, and answers with what of it was new. */
  #listen(event: OutputStreaming): AgentEvent | undefined {
    const key = `${event.session_id} ${event.output_id ?? ""}`;
    const points = this.#log.texts.get(key) ?? [];
    const chunk = [...event.chunk];
    const end = event.position + chunk.length;
    if (points.slice(event.position, end).join("") !== event.chunk)
      this.#complain("text that was not said here", event);
    const generation = `${this.#generation} ${this.#gapped.get(event.session_id) ?? 0}`;
    let heard = this.outputs.get(key);
    if (!heard) {
      const late = this.#generation > 0 || this.#gapped.has(event.session_id);
      if (event.position > 0 && !late) this.#complain("text that starts late", event);
      if (!isBoundary(points, event.position) && !this.#log.starts.get(key)?.has(event.position))
        this.#complain("text that starts inside a cluster", event);
      heard = { from: event.position, to: event.position, complete: false, generation };
      this.outputs.set(key, heard);
    }
    if (event.position > heard.to && heard.generation === generation)
      this.#complain(`text missing since ${heard.to}`, event);
    if (event.complete && end !== points.length) this.#complain("completion before the end", event);
    if (heard.complete && end > heard.to) this.#complain("text after completion", event);
    this.overlap += Math.max(0, Math.min(heard.to, end) - event.position);
    const known = Math.min(chunk.length, Math.max(0, heard.to - event.position));
    const isNew = known < chunk.length || (event.complete && !heard.complete);
    heard.to = Math.max(heard.to, end);
    heard.complete ||= event.complete ?? false;
    heard.generation = generation;
    return isNew
      ? { ...event, chunk: chunk.slice(known).join(""), position: event.position + known }
      : undefined;
  }
}

/** Tells events apart, whatever they wear. */
function lastWords(event: AgentEvent): string {
  const { session_id, type, tool, tool_call_id, to_state, progress, reply_token } =
    event as unknown as Record<string, unknown>;
  return JSON.stringify([session_id, type, tool, tool_call_id, to_state, progress, reply_token]);
}

function isBoundary(points: readonly string[], position: number): boolean {
  const before = points.slice(Math.max(0, position - 40), position).join("");
  const text = before + points.slice(position, position + 40).join("");
  for (const { index } of graphemes.segment(text)) if (index === before.length) return true;
  return before.length === text.length;
}

const rulesOf = (shape: Shape) => (startLifecycle(optionsOf(shape)) as unknown as { rules: object }).rules;
const reframe = (state: Lifecycle, rules: object): Lifecycle => ({ ...state, rules }) as Lifecycle;

function optionsOf(shape: Shape): LifecycleOptions {
  const withheld: Record<string, boolean> = {
    "aaep:agent.awaiting.confirmation": !shape.confirmation,
    "aaep:agent.awaiting.clarification": !shape.clarification,
  };
  return {
    visible: (type) => !withheld[type] && (CRITICAL_TYPES.has(type) || shape.passes(type)),
    stateChain: "sampled",
  };
}
