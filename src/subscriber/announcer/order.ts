/** Each event once, and in its session's order where the producer numbers them (SUB-13). */
import { isCritical } from "../../protocol/filters.ts";
import type { AgentEvent } from "../../protocol/types.ts";

const REMEMBERED = 4096;
/** How long an event waits for those before it. A person would not notice; a critical one never waits. */
const PATIENCE_MS = 400;

interface Held {
  readonly event: AgentEvent;
  readonly number: number;
  readonly until: number;
}

export class Order {
  readonly #seen = new Set<string>();
  readonly #next = new Map<string, number>();
  #held: Held[] = [];

  /** The events that may be told now, in order. */
  take(event: AgentEvent, now: number): AgentEvent[] {
    if (this.#seen.has(event.event_id)) return [];
    this.#seen.add(event.event_id);
    if (this.#seen.size > REMEMBERED) this.#seen.delete(this.#seen.values().next().value!);
    const { session_id, sequence_number: number } = event;
    if (number === undefined) return [event];
    const next = this.#next.get(session_id);
    if (next !== undefined && number > next && !isCritical(event)) {
      this.#held.push({ event, number, until: now + PATIENCE_MS });
      return this.#held.length > REMEMBERED ? this.#release(-Infinity, 1) : [];
    }
    this.#passed(session_id, number);
    return [event, ...this.#ready(session_id)];
  }

  /** Those whose patience has run out: what they waited for is late or lost. */
  late(now: number): AgentEvent[] {
    const due = this.#held.filter(({ until }) => until <= now);
    return due.length === 0 ? [] : this.#release(now, 0);
  }

  get wakeAt(): number | undefined {
    return this.#held.length === 0 ? undefined : Math.min(...this.#held.map(({ until }) => until));
  }

  #passed(session_id: string, number: number): void {
    const next = Math.max(this.#next.get(session_id) ?? 0, number + 1);
    this.#next.delete(session_id);
    this.#next.set(session_id, next);
    if (this.#next.size > REMEMBERED) this.#next.delete(this.#next.keys().next().value!);
  }

  #ready(session_id: string): AgentEvent[] {
    const ready: AgentEvent[] = [];
    for (;;) {
      const next = this.#next.get(session_id)!;
      const at = this.#held.findIndex((one) => one.event.session_id === session_id && one.number <= next);
      if (at < 0) return ready;
      const [held] = this.#held.splice(at, 1);
      ready.push(held!.event);
      this.#passed(session_id, Math.max(next - 1, held!.number));
    }
  }

  #release(now: number, atLeast: number): AgentEvent[] {
    const sessions = new Set(
      this.#held
        .filter(({ until }, index) => until <= now || index < atLeast)
        .map(({ event }) => event.session_id),
    );
    const out: AgentEvent[] = [];
    for (const session_id of sessions) {
      const mine = this.#held
        .filter(({ event }) => event.session_id === session_id)
        .sort((a, b) => a.number - b.number);
      const first = mine[0]!;
      this.#held = this.#held.filter((one) => one !== first);
      out.push(first.event);
      this.#passed(session_id, first.number);
      out.push(...this.#ready(session_id));
    }
    return out;
  }
}
