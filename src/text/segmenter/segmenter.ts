// Cuts streamed text into words, sentences and paragraphs as it arrives, so that a listener hears whole sentences
// and a reader never waits for more than the next word. Boundaries are offsets into the text; the pieces between
// them concatenate to exactly what was pushed.
import { Scanner } from "./scan.ts";

/** 1 word, 2 sentence, 3 paragraph. */
export type BoundaryLevel = 1 | 2 | 3;
export const WORD = 1;
export const SENTENCE = 2;
export const PARAGRAPH = 3;

export interface SegmenterOptions {
  /** BCP 47. */
  language: string;
  /** "text/plain" unless given; "text/markdown" keeps blocks, links and code whole. */
  content_type?: string;
  /** The finest level wanted, WORD unless given: words cost a dictionary in Chinese or Thai. */
  finest?: BoundaryLevel;
}

export interface Segmenter {
  /** Takes text cut anywhere, even between the halves of a surrogate pair. */
  push(text: string): void;
  /** The text so far is closed here by force: a pending decision is forgotten, later text starts a sentence. */
  flush(): void;
  /** No more text. */
  end(): void;
  /** UTF-16 units pushed so far. */
  readonly length: number;
}

export function createSegmenter(
  options: SegmenterOptions,
  emit: (offset: number, level: BoundaryLevel) => void,
): Segmenter {
  return new Scanner(options.language, options.content_type ?? "text/plain", options.finest ?? WORD, emit);
}

/** Cuts a whole text at the boundaries of a level. */
export function segmentText(text: string, options: SegmenterOptions, level: BoundaryLevel): string[] {
  const pieces: string[] = [];
  let from = 0;
  const segmenter = createSegmenter({ ...options, finest: level }, (offset, found) => {
    if (found < level) return;
    pieces.push(text.slice(from, offset));
    from = offset;
  });
  segmenter.push(text);
  segmenter.end();
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}
