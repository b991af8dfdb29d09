/** Bearer JWTs (chapter 10): keys, issuer, audience and algorithms are pinned; a token cannot choose its key (A21). */
import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  importJWK,
  importSPKI,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { EarshotError } from "../protocol/errors.ts";
import type { Principal } from "../protocol/principal.ts";
import type { Authenticator } from "./authenticate.ts";

/** Options of `jwtAuthenticator`. */
export interface JwtOptions {
  readonly issuer: string;
  readonly audience: string;
  /** The URL of the issuer's public keys, or the keys themselves. Pass this or `key`. */
  readonly jwks?: string | JSONWebKeySet;
  /** One public key: a JWK, a CryptoKey, or PEM text that begins with BEGIN PUBLIC KEY. */
  readonly key?: JWK | CryptoKey | string;
  /** Asymmetric algorithms only; ES256 and RS256 by default. */
  readonly algorithms?: readonly string[];
  /** The `typ` every token must have, such as "at+jwt": refuses tokens of the same issuer for other purposes. */
  readonly typ?: string;
  /** How far the issuer's clock may be off; 5 seconds by default. */
  readonly toleranceSeconds?: number;
  /** Rights for these claims; by default the subject may receive and answer sessions of audience "user:<sub>". */
  readonly authorize?: (
    claims: Readonly<Record<string, unknown>>,
  ) => Principal | undefined | Promise<Principal | undefined>;
  /** Called with the reason for a refusal, a code such as ERR_JWT_EXPIRED. For logs, never for peers. */
  readonly refused?: (code: string) => void;
}

const ASYMMETRIC = /^(?:ES|RS|PS)(?:256|384|512)$|^Ed25519$|^EdDSA$/;
/** The limit of a header; real tokens are much shorter. */
const MAX_TOKEN_LENGTH = 16_384;

/** Authenticates callers by a bearer JWT. Verifies signature, issuer, audience and times. */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, algorithms = ["ES256", "RS256"], typ, toleranceSeconds = 5 } = options;
  const { authorize = bySubject, refused = () => {} } = options;
  const unsafe = algorithms.filter((name) => !ASYMMETRIC.test(name));
  if (unsafe.length > 0 || algorithms.length === 0) {
    throw new EarshotError(
      "unsafe_algorithm",
      `Tokens cannot be verified with ${unsafe.join(", ") || "an empty list of algorithms"}. Use asymmetric algorithms such as ES256.`,
    );
  }
  if (!issuer || !audience) {
    throw new EarshotError(
      "unsafe_token_check",
      "Pass both `issuer` and `audience`: without them, tokens for other services would be accepted.",
    );
  }
  const keys = keysOf(options, algorithms[0]!);
  const pinned = {
    issuer,
    audience,
    algorithms: [...algorithms],
    clockTolerance: toleranceSeconds,
    requiredClaims: ["exp", "sub"],
    ...(typ === undefined ? {} : { typ }),
  };
  return async ({ bearer }) => {
    if (bearer === undefined || bearer.length > MAX_TOKEN_LENGTH || bearer.split(".").length !== 3)
      return undefined;
    let claims: JWTPayload;
    try {
      claims = (await jwtVerify(bearer, keys, pinned)).payload;
    } catch (error) {
      refused(String((error as { code?: unknown }).code ?? "ERR_JWT_INVALID"));
      return undefined;
    }
    const principal = await authorize(claims);
    if (!principal) return undefined;
    const expiresAt = Math.min(principal.expiresAt ?? Infinity, (claims.exp! + toleranceSeconds) * 1000);
    return { ...principal, expiresAt };
  };
}

function keysOf({ jwks, key }: JwtOptions, alg: string): JWTVerifyGetKey {
  if ((jwks === undefined) === (key === undefined)) {
    throw new EarshotError(
      "unsafe_token_check",
      "Pass either `jwks` (a URL or a key set) or `key`, not both.",
    );
  }
  if (key !== undefined) {
    // Imported once. An invalid key refuses every token; it must not crash the process.
    const imported: Promise<unknown> =
      typeof key === "string"
        ? importSPKI(key, alg)
        : "kty" in key
          ? importJWK(asPublic(key as JWK), alg)
          : Promise.resolve(key);
    imported.catch(() => {});
    return (() => imported) as unknown as JWTVerifyGetKey;
  }
  if (typeof jwks !== "string") return createLocalJWKSet(jwks!);
  const address = new URL(jwks);
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(address.hostname);
  if (address.protocol !== "https:" && !local) {
    throw new EarshotError(
      "unsafe_token_check",
      `Keys from ${address.origin} could be replaced in transit. Use https.`,
    );
  }
  return createRemoteJWKSet(address, { timeoutDuration: 5_000 });
}

/** Refuses shared secrets and private keys: anyone who has them can issue tokens. */
function asPublic(key: JWK): JWK {
  if (key.kty === "oct" || key.d !== undefined) {
    throw new EarshotError("unsafe_token_check", "`key` is a secret key. Pass the issuer's public key.");
  }
  return key;
}

const bySubject = ({ sub }: Readonly<Record<string, unknown>>): Principal | undefined =>
  typeof sub === "string" && sub !== ""
    ? { id: `user:${sub}`, role: "reply", audiences: [`user:${sub}`] }
    : undefined;
