/** As much of the protocol buffers' encoding as AAEP over gRPC needs: fields with a length, read safely and written. */

/** Deeper nests of the old group encoding are somebody's test of our patience. */
const DEEPEST_GROUP = 32;

const WIRE_TYPE = { varint: 0, fixed64: 1, length: 2, start: 3, end: 4, fixed32: 5 } as const;

/**
 * The fields with a length, by number; of repeated ones the last, as the encoding says. Others are passed over.
 * Undefined where the bytes are no message at all.
 */
export function readFields(bytes: Uint8Array): Map<number, Uint8Array> | undefined {
  const fields = new Map<number, Uint8Array>();
  const groups: number[] = [];
  let at = 0;
  /** NaN beyond the end, or beyond the ten bytes that the longest number takes. */
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
        // Compared before anything is cut: a size may promise more than there is.
        if (!(size <= bytes.length - at)) return undefined;
        if (groups.length === 0) fields.set(number, bytes.subarray(at, at + size));
        at += size;
        break;
      }
      case WIRE_TYPE.start:
        if (groups.push(number) > DEEPEST_GROUP) return undefined;
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

/** One field: text and bytes with their length, numbers as such. Absent ones are left out, as proto3 does. */
export function field(number: number, value: string | Uint8Array | number | undefined): Buffer {
  if (value === undefined || value === "") return Buffer.alloc(0);
  if (typeof value === "number") return Buffer.from([...varintOf(number * 8), ...varintOf(value)]);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([Buffer.from([...varintOf(number * 8 + 2), ...varintOf(bytes.byteLength)]), bytes]);
}

export const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields);
