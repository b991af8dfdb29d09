/** The files under the embedded store, as little as it needs. Tests put faults in between: full disks, failing syncs, torn writes. */
import { close, constants, fdatasync, ftruncate, open, read, write } from "node:fs";
import { link, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

export interface OpenFile {
  /** Appends all of it or throws. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once what was appended survives a power cut. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

export interface FileState {
  readonly size: number;
  /** The number by which the file system knows it. */
  readonly inode: string;
  /** When it was made, in milliseconds; 0 where the file system does not know. */
  readonly born: number;
}

export interface FilePort {
  list(directory: string): Promise<string[]>;
  /** The whole file, or the bytes from one place up to another. */
  read(path: string, from?: number, to?: number): Promise<Uint8Array>;
  /** What tells a file from a copy of it: its number, and when it was made, as a number that was given up is used again. */
  stat(path: string): Promise<FileState>;
  /**
   * For appending; made if it is not there. `exclusive` fails where it is. `durable`: what is appended may be made safe
   * at once, where the system can do both in one step; `sync` is called all the same.
   */
  open(path: string, exclusive?: boolean, durable?: boolean): Promise<OpenFile>;
  /** Makes the names in a directory durable. */
  syncDirectory(directory: string): Promise<void>;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** A second name for a file; fails where there is a file of that name. */
  link(from: string, to: string): Promise<void>;
  ensureDirectory(path: string): Promise<void>;
}

const openFile = promisify(open);
const writeFile = promisify(write) as (
  fd: number,
  bytes: Uint8Array,
  offset: number,
) => Promise<{ bytesWritten: number }>;
const readPart = promisify(read) as (
  fd: number,
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ bytesRead: number }>;
const syncFile = promisify(fdatasync);
const truncateFile = promisify(ftruncate);
const closeFile = promisify(close);

export const nodeFiles: FilePort = {
  list: (directory) => readdir(directory),
  async read(path, from, to) {
    if (from === undefined || to === undefined) return readFile(path);
    const fd = await openFile(path, "r");
    try {
      const bytes = Buffer.allocUnsafe(to - from);
      let done = 0;
      while (done < bytes.length) {
        const { bytesRead } = await readPart(fd, bytes, done, bytes.length - done, from + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return bytes.subarray(0, done);
    } finally {
      await closeFile(fd);
    }
  },
  async stat(path) {
    const { size, ino, birthtimeMs } = await stat(path, { bigint: true });
    return { size: Number(size), inode: String(ino), born: Number(birthtimeMs) };
  },
  async open(path, exclusive = false, durable = false) {
    // Elsewhere it syncs in a second step: Windows has no such flag, and on macOS it stops short of the drive's own cache.
    const atOnce = durable && process.platform === "linux" ? constants.O_DSYNC : 0;
    const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | atOnce;
    const fd = await openFile(path, exclusive ? flags | constants.O_EXCL : flags, 0o600);
    return {
      async append(bytes) {
        // A short write is no error to the system; the rest is tried until it fails for a reason.
        for (let done = 0; done < bytes.byteLength; )
          done += (await writeFile(fd, bytes.subarray(done), 0)).bytesWritten;
      },
      sync: () => (atOnce ? Promise.resolve() : syncFile(fd)),
      truncate: (size) => truncateFile(fd, size),
      close: () => closeFile(fd),
    };
  },
  async syncDirectory(directory) {
    if (process.platform === "win32") return;
    const fd = await openFile(directory, "r");
    try {
      await syncFile(fd);
    } finally {
      await closeFile(fd);
    }
  },
  remove: (path) => rm(path, { force: true }),
  rename,
  link,
  ensureDirectory: makeDirectory,
};

/**
 * With those above it that are missing. Step by step, for where a system calls a directory's parent missing although it
 * is there, as Linux does under /proc, the built-in way tries for ever.
 */
async function makeDirectory(path: string): Promise<void> {
  const missing = (error: NodeJS.ErrnoException): boolean => error.code === "ENOENT";
  const isThere = async (place: string) => (await stat(place).catch(() => undefined))?.isDirectory() === true;
  const make = () =>
    mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
      if (missing(error) || !(await isThere(path))) throw error;
    });
  await make().catch(async (error: NodeJS.ErrnoException) => {
    const parent = dirname(resolve(path));
    if (!missing(error) || (await isThere(parent))) throw error;
    await makeDirectory(parent);
    await make();
  });
}

/** Writes a small file so that a crash leaves the old one or the new one, never half of it. */
export async function replaceFile(
  files: FilePort,
  directory: string,
  path: string,
  content: Uint8Array | ((state: FileState) => string),
): Promise<void> {
  const temporary = `${path}.new`;
  await files.remove(temporary);
  const file = await files.open(temporary, true);
  try {
    const bytes = typeof content === "function" ? Buffer.from(content(await files.stat(temporary))) : content;
    await file.append(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(temporary, path);
  await files.syncDirectory(directory);
}

/** Undefined where there is no such file. */
export async function readText(files: FilePort, path: string): Promise<string | undefined> {
  try {
    return Buffer.from(await files.read(path)).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
