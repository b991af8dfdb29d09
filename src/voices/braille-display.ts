/**
 * A refreshable line as a person reads it: new text never replaces what is under the fingers, a mark in the last cell
 * shows that something waits, and panning keeps its place. Pure; it deals in cells.
 */
import type { Utterance } from "../subscriber/announcer.ts";

interface BrailleText {
  readonly utterance: Utterance;
  readonly cells: string;
}

/** Something waits; something urgent waits. */
export const WAITS = "⠤";
export const WAITS_URGENTLY = "⠿";
const BLANK = "\u2800";

export class BrailleDisplay {
  readonly width: number;
  readonly #waiting: BrailleText[] = [];
  #shown: BrailleText | undefined;
  #windows: readonly string[] = [];
  #at = 0;

  constructor(width: number) {
    this.width = Math.max(8, width);
  }

  /** Cells for text: one is always the mark's. */
  get room(): number {
    return this.width - 1;
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  get shown(): Utterance | undefined {
    return this.#shown?.utterance;
  }

  /** Urgent text goes to the head of those that wait, behind others that are urgent; never over what is being read. */
  add(text: BrailleText): void {
    const urgent = text.utterance.urgency === "critical";
    const at = urgent ? this.#waiting.findIndex(({ utterance }) => utterance.urgency !== "critical") : -1;
    if (at < 0) this.#waiting.push(text);
    else this.#waiting.splice(at, 0, text);
    if (!this.#shown) this.#next();
  }

  /** The line under the fingers, mark included. */
  line(): string {
    const text = this.#windows[this.#at] ?? "";
    const mark = this.#waiting.some(({ utterance }) => utterance.urgency === "critical")
      ? WAITS_URGENTLY
      : this.#waiting.length > 0
        ? WAITS
        : BLANK;
    return text.padEnd(this.room, BLANK) + mark;
  }

  /** On to the next window, or past the end to what waits. Says what has now been read to its end. */
  forward(): Utterance | undefined {
    if (this.#at < this.#windows.length - 1) {
      this.#at++;
      return undefined;
    }
    const read = this.#shown?.utterance;
    if (this.#waiting.length > 0) this.#next();
    return read;
  }

  back(): void {
    this.#at = Math.max(0, this.#at - 1);
  }

  #next(): void {
    this.#shown = this.#waiting.shift();
    this.#windows = this.#shown ? toWindows(this.#shown.cells, this.room) : [];
    this.#at = 0;
  }
}

/** Cut at blanks where there are any: a word in two windows is two riddles. Together they are the text. */
export function toWindows(cells: string, room: number): string[] {
  const windows: string[] = [];
  let current = "";
  for (const word of cells.split(BLANK)) {
    const grown = current === "" ? word : current + BLANK + word;
    if (grown.length <= room) {
      current = grown;
      continue;
    }
    if (current !== "") windows.push(current);
    current = word;
    while (current.length > room) {
      windows.push(current.slice(0, room));
      current = current.slice(room);
    }
  }
  return current === "" && windows.length > 0 ? windows : [...windows, current];
}
