/**
 * Binds a Unix socket to an agent's path. The socket is bound under a temporary name, with access for this user only,
 * and then gets the agent's name by a hard link, which the file system grants to exactly one process. The stale
 * socket of a dead process is removed under a lock. Symbolic links are never followed.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, linkSync, lstatSync, openSync, rmSync, type Stats } from "node:fs";
import { connect, type Server } from "node:net";
import { posix } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";
import { ownUid } from "../safe-directory.ts";
import { MAX_PATH_BYTES } from "./path.ts";

export interface Bound {
  /** Removes the name, if it is still ours. */
  release(): void;
  /** Whether the name still belongs to this socket. */
  held(): boolean;
}

const MAX_TRIES = 200;
const LOCK_RETRY_MS = 20;
const ABANDONED_LOCK_MS = 2_000;
/** A Unix socket refuses connections when this many are pending (EAGAIN); many listeners may reconnect at once. */
const BACKLOG = 4_096;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Inode numbers are reused; together with the modification time they identify a file. */
const isSameFile = (a: Stats, b: Stats): boolean =>
  a.ino === b.ino && a.dev === b.dev && a.mtimeMs === b.mtimeMs;

type SocketState = "alive" | "dead" | "gone" | "forbidden";

/** Whether a process listens at a path. */
export function probeSocket(path: string, ms = 1_000): Promise<SocketState> {
  return new Promise((resolve) => {
    const socket = connect(path);
    // A busy or suspended process is alive.
    const timer = setTimeout(() => done("alive"), ms);
    const done = (result: SocketState) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.on("connect", () => done("alive"));
    socket.on("error", (error) => {
      const code = codeOf(error);
      if (code === "ENOENT") done("gone");
      else if (code === "EACCES" || code === "EPERM") done("forbidden");
      // EAGAIN: the queue of pending connections is full, so a process listens.
      else done(code === "ECONNREFUSED" || code === "ENOTSOCK" ? "dead" : "alive");
    });
  });
}

/** Listens with access for this user only. `listen` binds synchronously, so the umask is restored before other code runs. */
function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const mask = umask(0o077);
    try {
      // Exclusive: under cluster the primary process would bind it, with its own umask.
      server.listen({ path, exclusive: true, backlog: BACKLOG }, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      if (mask !== undefined) umask(mask);
    }
  });
}

/** Worker threads cannot change the umask; there the directory's mode keeps other users out. */
function umask(mask: number): number | undefined {
  try {
    return process.umask(mask);
  } catch {
    return undefined;
  }
}

/** `path` must be in a directory that only this user can access. */
export async function bindSocket(server: Server, path: string): Promise<Bound> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new EarshotError(
      "path_too_long",
      `${path} is longer than ${MAX_PATH_BYTES} bytes, the limit for the path of a socket. Choose a shorter one.`,
    );
  }
  const temporary = posix.join(posix.dirname(path), `.${randomBytes(4).toString("hex")}`);
  await listenPrivately(server, temporary);
  try {
    chmodSync(temporary, 0o600);
    const mine = lstatSync(temporary);
    await takeName(path, temporary);
    const held = () => {
      const now = statOf(path);
      return now !== undefined && isSameFile(now, mine);
    };
    return { held, release: () => held() && rmSync(path, { force: true }) };
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

async function takeName(path: string, bound: string): Promise<void> {
  for (let i = 0; i < MAX_TRIES; i++) {
    try {
      linkSync(bound, path);
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const there = statOf(path);
    if (!there) continue;
    refuseForeign(path, there);
    const state = await probeSocket(path);
    if (state === "alive" || state === "forbidden") throw inUse(path);
    if (state === "dead") await removeStale(path, there);
  }
  throw inUse(path);
}

/**
 * Of two processes that found it dead, the slower one must not remove the faster one's new socket. Names are removed
 * under a lock only and never replaced, so under the lock the same file is still the dead one.
 */
async function removeStale(path: string, dead: Stats): Promise<void> {
  const lock = posix.join(posix.dirname(path), `.${posix.basename(path)}.lock`);
  try {
    closeSync(openSync(lock, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    // Held for a few system calls; after seconds its process has died.
    const made = statOf(lock);
    if (made && Date.now() - made.mtimeMs > ABANDONED_LOCK_MS) rmSync(lock, { force: true });
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
    return;
  }
  try {
    const now = statOf(path);
    if (now && isSameFile(now, dead)) rmSync(path, { force: true });
  } finally {
    rmSync(lock, { force: true });
  }
}

function refuseForeign(path: string, stat: Stats): void {
  const uid = ownUid();
  if (stat.isSocket() && (uid === undefined || stat.uid === uid)) return;
  const what = stat.isSymbolicLink()
    ? "a symbolic link"
    : stat.isSocket()
      ? "another user's socket"
      : "not a socket";
  throw new EarshotError(
    "unsafe_socket",
    `${path} is ${what}. Find out where it comes from, remove it, and start again.`,
  );
}

const inUse = (path: string): EarshotError =>
  new EarshotError(
    "socket_in_use",
    `Another agent is already listening at ${path}. Stop it, or use another agent_id.`,
  );
