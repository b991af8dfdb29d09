/**
 * Backup and restore. A restored log gets a new epoch, so that an older cursor leads to an explicit gap and never to the
 * wrong position (F06).
 */
import { join } from "node:path";
import type { LogIdentity } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type RandomBytes, systemRandom } from "../../protocol/platform.ts";
import { type FilePort, nodeFiles } from "./file-port.ts";
import { LogIndex, scanInto, segmentNames } from "./log-index.ts";
import { segmentNumber } from "./segment.ts";
import { renewIdentity } from "./store.ts";

interface CopyOptions {
  readonly from: string;
  /** Must not hold a log. */
  readonly to: string;
  readonly files?: FilePort;
}

/** The size of a backup. */
export interface Backup {
  readonly files: number;
  readonly bytes: number;
}

/** The result of `restoreLog`. */
export interface Restored {
  readonly identity: LogIdentity;
  /** The newest entry; 0 if there is none. */
  readonly last: number;
  /** What could not be restored, and why; absent if everything was. */
  readonly leftOut?: { readonly bytes: number; readonly reason: string };
}

const ATTEMPTS = 5;

/** Copies a log, also while it is being written. The copy holds everything acknowledged before the call. */
export async function backupLog({ from, to, files = nodeFiles }: CopyOptions): Promise<Backup> {
  await refuseLog(to, files);
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyAll(from, to, files);
    } catch (error) {
      // Retention removed a file meanwhile. Its current facts are in a newer one, so start again.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === ATTEMPTS) throw error;
      for (const name of await segmentNames(to, files)) await files.remove(join(to, name));
    }
  }
}

async function copyAll(from: string, to: string, files: FilePort): Promise<Backup> {
  const names = await listed(from, files);
  await files.ensureDirectory(to);
  let bytes = 0;
  // The newest first: only it still grows, and segments started after it are not part of the copy.
  for (const name of names.reverse())
    bytes += await write(files, to, name, await files.read(join(from, name)));
  await files.syncDirectory(to);
  return { files: names.length, bytes };
}

/** Restores a log from a copy, however it was made, up to the first damage. */
export async function restoreLog({
  from,
  to,
  files = nodeFiles,
  random = systemRandom,
}: CopyOptions & { readonly random?: RandomBytes }): Promise<Restored> {
  await refuseLog(to, files);
  const names = await listed(from, files);
  const index = new LogIndex();
  let reason: string | undefined;
  let left = 0;
  await files.ensureDirectory(to);
  for (const name of names) {
    const bytes = await files.read(join(from, name));
    if (reason === undefined && index.segments.length > 0 && segmentNumber(name) !== index.next)
      reason = `A file is missing before ${name}.`;
    if (reason !== undefined) {
      left += bytes.byteLength;
      continue;
    }
    const { sound, torn } = scanInto(index, bytes, name, 0);
    if (torn !== undefined) reason = `${name} is incomplete: ${torn}.`;
    left += bytes.byteLength - sound;
    if (sound > 0) await write(files, to, name, bytes.subarray(0, sound));
  }
  const identity = await renewIdentity(to, files, random);
  await files.syncDirectory(to);
  return {
    identity,
    last: index.last,
    ...(reason === undefined ? {} : { leftOut: { bytes: left, reason } }),
  };
}

async function listed(directory: string, files: FilePort): Promise<string[]> {
  const names = await segmentNames(directory, files).catch(() => []);
  if (names.length > 0) return names;
  throw new EarshotError("log_missing", `There is no log in ${directory}. Name the directory of the log.`);
}

async function refuseLog(directory: string, files: FilePort): Promise<void> {
  const names = await segmentNames(directory, files).catch(() => []);
  if (names.length > 0) {
    throw new EarshotError(
      "log_exists",
      `There is a log in ${directory} already. Name a directory that is empty or does not exist.`,
    );
  }
}

async function write(files: FilePort, to: string, name: string, bytes: Uint8Array): Promise<number> {
  const file = await files.open(join(to, name), true);
  try {
    await file.append(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  return bytes.byteLength;
}
