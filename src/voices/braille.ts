/** Utterances to a braille line: a question first by its essence, action first, in one window of a short display. */
import type { Run, Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";
import { BrailleDisplay, toWindows } from "./braille-display.ts";
import type { Translator } from "./liblouis.ts";

export interface BrailleOptions {
  readonly translator: Translator;
  /** Cells of the display, 40 by default. */
  readonly width?: number;
  /** Called whenever the line changes: a BrlAPI client, or a terminal. */
  show(line: string): void;
}

export interface BrailleVoice extends Voice {
  readonly display: BrailleDisplay;
  forward(): void;
  back(): void;
}

/** Every utterance stays until it was read: `say` resolves when the reader pans past its end. */
export function createBrailleVoice({ translator, width = 40, show }: BrailleOptions): BrailleVoice {
  const display = new BrailleDisplay(width);
  const reading = new Map<number, () => void>();
  /** On the display, or on their way to it. */
  const here = new Set<number>();
  /** Interrupted, but read all the same, since the display keeps what it has. */
  const readAlready = new Set<number>();
  let saying: number | undefined;
  return {
    display,
    async say(utterance) {
      const { id } = utterance;
      saying = id;
      if (readAlready.delete(id)) return;
      const read = new Promise<void>((resolve) => reading.set(id, resolve));
      // What was interrupted is said again; it is still there.
      if (!here.has(id)) {
        here.add(id);
        const cells = await brailleOf(utterance, translator, display.room);
        display.add({ utterance, cells });
        show(display.line());
      }
      await read;
    },
    // Nothing is torn from under the fingers; what is urgent is marked as waiting.
    stop() {
      if (saying !== undefined) reading.delete(saying);
    },
    can: (language) => translator.can(language),
    forward() {
      const read = display.forward();
      show(display.line());
      if (!read || !here.delete(read.id)) return;
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
  // One window says what is asked, and that it is a question; the whole of it follows.
  const essence = await translator.translate(utterance.essence, language);
  const [first = ""] = toWindows(essence, room - 1);
  return `${(first + QUESTION_MARK).padEnd(room, "\u2800")}\u2800${whole}`;
}

const QUESTION_MARK = "⠦";
