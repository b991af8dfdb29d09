// Properties of the speech queue: order of critical utterances, nothing lost, pace, interrupted utterances repeated.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Urgency } from "../../src/protocol/types.ts";
import { SpeechQueue } from "../../src/subscriber/announcer/speech-queue.ts";
import { run, type Utterance } from "../../src/subscriber/announcer/utterance.ts";

interface Step {
  readonly wait: number;
  readonly urgency: Urgency;
  readonly words: number;
}

const steps = fc.array(
  fc.record({
    wait: fc.integer({ min: 0, max: 20_000 }),
    urgency: fc.constantFrom<Urgency[]>("critical", "normal", "normal", "background"),
    words: fc.integer({ min: 1, max: 60 }),
  }),
  { maxLength: 60 },
);

interface Log {
  readonly said: { readonly at: number; readonly utterance: Utterance }[];
  readonly stopped: { readonly at: number; readonly utterance: Utterance }[];
  readonly all: Utterance[];
  readonly done: Set<number>;
}

/** A voice at so many milliseconds a word, and a clock that goes from event to event. */
function play(script: readonly Step[], msPerWord: number, pace_wpm: number | undefined): Log {
  const fold = (): never => {
    throw new Error("Nothing is folded below the bound.");
  };
  const queue = new SpeechQueue({ pace_wpm, fold, skipped: fold });
  const log: Log = { said: [], stopped: [], all: [], done: new Set() };
  let now = 0;
  let speaking: { id: number; until: number } | undefined;
  const pump = () => {
    for (const action of queue.advance(now)) {
      if (action.do === "stop") {
        log.stopped.push({ at: now, utterance: action.utterance });
        speaking = undefined;
      } else {
        log.said.push({ at: now, utterance: action.utterance });
        speaking = { id: action.utterance.id, until: now + action.utterance.words * msPerWord };
      }
    }
  };
  const until = (time: number) => {
    for (;;) {
      const next = Math.min(speaking?.until ?? Infinity, Math.max(now, queue.wakeAt(now) ?? Infinity));
      if (next > time) break;
      now = next;
      if (speaking && speaking.until <= now) {
        queue.finished(speaking.id);
        log.done.add(speaking.id);
        speaking = undefined;
      }
      pump();
    }
    now = time;
  };
  script.forEach(({ wait, urgency, words }, index) => {
    until(now + wait);
    const utterance: Utterance = { id: index + 1, kind: "tool", urgency, words, runs: [run("x", "en")] };
    log.all.push(utterance);
    queue.add(utterance);
    pump();
  });
  until(now + 24 * 3_600_000);
  return log;
}

describe("the queue", () => {
  it("says critical things in the order they came, at once unless another critical one is being said (DEL-26)", () => {
    fc.assert(
      fc.property(steps, (script) => {
        const { said, all } = play(script, 300, undefined);
        const critical = (one: Utterance) => one.urgency === "critical";
        expect(said.map(({ utterance }) => utterance).filter(critical)).toEqual(all.filter(critical));
      }),
      { numRuns: 300 },
    );
  });

  it("lets critical interrupt the rest, never another critical one, and says again what was broken off (DEL-26)", () => {
    fc.assert(
      fc.property(steps, (script) => {
        const { said, stopped, all, done } = play(script, 300, undefined);
        expect(stopped.every(({ utterance }) => utterance.urgency !== "critical")).toBe(true);
        for (const { utterance } of stopped) {
          const times = stopped.filter((one) => one.utterance.id === utterance.id).length;
          expect(said.filter((one) => one.utterance.id === utterance.id)).toHaveLength(times + 1);
        }
        expect([...done].sort((a, b) => a - b)).toEqual(all.map(({ id }) => id));
      }),
      { numRuns: 300 },
    );
  });

  it("keeps normal things in their order and loses nothing", () => {
    fc.assert(
      fc.property(steps, (script) => {
        const { said, all } = play(script, 100, undefined);
        const first = new Map<number, Utterance>();
        for (const { utterance } of said) if (!first.has(utterance.id)) first.set(utterance.id, utterance);
        const normal = (one: Utterance) => one.urgency === "normal";
        expect([...first.values()].filter(normal)).toEqual(all.filter(normal));
        expect(first.size).toBe(all.length);
      }),
      { numRuns: 300 },
    );
  });

  it("never says more words in any minute than the pace allows while nothing critical is pending", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 60, max: 200 }), (script, pace) => {
        const { said } = play(script, 1, pace);
        for (const { at } of said) {
          const minute = said.filter((one) => one.at > at - 60_000 && one.at <= at);
          if (minute.some(({ utterance }) => utterance.urgency === "critical")) continue;
          expect(minute.reduce((sum, { utterance }) => sum + utterance.words, 0)).toBeLessThanOrEqual(pace);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("gives a sentence longer than the pace its several minutes", () => {
    const { said } = play(
      [
        { wait: 0, urgency: "normal", words: 60 },
        { wait: 0, urgency: "normal", words: 5 },
      ],
      1,
      20,
    );
    expect(said.map(({ at }) => at)).toEqual([0, 180_000]);
  });
});
