/**
 * Sentence ends, approximately: a small fallback for listeners of producers that do not cut text at sentences (CON-25),
 * and to split what arrives as several sentences. The segmenter in this folder is far more precise, and too large for a
 * web page. When in doubt, this finds no end, so that text waits rather than being cut in mid-sentence.
 */

const END = /[.!?…]+["'”’»)\]*_`]*(?=\s)|[。！？]+[」』）"'”]*|[؟۔।॥]+["'”’»)\]*_]*/gu;
const ABBREVIATION =
  /(?:^|[\s("'«“])(?:\p{L}|Mr|Mrs|Ms|Dr|Sr|Jr|St|Mt|Ft|Ave|Apt|Rm|Co|al|\p{L}*str|Fig|Vol|Nr|Ud|Uds|e\.g|i\.e|etc|vs|approx|Prof|Inc|Ltd|Corp|Sra|Srta|Dra|Mme|Mlle|pág|núm|art|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Oct|Nov|Dec)$/u;
/** Whether a full stop after this text belongs to an abbreviation. */
export const isAbbreviation = (before: string): boolean => ABBREVIATION.test(before);

/** Code fences; a backtick later in the line makes it inline code instead. */
export const FENCES = /^ *(?:```(?![^\n]*`)|~~~)/gmu;
const LIST_NUMBER = /(?:^|\n)\s*\d{1,3}$/u;

/** Indexes of sentence ends. An end counts only if the text after it is known. */
function sentenceEnds(text: string): number[] {
  const ends: number[] = [];
  for (const match of text.matchAll(END)) {
    const end = match.index + match[0].length;
    const after = text.slice(end, end + 40).trimStart();
    if (match[0].startsWith(".") && !match[0].startsWith("..")) {
      const before = text.slice(Math.max(0, match.index - 24), match.index);
      if (isAbbreviation(before) || LIST_NUMBER.test(before)) continue;
    }
    // A sentence does not start with a lower-case letter, and text still to come might.
    if (/^[.!?…]/.test(match[0]) && (after === "" || /^\p{Ll}/u.test(after))) continue;
    ends.push(end);
  }
  return ends;
}

/** The last boundary of the text so far; 0 if there is none. Never inside an open code block. */
export function lastBoundary(text: string, boundary: "sentence" | "paragraph" | "completion"): number {
  if (boundary === "completion") return 0;
  const fences = [...text.matchAll(FENCES)];
  const closed = fences.length % 2 === 0 ? text.length : fences.at(-1)!.index;
  const open = text.slice(0, closed);
  const paragraph = open.lastIndexOf("\n\n");
  const at = paragraph < 0 ? 0 : paragraph + 2;
  if (boundary === "paragraph") return at;
  return Math.max(at, sentenceEnds(open).at(-1) ?? 0);
}

/** Splits a text into trimmed sentences, without losing any word. */
export function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  let at = 0;
  for (const end of sentenceEnds(text)) {
    sentences.push(text.slice(at, end));
    at = end;
  }
  sentences.push(text.slice(at));
  return sentences.map((one) => one.trim()).filter((one) => one !== "");
}
