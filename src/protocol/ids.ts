/** Identifiers (3.2.3, 6.2.1): a prefix and 128 random bits in hex. Randomness is passed in. */
export type RandomBytes = (length: number) => Uint8Array;
/** What an id is for; ids begin with it. */
export type IdPrefix = "evt" | "sess" | "sub" | "rpl" | "call" | "out";
/** Generates an id with a prefix. */
export type Ids = (prefix: IdPrefix) => string;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random bytes from the platform's cryptography. */
export const systemRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length));

/** Creates a generator of random ids. */
export function createIds(random: RandomBytes = systemRandom): Ids {
  return (prefix) => {
    let id = `${prefix}_`;
    for (const byte of random(16)) id += HEX[byte];
    return id;
  };
}
