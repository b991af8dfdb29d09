/** Everything there was to say, said or not: nothing is gone because it was missed. */
import type { Utterance } from "./utterance.ts";

/** `quiet` was not said by itself, `skipped` gave way to a digest or to newer progress. */
type Fate = "waiting" | "said" | "quiet" | "skipped";

export interface HistoryEntry {
  readonly utterance: Utterance;
  readonly at: number;
  readonly fate: Fate;
}

/** Days of an agent's work; beyond this the oldest go, and `forgotten` counts them. */
const MOST_REMEMBERED = 10_000;

export class History {
  readonly #entries = new Map<number, HistoryEntry>();
  forgotten = 0;

  add(utterance: Utterance, at: number, fate: Fate): void {
    this.#entries.set(utterance.id, { utterance, at, fate });
    if (this.#entries.size <= MOST_REMEMBERED) return;
    this.#entries.delete(this.#entries.keys().next().value!);
    this.forgotten++;
  }

  mark(id: number, fate: Fate): void {
    const entry = this.#entries.get(id);
    if (entry) this.#entries.set(id, { ...entry, fate });
  }

  get entries(): readonly HistoryEntry[] {
    return [...this.#entries.values()];
  }

  lastSaid(): Utterance | undefined {
    return this.entries.filter(({ fate, utterance }) => fate === "said" && utterance.kind !== "answer").at(-1)
      ?.utterance;
  }
}
