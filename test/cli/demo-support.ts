/** A demo as a script would start it: the real program, its one line, and its end. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./support.ts";

export interface Ready {
  readonly http: string;
  readonly ws: string;
  readonly unix: string | null;
  readonly grpc: string | null;
  readonly token: string | null;
}

export interface RunningDemo extends Ready {
  readonly child: ChildProcessWithoutNullStreams;
  out(): string;
  err(): string;
  /** Sends the signal and gives the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
  post(body: unknown, token?: string | null): Promise<Response>;
}

const cleanups: (() => void)[] = [];
/** For `afterAll` of each file: tests may run concurrently, and a hook of this module would run for one file only. */
export function endDemos(): void {
  for (const clean of cleanups.splice(0).reverse()) clean();
}

/** A runtime directory of its own, so that no test meets another's agents. */
export function ownRuntime(): string {
  const directory = mkdtempSync(join(tmpdir(), "earshot-test-"));
  chmodSync(directory, 0o700);
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export const environment = (runtime = ownRuntime()): Record<string, string> => ({
  XDG_RUNTIME_DIR: runtime,
  TMPDIR: runtime,
});

export interface Watched {
  readonly child: ChildProcessWithoutNullStreams;
  out(): string;
  err(): string;
  /** Resolves with standard output once it holds the text. */
  shows(text: string | RegExp): Promise<string>;
  readonly ended: Promise<number | null>;
}

export async function watch(argv: readonly string[], env = environment()): Promise<Watched> {
  const child = await start(argv, { env });
  cleanups.push(() => child.kill("SIGKILL"));
  const text = { out: "", err: "" };
  const looks = new Set<() => void>();
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text.err += chunk;
  });
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text.out += chunk;
    for (const look of [...looks]) look();
  });
  child.stdin.on("error", () => undefined);
  return {
    child,
    out: () => text.out,
    err: () => text.err,
    ended,
    shows: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (typeof wanted === "string" ? !text.out.includes(wanted) : !wanted.test(text.out)) return;
          looks.delete(look);
          resolve(text.out);
        };
        looks.add(look);
        look();
        void ended.then(() => reject(new Error(`Ended without ${wanted}:\n${text.out}\n${text.err}`)));
      }),
  };
}

export async function startDemo(
  argv: readonly string[] = [],
  env = environment(),
  port = "0",
): Promise<RunningDemo> {
  const watched = await watch(["demo", "--port", port, "--json", "--speed", "20", ...argv], env);
  const ready = JSON.parse(await watched.shows("\n")) as Ready;
  return {
    ...watched,
    ...ready,
    end: (signal = "SIGTERM") => {
      watched.child.kill(signal);
      return watched.ended;
    },
    post: (body, token = ready.token) =>
      fetch(`${ready.http}/demo/sessions`, {
        method: "POST",
        headers: token === null ? {} : { authorization: `Bearer ${token}` },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}
