/** One producer on one server of its own, with authentication and limits that fit where it listens. */
import { createServer as createHttpServer, type Server } from "node:http";
import { createSecureServer as createHttp2Server, type Http2SecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import type { Producer } from "../producer/producer.ts";
import { EarshotError } from "../protocol/errors.ts";
import { asHost, isLoopback, isWildcard } from "./http/guard.ts";
import { type InspectorOptions, withInspector } from "./http/inspector.ts";
import { buildSite, LIMITS, type ServeLimits, type Site, type SiteOptions } from "./http/site.ts";
import { writeTokenFile } from "./token-file.ts";
import { type GrpcWay, openWays, type UnixWay, type Ways } from "./ways.ts";

/** Options of `serve`. */
export interface ServeOptions extends SiteOptions {
  /** 4600 by default; 0 takes any free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything else needs `tls` and `auth`. */
  readonly host?: string;
  /** As for Node's TLS servers. For client certificates: `requestCert: true`, and `ca` with your own authority. */
  readonly tls?: TlsOptions;
  /** HTTP/2 with HTTP/1.1 beside it; needs `tls`. */
  readonly http2?: boolean;
  /** Where the loopback token is kept; false keeps it nowhere, and opens no socket by itself. */
  readonly tokenFile?: string | false;
  /**
   * The Unix socket, or on Windows the named pipe, where local tools find this agent. On loopback without `auth` it opens
   * by itself, and where it cannot, that is logged; true, or a path or directory, insists on it.
   */
  readonly unix?: boolean | UnixWay;
  /** gRPC too, on a port of its own: one more than `port` by default. Needs the package @grpc/grpc-js. */
  readonly grpc?: boolean | GrpcWay;
  /** The page at `/` that shows what listeners get. Offered on loopback; elsewhere only if you say so, and to admins. */
  readonly inspector?: boolean | InspectorOptions;
}

/** Addresses are as connect() takes them; undefined for what is not served. */
export interface Serving extends Site {
  readonly http: string;
  readonly ws: string;
  /** `unix:<path>` or `pipe:<name>`. */
  readonly unix: string | undefined;
  /** `grpc://…` or `grpcs://…`. */
  readonly grpc: string | undefined;
  readonly port: number;
  readonly tokenPath: string | undefined;
  /** Where a person on this machine opens the Inspector, the token in it: for their eyes only. */
  readonly inspector: string | undefined;
  /** Tells everyone, lets the last words out, and stops. */
  close(): Promise<void>;
}

/** How long a reader may take to hear why the agent stops. */
const LAST_WORDS_MS = 500;

/** Puts a producer on an HTTP server: SSE, WebSocket and the Inspector, and on one's own machine a Unix socket. */
export async function serve(producer: Producer, options: ServeOptions = {}): Promise<Serving> {
  const { port = 4600, tls } = options;
  const host = (options.host ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  const local = isLoopback(host);
  mustBePort(port);
  mustBeSafe(options, host, local);
  const { site, inside } = await buildSite(producer, {
    ...options,
    ...withInspector({ ...options, local }),
    hosts: [...(options.hosts ?? []), ...(isWildcard(host) ? [] : [asHost(host)])],
  });
  const server = createServer(options, { ...LIMITS, ...options.limits }, site);
  const perAddress =
    options.limits?.connectionsPerAddress ?? (local ? undefined : LIMITS.connectionsPerAddress);
  if (perAddress !== undefined) limitPerAddress(server, perAddress);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const websockets = site.attachWebSocket(server);
  await websockets.announced;
  await listen(server, port, host);
  const address = server.address() as AddressInfo;
  const authority = `${asHost(host)}:${address.port}`;
  const http = `${tls ? "https" : "http"}://${authority}`;
  const stop = async () => {
    site.stop();
    await websockets.close();
    await new Promise<void>((resolve) => {
      // Readers get a moment for the last words; then nobody is waited for. HTTP/2 has no verb of its own for this.
      const late = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, LAST_WORDS_MS);
      server.close(() => {
        clearTimeout(late);
        resolve();
      });
      server.closeIdleConnections?.();
    });
  };
  let kept: ReturnType<typeof writeTokenFile> | undefined;
  let ways: Ways;
  try {
    ways = await openWays(producer, options, { host, local, site, inside });
  } catch (error) {
    // Half a server is none: the port is free again before the caller hears why.
    await stop();
    throw error;
  }
  try {
    if (site.token !== undefined && options.tokenFile !== false) {
      kept = writeTokenFile(
        {
          agent_id: producer.identity.agent_id,
          url: http,
          ...(ways.grpc === undefined ? {} : { grpc: ways.grpc.address }),
          token: site.token,
          pid: process.pid,
        },
        options.tokenFile,
      );
    }
  } catch (error) {
    await Promise.all([ways.close(), stop()]);
    throw error;
  }
  const { log } = inside;
  log("info", "listening", { url: http, agent_id: producer.identity.agent_id });
  if (!tls && site.token !== undefined) {
    const where = kept ? ` It is kept in ${kept.path}.` : "";
    log("warn", "plain_loopback", {
      message: `The agent is served without TLS, for this machine only; every call needs the token of this run.${where}`,
    });
  }
  return {
    ...site,
    http,
    ws: `${tls ? "wss" : "ws"}://${authority}${site.prefix}/ws`,
    unix: ways.unix?.address,
    grpc: ways.grpc?.address,
    port: address.port,
    tokenPath: kept?.path,
    inspector:
      (options.inspector ?? local) === false
        ? undefined
        : `${http}/${site.token === undefined ? "" : `#token=${site.token}`}`,
    async close() {
      site.stop();
      kept?.remove();
      // Everyone is told at once; what runs on somebody's yes may take a little longer.
      const closed = producer.close();
      // One turn of the loop for the last words, then nobody is waited for.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await Promise.all([ways.close(), stop(), closed]);
      log("info", "closed", { url: http });
    },
  };
}

/** TRN-11, SEC-01, CON-66: beyond this machine only with TLS and authentication; each refusal says how to go on. */
function mustBeSafe(
  { tls, auth, http2, hosts = [], insecureLoopback, compat }: ServeOptions,
  host: string,
  local: boolean,
): void {
  const refuse = (message: string) => {
    throw new EarshotError("unsafe_address", message);
  };
  const old = [tls?.minVersion, tls?.maxVersion].find(
    (version) => version === "TLSv1" || version === "TLSv1.1",
  );
  if (old ?? tls?.secureProtocol)
    refuse(`${old ?? "secureProtocol"} is too old or too loose: leave it out, and TLS 1.2 or newer is used.`);
  if (tls?.requestCert && !tls.ca) {
    refuse(
      "`tls.requestCert` without `tls.ca` would believe a certificate from any authority this machine knows: give `ca` with your own.",
    );
  }
  if (tls && !(tls.key && tls.cert) && !tls.pfx && !tls.secureContext && !tls.SNICallback) {
    refuse("`tls` has no certificate: give `key` and `cert`, or `pfx`.");
  }
  if (http2 && !tls) refuse("HTTP/2 needs `tls`: browsers speak it over TLS only.");
  if (local) return;
  if (insecureLoopback)
    refuse("insecureLoopback is for loopback addresses only: listen on 127.0.0.1, or give `tls` and `auth`.");
  if (compat) refuse("compat is for loopback addresses only: listen on 127.0.0.1, or leave it out.");
  if (!tls || !auth) {
    refuse(
      `${host} can be reached from other machines: give serve() both \`tls\` (key and cert) and \`auth\` (see jwtAuthenticator), or listen on 127.0.0.1.`,
    );
  }
  if (isWildcard(host) && hosts.length === 0) {
    refuse(
      `${host || "An empty host"} is every address at once and no name to be called by: list in \`hosts\` the names people use, such as agent.example.com.`,
    );
  }
}

function createServer({ tls, http2 }: ServeOptions, limits: ServeLimits, { node }: Site): Server {
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    // Node looks only this often whether somebody is too slow; by default twice a minute (A18).
    connectionsCheckingInterval: Math.max(50, Math.min(limits.headersMs, limits.requestMs) / 4),
  };
  const secure = { minVersion: "TLSv1.2" as const, handshakeTimeout: limits.headersMs, ...tls };
  const server = (
    tls && http2
      ? withIdleLimit(
          createHttp2Server(
            {
              ...secure,
              allowHTTP1: true,
              ...HTTP2_LIMITS,
              settings: { maxConcurrentStreams: 128, maxHeaderListSize: limits.headerBytes },
            },
            node,
          ),
          limits,
        )
      : tls
        ? createHttpsServer({ ...secure, ...settings }, node)
        : createHttpServer(settings, node)
  ) as Server;
  server.maxConnections = limits.connections;
  return server;
}

/** One machine cannot take all the room there is (F22). Neighbours in one IPv6 network count as one. */
function limitPerAddress(server: Server, most: number): void {
  const open = new Map<string, number>();
  const counted = new WeakSet<Socket>();
  server.on("connection", (socket: Socket) => {
    // A connection whose request was put back begins a second time.
    if (counted.has(socket)) return;
    counted.add(socket);
    const { remoteAddress = "" } = socket;
    const address =
      isIP(remoteAddress) === 6 ? remoteAddress.split(":").slice(0, 4).join(":") : remoteAddress;
    const count = (open.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once("close", () => {
      const left = open.get(address)! - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}

/** One connection may hold a page's streams and replies, and reset only so many of them (rapid reset). */
const HTTP2_LIMITS = {
  maxSessionMemory: 8,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 50,
  streamResetBurst: 200,
  streamResetRate: 20,
};

function withIdleLimit(
  server: Http2SecureServer,
  { requestMs, heartbeatMs }: ServeLimits,
): Http2SecureServer {
  // Heartbeats keep a session with an open stream busy; one without is let go.
  server.on("session", (session) =>
    session.setTimeout(Math.max(requestMs, 2 * heartbeatMs), () => session.close()),
  );
  return server;
}

/** Node would take other text for the name of a socket, and listen there. */
function mustBePort(port: number): void {
  if (/^\d+$/.test(String(port)) && port <= 65_535) return;
  throw new EarshotError(
    "invalid_port",
    `${port} is no port: give a number from 0 to 65535; 0 takes any free one.`,
  );
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new EarshotError(
              "port_in_use",
              `Port ${port} on ${host} is taken. Use another, or 0 for any free one.`,
              { cause: error },
            )
          : error,
      ),
    );
    server.listen(port, host, resolve);
  });
}
