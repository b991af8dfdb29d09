/**
 * What a command is: data for help, completion and the argument parser, and one function. A command does all input and
 * output through `Io`, so that tests can replace the terminal.
 */
import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";

export interface Flag {
  readonly type: "boolean" | "string";
  readonly help: string;
  /** The placeholder for the value in help: `--rate EVENTS`. */
  readonly value?: string;
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** The only valid values. */
  readonly choices?: readonly string[];
}

export type Flags = Readonly<Record<string, Flag>>;

export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F]: F[Name]["type"] extends "boolean"
    ? boolean
    : F[Name] extends { readonly multiple: true }
      ? readonly string[]
      : string | undefined;
};

export interface Input<F extends Flags = Flags> {
  /** Positional arguments. */
  readonly args: readonly string[];
  readonly flags: FlagValues<F>;
  readonly io: Io;
}

export interface Command<F extends Flags = Flags> {
  /** Positional arguments as help shows them: `[address]`, `<file...>`. */
  readonly takes?: string;
  /** The most positional arguments; default 0. */
  readonly most?: number;
  /** One or two sentences for help. */
  readonly about: string;
  readonly flags: F;
  /** Each is a command line to paste, and what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  /** What its exit codes mean. */
  readonly exits?: readonly (readonly [code: number, means: string])[];
  /** Returns the exit code. */
  run(input: Input<F>): Promise<number>;
}

/** Keeps the flags' types. */
export const command = <const F extends Flags>(one: Command<F>): Command<F> => one;

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(on: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by Ctrl+C, by SIGTERM, and when the reader of standard output has gone; `reason` says which. */
  readonly signal: AbortSignal;
}

export type Interruption = "SIGINT" | "SIGTERM" | "closed pipe";

export const EXIT = {
  ok: 0,
  /** It ran, but something failed or is not valid. */
  failed: 1,
  /** The command line could not be understood. */
  usage: 2,
  /** Nothing answers at the address, or the agent refuses. */
  unreachable: 3,
  /** Ctrl+C. */
  interrupted: 130,
} as const;

/** Ends a command with a message for a person: what is wrong, then what to do. Shown without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: number;
  constructor(message: string, exit: number = EXIT.failed) {
    super(message);
    this.exit = exit;
  }
}

export const usage = (message: string): CommandError => new CommandError(message, EXIT.usage);

/** Prints a line on standard output, for results. */
export const print = (io: Io, line: string): void => {
  io.stdout.write(`${line}\n`);
};

/** Prints a line on standard error, for messages that a pipe should not carry. */
export const say = (io: Io, line: string): void => {
  io.stderr.write(`${line}\n`);
};

/** Resolves when the command should end. For commands that run until they are stopped. */
export const stopped = ({ signal }: Io): Promise<Interruption> =>
  new Promise((resolve) => {
    const done = () => resolve(signal.reason as Interruption);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });

/** Parses a whole number of a flag, or throws an error that says what is expected. */
export function wholeNumber(
  name: string,
  text: string,
  { least = 0, most = Number.MAX_SAFE_INTEGER }: { least?: number; most?: number } = {},
): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw usage(`--${name} needs a whole number from ${least} to ${most}, not "${text}".`);
}

/** The option that names the directory of a log. */
export const DATA_FLAG = {
  type: "string",
  value: "DIR",
  help: "Directory of the log; default .earshot.",
} as const satisfies Flag;

export const dataDirectory = (io: Io, given: string | undefined): string =>
  resolve(io.cwd, given ?? ".earshot");
