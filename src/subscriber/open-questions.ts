/**
 * The questions that wait for a person, and their order: grave ones first, then whose time is up first, then who came
 * first. There is room for so many of each connection; beyond that the least grave give way, the oldest of them first.
 */
import type { Outgoing } from "./answers.ts";
import { isGrave, type QuestionEvent, silentYes } from "./question-words.ts";

export interface Question {
  event: QuestionEvent;
  readonly source: string;
  readonly token: string;
  print: string;
  deadline: number;
  more: number;
  warned: number;
  step: "ask" | "read_back";
  /** The utterance that must have been heard to its end before a yes counts. */
  awaiting: number | undefined;
  heard: boolean;
  sent: "accept" | "reject" | "answer" | undefined;
  /** What was sent: word about an earlier answer is not about this one. */
  message: Outgoing | undefined;
  /** When to say that nobody knows whether the answer was taken. */
  unsureAt: number | undefined;
  /** It was given while the line was down. */
  unsent: boolean;
  /** Some wording of it was heard to its end. */
  known: boolean;
  /** How often its deadline moved. */
  moves: number;
  /** The utterance that says it is another question now. */
  changed: number | undefined;
  readonly arrived: number;
}

/** More than anyone could answer; each may be as large as a message can be. */
const MOST_OF_A_SOURCE = 256;

export class OpenQuestions implements Iterable<Question> {
  readonly #all = new Map<string, Question>();

  get size(): number {
    return this.#all.size;
  }
  [Symbol.iterator](): Iterator<Question> {
    return this.#all.values();
  }
  get(source: string, token: string): Question | undefined {
    return this.#all.get(keyOf(source, token));
  }
  of(source: string): Question[] {
    return [...this].filter((one) => one.source === source);
  }

  /** Gives the one there is no room for: not one a person is being asked, nor one with an answer on its way. */
  add(question: Question, current: Question | undefined): Question | undefined {
    this.#all.set(keyOf(question.source, question.token), question);
    if (this.#all.size <= MOST_OF_A_SOURCE) return undefined;
    const mine = this.of(question.source);
    if (mine.length <= MOST_OF_A_SOURCE) return undefined;
    const aside = mine
      .filter((one) => one !== current && !one.sent)
      .reduce((least, one) => (matters(one) < matters(least) ? one : least));
    this.remove(aside);
    return aside;
  }

  remove({ source, token }: Question): void {
    this.#all.delete(keyOf(source, token));
  }

  get inTurn(): Question[] {
    return [...this].sort(
      (a, b) =>
        Number(isGrave(b.event)) - Number(isGrave(a.event)) ||
        a.deadline - b.deadline ||
        a.arrived - b.arrived,
    );
  }
}

const keyOf = (source: string, token: string): string => `${source} ${token}`;

/** Silence that means yes matters as much as what cannot be undone: it must be there to be refused. */
const matters = ({ event }: Question): number => Number(isGrave(event) || silentYes(event));
