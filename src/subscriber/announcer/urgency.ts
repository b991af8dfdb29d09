/** How urgent an event is to a person: as it says, within reason (2.2.9, CON-14, CON-74). */
import { CRITICAL_TYPES, isCritical } from "../../protocol/filters.ts";
import type { AgentEvent, Urgency } from "../../protocol/types.ts";

/** Other events one connection calls critical, by minute; beyond that they take their turn. They are still said. */
const MOST_OTHER_CRITICAL = 10;

export class UrgencyGuard {
  readonly #urgent = new Map<string, number[]>();

  /** By connection: no agent may use up the urgency of another. */
  of(event: AgentEvent, source: string, now: number): Urgency {
    if (!isCritical(event))
      return event.type === "aaep:agent.progress.updated" && event.urgency !== "normal"
        ? "background"
        : "normal";
    if (CRITICAL_TYPES.has(event.type)) return "critical";
    const lately = (this.#urgent.get(source) ?? []).filter((at) => at > now - 60_000);
    if (lately.length >= MOST_OTHER_CRITICAL) return "normal";
    this.#urgent.set(source, [...lately, now]);
    return "critical";
  }
}
