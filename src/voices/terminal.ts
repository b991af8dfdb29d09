/**
 * Plain lines in a terminal: one line per utterance and no cursor movement, so that any screen reader or braille display
 * can follow. Control characters in events do not reach the terminal (A16).
 */

import { type Run, textOf, type Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";
import { neutralize } from "../text/neutralize.ts";

/** Options of `createTerminalVoice`. */
export interface TerminalOptions {
  write(text: string): void;
  /** Rings the bell for questions and ends of sessions; on by default. */
  readonly bell?: boolean;
  /** Critical lines in bold. Off by default, and always off with NO_COLOR. */
  readonly color?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Wraps lines at this width; by default the terminal does, and a screen reader gets the whole line. */
  readonly width?: number;
}

const RINGS: ReadonlySet<string> = new Set(["question", "completed", "errored", "cancelled", "handoff"]);

/** A voice that writes plain lines to a terminal. */
export function createTerminalVoice({
  write,
  bell = true,
  color = false,
  env = {},
  width,
}: TerminalOptions): Voice {
  const bold = color && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return {
    say(utterance) {
      const line = terminalLine(utterance);
      const lines = width === undefined ? [line] : wrap(line, width);
      const text = lines.join("\n");
      const shown = bold && utterance.urgency === "critical" ? `\u001b[1m${text}\u001b[22m` : text;
      write(`${bell && RINGS.has(utterance.kind) ? "\u0007" : ""}${shown}\n`);
    },
    stop: () => undefined,
    // Text needs no voice.
    can: () => true,
    close: async () => undefined,
  };
}

/** The line as written. Runs of mixed directions are isolated from each other (I18N-14). */
export function terminalLine(utterance: Pick<Utterance, "runs">): string {
  const runs = utterance.runs.filter(({ standIn }) => !standIn);
  const mixed = new Set(runs.map(({ direction }) => direction)).size > 1;
  const [first] = runs;
  const isolate = ({ text, direction }: Run): string => {
    if (!mixed || direction === first?.direction) return text;
    const mark = direction === "rtl" ? "\u2067" : direction === "ltr" ? "\u2066" : "\u2068";
    const [, before = "", words = text, after = ""] = /^(\s*)(.*?)(\s*)$/su.exec(text) ?? [];
    return `${before}${mark}${words}\u2069${after}`;
  };
  const line = mixed ? runs.map(isolate).join("") : textOf(utterance);
  // Neutralized again, although the announcer has done so: a terminal executes control characters.
  return neutralize(line).text.replace(/\s*\n\s*/gu, " ");
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/** Wraps at spaces where possible, never inside a grapheme cluster. */
function wrap(line: string, width: number): string[] {
  const most = Math.max(10, width);
  const lines: string[] = [];
  let current = "";
  const length = (text: string) => [...segmenter.segment(text)].length;
  for (const word of line.split(/(?<=\s)/u)) {
    if (current !== "" && length(current + word.trimEnd()) > most) {
      lines.push(current.trimEnd());
      current = "";
    }
    current += word;
    while (length(current.trimEnd()) > most) {
      const head = [...segmenter.segment(current)]
        .slice(0, most)
        .map(({ segment }) => segment)
        .join("");
      lines.push(head);
      current = current.slice(head.length);
    }
  }
  return current.trim() === "" ? lines : [...lines, current.trimEnd()];
}
