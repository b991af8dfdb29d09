/** HTTP requests, whatever the server: guard, authenticate, route, answer. Node's own and web-standard servers share it. */
import type { Authenticator, Authorizer, Credentials } from "../../auth/authenticate.ts";
import type { CookieJar } from "../../auth/cookie.ts";
import type { Principal } from "../../protocol/principal.ts";
import {
  type HttpAnswer,
  type HttpQuestion,
  json,
  rejected,
  stoppingStream,
} from "../../transports/sse/server.ts";
import type { Logger } from "../log.ts";
import type { Publication } from "../manifest.ts";
import type { Metrics } from "../metrics.ts";
import { parseTraceparent } from "../trace.ts";
import type { WriteScheduler } from "../writer.ts";
import { type createGuard, isForeign, isVisit, mayUseCookie, PREFLIGHT } from "./guard.ts";
import type { Beside } from "./routes.ts";
import type { Watch } from "./unanswered.ts";

export interface Inquiry {
  readonly method: string;
  readonly url: URL;
  readonly secure: boolean;
  header(name: string): string | undefined;
  headers(): Iterable<[string, string]>;
  readonly certificate: Credentials["certificate"];
  body(): Promise<Uint8Array | "too_large">;
}

type Handler = (question: HttpQuestion) => Promise<HttpAnswer | undefined>;

export interface HttpSite {
  readonly prefix: string;
  readonly guard: ReturnType<typeof createGuard>;
  /** By header, certificate or cookie. */
  readonly authenticate: Authenticator;
  /** By a ticket in the address: for the stream it names, and for nothing else. */
  readonly ticket: Authenticator;
  readonly authorize?: Authorizer | undefined;
  readonly cookies: CookieJar;
  readonly sse: Handler;
  /** The bare streams of existing clients, where they are served. */
  readonly compat?: Handler | undefined;
  /** What is served beside AAEP. */
  readonly beside: Beside;
  readonly published: Publication;
  readonly ready: () => boolean;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly writes: WriteScheduler;
  /** Over open streams. */
  readonly watch: Watch;
  /** How long a body may take to arrive. */
  readonly bodyMs: number;
}

export function credentialsOf({
  url,
  method,
  header,
  certificate,
}: Omit<Inquiry, "secure" | "body" | "headers">): Credentials {
  return {
    bearer: /^Bearer +([^\s]+)$/i.exec(header("authorization") ?? "")?.[1],
    ticket: url.searchParams.get("ticket") ?? undefined,
    subscription_id: url.searchParams.get("subscription_id") ?? undefined,
    cookie: mayUseCookie(method, header) ? header("cookie") : undefined,
    certificate,
    proxied: ["x-forwarded-for", "forwarded", "via", "x-real-ip"].some((name) => header(name) !== undefined),
  };
}

export const MANIFEST_PATH = "/.well-known/aaep-manifest.json";
export const KEYS_PATH = "/.well-known/aaep-jwks.json";

export const UNAUTHENTICATED = {
  type: "subscription.rejected",
  reason_code: "authentication_required",
  reason_message: "Send credentials: Authorization: Bearer with the token of this agent.",
} as const;
export const DENIED = {
  type: "subscription.rejected",
  reason_code: "authorization_denied",
  reason_message: "You are known, but not entitled to hear this agent. Ask whoever runs it.",
} as const;
const STOPPING = "The agent is stopping or restarting. Try again in a moment.";
const NO_UPGRADE = {
  error: "upgrade_required",
  message:
    "This is a WebSocket: connect with a WebSocket client, and offer the subprotocol aaep.v1. If you did, a proxy on the way drops the Upgrade header.",
};
/** Nothing here is a page, and nothing of it belongs into somebody else's. */
const SAFE = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" };

class TooSlow extends Error {}
/** The body ended before it was complete. */
export class BrokenOff extends Error {}

export async function answerInquiry(site: HttpSite, inquiry: Inquiry): Promise<HttpAnswer> {
  const { method, url } = inquiry;
  // Whoever watches over the process calls by address and has no name for it; these say nothing anyone may not know.
  if (url.pathname === "/healthz") return safe(json(200, { status: "ok" }));
  if (url.pathname === "/readyz")
    return safe(site.ready() ? json(200, { status: "ready" }) : json(503, { status: "stopping" }));
  const guarded = site.guard(inquiry.header("host"), inquiry.header("origin"), inquiry.secure);
  if (!guarded.ok) {
    const reason = guarded.status === 421 ? "host" : "origin";
    site.metrics.count("earshot_refusals_total", { reason });
    site.log("debug", "refused", { reason, origin: inquiry.header("origin"), host: inquiry.header("host") });
    return safe(json(guarded.status, { error: "refused", message: guarded.message }));
  }
  const { cors } = guarded;
  if (method === "OPTIONS") {
    const known = "access-control-allow-origin" in cors;
    return {
      status: 204,
      headers: known
        ? { ...cors, ...PREFLIGHT, ...privateNetwork(inquiry) }
        : { ...cors, allow: PREFLIGHT["access-control-allow-methods"]! },
    };
  }
  const answer = await route(site, inquiry).catch((error: unknown) => {
    const unread = (status: number, code: string, message: string) =>
      inquiry.url.pathname === `${site.prefix}/subscriptions`
        ? rejected(status, message)
        : json(status, { error: code, message });
    if (error instanceof TooSlow)
      return unread(408, "too_slow", "The message did not arrive in time. Send it again, at once.");
    if (error instanceof BrokenOff) return unread(400, "incomplete", "The message broke off. Send it again.");
    throw error;
  });
  return safe(answer, cors);
}

const safe = (answer: HttpAnswer, cors: Readonly<Record<string, string>> = {}): HttpAnswer => {
  const vary = [answer.headers["vary"], cors["vary"]].filter((name) => name !== undefined).join(", ");
  return { ...answer, headers: { ...answer.headers, ...SAFE, ...cors, ...(vary ? { vary } : {}) } };
};

/** A public page that was allowed here may call a private address, if its browser asks first. */
const privateNetwork = ({ header }: Inquiry): Record<string, string> =>
  header("access-control-request-private-network") === "true"
    ? { "access-control-allow-private-network": "true" }
    : {};

async function route(site: HttpSite, inquiry: Inquiry): Promise<HttpAnswer> {
  const { method, url, header } = inquiry;
  const { pathname } = url;
  if (pathname === MANIFEST_PATH || pathname === KEYS_PATH) return published(site, inquiry);
  const ours = pathname.startsWith(`${site.prefix}/`);
  // An answer to a question must not be refused by an agent that only restarts.
  if (ours && !site.ready()) {
    // EventSource, which sends no header of its own, never comes back from a 503, and always from a stream that ends (F16).
    const simple = method === "GET" && header("authorization") === undefined;
    if (simple && pathname === `${site.prefix}/events`) return stoppingStream();
    return json(503, { error: "stopping", message: STOPPING }, { "retry-after": "1" });
  }
  // Existing clients know nothing of a prefix.
  const bare = site.compat !== undefined && (pathname === "/events" || pathname === "/messages");
  const beside = !ours && !bare && pathname !== "/metrics";
  if (beside && (!isForeign(header) || isVisit(method, header))) {
    const page = await site.beside.pages?.(inquiry);
    if (page) return page;
  }
  if (beside && !site.beside.routes) return notFound(site);
  if (isForeign(header)) {
    site.metrics.count("earshot_refusals_total", { reason: "origin" });
    return json(403, {
      error: "refused",
      message: "Other pages may not embed or link to this. Call it from a page of an allowed origin.",
    });
  }
  const path = ours ? pathname.slice(site.prefix.length) : pathname;
  if (ours && path === "/ws" && site.published.manifest().transports_supported.includes("websocket"))
    return json(426, NO_UPGRADE, { upgrade: "websocket" });
  const principal = await principalOf(site, inquiry, path);
  if (principal === undefined || principal === "denied") {
    site.metrics.count("earshot_refusals_total", { reason: principal ? "denied" : "credentials" });
    return principal
      ? json(403, DENIED)
      : json(401, UNAUTHENTICATED, { "www-authenticate": 'Bearer realm="aaep"' });
  }
  if (beside) {
    const inTimeOnly = { ...inquiry, body: () => inTime(inquiry.body(), site.bodyMs) };
    return (await site.beside.routes!(inTimeOnly, principal)) ?? notFound(site);
  }
  if (!ours && pathname === "/metrics") return metrics(site, principal);
  if (path === "/session") return session(site, inquiry);
  const question: HttpQuestion = {
    method,
    path,
    query: url.searchParams,
    header,
    principal,
    body: () => inTime(inquiry.body(), site.bodyMs),
  };
  const answer =
    (await site.compat?.(question)) ?? (ours ? await site.sse(question) : undefined) ?? notFound(site);
  const trace_id = parseTraceparent(header("traceparent"))?.traceId;
  if (trace_id !== undefined) site.log("debug", "http", { path, status: answer.status, trace_id });
  return answer;
}

/** As whom somebody was recognised before `authorize` said what they may do: it is asked anew about them, not about its answer. */
const recognised = new WeakMap<Principal, Principal>();

async function principalOf(
  site: HttpSite,
  inquiry: Inquiry,
  path: string,
): Promise<Principal | "denied" | undefined> {
  const credentials = credentialsOf(inquiry);
  let known = await site.authenticate(credentials);
  if (!known && inquiry.method === "GET" && path === "/events") {
    const holder = await site.ticket(credentials);
    known = holder && (recognised.get(holder) ?? holder);
  }
  if (!known || !site.authorize) return known;
  try {
    const principal = await site.authorize(known);
    if (principal) recognised.set(principal, known);
    return principal ?? "denied";
  } catch (error) {
    site.log("error", "authorize_failed", { message: "`authorize` threw, so nobody was let in.", error });
    return "denied";
  }
}

/** A page of this server shows its credential once and has it remembered in a cookie that no script can read (CON-52). */
async function session(site: HttpSite, inquiry: Inquiry): Promise<HttpAnswer> {
  const { method, header, secure, url } = inquiry;
  const quiet = { "cache-control": "no-store" };
  if (method === "DELETE") {
    site.cookies.revoke(header("cookie"));
    return { status: 204, headers: quiet };
  }
  if (method !== "POST")
    return json(
      405,
      { error: "method_not_allowed", message: "Use POST or DELETE here." },
      { allow: "POST, DELETE" },
    );
  // A cookie does not buy another: it would never run out.
  const known = await site.authenticate({ ...credentialsOf(inquiry), cookie: undefined });
  if (!known) return json(401, UNAUTHENTICATED, { "www-authenticate": 'Bearer realm="aaep"' });
  const cookie = site.cookies.issue(known, { secure, host: header("host") ?? url.host, path: site.prefix });
  return { status: 204, headers: { ...quiet, "set-cookie": cookie } };
}

function published(
  { published: { manifest, signed, keys } }: HttpSite,
  { method, url, header }: Inquiry,
): HttpAnswer {
  if (method !== "GET" && method !== "HEAD")
    return json(405, { error: "method_not_allowed", message: "Use GET here." }, { allow: "GET" });
  // The same address may give either form: a cache must not mistake one for the other.
  const caching = { "cache-control": "max-age=60", vary: "accept" };
  if (url.pathname === KEYS_PATH) {
    const set = keys();
    return set
      ? json(200, set, caching)
      : json(404, { error: "not_found", message: "This agent does not sign its manifest." });
  }
  const jws = /\bapplication\/jose\b/i.test(header("accept") ?? "") ? signed() : undefined;
  if (jws !== undefined)
    return {
      status: 200,
      headers: { "content-type": "application/jose", ...caching },
      body: jws,
    };
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8", ...caching },
    body: JSON.stringify(manifest()),
  };
}

async function inTime<T>(body: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooSlow()), ms);
  });
  try {
    return await Promise.race([body, late]);
  } finally {
    clearTimeout(timer);
  }
}

const metrics = (site: HttpSite, { role, audiences }: Principal): HttpAnswer =>
  role === "admin" || audiences === "all"
    ? {
        status: 200,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
        body: site.metrics.text(),
      }
    : json(403, { error: "refused", message: "Metrics are for those who run the agent." });

const notFound = ({ prefix }: HttpSite): HttpAnswer =>
  json(404, {
    error: "not_found",
    message: `Nothing is here. AAEP is under ${prefix}, the manifest at ${MANIFEST_PATH}.`,
  });
