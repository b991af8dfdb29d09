/** The unit a voice speaks: text in runs of one language each, with its urgency (2.2.9). */

import type { Urgency } from "../../protocol/types.ts";
import { directionOf } from "../../text/language.ts";

/** A stretch of text in one language: one voice, one braille table. */
export interface Run {
  readonly text: string;
  /** Undefined where the producer does not say. */
  readonly language: string | undefined;
  readonly direction: "ltr" | "rtl" | "auto";
  /** There is no voice or braille table for this language: shown as text, never spoken by the wrong voice. */
  readonly kept?: true;
  /** Spoken instead of a `kept` run; left out where the run itself can be shown. */
  readonly standIn?: true;
}

/** What an utterance is about. */
export type UtteranceKind =
  | "started"
  | "completed"
  | "errored"
  | "cancelled"
  | "handoff"
  | "state"
  | "progress"
  | "tool"
  | "output"
  | "question"
  | "answer"
  | "settled"
  | "still_working"
  | "unknown"
  | "notice"
  | "digest"
  | "status";

/** What an utterance is about. */
export interface UtteranceSubject {
  readonly session_id?: string;
  /** The question this utterance is about. */
  readonly reply_token?: string;
  /** The question in its shortest form, action first, for a short braille display. */
  readonly essence?: string;
  /** The question itself, for user interfaces that show it on a screen. */
  readonly asked?: Asked;
}

/** One thing to say, with its urgency and its text in runs of one language each. */
export interface Utterance extends UtteranceSubject {
  readonly id: number;
  readonly kind: UtteranceKind;
  readonly urgency: Urgency;
  readonly runs: readonly Run[];
  /** Number of spoken words, for the words-per-minute limit. */
  readonly words: number;
}

/** A question sentence by sentence, without the sentences on how to answer by voice: a screen has buttons for that. */
export interface Asked {
  readonly step: "ask" | "read_back";
  readonly parts: readonly (readonly Run[])[];
}

export type Draft = Omit<Utterance, "id" | "words">;

export const run = (text: string, language: string | undefined): Run => ({
  text,
  language,
  // Without a declared language, the text itself decides the direction (CON-34).
  direction: language === undefined ? "auto" : directionOf(language),
});

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

export function countWords(text: string): number {
  let words = 0;
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) words++;
  return words;
}

/** The text as shown (default), or as spoken with `written` false: `kept` runs are shown but not spoken. */
export function textOf({ runs }: Pick<Utterance, "runs">, written = true): string {
  return runs
    .filter(({ kept, standIn }) => (written ? !standIn : !kept))
    .map(({ text }) => text)
    .join("");
}
