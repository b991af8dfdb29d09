/** One process writes a log at a time; a second one is told which. The lock of a process that died keeps nobody out. */
import { readFile, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, readText } from "./file-port.ts";

/** Which process a number stands for now; undefined if it is gone. Numbers are used again, so it takes more than that. */
export type ProcessMark = (pid: number) => Promise<string | undefined>;

/** Where the system tells it, when the process began: after a restart in a container the number is often the same. */
export const processMark: ProcessMark = async (pid) => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // Dead, and only waiting for its parent to notice: in a container that may be never.
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

/** Logs this very process has open: its own number in a lock file says nothing about them. */
const mine = new Set<string>();

/** The answer gives it back. */
export async function lockDirectory(
  directory: string,
  files: FilePort,
  mark: ProcessMark,
): Promise<() => Promise<void>> {
  // By whatever way it is reached: a link to it is the same log.
  const place = await realpath(directory).catch(() => resolve(directory));
  const path = join(directory, "lock");
  if (mine.has(place)) throw inUse(directory, process.pid);
  mine.add(place);
  try {
    const text = `${process.pid} ${(await mark(process.pid)) ?? ""}`;
    if (!(await claim(files, path, text))) await takeOver(files, directory, path, text, mark);
  } catch (error) {
    mine.delete(place);
    throw error;
  }
  return async () => {
    mine.delete(place);
    await files.remove(path);
  };
}

const inUse = (directory: string, pid: number): EarshotError =>
  new EarshotError(
    "log_in_use",
    `The log in ${directory} is being written by process ${pid}. Stop it, or use another directory.`,
  );

/** File systems without second names answer with one of these. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** It appears with its text in it: an empty one would look like nobody's to whoever comes just then. */
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
 * Two processes that find the same dead lock must not both remove it: only who holds the gate may. A gate whose holder
 * died is left behind for the next one, which is named after the dead: of each there is one, and one process gets it.
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
  const gates = [`${path}.takeover`];
  while (!(await claim(files, gates.at(-1)!, text))) {
    const holder = (await readText(files, gates.at(-1)!)) ?? "";
    await refuseLiving(holder, directory, mark);
    gates.push(`${path}.takeover-${holder.replaceAll(" ", "-")}`);
  }
  try {
    const held = (await readText(files, path)) ?? "";
    if (held !== dead) await refuseLiving(held, directory, mark);
    await files.remove(path);
    if (!(await claim(files, path, text))) throw inUse(directory, process.pid);
  } finally {
    for (const gate of gates) await files.remove(gate);
  }
}

/** A file that names this very process was left by an earlier one with its number: what is ours is in `mine`. */
async function refuseLiving(holder: string, directory: string, mark: ProcessMark): Promise<void> {
  const [pid = "", started = ""] = holder.split(" ");
  if (!(Number(pid) > 0) || Number(pid) === process.pid) return;
  const now = await mark(Number(pid));
  if (now !== undefined && (started === "" || started === now)) throw inUse(directory, Number(pid));
}
