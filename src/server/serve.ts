/** Serves one producer on every transport, with authentication and limits that fit the address it listens on. */
import { createServer as createHttpServer, type Server } from "node:http";
import { createSecureServer as createHttp2Server, type Http2SecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import type { Producer } from "../producer/producer.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { ServerContext } from "./context.ts";
import { type GrpcOptions, type GrpcTls, openGrpcServer, type ServingGrpc } from "./grpc/grpc.ts";
import { buildHttpApp, type HttpApp, type HttpAppOptions, LIMITS, type ServeLimits } from "./http/app.ts";
import { asHost, isLoopback, isWildcard } from "./http/guard.ts";
import { type InspectorOptions, inspectorFor } from "./http/inspector.ts";
import { type IpcOptions, openIpcServer, type ServingIpc } from "./ipc/ipc.ts";
import { writeTokenFile } from "./token-file.ts";

/** Options of `serve`. */
export interface ServeOptions extends HttpAppOptions {
  /** 4600 by default; 0 takes any free one. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything else needs `tls` and `auth`. */
  readonly host?: string;
  /** As for Node's TLS servers. For client certificates: `requestCert: true`, and `ca` with your own authority. */
  readonly tls?: TlsOptions;
  /** HTTP/2, with HTTP/1.1 for clients that need it; requires `tls`. */
  readonly http2?: boolean;
  /** The directory for the loopback token; false writes no token, and opens no socket by default. */
  readonly tokenFile?: string | false;
  /**
   * The Unix socket, or on Windows the named pipe, where local tools find this agent. On loopback without `auth` it is
   * open by default, and a failure to open it is only logged; with true, or a path or directory, it is an error.
   */
  readonly unix?: boolean | Pick<IpcOptions, "path" | "directory">;
  /** gRPC on a port of its own: one more than `port` by default. Needs the package @grpc/grpc-js. */
  readonly grpc?: boolean | Pick<GrpcOptions, "port" | "tls" | "reflection">;
  /** The page at `/` that shows what listeners get. On by default on loopback; elsewhere for admins, if it is turned on. */
  readonly inspector?: boolean | InspectorOptions;
}

/** Addresses are as subscribe() takes them; undefined for transports that are not served. */
export interface Serving extends HttpApp {
  readonly http: string;
  readonly ws: string;
  /** `unix:<path>` or `pipe:<name>`. */
  readonly unix: string | undefined;
  /** `grpc://…` or `grpcs://…`. */
  readonly grpc: string | undefined;
  readonly port: number;
  readonly tokenPath: string | undefined;
  /** The Inspector's address for a person on this machine. It contains the token, so do not share it. */
  readonly inspector: string | undefined;
  /** Tells every listener that the agent shuts down, flushes, and closes everything. */
  close(): Promise<void>;
}

/** How long a reader may take to receive the reason for a shutdown. */
const LINGER_MS = 500;

/** Puts a producer on an HTTP server: SSE, WebSocket and the Inspector, and on loopback a Unix socket. */
export async function serve(producer: Producer, options: ServeOptions = {}): Promise<Serving> {
  const { port = 4600, tls } = options;
  const host = (options.host ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  const local = isLoopback(host);
  mustBePort(port);
  mustBeSafe(options, host, local);
  const inspector = inspectorFor({ ...options, local });
  const { app, context } = await buildHttpApp(
    producer,
    { ...options, hosts: [...(options.hosts ?? []), ...(isWildcard(host) ? [] : [asHost(host)])] },
    inspector,
  );
  const { log } = context;
  const server = createServer(options, { ...LIMITS, ...options.limits }, app);
  const perAddress =
    options.limits?.connectionsPerAddress ?? (local ? undefined : LIMITS.connectionsPerAddress);
  if (perAddress !== undefined) limitPerAddress(server, perAddress);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const websockets = app.attachWebSocket(server);
  await websockets.announced;
  await listen(server, port, host);
  const address = server.address() as AddressInfo;
  const authority = `${asHost(host)}:${address.port}`;
  const http = `${tls ? "https" : "http"}://${authority}`;
  const stopHttp = async () => {
    app.stop();
    await websockets.close();
    await new Promise<void>((resolve) => {
      // HTTP/2 has no closeAllConnections, so the sockets are destroyed here.
      const late = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, LINGER_MS);
      server.close(() => {
        clearTimeout(late);
        resolve();
      });
      server.closeIdleConnections?.();
    });
  };
  let grpc: ServingGrpc | undefined;
  let unix: ServingIpc | undefined;
  let tokenFile: ReturnType<typeof writeTokenFile> | undefined;
  try {
    grpc = await openGrpc(options, host, app.token, context);
    // Last, because the manifest file it writes lists all other endpoints.
    unix = await openUnix(options, local, context);
    if (app.token !== undefined && options.tokenFile !== false) {
      const { agent_id } = producer.identity;
      const file = { agent_id, url: http, token: app.token, pid: process.pid };
      tokenFile = writeTokenFile(grpc ? { ...file, grpc: grpc.address } : file, options.tokenFile);
    }
  } catch (error) {
    // Everything is closed, and the port is free, before the caller gets the error.
    await Promise.all([unix?.close(), grpc?.close(), stopHttp()]);
    throw error;
  }
  log("info", "listening", { url: http, agent_id: producer.identity.agent_id });
  if (!tls && app.token !== undefined) {
    const where = tokenFile ? ` It is in ${tokenFile.path}.` : "";
    log("warn", "plain_loopback", {
      message: `The agent is served without TLS, for this machine only; every request needs the token of this run.${where}`,
    });
  }
  return {
    ...app,
    http,
    ws: `${tls ? "wss" : "ws"}://${authority}${app.prefix}/ws`,
    unix: unix?.address,
    grpc: grpc?.address,
    port: address.port,
    tokenPath: tokenFile?.path,
    inspector: inspector && `${http}/${app.token === undefined ? "" : `#token=${app.token}`}`,
    async close() {
      app.stop();
      tokenFile?.remove();
      // Listeners are told at once; tools that a person approved may take longer to finish.
      const closed = producer.close();
      // A moment to flush close messages before the sockets are closed.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await Promise.all([unix?.close(), grpc?.close(), stopHttp(), closed]);
      log("info", "closed", { url: http });
    },
  };
}

async function openUnix(
  options: ServeOptions,
  local: boolean,
  context: ServerContext,
): Promise<ServingIpc | undefined> {
  // Open by default where the token file is written: anyone who can open the socket can read that file. Not by default
  // where `auth` decides who callers are, or where this run is not to be found.
  const byDefault =
    options.unix === undefined && local && options.auth === undefined && options.tokenFile !== false;
  const { unix = byDefault, authorize } = options;
  if (unix === false) return undefined;
  const limits = { ...LIMITS, ...options.limits };
  try {
    const serving = await openIpcServer(
      {
        ...(unix === true ? {} : unix),
        ...(authorize ? { authorize } : {}),
        limits: {
          ...limits,
          connections: options.limits?.connections ?? 1_024,
          messageBytes: limits.bodyBytes,
        },
      },
      context,
    );
    await context.announce(serving.endpoint);
    return serving;
  } catch (error) {
    if (!byDefault) throw error;
    context.log("warn", "no_socket", {
      message: `The Unix socket could not be opened, so local tools find this agent over HTTP only. ${(error as Error).message} To serve without a socket, pass \`unix: false\`.`,
      error,
    });
    return undefined;
  }
}

async function openGrpc(
  options: ServeOptions,
  host: string,
  token: string | undefined,
  context: ServerContext,
): Promise<ServingGrpc | undefined> {
  const { grpc, port = 4600, auth, authorize, insecureLoopback, hosts, limits } = options;
  if (!grpc) return undefined;
  const own = grpc === true ? {} : grpc;
  const tls = own.tls ?? grpcTls(options);
  const serving = await openGrpcServer(
    {
      ...own,
      host,
      port: own.port ?? (port === 0 ? 0 : port + 1),
      ...(tls ? { tls } : {}),
      ...(auth ? { auth } : {}),
      ...(authorize ? { authorize } : {}),
      ...(hosts ? { hosts } : {}),
      ...(insecureLoopback ? { insecureLoopback } : {}),
      ...(token === undefined ? {} : { token }),
      limits: {
        ...limits,
        ...(limits?.bodyBytes === undefined ? {} : { messageBytes: limits.bodyBytes + 1_024 }),
        ...(limits?.connections === undefined ? {} : { streams: limits.connections }),
      },
    },
    context,
  );
  await context.announce({ transport: "grpc", grpcPort: serving.port });
  return serving;
}

/** The server's own certificate, in the form gRPC takes. */
function grpcTls({ tls }: ServeOptions): GrpcTls | undefined {
  if (!tls) return undefined;
  const pem = (value: unknown): string | Uint8Array | undefined =>
    typeof value === "string" || value instanceof Uint8Array ? value : undefined;
  const [key, cert, ca] = [pem(tls.key), pem(tls.cert), pem(tls.ca)];
  // gRPC requires a certificate from every caller or from none; where it is optional, from none.
  const required = tls.requestCert === true && tls.rejectUnauthorized !== false;
  if (key === undefined || cert === undefined || (required && ca === undefined)) {
    throw new EarshotError(
      "unsafe_address",
      "gRPC takes one `key`, one `cert` and one `ca` in PEM, but `tls` has other values: pass `grpc: { tls: { key, cert } }`, with `ca` to require client certificates.",
    );
  }
  return { key, cert, ...(required ? { ca: ca! } : {}) };
}

/** TRN-11, SEC-01, CON-66: other machines only with TLS and authentication. Each error says what to do. */
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
    refuse(`${old ?? "secureProtocol"} is not secure. Remove it to use TLS 1.2 or newer.`);
  if (tls?.requestCert && !tls.ca) {
    refuse(
      "`tls.requestCert` without `tls.ca` accepts certificates of every authority this machine trusts. Pass `ca` with your own.",
    );
  }
  if (tls && !(tls.key && tls.cert) && !tls.pfx && !tls.secureContext && !tls.SNICallback) {
    refuse("`tls` has no certificate. Pass `key` and `cert`, or `pfx`.");
  }
  if (http2 && !tls) refuse("HTTP/2 needs `tls`: browsers support it over TLS only.");
  if (local) return;
  if (insecureLoopback)
    refuse("insecureLoopback is for loopback addresses only: listen on 127.0.0.1, or pass `tls` and `auth`.");
  if (compat) refuse("compat is for loopback addresses only: listen on 127.0.0.1, or remove it.");
  if (!tls || !auth) {
    refuse(
      `${host} can be reached from other machines. Pass serve() both \`tls\` (key and cert) and \`auth\` (see jwtAuthenticator), or listen on 127.0.0.1.`,
    );
  }
  if (isWildcard(host) && hosts.length === 0) {
    refuse(
      `${host || "An empty host"} listens on every address. List the host names that clients use in \`hosts\`, such as agent.example.com.`,
    );
  }
}

const BACKSTOP_MS = 1_000;

function createServer({ tls, http2 }: ServeOptions, limits: ServeLimits, { node }: HttpApp): Server {
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    // A slow body is answered by our own timeout, with a message. Node's, which only closes, comes after it as a backstop.
    requestTimeout: limits.requestMs + BACKSTOP_MS,
    // How often Node checks these timeouts; by default only twice a minute (A18).
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

/** One machine cannot use up all connections (F22). Addresses of one IPv6 /64 network count as one. */
function limitPerAddress(server: Server, most: number): void {
  const open = new Map<string, number>();
  const counted = new WeakSet<Socket>();
  server.on("connection", (socket: Socket) => {
    // After an ignored upgrade offer the same socket is emitted a second time.
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

/** Enough streams for a page; limits resets (the rapid reset attack). */
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
  // Heartbeats keep a session with an open stream active; one without is closed.
  server.on("session", (session) =>
    session.setTimeout(Math.max(requestMs, 2 * heartbeatMs), () => session.close()),
  );
  return server;
}

/** Node would take other text as the path of a Unix socket. */
function mustBePort(port: number): void {
  if (/^\d+$/.test(String(port)) && port <= 65_535) return;
  throw new EarshotError(
    "invalid_port",
    `${port} is not a port. Use a number from 0 to 65535; 0 takes any free one.`,
  );
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new EarshotError(
              "port_in_use",
              `Port ${port} on ${host} is already in use. Use another, or 0 for any free one.`,
              { cause: error },
            )
          : error,
      ),
    );
    server.listen(port, host, resolve);
  });
}
