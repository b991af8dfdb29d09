/** What the person has heard: which question is being put to them, whether to its end, and what speaks right now. */
import type { Utterance } from "../../subscriber/announcer.ts";
import type { Voice } from "../../voices/index.ts";

interface Asking {
  readonly token: string;
  heardAt: number | undefined;
}

export interface AttentionOptions {
  now(): number;
  /** Throws away what stands typed; true if there was something. */
  throwAway(): boolean;
  /** A question was heard to its end, and something typed before had been thrown away. */
  typedAhead(): void;
  /** Called before anything is said. */
  before(utterance: Utterance): void;
}

export class Attention {
  readonly #options: AttentionOptions;
  #asking: Asking | undefined;
  #saying: Utterance | undefined;
  #thrownAway = false;

  constructor(options: AttentionOptions) {
    this.#options = options;
  }

  /** Whether the question has begun to be put, and since when it has been heard. */
  to(token: string): { readonly begun: boolean; readonly heardAt: number | undefined } {
    const begun = this.#asking?.token === token;
    return { begun, heardAt: begun ? this.#asking!.heardAt : undefined };
  }

  watch(voice: Voice): Voice {
    return {
      say: (utterance) => {
        this.#options.before(utterance);
        const asking = utterance.asked && this.#begin(utterance.reply_token!);
        this.#saying = utterance;
        const done = () => {
          // Cut short, it was not heard to its end.
          const whole = this.#saying === utterance;
          if (whole) this.#saying = undefined;
          if (asking && whole) this.#heard(asking);
        };
        const saying = voice.say(utterance);
        return saying ? saying.then(done) : done();
      },
      stop: () => voice.stop(),
      can: (language) => voice.can(language),
      close: () => voice.close(),
    };
  }

  /** The person acts: what speaks to them is cut short, what an agent reports is not. Gives what was. */
  cut(): Utterance | undefined {
    const saying = this.#saying;
    if (!saying || !(saying.asked || /^(?:notice|answer|status)$/u.test(saying.kind))) return undefined;
    this.#saying = undefined;
    return saying;
  }

  #begin(token: string): Asking {
    this.#asking = { token, heardAt: undefined };
    this.#throwAway();
    return this.#asking;
  }

  #heard(asking: Asking): void {
    this.#throwAway();
    asking.heardAt = this.#options.now();
    if (this.#thrownAway) this.#options.typedAhead();
    this.#thrownAway = false;
  }

  #throwAway(): void {
    if (this.#options.throwAway()) this.#thrownAway = true;
  }
}
