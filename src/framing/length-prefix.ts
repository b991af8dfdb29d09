/** A four-byte big-endian length, then that many bytes of JSON (B.3.4, B.4.4, IPC-04, IPC-09). */
import { type Decoder, type FramingFault, MAX_MESSAGE_BYTES, PartialMessage } from "./bytes.ts";

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
  // Not with <<: a first byte above 0x7f would make the length negative, and so never too large.
  bytes[at]! * 0x1000000 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!);

export function createLengthPrefixDecoder(maxBytes = MAX_MESSAGE_BYTES): Decoder {
  const partial = new PartialMessage();
  let fault: FramingFault | undefined;

  /** Undefined while the header is incomplete. */
  const sizeOf = (bytes: Uint8Array, at: number): number | undefined => {
    if (bytes.byteLength - at < HEADER) return undefined;
    const size = lengthAt(bytes, at);
    // Refused when it is announced, not after it has arrived (A11). An empty message is not valid either.
    if (size > maxBytes) fault = "too_large";
    else if (size === 0) fault = "not_framed";
    return size;
  };

  return {
    feed(chunk) {
      const messages: Uint8Array[] = [];
      let at = 0;
      // First the incomplete message: only its missing bytes are copied.
      while (!fault && partial.length > 0 && at < chunk.byteLength) {
        const size = sizeOf(partial.bytes, 0);
        if (fault) break;
        const wanted = size === undefined ? HEADER - partial.length : HEADER + size - partial.length;
        const part = chunk.subarray(at, at + wanted);
        partial.add(part);
        at += part.byteLength;
        const now = size ?? sizeOf(partial.bytes, 0);
        if (!fault && now !== undefined && partial.length === HEADER + now)
          messages.push(partial.take().subarray(HEADER));
      }
      while (!fault && at < chunk.byteLength) {
        const size = sizeOf(chunk, at);
        if (fault) break;
        if (size === undefined || chunk.byteLength - at < HEADER + size) {
          partial.add(chunk.subarray(at));
          break;
        }
        messages.push(chunk.subarray(at + HEADER, at + HEADER + size));
        at += HEADER + size;
      }
      if (fault) partial.take();
      return messages;
    },
    get fault() {
      return fault;
    },
    get buffered() {
      return partial.length;
    },
  };
}
