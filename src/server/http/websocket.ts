/** WebSocket upgrades on a Node server: guarded and authenticated before a frame is read, and reaped when they go silent (F15). */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Admission } from "../../auth/authenticate.ts";
import { closeReason } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { ConnectionObserver } from "../../transports/server-connection.ts";
import { openWebSocket, SUBPROTOCOL, type WebSocketConnection } from "../../transports/websocket/server.ts";
import type { Metrics } from "../metrics.ts";
import type { Writer, WriteScheduler } from "../writer.ts";
import type { createGuard } from "./guard.ts";
import { credentialsOf } from "./http.ts";
import { inquiryOf } from "./node-http.ts";
import { answerAsEver, wantsWebSocket } from "./upgrade.ts";

export interface WebSocketSite {
  readonly path: string;
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Admission;
  readonly hub: HubPort;
  readonly metrics: Metrics;
  readonly observer: ConnectionObserver;
  readonly writes: WriteScheduler;
  readonly pingMs: number;
  readonly messageBytes: number;
  readonly queueBytes: number;
  readonly blockedMs: number;
}

/** Whoever was told to leave has so long to read why before the socket is destroyed. */
const LINGER_MS = 1_000;

export function refuse(socket: Duplex, status: string, message: string): void {
  const body = JSON.stringify({ error: "refused", message });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** One connection, as the timer that looks after all of them sees it. */
interface Connection {
  readonly websocket: WebSocket;
  readonly writer: Writer;
  readonly connection: WebSocketConnection;
  /** Heard from since the last look. */
  alive: boolean;
  /** Looks it was given to ask for something. */
  idle: number;
}

export function attachWebSocket(server: Server, site: WebSocketSite): { close: () => Promise<void> } {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: site.messageBytes,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });
  const connections = new Set<Connection>();
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const inquiry = inquiryOf(request, { bodyBytes: 0 });
    const elsewhere = inquiry.url.pathname !== site.path;
    // On a server of somebody else's, other paths may be somebody else's too.
    if (elsewhere && server.listenerCount("upgrade") > 1) return;
    if (!wantsWebSocket(request)) return answerAsEver(server, request, socket, head);
    if (elsewhere) return refuse(socket, "404 Not Found", `The WebSocket endpoint is ${site.path}.`);
    const guarded = site.guard(inquiry.header("host"), inquiry.header("origin"), inquiry.secure);
    if (!guarded.ok) return refuse(socket, "403 Forbidden", guarded.message);
    const offered = (inquiry.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL))
      return refuse(socket, "400 Bad Request", `Offer the subprotocol ${SUBPROTOCOL}.`);
    const principal = await site.admit(credentialsOf(inquiry));
    const known = principal !== undefined && principal !== "denied";
    if (!known)
      site.metrics.count("earshot_refusals_total", { reason: principal ? "denied" : "credentials" });
    sockets.handleUpgrade(request, socket, head, (websocket) => {
      if (known) return open(websocket, principal, socket as Socket);
      const { websocket: code, sentence } = closeReason(
        principal === "denied" ? "authorization_denied" : "authentication_failed",
      );
      websocket.on("error", () => {});
      websocket.close(code, sentence);
      // Nobody unknown keeps a place by not answering.
      setTimeout(() => websocket.terminate(), LINGER_MS).unref();
    });
  };
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    upgrade(request, socket, head).catch(() => socket.destroy());
  };

  function open(websocket: WebSocket, principal: Principal, socket: Socket): void {
    socket.setNoDelay(true);
    // Frames go straight to the socket, whole ones only: what ws itself sends (pings, pongs, closes) fits in between.
    const writer = site.writes.writer(socket, {
      queueBytes: site.queueBytes,
      blockedMs: site.blockedMs,
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
      site.hub,
      principal,
      site.observer,
    );
    const entry: Connection = { websocket, writer, connection, alive: true, idle: 0 };
    connections.add(entry);
    websocket.on("pong", () => {
      entry.alive = true;
    });
    websocket.on("message", (data: Buffer, binary) => {
      entry.alive = true;
      const backpressure = connection.message(binary ? data : data.toString("utf8"));
      if (!backpressure) return;
      websocket.pause();
      void backpressure.then(() => websocket.resume());
    });
    websocket.on("error", () => {});
    websocket.on("close", () => {
      connections.delete(entry);
      writer.abandon();
      connection.closed();
    });
  }

  /** Two looks without a sign of life, or without a request, are enough. */
  const look = setInterval(() => {
    for (const entry of connections) {
      const { websocket, writer, connection } = entry;
      if (!entry.alive) {
        site.observer.closed("websocket", "unreachable");
        websocket.terminate();
        continue;
      }
      entry.alive = false;
      if (!connection.subscribed && entry.idle++ > 0) connection.close("protocol_violation");
      writer.flush();
      if (websocket.readyState === websocket.OPEN) websocket.ping();
    }
  }, site.pingMs);
  look.unref();

  server.on("upgrade", onUpgrade);
  return {
    /** Takes nobody new, gives the last words a moment to arrive, and lets go. */
    close: async () => {
      server.off("upgrade", onUpgrade);
      clearInterval(look);
      for (const { connection } of connections) connection.close("producer_shutdown");
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
