/** Reading files and standard input, and printing results: with backpressure, and safe for a terminal. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { CommandError, EXIT, type Io } from "./command.ts";

const REASONS: Readonly<Record<string, (name: string) => string>> = {
  ENOENT: (name) => `There is no file ${name}. Check the name, or give - to read standard input.`,
  EACCES: (name) => `${name} may not be read by you. Change its permissions, or copy it.`,
  EISDIR: (name) =>
    `${name} is a directory. Name the files in it, such as ${name.replace(/\/$/, "")}/*.jsonl.`,
};

/** What went wrong with a file, in words; anything unknown stays as it is. */
export function fileError(error: unknown, name: string): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
  return reason ? new CommandError(reason(name), EXIT.usage) : error;
}

/** `-` is standard input. */
export async function openInput(io: Io, name: string): Promise<Readable> {
  if (name === "") throw new CommandError("The name of a file is empty. Check what you typed.", EXIT.usage);
  if (name !== "-") {
    try {
      const found = await stat(resolve(io.cwd, name));
      if (found.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    } catch (error) {
      throw fileError(error, name);
    }
  }
  const input = name === "-" ? io.stdin : createReadStream(resolve(io.cwd, name));
  const stop = () => input.destroy(new Error("stopped"));
  if (io.signal.aborted) stop();
  else io.signal.addEventListener("abort", stop, { once: true });
  input.once("close", () => io.signal.removeEventListener("abort", stop));
  return input;
}

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
