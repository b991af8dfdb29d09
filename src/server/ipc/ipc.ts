/** One producer on a Unix socket or a named pipe of its own: for listeners on this machine that run as the same user (B.3, B.4). */

import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import type { Authorizer } from "../../auth/authenticate.ts";
import type { Producer } from "../../producer/producer.ts";
import { hubOf } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { EXTENSION_PREFIX } from "../../protocol/extension.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { LOCAL_USER, type Principal } from "../../protocol/principal.ts";
import type { ProducerManifest } from "../../protocol/types.ts";
import { type IpcConnection, openIpc } from "../../transports/ipc/server.ts";
import { DENIED } from "../http/http.ts";
import { createLogger, type Logger, type LogSink } from "../log.ts";
import { buildManifest, type Way } from "../manifest.ts";
import { createMetrics } from "../metrics.ts";
import { createObserver, type Observer } from "../observer.ts";
import { ensureSafeDirectory } from "../safe-directory.ts";
import { WriteScheduler } from "../writer.ts";
import { type Bound, bindSocket } from "./bind.ts";
import { isPipe, manifestPathFor, socketPath } from "./path.ts";

/** Limits of a Unix socket or named pipe. */
export interface IpcLimits {
  readonly connections: number;
  readonly messageBytes: number;
  /** Most bytes waiting for one listener. */
  readonly queueBytes: number;
  readonly blockedMs: number;
  /** Whoever has not asked for a subscription by then is let go. */
  readonly requestMs: number;
}

/** Options of `serveIpc`. */
export interface IpcOptions {
  /** A path or pipe of your own choosing; by convention it follows from the agent_id. */
  readonly path?: string;
  /** Another directory than the conventional one. It must be yours alone. */
  readonly directory?: string;
  /** What whoever can open the socket may do; one local user who hears and answers everything, by default. */
  readonly principal?: Principal;
  /** Asked about that principal for every connection; undefined refuses it. */
  readonly authorize?: Authorizer;
  readonly contact?: string;
  readonly limits?: Partial<IpcLimits>;
  readonly log?: LogSink;
}

/** A running Unix socket or named pipe. */
export interface ServingIpc {
  readonly path: string;
  /** For connect(): `unix:<path>` or `pipe:<name>`. */
  readonly address: string;
  /** Where the manifest lies; undefined for a pipe. */
  readonly manifestPath: string | undefined;
  readonly connections: number;
  close(): Promise<void>;
}

const LIMITS: IpcLimits = {
  connections: 1_024,
  messageBytes: 1_048_576,
  queueBytes: 1_048_576,
  blockedMs: 30_000,
  requestMs: 30_000,
};
/** Whoever was told to leave has so long to read why. */
const LINGER_MS = 1_000;

/** What a socket shares with the other ways to the same agent. */
export interface IpcInside {
  readonly hub: HubPort;
  readonly log: Logger;
  readonly observer: Observer;
  readonly writes: WriteScheduler;
  readonly manifest: (way: Way) => ProducerManifest;
}

/** Puts a producer on a Unix socket or a Windows named pipe. */
export async function serveIpc(producer: Producer, options: IpcOptions = {}): Promise<ServingIpc> {
  const log = createLogger(options.log);
  const observer = createObserver(log, createMetrics());
  const stopObserving = hubOf(producer).observe(observer);
  const serving = await openIpcServer(producer.identity.agent_id, options, {
    log,
    observer,
    writes: new WriteScheduler(),
    hub: hubOf(producer),
    manifest: (way) =>
      buildManifest(hubOf(producer).offer, {
        ways: [way],
        connections: options.limits?.connections ?? LIMITS.connections,
        contact: options.contact,
      }),
  }).catch((error: unknown) => {
    stopObserving();
    throw error;
  });
  const { close } = serving;
  // Assigned, not spread: `connections` is a getter.
  return Object.assign(serving, {
    close: async () => {
      await close();
      stopObserving();
    },
  });
}

/** Somebody is there, and may not hear this agent: their request is answered with that, and nothing else. */
const NO_ACCESS: HubPort = {
  subscribe: () => ({ answer: DENIED }),
  find: () => undefined,
  handle: async () => ({ taken: false }),
  retryAfter: () => undefined,
};

export async function openIpcServer(
  agent_id: string,
  options: IpcOptions,
  { hub, log, observer, writes, manifest }: IpcInside,
): Promise<ServingIpc & { readonly way: Way }> {
  const path = options.path ?? socketPath(agent_id, options.directory);
  const pipe = isPipe(path);
  if (!pipe && (process.platform === "win32" || !isAbsolute(path))) {
    throw new EarshotError(
      "bad_path",
      `"${path}" is no place for a socket here: give ${process.platform === "win32" ? "a pipe such as \\\\.\\pipe\\aaep\\planner" : "an absolute path"}.`,
    );
  }
  const limits = { ...LIMITS, ...options.limits };
  const { principal = LOCAL_USER, authorize } = options;
  const open = new Map<Socket, IpcConnection>();
  const sockets = new Set<Socket>();
  const accept = async (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let allowed: Principal | undefined = principal;
    try {
      // Nothing is read before it is known what they may do.
      if (authorize) allowed = await authorize(principal);
    } catch (error) {
      allowed = undefined;
      log("error", "authorize_failed", { message: "`authorize` threw, so nobody was let in.", error });
    }
    if (!socket.destroyed) open.set(socket, attend(socket, allowed));
  };
  const attend = (socket: Socket, allowed: Principal | undefined): IpcConnection => {
    const writer = writes.writer(socket, {
      queueBytes: limits.queueBytes,
      blockedMs: limits.blockedMs,
      onSlow: () => {
        connection.close("too_slow");
        setTimeout(() => socket.destroy(), LINGER_MS).unref();
      },
    });
    const connection = openIpc(
      {
        write: (frame, deferrable) => writer.write(frame, deferrable),
        end() {
          writer.release();
          socket.end();
          setTimeout(() => socket.destroy(), LINGER_MS).unref();
        },
      },
      allowed ? hub : NO_ACCESS,
      allowed ?? principal,
      { transport: pipe ? "named-pipe" : "unix", messageBytes: limits.messageBytes, observer },
    );
    const impatience = setTimeout(() => {
      if (!connection.subscribed) socket.destroy();
    }, limits.requestMs);
    impatience.unref();
    socket.on("drain", () => writer.drained());
    socket.on("data", (chunk: Uint8Array) => {
      const backpressure = connection.bytes(chunk);
      if (!backpressure) return;
      socket.pause();
      void backpressure.then(() => socket.resume());
    });
    socket.on("close", () => {
      clearTimeout(impatience);
      writer.abandon();
      connection.closed();
      open.delete(socket);
    });
    return connection;
  };

  // A listener that will say nothing more has left: half a line is none (TRN-07), as Node has it by default.
  const server = createServer((socket) => void accept(socket));
  server.maxConnections = limits.connections;
  let bound: Bound | undefined;
  if (pipe) await listenPipe(server, path);
  else {
    ensureSafeDirectory(dirname(path));
    bound = await bindSocket(server, path);
  }
  server.on("error", (error) =>
    log("error", "ipc_failed", { message: `The socket at ${path} failed.`, error }),
  );
  const manifestPath = pipe ? undefined : manifestPathFor(path);
  const way: Way = { transport: pipe ? "named-pipe" : "unix-socket", socket: path };
  try {
    if (manifestPath) writeManifest(manifestPath, manifest(way));
  } catch (error) {
    bound?.release();
    server.close();
    throw error;
  }
  log("info", "listening", { path, agent_id });
  return {
    path,
    way,
    address: pipe ? `pipe:${path}` : `unix:${path}`,
    manifestPath,
    get connections() {
      return open.size;
    },
    async close() {
      // Only what is still ours: another agent may have the name by now.
      if (manifestPath && bound?.held()) rmSync(manifestPath, { force: true });
      bound?.release();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of open.values()) connection.close("producer_shutdown");
      const limit = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, LINGER_MS);
      await closed;
      clearTimeout(limit);
      log("info", "closed", { path });
    },
  };
}

/**
 * Node makes duplex byte-mode pipes with Windows' default ACL, and they are framed like sockets (IPC-04). That ACL lets
 * only the user, the system and its administrators write; others can open a pipe for reading, but without a request
 * nothing is ever said there, and after a while they are let go.
 */
function listenPipe(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new EarshotError(
              "socket_in_use",
              `An agent is listening at ${path} already. Stop it, or give this one another agent_id.`,
              { cause: error },
            )
          : error,
      ),
    );
    server.listen({ path, exclusive: true, readableAll: false, writableAll: false }, resolve);
  });
}

/** Written aside and moved, so that nobody reads half of it; a link under its name is replaced, not followed. */
function writeManifest(path: string, manifest: ProducerManifest): void {
  const own = { ...(manifest[EXTENSION_PREFIX] as object), pid: process.pid };
  const aside = join(dirname(path), `.${randomBytes(4).toString("hex")}`);
  writeFileSync(aside, `${JSON.stringify({ ...manifest, [EXTENSION_PREFIX]: own }, undefined, 2)}\n`, {
    mode: 0o600,
    flag: "wx",
  });
  renameSync(aside, path);
}
