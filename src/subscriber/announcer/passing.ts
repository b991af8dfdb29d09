/**
 * States that may be over before anyone could make use of them: "Thinking", and a moment later what came of it. Each
 * waits a moment; if its session has something else to say by then, it goes to the history alone (DEL-24).
 */
import type { Session } from "./sessions.ts";

/** Too short to be felt as silence, long enough for the next event of a program. */
const PASSING_MS = 500;

/** `passed`: only the history has it. */
type Say = (now: number, passed: boolean) => void;

export class PassingStates {
  readonly #waiting = new Map<Session, { readonly at: number; readonly say: Say }>();
  /** Those whose state was handed on to be said, and may still be in the queue. */
  readonly #handedOn = new Set<Session>();

  add(session: Session, now: number, say: Say): void {
    this.#waiting.set(session, { at: now + PASSING_MS, say });
  }

  /** Something else is said of this session. True if its last state may still be in the queue. */
  over(session: Session, now: number): boolean {
    const waiting = this.#waiting.get(session);
    if (waiting) {
      this.#waiting.delete(session);
      // It was not said, so that it is no repetition when it comes again.
      session.lastState = "";
      waiting.say(now, true);
    }
    return this.#handedOn.delete(session);
  }

  /** Those that have lasted are said. */
  due(now: number): void {
    for (const [session, { at, say }] of this.#waiting) {
      if (at > now) continue;
      this.#waiting.delete(session);
      say(now, session.ended);
      this.#handedOn.add(session);
    }
  }

  get wakeAt(): number | undefined {
    return this.#waiting.size === 0
      ? undefined
      : Math.min(...[...this.#waiting.values()].map(({ at }) => at));
  }
}
