/** Authentication: the credentials of a request in, a principal or a refusal out (SEC-01, TRN-10). */
import { createHash, timingSafeEqual } from "node:crypto";
import { isExpired, LOCAL_USER, type Principal } from "../protocol/principal.ts";

/** A client certificate whose chain TLS has verified against the authorities this server was given. */
export interface Certificate {
  readonly subject: string;
  readonly fingerprint: string;
  /** Wall-clock milliseconds after which it is no longer valid. */
  readonly expiresAt?: number | undefined;
}

/** Everything a request may authenticate with. */
export interface Credentials {
  /** From `Authorization: Bearer …`. */
  readonly bearer: string | undefined;
  /** From the query of a stream's URL, with the subscription it names. */
  readonly ticket: string | undefined;
  readonly subscription_id: string | undefined;
  /** Only if the request provably comes from a page of this server or of an allowed origin (CON-52). */
  readonly cookie: string | undefined;
  readonly certificate: Certificate | undefined;
  /** It came through a proxy, so its origin is unknown. */
  readonly proxied?: boolean;
}

/** Undefined: the credentials are not valid here. */
export type Authenticator = (
  credentials: Credentials,
) => Principal | undefined | Promise<Principal | undefined>;

/** Decides what an authenticated principal may do here. Undefined: nothing. */
export type Authorizer = (principal: Principal) => Principal | undefined | Promise<Principal | undefined>;

/** An authenticated caller. */
export interface Caller {
  /** Identity and rights. */
  readonly principal: Principal;
  /** Who authenticated, before the rights were decided. A ticket keeps this, and is authorized again when it is used. */
  readonly identity: Principal;
}

/** The first authenticator that accepts the credentials decides. */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  return async (credentials) => {
    for (const authenticate of authenticators) {
      const principal = await authenticate(credentials);
      if (principal) return principal;
    }
    return undefined;
  };
}

/** Refuses expired credentials, and those whose check threw. */
export function failClosed(
  authenticate: Authenticator,
  failed: (error: unknown) => void,
  now: () => number = Date.now,
): Authenticator {
  return async (credentials) => {
    try {
      const principal = await authenticate(credentials);
      return principal && !isExpired(principal, now()) ? principal : undefined;
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
}

/** An authorizer may change rights, but not extend the lifetime of the credential. */
export function keepExpiry(authorize: Authorizer): Authorizer {
  return async (known) => {
    const principal = await authorize(known);
    if (!principal || known.expiresAt === undefined) return principal;
    return { ...principal, expiresAt: Math.min(principal.expiresAt ?? Infinity, known.expiresAt) };
  };
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** Compares in constant time; hashing hides the length too. */
export const sameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));

/** One token for this run: anyone who can read it counts as this machine's user. */
export function tokenAuthenticator(token: string, principal: Principal): Authenticator {
  return ({ bearer }) => (bearer !== undefined && sameSecret(bearer, token) ? principal : undefined);
}

/**
 * The user of this machine: anyone who has the token, or, without a token (`insecureLoopback`), anyone who does not come
 * through a proxy. Behind a proxy callers may be on other machines.
 */
export const localAuthenticator = (token: string | undefined): Authenticator =>
  token ? tokenAuthenticator(token, LOCAL_USER) : ({ proxied }) => (proxied ? undefined : LOCAL_USER);
