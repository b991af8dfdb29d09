/**
 * From streamed output to spoken sentences. `OutputBuffer` puts the chunks of one output in order and releases text at
 * sentence (or paragraph) ends, never half a sentence (DEL-23, CON-25). A producer that cuts at sentences says so in
 * `coalesce_hint`, and its boundary is used as it is; only uncut streams are searched, with the fallback in src/text.
 * `OutputBuffers` holds the open outputs of all sessions. `speakOutput` turns released text into one run list per
 * sentence, so that an interruption repeats one sentence only: a rate limit merges several sentences into one chunk.
 */

import type { OutputStreaming } from "../../protocol/types.ts";
import { FENCES, lastBoundary, splitSentences } from "../../text/fallback-sentences.ts";
import { codePoints } from "../../text/language.ts";
import { plainHtml } from "../../text/markdown.ts";
import { neutralize, oneLine } from "../../text/neutralize.ts";
import { type Segment, speakMarkdown } from "../markdown.ts";
import { merge, type Phrases } from "./phrases.ts";
import type { ObservedSession } from "./sessions.ts";
import type { Run } from "./utterance.ts";

export type SpokenBoundary = "sentence" | "paragraph" | "completion";

interface Span {
  readonly text: string;
  readonly language: string | undefined;
}

/** Text ready to be spoken. `missing`: a chunk before it never arrived. */
interface ReadyText {
  readonly spans: readonly Span[];
  readonly missing: boolean;
}

/** Code units held while waiting for a sentence end; beyond this the text is cut at a word. */
const MAX_HELD = 6_000;
/** Out-of-order chunks held per output. */
const MAX_OUT_OF_ORDER = 64;
const BOUNDARY_HINTS: ReadonlySet<string | undefined> = new Set(["sentence", "paragraph", "completion"]);

class OutputBuffer {
  #spans: Span[] = [];
  #next: number | undefined;
  #start: number | undefined;
  #outOfOrder: OutputStreaming[] = [];
  #missing = false;
  #complete = false;
  content_type: string | undefined;

  get ended(): boolean {
    return this.#complete;
  }

  get holding(): boolean {
    return this.#spans.length > 0;
  }

  add(event: OutputStreaming, boundary: SpokenBoundary): ReadyText | undefined {
    this.content_type ??= event.content_type;
    this.#next ??= event.position;
    this.#start ??= event.position;
    // A late chunk from before the first one we received is new text, if out of place.
    if (
      event.chunk !== "" &&
      event.position + codePoints(event.chunk) <= this.#start &&
      event.position < this.#start
    )
      return { spans: [{ text: event.chunk, language: languageOf(event) }], missing: true };
    if (event.position > this.#next) {
      this.#outOfOrder.push(event);
      this.#outOfOrder.sort((a, b) => a.position - b.position);
      if (event.complete || this.#outOfOrder.length > MAX_OUT_OF_ORDER) return this.flush();
      return undefined;
    }
    let atBoundary = this.#append(event);
    while (this.#outOfOrder[0] && this.#outOfOrder[0].position <= this.#next)
      atBoundary = this.#append(this.#outOfOrder.shift()!) || atBoundary;
    if (this.#complete) return this.flush();
    const text = this.#spans.map((span) => span.text).join("");
    const whole =
      atBoundary &&
      (boundary === "sentence" || (boundary === "paragraph" && event.coalesce_hint !== "sentence"));
    const fenced = (text.match(FENCES)?.length ?? 0) % 2 === 1;
    let cut = whole && !fenced ? text.length : lastBoundary(text, boundary);
    if (text.length - cut > MAX_HELD) cut = Math.max(lastBoundary(text, "sentence"), wordCut(text));
    return cut > 0 ? this.#cut(cut) : undefined;
  }

  /** Releases everything, e.g. at the end. Chunks still out of order follow a notice that text is missing. */
  flush(): ReadyText | undefined {
    for (const event of this.#outOfOrder.splice(0)) {
      if (event.position > (this.#next ?? 0)) this.#missing = true;
      this.#next = Math.max(this.#next ?? 0, event.position);
      this.#append(event);
    }
    return this.#cut(Infinity);
  }

  /** Releases the text if it ends at a sentence end; out-of-order chunks keep waiting. */
  flushWhole(): ReadyText | undefined {
    const text = this.#spans
      .map((span) => span.text)
      .join("")
      .trimEnd();
    // The capital letter simulates the start of a next sentence.
    const whole = text !== "" && lastBoundary(`${text} A`, "sentence") >= text.length;
    return whole ? this.#cut(Infinity) : undefined;
  }

  #append(event: OutputStreaming): boolean {
    const { chunk } = event;
    this.#next = Math.max(this.#next!, event.position + codePoints(chunk));
    this.#complete ||= event.complete === true;
    const language = languageOf(event);
    const last = this.#spans.at(-1);
    if (chunk !== "") {
      if (last && last.language === language)
        this.#spans[this.#spans.length - 1] = { text: last.text + chunk, language };
      else this.#spans.push({ text: chunk, language });
    }
    return BOUNDARY_HINTS.has(event.coalesce_hint);
  }

  #cut(at: number): ReadyText | undefined {
    const ready: Span[] = [];
    let left = at;
    while (this.#spans[0] && left > 0) {
      const span = this.#spans[0];
      if (span.text.length <= left) {
        ready.push(this.#spans.shift()!);
        left -= span.text.length;
      } else {
        ready.push({ ...span, text: span.text.slice(0, left) });
        this.#spans[0] = { ...span, text: span.text.slice(left) };
        left = 0;
      }
    }
    const missing = this.#missing;
    this.#missing = false;
    return ready.some(({ text }) => text.trim() !== "") ? { spans: ready, missing } : undefined;
  }
}

const languageOf = (event: OutputStreaming): string | undefined =>
  event.language ?? event.localization_hints?.primary_language;

/** Where to cut text without sentence ends: at the last space, else between grapheme clusters (I18N-12). */
function wordCut(text: string): number {
  const blank = Math.max(text.lastIndexOf(" "), text.lastIndexOf("\n"));
  if (blank > 0) return blank + 1;
  let cut = 0;
  for (const { index } of graphemes.segment(text)) cut = index;
  return cut;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

export interface ReadyOutput {
  readonly session: ObservedSession;
  readonly output: OutputBuffer;
  readonly ready: ReadyText;
  readonly content_type: string | undefined;
}

const MAX_OUTPUTS = 64;
const MAX_DETAILS = 100;
/** Debounce: a complete sentence is spoken if nothing follows it for this long. */
const PAUSE_MS = 1_000;

export class OutputBuffers {
  readonly #outputs = new WeakMap<ObservedSession, Map<string, OutputBuffer>>();
  /** Sessions with held text, and when text was last added. */
  readonly #held = new Map<ObservedSession, number>();
  /** Text of evicted outputs, to be spoken next. */
  #evicted: ReadyOutput[] = [];
  #details: { readonly of: OutputBuffer; readonly all: readonly string[] } | undefined;

  add(
    event: OutputStreaming,
    session: ObservedSession,
    boundary: SpokenBoundary,
    now: number,
  ): ReadyOutput[] {
    const { output_id = "" } = event;
    const known = this.#of(session).get(output_id);
    const buffer = known && !(known.ended && output_id === "") ? known : this.#open(session, output_id);
    const evicted = this.#evicted.splice(0);
    const ready = buffer.add(event, boundary);
    if (buffer.holding && boundary !== "completion") this.#held.set(session, now);
    else this.#held.delete(session);
    return ready ? [...evicted, readyOf(session, buffer, ready)] : evicted;
  }

  /** The session is forgotten: its unfinished text is spoken as it is rather than lost. */
  evict(session: ObservedSession): void {
    this.#evicted.push(...this.end(session));
  }

  /** Another event of this session follows: complete sentences are spoken before it. */
  flushWhole(session: ObservedSession): ReadyOutput[] {
    return this.#held.delete(session) ? this.#all(session, (buffer) => buffer.flushWhole()) : [];
  }

  /** At the end of a session even half a sentence is spoken (CON-25). */
  end(session: ObservedSession): ReadyOutput[] {
    this.#held.delete(session);
    return this.#all(session, (buffer) => buffer.flush());
  }

  /** Complete sentences that nothing was added to for a while. */
  due(now: number): ReadyOutput[] {
    const due = [...this.#held].filter(([, since]) => now - since >= PAUSE_MS);
    return [...this.#evicted.splice(0), ...due.flatMap(([session]) => this.flushWhole(session))];
  }

  get wakeAt(): number | undefined {
    if (this.#evicted.length > 0) return 0;
    return this.#held.size === 0 ? undefined : Math.min(...this.#held.values()) + PAUSE_MS;
  }

  /** Code and link targets of the last output that had any, read out on request. */
  get details(): readonly string[] {
    return this.#details?.all ?? [];
  }

  addDetails(of: OutputBuffer, details: readonly string[]): void {
    if (details.length === 0) return;
    const before = of === this.#details?.of ? this.#details.all : [];
    this.#details = { of, all: [...before, ...details].slice(-MAX_DETAILS) };
  }

  #of(session: ObservedSession): Map<string, OutputBuffer> {
    const known = this.#outputs.get(session) ?? new Map<string, OutputBuffer>();
    this.#outputs.set(session, known);
    return known;
  }

  #all(session: ObservedSession, take: (buffer: OutputBuffer) => ReadyText | undefined): ReadyOutput[] {
    return [...this.#of(session).values()].flatMap((buffer) => {
      const ready = take(buffer);
      return ready ? [readyOf(session, buffer, ready)] : [];
    });
  }

  #open(session: ObservedSession, output_id: string): OutputBuffer {
    const buffer = new OutputBuffer();
    const outputs = this.#of(session);
    outputs.delete(output_id);
    outputs.set(output_id, buffer);
    if (outputs.size <= MAX_OUTPUTS) return buffer;
    const [id, oldest] = outputs.entries().next().value!;
    const ready = oldest.flush();
    outputs.delete(id);
    if (ready) this.#evicted.push(readyOf(session, oldest, ready));
    return buffer;
  }
}

const readyOf = (session: ObservedSession, output: OutputBuffer, ready: ReadyText): ReadyOutput => ({
  session,
  output,
  ready,
  content_type: output.content_type,
});

interface SpokenOutput {
  readonly sentences: readonly (readonly Run[])[];
  readonly details: readonly string[];
  readonly hidden: boolean;
  readonly mixed: boolean;
}

/** Without a media type, text counts as plain unless it is clearly Markdown. */
const MARKDOWN =
  /^ {0,3}#{1,6} |^ {0,3}(?:```|~~~)|\*\*\S|\]\([^)\s]+\)|^\s*\|.+\|\s*$|^\s*(?:[-*+]|\d{1,3}\.) .+\n\s*(?:[-*+]|\d{1,3}\.) |^> |`[^`\n]+`/mu;

export function speakOutput(
  ready: ReadyText,
  content_type: string | undefined,
  phrases: Phrases,
): SpokenOutput {
  const sentences: Run[][] = [];
  const details: string[] = [];
  let hidden = false;
  let mixed = false;
  let open = false;
  for (const span of ready.spans) {
    const clean = neutralize(content_type === "text/html" ? plainHtml(span.text) : span.text, span.language);
    hidden ||= clean.hidden;
    mixed ||= clean.mixed;
    const spoken = inMarkdown(clean.text, content_type)
      ? ofMarkdown(clean.text, span, phrases, details)
      : ofPlain(clean.text, span, phrases);
    spoken.forEach((sentence, index) => {
      // A word in another language within a sentence: same utterance, different voice.
      if (index === 0 && open && sentences.length > 0)
        sentences.push(merge([...sentences.pop()!, phrases.own(" "), ...sentence]));
      else sentences.push(sentence);
    });
    open = !/[.!?…。！？؟۔।:]["'”’»)\]]*\s*$|\n\s*$/u.test(clean.text);
  }
  return { sentences, details, hidden, mixed };
}

const inMarkdown = (text: string, type: string | undefined): boolean =>
  type === "text/markdown" || (type === undefined && MARKDOWN.test(text));

const ofPlain = (text: string, { language }: Span, phrases: Phrases): Run[][] =>
  text
    .split(/\n\s*\n/u)
    .flatMap((paragraph) => splitSentences(paragraph))
    .map((sentence) => [phrases.content(oneLine(sentence), language)]);

function ofMarkdown(text: string, { language }: Span, phrases: Phrases, details: string[]): Run[][] {
  const spoken = speakMarkdown(text);
  details.push(...spoken.details);
  return spoken.blocks.flatMap((block) => toSentences(block, language, phrases));
}

function toSentences(block: readonly Segment[], language: string | undefined, phrases: Phrases): Run[][] {
  const sentences: Run[][] = [];
  let runs: Run[] = [];
  const close = () => {
    const said = tidy(merge(runs));
    if (said.length > 0) sentences.push(said);
    runs = [];
  };
  for (const segment of block) {
    if (typeof segment !== "string") {
      runs.push(...toRuns(segment, language, phrases));
      continue;
    }
    const parts = splitSentences(`${segment}\u0000`);
    parts.forEach((part, index) => {
      const last = index === parts.length - 1;
      const words = part.replace("\u0000", "");
      const blank = index === 0 && /^\s/u.test(segment) ? " " : "";
      const tail = last && /\s$/u.test(segment) ? " " : "";
      runs.push(phrases.content(blank + words + tail, language));
      if (!last) close();
    });
  }
  close();
  return sentences;
}

function toRuns(segment: Exclude<Segment, string>, language: string | undefined, phrases: Phrases): Run[] {
  const { key, text = [], count, slots = {} } = segment;
  if (key === "table") {
    const columns = phrases.text("columns", { count: Number(slots["columns_count"]) });
    const rows = phrases.text("rows", { count: Number(slots["rows_count"]) });
    return phrases.say("table", { columns, rows });
  }
  const inner = text.flatMap((one) =>
    typeof one === "string" ? [phrases.content(one, language)] : toRuns(one, language, phrases),
  );
  return phrases.say(key, { ...slots, ...(count === undefined ? {} : { count }), text: inner });
}

function tidy(runs: readonly Run[]): Run[] {
  const kept = runs
    .map((one) => ({ ...one, text: one.text.replace(/\s+/gu, " ") }))
    .filter(({ text }) => text !== "");
  if (kept.every(({ text }) => text.trim() === "")) return [];
  return kept.map((one, index) => {
    const start = index === 0 ? one.text.trimStart() : one.text;
    return { ...one, text: index === kept.length - 1 ? start.trimEnd() : start };
  });
}
