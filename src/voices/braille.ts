/** Utterances on a braille display. A question starts with its shortest form, which fits one window of a short display. */
import type { Run, Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";
import type { Translator } from "./liblouis.ts";

interface BrailleText {
  readonly utterance: Utterance;
  readonly cells: string;
}

/** Marks in the last cell: more text waits, or critical text does. */
export const WAITS = "⠤";
/** The mark in the last cell of a braille display: critical text waits. */
export const WAITS_URGENTLY = "⠿";
const BLANK = "\u2800";

/**
 * One line of a refreshable display: new text never replaces what is being read, a mark in the last cell shows that more
 * waits, and panning keeps its position. Pure; it works on braille cells.
 */
export class BrailleDisplay {
  readonly width: number;
  readonly #waiting: BrailleText[] = [];
  #shown: BrailleText | undefined;
  #windows: readonly string[] = [];
  #at = 0;

  constructor(width: number) {
    this.width = Math.max(8, width);
  }

  /** Cells for text; one is reserved for the mark. */
  get room(): number {
    return this.width - 1;
  }
  get waiting(): number {
    return this.#waiting.length;
  }
  get shown(): Utterance | undefined {
    return this.#shown?.utterance;
  }

  /** Critical text is queued before other text, but never replaces what is being read. */
  add(text: BrailleText): void {
    const urgent = text.utterance.urgency === "critical";
    const at = urgent ? this.#waiting.findIndex(({ utterance }) => utterance.urgency !== "critical") : -1;
    if (at < 0) this.#waiting.push(text);
    else this.#waiting.splice(at, 0, text);
    if (!this.#shown) this.#next();
  }

  /** The cells to show, including the mark. */
  line(): string {
    const text = this.#windows[this.#at] ?? "";
    const mark = this.#waiting.some(({ utterance }) => utterance.urgency === "critical")
      ? WAITS_URGENTLY
      : this.#waiting.length > 0
        ? WAITS
        : BLANK;
    return text.padEnd(this.room, BLANK) + mark;
  }

  /** Pans to the next window, or to the next text. Returns the utterance that has been read to its end. */
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

/** Splits cells into windows, at blanks where possible. */
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

/** Options of `createBrailleVoice`. */
export interface BrailleOptions {
  readonly translator: Translator;
  /** Cells of the display, 40 by default. */
  readonly width?: number;
  /** Called whenever the line changes, e.g. by a BrlAPI client or a terminal. */
  show(line: string): void;
}

export interface BrailleVoice extends Voice {
  readonly display: BrailleDisplay;
  forward(): void;
  back(): void;
}

/** An utterance stays until it has been read: `say` resolves when the reader pans past its end. */
export function createBrailleVoice({ translator, width = 40, show }: BrailleOptions): BrailleVoice {
  const display = new BrailleDisplay(width);
  const reading = new Map<number, () => void>();
  /** Utterances on the display or queued for it. */
  const queued = new Set<number>();
  /** Interrupted utterances that were read all the same, because the display keeps them. */
  const readAlready = new Set<number>();
  let saying: number | undefined;
  return {
    display,
    async say(utterance) {
      const { id } = utterance;
      saying = id;
      if (readAlready.delete(id)) return;
      const read = new Promise<void>((resolve) => reading.set(id, resolve));
      // An interrupted utterance is said again, but is still on the display.
      if (!queued.has(id)) {
        queued.add(id);
        const cells = await brailleOf(utterance, translator, display.room);
        display.add({ utterance, cells });
        show(display.line());
      }
      await read;
    },
    // What is being read stays; the mark shows that critical text waits.
    stop() {
      if (saying !== undefined) reading.delete(saying);
    },
    can: (language) => translator.can(language),
    forward() {
      const read = display.forward();
      show(display.line());
      if (!read || !queued.delete(read.id)) return;
      const done = reading.get(read.id);
      reading.delete(read.id);
      if (done) done();
      else readAlready.add(read.id);
    },
    back() {
      display.back();
      show(display.line());
    },
    async close() {
      translator.close();
    },
  };
}

const inCells = async (
  runs: readonly Pick<Run, "text" | "language">[],
  translator: Translator,
): Promise<string> => {
  const cells: string[] = [];
  for (const { text, language } of runs) {
    if (text.trim() !== "") cells.push(await translator.translate(text, language));
  }
  return cells.join("\u2800");
};

export async function brailleOf(utterance: Utterance, translator: Translator, room: number): Promise<string> {
  const runs = utterance.runs.filter(({ kept }) => !kept);
  const whole = await inCells(runs, translator);
  if (utterance.kind !== "question" || utterance.essence === undefined) return whole;
  const language = utterance.runs.find(({ text }) => text.includes(utterance.essence!))?.language;
  if (language !== undefined && !translator.can(language)) return whole;
  // The first window says what is asked, and that it is a question; the full text follows.
  const essence = await translator.translate(utterance.essence, language);
  const [first = ""] = toWindows(essence, room - 1);
  return `${(first + QUESTION_MARK).padEnd(room, "\u2800")}\u2800${whole}`;
}

const QUESTION_MARK = "⠦";
