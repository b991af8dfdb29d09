/** What all framings share: how large one message may be, and a buffer that grows with what came, never with what was announced. */

/** LIM-08, TRN-12: a peer must be able to send 64 KiB, should be able to send this, and cannot send more. */
export const MOST_MESSAGE_BYTES = 1_048_576;

/** Why a stream of bytes cannot be read on. It stays so: after a fault nobody knows where the next message begins. */
export type FramingFault = "too_large" | "not_framed";

export interface Decoder {
  /** The messages that are complete now, as bytes. They are valid until the next call. */
  feed(chunk: Uint8Array): Uint8Array[];
  readonly fault: FramingFault | undefined;
  /** Bytes of a message that is not complete yet. */
  readonly waiting: number;
}

/**
 * The bytes of an unfinished message. One byte at a time costs no more than all at once: a list of chunks would let a
 * peer that sends single bytes use a hundred times the memory it sent.
 */
export class Rest {
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

  /** Gives the buffer away, and keeps nothing of it: what is idle holds no memory. */
  take(): Uint8Array {
    const { bytes } = this;
    this.#bytes = new Uint8Array(0);
    this.length = 0;
    return bytes;
  }
}
