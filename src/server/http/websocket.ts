/**
 * WebSocket upgrades on a Node server: checked and authenticated before a frame is read, and closed when they stop
 * answering pings (F15).
 */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import { closeReason } from "../../protocol/close-reasons.ts";
import type { Principal } from "../../protocol/principal.ts";
import { openWebSocket, SUBPROTOCOL, type WebSocketConnection } from "../../transports/websocket/server.ts";
import { type Admission, credentialsOf, DENIED, UNAUTHENTICATED } from "../admission.ts";
import type { ServerContext } from "../context.ts";
import type { Writer } from "../writer.ts";
import type { Compat } from "./compat.ts";
import type { createGuard } from "./guard.ts";
import { fromNodeRequest, type StreamLimits } from "./node.ts";

export interface WebSocketOptions {
  readonly path: string;
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Admission;
  readonly context: ServerContext;
  /** Also accepts sockets without the subprotocol, at `path` and at `/ws`. */
  readonly compat: Compat | undefined;
  readonly limits: StreamLimits & { readonly bodyBytes: number; readonly heartbeatMs: number };
}

/** How long a peer has to receive the close reason before the socket is destroyed. */
const LINGER_MS = 1_000;

/** A connection, for the heartbeat shared by all of them. */
interface Entry {
  readonly websocket: WebSocket;
  /** Undefined for sockets without a handshake. */
  readonly session?: { readonly connection: WebSocketConnection; readonly writer: Writer };
  /** Anything arrived since the last heartbeat. */
  alive: boolean;
  /** Heartbeats without a subscription request. */
  idle: number;
}

export function attachWebSocket(server: Server, options: WebSocketOptions): { close: () => Promise<void> } {
  const { path, guard, admit, compat, limits } = options;
  const { hub, metrics, observer, writes } = options.context;
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: limits.bodyBytes,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  const entries = new Set<Entry>();

  const upgrade = async (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    const request = fromNodeRequest(message, 0);
    const { pathname } = request.url;
    const offered = request.header("sec-websocket-protocol");
    const bare = compat !== undefined && offered === undefined && (pathname === path || pathname === "/ws");
    const elsewhere = pathname !== path && !bare;
    // On a shared server other paths may belong to other listeners.
    if (elsewhere && server.listenerCount("upgrade") > 1) return;
    if (message.headers.upgrade?.toLowerCase() !== "websocket")
      return ignoreUpgrade(server, message, socket, head);
    if (elsewhere) return refuse(socket, "404 Not Found", `The WebSocket endpoint is ${path}.`);
    const guarded = guard(request.header("host"), request.header("origin"), request.secure);
    if (!guarded.ok) return refuse(socket, "403 Forbidden", guarded.message);
    if (!bare && !(offered ?? "").split(",").some((name) => name.trim() === SUBPROTOCOL))
      return refuse(socket, "400 Bad Request", `Offer the subprotocol ${SUBPROTOCOL}.`);
    const caller = await admit(credentialsOf(request));
    const admitted = caller !== undefined && caller !== "denied";
    if (!admitted) metrics.count("earshot_refusals_total", { reason: caller ? "denied" : "credentials" });
    if (bare && !admitted) {
      if (caller) refuse(socket, "403 Forbidden", DENIED.reason_message);
      else refuse(socket, "401 Unauthorized", UNAUTHENTICATED.reason_message);
      return;
    }
    sockets.handleUpgrade(message, socket, head, (websocket) => {
      websocket.on("error", () => {});
      if (admitted && bare) return openCompat(websocket, caller.principal, compat);
      if (admitted) return open(websocket, caller.principal, socket as Socket);
      const code = caller === "denied" ? "authorization_denied" : "authentication_failed";
      const reason = closeReason(code);
      websocket.close(reason.websocket, reason.sentence);
      // An unauthenticated peer cannot hold a connection by not answering.
      setTimeout(() => websocket.terminate(), LINGER_MS).unref();
    });
  };
  const onUpgrade = (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    upgrade(message, socket, head).catch(() => socket.destroy());
  };

  function track(entry: Entry, receive: (data: Buffer, binary: boolean) => void, closed: () => void): void {
    const { websocket } = entry;
    entries.add(entry);
    websocket.on("pong", () => {
      entry.alive = true;
    });
    websocket.on("message", (data: Buffer, binary) => {
      entry.alive = true;
      receive(data, binary);
    });
    websocket.on("close", () => {
      entries.delete(entry);
      closed();
    });
  }

  function open(websocket: WebSocket, principal: Principal, socket: Socket): void {
    socket.setNoDelay(true);
    // Frames go straight to the socket, whole frames only: what ws itself sends (pings, pongs, closes) fits in between.
    const writer = writes.writer(socket, {
      queueBytes: limits.queueBytes,
      blockedMs: limits.blockedMs,
      onSlow: () => {
        connection.close("too_slow");
        setTimeout(() => websocket.terminate(), LINGER_MS).unref();
      },
    });
    socket.on("drain", () => writer.drained());
    const connection = openWebSocket(
      {
        frame: encodeTextFrame,
        write: (frame, deferrable) => writer.write(frame, deferrable),
        close: (code, reason) => {
          writer.release();
          websocket.close(code, reason);
        },
      },
      hub,
      principal,
      observer,
    );
    track(
      { websocket, session: { connection, writer }, alive: true, idle: 0 },
      (data, binary) => {
        const backpressure = connection.message(binary ? data : data.toString("utf8"));
        if (!backpressure) return;
        websocket.pause();
        void backpressure.then(() => websocket.resume());
      },
      () => {
        writer.abandon();
        connection.closed();
      },
    );
  }

  function openCompat(websocket: WebSocket, principal: Principal, { openSocket }: Compat): void {
    const session = openSocket(
      {
        send: (text) => {
          // These clients cannot resume, so one that does not read is disconnected, and its subscription ends.
          if (websocket.bufferedAmount + Buffer.byteLength(text) > limits.queueBytes) websocket.terminate();
          else websocket.send(text);
          return undefined;
        },
        close: () => websocket.close(1000),
      },
      principal,
    );
    if (!session) return websocket.close(1013);
    track(
      { websocket, alive: true, idle: 0 },
      (data) => session.message(data.toString("utf8")),
      () => session.closed(),
    );
  }

  /** A connection is closed after two heartbeats without a sign of life, or without a subscription request. */
  const heartbeat = setInterval(() => {
    for (const entry of entries) {
      const { websocket, session } = entry;
      if (!entry.alive) {
        observer.closed("websocket", "unreachable");
        websocket.terminate();
        continue;
      }
      entry.alive = false;
      if (session && !session.connection.subscribed && entry.idle++ > 0)
        session.connection.close("protocol_violation");
      session?.writer.flush();
      if (websocket.readyState === websocket.OPEN) websocket.ping();
    }
  }, limits.heartbeatMs);
  heartbeat.unref();

  server.on("upgrade", onUpgrade);
  return {
    /** Accepts no new connections, tells the open ones the reason, and destroys them after a moment. */
    close: async () => {
      server.off("upgrade", onUpgrade);
      clearInterval(heartbeat);
      for (const { websocket, session } of entries) {
        if (session) session.connection.close("producer_shutdown");
        else websocket.terminate();
      }
      const all = [...sockets.clients];
      const gone = all.map((websocket) => new Promise((resolve) => websocket.once("close", resolve)));
      const limit = setTimeout(() => {
        for (const websocket of all) websocket.terminate();
      }, LINGER_MS);
      await Promise.all(gone);
      clearTimeout(limit);
      sockets.close();
    },
  };
}

function refuse(socket: Duplex, status: string, message: string): void {
  const body = JSON.stringify({ error: "refused", message });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const UPGRADE_HEADERS = new Set(["upgrade", "http2-settings", "connection", "keep-alive"]);

/**
 * Answers a request that offers another protocol than WebSocket as if it had not. A server may ignore such offers (RFC
 * 9110, 7.8), and this one has to: Java's client and `curl --http2` offer HTTP/2 with their first request. But once
 * there is an upgrade listener, Node passes it every such request and stops reading. So the request is put back
 * without the offer; its connection serves no other one.
 */
function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  lines.push("Connection: close", "", "");
  socket.unshift(Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), head]));
  server.emit((socket as TLSSocket).encrypted ? "secureConnection" : "connection", socket);
}

/** One unmasked, unfragmented text frame (RFC 6455, 5.2). */
function encodeTextFrame(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const header = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + size);
  frame[0] = 0x81;
  if (header === 2) frame[1] = size;
  else if (header === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(size, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(size), 2);
  }
  frame.write(text, header, "utf8");
  return frame;
}
