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
  /** Says why something was not done, and gives the words to end with. */
  refused(summary: string): Promise<Words>;
  /** Plays something beside this, in a session of its own. */
  beside(summary: Summary, play: Play): Promise<void>;
}

/** Gives the words the session ends with, where there are better ones than that this was all. */
export type Play = (act: Act) => Promise<Summary | undefined> | Promise<void>;

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
  readonly play: Play;
}
