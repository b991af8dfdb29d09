/**
 * Offers to go on in another protocol than WebSocket. A server may pass over them and answer as ever (RFC 9110, 7.8), and
 * must: Java's client and `curl --http2` offer HTTP/2 with their first request. But once anybody listens for upgrades,
 * Node hands over every one of them and reads on no further.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

export const wantsWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

const OFFER = new Set(["upgrade", "http2-settings", "connection", "keep-alive"]);

/** Puts the request back without the offer; its connection serves no other one. */
export function answerAsEver(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (!OFFER.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  lines.push("Connection: close", "", "");
  socket.unshift(Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), head]));
  server.emit((socket as TLSSocket).encrypted ? "secureConnection" : "connection", socket);
}
