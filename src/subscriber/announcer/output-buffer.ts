/**
 * Streamed text on its way to a voice: pieces put in order, held until a real boundary or the end, never half a
 * sentence, never a chunk hinted `none` on its own (DEL-23, CON-25). Bounded: endless text is cut at a word.
 */
import { codePoints } from "../../protocol/formats.ts";
import type { OutputStreaming } from "../../protocol/types.ts";
import { FENCES, lastBoundary } from "./sentences.ts";

export type SpokenBoundary = "sentence" | "paragraph" | "completion";

export interface Span {
  readonly text: string;
  readonly language: string | undefined;
}

/** Text ready to be said; `missing` where something before it never came. */
export interface Ready {
  readonly spans: readonly Span[];
  readonly missing: boolean;
}

const MOST_HELD = 6_000;
const MOST_PARKED = 64;
const REAL: ReadonlySet<string | undefined> = new Set(["sentence", "paragraph", "completion"]);

export class OutputBuffer {
  #spans: Span[] = [];
  #next: number | undefined;
  #start: number | undefined;
  #parked: OutputStreaming[] = [];
  #missing = false;
  #complete = false;
  content_type: string | undefined;

  get ended(): boolean {
    return this.#complete;
  }

  get holding(): boolean {
    return this.#spans.length > 0;
  }

  add(event: OutputStreaming, boundary: SpokenBoundary): Ready | undefined {
    this.content_type ??= event.content_type;
    this.#next ??= event.position;
    this.#start ??= event.position;
    // A late piece from before our beginning is news, even out of place; one we have already read is not.
    if (
      event.chunk !== "" &&
      event.position + codePoints(event.chunk) <= this.#start &&
      event.position < this.#start
    )
      return { spans: [{ text: event.chunk, language: languageOf(event) }], missing: true };
    if (event.position > this.#next) {
      this.#parked.push(event);
      this.#parked.sort((a, b) => a.position - b.position);
      if (event.complete || this.#parked.length > MOST_PARKED) return this.flush();
      return undefined;
    }
    let real = this.#append(event);
    while (this.#parked[0] && this.#parked[0].position <= this.#next)
      real = this.#append(this.#parked.shift()!) || real;
    if (this.#complete) return this.flush();
    const text = this.#spans.map((span) => span.text).join("");
    const whole =
      real && (boundary === "sentence" || (boundary === "paragraph" && event.coalesce_hint !== "sentence"));
    const fenced = (text.match(FENCES)?.length ?? 0) % 2 === 1;
    let cut = whole && !fenced ? text.length : lastBoundary(text, boundary);
    if (text.length - cut > MOST_HELD) cut = Math.max(lastBoundary(text, "sentence"), endlessCut(text));
    return cut > 0 ? this.#cut(cut) : undefined;
  }

  /** Everything, e.g. at the end: what is out of order is said after a word that something is missing. */
  flush(): Ready | undefined {
    for (const event of this.#parked.splice(0)) {
      if (event.position > (this.#next ?? 0)) this.#missing = true;
      this.#next = Math.max(this.#next ?? 0, event.position);
      this.#append(event);
    }
    return this.#cut(Infinity);
  }

  /** All of it, if it ends where a sentence may end; what is out of order keeps waiting. */
  settled(): Ready | undefined {
    const text = this.#spans
      .map((span) => span.text)
      .join("")
      .trimEnd();
    // A capital letter stands for the sentence that has not come.
    const whole = text !== "" && lastBoundary(`${text} A`, "sentence") >= text.length;
    return whole ? this.#cut(Infinity) : undefined;
  }

  #append(event: OutputStreaming): boolean {
    const next = this.#next!;
    const end = event.position + codePoints(event.chunk);
    const heard = Math.max(0, next - event.position);
    const chunk = heard === 0 ? event.chunk : Array.from(event.chunk).slice(heard).join("");
    this.#next = Math.max(next, end);
    this.#complete ||= event.complete === true;
    const language = languageOf(event);
    const last = this.#spans.at(-1);
    if (chunk !== "") {
      if (last && last.language === language)
        this.#spans[this.#spans.length - 1] = { text: last.text + chunk, language };
      else this.#spans.push({ text: chunk, language });
    }
    return REAL.has(event.coalesce_hint);
  }

  #cut(at: number): Ready | undefined {
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

/** No sentence, no line, no end: then at the last blank, or at least not inside a character (I18N-12). */
function endlessCut(text: string): number {
  const blank = Math.max(text.lastIndexOf(" "), text.lastIndexOf("\n"));
  if (blank > 0) return blank + 1;
  let cut = 0;
  for (const { index } of graphemes.segment(text)) cut = index;
  return cut;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
