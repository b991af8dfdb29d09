/** One compact JSON document per line, LF at its end (B.4.4, B.6.1, TRN-02). JSON text holds no bare LF, so a line is a message. */
import { type Decoder, type FramingFault, MOST_MESSAGE_BYTES, Rest } from "./bytes.ts";

const LF = 0x0a;
const CR = 0x0d;
const encoder = new TextEncoder();

/** `text` is compact JSON. */
export const encodeLine = (text: string): Uint8Array => encoder.encode(`${text}\n`);

/** Empty lines are passed over, and a CR before the LF: people type these, and some languages write them. */
export function createLineDecoder(most = MOST_MESSAGE_BYTES): Decoder {
  const rest = new Rest();
  let fault: FramingFault | undefined;

  const trimmed = (line: Uint8Array): Uint8Array => (line.at(-1) === CR ? line.subarray(0, -1) : line);

  return {
    feed(chunk) {
      const messages: Uint8Array[] = [];
      let at = 0;
      while (!fault && at < chunk.byteLength) {
        const end = chunk.indexOf(LF, at);
        const part = chunk.subarray(at, end < 0 ? chunk.byteLength : end);
        // One byte more for the CR, which is no part of the message.
        if (rest.length + part.byteLength > most + 1) {
          fault = "too_large";
          break;
        }
        if (end < 0) {
          rest.add(part);
          break;
        }
        at = end + 1;
        if (rest.length > 0) rest.add(part);
        const line = trimmed(rest.length > 0 ? rest.take() : part);
        if (line.byteLength > most) fault = "too_large";
        else if (line.byteLength > 0) messages.push(line);
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
