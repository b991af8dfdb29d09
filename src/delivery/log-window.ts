/**
 * What is true of a session whoever listens: where its outputs can be cut, what is open, which state it is in. Found
 * once per log entry; every shape's cutter reads it. A pure function of the log.
 */
import { isCritical } from "../protocol/filters.ts";
import type {
  AgentEvent,
  AwaitingClarification,
  AwaitingConfirmation,
  OutputStreaming,
  StateChanged,
} from "../protocol/types.ts";
import { type BoundaryLevel, createSegmenter, type Segmenter, WORD } from "../text/segmenter/segmenter.ts";
import type { LogEntry } from "./entry.ts";
import { variantsOf } from "./shape.ts";

const TERMINAL = new Set([
  "aaep:agent.session.completed",
  "aaep:agent.session.errored",
  "aaep:agent.session.cancelled",
]);

export const isTerminal = (type: string): boolean => TERMINAL.has(type);

/** The question an event says is settled (CON-13). */
export const resolves = ({ extensions }: AgentEvent): string | undefined =>
  (extensions?.["earshot"]?.["resolves"] as { reply_token?: string } | undefined)?.reply_token;

/**
 * Nobody hears "let me check the weather" after the weather: these close the session's open text first (CON-21). So
 * does what may be critical to some listener only: where text ends must not depend on who listens.
 */
export function closesText(event: AgentEvent, insist = false): boolean {
  if (insist || isCritical(event)) return true;
  if (event.type === "aaep:agent.tool.invoked" || TERMINAL.has(event.type)) return true;
  return event.type === "aaep:agent.state.changed" && (event as StateChanged).from_state === "writing_output";
}

export interface OutputTrack {
  readonly track: SessionTrack;
  readonly id: string | undefined;
  /** UTF-16 units of text so far. */
  length: number;
  /** Where every shape has sent the text: at the last forced close. */
  closedAt: number;
  /** By level of boundary, the log place where the text starts that is not cut yet. */
  readonly openSince: number[];
  /** The chunk before: a boundary is often decided by the next one. */
  readonly previous: { seq: number; start: number };
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
  readonly output?: OutputTrack | undefined;
  readonly start: number;
  readonly marks: readonly Mark[];
  /** True where the text before this chunk is closed because language or content type change here. */
  readonly breaks: boolean;
  readonly closes: boolean;
  /** By level, the earliest log place a cutter must read to know this session's open text after this entry; 0 for none. */
  readonly since: readonly number[];
  /** The same for words, apart: with every word it is another. */
  readonly sinceWord: number;
}

export type Question = AwaitingConfirmation | AwaitingClarification;

interface OpenOutput {
  output: OutputTrack;
  segmenter: Segmenter;
  readonly language: string;
  readonly content_type: string;
  marks: Mark[];
}

/** Levels: 0 cuts everywhere, 1 to 3 as in segment.ts, 4 only at the end. */
const NOTHING_OPEN: readonly number[] = Object.freeze([0, 0, 0, 0, 0]);
const NO_MARKS: readonly Mark[] = Object.freeze([]);

export class SessionTrack {
  readonly session_id: string;
  readonly entries: Marked[] = [];
  state = "idle";
  ended = false;
  audience: readonly string[] | undefined;
  /** The first event we have of it, and its place; summaries borrow its identity. */
  first: AgentEvent | undefined;
  begins = 0;
  /** What was open at the last entry that aged out. */
  aged: Pick<Marked, "since" | "sinceWord"> = { since: NOTHING_OPEN, sinceWord: 0 };
  #since: readonly number[] = NOTHING_OPEN;
  #sinceWord = 0;
  last: AgentEvent | undefined;
  readonly questions = new Map<string, Marked>();
  readonly #open = new Map<string, OpenOutput>();
  /** Those of them with text that is not closed: few, however many outputs are never completed. */
  readonly #unclosed = new Set<OpenOutput>();

  constructor(session_id: string) {
    this.session_id = session_id;
  }

  mark(entry: LogEntry): Marked {
    const { event } = entry;
    if (!this.first) {
      this.first = event;
      this.begins = entry.seq;
      this.audience = entry.audience;
    }
    this.last = event;
    const closes = closesText(event, entry.insist);
    if (closes) this.#close(entry.seq);
    const text =
      event.type === "aaep:agent.output.streaming" ? this.#read(entry, event as OutputStreaming) : undefined;
    // Urgent text is sent as it stands: nothing of it waits for a boundary.
    if (text && closes) this.#close(entry.seq + 1);
    if (event.type === "aaep:agent.state.changed") this.#move(event as StateChanged);
    const marked: Marked = {
      entry,
      track: this,
      variants: variantsOf(event),
      start: text?.start ?? 0,
      marks: text?.marks ?? NO_MARKS,
      breaks: text?.breaks ?? false,
      output: text?.output,
      closes,
      since: this.#findSince(),
      sinceWord: this.#sinceWord,
    };
    const token = (event as Question).reply_token;
    if (typeof token === "string" && isCritical(event)) this.questions.set(token, marked);
    // The answer names its question (CON-13); for producers that do not say so, see #move.
    const resolved = resolves(event);
    if (resolved) this.questions.delete(resolved);
    if (isTerminal(event.type)) {
      this.ended = true;
      this.questions.clear();
      this.#open.clear();
      this.#unclosed.clear();
    }
    this.entries.push(marked);
    return marked;
  }

  /** Whatever was asked is settled once the session stops waiting: it does so with the last answer (CON-27). */
  #move({ from_state, to_state }: StateChanged): void {
    this.state = to_state;
    if (from_state === "awaiting_input" && to_state !== "awaiting_input") this.questions.clear();
  }

  /** Where a cutter must start reading to know the open text at a place; 0 if none is open. */
  sinceAt(seq: number, level: number): number {
    const known = this.before(seq) ?? (this.begins < seq ? this.aged : undefined);
    if (!known) return 0;
    return level === WORD ? known.sinceWord : known.since[level]!;
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

  /** The same list as before wherever nothing moved: most chunks lie inside a sentence. */
  #findSince(): readonly number[] {
    let [word, sentence, paragraph, completion] = [0, 0, 0, 0];
    for (const { output } of this.#unclosed) {
      if (output.length === output.closedAt) continue;
      const [, one, two, three, four] = output.openSince as [number, number, number, number, number];
      if (word === 0 || one < word) word = one;
      if (sentence === 0 || two < sentence) sentence = two;
      if (paragraph === 0 || three < paragraph) paragraph = three;
      if (completion === 0 || four < completion) completion = four;
    }
    const known = this.#since;
    if (known[2] !== sentence || known[3] !== paragraph || known[4] !== completion)
      this.#since = [0, 0, sentence, paragraph, completion];
    this.#sinceWord = word;
    return this.#since;
  }

  #close(seq: number): void {
    for (const { output, segmenter } of this.#unclosed) {
      segmenter.flush();
      output.closedAt = output.length;
      output.openSince.fill(seq);
    }
    this.#unclosed.clear();
  }

  #read(
    { seq }: LogEntry,
    event: OutputStreaming,
  ): { output: OutputTrack; start: number; marks: readonly Mark[]; breaks: boolean } {
    const key = event.output_id ?? "";
    const language = event.language ?? event.localization_hints?.primary_language ?? "und";
    const { content_type = "text/plain" } = event;
    let open = this.#open.get(key);
    const breaks = open !== undefined && (open.language !== language || open.content_type !== content_type);
    if (!open || breaks) {
      if (open) this.#unclosed.delete(open);
      const output = open?.output ?? {
        track: this,
        id: event.output_id,
        length: 0,
        closedAt: 0,
        openSince: [seq, seq, seq, seq, seq],
        previous: { seq, start: 0 },
      };
      open = openOutput(output, language, content_type);
      this.#open.set(key, open);
    }
    this.#unclosed.add(open);
    const { output, segmenter } = open;
    if (output.length === output.closedAt || breaks) {
      output.openSince.fill(seq);
      output.closedAt = output.length;
    }
    const start = output.length;
    open.marks = NO_MARKS as Mark[];
    segmenter.push(event.chunk);
    output.length += event.chunk.length;
    if (event.complete) {
      segmenter.end();
      this.#open.delete(key);
      this.#unclosed.delete(open);
    }
    const { previous } = output;
    for (const { offset, level } of open.marks) {
      const at = offset >= start ? seq : offset >= previous.start ? previous.seq : 0;
      if (at > 0) output.openSince.fill(at, 0, level + 1);
    }
    previous.seq = seq;
    previous.start = start;
    return { output, start, marks: open.marks, breaks };
  }
}

function openOutput(output: OutputTrack, language: string, content_type: string): OpenOutput {
  const base = output.length;
  const open: OpenOutput = {
    output,
    language,
    content_type,
    marks: [],
    segmenter: createSegmenter({ language, content_type }, (offset, level) => {
      const mark = { offset: base + offset, level };
      // The log keeps these lists, and most hold one mark: an empty list that grows takes room for many.
      if (open.marks.length === 0) open.marks = [mark];
      else open.marks.push(mark);
    }),
  };
  return open;
}

/** The part of the log that delivery holds in memory, marked once. Older places have aged out and are answered by a gap. */

const COARSEST = 4;

export class LogWindow {
  readonly tracks = new Map<string, SessionTrack>();
  /** Those of them that have not ended: whoever joins at the end need not look at the rest. */
  readonly running = new Set<SessionTrack>();
  readonly #entries: Marked[] = [];
  readonly #most: number;
  #first = 1;

  constructor(most = 100_000) {
    this.#most = most;
  }

  /** The oldest place that is still here. */
  get first(): number {
    return this.#first;
  }
  get next(): number {
    return this.#first + this.#entries.length;
  }

  append(entry: LogEntry): Marked {
    if (this.#entries.length === 0) this.#first = entry.seq;
    if (entry.seq !== this.next)
      throw new RangeError(`Log entry ${entry.seq} arrived where ${this.next} was due.`);
    const { session_id } = entry.event;
    let track = this.tracks.get(session_id);
    if (!track) {
      track = new SessionTrack(session_id);
      this.tracks.set(session_id, track);
    }
    const marked = track.mark(entry);
    this.#entries.push(marked);
    if (track.ended && marked.since[COARSEST] === 0) this.running.delete(track);
    else this.running.add(track);
    // A quarter at a time: moving the array on every append would cost more than it saves.
    if (this.#entries.length > this.#most * 1.25) this.#age(this.#entries.length - this.#most);
    return marked;
  }

  at(seq: number): Marked | undefined {
    return this.#entries[seq - this.#first];
  }

  *from(seq: number, before = this.next): Iterable<Marked> {
    for (let i = Math.max(seq, this.#first); i < before; i++) yield this.#entries[i - this.#first]!;
  }

  /** Where a cutter at this level must start reading to know every open text at this place; it may have aged out. */
  floor(seq: number, level = COARSEST): number {
    let floor = seq;
    for (const track of seq >= this.next ? this.running : this.tracks.values()) {
      const since = track.sinceAt(seq, level);
      if (since > 0 && since < floor) floor = since;
    }
    return floor;
  }

  #age(count: number): void {
    const gone = this.#entries.splice(0, count);
    this.#first += count;
    for (const { track } of gone) {
      if (track.entries.length === 0 || track.entries[0]!.entry.seq >= this.#first) continue;
      const keep = track.entries.findIndex(({ entry }) => entry.seq >= this.#first);
      const aged = track.entries.splice(0, keep < 0 ? track.entries.length : keep);
      const { since, sinceWord } = aged.at(-1)!;
      track.aged = { since, sinceWord };
      if (track.ended && track.entries.length === 0) this.tracks.delete(track.session_id);
    }
  }
}
