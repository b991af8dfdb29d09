/** Reads a log directory into a ledger: everything is checked, nothing is changed. */
import { join } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, readText } from "./file-port.ts";
import { Ledger, type Segment } from "./ledger.ts";
import { type ScannedSegment, scanSegment, segmentNumber } from "./segment.ts";

/** Written when a log is closed in order: nothing before this place can be an unfinished write. */
export const CLOSED = "closed.json";

export interface Closed {
  readonly segment: string;
  readonly size: number;
}

export interface Recovered {
  readonly ledger: Ledger;
  readonly torn?: {
    readonly bytes: number;
    readonly what: string;
    /** The last file has not even a whole header. */
    readonly header: boolean;
  };
}

export const segmentNames = async (directory: string, files: FilePort): Promise<string[]> =>
  (await files.list(directory)).filter((name) => segmentNumber(name) !== undefined).sort();

export async function recover(directory: string, files: FilePort): Promise<Recovered> {
  const names = await segmentNames(directory, files);
  const ledger = new Ledger();
  const closed = await readClosed(directory, files);
  if (closed && !names.includes(closed.segment)) throw missing(directory, closed.segment);
  let torn: Recovered["torn"];
  for (const [i, name] of names.entries()) {
    const first = segmentNumber(name)!;
    if (i > 0 && first !== ledger.next) throw missing(directory, `before ${name}`);
    const bytes = await files.read(join(directory, name));
    const last = i === names.length - 1;
    const whole = closed?.segment === name ? closed.size : 0;
    if (bytes.byteLength < whole) {
      throw new EarshotError(
        "log_damaged",
        `The log file ${name} had ${whole} bytes when it was closed and has ${bytes.byteLength} now. Restore it from a backup; nothing was changed.`,
      );
    }
    const scanned = scanInto(ledger, bytes, name, last ? whole : Number.POSITIVE_INFINITY);
    const cut = bytes.byteLength - scanned.sound;
    if (scanned.torn !== undefined) torn = { bytes: cut, what: scanned.torn, header: scanned.sound === 0 };
  }
  const [oldest] = ledger.segments;
  const expected = ledger.base ?? (oldest?.header.version === 1 ? oldest.first : 1);
  if (oldest && oldest.first > expected) throw missing(directory, `before ${oldest.name}`);
  ledger.settle();
  return { ledger, ...(torn ? { torn } : {}) };
}

/** Begins the segment in the ledger and takes every whole record of it. */
export function scanInto(ledger: Ledger, bytes: Uint8Array, name: string, tornFrom: number): ScannedSegment {
  let segment: Segment | undefined;
  const first = segmentNumber(name)!;
  const scanned = scanSegment(bytes, { name, tornFrom }, (header, batch, at) => {
    segment ??= ledger.begin(name, first, header);
    ledger.take(segment, batch, at);
  });
  segment ??= ledger.begin(name, first, scanned.header);
  segment.size = scanned.sound;
  return scanned;
}

const missing = (directory: string, what: string): EarshotError =>
  new EarshotError(
    "log_damaged",
    `The log in ${directory} is not whole: a file is missing (${what}). Restore it from a backup; nothing was changed.`,
  );

async function readClosed(directory: string, files: FilePort): Promise<Closed | undefined> {
  const text = await readText(files, join(directory, CLOSED));
  if (text === undefined) return undefined;
  try {
    const { segment, size } = JSON.parse(text) as Closed;
    if (segmentNumber(segment) !== undefined && Number.isInteger(size)) return { segment, size };
  } catch {
    // Said below.
  }
  throw new EarshotError(
    "log_damaged",
    `${join(directory, CLOSED)} is damaged. Remove it and start again: then the end of the log is checked less strictly.`,
  );
}
