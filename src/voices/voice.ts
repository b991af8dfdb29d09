/** Where words end up: the port an assistive technology fills, and the loop that keeps a voice busy with an announcer. */
import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Announcer, Utterance } from "../subscriber/announcer.ts";

export interface Voice {
  /** Resolves once it was said to its end, or stopped; without a promise it was said at once, as a line is written. */
  say(utterance: Utterance): Promise<void> | void;
  /** Stops what this voice is saying, and nobody else's speech. */
  stop(): void;
  /** Whether there is a voice, or a table, for a language. */
  can(language: string): boolean;
  close(): Promise<void>;
}

export interface Speaker {
  /** To be called after anything was told to the announcer. */
  pump(): void;
  close(): Promise<void>;
}

/** Lets a voice say what the announcer has to say, in its order and at its pace. */
export function speakWith(announcer: Announcer, voice: Voice, clock: Clock = systemClock): Speaker {
  let timer: (() => void) | undefined;
  let closed = false;
  const stopped = new Set<number>();
  let pumping = false;
  let again = false;
  const step = (): void => {
    timer?.();
    announcer.tick(clock.now());
    for (const action of announcer.advance(clock.now())) {
      const { id } = action.utterance;
      if (action.do === "stop") {
        stopped.add(id);
        voice.stop();
        continue;
      }
      stopped.delete(id);
      const done = () => {
        // What was stopped comes again; it is not finished because the voice fell silent.
        if (stopped.has(id)) return;
        announcer.finished(id, clock.now());
        pump();
      };
      const saying = voice.say(action.utterance);
      if (saying) saying.then(done, done);
      else done();
    }
    const at = announcer.wakeAt(clock.now());
    timer = at === undefined ? undefined : clock.timer(Math.max(at, clock.now() + 1), pump);
  };
  const pump = (): void => {
    again = true;
    // Called from within, e.g. by a voice that is done at once: one round more, not one inside the other.
    if (pumping) return;
    pumping = true;
    try {
      while (again && !closed) {
        again = false;
        step();
      }
    } finally {
      pumping = false;
    }
  };
  return {
    pump,
    async close() {
      closed = true;
      timer?.();
      await voice.close();
    },
  };
}
