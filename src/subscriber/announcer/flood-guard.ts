/**
 * How much one agent may have said in a while (T4, DEL-27): a flood of small news would drown the other agents and, on a
 * screen, everything. Beyond it announcements go to the history alone, and how many there were is said. What is critical
 * never comes here.
 */
import type { Session } from "./sessions.ts";

/** Announcements at once, and by the second after that. Text an agent writes is what was asked for: it may be long. */
const NEWS = { burst: 100, per_second: 5 };
const TEXT = { burst: 1000, per_second: 50 };
const REPORT_EVERY_MS = 10_000;

interface Bucket {
  left: number;
  at: number;
}

interface Source {
  readonly news: Bucket;
  readonly text: Bucket;
  held: number;
  reportAt: number;
  session: Session;
}

interface HeldBack {
  readonly session: Session;
  readonly count: number;
}

export class FloodGuard {
  readonly #sources = new Map<string, Source>();

  /** Whether this may be announced; if not, it is counted. */
  allows(session: Session, isText: boolean, now: number): boolean {
    const source = this.#of(session, now);
    const { burst, per_second } = isText ? TEXT : NEWS;
    const bucket = isText ? source.text : source.news;
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) * per_second) / 1000);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left--;
      return true;
    }
    if (source.held++ === 0) source.reportAt = now + REPORT_EVERY_MS;
    source.session = session;
    return false;
  }

  /** What was held back and has not been told. */
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

  /** By connection: an agent must not get a fresh start with every name it gives itself. */
  #of(session: Session, now: number): Source {
    const known = this.#sources.get(session.source);
    if (known) return known;
    const source: Source = {
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
