/** How urgent an event is to a person: as it says, within reason (2.2.9, CON-14, CON-74). */
import { CRITICAL_TYPES, isCritical } from "../../protocol/filters.ts";
import type { AgentEvent, Urgency } from "../../protocol/types.ts";

/** Other events a producer calls critical, by minute; beyond that they take their turn. They are still said. */
const MOST_OTHER_CRITICAL = 10;

export class UrgencyGuard {
  #urgent: number[] = [];

  of(event: AgentEvent, now: number): Urgency {
    if (!isCritical(event))
      return event.type === "aaep:agent.progress.updated" && event.urgency !== "normal"
        ? "background"
        : "normal";
    if (CRITICAL_TYPES.has(event.type)) return "critical";
    this.#urgent = this.#urgent.filter((at) => at > now - 60_000);
    if (this.#urgent.length >= MOST_OTHER_CRITICAL) return "normal";
    this.#urgent.push(now);
    return "critical";
  }
}
