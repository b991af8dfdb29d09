/**
 * The part of the protocol buffers encoding that AAEP over gRPC needs: length-delimited fields, and the messages
 * AaepMessage and Manifest (GRPC-02). The JSON inside is the message; `message_type` only repeats its type.
 */
import type { Delivery } from "../../protocol/hub-port.ts";

/** Deeper nesting of the deprecated group encoding is refused. */
const MAX_GROUP_DEPTH = 32;

const WIRE_TYPE = { varint: 0, fixed64: 1, length: 2, start: 3, end: 4, fixed32: 5 } as const;

/**
 * The length-delimited fields, by number; the last of repeated ones, as the encoding says. Others are skipped.
 * Undefined if the bytes are not a message.
 */
export function readFields(bytes: Uint8Array): Map<number, Uint8Array> | undefined {
  const fields = new Map<number, Uint8Array>();
  const groups: number[] = [];
  let at = 0;
  /** NaN past the end, or past the ten bytes of the longest number. */
  const varint = (): number => {
    let value = 0;
    for (let scale = 1, n = 0; n < 10; n++, scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) return Number.NaN;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return Number.NaN;
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (!(tag < 2 ** 32) || number === 0) return undefined;
    switch (tag % 8) {
      case WIRE_TYPE.varint:
        if (Number.isNaN(varint())) return undefined;
        break;
      case WIRE_TYPE.fixed64:
        at += 8;
        break;
      case WIRE_TYPE.fixed32:
        at += 4;
        break;
      case WIRE_TYPE.length: {
        const size = varint();
        // A declared size may exceed the bytes there are.
        if (!(size <= bytes.length - at)) return undefined;
        if (groups.length === 0) fields.set(number, bytes.subarray(at, at + size));
        at += size;
        break;
      }
      case WIRE_TYPE.start:
        if (groups.push(number) > MAX_GROUP_DEPTH) return undefined;
        break;
      case WIRE_TYPE.end:
        if (groups.pop() !== number) return undefined;
        break;
      default:
        return undefined;
    }
    if (at > bytes.length) return undefined;
  }
  return groups.length === 0 ? fields : undefined;
}

function varintOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** One field: text and bytes with their length, numbers as varints. Absent values are omitted, as in proto3. */
export function field(number: number, value: string | Uint8Array | number | undefined): Buffer {
  if (value === undefined || value === "") return Buffer.alloc(0);
  if (typeof value === "number") return Buffer.from([...varintOf(number * 8), ...varintOf(value)]);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([Buffer.from([...varintOf(number * 8 + 2), ...varintOf(bytes.byteLength)]), bytes]);
}

export const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields);

/** How events begin: their type is found without parsing them. */
const EVENT_START =
  /^\{"@context":(?:"[^"\\]*"|\["[^\]\\]*"\]),(?:"aaep_version":"[^"\\]*",)?"type":"([^"\\]*)"/;

function typeOf(json: string): string {
  const found = EVENT_START.exec(json)?.[1];
  return found ?? String((JSON.parse(json) as { type?: unknown }).type ?? "");
}

export const encodeEvent = ({ json }: Delivery): Buffer => encodeAaepMessage(json, typeOf(json));

export const encodeAaepMessage = (json: string | Uint8Array, message_type: string): Buffer =>
  message(field(1, json), field(2, message_type));

/** The JSON of a message, not parsed; undefined if the bytes are not an AaepMessage. `message_type` is ignored (CON-63). */
export function decodeJson(bytes: Uint8Array): Uint8Array | undefined {
  const fields = readFields(bytes);
  return fields && (fields.get(1) ?? new Uint8Array());
}

export const encodeManifest = (json: string): Buffer => field(1, json);
