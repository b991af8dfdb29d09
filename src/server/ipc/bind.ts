/**
 * Taking a socket's name. The socket is bound under a name of its own, closed to others from its first moment, and
 * only then given the agent's name, by a hard link: the file system lets exactly one process do that. A name left
 * behind by a dead process is moved away first, looked at again, and put back if it turns
 * out to be another. No name is ever followed through a symbolic link.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, lstatSync, renameSync, rmSync, type Stats } from "node:fs";
import { connect, type Server } from "node:net";
import { posix } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";
import { ownUid } from "../safe-directory.ts";
import { MOST_PATH_BYTES } from "./path.ts";

export interface Bound {
  /** Takes the name away again, if it is still ours. */
  release(): void;
  /** Whether connecting to the name still leads here. */
  held(): boolean;
}

const TRIES = 20;
/** A Unix socket refuses at once when this many wait to be let in (EAGAIN): a whole desk may come back in one moment. */
const BACKLOG = 4_096;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Numbers of files are used again; together with the moment of its making one is not. */
const same = (a: Stats, b: Stats): boolean => a.ino === b.ino && a.dev === b.dev && a.mtimeMs === b.mtimeMs;

/** What is at the other end of a name: somebody, nobody, or nothing there. */
export function knock(path: string, ms = 1_000): Promise<"alive" | "dead" | "gone" | "forbidden"> {
  return new Promise((resolve) => {
    const socket = connect(path);
    // Full, or stopped: somebody all the same.
    const timer = setTimeout(() => done("alive"), ms);
    const done = (result: "alive" | "dead" | "gone" | "forbidden") => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.on("connect", () => done("alive"));
    socket.on("error", (error) => {
      const code = codeOf(error);
      if (code === "ENOENT") done("gone");
      else if (code === "EACCES" || code === "EPERM") done("forbidden");
      // EAGAIN: the queue of waiting connections is full, so there is one.
      else done(code === "ECONNREFUSED" || code === "ENOTSOCK" ? "dead" : "alive");
    });
  });
}

/** Listens with nothing allowed to anybody else. Binding happens inside the call, so the mask is back before anything else runs. */
function listenClosed(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const mask = umask(0o077);
    try {
      // Exclusive: under cluster, the primary would bind it, with a mask of its own.
      server.listen({ path, exclusive: true, backlog: BACKLOG }, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      if (mask !== undefined) umask(mask);
    }
  });
}

/** Worker threads may not change it; there the directory's own mode is what keeps others out. */
function umask(mask: number): number | undefined {
  try {
    return process.umask(mask);
  } catch {
    return undefined;
  }
}

/** `path` is in a directory that is nobody's but ours. */
export async function bindSocket(server: Server, path: string): Promise<Bound> {
  const beside = () => posix.join(posix.dirname(path), `.${randomBytes(4).toString("hex")}`);
  if (Buffer.byteLength(path) > MOST_PATH_BYTES) {
    throw new EarshotError(
      "path_too_long",
      `${path} has more than ${MOST_PATH_BYTES} bytes, the most a socket's path may have. Choose a shorter one.`,
    );
  }
  const private_ = beside();
  await listenClosed(server, private_);
  try {
    chmodSync(private_, 0o600);
    const mine = lstatSync(private_);
    await take(path, private_, beside);
    const held = () => {
      const now = statOf(path);
      return now !== undefined && same(now, mine);
    };
    return { held, release: () => held() && rmSync(path, { force: true }) };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(private_, { force: true });
  }
}

async function take(path: string, bound: string, beside: () => string): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    try {
      linkSync(bound, path);
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const there = statOf(path);
    if (!there) continue;
    refuseForeign(path, there);
    const state = await knock(path);
    if (state === "alive" || state === "forbidden") throw inUse(path);
    if (state === "dead") moveAway(path, beside(), there);
  }
  throw inUse(path);
}

/** Two that start at once may both have found it dead, and one of them be there by now: so what was moved is looked at again. */
function moveAway(path: string, away: string, dead: Stats): void {
  // Knocking took a while, and another may have taken the name meanwhile: then there is nothing to move.
  const now = statOf(path);
  if (!now || !same(now, dead)) return;
  try {
    renameSync(path, away);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return;
    throw error;
  }
  try {
    // Put back in the same breath: nothing else of ours runs in between, and others need as long to get here.
    if (!same(lstatSync(away), dead)) linkSync(away, path);
  } catch (error) {
    // Somebody else has the name now; the one that was moved sees that it no longer holds it.
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(away, { force: true });
  }
}

function refuseForeign(path: string, stat: Stats): void {
  const uid = ownUid();
  if (stat.isSocket() && (uid === undefined || stat.uid === uid)) return;
  const what = stat.isSymbolicLink()
    ? "a symbolic link"
    : stat.isSocket()
      ? "somebody else's socket"
      : "no socket";
  throw new EarshotError(
    "unsafe_socket",
    `${path} is ${what}. See who put it there, remove it, and start again.`,
  );
}

const inUse = (path: string): EarshotError =>
  new EarshotError(
    "socket_in_use",
    `An agent is listening at ${path} already. Stop it, or give this one another agent_id.`,
  );
