/**
 * Deduplication after a reconnect, the only place where a subscriber does it: repeated events by id, overlapping text
 * by output and position. Also keeps the cursor to resume from.
 */

import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import { codePoints } from "../text/language.ts";

/** Ids and outputs remembered: enough for everything a producer may send again after a reconnect. */
const REMEMBERED = 4096;

interface ReceivedOutput {
  /** The position after the last code point received. */
  next: number;
  complete: boolean;
}

export class Deduplicator {
  /** The latest ids, in two generations: the older one is dropped as a whole. */
  #seen = new Set<string>();
  #seenBefore = new Set<string>();
  readonly #outputs = new Map<string, ReceivedOutput>();
  /** The output of the latest text, kept at hand: most text belongs to the same output as the text before. */
  #current:
    | {
        readonly session_id: string;
        readonly output_id: string | undefined;
        readonly received: ReceivedOutput;
      }
    | undefined;
  #settled = true;
  /** The id of the latest event that can be resumed from. */
  cursor: string | undefined;

  /** A new connection begins with the open questions, sent again: those are not resume points. */
  reconnected(): void {
    this.#settled = false;
  }

  /** The event without what was received before; undefined if all of it was. */
  take(event: AgentEvent, isCursor: boolean): AgentEvent | undefined {
    if (event.type === "aaep:agent.output.streaming") {
      const text = event as OutputStreaming;
      // Its position says whether it is new, so its id need not be remembered.
      if (text.output_id !== undefined && text.chunk !== "") {
        const fresh = this.#newText(text);
        this.#settled = true;
        if (isCursor && fresh) this.cursor = event.event_id;
        return fresh;
      }
      return this.#isNew(event, isCursor) ? this.#newText(text) : undefined;
    }
    return this.#isNew(event, isCursor) ? event : undefined;
  }

  /** Whether its id is new; if so, it may become the cursor. */
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

  #receivedOf({ session_id, output_id }: OutputStreaming): ReceivedOutput {
    const current = this.#current;
    if (current?.session_id === session_id && current.output_id === output_id && !current.received.complete)
      return current.received;
    const key = `${session_id} ${output_id ?? ""}`;
    const known = this.#outputs.get(key);
    // Without output ids, a new output begins once the last one is complete.
    const received =
      known && !(known.complete && output_id === undefined) ? known : { next: 0, complete: false };
    // The latest output is forgotten last, even after its end: a resume may begin before it.
    this.#outputs.delete(key);
    this.#outputs.set(key, received);
    if (this.#outputs.size > REMEMBERED) this.#outputs.delete(this.#outputs.keys().next().value!);
    this.#current = { session_id, output_id, received };
    return received;
  }

  /** Text cut into other pieces has other ids: position tells what of it is new. */
  #newText(event: OutputStreaming): OutputStreaming | undefined {
    const received = this.#receivedOf(event);
    const { next, complete } = received;
    const { chunk, position } = event;
    const end = position + codePoints(chunk);
    received.next = Math.max(next, end);
    received.complete ||= event.complete === true;
    if (position >= next && !complete) return event;
    if (end > next)
      return {
        ...event,
        chunk: Array.from(chunk)
          .slice(Math.max(0, next - position))
          .join(""),
        position: Math.max(next, position),
      };
    return received.complete && !complete ? { ...event, chunk: "", position: next } : undefined;
  }
}
