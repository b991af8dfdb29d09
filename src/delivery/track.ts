/**
 * What is true of a session whoever listens: where its outputs can be cut, what is open, which state it is in. Found
 * once per log entry; every shape's cutter reads it. A pure function of the log.
 */
import { isCritical } from "../protocol/filters.ts";
import type { AgentEvent, AwaitingClarification, AwaitingConfirmation, OutputStreaming, StateChanged } from "../protocol/types.ts";
import type { LogEntry } from "./entry.ts";
import { type BoundaryLevel, createSegmenter, type Segmenter } from "./segment.ts";
import { variantsOf } from "./shape.ts";

const TERMINAL = new Set(["aaep:agent.session.completed", "aaep:agent.session.errored", "aaep:agent.session.cancelled"]);

export const isTerminal = (type: string): boolean => TERMINAL.has(type);

/** Nobody hears "let me check the weather" after the weather: these close the session's open text first (CON-21). */
export function closesText(event: AgentEvent): boolean {
  if (event.type === "aaep:agent.output.streaming") return false;
  if (event.type === "aaep:agent.tool.invoked" || TERMINAL.has(event.type) || isCritical(event)) return true;
  return event.type === "aaep:agent.state.changed" && (event as StateChanged).from_state === "writing_output";
}

export interface OutputTrack {
  readonly track: SessionTrack;
  readonly id: string | undefined;
  /** UTF-16 units of text so far. */
  length: number;
  /** Log place and offset of the first text that no shape is certain to have sent: where a forced close left it. */
  openSince: number;
  closedAt: number;
}

/** A boundary inside an output: UTF-16 offset from its start, and level. */
export interface Mark {
  readonly offset: number;
  readonly level: BoundaryLevel;
}

/** A log entry with what every shape needs to know about it. */
export interface Marked {
  readonly entry: LogEntry;
  readonly track: SessionTrack;
  readonly variants: ReturnType<typeof variantsOf>;
  /** For streamed text: its output, where the chunk starts in it, and the boundaries this chunk decided. */
  readonly output?: OutputTrack;
  readonly start: number;
  readonly marks: readonly Mark[];
  /** True where the text before this chunk is closed because language or content type change here. */
  readonly breaks: boolean;
  readonly closes: boolean;
  /** The earliest log place a cutter must read to know this session's open text after this entry; 0 if none is open. */
  readonly since: number;
}

export type Question = AwaitingConfirmation | AwaitingClarification;

interface OpenOutput {
  output: OutputTrack;
  segmenter: Segmenter;
  voice: string;
  marks: Mark[];
}

const NO_MARKS: readonly Mark[] = Object.freeze([]);

export class SessionTrack {
  readonly session_id: string;
  readonly entries: Marked[] = [];
  state = "idle";
  ended = false;
  audience: readonly string[] | undefined;
  /** The first event we have of it; summaries borrow its identity. */
  first: AgentEvent | undefined;
  last: AgentEvent | undefined;
  readonly questions = new Map<string, Marked>();
  readonly #open = new Map<string, OpenOutput>();

  constructor(session_id: string) {
    this.session_id = session_id;
  }

  mark(entry: LogEntry): Marked {
    const { event } = entry;
    if (!this.first) {
      this.first = event;
      this.audience = entry.audience;
    }
    this.last = event;
    const closes = closesText(event);
    if (closes) this.#close(entry.seq);
    const text = event.type === "aaep:agent.output.streaming" ? this.#read(entry, event as OutputStreaming) : undefined;
    if (event.type === "aaep:agent.state.changed") this.state = (event as StateChanged).to_state;
    const marked: Marked = {
      entry,
      track: this,
      variants: variantsOf(event),
      start: text?.start ?? 0,
      marks: text?.marks ?? NO_MARKS,
      breaks: text?.breaks ?? false,
      ...(text ? { output: text.output } : {}),
      closes,
      since: this.#since(),
    };
    const token = (event as Question).reply_token;
    if (typeof token === "string" && isCritical(event)) this.questions.set(token, marked);
    const resolved = event.extensions?.["earshot"]?.["resolves"] as { reply_token?: string } | undefined;
    if (resolved?.reply_token) this.questions.delete(resolved.reply_token);
    if (isTerminal(event.type)) {
      this.ended = true;
      this.questions.clear();
      this.#open.clear();
    }
    this.entries.push(marked);
    return marked;
  }

  /** The last entry before a place, found by halves. */
  before(seq: number): Marked | undefined {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle]!.entry.seq < seq) low = middle + 1;
      else high = middle;
    }
    return this.entries[low - 1];
  }

  #since(): number {
    let since = 0;
    for (const { output } of this.#open.values()) {
      if (output.length > output.closedAt && (since === 0 || output.openSince < since)) since = output.openSince;
    }
    return since;
  }

  #close(seq: number): void {
    for (const { output, segmenter } of this.#open.values()) {
      segmenter.flush();
      output.closedAt = output.length;
      output.openSince = seq;
    }
  }

  #read({ seq }: LogEntry, event: OutputStreaming): { output: OutputTrack; start: number; marks: readonly Mark[]; breaks: boolean } {
    const key = event.output_id ?? "";
    const language = event.language ?? event.localization_hints?.primary_language ?? "und";
    const voice = `${language} ${event.content_type ?? "text/plain"}`;
    let open = this.#open.get(key);
    const breaks = open !== undefined && open.voice !== voice;
    if (!open || breaks) {
      const output = open?.output ?? { track: this, id: event.output_id, length: 0, openSince: seq, closedAt: 0 };
      open = openOutput(output, voice, language, event.content_type);
      this.#open.set(key, open);
    }
    const { output, segmenter } = open;
    if (output.length === output.closedAt || breaks) {
      output.openSince = seq;
      output.closedAt = output.length;
    }
    const start = output.length;
    open.marks = [];
    segmenter.push(event.chunk);
    output.length += event.chunk.length;
    if (event.complete) {
      segmenter.end();
      this.#open.delete(key);
    }
    return { output, start, marks: open.marks, breaks };
  }
}

function openOutput(output: OutputTrack, voice: string, language: string, content_type: string | undefined): OpenOutput {
  const base = output.length;
  const open: OpenOutput = {
    output,
    voice,
    marks: [],
    segmenter: createSegmenter({ language, ...(content_type === undefined ? {} : { content_type }) }, (offset, level) => {
      open.marks.push({ offset: base + offset, level });
    }),
  };
  return open;
}
