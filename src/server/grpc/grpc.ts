/** One producer on a gRPC server of its own (B.5): guarded, authenticated and limited like every other way in. */

import { randomBytes } from "node:crypto";
import type { Server } from "@grpc/grpc-js";
import {
  type Admission,
  type Authenticator,
  type Authorizer,
  admission,
  failClosed,
  keepExpiry,
  tokenAuthenticator,
} from "../../auth/authenticate.ts";
import type { Producer } from "../../producer/producer.ts";
import { hubOf } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { LOCAL_USER } from "../../protocol/principal.ts";
import type { ProducerManifest } from "../../protocol/types.ts";
import { type Grpc, loadGrpc } from "../../transports/grpc/library.ts";
import { asHost, createGuard, isLoopback, isWildcard } from "../http/guard.ts";
import { createLogger, type Logger, type LogSink } from "../log.ts";
import { buildManifest } from "../manifest.ts";
import { createMetrics } from "../metrics.ts";
import { createObserver, type Observer } from "../observer.ts";
import { createGrpcServer, type GrpcSite, LINGER_MS } from "./calls.ts";

/** In PEM. With `ca`, every caller must show a certificate of that authority: mutual TLS. */
export interface GrpcTls {
  readonly key: string | Uint8Array;
  readonly cert: string | Uint8Array;
  readonly ca?: string | Uint8Array;
}

// Declared here because the declarations of calls.ts need @grpc/grpc-js, which is an optional peer.
/** Limits of a gRPC server. */
export interface GrpcLimits {
  readonly messageBytes: number;
  /** Most bytes waiting for one stream, and how long it may stand still. */
  readonly queueBytes: number;
  readonly blockedMs: number;
  readonly streams: number;
  readonly streamsPerConnection: number;
  readonly heartbeatMs: number;
  /** A stream must ask for something, and a connection open a stream, within this time. */
  readonly requestMs: number;
}

/** Options of `serveGrpc`. */
export interface GrpcOptions {
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

/** A running gRPC server. */
export interface ServingGrpc {
  /** For connect(): `grpc://…` or `grpcs://…`. */
  readonly address: string;
  readonly port: number;
  readonly token: string | undefined;
  /** Tells every listener here to come back later, lets the last words out, and stops. */
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

/** What a gRPC server shares with the other ways to the same agent. */
export interface GrpcInside {
  readonly hub: HubPort;
  readonly log: Logger;
  readonly observer: Observer;
  readonly manifest: () => ProducerManifest;
}

/** Puts a producer on a gRPC server. Needs the package @grpc/grpc-js. */
export async function serveGrpc(producer: Producer, options: GrpcOptions = {}): Promise<ServingGrpc> {
  const log = createLogger(options.log);
  const observer = createObserver(log, createMetrics());
  const stopObserving = hubOf(producer).observe(observer);
  const serving = await openGrpcServer(producer.identity.agent_id, options, {
    log,
    observer,
    hub: hubOf(producer),
    manifest: () =>
      buildManifest(hubOf(producer).offer, {
        ways: [{ transport: "grpc" }],
        prefix: "/",
        connections: options.limits?.streams ?? LIMITS.streams,
        contact: options.contact,
      }),
  }).catch((error: unknown) => {
    stopObserving();
    throw error;
  });
  return {
    ...serving,
    close: async () => {
      await serving.close();
      stopObserving();
    },
  };
}

export async function openGrpcServer(
  agent_id: string,
  options: GrpcOptions,
  { hub, log, observer, manifest }: GrpcInside,
): Promise<ServingGrpc> {
  const { host = "127.0.0.1", port = 4601, tls, insecureLoopback = false } = options;
  mustBeSafe(options, host);
  const grpc = await loadGrpc();
  const limits = { ...LIMITS, ...options.limits };
  const token =
    options.auth || insecureLoopback ? undefined : (options.token ?? randomBytes(32).toString("hex"));
  const names = ["localhost", "127.0.0.1", "[::1]", ...(options.hosts ?? [])];
  const site: GrpcSite = {
    guard: createGuard({ hosts: [...names, ...(isWildcard(host) ? [] : [asHost(host)])], origins: [] }),
    admit: admissionFor(options, token, log),
    hub,
    secure: tls !== undefined,
    connections: new Set(),
    observer,
    limits,
    grpc,
    manifest: () => JSON.stringify(manifest()),
  };
  const server = createGrpcServer(site, options.reflection !== false);
  const bound = await listen(grpc, server, `${asHost(host)}:${port}`, tls);
  const address = `${tls ? "grpcs" : "grpc"}://${asHost(host)}:${bound}`;
  log("info", "listening", { url: address, agent_id });
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
    address,
    port: bound,
    token,
    close() {
      closing ??= stop(server, site).then(() => log("info", "closed", { url: address }));
      return closing;
    },
  };
}

/** TRN-11, SEC-01, CON-66: beyond this machine only with TLS and authentication; each refusal says how to go on. */
function mustBeSafe({ tls, auth, token, hosts = [], insecureLoopback }: GrpcOptions, host: string): void {
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
  if (insecureLoopback)
    refuse("insecureLoopback is for loopback addresses only: listen on 127.0.0.1, or give `tls` and `auth`.");
  if (!isLoopback(host) && !(tls && auth)) {
    refuse(
      `${host} can be reached from other machines: give serveGrpc() both \`tls\` (key and cert) and \`auth\` (see jwtAuthenticator and certificateAuthenticator), or listen on 127.0.0.1.`,
    );
  }
  if (isWildcard(host) && hosts.length === 0) {
    refuse(
      `${host || "An empty host"} is every address at once and no name to be called by: list in \`hosts\` the names people use, such as agent.example.com.`,
    );
  }
}

function admissionFor({ auth, authorize }: GrpcOptions, token: string | undefined, log: Logger): Admission {
  const failed = (error: unknown) =>
    log("error", "authentication_failed", { message: "`auth` threw, so nobody was let in.", error });
  const local: Authenticator = token
    ? tokenAuthenticator(token, LOCAL_USER)
    : // Through a proxy anybody might come, and this is for people at this machine.
      ({ proxied }) => (proxied ? undefined : LOCAL_USER);
  return admission(failClosed(auth ?? local, failed), authorize && keepExpiry(authorize), (error) =>
    log("error", "authorize_failed", { message: "`authorize` threw, so nobody was let in.", error }),
  );
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
          ? new EarshotError("port_in_use", `${address} is taken. Use another port, or 0 for any free one.`, {
              cause: error,
            })
          : error,
      );
    });
  });
}

/** Everyone is told, what was said has a moment to arrive, and then nobody is waited for. */
async function stop(server: Server, { connections }: GrpcSite): Promise<void> {
  for (const connection of [...connections]) connection.close("producer_shutdown");
  await new Promise<void>((resolve) => {
    const limit = setTimeout(() => server.forceShutdown(), LINGER_MS);
    server.tryShutdown(() => {
      clearTimeout(limit);
      resolve();
    });
  });
}
