/** WebSockets of existing clients: no subprotocol, left open whatever is said on them. Others are passed on. */
import { EventEmitter } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Admission } from "../../auth/authenticate.ts";
import type { Principal } from "../../protocol/principal.ts";
import type { Compat } from "./compat.ts";
import type { createGuard } from "./guard.ts";
import { credentialsOf, DENIED, UNAUTHENTICATED } from "./http.ts";
import { inquiryOf } from "./node-http.ts";
import { answerAsEver, wantsWebSocket } from "./upgrade.ts";
import { refuse } from "./websocket.ts";

interface CompatSocketSite {
  readonly paths: readonly string[];
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Admission;
  readonly compat: Compat;
  readonly pingMs: number;
  readonly messageBytes: number;
  readonly queueBytes: number;
}

/** Stands between a server and its proper WebSocket endpoint, which is to be attached to `rest`. */
export function attachCompatSocket(
  server: Server,
  site: CompatSocketSite,
): { rest: Server; close: () => void } {
  const rest = new EventEmitter();
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: site.messageBytes,
  });
  const bare = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<boolean> => {
    const inquiry = inquiryOf(request, { bodyBytes: 0 });
    if (inquiry.header("sec-websocket-protocol") !== undefined || !site.paths.includes(inquiry.url.pathname))
      return false;
    // A wrong Host or Origin is refused there as everywhere.
    if (!site.guard(inquiry.header("host"), inquiry.header("origin"), inquiry.secure).ok) return false;
    const principal = await site.admit(credentialsOf(inquiry));
    if (!principal || principal === "denied") {
      if (principal) refuse(socket, "403 Forbidden", DENIED.reason_message);
      else refuse(socket, "401 Unauthorized", UNAUTHENTICATED.reason_message);
      return true;
    }
    sockets.handleUpgrade(request, socket, head, (websocket) => open(websocket, principal));
    return true;
  };
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    if (!wantsWebSocket(request)) {
      // Where others listen too, it may be for one of them.
      if (server.listenerCount("upgrade") === 1) answerAsEver(server, request, socket, head);
      return;
    }
    bare(request, socket, head)
      .then((taken) => taken || rest.emit("upgrade", request, socket, head))
      .catch(() => socket.destroy());
  };

  function open(websocket: WebSocket, principal: Principal): void {
    websocket.on("error", () => {});
    const session = site.compat.socket(
      {
        send: (text) => {
          // These clients cannot resume: one that does not read is let go, and its place with it.
          if (websocket.bufferedAmount + Buffer.byteLength(text) > site.queueBytes) websocket.terminate();
          else websocket.send(text);
          return undefined;
        },
        close: () => websocket.close(1000),
      },
      principal,
    );
    if (!session) return websocket.close(1013);
    let alive = true;
    const look = setInterval(() => {
      if (!alive) return websocket.terminate();
      alive = false;
      websocket.ping();
    }, site.pingMs);
    look.unref();
    websocket.on("pong", () => {
      alive = true;
    });
    websocket.on("message", (data: Buffer) => {
      alive = true;
      session.message(data.toString("utf8"));
    });
    websocket.on("close", () => {
      clearInterval(look);
      session.closed();
    });
  }

  server.on("upgrade", onUpgrade);
  return {
    rest: rest as unknown as Server,
    close: () => {
      server.off("upgrade", onUpgrade);
      for (const websocket of sockets.clients) websocket.terminate();
      sockets.close();
    },
  };
}
