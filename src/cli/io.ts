/** Reading files and standard input, and printing results: with backpressure, and safe for a terminal. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { CommandError, EXIT, type Io } from "./command.ts";

const REASONS: Readonly<Record<string, (name: string) => string>> = {
  ENOENT: (name) => `There is no file ${name}. Check the name, or use - to read standard input.`,
  EACCES: (name) => `You have no permission to read ${name}. Change its permissions, or copy it.`,
  EISDIR: (name) =>
    `${name} is a directory. Name the files in it, such as ${name.replace(/\/$/, "")}/*.jsonl.`,
};

/** Turns a file error into a message for a person. Unknown errors stay unchanged. */
export function fileError(error: unknown, name: string): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
  return reason ? new CommandError(reason(name), EXIT.usage) : error;
}

/** Opens a file for reading. `-` is standard input. Ctrl+C ends the reading. */
export async function openInput(io: Io, name: string): Promise<Readable> {
  if (name === "") throw new CommandError("A file name is empty. Check what you typed.", EXIT.usage);
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

/** Prints a line on standard output and waits on backpressure: for a slow reader, but not for one that has gone. */
export function printLine(io: Io, line: string): Promise<void> | undefined {
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

/** A number and its noun: "1 file", "2 files". */
export const count = (number: number, one: string, several = `${one}s`): string =>
  `${number === 1 ? "1" : number.toLocaleString("en-US")} ${number === 1 ? one : several}`;

/** Makes untrusted text safe for a terminal: one line, with control and invisible characters escaped. */
export const plain = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
