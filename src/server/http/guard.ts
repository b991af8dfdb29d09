/** Who may call from where: Host against DNS rebinding, Origin against other people's pages, CORS for the ones we know (A20). */
import { isIP } from "node:net";

interface GuardOptions {
  /** Names this server answers to, with or without port. On loopback: localhost and the loopback addresses. */
  readonly hosts: readonly string[];
  /** Pages from elsewhere that may call, e.g. https://chat.example.com. */
  readonly origins: readonly string[];
}

type Guarded =
  | { readonly ok: true; readonly cors: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly status: number; readonly message: string };

export const isLoopback = (host: string): boolean => {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
};

/** Every address of the machine at once: no name anybody could call it by. */
export const isWildcard = (host: string): boolean => /^(?:0\.0\.0\.0|::|\[::\]|)$/.test(host);

/** As a name stands in a Host header: addresses of version 6 in brackets. */
export const asHost = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** A name or an address, then perhaps a port, and nothing that a parser elsewhere could read differently. */
const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}))(?::\d{1,5})?$/;

export function createGuard({ hosts, origins }: GuardOptions) {
  const known = new Set(hosts.map((host) => host.toLowerCase()));
  const allowed = new Set(origins.filter((origin) => origin !== "null" && origin !== "*"));
  const vary: Readonly<Record<string, string>> = allowed.size > 0 ? { vary: "origin" } : {};
  return (host: string | undefined, origin: string | undefined, secure: boolean): Guarded => {
    const named = host?.toLowerCase() ?? "";
    const name = HOST.exec(named)?.[1];
    if (name === undefined || !(known.has(named) || known.has(name))) {
      return {
        ok: false,
        status: 421,
        message: "This server does not answer to that host name. Add it to `hosts` if it should.",
      };
    }
    if (origin === undefined) return { ok: true, cors: vary };
    if (origin === `${secure ? "https" : "http"}://${named}`) return { ok: true, cors: vary };
    if (!allowed.has(origin)) {
      return {
        ok: false,
        status: 403,
        message: "Pages of that origin may not call this agent. Add it to `origins` if they should.",
      };
    }
    return {
      ok: true,
      cors: {
        ...vary,
        "access-control-allow-origin": origin,
        "access-control-allow-credentials": "true",
        "access-control-expose-headers": "location, retry-after",
      },
    };
  };
}

/** Added to the answer to a preflight, for allowed origins only. */
export const PREFLIGHT: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers":
    "authorization, content-type, last-event-id, cache-control, traceparent, tracestate",
  "access-control-max-age": "600",
};

/**
 * Whether a cookie on this request may count (CON-52). Browsers send Origin with every POST and every WebSocket, and
 * the guard has checked it; a plain GET of one's own page has none, and then Sec-Fetch-Site says whose page it was.
 */
export function mayUseCookie(method: string, header: (name: string) => string | undefined): boolean {
  if (header("origin") !== undefined) return true;
  if (method !== "GET" || header("upgrade") !== undefined) return false;
  return !isForeign(header);
}

/** Somebody followed a link, into a window of its own: what they see there is ours alone, and no other page reads it. */
export const isVisit = (method: string, header: (name: string) => string | undefined): boolean =>
  method === "GET" && header("sec-fetch-mode") === "navigate" && header("sec-fetch-dest") === "document";

/** A page of another origin caused this request, though it does not say which (an image, a link, a form). */
export function isForeign(header: (name: string) => string | undefined): boolean {
  const site = header("sec-fetch-site");
  return header("origin") === undefined && site !== undefined && site !== "same-origin" && site !== "none";
}
