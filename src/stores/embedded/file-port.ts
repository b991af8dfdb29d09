/** The files under the embedded store, as little as it needs. Tests put faults in between: full disks, failing syncs, torn writes. */
import { close, fdatasync, ftruncate, open, write } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { promisify } from "node:util";

export interface OpenFile {
  /** Appends all of it or throws. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once what was appended survives a power cut. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

export interface FilePort {
  list(directory: string): Promise<string[]>;
  read(path: string): Promise<Uint8Array>;
  size(path: string): Promise<number>;
  /** For appending; made if it is not there. `exclusive` fails where it is. */
  open(path: string, exclusive?: boolean): Promise<OpenFile>;
  /** Makes the names in a directory durable. */
  syncDirectory(directory: string): Promise<void>;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  ensureDirectory(path: string): Promise<void>;
}

const openFile = promisify(open);
const writeFile = promisify(write) as (
  fd: number,
  bytes: Uint8Array,
  offset: number,
) => Promise<{ bytesWritten: number }>;
const syncFile = promisify(fdatasync);
const truncateFile = promisify(ftruncate);
const closeFile = promisify(close);

export const nodeFiles: FilePort = {
  list: (directory) => readdir(directory),
  read: (path) => readFile(path),
  size: async (path) => (await stat(path)).size,
  async open(path, exclusive = false) {
    const fd = await openFile(path, exclusive ? "ax" : "a", 0o600);
    return {
      async append(bytes) {
        // A short write is no error to the system; the rest is tried until it fails for a reason.
        for (let done = 0; done < bytes.byteLength; ) {
          const { bytesWritten } = await writeFile(fd, bytes.subarray(done), 0);
          done += bytesWritten;
        }
      },
      sync: () => syncFile(fd),
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
  ensureDirectory: async (path) => void (await mkdir(path, { recursive: true, mode: 0o700 })),
};
