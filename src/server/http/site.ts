/** Everything a server needs but the listening: bindings, authentication, limits and the manifest, put together. */

import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import {
  type Authenticator,
  type Authorizer,
  admission,
  anyOf,
  failClosed,
  keepExpiry,
  tokenAuthenticator,
} from "../../auth/authenticate.ts";
import { createCookieJar } from "../../auth/cookie.ts";
import { createTickets } from "../../auth/ticket.ts";
import type { Producer } from "../../producer/producer.ts";
import { hubOf } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { LOCAL_USER } from "../../protocol/principal.ts";
import type { ProducerManifest } from "../../protocol/types.ts";
import { createSseServer } from "../../transports/sse/server.ts";
import { createLogger, type Logger, type LogSink } from "../log.ts";
import { buildManifest, createPublication, type SigningKey, type Way } from "../manifest.ts";
import { createMetrics } from "../metrics.ts";
import { createObserver, type Observer } from "../observer.ts";
import { WriteScheduler } from "../writer.ts";
import { createCompat, type StrayHook } from "./compat.ts";
import { attachCompatSocket } from "./compat-socket.ts";
import { createGuard, isLoopback } from "./guard.ts";
import { type HttpSite, KEYS_PATH } from "./http.ts";
import {
  handleNodeRequest,
  type NodeHttpLimits,
  type Request,
  type Response,
  targetOf,
} from "./node-http.ts";
import { createBeside, type Pages, type Routes } from "./routes.ts";
import { createWatch } from "./unanswered.ts";
import { createWebHandler } from "./web-handler.ts";
import { attachWebSocket } from "./websocket.ts";

/** Options of `createSite`: authentication, allowed names and origins, extra routes, limits. */
export interface SiteOptions {
  readonly prefix?: string;
  /** Who is who. On loopback, a token made for this run by default. */
  readonly auth?: Authenticator;
  /** What whoever was recognised may do here: audiences, role, how many subscriptions. Undefined refuses them. */
  readonly authorize?: Authorizer;
  /** Names this server answers to, beyond loopback ones. */
  readonly hosts?: readonly string[];
  /** Pages from elsewhere that may call. */
  readonly origins?: readonly string[];
  /** On loopback only: anyone on this machine may listen and answer. */
  readonly insecureLoopback?: boolean;
  /** On loopback only: also serve clients that know no handshake. A function hears what they send beside AAEP. */
  readonly compat?: boolean | StrayHook;
  /** Signs the manifest; without it, listeners that insist on signatures are rejected. */
  readonly signing?: SigningKey;
  readonly contact?: string;
  /** Pages that anyone may see who calls by the right name: the Inspector, for instance. GET only. */
  readonly pages?: Pages;
  /** Endpoints of your own beside AAEP, for callers whose credentials were checked. */
  readonly routes?: Routes;
  readonly limits?: Partial<ServeLimits>;
  /** Structured log entries; tokens and listeners' needs are never in them. Without it, warnings are printed. */
  readonly log?: LogSink;
}

/** Limits of an HTTP server: sizes, numbers and times. */
export interface ServeLimits extends NodeHttpLimits {
  readonly connections: number;
  /** From one address. On loopback, where a proxy may stand for everybody, only if you say so. */
  readonly connectionsPerAddress: number;
  readonly headerBytes: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly heartbeatMs: number;
}

export const LIMITS: ServeLimits = {
  bodyBytes: 1_048_576,
  queueBytes: 1_048_576,
  blockedMs: 30_000,
  connections: 10_000,
  connectionsPerAddress: 1_000,
  headerBytes: 16_384,
  headersMs: 10_000,
  requestMs: 30_000,
  heartbeatMs: 15_000,
};

/** A producer for a server of your own: handlers for Node and for web-standard requests. See `createSite`. */
export interface Site {
  /** For Express (`app.use(site.node)`), Fastify (`reply.raw`) or a server of your own. */
  readonly node: (request: Request, response: Response, next?: () => void) => void;
  /** For web-standard route handlers. */
  readonly web: (request: globalThis.Request) => Promise<globalThis.Response>;
  /** Adds the WebSocket endpoint to a Node server. */
  readonly attachWebSocket: (server: Server) => {
    close: () => Promise<void>;
    /** The signed manifest names it from here on. */
    readonly announced: Promise<void>;
  };
  readonly token: string | undefined;
  readonly prefix: string;
  /** For a mounted site that is done: nothing is renewed any more, and /readyz says so. */
  readonly stop: () => void;
}

const secret = (bytes: number): string => randomBytes(bytes).toString("hex");

function every(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Everything but the listening: mount it into a server you already have. */
export async function createSite(producer: Producer, options: SiteOptions = {}): Promise<Site> {
  return (await buildSite(producer, options)).site;
}

/** What other ways to the same agent share with the site. */
export interface Inside {
  readonly hub: HubPort;
  readonly log: Logger;
  readonly observer: Observer;
  readonly writes: WriteScheduler;
  /** As it is, or as it will be with one way more. */
  readonly manifest: (more?: Way) => ProducerManifest;
  /** It is served in this way too: the manifest says so from here on. */
  announce(way: Way): Promise<void>;
}

export async function buildSite(
  producer: Producer,
  options: SiteOptions,
): Promise<{ site: Site; inside: Inside }> {
  const { prefix = "/aaep/v1", origins = [], hosts = [], insecureLoopback = false, compat = false } = options;
  mustBeSafe(options);
  const limits = { ...LIMITS, ...options.limits };
  const log = createLogger(options.log);
  const metrics = createMetrics();
  metrics.gauge("earshot_subscriptions", () => producer.subscriptions);
  metrics.gauge("earshot_log_next", () => hubOf(producer).log.next);
  metrics.gauge("process_resident_memory_bytes", () => process.memoryUsage.rss());

  const token = options.auth || insecureLoopback ? undefined : secret(32);
  const local: Authenticator = token
    ? tokenAuthenticator(token, LOCAL_USER)
    : // Through a proxy anybody might come, and this is for people at this machine.
      ({ proxied }) => (proxied ? undefined : LOCAL_USER);
  const failed = (error: unknown) =>
    log("error", "authentication_failed", { message: "`auth` threw, so nobody was let in.", error });
  const tickets = createTickets(() => secret(16));
  const cookies = createCookieJar(() => secret(32));
  const authenticate = failClosed(anyOf(options.auth ?? local, cookies.authenticate), failed);
  const authorize = options.authorize && keepExpiry(options.authorize);
  const admit = admission(authenticate, authorize, (error) =>
    log("error", "authorize_failed", { message: "`authorize` threw, so nobody was let in.", error }),
  );

  const guard = createGuard({ hosts: ["localhost", "127.0.0.1", "[::1]", ...hosts], origins });
  const hub = hubOf(producer);
  const writes = new WriteScheduler();
  const observer = createObserver(log, metrics);
  const stopObserving = hub.observe(observer);
  const ways: Way[] = [{ transport: "sse" }];
  const manifest = (more?: Way) =>
    buildManifest(hubOf(producer).offer, {
      ways: more ? [...ways, more] : ways,
      prefix,
      connections: limits.connections,
      contact: options.contact,
      keys: options.signing && "kty" in options.signing.key ? KEYS_PATH : undefined,
    });
  const published = createPublication({
    manifest: () => manifest(),
    signing: options.signing,
    renewed: (signed) => {
      (hubOf(producer).offer as { signed_manifest?: string }).signed_manifest = signed;
    },
    failed: (error) =>
      log("error", "signing_failed", {
        message: "The manifest could not be signed again; the last signature runs out.",
        error,
      }),
  });
  await published.renew();
  const announce = async (way: Way): Promise<void> => {
    if (ways.some(({ transport }) => transport === way.transport)) return;
    ways.push(way);
    await published
      .renew()
      .catch((error: unknown) =>
        log("error", "signing_failed", { message: "The manifest could not be signed.", error }),
      );
  };
  const sse = createSseServer(hub, {
    prefix,
    heartbeatMs: limits.heartbeatMs,
    every,
    bodyBytes: limits.bodyBytes,
    ticket: tickets.issue,
  });
  const bare = compat
    ? createCompat(hub, {
        heartbeatMs: limits.heartbeatMs,
        every,
        stray: compat === true ? undefined : compat,
      })
    : undefined;
  let stopped = false;
  const site: HttpSite = {
    prefix,
    guard,
    authenticate,
    ticket: failClosed(tickets.authenticate, failed),
    authorize,
    cookies,
    sse,
    compat: bare?.http,
    beside: createBeside(options.pages, options.routes, log),
    published,
    ready: () => !stopped,
    metrics,
    log,
    writes,
    watch: createWatch(limits.heartbeatMs),
    bodyMs: limits.requestMs,
  };
  if (insecureLoopback) {
    log("warn", "insecure_loopback", {
      message:
        "insecureLoopback is on: anyone on this machine may listen to this agent and answer for you. For development only.",
    });
  }
  if (compat)
    log("warn", "compat", {
      message:
        "compat is on: listeners are taken in without a handshake. For existing clients on this machine only.",
    });
  const built: Site = {
    token,
    prefix,
    node: (request, response, next) => {
      const target = targetOf(request, prefix);
      if (next && !target.ours) return next();
      void handleNodeRequest(site, request, response, limits, target);
    },
    web: createWebHandler(site, limits.bodyBytes, limits),
    attachWebSocket(server) {
      const common = {
        guard,
        admit,
        messageBytes: limits.bodyBytes,
        queueBytes: limits.queueBytes,
        pingMs: limits.heartbeatMs,
      };
      const front =
        bare && attachCompatSocket(server, { ...common, paths: [`${prefix}/ws`, "/ws"], compat: bare });
      const proper = attachWebSocket(front?.rest ?? server, {
        ...common,
        path: `${prefix}/ws`,
        hub,
        metrics,
        observer,
        writes,
        blockedMs: limits.blockedMs,
      });
      return {
        announced: announce({ transport: "websocket" }),
        close: async () => {
          front?.close();
          await proper.close();
        },
      };
    },
    stop() {
      stopped = true;
      stopObserving();
      published.stop();
    },
  };
  return { site: built, inside: { hub, log, observer, writes, manifest, announce } };
}

function mustBeSafe(options: SiteOptions): void {
  const { prefix = "/aaep/v1", hosts = [], origins = [], insecureLoopback, compat, auth } = options;
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(prefix)) {
    throw new EarshotError(
      "invalid_prefix",
      `"${prefix}" is no path prefix: begin with a slash and end without one, such as /aaep/v1.`,
    );
  }
  const refuse = (message: string) => {
    throw new EarshotError("unsafe_address", message);
  };
  const named = (host: string): string => host.replace(/:\d+$/, "");
  const far = hosts.find((host) => !isLoopback(named(host)));
  if (far !== undefined && insecureLoopback)
    refuse(
      `insecureLoopback is for this machine only: remove ${far} from \`hosts\`, or give \`auth\` instead.`,
    );
  if (far !== undefined && compat) refuse(`compat is for this machine only: remove ${far} from \`hosts\`.`);
  if (insecureLoopback && auth)
    refuse("Give either `auth` or `insecureLoopback`: with both, who may answer would be a guess.");
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong !== undefined)
    refuse(
      `"${wrong}" is no origin: write scheme, host and port as a browser does, such as https://chat.example.com, and list each one.`,
    );
}

/** As browsers write it: neither a pattern nor `null`, which any page can have. */
function isOrigin(origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).origin === origin && origin !== "null";
}
