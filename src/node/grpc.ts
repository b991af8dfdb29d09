/** One producer on a gRPC server of its own (B.5): guarded, authenticated and limited like every other way in. */
import { randomBytes } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import type { Metadata, Server, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import {
  type Authenticator,
  type Authorizer,
  type Certificate,
  failClosed,
  tokenAuthenticator,
} from "../auth/authenticate.ts";
import type { Producer } from "../producer/producer.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Principal } from "../protocol/principal.ts";
import { type Grpc, loadGrpc, MANIFEST_PATH, method, SUBSCRIBE_PATH } from "../transports/grpc/library.ts";
import { encodeManifest } from "../transports/grpc/message.ts";
import { createOutlet } from "../transports/grpc/outlet.ts";
import { answerReflection, REFLECTION_PATHS } from "../transports/grpc/reflection.ts";
import { type GrpcSession, openGrpc } from "../transports/grpc/server.ts";
import { type Ending, endingOf, STATUS } from "../transports/grpc/status.ts";
import { doorOf } from "./door.ts";
import { asHost, createGuard, isLoopback, isWildcard } from "./guard.ts";
import { credentialsOf } from "./http.ts";
import { createLogger, type Logger, type LogSink } from "./log.ts";
import { buildManifest } from "./manifest.ts";
import { createMetrics } from "./metrics.ts";
import { keepDoor } from "./porter.ts";
import { createReplyRate, type ReplyRateOptions } from "./reply-rate.ts";

/** In PEM. With `ca`, every caller must show a certificate of that authority: mutual TLS. */
export interface GrpcTls {
  readonly key: string | Uint8Array;
  readonly cert: string | Uint8Array;
  readonly ca?: string | Uint8Array;
}

export interface GrpcLimits extends ReplyRateOptions {
  readonly message_bytes: number;
  /** Most bytes waiting for one stream, and how long it may stand still. */
  readonly queue_bytes: number;
  readonly blocked_ms: number;
  readonly streams: number;
  readonly streams_per_connection: number;
  readonly heartbeat_ms: number;
  /** A stream must ask for something, and a connection open a stream, within this time. */
  readonly request_ms: number;
}

export interface ServeGrpcOptions {
  /** 4601 by default; 0 takes any free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything else needs `tls` and `auth`. */
  readonly host?: string;
  readonly tls?: GrpcTls;
  /** Who is who. On loopback, a token by default. */
  readonly auth?: Authenticator;
  readonly authorize?: Authorizer;
  /** The loopback token, for instance that of `serve()`, so that one opens both. Made for this run by default. */
  readonly token?: string;
  /** On loopback only: anyone on this machine may listen and answer. */
  readonly insecureLoopback?: boolean;
  /** Names this server answers to, beyond loopback ones. */
  readonly hosts?: readonly string[];
  /** Whether tools may ask what can be called here; they may by default. */
  readonly reflection?: boolean;
  readonly contact?: string;
  readonly limits?: Partial<GrpcLimits>;
  readonly log?: LogSink;
}

export interface ServingGrpc {
  readonly url: string;
  readonly port: number;
  readonly token: string | undefined;
  /** Tells every listener here to come back later, lets the last words out, and stops. */
  close(): Promise<void>;
}

const LIMITS: GrpcLimits = {
  message_bytes: 1_048_576 + 1_024,
  queue_bytes: 1_048_576,
  blocked_ms: 30_000,
  streams: 10_000,
  streams_per_connection: 128,
  heartbeat_ms: 15_000,
  request_ms: 30_000,
  refused_replies: 20,
  forgive_ms: 3_000,
};

/** Whoever was told to leave has so long to read why. */
const LINGER_MS = 1_000;
const LOCAL_USER: Principal = { id: "local", role: "reply", audiences: "all" };

type Call = ServerDuplexStream<Buffer, Buffer>;

export async function serveGrpc(producer: Producer, options: ServeGrpcOptions = {}): Promise<ServingGrpc> {
  const { host = "127.0.0.1", port = 4601, tls, insecureLoopback = false } = options;
  mustBeSafe(options, host);
  const grpc = await loadGrpc();
  const limits = { ...LIMITS, ...options.limits };
  const log = createLogger(options.log);
  const metrics = createMetrics();
  const token =
    options.auth || insecureLoopback ? undefined : (options.token ?? randomBytes(32).toString("hex"));
  const names = ["localhost", "127.0.0.1", "[::1]", ...(options.hosts ?? [])];
  const site: GrpcSite = {
    guard: createGuard({ hosts: [...names, ...(isWildcard(host) ? [] : [asHost(host)])], origins: [] }),
    admit: admission(options, token, log),
    door: keepDoor(doorOf(producer.hub), { metrics, log, rate: createReplyRate(limits) }),
    secure: tls !== undefined,
    sessions: new Set(),
    limits,
    end: (call, ending) => endCall(grpc, call, ending),
    manifest: () => {
      const { contact } = options;
      return JSON.stringify(buildManifest(producer.hub.offer, { transports: ["grpc"], prefix: "/", contact }));
    },
  };
  const server = createServer(grpc, site, options.reflection !== false);
  const bound = await listen(grpc, server, `${asHost(host)}:${port}`, tls);
  const url = `${tls ? "grpcs" : "grpc"}://${asHost(host)}:${bound}`;
  log("info", "listening", { url, agent_id: producer.identity.agent_id });
  if (insecureLoopback) {
    log("warn", "insecure_loopback", {
      message:
        "insecureLoopback is on: anyone on this machine may listen to this agent and answer for you. For development only.",
    });
  } else if (!tls) {
    log("warn", "plain_loopback", {
      message: "The agent is served without TLS, for this machine only; every stream needs credentials.",
    });
  }
  let closing: Promise<void> | undefined;
  return {
    url,
    port: bound,
    token,
    close() {
      closing ??= stop(server, site).then(() => log("info", "closed", { url }));
      return closing;
    },
  };
}

interface GrpcSite {
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Authenticator;
  readonly door: ReturnType<typeof keepDoor>;
  readonly secure: boolean;
  readonly sessions: Set<GrpcSession>;
  readonly limits: GrpcLimits;
  readonly end: (call: Call, ending: Ending) => void;
  readonly manifest: () => string;
}

/** TRN-11, SEC-01, CON-66: beyond this machine only with TLS and authentication; each refusal says how to go on. */
function mustBeSafe({ tls, auth, token, hosts = [], insecureLoopback }: ServeGrpcOptions, host: string): void {
  const refuse = (message: string) => {
    throw new EarshotError("unsafe_address", message);
  };
  if (tls && !(tls.key && tls.cert)) refuse("`tls` has no certificate: give `key` and `cert`.");
  if (insecureLoopback && (auth || token)) {
    refuse("Give either credentials or `insecureLoopback`: with both, who may answer would be a guess.");
  }
  if (token !== undefined && !/^\S{16,}$/.test(token)) {
    refuse("`token` is too easy to guess or cannot be sent: at least 16 characters, and no spaces.");
  }
  const far = [host, ...hosts].find((name) => !isLoopback(name.replace(/:\d+$/, "")));
  if (far === undefined) return;
  if (insecureLoopback) refuse("insecureLoopback is for loopback addresses only: listen on 127.0.0.1, or give `tls` and `auth`.");
  if (!isLoopback(host) && !(tls && auth)) {
    refuse(
      `${host} can be reached from other machines: give serveGrpc() both \`tls\` (key and cert) and \`auth\` (see jwtAuthenticator and certificateAuthenticator), or listen on 127.0.0.1.`,
    );
  }
  if (isWildcard(host) && hosts.length === 0) {
    refuse(`${host || "An empty host"} is every address at once and no name to be called by: list in \`hosts\` the names people use, such as agent.example.com.`);
  }
}

function admission({ auth, authorize }: ServeGrpcOptions, token: string | undefined, log: Logger): Authenticator {
  const failed = (error: unknown) =>
    log("error", "authentication_failed", { message: "`auth` threw, so nobody was let in.", error });
  const local: Authenticator = token
    ? tokenAuthenticator(token, LOCAL_USER)
    : // Through a proxy anybody might come, and this is for people at this machine.
      ({ proxied }) => (proxied ? undefined : LOCAL_USER);
  return failClosed(async (credentials) => {
    const known = await (auth ?? local)(credentials);
    return known && authorize ? authorize(known) : known;
  }, failed);
}

function createServer(grpc: Grpc, site: GrpcSite, reflects: boolean): Server {
  const { limits } = site;
  const server = new grpc.Server({
    "grpc.max_receive_message_length": limits.message_bytes,
    "grpc.max_concurrent_streams": limits.streams_per_connection,
    "grpc.keepalive_time_ms": limits.heartbeat_ms,
    "grpc.keepalive_timeout_ms": limits.heartbeat_ms,
    "grpc.max_connection_idle_ms": limits.request_ms,
    "grpc-node.max_session_memory": 8,
    "grpc.enable_channelz": 0,
  });
  server.addService(
    { Subscribe: method(SUBSCRIBE_PATH, true), GetManifest: method(MANIFEST_PATH, false) },
    {
      Subscribe: (call: Call) => void subscribe(site, call),
      GetManifest: (call: ServerUnaryCall<Buffer, Buffer>, answer: (error: object | null, bytes?: Buffer) => void) => {
        const refusal = refusalBy(site, call);
        if (refusal) answer({ code: refusal.code, details: refusal.details });
        else answer(null, encodeManifest(site.manifest()));
      },
    },
  );
  for (const path of reflects ? REFLECTION_PATHS : []) {
    server.addService({ Info: method(path, true) }, { Info: (call: Call) => reflect(site, call) });
  }
  return server;
}

const headerOf = (metadata: Metadata) => (name: string) => {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
};

/** No page has business here: an Origin is refused, and so is a name this server does not go by (A20). */
function refusalBy(site: GrpcSite, call: Pick<Call, "metadata" | "getHost">): Ending | undefined {
  const header = headerOf(call.metadata);
  const guarded = site.guard(call.getHost(), header("origin"), site.secure);
  if (guarded.ok && header("origin") === undefined) return undefined;
  const message = guarded.ok ? "Pages may not call this agent over gRPC." : guarded.message;
  return { ...endingOf("authorization_denied"), details: message };
}

async function subscribe(site: GrpcSite, call: Call): Promise<void> {
  // Without a listener an error of one stream would be everybody's.
  call.on("error", () => {});
  const refusal = refusalBy(site, call);
  if (refusal) return site.end(call, refusal);
  if (site.sessions.size >= site.limits.streams) {
    return site.end(call, { ...endingOf("producer_shutdown"), details: "Too many are listening. Try again later." });
  }
  const principal = await site.admit(
    credentialsOf({
      method: "POST",
      url: new URL("grpc://unused"),
      header: headerOf(call.metadata),
      certificate: certificateOf(call.getAuthContext().sslPeerCertificate),
    }),
  );
  if (call.cancelled) return;
  if (principal) open(site, call, principal);
  else site.end(call, endingOf("authentication_failed"));
}

function open(site: GrpcSite, call: Call, principal: Principal): void {
  const { limits, sessions } = site;
  const outlet = createOutlet(call as never, {
    cap: limits.queue_bytes,
    blocked_ms: limits.blocked_ms,
    slow: () => {
      session.leave("too_slow");
      setTimeout(() => reset(call), LINGER_MS).unref();
    },
  });
  let gone = false;
  const leaving = () => {
    if (gone) return;
    gone = true;
    clearTimeout(idle);
    sessions.delete(session);
    outlet.release();
    session.closed();
  };
  const session = openGrpc(
    {
      write: outlet.write,
      end: (ending) => {
        outlet.release();
        site.end(call, ending);
      },
    },
    site.door,
    principal,
  );
  sessions.add(session);
  const idle = setTimeout(() => session.subscribed || session.leave("protocol_violation"), limits.request_ms);
  idle.unref();
  call.on("data", (bytes: Buffer) => session.message(bytes));
  call.on("end", () => session.halfClosed());
  call.on("cancelled", leaving);
  call.on("close", leaving);
}

/** A stream that is not read cannot be ended in words, and gRPC has no verb for letting go of it: its HTTP/2 stream has. */
function reset(call: unknown): void {
  const { stream } = (call as { call?: { stream?: { close?(code: number): void; closed?: boolean } } }).call ?? {};
  const CANCEL = 8;
  if (stream?.closed === false) stream.close?.(CANCEL);
}

function reflect(site: GrpcSite, call: Call): void {
  call.on("error", () => {});
  const refusal = refusalBy(site, call);
  if (refusal) return site.end(call, refusal);
  call.on("data", (bytes: Buffer) => {
    const answer = answerReflection(bytes);
    if (!answer) site.end(call, { code: STATUS.INVALID_ARGUMENT, details: "These bytes are no question.", trailers: {} });
    // One question at a time: whoever does not read the answers is not asked for more.
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

function certificateOf(shown: PeerCertificate | undefined): Certificate | undefined {
  if (!shown?.subject) return undefined;
  const expires_at = Date.parse(shown.valid_to);
  return {
    subject: String(shown.subject.CN ?? ""),
    fingerprint: shown.fingerprint256,
    ...(Number.isNaN(expires_at) ? {} : { expires_at }),
  };
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
      reject(taken ? new EarshotError("port_in_use", `${address} is taken. Use another port, or 0 for any free one.`, { cause: error }) : error);
    });
  });
}

/** Everyone is told, what was said has a moment to arrive, and then nobody is waited for. */
async function stop(server: Server, { sessions }: GrpcSite): Promise<void> {
  for (const session of [...sessions]) session.leave("producer_shutdown");
  await new Promise<void>((resolve) => {
    const limit = setTimeout(() => server.forceShutdown(), LINGER_MS);
    server.tryShutdown(() => {
      clearTimeout(limit);
      resolve();
    });
  });
}
