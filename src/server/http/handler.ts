/**
 * Handles HTTP requests, whatever server they come from: Host and Origin checks, authentication, routing. The adapters
 * for Node and for web-standard servers share it.
 */
import type { Caller } from "../../auth/authenticate.ts";
import type { CookieJar } from "../../auth/browser.ts";
import type { Principal } from "../../protocol/principal.ts";
import {
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  json,
  methodNotAllowed,
} from "../../transports/http.ts";
import { rejected, stoppingStream } from "../../transports/sse/server.ts";
import { type Admission, credentialsOf, DENIED, UNAUTHENTICATED } from "../admission.ts";
import type { Publication } from "../manifest.ts";
import { type Logger, type Metrics, parseTraceparent } from "../telemetry.ts";
import { type createGuard, isCrossSite, isNavigation, PREFLIGHT } from "./guard.ts";

/** GET and HEAD of things anyone may see. Undefined: nothing is served there. */
export type PageHandler = (request: HttpRequest) => Promise<HttpResponse | undefined>;
/** Any method, for authenticated callers. Undefined: nothing is served there. */
export type RouteHandler = (request: HttpRequest, principal: Principal) => Promise<HttpResponse | undefined>;

export interface HandlerOptions {
  readonly prefix: string;
  readonly guard: ReturnType<typeof createGuard>;
  /** By header, certificate or cookie. */
  readonly admit: Admission;
  /** By a ticket in the URL: for the stream it names only. */
  readonly admitTicket: Admission;
  readonly cookies: CookieJar;
  readonly sse: HttpHandler;
  /** Streams without a handshake, if they are served. */
  readonly compat: HttpHandler | undefined;
  /** In order; the first that answers is used. */
  readonly pages: readonly PageHandler[];
  readonly routes: readonly RouteHandler[];
  readonly publication: Publication;
  readonly ready: () => boolean;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How long a body may take to arrive. */
  readonly bodyMs: number;
}

export const MANIFEST_PATH = "/.well-known/aaep-manifest.json";
export const KEYS_PATH = "/.well-known/aaep-jwks.json";

const NO_STORE = { "cache-control": "no-store" };
const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};
/** Defaults for pages and routes. People approve actions here, so no other page may frame them (clickjacking). */
const PAGE_HEADERS = {
  "content-security-policy": "frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  ...NO_STORE,
};
const UPGRADE_REQUIRED = {
  error: "upgrade_required",
  message:
    "This is a WebSocket endpoint: connect with a WebSocket client and offer the subprotocol aaep.v1. If you did, a proxy in between dropped the Upgrade header.",
};

class RequestTimeout extends Error {}
/** The connection ended before the body was complete. */
export class IncompleteBody extends Error {}

export function createHandler(options: HandlerOptions): (request: HttpRequest) => Promise<HttpResponse> {
  const { prefix, log, metrics } = options;

  async function handle(request: HttpRequest): Promise<HttpResponse> {
    const { method, header, url } = request;
    // Health probes use an address, not a host name, so these come before the Host check. They reveal nothing.
    if (url.pathname === "/healthz") return secured(json(200, { status: "ok" }));
    if (url.pathname === "/readyz")
      return secured(options.ready() ? json(200, { status: "ready" }) : json(503, { status: "stopping" }));
    const guarded = options.guard(header("host"), header("origin"), request.secure);
    if (!guarded.ok) {
      const reason = guarded.status === 421 ? "host" : "origin";
      metrics.count("earshot_refusals_total", { reason });
      log("debug", "refused", { reason, origin: header("origin"), host: header("host") });
      return secured(json(guarded.status, { error: "refused", message: guarded.message }));
    }
    const { cors } = guarded;
    if (method === "OPTIONS") {
      const allowed = "access-control-allow-origin" in cors;
      return {
        status: 204,
        headers: allowed
          ? { ...cors, ...PREFLIGHT, ...privateNetwork(request) }
          : { ...cors, allow: PREFLIGHT["access-control-allow-methods"]! },
      };
    }
    const timed = { ...request, body: () => withTimeout(request.body(), options.bodyMs) };
    return secured(await route(timed).catch((error: unknown) => bodyFailed(error, url.pathname)), cors);
  }

  function bodyFailed(error: unknown, pathname: string): HttpResponse {
    const answer = (status: number, code: string, message: string) =>
      pathname === `${prefix}/subscriptions`
        ? rejected(status, message)
        : json(status, { error: code, message });
    if (error instanceof RequestTimeout)
      return answer(408, "too_slow", "The body did not arrive in time. Send the message again.");
    if (error instanceof IncompleteBody)
      return answer(400, "incomplete", "The body is incomplete. Send the message again.");
    throw error;
  }

  async function route(request: HttpRequest): Promise<HttpResponse> {
    const { method, url, header } = request;
    const { pathname } = url;
    if (pathname === MANIFEST_PATH || pathname === KEYS_PATH) return published(options.publication, request);
    const aaep = pathname.startsWith(`${prefix}/`);
    if (aaep && !options.ready()) return stopping(request);
    // Clients without a handshake do not know the prefix.
    const bare = options.compat !== undefined && (pathname === "/events" || pathname === "/messages");
    const own = !aaep && !bare && pathname !== "/metrics";
    if (
      own &&
      (method === "GET" || method === "HEAD") &&
      (!isCrossSite(header) || isNavigation(method, header))
    ) {
      const page = await firstOf(options.pages.map((handler) => () => handler(request)));
      if (page) return page;
    }
    if (own && options.routes.length === 0) return notFound();
    if (isCrossSite(header)) {
      metrics.count("earshot_refusals_total", { reason: "origin" });
      return json(403, {
        error: "refused",
        message: "Other pages may not embed or link to this. Call it from a page of an allowed origin.",
      });
    }
    const path = aaep ? pathname.slice(prefix.length) : pathname;
    if (aaep && path === "/ws" && options.publication.manifest().transports_supported.includes("websocket"))
      return json(426, UPGRADE_REQUIRED, { upgrade: "websocket" });
    const caller = await admit(request, path);
    if (caller === undefined || caller === "denied") {
      metrics.count("earshot_refusals_total", { reason: caller ? "denied" : "credentials" });
      return caller ? json(403, DENIED) : unauthenticated();
    }
    if (own)
      return (
        (await firstOf(options.routes.map((handler) => () => handler(request, caller.principal)))) ??
        notFound()
      );
    if (!aaep && pathname === "/metrics") return metricsFor(caller.principal);
    if (path === "/session") return session(request);
    const response =
      (await options.compat?.(request, caller, path)) ??
      (aaep ? await options.sse(request, caller, path) : undefined) ??
      notFound();
    const trace_id = parseTraceparent(header("traceparent"))?.traceId;
    if (trace_id !== undefined) log("debug", "http", { path, status: response.status, trace_id });
    return response;
  }

  /** A reply must not be lost because the agent restarts, so the answer says to retry. */
  function stopping({ method, header, url }: HttpRequest): HttpResponse {
    // EventSource sends no credentials of its own, never retries after a 503, and always after a stream that ends (F16).
    const eventSource = method === "GET" && header("authorization") === undefined;
    if (eventSource && url.pathname === `${prefix}/events`) return stoppingStream();
    const message = "The agent is stopping or restarting. Try again in a moment.";
    return json(503, { error: "stopping", message }, { "retry-after": "1" });
  }

  /** The first page or route that answers. */
  async function firstOf(
    handlers: readonly (() => Promise<HttpResponse | undefined>)[],
  ): Promise<HttpResponse | undefined> {
    try {
      for (const handler of handlers) {
        const response = await handler();
        if (response) return { ...response, headers: { ...PAGE_HEADERS, ...response.headers } };
      }
      return undefined;
    } catch (error) {
      if (error instanceof RequestTimeout || error instanceof IncompleteBody) throw error;
      log("error", "route_failed", {
        message: "A page or route threw, so its caller got a 500 response.",
        error,
      });
      return json(
        500,
        { error: "failed", message: "The server failed to handle this request." },
        PAGE_HEADERS,
      );
    }
  }

  async function admit(request: HttpRequest, path: string): Promise<Caller | "denied" | undefined> {
    const credentials = credentialsOf(request);
    const caller = await options.admit(credentials);
    if (caller || request.method !== "GET" || path !== "/events") return caller;
    return options.admitTicket(credentials);
  }

  /** A page of this server sends its credential once and gets a cookie that no script can read (CON-52). */
  async function session(request: HttpRequest): Promise<HttpResponse> {
    const { method, header, secure, url } = request;
    if (method === "DELETE") {
      options.cookies.revoke(header("cookie"));
      return { status: 204, headers: NO_STORE };
    }
    if (method !== "POST") return methodNotAllowed("POST", "DELETE");
    // A cookie does not count here: it could be renewed for ever.
    const caller = await options.admit({ ...credentialsOf(request), cookie: undefined });
    if (!caller || caller === "denied") return unauthenticated();
    const host = header("host") ?? url.host;
    const cookie = options.cookies.issue(caller.identity, { secure, host, path: prefix });
    return { status: 204, headers: { ...NO_STORE, "set-cookie": cookie } };
  }

  const metricsFor = ({ role, audiences }: Principal): HttpResponse =>
    role === "admin" || audiences === "all"
      ? {
          status: 200,
          headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", ...NO_STORE },
          body: metrics.text(),
        }
      : json(403, { error: "refused", message: "Metrics require the role admin." });

  const notFound = (): HttpResponse =>
    json(404, {
      error: "not_found",
      message: `Nothing is served here. AAEP is under ${prefix}, the manifest at ${MANIFEST_PATH}.`,
    });

  return async (request) => {
    const response = await handle(request);
    const { pathname } = request.url;
    const path = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : pathname;
    metrics.count("earshot_http_requests_total", {
      path: response.status === 404 ? "other" : path,
      status: String(response.status),
    });
    return response;
  };
}

function secured(response: HttpResponse, cors: Readonly<Record<string, string>> = {}): HttpResponse {
  const vary = [response.headers["vary"], cors["vary"]].filter((name) => name !== undefined).join(", ");
  return {
    ...response,
    headers: { ...response.headers, ...SAFE_HEADERS, ...cors, ...(vary ? { vary } : {}) },
  };
}

/** An allowed page on a public address may call a private one, if its browser asks first. */
const privateNetwork = ({ header }: HttpRequest): Record<string, string> =>
  header("access-control-request-private-network") === "true"
    ? { "access-control-allow-private-network": "true" }
    : {};

const unauthenticated = (): HttpResponse =>
  json(401, UNAUTHENTICATED, { "www-authenticate": 'Bearer realm="aaep"' });

function published(
  { manifest, signed, keys }: Publication,
  { method, url, header }: HttpRequest,
): HttpResponse {
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET");
  // The same URL has two representations, so caches must distinguish them.
  const caching = { "cache-control": "max-age=60", vary: "accept" };
  if (url.pathname === KEYS_PATH) {
    const set = keys();
    return set
      ? json(200, set, caching)
      : json(404, { error: "not_found", message: "This agent does not sign its manifest." });
  }
  const jws = /\bapplication\/jose\b/i.test(header("accept") ?? "") ? signed() : undefined;
  return jws === undefined
    ? json(200, manifest(), caching)
    : { status: 200, headers: { "content-type": "application/jose", ...caching }, body: jws };
}

async function withTimeout<T>(body: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimeout()), ms);
  });
  try {
    return await Promise.race([body, late]);
  } finally {
    clearTimeout(timer);
  }
}
