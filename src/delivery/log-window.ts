/**
 * The part of the log that delivery holds in memory, with what is the same for all subscriptions: where outputs can be
 * cut, what is open, and the state of each session. Computed once per log entry; a pure function of the log. Positions
 * older than the window are answered with a gap.
 */
import { isCritical } from "../protocol/filters.ts";
import type {
  AgentEvent,
  AwaitingClarification,
  AwaitingConfirmation,
  OutputStreaming,
  StateChanged,
} from "../protocol/types.ts";
import { WORD } from "../text/segmenter/scan-state.ts";
import { type BoundaryLevel, createSegmenter, type Segmenter } from "../text/segmenter/segmenter.ts";
import type { LogEntry } from "./entry.ts";
import { variantsOf } from "./shape.ts";

const TERMINAL = new Set([
  "aaep:agent.session.completed",
  "aaep:agent.session.errored",
  "aaep:agent.session.cancelled",
]);

/** Whether an event type ends its session. */
export const isTerminal = (type: string): boolean => TERMINAL.has(type);

/** The reply token of the question that an event settles (CON-13). */
export const resolves = ({ extensions }: AgentEvent): string | undefined =>
  (extensions?.["earshot"]?.["resolves"] as { reply_token?: string } | undefined)?.reply_token;

/**
 * Events before which the session's open text must be sent (CON-21): nobody should hear "let me check the weather"
 * after the weather. Includes events that are critical for some subscriptions only, because cuts must be the same for
 * all.
 */
export function closesText(event: AgentEvent, required = false): boolean {
  if (required || isCritical(event)) return true;
  if (event.type === "aaep:agent.tool.invoked" || TERMINAL.has(event.type)) return true;
  return event.type === "aaep:agent.state.changed" && (event as StateChanged).from_state === "writing_output";
}

export interface OutputTrack {
  readonly track: SessionTrack;
  readonly id: string | undefined;
  /** UTF-16 units of text so far. */
  length: number;
  /** Up to here every shape has cut the text: the last forced close. */
  closedAt: number;
  /** Per boundary level, the log position where uncut text starts. */
  readonly openSince: number[];
  /** The previous chunk: a boundary is often decided only by the next chunk. */
  readonly previous: { seq: number; start: number };
}

/** A boundary inside an output: UTF-16 offset from its start, and level. */
interface TextBoundary {
  readonly offset: number;
  readonly level: BoundaryLevel;
}

/** A log entry with what all shapes need to know about it. */
export interface TrackedEntry {
  readonly entry: LogEntry;
  readonly track: SessionTrack;
  readonly variants: ReturnType<typeof variantsOf>;
  /** For streamed text: its output, where the chunk starts in it, and the boundaries this chunk decided. */
  readonly output?: OutputTrack | undefined;
  readonly start: number;
  readonly boundaries: readonly TextBoundary[];
  /** Language or content type change here, which closes the text before this chunk. */
  readonly breaks: boolean;
  readonly closes: boolean;
  /**
   * Per level, where a cutter must start reading to know this session's open text after this entry; 0 if none is open.
   */
  readonly since: readonly number[];
  /** The same for words; separate, because it changes with every word. */
  readonly sinceWord: number;
}

export type TrackedQuestion = AwaitingConfirmation | AwaitingClarification;

interface OpenOutput {
  output: OutputTrack;
  segmenter: Segmenter;
  readonly language: string;
  readonly content_type: string;
  boundaries: TextBoundary[];
}

/** Levels: 0 cuts everywhere, 1 to 3 as in segmenter.ts, 4 only at the end. */
const NONE_OPEN: readonly number[] = Object.freeze([0, 0, 0, 0, 0]);
const NO_BOUNDARIES: readonly TextBoundary[] = Object.freeze([]);

/** What delivery remembers of one session: its entries, outputs and state. */
export class SessionTrack {
  readonly session_id: string;
  readonly entries: TrackedEntry[] = [];
  state = "idle";
  ended = false;
  audience: readonly string[] | undefined;
  /** Its first known event and that event's position; summaries copy its producer. */
  first: AgentEvent | undefined;
  begins = 0;
  /** What was open at the last entry that aged out. */
  aged: Pick<TrackedEntry, "since" | "sinceWord"> = { since: NONE_OPEN, sinceWord: 0 };
  #since: readonly number[] = NONE_OPEN;
  #sinceWord = 0;
  last: AgentEvent | undefined;
  readonly questions = new Map<string, TrackedEntry>();
  readonly #open = new Map<string, OpenOutput>();
  /** Those with text that is not closed: few, even if many outputs are never completed. */
  readonly #unclosed = new Set<OpenOutput>();

  constructor(session_id: string) {
    this.session_id = session_id;
  }

  add(entry: LogEntry): TrackedEntry {
    const { event } = entry;
    if (!this.first) {
      this.first = event;
      this.begins = entry.seq;
      this.audience = entry.audience;
    }
    this.last = event;
    const closes = closesText(event, entry.required);
    if (closes) this.#closeText(entry.seq);
    const text =
      event.type === "aaep:agent.output.streaming"
        ? this.#trackText(entry, event as OutputStreaming)
        : undefined;
    // Urgent text is sent at once, without waiting for a boundary.
    if (text && closes) this.#closeText(entry.seq + 1);
    if (event.type === "aaep:agent.state.changed") this.#changeState(event as StateChanged);
    const tracked: TrackedEntry = {
      entry,
      track: this,
      variants: variantsOf(event),
      start: text?.start ?? 0,
      boundaries: text?.boundaries ?? NO_BOUNDARIES,
      breaks: text?.breaks ?? false,
      output: text?.output,
      closes,
      since: this.#findSince(),
      sinceWord: this.#sinceWord,
    };
    const token = (event as TrackedQuestion).reply_token;
    if (typeof token === "string" && isCritical(event)) this.questions.set(token, tracked);
    // The outcome names its question (CON-13); for producers that do not send it, see #changeState.
    const resolved = resolves(event);
    if (resolved) this.questions.delete(resolved);
    if (isTerminal(event.type)) {
      this.ended = true;
      this.questions.clear();
      this.#open.clear();
      this.#unclosed.clear();
    }
    this.entries.push(tracked);
    return tracked;
  }

  /** When a session leaves awaiting_input, all its questions are settled (CON-27). */
  #changeState({ from_state, to_state }: StateChanged): void {
    this.state = to_state;
    if (from_state === "awaiting_input" && to_state !== "awaiting_input") this.questions.clear();
  }

  /** Where a cutter must start reading to know the open text at a position; 0 if none is open. */
  sinceAt(seq: number, level: number): number {
    const known = this.before(seq) ?? (this.begins < seq ? this.aged : undefined);
    if (!known) return 0;
    return level === WORD ? known.sinceWord : known.since[level]!;
  }

  /** The last entry before a position (binary search). */
  before(seq: number): TrackedEntry | undefined {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle]!.entry.seq < seq) low = middle + 1;
      else high = middle;
    }
    return this.entries[low - 1];
  }

  /** Returns the previous list if nothing changed, as with most chunks inside a sentence: saves memory. */
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

  #closeText(seq: number): void {
    for (const { output, segmenter } of this.#unclosed) {
      segmenter.flush();
      output.closedAt = output.length;
      output.openSince.fill(seq);
    }
    this.#unclosed.clear();
  }

  #trackText(
    { seq }: LogEntry,
    event: OutputStreaming,
  ): { output: OutputTrack; start: number; boundaries: readonly TextBoundary[]; breaks: boolean } {
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
    open.boundaries = NO_BOUNDARIES as TextBoundary[];
    segmenter.push(event.chunk);
    output.length += event.chunk.length;
    if (event.complete) {
      segmenter.end();
      this.#open.delete(key);
      this.#unclosed.delete(open);
    }
    const { previous } = output;
    for (const { offset, level } of open.boundaries) {
      const at = offset >= start ? seq : offset >= previous.start ? previous.seq : 0;
      if (at > 0) output.openSince.fill(at, 0, level + 1);
    }
    previous.seq = seq;
    previous.start = start;
    return { output, start, boundaries: open.boundaries, breaks };
  }
}

function openOutput(output: OutputTrack, language: string, content_type: string): OpenOutput {
  const base = output.length;
  const open: OpenOutput = {
    output,
    language,
    content_type,
    boundaries: [],
    segmenter: createSegmenter({ language, content_type }, (offset, level) => {
      const boundary = { offset: base + offset, level };
      // The log keeps these lists and most hold one boundary: growing an empty array would reserve room for many.
      if (open.boundaries.length === 0) open.boundaries = [boundary];
      else open.boundaries.push(boundary);
    }),
  };
  return open;
}

const COARSEST = 4;

export class LogWindow {
  readonly tracks = new Map<string, SessionTrack>();
  /** Those that have not ended, so that joining at the end of the log need not scan all tracks. */
  readonly running = new Set<SessionTrack>();
  readonly #entries: TrackedEntry[] = [];
  readonly #most: number;
  #first = 1;

  constructor(most = 100_000) {
    this.#most = most;
  }

  /** The oldest position in the window. */
  get first(): number {
    return this.#first;
  }
  get next(): number {
    return this.#first + this.#entries.length;
  }

  append(entry: LogEntry): TrackedEntry {
    if (this.#entries.length === 0) this.#first = entry.seq;
    if (entry.seq !== this.next)
      throw new RangeError(`Log entry ${entry.seq} arrived where ${this.next} was due.`);
    const { session_id } = entry.event;
    let track = this.tracks.get(session_id);
    if (!track) {
      track = new SessionTrack(session_id);
      this.tracks.set(session_id, track);
    }
    const tracked = track.add(entry);
    this.#entries.push(tracked);
    if (track.ended && tracked.since[COARSEST] === 0) this.running.delete(track);
    else this.running.add(track);
    // In batches of a quarter: shifting the array on every append would be slow.
    if (this.#entries.length > this.#most * 1.25) this.#age(this.#entries.length - this.#most);
    return tracked;
  }

  at(seq: number): TrackedEntry | undefined {
    return this.#entries[seq - this.#first];
  }

  *from(seq: number, before = this.next): Iterable<TrackedEntry> {
    for (let i = Math.max(seq, this.#first); i < before; i++) yield this.#entries[i - this.#first]!;
  }

  /** Where a cutter at this level must start reading to know all open text at a position; may have aged out. */
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
