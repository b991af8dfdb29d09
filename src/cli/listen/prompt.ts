/** One question of the program's own, before anyone is heard: a line typed by hand, or nothing where nobody can type. */
import { type Io, say } from "../command.ts";
import { type Line, readInput } from "./input.ts";
import { saysFor } from "./texts.ts";

/** Nobody reads a question and begins to answer it in less. */
const REACTION_MS = 250;

/** Undefined where there is no terminal, or the person left. Written to standard error: it is no result. */
export function prompt(
  io: Io,
  lines: readonly string[],
  language = "en",
  now = () => performance.now(),
): Promise<string | undefined> {
  if (!io.stdin.isTTY || !io.stdin.setRawMode || io.signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    for (const line of lines) say(io, line);
    const asked = now();
    const end = (answer: string | undefined) => {
      io.signal.removeEventListener("abort", leave);
      input.close();
      resolve(answer);
    };
    const leave = () => end(undefined);
    const take = ({ text, began, inOnePiece }: Line) => {
      if (text === "") return;
      if (inOnePiece) return say(io, saysFor(language).pieceNoAnswer);
      if (began < asked + REACTION_MS) return say(io, saysFor(language).typedAhead);
      end(text);
    };
    const input = readInput(io, now, {
      line: take,
      key: () => undefined,
      pasted: () => undefined,
      dropped: () => undefined,
      interrupt: leave,
      end: leave,
      echo: (text) => void io.stderr.write(text),
      keys: () => new Set(),
    });
    io.signal.addEventListener("abort", leave, { once: true });
  });
}
