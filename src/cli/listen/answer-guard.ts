/**
 * Which question a person is being asked, and whether they have heard it in full: an answer typed before that does not
 * count.
 */
import type { Utterance } from "../../subscriber/announcer.ts";
import type { Voice } from "../../voices/index.ts";

interface AskedQuestion {
  readonly token: string;
  heardAt: number | undefined;
}

export interface AnswerGuardOptions {
  now(): number;
  /** Discards the line being typed; true if there was one. */
  discardTyped(): boolean;
  /** A question was heard to its end, and something typed before it was discarded. */
  typedAhead(): void;
  /** Called before every utterance. */
  before(utterance: Utterance): void;
}

export class AnswerGuard {
  readonly #options: AnswerGuardOptions;
  #asking: AskedQuestion | undefined;
  #saying: Utterance | undefined;
  #discarded = false;

  constructor(options: AnswerGuardOptions) {
    this.#options = options;
  }

  /** Whether the person is being asked this question, and since when they have heard it in full. */
  heard(token: string): { readonly begun: boolean; readonly heardAt: number | undefined } {
    const begun = this.#asking?.token === token;
    return { begun, heardAt: begun ? this.#asking!.heardAt : undefined };
  }

  /** The voice, observed: the guard knows what is being said and what was heard in full. */
  watch(voice: Voice): Voice {
    return {
      say: (utterance) => {
        this.#options.before(utterance);
        const asking = utterance.asked && this.#begin(utterance.reply_token!);
        this.#saying = utterance;
        const done = () => {
          // An utterance that was cut short was not heard.
          const whole = this.#saying === utterance;
          if (whole) this.#saying = undefined;
          if (asking && whole) this.#heardInFull(asking);
        };
        const saying = voice.say(utterance);
        return saying ? saying.then(done) : done();
      },
      stop: () => voice.stop(),
      can: (language) => voice.can(language),
      close: () => voice.close(),
    };
  }

  /** The person acts: an utterance addressed to them is cut short, an agent's report is not. Returns what was cut. */
  cut(): Utterance | undefined {
    const saying = this.#saying;
    if (!saying || !(saying.asked || /^(?:notice|answer|status)$/u.test(saying.kind))) return undefined;
    this.#saying = undefined;
    return saying;
  }

  #begin(token: string): AskedQuestion {
    this.#asking = { token, heardAt: undefined };
    this.#discardTyped();
    return this.#asking;
  }

  #heardInFull(asking: AskedQuestion): void {
    this.#discardTyped();
    asking.heardAt = this.#options.now();
    if (this.#discarded) this.#options.typedAhead();
    this.#discarded = false;
  }

  #discardTyped(): void {
    if (this.#options.discardTyped()) this.#discarded = true;
  }
}
