/**
 * A segment file: a header, then records, each with its length and a checksum over both. A record that is cut short or
 * does not match at the very end of the last segment is a write that never finished and was never acknowledged; the
 * same anywhere else is damage, and is named, never skipped (F05).
 */
import { crc32 } from "node:zlib";
import { EarshotError } from "../../protocol/errors.ts";

export const HEADER = Buffer.from("EARSHOT\u0001", "latin1");
const PREFIX = 8;
const LARGEST_RECORD = 4 * 1024 * 1024;

export function encodeRecord(payload: string): Buffer {
  const size = Buffer.byteLength(payload);
  const record = Buffer.allocUnsafe(PREFIX + size);
  record.writeUInt32LE(size, 0);
  record.write(payload, PREFIX, "utf8");
  record.writeUInt32LE(checksum(record, size), 4);
  return record;
}

/** Over the length as well: a flipped length must not pass for another record. */
const checksum = (record: Uint8Array, size: number): number =>
  crc32(record.subarray(PREFIX, PREFIX + size), size) >>> 0;

export interface ReadSegment {
  readonly payloads: string[];
  /** Bytes up to the end of the last whole record. */
  readonly sound: number;
}

/** `last`: the segment being written when the process ended; only there may the end be torn. */
export function readSegment(bytes: Uint8Array, name: string, last: boolean): ReadSegment {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const torn = (at: number, what: string): ReadSegment => {
    if (last && nothingSoundAfter(buffer, at)) return { payloads, sound: at };
    throw new EarshotError(
      "log_damaged",
      `The log file ${name} is damaged at byte ${at}: ${what}. Restore it from a backup; nothing was changed.`,
    );
  };
  const payloads: string[] = [];
  if (buffer.length < HEADER.length) {
    if (last) return { payloads, sound: 0 };
    throw new EarshotError(
      "log_damaged",
      `The log file ${name} is cut off in its header. Restore it from a backup; nothing was changed.`,
    );
  }
  if (!buffer.subarray(0, HEADER.length).equals(HEADER)) {
    const version = buffer.subarray(0, 7).equals(HEADER.subarray(0, 7))
      ? `has version ${buffer[7]}, which this release cannot read`
      : "is not a log of ours";
    throw new EarshotError("log_unreadable", `The log file ${name} ${version}.`);
  }
  let at = HEADER.length;
  while (at < buffer.length) {
    if (buffer.length - at < PREFIX) return torn(at, "a record is cut off");
    const size = buffer.readUInt32LE(at);
    if (size > LARGEST_RECORD || at + PREFIX + size > buffer.length)
      return torn(at, "a record is longer than the file");
    const record = buffer.subarray(at, at + PREFIX + size);
    if (checksum(record, size) !== record.readUInt32LE(4))
      return torn(at, "a record does not match its checksum");
    payloads.push(record.toString("utf8", PREFIX));
    at += PREFIX + size;
  }
  return { payloads, sound: at };
}

/** A torn write leaves nothing behind it. A sound record after a broken one means that the broken one was acknowledged once. */
function nothingSoundAfter(buffer: Buffer, broken: number): boolean {
  for (let at = broken + 1; at + PREFIX < buffer.length; at++) {
    const size = buffer.readUInt32LE(at);
    if (size === 0 || size > LARGEST_RECORD || at + PREFIX + size > buffer.length) continue;
    if (checksum(buffer.subarray(at, at + PREFIX + size), size) === buffer.readUInt32LE(at + 4)) return false;
  }
  return true;
}
