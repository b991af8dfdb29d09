/**
 * One agent's HTTP app, without the listening: AAEP over SSE and WebSocket, authentication, limits, manifest, pages and
 * routes. `serve` listens with it; it can also be mounted into an existing server.
 */
import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import { type Authenticator, type Authorizer, anyOf, localAuthenticator } from "../../auth/authenticate.ts";
import { createCookieJar, createTickets } from "../../auth/browser.ts";
import type { Producer } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { createSseServer } from "../../transports/sse/server.ts";
import { createAdmission } from "../admission.ts";
import { createContext, type ServerContext } from "../context.ts";
import type { SigningKey } from "../manifest.ts";
import type { LogSink } from "../telemetry.ts";
import { createCompat, type OtherMessageHook } from "./compat.ts";
import { createGuard, isLoopback } from "./guard.ts";
import { createHalfOpenDetector } from "./half-open.ts";
import { createHandler, KEYS_PATH, type PageHandler, type RouteHandler } from "./handler.ts";
import {
  handleNodeRequest,
  type NodeRequest,
  type NodeResponse,
  type StreamLimits,
  targetOf,
} from "./node.ts";
import { createWebHandler, type Pages, type Routes, toPageHandler, toRouteHandler } from "./web.ts";
import { attachWebSocket } from "./websocket.ts";

/** Options of `createHttpApp`: authentication, allowed names and origins, extra routes, limits. */
export interface HttpAppOptions {
  /** `/aaep/v1` by default. */
  readonly prefix?: string;
  /** Authenticates callers. On loopback, a token made for this run by default. */
  readonly auth?: Authenticator;
  /** Decides what an authenticated caller may do: audiences, role, number of subscriptions. Undefined refuses them. */
  readonly authorize?: Authorizer;
  /** Host names this server accepts, besides loopback ones. */
  readonly hosts?: readonly string[];
  /** Other origins whose pages may call. */
  readonly origins?: readonly string[];
  /** On loopback only: anyone on this machine may listen and answer. */
  readonly insecureLoopback?: boolean;
  /** On loopback only: also serves clients without a handshake. A function is called with JSON that is not AAEP. */
  readonly compat?: boolean | OtherMessageHook;
  /** Signs the manifest. Without it, listeners that require a signature are rejected. */
  readonly signing?: SigningKey;
  readonly contact?: string;
  /** Pages that anyone may see. GET and HEAD only. */
  readonly pages?: Pages;
  /** Your own endpoints, for authenticated callers. */
  readonly routes?: Routes;
  readonly limits?: Partial<ServeLimits>;
  /** Called with structured log entries; they never contain tokens or listeners' needs. By default, warnings are printed. */
  readonly log?: LogSink;
}

/** Limits of an HTTP server: sizes, numbers and times. */
export interface ServeLimits extends StreamLimits {
  readonly bodyBytes: number;
  readonly connections: number;
  /** From one address. On loopback, where a proxy may stand for all callers, only if it is set. */
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

/** A producer for an existing server: handlers for Node and for web-standard requests. See `createHttpApp`. */
export interface HttpApp {
  /** For Express (`app.use(agent.node)`), Fastify (`reply.raw`) or a Node server. */
  readonly node: (request: NodeRequest, response: NodeResponse, next?: () => void) => void;
  /** For web-standard route handlers. */
  readonly web: (request: Request) => Promise<Response>;
  /** Adds the WebSocket endpoint to a Node server. */
  readonly attachWebSocket: (server: Server) => {
    close: () => Promise<void>;
    /** Settles when the signed manifest lists it. */
    readonly announced: Promise<void>;
  };
  readonly token: string | undefined;
  readonly prefix: string;
  /** For a mounted app: stops renewing the signature, and `/readyz` answers 503 from now on. */
  readonly stop: () => void;
}

const secret = (bytes: number): string => randomBytes(bytes).toString("hex");

function every(ms: number, callback: () => void): () => void {
  const timer = setInterval(callback, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Creates an app to mount into an existing server. */
export async function createHttpApp(producer: Producer, options: HttpAppOptions = {}): Promise<HttpApp> {
  return (await buildHttpApp(producer, options)).app;
}

/** Handlers that come with the server: its pages after the user's, its routes before them. */
interface BuiltIn {
  readonly pages: PageHandler;
  readonly routes: RouteHandler;
}

export async function buildHttpApp(
  producer: Producer,
  options: HttpAppOptions,
  builtIn?: BuiltIn,
): Promise<{ app: HttpApp; context: ServerContext }> {
  const { prefix = "/aaep/v1", origins = [], hosts = [], insecureLoopback = false, compat = false } = options;
  mustBeSafe(options);
  const limits = { ...LIMITS, ...options.limits };
  const context = createContext(producer, {
    log: options.log,
    contact: options.contact,
    signing: options.signing,
    keys: options.signing && "kty" in options.signing.key ? KEYS_PATH : undefined,
    prefix,
    connections: limits.connections,
    endpoints: [{ transport: "sse" }],
  });
  const { hub, log, metrics, observer, writes, publication } = context;

  const token = options.auth || insecureLoopback ? undefined : secret(32);
  const tickets = createTickets(() => secret(16));
  const cookies = createCookieJar(() => secret(32));
  const authenticate = anyOf(options.auth ?? localAuthenticator(token), cookies.authenticate);
  const admit = createAdmission(authenticate, options.authorize, log);
  const guard = createGuard({ hosts: ["localhost", "127.0.0.1", "[::1]", ...hosts], origins });
  const implicit = compat
    ? createCompat(hub, {
        heartbeatMs: limits.heartbeatMs,
        every,
        onOther: compat === true ? undefined : compat,
      })
    : undefined;
  try {
    await publication.renew();
  } catch (error) {
    context.close();
    throw error;
  }
  let stopped = false;
  const handle = createHandler({
    prefix,
    guard,
    admit,
    admitTicket: createAdmission(tickets.authenticate, options.authorize, log),
    cookies,
    sse: createSseServer(hub, {
      prefix,
      heartbeatMs: limits.heartbeatMs,
      every,
      bodyBytes: limits.bodyBytes,
      ticket: tickets.issue,
    }),
    compat: implicit?.http,
    pages: [...(options.pages ? [toPageHandler(options.pages)] : []), ...(builtIn ? [builtIn.pages] : [])],
    routes: [
      ...(builtIn ? [builtIn.routes] : []),
      ...(options.routes ? [toRouteHandler(options.routes)] : []),
    ],
    publication,
    ready: () => !stopped,
    metrics,
    log,
    bodyMs: limits.requestMs,
  });
  const node = {
    handle,
    log,
    observer,
    writes,
    halfOpen: createHalfOpenDetector(limits.heartbeatMs),
    limits,
  };
  if (insecureLoopback) log("warn", "insecure_loopback", { message: INSECURE_LOOPBACK });
  if (compat)
    log("warn", "compat", {
      message:
        "compat is on: clients are accepted without a handshake. For existing clients on this machine only.",
    });
  const app: HttpApp = {
    token,
    prefix,
    node: (request, response, next) => {
      const target = targetOf(request, prefix);
      if (next && !target.aaep) return next();
      void handleNodeRequest(node, request, response, target);
    },
    web: createWebHandler({ handle, writes, limits }),
    attachWebSocket(server) {
      const { close } = attachWebSocket(server, {
        path: `${prefix}/ws`,
        guard,
        admit,
        context,
        compat: implicit,
        limits,
      });
      return { announced: context.announce({ transport: "websocket" }), close };
    },
    stop() {
      stopped = true;
      context.close();
    },
  };
  return { app, context };
}

export const INSECURE_LOOPBACK =
  "insecureLoopback is on: anyone on this machine may listen to this agent and answer for you. For development only.";

function mustBeSafe(options: HttpAppOptions): void {
  const { prefix = "/aaep/v1", hosts = [], origins = [], insecureLoopback, compat, auth } = options;
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(prefix)) {
    throw new EarshotError(
      "invalid_prefix",
      `"${prefix}" is not a valid path prefix. Start with a slash and end without one, such as /aaep/v1.`,
    );
  }
  const refuse = (message: string) => {
    throw new EarshotError("unsafe_address", message);
  };
  const remote = hosts.find((host) => !isLoopback(host.replace(/:\d+$/, "")));
  if (remote !== undefined && insecureLoopback)
    refuse(
      `insecureLoopback is for this machine only: remove ${remote} from \`hosts\`, or give \`auth\` instead.`,
    );
  if (remote !== undefined && compat)
    refuse(`compat is for this machine only: remove ${remote} from \`hosts\`.`);
  if (insecureLoopback && auth)
    refuse("Give either `auth` or `insecureLoopback`: they contradict each other.");
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong !== undefined)
    refuse(
      `"${wrong}" is not an origin. Write scheme, host and port as a browser does, such as https://chat.example.com, and list each one.`,
    );
}

/** As browsers write it: not a pattern, and not `null`, which any page can have. */
function isOrigin(origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).origin === origin && origin !== "null";
}
