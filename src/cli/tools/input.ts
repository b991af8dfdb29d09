/** A file, or standard input, opened so that Ctrl+C and a mistyped name end in a sentence. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { CommandError, EXIT, type Io } from "../command.ts";

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
