/** Decodes UTF-8 that arrives in chunks; a character may be split between two. */
export function createUtf8Decoder(): (bytes: Uint8Array) => string {
  const inParts = new TextDecoder();
  const whole = new TextDecoder("utf-8", { ignoreBOM: true });
  /** After ASCII, more ASCII is likely. Decoding it without `stream` is several times faster. */
  let ascii = false;
  return (bytes) => {
    const complete = bytes.length > 0 && bytes[bytes.length - 1]! < 0x80;
    const text = ascii && complete ? whole.decode(bytes) : inParts.decode(bytes, { stream: true });
    ascii = complete && text.length === bytes.length;
    return text;
  };
}
