/** Ready text as utterances' worth of runs: markdown named in our words, one sentence each, so that a break costs one. */

import { neutralize, oneLine } from "../../text/neutralize.ts";
import { plainHtml, type Segment, speakMarkdown } from "../markdown.ts";
import type { Ready, Span } from "./output-buffer.ts";
import { merge, type Phrases } from "./phrase.ts";
import { splitSentences } from "./sentences.ts";
import type { Run } from "./utterance.ts";

interface SpokenOutput {
  readonly sentences: readonly (readonly Run[])[];
  readonly details: readonly string[];
  readonly hidden: boolean;
  readonly mixed: boolean;
}

/** Without a media type text is plain, unless it cannot be anything but markdown. */
const MARKDOWN =
  /^ {0,3}#{1,6} |^ {0,3}(?:```|~~~)|\*\*\S|\]\([^)\s]+\)|^\s*\|.+\|\s*$|^\s*(?:[-*+]|\d{1,3}\.) .+\n\s*(?:[-*+]|\d{1,3}\.) |^> |`[^`\n]+`/mu;

export function speakOutput(ready: Ready, content_type: string | undefined, phrases: Phrases): SpokenOutput {
  const sentences: Run[][] = [];
  const details: string[] = [];
  let hidden = false;
  let mixed = false;
  let open = false;
  for (const span of ready.spans) {
    const clean = neutralize(content_type === "text/html" ? plainHtml(span.text) : span.text, span.language);
    hidden ||= clean.hidden;
    mixed ||= clean.mixed;
    const spoken = inMarkdown(clean.text, content_type)
      ? ofMarkdown(clean.text, span, phrases, details)
      : ofPlain(clean.text, span, phrases);
    spoken.forEach((sentence, index) => {
      // A word of another language within a sentence: same utterance, another voice.
      if (index === 0 && open && sentences.length > 0)
        sentences.push(merge([...sentences.pop()!, phrases.own(" "), ...sentence]));
      else sentences.push(sentence);
    });
    open = !/[.!?…。！？؟۔।:]["'”’»)\]]*\s*$|\n\s*$/u.test(clean.text);
  }
  return { sentences, details, hidden, mixed };
}

const inMarkdown = (text: string, type: string | undefined): boolean =>
  type === "text/markdown" || (type === undefined && MARKDOWN.test(text));

const ofPlain = (text: string, { language }: Span, phrases: Phrases): Run[][] =>
  text
    .split(/\n\s*\n/u)
    .flatMap((paragraph) => splitSentences(paragraph))
    .map((sentence) => [phrases.content(oneLine(sentence), language)]);

function ofMarkdown(text: string, { language }: Span, phrases: Phrases, details: string[]): Run[][] {
  const spoken = speakMarkdown(text);
  details.push(...spoken.details);
  return spoken.blocks.flatMap((block) => toSentences(block, language, phrases));
}

function toSentences(block: readonly Segment[], language: string | undefined, phrases: Phrases): Run[][] {
  const sentences: Run[][] = [];
  let runs: Run[] = [];
  const close = () => {
    const said = tidy(merge(runs));
    if (said.length > 0) sentences.push(said);
    runs = [];
  };
  for (const segment of block) {
    if (typeof segment !== "string") {
      runs.push(...toRuns(segment, language, phrases));
      continue;
    }
    const parts = splitSentences(`${segment}\u0000`);
    parts.forEach((part, index) => {
      const last = index === parts.length - 1;
      const words = part.replace("\u0000", "");
      const blank = index === 0 && /^\s/u.test(segment) ? " " : "";
      const tail = last && /\s$/u.test(segment) ? " " : "";
      runs.push(phrases.content(blank + words + tail, language));
      if (!last) close();
    });
  }
  close();
  return sentences;
}

function toRuns(segment: Exclude<Segment, string>, language: string | undefined, phrases: Phrases): Run[] {
  const { key, text = [], count, slots = {} } = segment;
  if (key === "table") {
    const columns = phrases.text("columns", { count: Number(slots["columns_count"]) });
    const rows = phrases.text("rows", { count: Number(slots["rows_count"]) });
    return phrases.say("table", { columns, rows });
  }
  const inner = text.flatMap((one) =>
    typeof one === "string" ? [phrases.content(one, language)] : toRuns(one, language, phrases),
  );
  return phrases.say(key, { ...slots, ...(count === undefined ? {} : { count }), text: inner });
}

function tidy(runs: readonly Run[]): Run[] {
  const kept = runs
    .map((one) => ({ ...one, text: one.text.replace(/\s+/gu, " ") }))
    .filter(({ text }) => text !== "");
  if (kept.every(({ text }) => text.trim() === "")) return [];
  return kept.map((one, index) => {
    const start = index === 0 ? one.text.trimStart() : one.text;
    return { ...one, text: index === kept.length - 1 ? start.trimEnd() : start };
  });
}
