/** Cross-origin and Host checks (A20): Host against DNS rebinding, Origin against foreign pages, CORS for allowed ones. */
import { isIP } from "node:net";

interface GuardOptions {
  /** Names this server answers to, with or without port. On loopback: localhost and the loopback addresses. */
  readonly hosts: readonly string[];
  /** Other origins whose pages may call, e.g. https://chat.example.com. */
  readonly origins: readonly string[];
}

type Guarded =
  | { readonly ok: true; readonly cors: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly status: number; readonly message: string };

export const isLoopback = (host: string): boolean => {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
};

/** Listens on every address of the machine, and is not a name to call it by. */
export const isWildcard = (host: string): boolean => /^(?:0\.0\.0\.0|::|\[::\]|)$/.test(host);

/** As written in a Host header: IPv6 addresses in brackets. */
export const asHost = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** A name or an address and an optional port; nothing that another parser could read differently. */
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
        message: "This server does not accept that host name. To allow it, add it to `hosts`.",
      };
    }
    if (origin === undefined) return { ok: true, cors: vary };
    if (origin === `${secure ? "https" : "http"}://${named}`) return { ok: true, cors: vary };
    if (!allowed.has(origin)) {
      return {
        ok: false,
        status: 403,
        message: "Pages of that origin may not call this agent. To allow them, add it to `origins`.",
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

/** Added to preflight responses, for allowed origins only. */
export const PREFLIGHT: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
  "access-control-allow-headers":
    "authorization, content-type, last-event-id, cache-control, traceparent, tracestate",
  "access-control-max-age": "600",
};

/**
 * Whether a cookie on this request counts (CON-52). Browsers send Origin with every POST and every WebSocket, and the
 * guard has checked it; a GET by a page of this server has none, and then Sec-Fetch-Site tells which page sent it.
 */
export function mayUseCookie(method: string, header: (name: string) => string | undefined): boolean {
  if (header("origin") !== undefined) return true;
  if (method !== "GET" || header("upgrade") !== undefined) return false;
  return !isCrossSite(header);
}

/** A link opened as a top-level document, which no other page can read. */
export const isNavigation = (method: string, header: (name: string) => string | undefined): boolean =>
  method === "GET" && header("sec-fetch-mode") === "navigate" && header("sec-fetch-dest") === "document";

/** A page of another origin caused this request without an Origin header (an image, a link, a form). */
export function isCrossSite(header: (name: string) => string | undefined): boolean {
  const fetchSite = header("sec-fetch-site");
  return (
    header("origin") === undefined &&
    fetchSite !== undefined &&
    fetchSite !== "same-origin" &&
    fetchSite !== "none"
  );
}
