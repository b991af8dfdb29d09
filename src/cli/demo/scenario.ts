/** What a scenario is: a name, the words that call it up, and a small function that plays it. */
import type { ClarifySpec, SayOptions, Session, Summary } from "../../index.ts";
import type { Language, Words } from "./words.ts";

/** What a scenario has in hand while it plays. */
export interface Act {
  readonly session: Session;
  /** The language the request came in. */
  readonly language: Language;
  readonly request: string;
  /** Lets time pass, at the demo's speed. Rejects once the session has ended: then there is nothing more to play. */
  wait(ms: number): Promise<void>;
  /** Streams text at the pace of somebody who types fast. Words in all languages are said in that of the request. */
  say(text: string | Words, options?: SayOptions): Promise<void>;
  /** The answer as text in the request's language, or undefined where none came. */
  ask(spec: ClarifySpec): Promise<string | boolean | number | undefined>;
  /** Plays something beside this, in a session of its own. */
  beside(summary: Summary, play: (act: Act) => Promise<void>): Promise<void>;
}

export interface Scenario {
  /** For --scenario. */
  readonly name: string;
  /** One line for whoever chooses. */
  readonly about: string;
  /** The first thing a listener hears. */
  readonly opening: Summary;
  /** A request that calls it up, by language. */
  readonly examples?: Partial<Words>;
  /** Words that call it up, by language, each the beginning of a word; in Japanese any part of the text. */
  readonly keywords?: Partial<Words>;
  /** Where its own language is not the request's. */
  readonly language?: Language;
  readonly tools?: readonly string[];
  play(act: Act): Promise<void>;
}
