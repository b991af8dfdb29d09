/** Four bytes of length, most significant first, then so many bytes of JSON (B.3.4, B.4.4, IPC-04, IPC-09). */
import { type Decoder, type FramingFault, MOST_MESSAGE_BYTES, Rest } from "./bytes.ts";

const HEADER = 4;
const encoder = new TextEncoder();

export function encodeLengthPrefix(text: string): Uint8Array {
  const json = encoder.encode(text);
  const frame = new Uint8Array(HEADER + json.byteLength);
  new DataView(frame.buffer).setUint32(0, json.byteLength);
  frame.set(json, HEADER);
  return frame;
}

const lengthAt = (bytes: Uint8Array, at: number): number =>
  // Not with <<: a first byte above 0x7f would make it negative, and so never too large.
  bytes[at]! * 0x1000000 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!);

export function createLengthPrefixDecoder(most = MOST_MESSAGE_BYTES): Decoder {
  const rest = new Rest();
  let fault: FramingFault | undefined;

  /** Undefined while the header itself is incomplete. */
  const sizeOf = (bytes: Uint8Array, at: number): number | undefined => {
    if (bytes.byteLength - at < HEADER) return undefined;
    const size = lengthAt(bytes, at);
    // Refused when it is announced, not once it has come (A11). Nothing is no message, and lets nobody spin us.
    if (size > most) fault = "too_large";
    else if (size === 0) fault = "not_framed";
    return size;
  };

  return {
    feed(chunk) {
      const messages: Uint8Array[] = [];
      let at = 0;
      // First the message that is under way: only what it lacks is copied.
      while (!fault && rest.length > 0 && at < chunk.byteLength) {
        const size = sizeOf(rest.bytes, 0);
        if (fault) break;
        const wanted = size === undefined ? HEADER - rest.length : HEADER + size - rest.length;
        const part = chunk.subarray(at, at + wanted);
        rest.add(part);
        at += part.byteLength;
        const now = size ?? sizeOf(rest.bytes, 0);
        if (!fault && now !== undefined && rest.length === HEADER + now)
          messages.push(rest.take().subarray(HEADER));
      }
      while (!fault && at < chunk.byteLength) {
        const size = sizeOf(chunk, at);
        if (fault) break;
        if (size === undefined || chunk.byteLength - at < HEADER + size) {
          rest.add(chunk.subarray(at));
          break;
        }
        messages.push(chunk.subarray(at + HEADER, at + HEADER + size));
        at += HEADER + size;
      }
      if (fault) rest.take();
      return messages;
    },
    get fault() {
      return fault;
    },
    get waiting() {
      return rest.length;
    },
  };
}
