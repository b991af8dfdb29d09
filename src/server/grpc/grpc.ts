/** Serves one producer over gRPC on a port of its own (B.5): checked, authenticated and limited like every transport. */
import { randomBytes } from "node:crypto";
import type { Metadata, Server, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import { type Authenticator, type Authorizer, localAuthenticator } from "../../auth/authenticate.ts";
import { readCertificate } from "../../auth/mtls.ts";
import type { Producer } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type Grpc, loadGrpc, MANIFEST_PATH, method, SUBSCRIBE_PATH } from "../../transports/grpc/library.ts";
import { encodeManifest } from "../../transports/grpc/protobuf.ts";
import { answerReflection, REFLECTION_PATHS } from "../../transports/grpc/reflection.ts";
import { createStreamWriter, type GrpcConnection, openGrpc } from "../../transports/grpc/server.ts";
import { type Ending, endingOf, STATUS } from "../../transports/grpc/status.ts";
import { type Admission, createAdmission, credentialsOf } from "../admission.ts";
import { createContext, type ServerContext, withContext } from "../context.ts";
import { INSECURE_LOOPBACK } from "../http/app.ts";
import { asHost, createGuard, isLoopback, isWildcard } from "../http/guard.ts";
import type { LogSink } from "../telemetry.ts";

/** In PEM. With `ca`, every caller needs a certificate of that authority: mutual TLS. */
export interface GrpcTls {
  readonly key: string | Uint8Array;
  readonly cert: string | Uint8Array;
  readonly ca?: string | Uint8Array;
}

/** Limits of a gRPC server. */
export interface GrpcLimits {
  readonly messageBytes: number;
  /** Most bytes that may wait for one stream, and how long it may take none. */
  readonly queueBytes: number;
  readonly blockedMs: number;
  readonly streams: number;
  readonly streamsPerConnection: number;
  readonly heartbeatMs: number;
  /** A stream must send a request, and a connection must open a stream, within this time. */
  readonly requestMs: number;
}

/** Options of `serveGrpc`. */
export interface GrpcOptions {
  /** 4601 by default; 0 takes any free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything else needs `tls` and `auth`. */
  readonly host?: string;
  readonly tls?: GrpcTls;
  /** Authenticates callers. On loopback, a token by default. */
  readonly auth?: Authenticator;
  readonly authorize?: Authorizer;
  /** The loopback token, such as that of `serve()`. By default one is made for this run. */
  readonly token?: string;
  /** On loopback only: anyone on this machine may listen and answer. */
  readonly insecureLoopback?: boolean;
  /** Host names this server accepts, besides loopback ones. */
  readonly hosts?: readonly string[];
  /** Server reflection, for tools such as grpcurl; on by default. */
  readonly reflection?: boolean;
  readonly contact?: string;
  readonly limits?: Partial<GrpcLimits>;
  readonly log?: LogSink;
}

/** A running gRPC server. */
export interface ServingGrpc {
  /** For subscribe(): `grpc://…` or `grpcs://…`. */
  readonly address: string;
  readonly port: number;
  readonly token: string | undefined;
  /** Tells every listener to reconnect later, flushes, and stops. */
  close(): Promise<void>;
}

const LIMITS: GrpcLimits = {
  messageBytes: 1_048_576 + 1_024,
  queueBytes: 1_048_576,
  blockedMs: 30_000,
  streams: 10_000,
  streamsPerConnection: 128,
  heartbeatMs: 15_000,
  requestMs: 30_000,
};

/** Puts a producer on a gRPC server. Needs the package @grpc/grpc-js. */
export async function serveGrpc(producer: Producer, options: GrpcOptions = {}): Promise<ServingGrpc> {
  const { log, contact, limits } = options;
  const context = createContext(producer, {
    log,
    contact,
    prefix: "/",
    connections: limits?.streams ?? LIMITS.streams,
    endpoints: [{ transport: "grpc" }],
  });
  return withContext(context, () => openGrpcServer(options, context));
}

export async function openGrpcServer(options: GrpcOptions, context: ServerContext): Promise<ServingGrpc> {
  const { host = "127.0.0.1", port = 4601, tls, insecureLoopback = false } = options;
  const { log } = context;
  mustBeSafe(options, host);
  const grpc = await loadGrpc();
  const limits = { ...LIMITS, ...options.limits };
  const token =
    options.auth || insecureLoopback ? undefined : (options.token ?? randomBytes(32).toString("hex"));
  const hosts = ["localhost", "127.0.0.1", "[::1]", ...(options.hosts ?? [])];
  const service: GrpcService = {
    guard: createGuard({ hosts: [...hosts, ...(isWildcard(host) ? [] : [asHost(host)])], origins: [] }),
    admit: createAdmission(options.auth ?? localAuthenticator(token), options.authorize, log),
    context,
    secure: tls !== undefined,
    connections: new Set(),
    limits,
    grpc,
  };
  const server = createGrpcServer(service, options.reflection !== false);
  const bound = await listen(grpc, server, `${asHost(host)}:${port}`, tls);
  const address = `${tls ? "grpcs" : "grpc"}://${asHost(host)}:${bound}`;
  log("info", "listening", { url: address, agent_id: context.agent_id });
  if (insecureLoopback) {
    log("warn", "insecure_loopback", { message: INSECURE_LOOPBACK });
  } else if (!tls) {
    log("warn", "plain_loopback", {
      message: "The agent is served without TLS, for this machine only; every stream needs credentials.",
    });
  }
  let closing: Promise<void> | undefined;
  return {
    address,
    port: bound,
    token,
    close() {
      closing ??= stop(server, service).then(() => log("info", "closed", { url: address }));
      return closing;
    },
  };
}

/** TRN-11, SEC-01, CON-66: other machines only with TLS and authentication. Each error says what to do. */
function mustBeSafe({ tls, auth, token, hosts = [], insecureLoopback }: GrpcOptions, host: string): void {
  const refuse = (message: string) => {
    throw new EarshotError("unsafe_address", message);
  };
  if (tls && !(tls.key && tls.cert)) refuse("`tls` has no certificate. Pass `key` and `cert`.");
  if (insecureLoopback && (auth || token)) {
    refuse("Pass either credentials or `insecureLoopback`: they contradict each other.");
  }
  if (token !== undefined && !/^\S{16,}$/.test(token)) {
    refuse("`token` must have at least 16 characters and no spaces.");
  }
  const remote = [host, ...hosts].find((name) => !isLoopback(name.replace(/:\d+$/, "")));
  if (remote === undefined) return;
  if (insecureLoopback)
    refuse("insecureLoopback is for loopback addresses only: listen on 127.0.0.1, or pass `tls` and `auth`.");
  if (!isLoopback(host) && !(tls && auth)) {
    refuse(
      `${host} can be reached from other machines. Pass serveGrpc() both \`tls\` (key and cert) and \`auth\` (see jwtAuthenticator and certificateAuthenticator), or listen on 127.0.0.1.`,
    );
  }
  if (isWildcard(host) && hosts.length === 0) {
    refuse(
      `${host || "An empty host"} listens on every address. List the host names that clients use in \`hosts\`, such as agent.example.com.`,
    );
  }
}

function listen(grpc: Grpc, server: Server, address: string, tls: GrpcTls | undefined): Promise<number> {
  const bytes = (pem: string | Uint8Array): Buffer => Buffer.from(pem as Uint8Array);
  const credentials = tls
    ? grpc.ServerCredentials.createSsl(
        tls.ca === undefined ? null : bytes(tls.ca),
        [{ private_key: bytes(tls.key), cert_chain: bytes(tls.cert) }],
        tls.ca !== undefined,
      )
    : grpc.ServerCredentials.createInsecure();
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (!error) return resolve(port);
      server.forceShutdown();
      const taken = /EADDRINUSE/.test(error.message);
      reject(
        taken
          ? new EarshotError(
              "port_in_use",
              `${address} is already in use. Use another port, or 0 for any free one.`,
              {
                cause: error,
              },
            )
          : error,
      );
    });
  });
}

/** Tells every listener the reason, and disconnects those that have not received it after a moment. */
async function stop(server: Server, { connections }: GrpcService): Promise<void> {
  for (const connection of [...connections]) connection.close("producer_shutdown");
  await new Promise<void>((resolve) => {
    const limit = setTimeout(() => server.forceShutdown(), LINGER_MS);
    server.tryShutdown(() => {
      clearTimeout(limit);
      resolve();
    });
  });
}

interface GrpcService {
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Admission;
  readonly context: ServerContext;
  readonly secure: boolean;
  readonly connections: Set<GrpcConnection>;
  readonly limits: GrpcLimits;
  readonly grpc: Grpc;
}

/** How long a peer has to receive the close reason before the stream is reset. */
const LINGER_MS = 1_000;

type Call = ServerDuplexStream<Buffer, Buffer>;

function createGrpcServer(service: GrpcService, reflects: boolean): Server {
  const { grpc, limits } = service;
  const server = new grpc.Server({
    "grpc.max_receive_message_length": limits.messageBytes,
    "grpc.max_concurrent_streams": limits.streamsPerConnection,
    "grpc.keepalive_time_ms": limits.heartbeatMs,
    "grpc.keepalive_timeout_ms": limits.heartbeatMs,
    "grpc.max_connection_idle_ms": limits.requestMs,
    "grpc-node.max_session_memory": 8,
    "grpc.enable_channelz": 0,
  });
  server.addService(
    { Subscribe: method(SUBSCRIBE_PATH, true), GetManifest: method(MANIFEST_PATH, false) },
    {
      Subscribe: (call: Call) => void subscribe(service, call),
      GetManifest: (
        call: ServerUnaryCall<Buffer, Buffer>,
        answer: (error: object | null, bytes?: Buffer) => void,
      ) => {
        const refusal = refusalBy(service, call);
        if (refusal) answer({ code: refusal.code, details: refusal.details });
        else answer(null, encodeManifest(JSON.stringify(service.context.manifest())));
      },
    },
  );
  for (const path of reflects ? REFLECTION_PATHS : []) {
    server.addService({ Info: method(path, true) }, { Info: (call: Call) => reflect(service, call) });
  }
  return server;
}

const headerOf = (metadata: Metadata) => (name: string) => {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
};

/** Cross-origin and Host checks (A20): browsers cannot call gRPC, so any Origin is refused. */
function refusalBy(service: GrpcService, call: Pick<Call, "metadata" | "getHost">): Ending | undefined {
  const header = headerOf(call.metadata);
  const guarded = service.guard(call.getHost(), header("origin"), service.secure);
  if (guarded.ok && header("origin") === undefined) return undefined;
  const message = guarded.ok ? "Pages may not call this agent over gRPC." : guarded.message;
  return { ...endingOf("authorization_denied"), details: message };
}

async function subscribe(service: GrpcService, call: Call): Promise<void> {
  // Without a listener, the error of one stream would end the process.
  call.on("error", () => {});
  const refusal = refusalBy(service, call);
  if (refusal) return endCall(service.grpc, call, refusal);
  if (service.connections.size >= service.limits.streams) {
    return endCall(service.grpc, call, {
      ...endingOf("producer_shutdown"),
      details: "Too many listeners are connected. Try again later.",
    });
  }
  const caller = await service.admit(
    credentialsOf({
      method: "POST",
      url: new URL("grpc://unused"),
      header: headerOf(call.metadata),
      certificate: readCertificate(call.getAuthContext().sslPeerCertificate),
    }),
  );
  if (call.cancelled) return;
  if (caller === "denied") endCall(service.grpc, call, endingOf("authorization_denied"));
  else if (caller) open(service, call, caller.principal);
  else endCall(service.grpc, call, endingOf("authentication_failed"));
}

function open(service: GrpcService, call: Call, principal: Principal): void {
  const { limits, connections } = service;
  const writer = createStreamWriter(call as never, {
    queueBytes: limits.queueBytes,
    blockedMs: limits.blockedMs,
    onSlow: () => {
      connection.close("too_slow");
      setTimeout(() => reset(call), LINGER_MS).unref();
    },
  });
  let over = false;
  const closed = () => {
    if (over) return;
    over = true;
    clearTimeout(idle);
    connections.delete(connection);
    writer.release();
    connection.closed();
  };
  const connection = openGrpc(
    {
      write: writer.write,
      end: (ending) => {
        writer.release();
        endCall(service.grpc, call, ending);
      },
    },
    service.context.hub,
    principal,
    service.context.observer,
  );
  connections.add(connection);
  const idle = setTimeout(
    () => connection.subscribed || connection.close("protocol_violation"),
    limits.requestMs,
  );
  idle.unref();
  call.on("data", (bytes: Buffer) => {
    const backpressure = connection.message(bytes);
    if (!backpressure) return;
    call.pause();
    void backpressure.then(() => call.resume());
  });
  call.on("end", () => connection.halfClosed());
  call.on("cancelled", closed);
  call.on("close", closed);
}

/** A status cannot reach a stream that is not read, and gRPC cannot reset it, so its HTTP/2 stream is reset. */
function reset(call: unknown): void {
  const { stream } =
    (call as { call?: { stream?: { close?(code: number): void; closed?: boolean } } }).call ?? {};
  const CANCEL = 8;
  if (stream?.closed === false) stream.close?.(CANCEL);
}

function reflect(service: GrpcService, call: Call): void {
  call.on("error", () => {});
  const refusal = refusalBy(service, call);
  if (refusal) return endCall(service.grpc, call, refusal);
  call.on("data", (bytes: Buffer) => {
    const answer = answerReflection(bytes);
    if (!answer)
      endCall(service.grpc, call, {
        code: STATUS.INVALID_ARGUMENT,
        details: "The bytes are not a ServerReflectionRequest.",
        trailers: {},
      });
    // Backpressure: a caller that does not read the answers is not read from either.
    else if (!call.write(answer)) {
      call.pause();
      call.once("drain", () => call.resume());
    }
  });
  call.on("end", () => call.end());
}

function endCall(grpc: Grpc, call: Call, { code, details, trailers }: Ending): void {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  if (call.cancelled || call.writableEnded) return;
  if (code === STATUS.OK) call.end(metadata);
  else call.emit("error", Object.assign(new Error(details), { code, details, metadata }));
}
