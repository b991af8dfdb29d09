/**
 * SHA-256 (FIPS 180-4), synchronous. WebCrypto is asynchronous, and nothing else may run between checking the
 * parameters of a tool and running it with them.
 */
const K = /* @__PURE__ */ (() => {
  const constants = new Uint32Array(64);
  const isPrime = (n: number) => {
    for (let i = 2; i * i <= n; i++) if (n % i === 0) return false;
    return true;
  };
  for (let n = 2, i = 0; i < 64; n++) if (isPrime(n)) constants[i++] = fraction(Math.cbrt(n));
  return constants;
})();

function fraction(x: number): number {
  return ((x - Math.floor(x)) * 2 ** 32) >>> 0;
}

const rotate = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

export function sha256Hex(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const hash = Uint32Array.from([2, 3, 5, 7, 11, 13, 17, 19], (prime) => fraction(Math.sqrt(prime)));
  const w = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const s0 = rotate(w[i - 15]!, 7) ^ rotate(w[i - 15]!, 18) ^ (w[i - 15]! >>> 3);
      const s1 = rotate(w[i - 2]!, 17) ^ rotate(w[i - 2]!, 19) ^ (w[i - 2]! >>> 10);
      w[i] = w[i - 16]! + s0 + w[i - 7]! + s1;
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    for (let i = 0; i < 64; i++) {
      const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const one = (h + big1 + ((e & f) ^ (~e & g)) + K[i]! + w[i]!) | 0;
      const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const two = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) hash[i]! += value;
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}
