/**
 * The log on disk: one append-only sequence in segment files, synced in groups. Acknowledged means on disk: `append`
 * resolves after fdatasync, and everything that arrived meanwhile shares the next one. One process writes at a time.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { LogEntry, LogIdentity, LogStore } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, nodeFiles, type OpenFile } from "./file-port.ts";
import { encodeRecord, HEADER, readSegment } from "./segment.ts";

export interface EmbeddedStoreOptions {
  readonly directory: string;
  readonly files?: FilePort;
  /** A new segment is begun beyond this size. */
  readonly segment_bytes?: number;
  /** "sync": acknowledged means on disk. "none": acknowledged means handed to the system; a power cut may lose it. */
  readonly durability?: "sync" | "none";
  readonly processAlive?: (pid: number) => boolean;
}

export interface EmbeddedStore extends LogStore {
  /** Entries found on opening, in order. */
  readonly entries: readonly LogEntry[];
  /** Bytes of an unfinished write that were cut off on opening. */
  readonly torn_bytes: number;
  /** Removes whole segments that lie before this place. */
  forget(before: number): Promise<number>;
  close(): Promise<void>;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly first: number;
  resolve(): void;
  reject(error: unknown): void;
}

const SEGMENT = /^log-(\d{16})\.seg$/;
const segmentName = (first: number): string => `log-${String(first).padStart(16, "0")}.seg`;
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const {
    directory,
    files = nodeFiles,
    segment_bytes = 64 * 1024 * 1024,
    durability = "sync",
    processAlive = alive,
  } = options;
  await files.ensureDirectory(directory);
  await lock(directory, files, processAlive);
  const identity = await identify(directory, files);
  const names = (await files.list(directory)).filter((name) => SEGMENT.test(name)).sort();
  const entries: LogEntry[] = [];
  const segments: { name: string; first: number }[] = [];
  let torn_bytes = 0;
  let size = 0;
  for (const [i, name] of names.entries()) {
    const bytes = await files.read(join(directory, name));
    const { payloads, sound } = readSegment(bytes, name, i === names.length - 1);
    for (const payload of payloads) entries.push(JSON.parse(payload) as LogEntry);
    segments.push({ name, first: Number(SEGMENT.exec(name)![1]) });
    torn_bytes += bytes.byteLength - sound;
    size = sound;
  }
  for (let i = 1; i < entries.length; i++) {
    if (entries[i]!.seq !== entries[i - 1]!.seq + 1) {
      throw new EarshotError(
        "log_damaged",
        `The log in ${directory} jumps from entry ${entries[i - 1]!.seq} to ${entries[i]!.seq}: a file is missing. Restore it from a backup.`,
      );
    }
  }
  let file: OpenFile | undefined;
  if (names.length > 0) {
    file = await files.open(join(directory, names.at(-1)!));
    if (torn_bytes > 0) {
      await file.truncate(size);
      await file.sync();
    }
    if (size === 0) {
      await file.append(HEADER);
      size = HEADER.length;
    }
  }

  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let failure: unknown;
  let closed = false;

  async function segmentFor(first: number, bytes: number): Promise<OpenFile> {
    if (file && size + bytes <= segment_bytes) return file;
    if (file && size > HEADER.length && size + bytes > segment_bytes) await file.close();
    else if (file) return file;
    const name = segmentName(first);
    file = await files.open(join(directory, name), true);
    await file.append(HEADER);
    if (durability === "sync") await file.sync();
    await files.syncDirectory(directory);
    segments.push({ name, first });
    size = HEADER.length;
    return file;
  }

  /** After a failed write or sync nothing is known about the file any more: stop acknowledging for good (F03, F04). */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        if (failure !== undefined) throw failure;
        const bytes = group.length === 1 ? group[0]!.bytes : Buffer.concat(group.map((one) => one.bytes));
        const target = await segmentFor(group[0]!.first, bytes.byteLength);
        await target.append(bytes);
        size += bytes.byteLength;
        if (durability === "sync") await target.sync();
        for (const one of group) one.resolve();
      } catch (error) {
        failure ??= new EarshotError(
          "log_failed",
          `The log in ${directory} cannot be written any more: ${(error as Error).message} Nothing further is acknowledged; fix the disk and start again.`,
          { cause: error },
        );
        for (const one of group) one.reject(failure);
      }
    }
    writing = undefined;
  }

  return {
    identity,
    entries,
    torn_bytes,
    append(added) {
      if (closed) return Promise.reject(new EarshotError("log_closed", "The log has been closed."));
      if (added.length === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const bytes = Buffer.concat(added.map((entry) => encodeRecord(JSON.stringify(entry))));
        waiting.push({ bytes, first: added[0]!.seq, resolve, reject });
        writing ??= Promise.resolve().then(writeAll);
      });
    },
    async *read(from) {
      await writing;
      for (const { name } of [...segments]) {
        const { payloads } = readSegment(await files.read(join(directory, name)), name, true);
        for (const payload of payloads) {
          const entry = JSON.parse(payload) as LogEntry;
          if (entry.seq >= from) yield entry;
        }
      }
    },
    async forget(before) {
      let removed = 0;
      // A segment goes only when the next one starts at or before the place: the last always stays.
      while (segments.length > 1 && segments[1]!.first <= before) {
        await files.remove(join(directory, segments.shift()!.name));
        removed++;
      }
      return removed;
    },
    async close() {
      closed = true;
      await writing;
      await file?.close();
      await files.remove(join(directory, "lock"));
    },
  };
}

async function lock(
  directory: string,
  files: FilePort,
  processAlive: (pid: number) => boolean,
): Promise<void> {
  const path = join(directory, "lock");
  for (let attempt = 0; ; attempt++) {
    try {
      const file = await files.open(path, true);
      await file.append(Buffer.from(String(process.pid)));
      await file.close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || attempt > 2) throw error;
      const pid = Number(Buffer.from(await files.read(path)).toString("utf8"));
      if (pid > 0 && processAlive(pid)) {
        throw new EarshotError(
          "log_in_use",
          `The log in ${directory} is being written by process ${pid}. Stop it, or use another directory.`,
        );
      }
      await files.remove(path);
    }
  }
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The epoch is new with every new log: a cursor of a wiped or restored one is noticed (F06). */
async function identify(directory: string, files: FilePort): Promise<LogIdentity> {
  const path = join(directory, "identity.json");
  try {
    return JSON.parse(Buffer.from(await files.read(path)).toString("utf8")) as LogIdentity;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const bytes = randomBytes(10);
  const epoch = Array.from(bytes.subarray(0, 6), (byte) => DIGITS[byte % 62]).join("");
  const identity: LogIdentity = { epoch, key: bytes.readUInt32BE(6) };
  const temporary = `${path}.new`;
  await files.remove(temporary);
  const file = await files.open(temporary, true);
  await file.append(Buffer.from(JSON.stringify(identity)));
  await file.sync();
  await file.close();
  await files.rename(temporary, path);
  await files.syncDirectory(directory);
  return identity;
}
