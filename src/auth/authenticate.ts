/** Authentication as transports see it: a request's credentials in, a principal or a refusal out (SEC-01, TRN-10). */
import { createHash, timingSafeEqual } from "node:crypto";
import { isExpired, type Principal } from "../protocol/principal.ts";

/** A client certificate whose chain TLS has verified against the authorities this server was given. */
export interface Certificate {
  readonly subject: string;
  readonly fingerprint: string;
  /** Wall-clock milliseconds after which it is no longer valid, where TLS said. */
  readonly expires_at?: number | undefined;
}

/** What a request may carry as proof. */
export interface Credentials {
  /** From `Authorization: Bearer …`. */
  readonly bearer: string | undefined;
  /** From the ticket parameter of a stream's address, with the subscription it names. */
  readonly ticket: string | undefined;
  readonly subscription_id: string | undefined;
  /** Only where the request provably comes from a page of this server or of an allowed origin (CON-52). */
  readonly cookie: string | undefined;
  readonly certificate: Certificate | undefined;
  /** It came through a proxy, so where it started is unknown. */
  readonly proxied?: boolean;
}

/** Undefined means: these credentials prove nothing here. */
export type Authenticator = (
  credentials: Credentials,
) => Principal | undefined | Promise<Principal | undefined>;

/** From whom somebody is to what they may do here; undefined means: nothing. */
export type Authorizer = (principal: Principal) => Principal | undefined | Promise<Principal | undefined>;

/** The first that recognises the credentials decides. */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  return async (credentials) => {
    for (const authenticate of authenticators) {
      const principal = await authenticate(credentials);
      if (principal) return principal;
    }
    return undefined;
  };
}

/** A credential that has run out proves nothing, and neither does one whose check failed: it is refused, never let in. */
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

/** Rights may be widened or narrowed; how long the credential behind them is good for stays. */
export function keepExpiry(authorize: Authorizer): Authorizer {
  return async (known) => {
    const principal = await authorize(known);
    if (!principal || known.expires_at === undefined) return principal;
    return { ...principal, expires_at: Math.min(principal.expires_at ?? Infinity, known.expires_at) };
  };
}

/** Who somebody is and what they may do here; "denied" where they are known, and may do nothing. */
export type Admission = (credentials: Credentials) => Promise<Principal | "denied" | undefined>;

export function admission(
  authenticate: Authenticator,
  authorize: Authorizer | undefined,
  failed: (error: unknown) => void,
): Admission {
  return async (credentials) => {
    const known = await authenticate(credentials);
    if (!known || !authorize) return known;
    try {
      return (await authorize(known)) ?? "denied";
    } catch (error) {
      failed(error);
      return "denied";
    }
  };
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** Compares without telling by its timing how much was right, nor how long the right one is. */
export const sameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));

/** One secret for this run: whoever on this machine can read it is this machine's user. */
export function tokenAuthenticator(token: string, principal: Principal): Authenticator {
  return ({ bearer }) => (bearer !== undefined && sameSecret(bearer, token) ? principal : undefined);
}
