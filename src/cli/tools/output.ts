/** Results that wait for their reader: a slow one is waited for, one that has gone is not. */
import type { Io } from "../command.ts";

export function printed(io: Io, line: string): Promise<void> | undefined {
  const { stdout, signal } = io;
  if (signal.aborted || stdout.write(`${line}\n`)) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      stdout.off("drain", done).off("close", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    stdout.on("drain", done).on("close", done);
    signal.addEventListener("abort", done);
  });
}

/** One, or several. */
export const count = (number: number, one: string, several = `${one}s`): string =>
  `${number === 1 ? "1" : number.toLocaleString("en-US")} ${number === 1 ? one : several}`;

/** Words from elsewhere, fit for a terminal: on one line, with nothing invisible that could change what is shown. */
export const plain = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
