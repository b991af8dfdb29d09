/**
 * Credentials that this server issues to browsers (CON-52): cookies for its own pages, and tickets for EventSource.
 */
import { isExpired, type Principal } from "../protocol/principal.ts";
import { type Authenticator, sameSecret } from "./authenticate.ts";

/**
 * A cookie for pages of this server (CON-52): a page that sent a credential in a header gets a cookie in its place. The
 * cookie holds a random id, never the credential, and is HttpOnly and SameSite=Strict. Cookies ignore ports, so the
 * Origin check in `server/http/handler.ts` comes before any cookie is read.
 */
export interface CookieJar {
  /** The Set-Cookie value for this principal. */
  issue(
    principal: Principal,
    where: { readonly secure: boolean; readonly host: string; readonly path: string },
  ): string;
  /** Invalidates these cookies. */
  revoke(cookie: string | undefined): void;
  readonly authenticate: Authenticator;
}

const MAX_COOKIES = 10_000;
/** How many of our cookies in one request are checked. */
const MAX_PER_REQUEST = 8;
const SECONDS = 12 * 3600;

export function createCookieJar(random: () => string, now: () => number = Date.now): CookieJar {
  const kept = new Map<string, { principal: Principal; until: number }>();
  return {
    issue(principal, { secure, host, path }) {
      const until = Math.min(principal.expiresAt ?? Infinity, now() + SECONDS * 1000);
      const value = random();
      if (kept.size >= MAX_COOKIES) kept.delete(kept.keys().next().value!);
      kept.set(value, { principal, until });
      // Agents on different ports of one machine share a browser's cookies, so the names must differ.
      const name = `earshot_${/:(\d+)$/.exec(host)?.[1] ?? "0"}`;
      const seconds = Math.max(0, Math.floor((until - now()) / 1000));
      const rules = `Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
      return secure
        ? `__Host-${name}=${value}; Path=/; Secure; ${rules}`
        : `${name}=${value}; Path=${path}; ${rules}`;
    },
    revoke(cookie) {
      for (const value of valuesIn(cookie)) kept.delete(value);
    },
    authenticate({ cookie }) {
      for (const value of valuesIn(cookie)) {
        const known = kept.get(value);
        if (known && now() < known.until && !isExpired(known.principal, now())) return known.principal;
        kept.delete(value);
      }
      return undefined;
    },
  };
}

function valuesIn(cookie: string | undefined): string[] {
  return (cookie ?? "")
    .split(";")
    .map((pair) => /^\s*(?:__Host-)?earshot_\d{1,5}=([0-9a-f]{1,128})\s*$/.exec(pair)?.[1])
    .filter((value) => value !== undefined)
    .slice(0, MAX_PER_REQUEST);
}

/**
 * Tickets for browsers, whose EventSource cannot send headers: each opens the stream of one subscription only (CON-52).
 * URLs end up in histories and logs, so a ticket never authenticates a reply: see `server/http/handler.ts`.
 */
interface Tickets {
  issue(subscription_id: string, principal: Principal): string;
  readonly authenticate: Authenticator;
}

const MAX_TICKETS = 10_000;

export function createTickets(random: () => string, now: () => number = Date.now): Tickets {
  const tickets = new Map<string, { ticket: string; principal: Principal }>();
  return {
    issue(subscription_id, principal) {
      const ticket = random();
      if (tickets.size >= MAX_TICKETS) tickets.delete(tickets.keys().next().value!);
      tickets.set(subscription_id, { ticket, principal });
      return ticket;
    },
    authenticate({ ticket, subscription_id }) {
      const known = subscription_id === undefined ? undefined : tickets.get(subscription_id);
      if (ticket === undefined || !known || !sameSecret(ticket, known.ticket)) return undefined;
      if (!isExpired(known.principal, now())) return known.principal;
      tickets.delete(subscription_id!);
      return undefined;
    },
  };
}
