/** Node's http, https and http2 servers, and frameworks built on them, as inquiries and byte streams. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { TLSSocket } from "node:tls";
import { EarshotError } from "../protocol/errors.ts";
import type { HttpAnswer, OpenStream } from "../transports/sse/server.ts";
import { answerInquiry, type HttpSite, type Inquiry } from "./http.ts";
import { type Outlet, Writer } from "./writer.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

export interface NodeHttpLimits {
  readonly body_bytes: number;
  readonly queue_bytes: number;
  readonly blocked_ms: number;
}

export function inquiryOf(request: Request, limits: Pick<NodeHttpLimits, "body_bytes">): Inquiry {
  const socket = request.socket as TLSSocket;
  const secure = socket.encrypted === true;
  const header = (name: string): string | undefined => {
    const value = request.headers[name === "host" && request.headers[":authority"] ? ":authority" : name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  return {
    method: request.method ?? "GET",
    url: new URL(request.url ?? "/", "http://unused"),
    secure,
    header,
    headers: () =>
      Object.keys(request.headers).flatMap((name) => {
        const value = name.startsWith(":") ? undefined : header(name);
        return value === undefined ? [] : [[name, value] as [string, string]];
      }),
    certificate: secure ? certificateOf(socket) : undefined,
    body: () => readBody(request, limits.body_bytes),
  };
}

export function certificateOf(socket: TLSSocket): Inquiry["certificate"] {
  if (!socket.authorized) return undefined;
  const { subject, fingerprint256, valid_to } = socket.getPeerCertificate();
  // Several names in one certificate would leave it open who this is.
  if (typeof subject?.CN !== "string") return undefined;
  return { subject: subject.CN, fingerprint: fingerprint256, expires_at: Date.parse(valid_to) };
}

/** Stops reading at the limit, not after it (A11). */
function readBody(request: Request, limit: number): Promise<Uint8Array | "too_large"> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) return Promise.resolve("too_large");
  if (request.readableEnded) {
    throw new EarshotError(
      "body_consumed",
      "The body has been read already. Mount the agent before body parsers such as express.json().",
    );
  }
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const take = (part: Buffer) => {
      size += part.length;
      if (size <= limit) return void parts.push(part);
      request.pause();
      request.off("data", take);
      resolve("too_large");
    };
    request.on("data", take);
    request.once("end", () => resolve(Buffer.concat(parts)));
    request.once("error", reject);
    request.once("close", () => reject(new Error("The connection closed before the message was complete.")));
  });
}

export async function handleNodeRequest(
  site: HttpSite,
  request: Request,
  response: Response,
  limits: NodeHttpLimits,
): Promise<void> {
  const path = (request.url ?? "").split("?")[0]!;
  const plain = response as ServerResponse;
  try {
    const { status, headers, body, stream } = await answerInquiry(site, inquiryOf(request, limits));
    const known = path.startsWith(site.prefix) ? path.slice(site.prefix.length) : path;
    site.metrics.count("earshot_http_requests_total", {
      path: status === 404 ? "other" : known,
      status: String(status),
    });
    if (response.destroyed) return;
    if (!stream) {
      // A body that was not read to its end makes the connection useless for another request.
      const unread = !request.readableEnded && request.method === "POST";
      const sized =
        body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) };
      if (!unread || request.httpVersionMajor !== 1) return void plain.writeHead(status, sized).end(body);
      plain.writeHead(status, { ...sized, connection: "close" });
      return endAfterBody(request, plain, body);
    }
    // A connection that carried a stream is worth nothing afterwards: it ends with it, once all has been read.
    plain.writeHead(status, request.httpVersionMajor === 1 ? { ...headers, connection: "close" } : headers);
    plain.flushHeaders();
    openStream(request, plain, stream, limits, site);
  } catch (error) {
    if (response.destroyed) return;
    // Whoever runs the server is told why, the peer only that it was not its fault.
    const ours = error instanceof EarshotError;
    if (ours) process.emitWarning(error.message, { code: error.code });
    if (!response.headersSent)
      plain.writeHead(ours ? 500 : 400, request.httpVersionMajor === 1 ? { connection: "close" } : {});
    plain.end();
  }
}

/** Reading goes on for so long after the last words to a slow reader: it should find out why. */
const LINGER_MS = 1_000;

/** Somewhat too much is passed over; whoever sends without end is cut off (A11). */
const LINGER_BYTES = 8 * 1_048_576;

/**
 * Many clients send all they have before they read. Closed at once on what is unread, they would hear of a broken
 * connection and not of the answer, so for a moment what comes is passed over (RFC 9112, 9.6).
 */
function endAfterBody(request: Request, response: ServerResponse, body: HttpAnswer["body"]): void {
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  const end = () => {
    clearTimeout(late);
    response.end();
  };
  const late = setTimeout(end, LINGER_MS).unref();
  let left = LINGER_BYTES;
  request.on("data", (part: Buffer) => {
    left -= part.length;
    if (left < 0) end();
  });
  request.once("end", end).once("close", end).resume();
  if (Number(request.headers["content-length"] ?? 0) > LINGER_BYTES) end();
}

/** HTTP/1.1 streams write their chunks straight to the socket, framed once for everybody; others use the response. */
function openStream(
  request: Request,
  response: ServerResponse,
  start: NonNullable<HttpAnswer["stream"]>,
  limits: NodeHttpLimits,
  site: HttpSite,
): void {
  const { socket } = response;
  const direct =
    response instanceof ServerResponse &&
    request.httpVersion === "1.1" &&
    response.chunkedEncoding &&
    !response.getHeader("content-encoding") &&
    socket;
  // Over HTTP/2 the socket is everybody's, and not to be touched.
  if (response instanceof ServerResponse) socket?.setNoDelay(true);
  const outlet: Outlet & NodeJS.EventEmitter = direct || response;
  const writer = new Writer(outlet, {
    chunked: direct !== false,
    cap: limits.queue_bytes,
    blocked_ms: limits.blocked_ms,
    slow: () => {
      site.metrics.count("earshot_disconnects_total", { reason: "too_slow" });
      // A replay may be too much before the stream has even been taken over.
      if (open) open.slow();
      else queueMicrotask(() => open?.slow());
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
  });
  const drained = () => writer.drained();
  outlet.on("drain", drained);
  let open: OpenStream | undefined;
  open = start({
    write: (text, patient) => writer.write(text, patient),
    end: (last) => {
      if (response.destroyed) return writer.abandon();
      writer.end(last);
      response.end();
    },
  });
  const unwatch = site.watch.add(request.socket, () => {
    site.metrics.count("earshot_disconnects_total", { reason: "unreachable" });
    response.destroy();
  });
  response.once("close", () => {
    unwatch();
    // The socket outlives this response where the connection is kept.
    outlet.off("drain", drained);
    writer.abandon();
    open?.gone();
  });
}
