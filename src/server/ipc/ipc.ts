/** Serves one producer on a Unix socket or a named pipe, for listeners that run as the same user (B.3, B.4). */
import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import type { Authorizer } from "../../auth/authenticate.ts";
import type { Producer } from "../../producer/producer.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { EXTENSION_PREFIX } from "../../protocol/extension.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { LOCAL_USER, type Principal } from "../../protocol/principal.ts";
import type { ProducerManifest } from "../../protocol/types.ts";
import { type IpcConnection, openIpc } from "../../transports/ipc/server.ts";
import { DENIED } from "../admission.ts";
import { createContext, type ServerContext, withContext } from "../context.ts";
import type { Endpoint } from "../manifest.ts";
import { ensureSafeDirectory } from "../safe-directory.ts";
import type { LogSink } from "../telemetry.ts";
import { type Bound, bindSocket } from "./bind.ts";
import { isPipe, manifestPathFor, socketPath } from "./path.ts";

/** Limits of a Unix socket or named pipe. */
export interface IpcLimits {
  readonly connections: number;
  readonly messageBytes: number;
  /** Most bytes that may wait for one listener. */
  readonly queueBytes: number;
  readonly blockedMs: number;
  /** A connection without a subscription request is closed after this time. */
  readonly requestMs: number;
}

/** Options of `serveIpc`. */
export interface IpcOptions {
  /** The path of the socket, or the name of the pipe. By default it follows from the agent_id. */
  readonly path?: string;
  /** The directory of the socket, if not the conventional one. Only your user may have access. */
  readonly directory?: string;
  /** Who callers are; by default the local user, who may receive and answer everything. */
  readonly principal?: Principal;
  /** Called for every connection with that principal; undefined refuses it. */
  readonly authorize?: Authorizer;
  readonly contact?: string;
  readonly limits?: Partial<IpcLimits>;
  readonly log?: LogSink;
}

/** A running Unix socket or named pipe. */
export interface ServingIpc {
  readonly path: string;
  /** For subscribe(): `unix:<path>` or `pipe:<name>`. */
  readonly address: string;
  /** The manifest file; undefined for a pipe. */
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
/** How long a peer has to receive the close reason before the socket is destroyed. */
const LINGER_MS = 1_000;

/** Puts a producer on a Unix socket or a Windows named pipe. */
export async function serveIpc(producer: Producer, options: IpcOptions = {}): Promise<ServingIpc> {
  const { log, contact, limits } = options;
  const context = createContext(producer, {
    log,
    contact,
    connections: limits?.connections ?? LIMITS.connections,
  });
  return withContext(context, () => openIpcServer(options, context));
}

/** For callers whom `authorize` refused: their request is rejected, and nothing else happens. */
const NO_ACCESS: HubPort = {
  subscribe: () => ({ answer: DENIED }),
  find: () => undefined,
  handle: async () => ({ taken: false }),
  retryAfter: () => undefined,
};

export async function openIpcServer(
  options: IpcOptions,
  { agent_id, hub, log, observer, writes, manifest }: ServerContext,
): Promise<ServingIpc & { readonly endpoint: Endpoint }> {
  const path = options.path ?? socketPath(agent_id, options.directory);
  const pipe = isPipe(path);
  if (!pipe && (process.platform === "win32" || !isAbsolute(path))) {
    throw new EarshotError(
      "bad_path",
      `"${path}" is not a valid path for a socket. Use ${process.platform === "win32" ? "a pipe such as \\\\.\\pipe\\aaep\\planner" : "an absolute path"}.`,
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
      // Nothing is read before the rights are known.
      if (authorize) allowed = await authorize(principal);
    } catch (error) {
      allowed = undefined;
      log("error", "authorize_failed", { message: "`authorize` threw, so the caller was refused.", error });
    }
    if (!socket.destroyed) open.set(socket, openConnection(socket, allowed));
  };
  const openConnection = (socket: Socket, allowed: Principal | undefined): IpcConnection => {
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
    const requestTimeout = setTimeout(() => {
      if (!connection.subscribed) socket.destroy();
    }, limits.requestMs);
    requestTimeout.unref();
    socket.on("drain", () => writer.drained());
    socket.on("data", (chunk: Uint8Array) => {
      const backpressure = connection.bytes(chunk);
      if (!backpressure) return;
      socket.pause();
      void backpressure.then(() => socket.resume());
    });
    socket.on("close", () => {
      clearTimeout(requestTimeout);
      writer.abandon();
      connection.closed();
      open.delete(socket);
    });
    return connection;
  };

  // Half-open sockets are not kept (Node's default): a listener that ends its side has left (TRN-07).
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
  const endpoint: Endpoint = { transport: pipe ? "named-pipe" : "unix-socket", socket: path };
  try {
    if (manifestPath) writeManifest(manifestPath, manifest(endpoint));
  } catch (error) {
    bound?.release();
    server.close();
    throw error;
  }
  log("info", "listening", { path, agent_id });
  return {
    path,
    endpoint,
    address: pipe ? `pipe:${path}` : `unix:${path}`,
    manifestPath,
    get connections() {
      return open.size;
    },
    async close() {
      // Only if the name is still ours: another agent may have it by now.
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
 * Node creates duplex byte-mode pipes with Windows' default ACL, and they are framed like sockets (IPC-04). That ACL
 * lets only the user, the system and administrators write. Others can open a pipe for reading, but without a request
 * nothing is sent, and after a while they are disconnected.
 */
function listenPipe(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new EarshotError(
              "socket_in_use",
              `Another agent is already listening at ${path}. Stop it, or use another agent_id.`,
              { cause: error },
            )
          : error,
      ),
    );
    server.listen({ path, exclusive: true, readableAll: false, writableAll: false }, resolve);
  });
}

/** Written to a temporary file and renamed, so that nobody reads half of it. A symbolic link is replaced, not followed. */
function writeManifest(path: string, manifest: ProducerManifest): void {
  const own = { ...(manifest[EXTENSION_PREFIX] as object), pid: process.pid };
  const temporary = join(dirname(path), `.${randomBytes(4).toString("hex")}`);
  writeFileSync(temporary, `${JSON.stringify({ ...manifest, [EXTENSION_PREFIX]: own }, undefined, 2)}\n`, {
    mode: 0o600,
    flag: "wx",
  });
  renameSync(temporary, path);
}
