/**
 * An agent's words inside our own sentences (A07): where they could be heard as ours, they are said to be a quotation,
 * from its beginning to its end. "500" and "savings" stay as they are.
 */
import type { Phrases } from "./announcer/phrase.ts";
import { isAbbreviation } from "./announcer/sentences.ts";
import { countWords, type Run } from "./announcer/utterance.ts";
import type { MessageKey } from "./catalogs/catalog.ts";

/** A sentence that ends and something after it; a label and its value; another line. In any script, and look-alikes. */
const BREAKS = /[.!?…:;]["'”’»)\]]*\s+\S|[\p{STerm}․：；؛∶꞉](?<![.!?])\s*\S|\n\s*\S/u;

/** "U.S. Bank", "3 p.m. today", "No. 5". */
const INITIALS = /(?<![\p{L}\p{N}.])(?:(?:\p{L}\.)+\p{L}|No)$/u;

/** "St. Mary's", "J. R. Obi": a dot that ends no sentence is none for us. */
const withoutAbbreviations = (text: string): string =>
  text.replaceAll(/\.(?=\s)/gu, (dot, at: number) => {
    const before = text.slice(Math.max(0, at - 24), at);
    return isAbbreviation(before) || INITIALS.test(before) ? "" : dot;
  });

/** Sentences that tell a person what an answer does. */
const FRAME: readonly MessageKey[] = [
  "ask",
  "consequence",
  "answer_two_steps",
  "answer_refuse_only",
  "silence_reject",
  "silence_accept",
  "silence_answer",
  "silence_nothing",
  "read_back",
  "param_hidden",
  "no_params",
  "confirm_now",
  "changed",
];
/** Fewer words than this may stand in any text. */
const LEAST_WORDS = 3;

/** A value, or the name of a choice: one breath, or a quotation. */
export const quotedValue = (run: Run, phrases: Phrases, asGiven = run.text): readonly Run[] =>
  BREAKS.test(withoutAbbreviations(asGiven.trim())) ? quoted(run, phrases) : quotedProse(run, phrases);

/** Prose may have several sentences, but none of ours. */
export function quotedProse(run: Run, phrases: Phrases): readonly Run[] {
  const heard = sound(run.text);
  return frameOf(phrases).some((words) => heard.includes(words)) ? quoted(run, phrases) : [run];
}

function quoted(run: Run, phrases: Phrases): Run[] {
  const word = quoteWord(phrases);
  const runs = run.text
    .split(new RegExp(`((?<!\\p{L})\\p{L}*${word}\\p{L}*)`, "giu"))
    // Every other piece is the word for a quotation itself: what sounds like the end of it is not.
    .flatMap((text, index) => [
      { ...run, text },
      ...(index % 2 === 1 ? [phrases.own(` ${phrases.text("still_quoted")}`)] : []),
    ]);
  return phrases.say("quoted", { text: runs });
}

/** The word both the beginning and the end of a quotation are told by. */
function quoteWord(phrases: Phrases): string {
  const words = phrases.text("quote").match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.reduce((longest, one) => (one.length > longest.length ? one : longest), "");
}

const frames = new WeakMap<Phrases["catalog"], readonly string[]>();

function frameOf({ catalog }: Phrases): readonly string[] {
  const known = frames.get(catalog);
  if (known) return known;
  const words = FRAME.flatMap((key) => String(catalog.messages[key]).split(/\{\w+\}|[.。]/u))
    .filter((piece) => countWords(piece) >= LEAST_WORDS)
    .map(sound);
  frames.set(catalog, words);
  return words;
}

/** What is the same by ear. */
const sound = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
