/** Coming back without losing or repeating a word: the cursor, repeats by id, overlap by output and position, and when to try again. */
import { codePoints } from "../protocol/formats.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";

/** Ids and outputs remembered: enough for everything a producer may send again after a drop. */
const REMEMBERED = 4096;

interface HeardOutput {
  /** The next position, as far as it was heard. */
  next: number;
  complete: boolean;
}

export class Memory {
  /** The ids heard last, in two halves: the older one goes as a whole. */
  #seen = new Set<string>();
  #seenBefore = new Set<string>();
  readonly #outputs = new Map<string, HeardOutput>();
  /** Where text comes in, most of it comes in one output. */
  #current:
    | { readonly session_id: string; readonly output_id: string | undefined; readonly heard: HeardOutput }
    | undefined;
  #settled = true;
  cursor: string | undefined;

  /** A new line begins with what stands: questions heard again there are no place to resume from. */
  reconnected(): void {
    this.#settled = false;
  }

  /** The event as it should be heard, or undefined if all of it was heard before. */
  take(event: AgentEvent, isCursor: boolean): AgentEvent | undefined {
    if (event.type === "aaep:agent.output.streaming") {
      const text = event as OutputStreaming;
      // Where its place says whether it was heard before, its id need not be kept.
      if (text.output_id !== undefined && text.chunk !== "") {
        const unheard = this.#unheard(text);
        this.#settled = true;
        if (isCursor && unheard) this.cursor = event.event_id;
        return unheard;
      }
      return this.#isNew(event, isCursor) ? this.#unheard(text) : undefined;
    }
    return this.#isNew(event, isCursor) ? event : undefined;
  }

  /** Whether its id is new; if so, this may be the place to go on from. */
  #isNew(event: AgentEvent, isCursor: boolean): boolean {
    const standing = event.extensions?.["earshot"]?.["standing"] === true;
    const question = event.type.startsWith("aaep:agent.awaiting.");
    if (!standing && !question) this.#settled = true;
    if (this.#seen.has(event.event_id) || this.#seenBefore.has(event.event_id)) return false;
    if (isCursor && !standing && (this.#settled || !question)) this.cursor = event.event_id;
    this.#seen.add(event.event_id);
    if (this.#seen.size >= REMEMBERED) {
      this.#seenBefore = this.#seen;
      this.#seen = new Set();
    }
    return true;
  }

  #heardOf({ session_id, output_id }: OutputStreaming): HeardOutput {
    const current = this.#current;
    if (current?.session_id === session_id && current.output_id === output_id && !current.heard.complete)
      return current.heard;
    const key = `${session_id} ${output_id ?? ""}`;
    const known = this.#outputs.get(key);
    // Where outputs have no ids, the next one begins when the last is complete.
    const heard =
      known && !(known.complete && output_id === undefined) ? known : { next: 0, complete: false };
    // The output heard last is forgotten last, also after its end: a resume may begin before it.
    this.#outputs.delete(key);
    this.#outputs.set(key, heard);
    if (this.#outputs.size > REMEMBERED) this.#outputs.delete(this.#outputs.keys().next().value!);
    this.#current = { session_id, output_id, heard };
    return heard;
  }

  /** Text cut another way has other ids: what of it is new is told by output and position. */
  #unheard(event: OutputStreaming): OutputStreaming | undefined {
    const heard = this.#heardOf(event);
    const { next, complete } = heard;
    const { chunk, position } = event;
    const end = position + codePoints(chunk);
    heard.next = Math.max(next, end);
    heard.complete ||= event.complete === true;
    if (position >= next && !complete) return event;
    if (end > next)
      return {
        ...event,
        chunk: Array.from(chunk)
          .slice(Math.max(0, next - position))
          .join(""),
        position: Math.max(next, position),
      };
    return heard.complete && !complete ? { ...event, chunk: "", position: next } : undefined;
  }
}

/** Full jitter: anywhere between nothing and twice as long as the last time at most, so that a crowd does not come back as one (F16). */
export const backoff = (attempt: number, random: () => number, first = 250, most = 30_000): number =>
  random() * Math.min(most, first * 2 ** Math.min(attempt, 20));
