/** System programs that tests talk to or through. On a person's machine what is missing is skipped; CI must have it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";

export interface Program {
  readonly path: string;
  readonly skip: boolean;
  /** For the suite's title, where it is skipped. */
  readonly note: string;
}

const PLACES = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];

/** `works` tells whether what was found can do what is needed, e.g. has a module. */
export function findProgram(
  name: string,
  packages: string,
  works: (path: string) => boolean = () => true,
): Program {
  const path = PLACES.map((place) => `${place}/${name}`).find((one) => existsSync(one) && works(one));
  const skip = path === undefined && process.env["CI"] !== "true";
  return { path: path ?? name, skip, note: skip ? ` (skipped: apt-get install ${packages})` : "" };
}

/** Debian's Python, with a module of Debian's. */
export const findPython = (module: string): Program =>
  findProgram("python3", `python3 python3-${module}`, (path) => {
    try {
      execFileSync(path, ["-c", `import ${module}`], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });

export interface Running {
  readonly child: ChildProcess;
  /** Lines of its standard output so far. */
  readonly lines: string[];
  /** The first line, so far or yet to come, that fits. */
  until(fits: (line: string) => boolean): Promise<string>;
  /** Its exit code; what it complained about is in the error if it fails to start or dies of a signal. */
  readonly exit: Promise<number>;
  stop(): Promise<void>;
}

export function start(path: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const child = spawn(path, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let rest = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdout.on("end", () => rest && lines.push(rest));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    lines.push(...parts);
    for (const look of waiting) look();
  });
  const exit = new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    // Not "exit": the last words may still be in the pipe.
    child.on("close", (code, signal) =>
      code === null ? reject(new Error(`${path} died of ${signal}: ${errors}`)) : resolve(code),
    );
  });
  exit.catch(() => {});
  return {
    child,
    lines,
    exit,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find(fits);
          if (line === undefined) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
        child.on("exit", () => {
          look();
          reject(new Error(`${path} ended: ${errors || lines.join("\n")}`));
        });
      }),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      await exit.catch(() => undefined);
    },
  };
}
