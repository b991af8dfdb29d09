/** The file operations of the embedded store. Tests inject faults here: full disks, failing syncs, torn writes. */
import { close, constants, fdatasync, ftruncate, open, read, write } from "node:fs";
import { link, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

export interface OpenFile {
  /** Appends all of it or throws. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once everything appended survives a power cut. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

export interface FileState {
  readonly size: number;
  readonly inode: string;
  /** Birth time in milliseconds; 0 if the file system does not know it. */
  readonly born: number;
}

export interface FilePort {
  list(directory: string): Promise<string[]>;
  /** The whole file, or a range of bytes. */
  read(path: string, from?: number, to?: number): Promise<Uint8Array>;
  /** Inode and birth time tell a file from a copy; both are needed, because inodes are reused. */
  stat(path: string): Promise<FileState>;
  /**
   * Opens for appending and creates the file if needed. `exclusive` fails if it exists. `durable`: appends may be synced
   * in one step where the system can do that; `sync` is called in any case.
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
    // Other systems sync in a second step: Windows has no such flag, and on macOS it does not flush the drive's cache.
    const atOnce = durable && process.platform === "linux" ? constants.O_DSYNC : 0;
    const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | atOnce;
    const fd = await openFile(path, exclusive ? flags | constants.O_EXCL : flags, 0o600);
    return {
      async append(bytes) {
        // A short write is no error to the system: write the rest, until it fails for a reason.
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
 * Like a recursive mkdir, step by step: where a system reports an existing parent as missing, as Linux does under /proc,
 * the built-in one never ends.
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

/** Replaces a small file atomically: a crash leaves the old one or the new one. */
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

/** Undefined if there is no such file. */
export async function readText(files: FilePort, path: string): Promise<string | undefined> {
  try {
    return Buffer.from(await files.read(path)).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
