/** The identity of a log. A wiped, restored or copied log gets a new one, so that old cursors are detected (F06). */
import { join } from "node:path";
import type { LogIdentity } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import type { RandomBytes } from "../../protocol/ids.ts";
import { type FilePort, readText, replaceFile } from "./file-port.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const IDENTITY = "identity.json";

interface Kept extends LogIdentity {
  /** The inode of the file when it was written: a copy has another one. */
  readonly inode?: string;
  /** The file's birth time in milliseconds: a log that was deleted and put back may get the same inode. */
  readonly born?: number;
}

/** Some file systems report another time instead, which changes a little while the file is created. */
const SAME_TIME_MS = 10_000;

export async function identify(
  directory: string,
  files: FilePort,
  random: RandomBytes,
): Promise<LogIdentity> {
  const path = join(directory, IDENTITY);
  const kept = await readIdentity(directory, files);
  if (kept) {
    const { inode, born } = await files.stat(path);
    // Written by an older version without the inode: the same log, from now on with it.
    if (kept.inode === undefined) return write(directory, files, kept);
    if (kept.inode === inode && Math.abs(born - (kept.born ?? born)) < SAME_TIME_MS)
      return { epoch: kept.epoch, key: kept.key };
  }
  return renewIdentity(directory, files, random);
}

export function renewIdentity(directory: string, files: FilePort, random: RandomBytes): Promise<LogIdentity> {
  const bytes = random(10);
  const epoch = Array.from(bytes.subarray(0, 6), (byte) => DIGITS[byte % 62]).join("");
  const key = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6);
  return write(directory, files, { epoch, key });
}

export async function readIdentity(directory: string, files: FilePort): Promise<Kept | undefined> {
  const path = join(directory, IDENTITY);
  const text = await readText(files, path);
  if (text === undefined) return undefined;
  try {
    const { epoch, key, inode, born } = JSON.parse(text) as Kept;
    if (/^[A-Za-z0-9]{6}$/.test(epoch) && Number.isInteger(key))
      return {
        epoch,
        key,
        ...(inode === undefined ? {} : { inode }),
        ...(born === undefined ? {} : { born }),
      };
  } catch {
    // Reported below.
  }
  throw new EarshotError(
    "log_damaged",
    `${path} is damaged. Remove it and start again: the log gets a new identity, and listeners are told of a gap.`,
  );
}

async function write(directory: string, files: FilePort, { epoch, key }: LogIdentity): Promise<LogIdentity> {
  await replaceFile(files, directory, join(directory, IDENTITY), ({ inode, born }) =>
    JSON.stringify({ epoch, key, inode, born }),
  );
  return { epoch, key };
}
