/** Key files: private keys that only the owner may read, and public keys to publish. */
import { readFile, stat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { JSONWebKeySet, JWK } from "jose";
import { CommandError, type Io, say, usage } from "./command.ts";
import { fileError } from "./io.ts";

/** Only fields known to be public, because an unknown field may be secret. */
export function publicHalf({ kty, crv, x, y, n, e, kid, alg }: JWK): JWK {
  const known = Object.entries({ kty, crv, x, y, n, e, kid, alg, use: "sig" });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined)) as JWK;
}

export const isPrivate = ({ d }: JWK): boolean => d !== undefined;

/** Creates a file that only its owner can read. Never overwrites a file. */
export async function writeKey(io: Io, name: string, key: JWK): Promise<void> {
  try {
    await writeFile(resolve(io.cwd, name), `${JSON.stringify(key, undefined, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST")
      throw usage(`${name} already exists, and an overwritten key cannot be recovered. Choose another name.`);
    throw fileError(error, name);
  }
}

/** Reads a JWK or a JWKS. */
export async function readKeys(io: Io, name: string): Promise<JSONWebKeySet> {
  const path = resolve(io.cwd, name);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw fileError(error, name);
  }
  const keys = keysIn(text);
  if (!keys)
    throw new CommandError(
      `${name} contains no key. It must be a JWK or a JWKS; "earshot keys -o key.json" creates one.`,
    );
  if (process.platform !== "win32" && keys.some(isPrivate) && ((await stat(path)).mode & 0o077) !== 0)
    say(
      io,
      `Warning: ${name} contains a private key, and others on this machine can read it. Run: chmod 600 ${name}`,
    );
  return { keys };
}

function keysIn(text: string): JWK[] | undefined {
  try {
    const value = JSON.parse(text) as { keys?: unknown; kty?: unknown };
    const keys = Array.isArray(value.keys) ? (value.keys as JWK[]) : [value as JWK];
    return keys.length > 0 && keys.every((key) => typeof key?.kty === "string") ? keys : undefined;
  } catch {
    return undefined;
  }
}
