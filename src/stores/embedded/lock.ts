/** The lock of a log: one process writes at a time. The lock of a process that died is taken over. */
import { readFile, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, readText } from "./file-port.ts";

/** Identifies the process behind a pid; undefined if it is gone. Pids are reused, so the pid alone is not enough. */
export type ProcessMark = (pid: number) => Promise<string | undefined>;

/** The start time of the process where the system tells it: after a restart in a container the pid is often the same. */
export const processMark: ProcessMark = async (pid) => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie: in a container its parent may never reap it.
    return state === "Z" || state === "X" ? undefined : rest[18];
  } catch {
    try {
      process.kill(pid, 0);
      return "running";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EPERM" ? "running" : undefined;
    }
  }
};

/** Logs that this process has open: its own pid in a lock file may be from an earlier process. */
const held = new Set<string>();

/** Resolves to a function that releases the lock. */
export async function lockDirectory(
  directory: string,
  files: FilePort,
  mark: ProcessMark,
): Promise<() => Promise<void>> {
  // Resolved, because a symbolic link to it is the same log.
  const place = await realpath(directory).catch(() => resolve(directory));
  const path = join(directory, "lock");
  if (held.has(place)) throw inUse(directory, process.pid);
  held.add(place);
  try {
    const text = `${process.pid} ${(await mark(process.pid)) ?? ""}`;
    if (!(await claim(files, path, text))) await takeOver(files, directory, path, text, mark);
  } catch (error) {
    held.delete(place);
    throw error;
  }
  return async () => {
    held.delete(place);
    await files.remove(path);
  };
}

const inUse = (directory: string, pid: number): EarshotError =>
  new EarshotError(
    "log_in_use",
    `The log in ${directory} is being written by process ${pid}. Stop it, or use another directory.`,
  );

/** Errors of file systems without hard links. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Created under another name and linked, so that nobody sees an empty lock file. */
async function claim(files: FilePort, path: string, text: string): Promise<boolean> {
  const draft = `${path}.draft-${process.pid}`;
  await files.remove(draft);
  await create(files, draft, text);
  try {
    await files.link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (!NO_LINKS.has(error.code ?? "")) throw error;
      return create(files, path, text);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    await files.remove(draft);
  }
}

async function create(files: FilePort, path: string, text: string): Promise<void> {
  const file = await files.open(path, true);
  try {
    await file.append(Buffer.from(text));
  } finally {
    await file.close();
  }
}

/**
 * Two processes that find the same stale lock must not both remove it: only the holder of the takeover file may. If that
 * holder died too, the next takeover file is named after it, so that again only one process gets it.
 */
async function takeOver(
  files: FilePort,
  directory: string,
  path: string,
  text: string,
  mark: ProcessMark,
): Promise<void> {
  const dead = (await readText(files, path)) ?? "";
  await refuseLiving(dead, directory, mark);
  const takeovers = [`${path}.takeover`];
  while (!(await claim(files, takeovers.at(-1)!, text))) {
    const holder = (await readText(files, takeovers.at(-1)!)) ?? "";
    await refuseLiving(holder, directory, mark);
    takeovers.push(`${path}.takeover-${holder.replaceAll(" ", "-")}`);
  }
  try {
    const held = (await readText(files, path)) ?? "";
    if (held !== dead) await refuseLiving(held, directory, mark);
    await files.remove(path);
    if (!(await claim(files, path, text))) throw inUse(directory, process.pid);
  } finally {
    for (const takeover of takeovers) await files.remove(takeover);
  }
}

/** A lock with our own pid was left by an earlier process: our own locks are in `held`. */
async function refuseLiving(holder: string, directory: string, mark: ProcessMark): Promise<void> {
  const [pid = "", started = ""] = holder.split(" ");
  if (!(Number(pid) > 0) || Number(pid) === process.pid) return;
  const now = await mark(Number(pid));
  if (now !== undefined && (started === "" || started === now)) throw inUse(directory, Number(pid));
}
