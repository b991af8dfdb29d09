/**
 * A delivered event_id is a cursor: it says which log, which place, and, for text that was cut or events that were
 * merged, which run of pieces it came from, under which shape and as which of the run's events (CON-76). Any process
 * that holds the log can go on from it. A keyed seal tells ids of ours from forged ones; it grants nothing.
 */
import type { LogIdentity } from "./entry.ts";

/** A place between pieces: before the piece `sub` of log entry `seq`. */
export interface Place {
  readonly seq: number;
  readonly sub: number;
}

export type Cursor =
  | { readonly kind: "event"; readonly seq: number }
  | {
      readonly kind: "run";
      readonly from: Place;
      readonly to: Place;
      readonly index: number;
      readonly tag: string;
    };

export const TAG_LENGTH = 6;
const SEAL_LENGTH = 6;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Numbers of any size without a separator: one digit says how many follow. */
function encodeNumber(value: number): string {
  let digits = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) digits = DIGITS[rest % 62] + digits;
  return DIGITS[digits.length] + digits;
}

/** A 35-bit keyed hash in six digits: two FNV-style lanes, finished with a strong mix. Not a secret keeper. */
export function seal(text: string, key: number): string {
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

/** Joined, because the log keeps it: a template is remembered as the parts it was made of. */
const sealed = (body: string, { key }: LogIdentity): string => ["evt_", body, seal(body, key)].join("");

/** Asked for where an event enters the log, and again where it leaves: the last ones are remembered. */
const MOST_RECENT = 64;
const recent = Array.from({ length: MOST_RECENT }, () => ({
  log: undefined as LogIdentity | undefined,
  seq: 0,
  id: "",
}));

export function encodeEventId(log: LogIdentity, seq: number): string {
  const slot = recent[seq % MOST_RECENT]!;
  if (slot.seq !== seq || slot.log !== log) {
    slot.log = log;
    slot.seq = seq;
    slot.id = sealed(`${log.epoch}e${encodeNumber(seq)}`, log);
  }
  return slot.id;
}

export const encodeRunId = (log: LogIdentity, from: Place, to: Place, index: number, tag: string): string =>
  sealed(
    `${log.epoch}r${encodeNumber(from.seq)}${encodeNumber(from.sub)}${encodeNumber(to.seq)}${encodeNumber(to.sub)}${encodeNumber(index)}${tag}`,
    log,
  );

/**
 * The id for what a run holds beyond what was heard of it: the same place, marked with what is told. Without the mark it
 * might be an id that was used before, where the log has let go of text that the run was cut with then.
 */
export function encodeRetoldId(log: LogIdentity, id: string, told: string): string {
  const body = id.slice(4, -SEAL_LENGTH);
  return body[log.epoch.length] === "r" ? sealed(`${body}${seal(told, 0)}`, log) : id;
}

/** The cursor an id stands for, or why it is none: another log's, or not one of ours. */
export function decodeId(log: LogIdentity, id: string): Cursor | "foreign" | "forged" {
  const { epoch, key } = log;
  if (!/^evt_[A-Za-z0-9]+$/.test(id) || id.length < 4 + epoch.length + 2 + SEAL_LENGTH) return "forged";
  const body = id.slice(4, -SEAL_LENGTH);
  if (!body.startsWith(epoch)) return "foreign";
  if (seal(body, key) !== id.slice(-SEAL_LENGTH)) return "forged";
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

export const comparePlaces = (a: Place, b: Place): number => a.seq - b.seq || a.sub - b.sub;
