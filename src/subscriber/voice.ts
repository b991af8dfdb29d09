/** The port an assistive technology implements, and what drives an announcer: utterances to a voice, replies to a sender. */
import { type Clock, systemClock } from "../protocol/platform.ts";
import type { Announcer, Outgoing, Utterance } from "./announcer.ts";

/** Where sentences are output: speech, braille, a screen. */
export interface Voice {
  /** Resolves once it was said to its end, or stopped; returns nothing where output takes no time, as in a terminal. */
  say(utterance: Utterance): Promise<void> | void;
  /** Stops what this voice is saying, and nothing else on the machine. */
  stop(): void;
  /** Whether there is a voice, or a braille table, for a language. */
  can(language: string): boolean;
  close(): Promise<void>;
}

/** The loop between an announcer and a voice. See `speakWith`. */
export interface Speaker {
  /** Call it after anything was passed to the announcer. */
  pump(): void;
  close(): Promise<void>;
}

/** Hands a voice the announcer's utterances, in its order and at its pace. */
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
        // A stopped utterance is said again later: that the voice is silent does not make it finished.
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
    // Called from within, e.g. by a voice that is done at once: loop instead of recursing.
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

/** Hands the announcer's outgoing messages to `send` and reports what became of each. Says how many there were. */
export function sendOutgoing(
  announcer: Announcer,
  send: (message: Outgoing) => Promise<boolean | undefined>,
  { clock, changed }: { readonly clock: Clock; changed(): void },
): number {
  const messages = announcer.outgoing();
  for (const message of messages) {
    const report = (taken: boolean | undefined) => {
      announcer.sent(message, taken, clock.now());
      changed();
    };
    // A failed connection is no yes: what became of the answer is unknown.
    send(message).then(report, () => report(undefined));
  }
  changed();
  return messages.length;
}
