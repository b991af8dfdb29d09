/**
 * A delivered event_id is a cursor: it encodes the log, the position and, for text that was cut or events that were
 * merged, the run of pieces, the shape, and which event of the run it is (CON-76). Any process that has the log can
 * resume from it. A keyed checksum detects forged ids; it grants no access.
 */
import type { LogIdentity } from "./entry.ts";

/** A position between pieces: before piece `sub` of log entry `seq`. */
export interface Position {
  readonly seq: number;
  readonly sub: number;
}

/** Where in the log a subscription is. */
export type Cursor =
  | { readonly kind: "event"; readonly seq: number }
  | {
      readonly kind: "run";
      readonly from: Position;
      readonly to: Position;
      readonly index: number;
      readonly tag: string;
    };

export const TAG_LENGTH = 6;
const CHECKSUM_LENGTH = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A number of any size without a separator: its first digit is its length. */
function encodeNumber(value: number): string {
  let digits = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) digits = DIGITS[rest % 62] + digits;
  return DIGITS[digits.length] + digits;
}

/** A 35-bit keyed hash in six digits: two FNV-style hashes with a final mix. Not cryptographic. */
export function checksum(text: string, key: number): string {
  let a = 0x811c9dc5 ^ key;
  let b = 0x9747b28c ^ Math.imul(key, 0x85ebca6b);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995) ^ (b >>> 13);
  }
  a = mix(a ^ key);
  b = mix(b ^ a);
  const digit = (bits: number) => DIGITS.charCodeAt(bits % 62);
  return String.fromCharCode(
    digit(a),
    digit(b),
    digit(a >>> 8),
    digit(b >>> 8),
    digit(a >>> 16),
    digit(b >>> 16),
  );
}

function mix(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** `join` instead of a template: V8 keeps a concatenated string as its parts, and the log keeps these ids. */
const withChecksum = (body: string, { key }: LogIdentity): string =>
  ["evt_", body, checksum(body, key)].join("");

/** Cache: an id is needed when an event enters the log and again when it is delivered. */
const MAX_RECENT = 64;
const recent = Array.from({ length: MAX_RECENT }, () => ({
  log: undefined as LogIdentity | undefined,
  seq: 0,
  id: "",
}));

/** The event id that is the cursor of a position in the log. */
export function encodeEventId(log: LogIdentity, seq: number): string {
  const slot = recent[seq % MAX_RECENT]!;
  if (slot.seq !== seq || slot.log !== log) {
    slot.log = log;
    slot.seq = seq;
    slot.id = withChecksum(`${log.epoch}e${encodeNumber(seq)}`, log);
  }
  return slot.id;
}

export const encodeRunId = (
  log: LogIdentity,
  from: Position,
  to: Position,
  index: number,
  tag: string,
): string =>
  withChecksum(
    `${log.epoch}r${encodeNumber(from.seq)}${encodeNumber(from.sub)}${encodeNumber(to.seq)}${encodeNumber(to.sub)}${encodeNumber(index)}${tag}`,
    log,
  );

/**
 * The id for the unheard part of a run: the same position plus a hash of the content. Without the hash it could equal
 * an id used before, if text that the run was cut with then has aged out.
 */
export function encodeResentId(log: LogIdentity, id: string, content: string): string {
  const body = id.slice(4, -CHECKSUM_LENGTH);
  return body[log.epoch.length] === "r" ? withChecksum(`${body}${checksum(content, 0)}`, log) : id;
}

/** Decodes an id, or says why not: "foreign" is from another log, "forged" is not one of ours. */
export function decodeId(log: LogIdentity, id: string): Cursor | "foreign" | "forged" {
  const { epoch, key } = log;
  if (!/^evt_[A-Za-z0-9]+$/.test(id) || id.length < 4 + epoch.length + 2 + CHECKSUM_LENGTH) return "forged";
  const body = id.slice(4, -CHECKSUM_LENGTH);
  if (!body.startsWith(epoch)) return "foreign";
  if (checksum(body, key) !== id.slice(-CHECKSUM_LENGTH)) return "forged";
  let at = epoch.length + 1;
  const read = (): number => {
    const length = DIGITS.indexOf(body[at] ?? "0");
    let value = 0;
    for (const digit of body.slice(at + 1, at + 1 + length)) value = value * 62 + DIGITS.indexOf(digit);
    at += 1 + length;
    return value;
  };
  if (body[epoch.length] === "e") return { kind: "event", seq: read() };
  return {
    kind: "run",
    from: { seq: read(), sub: read() },
    to: { seq: read(), sub: read() },
    index: read(),
    tag: body.slice(at, at + TAG_LENGTH),
  };
}

export const comparePositions = (a: Position, b: Position): number => a.seq - b.seq || a.sub - b.sub;
