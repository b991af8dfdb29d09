/** One thing at a time: nothing new appears until it is asked for, and how much waits is told once. */
import type { Utterance } from "../../subscriber/announcer.ts";
import type { Voice } from "../../voices/index.ts";

export interface StepVoice extends Voice {
  /** Shows what waits; false if nothing does. */
  next(): boolean;
  readonly holding: boolean;
  /** Something waits that the person should hear before anything else. */
  readonly urgent: boolean;
}

export interface StepOptions {
  readonly voice: Voice;
  /** What the person asked for themselves: it comes at once. */
  mayPass(utterance: Utterance): boolean;
  /** How many wait behind the one at hand. */
  waiting(): number;
  /** Says, in as few words as possible, that something waits. */
  tell(what: "something" | "urgent"): void;
  /** The utterance with a word on how many more there are. */
  counted(utterance: Utterance, more: number): Utterance;
}

export function stepping({ voice, mayPass, waiting, tell, counted }: StepOptions): StepVoice {
  let held: { readonly utterance: Utterance; readonly done: () => void } | undefined;
  let told: "nothing" | "something" | "urgent" = "nothing";
  const isUrgent = () => held?.utterance.urgency === "critical";
  return {
    say(utterance) {
      if (mayPass(utterance)) return voice.say(utterance);
      return new Promise((resolve) => {
        held = { utterance, done: resolve };
        if (isUrgent() ? told !== "urgent" : told === "nothing") {
          told = isUrgent() ? "urgent" : "something";
          tell(told);
        }
      });
    },
    stop() {
      // It comes again, after what was more urgent.
      if (held) held = undefined;
      else voice.stop();
    },
    next() {
      if (!held) return false;
      const { utterance, done } = held;
      held = undefined;
      const more = waiting();
      // The count on this line tells of the rest: only something urgent is worth another word.
      told = more > 0 ? "something" : "nothing";
      const saying = voice.say(more > 0 ? counted(utterance, more) : utterance);
      if (saying) saying.then(done, done);
      else done();
      return true;
    },
    get holding() {
      return held !== undefined;
    },
    get urgent() {
      return isUrgent();
    },
    can: (language) => voice.can(language),
    close: () => voice.close(),
  };
}
