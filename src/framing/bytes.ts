/** Shared by all framings: the size limit, and a buffer that grows with the bytes received, not with an announced size. */

/** LIM-08, TRN-12: a peer must be able to send 64 KiB, should be able to send this, and cannot send more. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** Why no more messages can be read. Permanent: after a fault it is unknown where the next message begins. */
export type FramingFault = "too_large" | "not_framed";

export interface Decoder {
  /** The messages completed by this chunk. Their bytes are valid until the next call. */
  feed(chunk: Uint8Array): Uint8Array[];
  readonly fault: FramingFault | undefined;
  /** Bytes of an incomplete message. */
  readonly buffered: number;
}

/**
 * The bytes of an incomplete message, in one growing buffer: with a list of chunks, a peer that sends single bytes
 * would use a hundred times the memory it sent.
 */
export class PartialMessage {
  #bytes = new Uint8Array(0);
  length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  add(chunk: Uint8Array): void {
    const needed = this.length + chunk.byteLength;
    if (needed > this.#bytes.byteLength) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.byteLength, 256));
      grown.set(this.bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.length);
    this.length = needed;
  }

  /** Returns the bytes and releases the buffer, so that an idle connection holds no memory. */
  take(): Uint8Array {
    const { bytes } = this;
    this.#bytes = new Uint8Array(0);
    this.length = 0;
    return bytes;
  }
}
