/** What a voice is handed: words in runs of one language each, and how urgent they are (2.2.9). */

import type { Urgency } from "../../protocol/types.ts";
import { directionOf } from "../../text/language.ts";

/** A stretch of text in one language: one voice, one braille table. */
export interface Run {
  readonly text: string;
  /** Undefined where the producer does not say. */
  readonly language: string | undefined;
  readonly direction: "ltr" | "rtl" | "auto";
  /** No voice or table for this language: written down, never read by a wrong voice. */
  readonly kept?: true;
  /** Said in place of a kept run, and left out where the run itself can be shown. */
  readonly stand_in?: true;
}

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

export interface Utterance {
  readonly id: number;
  readonly kind: UtteranceKind;
  readonly urgency: Urgency;
  readonly runs: readonly Run[];
  /** How many words a listener takes in, for the pace. */
  readonly words: number;
  readonly session_id?: string;
  /** The question this is about. */
  readonly reply_token?: string;
  /** The question in as few words as there are, action first: for a short braille display. */
  readonly essence?: string;
  /** The question itself, for those who put it on a screen. */
  readonly asked?: Asked;
}

/** A question's sentences one by one, without those that say how to answer in words: buttons do that. */
export interface Asked {
  readonly step: "ask" | "read_back";
  readonly parts: readonly (readonly Run[])[];
}

export type Draft = Omit<Utterance, "id" | "words">;

export const run = (text: string, language: string | undefined): Run => ({
  text,
  language,
  // Without a language only the text itself can tell (CON-34).
  direction: language === undefined ? "auto" : directionOf(language),
});

const segmenter = new Intl.Segmenter("und", { granularity: "word" });

export function countWords(text: string): number {
  let words = 0;
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) words++;
  return words;
}

/** What is said aloud, or, with `written`, what is shown: kept text is read by nobody but stays on the page. */
export function textOf({ runs }: Pick<Utterance, "runs">, written = true): string {
  return runs
    .filter(({ kept, stand_in }) => (written ? !stand_in : !kept))
    .map(({ text }) => text)
    .join("");
}
