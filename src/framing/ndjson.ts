/** One compact JSON document per line, ended by LF (B.4.4, B.6.1, TRN-02). Compact JSON contains no LF. */
import { type Decoder, type FramingFault, MAX_MESSAGE_BYTES, PartialMessage } from "./bytes.ts";

const LF = 0x0a;
const CR = 0x0d;
const encoder = new TextEncoder();

/** `text` is compact JSON. */
export const encodeLine = (text: string): Uint8Array => encoder.encode(`${text}\n`);

/** Ignores empty lines and a CR before the LF: people type these, and some languages write them. */
export function createLineDecoder(maxBytes = MAX_MESSAGE_BYTES): Decoder {
  const partial = new PartialMessage();
  let fault: FramingFault | undefined;

  const trimmed = (line: Uint8Array): Uint8Array => (line.at(-1) === CR ? line.subarray(0, -1) : line);

  return {
    feed(chunk) {
      const messages: Uint8Array[] = [];
      let at = 0;
      while (!fault && at < chunk.byteLength) {
        const end = chunk.indexOf(LF, at);
        const part = chunk.subarray(at, end < 0 ? chunk.byteLength : end);
        // One more byte for the CR, which is not part of the message.
        if (partial.length + part.byteLength > maxBytes + 1) {
          fault = "too_large";
          break;
        }
        if (end < 0) {
          partial.add(part);
          break;
        }
        at = end + 1;
        if (partial.length > 0) partial.add(part);
        const line = trimmed(partial.length > 0 ? partial.take() : part);
        if (line.byteLength > maxBytes) fault = "too_large";
        else if (line.byteLength > 0) messages.push(line);
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
