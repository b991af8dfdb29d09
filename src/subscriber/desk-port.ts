/** What the desk of questions needs of the announcer it belongs to. */
import type { QuestionOutcome } from "../protocol/extension.ts";
import type { Urgency } from "../protocol/types.ts";
import type { Phrases } from "./announcer/phrase.ts";
import type { Reader } from "./announcer/reader.ts";
import type { Asked, Run, UtteranceKind } from "./announcer/utterance.ts";
import type { AutoAnswer, Outgoing } from "./answers.ts";
import type { QuestionEvent } from "./question-words.ts";

/** Something to be said about a question. */
export interface Line {
  readonly kind: UtteranceKind;
  /** Critical unless it says otherwise. */
  readonly urgency?: Urgency;
  readonly parts: readonly (readonly Run[])[];
  readonly reply_token?: string;
  readonly essence?: string;
  readonly session_id?: string;
  readonly asked?: Asked;
}

export interface DeskOptions {
  phrases(): Phrases;
  reader(event: QuestionEvent): Reader;
  name(event: QuestionEvent, source: string): string;
  say(line: Line, now: number): number;
  /** Takes out of the queue this question's wording, and `changed`, that nobody has heard yet; true if there was some. */
  unsay(source: string, token: string, changed?: number): boolean;
  send(message: Outgoing): void;
  /** For the account of what was and was not done. */
  settled(
    event: QuestionEvent,
    source: string,
    outcome: QuestionOutcome | "ended" | "closed",
    brief: Run | undefined,
  ): void;
  brief(): boolean;
  /** Whether the line to it is down. */
  lost(source: string): boolean;
  readonly auto_answers: readonly AutoAnswer[];
}
