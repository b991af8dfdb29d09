/** The command line under test: in this process with a terminal of ours, or as the real program. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Interruption, Io } from "../../src/cli/command.ts";
import { run } from "../../src/cli/run.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Terminal {
  readonly io: Io;
  readonly stdin: PassThrough;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves when standard output holds the text, or fails with what it holds. */
  shows(text: string | RegExp): Promise<string>;
  interrupt(reason?: Interruption): void;
}

export function terminal({
  tty = false,
  env = {},
  cwd = root,
}: {
  tty?: boolean;
  env?: Record<string, string>;
  cwd?: string;
} = {}): Terminal {
  const stop = new AbortController();
  const text = { out: "", err: "" };
  const waiting = new Set<() => void>();
  const collect = (name: "out" | "err") => {
    const stream = Object.assign(new PassThrough(), { isTTY: tty });
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      text[name] += chunk;
      for (const look of waiting) look();
    });
    return stream;
  };
  const stdin = Object.assign(new PassThrough(), { isTTY: tty, setRawMode: () => undefined });
  return {
    io: { stdin, stdout: collect("out"), stderr: collect("err"), env, cwd, signal: stop.signal },
    stdin,
    out: () => text.out,
    err: () => text.err,
    shows: (wanted) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`Never shown: ${wanted}\n--- out\n${text.out}\n--- err\n${text.err}`));
        }, 10_000);
        const look = () => {
          if (typeof wanted === "string" ? !text.out.includes(wanted) : !wanted.test(text.out)) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve(text.out);
        };
        waiting.add(look);
        look();
      }),
    interrupt: (reason = "SIGINT") => stop.abort(reason),
  };
}

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs to the end in this process. */
export async function earshot(argv: readonly string[], input = "", at = terminal()): Promise<Ended> {
  at.stdin.end(input);
  const code = await run(argv, at.io, "0.0.0-test");
  return { code, out: at.out(), err: at.err() };
}

let built: Promise<string> | undefined;

/** The program as one would install it, made once from the sources as they are. */
export function program(): Promise<string> {
  built ??= (async () => {
    const folder = `${root}.artifacts/cli-${process.pid}`;
    await build({
      entryPoints: [`${root}src/cli/main.ts`],
      bundle: true,
      splitting: true,
      platform: "node",
      format: "esm",
      target: "node20",
      packages: "external",
      outdir: folder,
      logLevel: "error",
    });
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    return `${folder}/main.js`;
  })();
  return built;
}

/** The real program as a child; whoever starts it sees to its end. */
export async function start(
  argv: readonly string[],
  { env = {}, cwd = root }: { env?: Record<string, string>; cwd?: string } = {},
): Promise<ChildProcessWithoutNullStreams> {
  return spawn(process.execPath, [await program(), ...argv], { cwd, env: { ...process.env, ...env } });
}

/** The real program, to its end. */
export async function runProgram(
  argv: readonly string[],
  input = "",
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Ended> {
  const child = await start(argv, options);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  child.stdin.on("error", () => undefined).end(input);
  const code = await new Promise<number>((resolve) => child.once("close", (status) => resolve(status ?? -1)));
  return { code, out, err };
}
