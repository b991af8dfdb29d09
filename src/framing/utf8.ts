/** Bytes as they come from a network become text; a character may come in two parts. */
export function createUtf8Decoder(): (bytes: Uint8Array) => string {
  const inParts = new TextDecoder();
  const whole = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The last bytes were ASCII, and most likely the next are: those are decoded several times faster on their own. */
  let ascii = false;
  return (bytes) => {
    const complete = bytes.length > 0 && bytes[bytes.length - 1]! < 0x80;
    const text = ascii && complete ? whole.decode(bytes) : inParts.decode(bytes, { stream: true });
    ascii = complete && text.length === bytes.length;
    return text;
  };
}
