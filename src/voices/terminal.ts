/**
 * Plain lines in a terminal: one utterance, one line, nothing that moves, so that any screen reader or braille display
 * reads it as it comes. Nothing an event says can steer the terminal (A16).
 */

import { type Run, textOf, type Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";
import { neutralize } from "../text/neutralize.ts";

export interface TerminalOptions {
  write(text: string): void;
  /** A bell for questions and endings; on unless turned off. */
  readonly bell?: boolean;
  /** Urgent lines in bold. Off unless asked for, and always with NO_COLOR. */
  readonly color?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Break lines at this width; by default the terminal does that, and a screen reader gets the line whole. */
  readonly width?: number;
}

const RINGS: ReadonlySet<string> = new Set(["question", "completed", "errored", "cancelled", "handoff"]);

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
    // Whatever is written can be read by someone: letters need no voice.
    can: () => true,
    close: async () => undefined,
  };
}

/** The line as it is written. Where directions mix, each part is isolated, so that neither pulls the other apart (I18N-14). */
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
  // The announcer has done this already; a terminal is not the place to take anyone's word for it.
  return neutralize(line).text.replace(/\s*\n\s*/gu, " ");
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/** At blanks where there are any, never inside a character. */
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
