/**
 * Notices that no event causes: a connection was lost or is back, and work goes on although nothing is said. Both are
 * debounced, so that a flapping connection is not announced each time.
 */

/** A restored connection is announced at the agent's first event, or once it has held this long. */
const STABLE_AFTER_MS = 1_000;
/** Minimum time between two "connection lost" notices. */
const LOST_INTERVAL_MS = 10_000;

type ConnectionState = "lost" | "connected";
type Notify = (
  key: "line_lost" | "line_back" | "line_ended",
  agent: string,
  source: string,
  now: number,
) => void;

interface ObservedConnection {
  source: string;
  agent: string;
  state: ConnectionState;
  announced: ConnectionState;
  since: number;
  lostAnnouncedAt: number;
}

export class ConnectionNotices {
  readonly #connections = new Map<string, ObservedConnection>();
  readonly #notify: Notify;

  constructor(notify: Notify) {
    this.#notify = notify;
  }

  changed(state: ConnectionState, agent: string, source: string, now: number): void {
    // A caller that reports a first connection wants it announced.
    const announced = state === "lost" ? "connected" : "lost";
    const known = this.#connections.get(source) ?? { announced, lostAnnouncedAt: Number.NEGATIVE_INFINITY };
    this.#connections.set(source, { ...known, source, agent, state, since: now });
    this.announceDue(now);
  }

  /** An event arrived, so a restored connection works. */
  eventReceived(source: string, now: number): void {
    const connection = this.#connections.get(source);
    if (connection?.state === "connected" && connection.announced === "lost") this.#announce(connection, now);
  }

  ended(agent: string, source: string, now: number): void {
    this.#connections.delete(source);
    this.#notify("line_ended", agent, source, now);
  }

  /** Disconnected, or not yet announced as back: what its agents do is unknown. */
  isLost(source: string): boolean {
    const connection = this.#connections.get(source);
    return connection !== undefined && (connection.state === "lost" || connection.announced === "lost");
  }

  announceDue(now: number): void {
    for (const one of this.#connections.values())
      if (one.state !== one.announced && dueAt(one) <= now) this.#announce(one, now);
  }

  get wakeAt(): number | undefined {
    const times = [...this.#connections.values()]
      .filter(({ state, announced }) => state !== announced)
      .map(dueAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #announce(connection: ObservedConnection, now: number): void {
    const { state, agent, source } = connection;
    connection.announced = state;
    if (state === "lost") connection.lostAnnouncedAt = now;
    this.#notify(state === "lost" ? "line_lost" : "line_back", agent, source, now);
  }
}

const dueAt = ({ state, since, lostAnnouncedAt }: ObservedConnection): number =>
  state === "connected" ? since + STABLE_AFTER_MS : Math.max(since, lostAnnouncedAt + LOST_INTERVAL_MS);

const FIRST_REMINDER_MS = 15_000;
const MAX_REMINDER_MS = 16 * 60_000;

/** When to say that work goes on: after 15 s of silence, then with exponential backoff. */
export class StillWorkingTimer {
  #silentSince: number | undefined;
  #interval = FIRST_REMINDER_MS;

  /** The first event starts the timer. */
  start(now: number): void {
    this.#silentSince ??= now;
  }
  said(isReminder: boolean, now: number): void {
    this.#silentSince = now;
    this.#interval = isReminder ? Math.min(this.#interval * 2, MAX_REMINDER_MS) : FIRST_REMINDER_MS;
  }
  /** Silence is counted from the end of an utterance. */
  finished(now: number): void {
    this.#silentSince = now;
  }
  isDue(now: number): boolean {
    return this.#silentSince !== undefined && now - this.#silentSince >= this.#interval;
  }
  get wakeAt(): number | undefined {
    return this.#silentSince === undefined ? undefined : this.#silentSince + this.#interval;
  }
}
