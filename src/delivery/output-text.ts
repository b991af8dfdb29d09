/**
 * Prepares the text of one output for the log (CON-10): normalized to NFC, never split inside a grapheme cluster,
 * counted in code points. Characters that may combine with the next chunk are held back until it arrives.
 */
import { codePoints } from "../text/language.ts";

/** The text of one output on its way into the log. */
export interface OutputText {
  /** Code points released so far: the position of the next chunk. */
  readonly position: number;
  /** Returns what may go into the log now, possibly "". */
  push(chunk: string): string;
  /** Returns the rest, at the end of the output or when another event interrupts it. */
  flush(): string;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Clusters can be arbitrarily long; a longer one is released in parts. */
const LONGEST_CLUSTER = 256;
const LONE = /\p{Surrogate}/gu;
const ASCII = /^[\x20-\x7e\n]*$/;

/** `from`: code points released before, if an output is continued. */
export function createOutputText(from = 0): OutputText {
  let held = "";
  let position = from;
  const release = (text: string): string => {
    position += codePoints(text);
    // Replace unpaired surrogates. A half that may be completed by the next chunk is held back, never released.
    return hasLone(text) ? text.replace(LONE, "\ufffd") : text;
  };
  return {
    get position() {
      return position;
    },
    push(chunk) {
      const raw = held + chunk;
      if (ASCII.test(raw)) {
        // Fast path: in ASCII only the last character can still combine.
        held = raw.slice(-1);
        return release(raw.slice(0, -1));
      }
      const text = raw.normalize("NFC");
      // Half of a surrogate pair may extend the cluster before it, so that cluster is held back too.
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

/** Where the last grapheme cluster starts; looks only at the end of the text. */
function lastCluster(text: string): number {
  if (text.length === 0) return 0;
  let from = Math.max(0, text.length - LONGEST_CLUSTER);
  // Start at a space if there is one: clusters do not span spaces, except for a combining mark on the space itself.
  const pause = text.lastIndexOf(" ", text.length - 3);
  if (pause > from) from = pause;
  if (from > 0 && (text.charCodeAt(from) & 0xfc00) === 0xdc00) from--;
  let last = from;
  for (const { index } of graphemes.segment(text.slice(from))) last = from + index;
  return last === from && from > 0 && text.length - from >= LONGEST_CLUSTER ? text.length : last;
}

const hasLone = (text: string): boolean => /\p{Surrogate}/u.test(text);
