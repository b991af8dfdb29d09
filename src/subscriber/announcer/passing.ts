/**
 * States that may be over before anyone could make use of them: "Thinking", and a moment later what came of it. Each
 * waits a moment; if its session has something else to say by then, it goes to the history alone (DEL-24).
 */
import type { Session } from "./sessions.ts";
import type { Utterance } from "./utterance.ts";

/** Too short to be felt as silence, long enough for the next event of a program. */
const PASSING_MS = 500;
const MOST_HANDED_ON = 500;

/** `passed`: only the history has it. Gives the utterance's number. */
type Say = (now: number, passed: boolean) => number;

interface Passing {
  readonly at: number;
  readonly said: string;
  readonly say: Say;
}

export class PassingStates {
  readonly #waiting = new Map<Session, Passing>();
  /** What was handed on to be said, and may still be in the queue. */
  readonly #handedOn = new Map<Session, number>();

  readonly #skip: (stale: (utterance: Utterance) => boolean) => void;

  /** `skip` takes out of the queue what fits. */
  constructor(skip: (stale: (utterance: Utterance) => boolean) => void) {
    this.#skip = skip;
  }

  add(session: Session, now: number, say: Say): void {
    this.over(session, now);
    this.#waiting.set(session, { at: now + PASSING_MS, said: session.lastState, say });
  }

  /** Something else is said of this session: its last state is no news any more. */
  over(session: Session, now: number): void {
    const waiting = this.#waiting.get(session);
    if (waiting) {
      this.#waiting.delete(session);
      // It was not said, so that it is no repetition when it comes again.
      if (waiting.said === session.lastState) session.lastState = "";
      waiting.say(now, true);
    }
    const said = this.#handedOn.get(session);
    if (!this.#handedOn.delete(session)) return;
    this.#skip(({ id }) => id === said);
  }

  /** Those that have lasted are said. */
  due(now: number): void {
    for (const [session, { at, say }] of this.#waiting) {
      if (at > now) continue;
      this.#waiting.delete(session);
      this.#handedOn.set(session, say(now, session.ended));
      if (this.#handedOn.size > MOST_HANDED_ON) this.#handedOn.delete(this.#handedOn.keys().next().value!);
    }
  }

  get wakeAt(): number | undefined {
    return this.#waiting.size === 0
      ? undefined
      : Math.min(...[...this.#waiting.values()].map(({ at }) => at));
  }
}
