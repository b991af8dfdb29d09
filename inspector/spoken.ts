/** What a screen reader would be given to say, in order, as text: the same announcer, without a voice. */
import type { AgentEvent } from "../src/protocol/index.ts";
import { Announcer, type Utterance } from "../src/subscriber/announcer.ts";

export class Preview {
  readonly #announcer: Announcer;
  readonly #say: (utterance: Utterance, now: number) => void;

  constructor(languages: readonly string[], say: (utterance: Utterance, now: number) => void) {
    this.#announcer = new Announcer({ languages, verbosity: "terse" });
    this.#say = say;
  }

  hear(event: AgentEvent, now: number): void {
    this.#announcer.hear(event, now);
    this.pump(now);
  }

  /** When to pump next, if nothing is heard until then. */
  wakeAt(now: number): number | undefined {
    return this.#announcer.wakeAt(now);
  }

  pump(now: number): void {
    this.#announcer.tick(now);
    for (;;) {
      const next = this.#announcer.advance(now).find((action) => action.do === "say");
      if (!next) return;
      // Nothing is spoken here, so each is at its end at once.
      this.#announcer.finished(next.utterance.id, now);
      this.#say(next.utterance, now);
    }
  }
}
