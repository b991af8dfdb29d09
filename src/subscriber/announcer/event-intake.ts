/**
 * What happens to events before they are announced: put in their session's order where the producer numbers them
 * (SUB-13), and rate limited per connection, so that one agent cannot drown out the others (T4, DEL-27). Duplicates do
 * not get here: the subscriber drops them.
 */
import { CRITICAL_TYPES, isCritical } from "../../protocol/filters.ts";
import type { AgentEvent, Urgency } from "../../protocol/types.ts";
import type { ObservedSession } from "./sessions.ts";

const MAX_REMEMBERED = 4096;
/** How long an event waits for earlier ones; unnoticeable to a person. Critical events never wait. */
const REORDER_MS = 400;

interface HeldEvent {
  readonly event: AgentEvent;
  readonly session: string;
  readonly number: number;
  readonly until: number;
}

export class EventOrder {
  readonly #next = new Map<string, number>();
  #held: HeldEvent[] = [];

  /** The events to announce now, in order. Numbers are kept per source, so that agents cannot interfere with each other. */
  take(event: AgentEvent, now: number, source = ""): AgentEvent[] {
    const { sequence_number: number } = event;
    if (number === undefined) return [event];
    const session = `${source} ${event.session_id}`;
    const next = this.#next.get(session);
    if (next !== undefined && number > next && !isCritical(event)) {
      this.#held.push({ event, session, number, until: now + REORDER_MS });
      return this.#held.length > MAX_REMEMBERED ? this.#release(-Infinity, 1) : [];
    }
    this.#passed(session, number);
    return [event, ...this.#ready(session)];
  }

  /** Events that waited long enough: the earlier ones are late or lost. */
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
    if (this.#next.size > MAX_REMEMBERED) this.#next.delete(this.#next.keys().next().value!);
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

/** Token bucket limits for announcements. Output text has a larger one: it is what the person asked for. */
const NEWS = { burst: 100, perSecond: 5 };
const TEXT = { burst: 1000, perSecond: 50 };
const REPORT_EVERY_MS = 10_000;

interface Bucket {
  left: number;
  at: number;
}

interface ConnectionBuckets {
  readonly news: Bucket;
  readonly text: Bucket;
  held: number;
  reportAt: number;
  session: ObservedSession;
}

interface HeldBack {
  readonly session: ObservedSession;
  readonly count: number;
}

/**
 * Rate limit for the announcements of one connection. Announcements above it are only recorded in the history, and the
 * person hears how many there were. Critical ones are exempt.
 */
export class FloodGuard {
  readonly #sources = new Map<string, ConnectionBuckets>();

  /** Whether this may be announced; if not, it is counted. */
  allows(session: ObservedSession, isText: boolean, now: number): boolean {
    const source = this.#of(session, now);
    const { burst, perSecond } = isText ? TEXT : NEWS;
    const bucket = isText ? source.text : source.news;
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) * perSecond) / 1000);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left--;
      return true;
    }
    if (source.held++ === 0) source.reportAt = now + REPORT_EVERY_MS;
    source.session = session;
    return false;
  }

  /** Announcements held back and not yet reported. */
  due(now: number): HeldBack[] {
    return [...this.#sources.values()]
      .filter(({ held, reportAt }) => held > 0 && reportAt <= now)
      .map((source) => {
        const { session, held: count } = source;
        source.held = 0;
        return { session, count };
      });
  }

  get wakeAt(): number | undefined {
    const times = [...this.#sources.values()].filter(({ held }) => held > 0).map(({ reportAt }) => reportAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Per connection, so that an agent cannot reset the limit by changing its name. */
  #of(session: ObservedSession, now: number): ConnectionBuckets {
    const known = this.#sources.get(session.source);
    if (known) return known;
    const source: ConnectionBuckets = {
      news: { left: NEWS.burst, at: now },
      text: { left: TEXT.burst, at: now },
      held: 0,
      reportAt: 0,
      session,
    };
    this.#sources.set(session.source, source);
    return source;
  }
}

/** Events of other types that one connection may declare critical per minute; further ones are spoken as normal. */
const MAX_OTHER_CRITICAL = 10;

/** The urgency of an event: as declared, within a rate limit (2.2.9, CON-14, CON-74). */
export class UrgencyGuard {
  readonly #critical = new Map<string, number[]>();

  /** Per connection, so that one agent cannot use up another's allowance. */
  of(event: AgentEvent, source: string, now: number): Urgency {
    if (!isCritical(event))
      return event.type === "aaep:agent.progress.updated" && event.urgency !== "normal"
        ? "background"
        : "normal";
    if (CRITICAL_TYPES.has(event.type)) return "critical";
    const recent = (this.#critical.get(source) ?? []).filter((at) => at > now - 60_000);
    if (recent.length >= MAX_OTHER_CRITICAL) return "normal";
    this.#critical.set(source, [...recent, now]);
    return "critical";
  }
}
