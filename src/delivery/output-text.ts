/**
 * The text of one output on its way into the log (CON-10): normalized to NFC, never ending inside a grapheme cluster,
 * counted in code points. What might still combine with the next chunk is held back until that is known.
 */
import { codePoints } from "../protocol/formats.ts";

export interface OutputText {
  /** Code points released so far: the position of the next chunk. */
  readonly position: number;
  /** What may go into the log now; possibly nothing. */
  push(chunk: string): string;
  /** The rest: the output ends here, or something interrupts it. */
  flush(): string;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** One cluster can be arbitrarily long; beyond this it is taken for noise and released. */
const LONGEST_CLUSTER = 256;
const LONE = /\p{Surrogate}/gu;
const ASCII = /^[\x20-\x7e\n]*$/;

/** `from`: code points that were released before, where an output goes on. */
export function createOutputText(from = 0): OutputText {
  let held = "";
  let position = from;
  const release = (text: string): string => {
    position += codePoints(text);
    // Half of a surrogate pair is no text; a half that may still find its other one is held, never released.
    return hasLone(text) ? text.replace(LONE, "\ufffd") : text;
  };
  return {
    get position() {
      return position;
    },
    push(chunk) {
      const raw = held + chunk;
      if (ASCII.test(raw)) {
        // Only the last character can still take a mark; plain English stays on this path.
        held = raw.slice(-1);
        return release(raw.slice(0, -1));
      }
      const text = raw.normalize("NFC");
      // Half of a pair joins whatever its whole would join: the cluster before it stays open, too.
      const half = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800 ? 1 : 0;
      const keep = lastCluster(half ? text.slice(0, -1) : text);
      held = text.slice(keep);
      return release(text.slice(0, keep));
    },
    flush() {
      const rest = held.normalize("NFC");
      held = "";
      return release(rest);
    },
  };
}

/** Where the last grapheme cluster begins, looking at no more than the end of the text. */
function lastCluster(text: string): number {
  if (text.length === 0) return 0;
  let from = Math.max(0, text.length - LONGEST_CLUSTER);
  // Start at a line break or space if there is one: a cluster never reaches back across those, bar a mark on a space.
  const pause = text.lastIndexOf(" ", text.length - 3);
  if (pause > from) from = pause;
  if (from > 0 && (text.charCodeAt(from) & 0xfc00) === 0xdc00) from--;
  let last = from;
  for (const { index } of graphemes.segment(text.slice(from))) last = from + index;
  return last === from && from > 0 && text.length - from >= LONGEST_CLUSTER ? text.length : last;
}

const hasLone = (text: string): boolean => /\p{Surrogate}/u.test(text);
