/** Node's http, https and http2 servers, and frameworks built on them, as inquiries and byte streams. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { TLSSocket } from "node:tls";
import { EarshotError } from "../../protocol/errors.ts";
import { type HttpAnswer, json, type OpenStream } from "../../transports/sse/server.ts";
import type { ByteSink } from "../writer.ts";
import { answerInquiry, BrokenOff, type HttpSite, type Inquiry, KEYS_PATH, MANIFEST_PATH } from "./http.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

export interface NodeHttpLimits {
  readonly bodyBytes: number;
  readonly queueBytes: number;
  readonly blockedMs: number;
}

/** What a request asks for, and what stands before that in the address. */
interface Target {
  readonly url: string;
  readonly base: string;
  readonly ours: boolean;
}

const pathOf = (url: string): string => url.split("?")[0]!;

/** Express cuts off the path something is mounted under, and keeps the whole: the prefix may stand in either. */
export function targetOf(request: Request, prefix: string): Target {
  const { url = "/", originalUrl: whole = url } = request as Request & { originalUrl?: string };
  const isOurs = (path: string) =>
    path.startsWith(`${prefix}/`) || path === MANIFEST_PATH || path === KEYS_PATH;
  if (isOurs(pathOf(url)))
    return { url, base: whole.endsWith(url) ? whole.slice(0, whole.length - url.length) : "", ours: true };
  const ours = isOurs(pathOf(whole));
  return { url: ours ? whole : url, base: "", ours };
}

/** A path is a path, also where it begins like another server's address. */
const urlOf = (target: string): URL =>
  new URL(target.startsWith("/") ? `http://unused${target}` : target, "http://unused");

/** Two Host headers make a name that nobody has: which of them counted would be a guess. */
const hostOf = (request: Request): string | undefined =>
  request.headers[":authority"]?.toString() ??
  ("headersDistinct" in request ? request.headersDistinct["host"]?.join(", ") : request.headers.host);

export function inquiryOf(
  request: Request,
  limits: Pick<NodeHttpLimits, "bodyBytes">,
  url = request.url ?? "/",
): Inquiry {
  const socket = request.socket as TLSSocket;
  const secure = socket.encrypted === true;
  const header = (name: string): string | undefined => {
    if (name === "host") return hostOf(request);
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
  return {
    method: request.method ?? "GET",
    url: urlOf(url),
    secure,
    header,
    headers: () =>
      Object.keys(request.headers).flatMap((name) => {
        const value = name.startsWith(":") ? undefined : header(name);
        return value === undefined ? [] : [[name, value] as [string, string]];
      }),
    certificate: secure ? certificateOf(socket) : undefined,
    body: () => readBody(request, limits.bodyBytes),
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
    const broken = () => reject(new BrokenOff());
    request.once("error", broken).once("close", broken);
  });
}

export async function handleNodeRequest(
  site: HttpSite,
  request: Request,
  response: Response,
  limits: NodeHttpLimits,
  { url, base }: Target = targetOf(request, site.prefix),
): Promise<void> {
  const path = pathOf(url);
  const plain = response as ServerResponse;
  try {
    const { status, headers, body, stream } = rebased(
      await answerInquiry(site, inquiryOf(request, limits, url)),
      request,
      base,
    );
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
    const unreadable = (error as { code?: unknown }).code === "ERR_INVALID_URL";
    if (error instanceof EarshotError) process.emitWarning(error.message, { code: error.code });
    else if (!unreadable)
      site.log("error", "request_failed", {
        message: "A request failed, and not by its sender's fault.",
        error,
      });
    if (response.headersSent) return void plain.end();
    const { status, ...why } = unreadable ? UNREADABLE : FAILED;
    const { headers, body } = json(status, why);
    plain.writeHead(status, request.httpVersionMajor === 1 ? { ...headers, connection: "close" } : headers);
    plain.end(body);
  }
}

const UNREADABLE = {
  status: 400,
  error: "unreadable",
  message: "The request cannot be read. Check its address and how it is framed.",
};
const FAILED = {
  status: 500,
  error: "failed",
  message: "That did not work, and it was not your fault. Whoever runs the agent was told why.",
};

/** As it must be said here: the whole address, and over HTTP/2 no word of an upgrade. */
function rebased(answer: HttpAnswer, { httpVersionMajor }: Request, base: string): HttpAnswer {
  const { upgrade, location, ...headers } = answer.headers;
  return {
    ...answer,
    headers: {
      ...headers,
      ...(upgrade === undefined || httpVersionMajor > 1 ? {} : { upgrade }),
      ...(location === undefined
        ? {}
        : { location: location.startsWith("/") ? `${base}${location}` : location }),
    },
  };
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
    !response.getHeader("content-encoding");
  // Over HTTP/2 the socket is everybody's, and not to be touched.
  if (response instanceof ServerResponse) socket?.setNoDelay(true);
  // A response that must wait for the one before it on its connection has no socket yet.
  const sink: ByteSink & NodeJS.EventEmitter = (direct && socket) || response;
  const writer = site.writes.writer(sink, {
    chunked: sink === socket,
    queueBytes: limits.queueBytes,
    blockedMs: limits.blockedMs,
    onSlow: () => {
      site.metrics.count("earshot_disconnects_total", { reason: "too_slow" });
      // A replay may be too much before the stream has even been taken over.
      if (open) open.slow();
      else queueMicrotask(() => open?.slow());
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
  });
  const drained = () => writer.drained();
  sink.on("drain", drained);
  let open: OpenStream | undefined;
  open = start({
    write: (text, deferrable) => writer.write(text, deferrable),
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
    sink.off("drain", drained);
    writer.abandon();
    open?.gone();
  });
}
