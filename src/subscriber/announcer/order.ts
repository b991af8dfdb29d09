/** Each event once, and in its session's order where the producer numbers them (SUB-13). */
import { isCritical } from "../../protocol/filters.ts";
import type { AgentEvent } from "../../protocol/types.ts";

const REMEMBERED = 4096;
/** How long an event waits for those before it. A person would not notice; a critical one never waits. */
const PATIENCE_MS = 400;

interface Held {
  readonly event: AgentEvent;
  readonly session: string;
  readonly number: number;
  readonly until: number;
}

export class Order {
  readonly #seen = new Set<string>();
  readonly #next = new Map<string, number>();
  #held: Held[] = [];

  /** The events that may be told now, in order. By source: no agent can use up the numbers or ids of another. */
  take(event: AgentEvent, now: number, source = ""): AgentEvent[] {
    const id = `${source} ${event.event_id}`;
    if (this.#seen.has(id)) return [];
    this.#seen.add(id);
    if (this.#seen.size > REMEMBERED) this.#seen.delete(this.#seen.values().next().value!);
    const { sequence_number: number } = event;
    if (number === undefined) return [event];
    const session = `${source} ${event.session_id}`;
    const next = this.#next.get(session);
    if (next !== undefined && number > next && !isCritical(event)) {
      this.#held.push({ event, session, number, until: now + PATIENCE_MS });
      return this.#held.length > REMEMBERED ? this.#release(-Infinity, 1) : [];
    }
    this.#passed(session, number);
    return [event, ...this.#ready(session)];
  }

  /** Those whose patience has run out: what they waited for is late or lost. */
  late(now: number): AgentEvent[] {
    const due = this.#held.filter(({ until }) => until <= now);
    return due.length === 0 ? [] : this.#release(now, 0);
  }

  get wakeAt(): number | undefined {
    return this.#held.length === 0 ? undefined : Math.min(...this.#held.map(({ until }) => until));
  }

  #passed(session: string, number: number): void {
    const next = Math.max(this.#next.get(session) ?? 0, number + 1);
    this.#next.delete(session);
    this.#next.set(session, next);
    if (this.#next.size > REMEMBERED) this.#next.delete(this.#next.keys().next().value!);
  }

  #ready(session: string): AgentEvent[] {
    const ready: AgentEvent[] = [];
    for (;;) {
      const next = this.#next.get(session)!;
      const at = this.#held.findIndex((one) => one.session === session && one.number <= next);
      if (at < 0) return ready;
      const [held] = this.#held.splice(at, 1);
      ready.push(held!.event);
      this.#passed(session, Math.max(next - 1, held!.number));
    }
  }

  #release(now: number, atLeast: number): AgentEvent[] {
    const sessions = new Set(
      this.#held.filter(({ until }, index) => until <= now || index < atLeast).map(({ session }) => session),
    );
    const out: AgentEvent[] = [];
    for (const session of sessions) {
      const mine = this.#held.filter((one) => one.session === session).sort((a, b) => a.number - b.number);
      const first = mine[0]!;
      this.#held = this.#held.filter((one) => one !== first);
      out.push(first.event);
      this.#passed(session, first.number);
      out.push(...this.#ready(session));
    }
    return out;
  }
}
