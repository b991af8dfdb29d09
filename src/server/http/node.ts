/** The adapter for Node's http, https and http2 servers, and for frameworks built on them. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { TLSSocket } from "node:tls";
import { readCertificate } from "../../auth/mtls.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type HttpRequest, type HttpResponse, json, type StreamEvents } from "../../transports/http.ts";
import type { ConnectionObserver } from "../../transports/server-connection.ts";
import type { Logger } from "../telemetry.ts";
import type { ByteSink, WriteScheduler } from "../writer.ts";
import type { HalfOpenDetector } from "./half-open.ts";
import { IncompleteBody, KEYS_PATH, MANIFEST_PATH } from "./handler.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

export interface StreamLimits {
  /** Most bytes that may wait for one listener. */
  readonly queueBytes: number;
  /** How long a listener may take no bytes at all. */
  readonly blockedMs: number;
}

export interface NodeAdapterOptions {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  readonly log: Logger;
  readonly observer: ConnectionObserver;
  readonly writes: WriteScheduler;
  readonly halfOpen: HalfOpenDetector;
  readonly limits: StreamLimits & { readonly bodyBytes: number };
}

/** What a request asks for, and the path the app is mounted under. */
interface Target {
  readonly url: string;
  readonly mount: string;
  /** Whether it is a path of AAEP. */
  readonly aaep: boolean;
}

const pathOf = (url: string): string => url.split("?")[0]!;

/** Express removes the mount path from `url` and keeps it in `originalUrl`: the prefix may be in either. */
export function targetOf(request: NodeRequest, prefix: string): Target {
  const { url = "/", originalUrl = url } = request as NodeRequest & { originalUrl?: string };
  const isAaep = (path: string) =>
    path.startsWith(`${prefix}/`) || path === MANIFEST_PATH || path === KEYS_PATH;
  if (isAaep(pathOf(url))) {
    const mount = originalUrl.endsWith(url) ? originalUrl.slice(0, originalUrl.length - url.length) : "";
    return { url, mount, aaep: true };
  }
  const aaep = isAaep(pathOf(originalUrl));
  return { url: aaep ? originalUrl : url, mount: "", aaep };
}

/** A target that starts with a slash is a path, even if it looks like the address of another server. */
const urlOf = (target: string): URL =>
  new URL(target.startsWith("/") ? `http://unused${target}` : target, "http://unused");

/** Several Host headers are joined into a name that no server has: which of them counts would be a guess. */
const hostOf = (request: NodeRequest): string | undefined =>
  request.headers[":authority"]?.toString() ??
  ("headersDistinct" in request ? request.headersDistinct["host"]?.join(", ") : request.headers.host);

export function fromNodeRequest(
  request: NodeRequest,
  bodyBytes: number,
  url = request.url ?? "/",
): HttpRequest {
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
    certificate: secure && socket.authorized ? readCertificate(socket.getPeerCertificate()) : undefined,
    body: () => readBody(request, bodyBytes),
  };
}

/** Stops reading at the limit, not after it (A11). */
function readBody(request: NodeRequest, limit: number): Promise<Uint8Array | "too_large"> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) return Promise.resolve("too_large");
  if (request.readableEnded) {
    throw new EarshotError(
      "body_consumed",
      "The request body has already been read. Mount the agent before body parsers such as express.json().",
    );
  }
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const onData = (part: Buffer) => {
      size += part.length;
      if (size <= limit) return void parts.push(part);
      request.pause();
      request.off("data", onData);
      resolve("too_large");
    };
    request.on("data", onData);
    request.once("end", () => resolve(Buffer.concat(parts)));
    const incomplete = () => reject(new IncompleteBody());
    request.once("error", incomplete).once("close", incomplete);
  });
}

export async function handleNodeRequest(
  options: NodeAdapterOptions,
  request: NodeRequest,
  nodeResponse: NodeResponse,
  { url, mount }: Pick<Target, "url" | "mount">,
): Promise<void> {
  const response = nodeResponse as ServerResponse;
  const http1 = request.httpVersionMajor === 1;
  try {
    const answer = await options.handle(fromNodeRequest(request, options.limits.bodyBytes, url));
    if (response.destroyed) return;
    const { status, body, stream } = answer;
    const headers = headersOf(answer, http1, mount);
    if (!stream) {
      // A connection whose request body was not read to the end cannot be used for another request.
      const unread = !request.readableEnded && request.method === "POST";
      const sized =
        body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) };
      if (!unread || !http1) return void response.writeHead(status, sized).end(body);
      response.writeHead(status, { ...sized, connection: "close" });
      return endAfterBody(request, response, body);
    }
    // A connection that carried a stream is not reused: it ends with the stream.
    response.writeHead(status, http1 ? { ...headers, connection: "close" } : headers);
    response.flushHeaders();
    openStream(options, request, response, stream);
  } catch (error) {
    if (response.destroyed) return;
    // The operator is told the cause; the peer only that it was not its fault.
    const unreadable = (error as { code?: unknown }).code === "ERR_INVALID_URL";
    if (error instanceof EarshotError) process.emitWarning(error.message, { code: error.code });
    else if (!unreadable)
      options.log("error", "request_failed", {
        message: "A request failed because of a server error.",
        error,
      });
    if (response.headersSent) return void response.end();
    const { status, ...why } = unreadable ? UNREADABLE : FAILED;
    const { headers, body } = json(status, why);
    response.writeHead(status, http1 ? { ...headers, connection: "close" } : headers);
    response.end(body);
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
  message: "The server failed to handle this request. The cause is in the agent's log.",
};

/** Locations include the mount path; HTTP/2 has no Upgrade header. */
function headersOf({ headers: all }: HttpResponse, http1: boolean, mount: string): Record<string, string> {
  const { upgrade, location, ...headers } = all;
  return {
    ...headers,
    ...(upgrade === undefined || !http1 ? {} : { upgrade }),
    ...(location === undefined
      ? {}
      : { location: location.startsWith("/") ? `${mount}${location}` : location }),
  };
}

/** How long a slow reader has to receive the reason before the connection is destroyed. */
const LINGER_MS = 1_000;

/** How much of an unread body is discarded; a client that sends more is cut off (A11). */
const LINGER_BYTES = 8 * 1_048_576;

/**
 * Many clients send the whole body before they read. If the connection were closed on unread data, they would see a
 * connection error in place of the response, so for a moment incoming data is discarded (RFC 9112, 9.6).
 */
function endAfterBody(request: NodeRequest, response: ServerResponse, body: HttpResponse["body"]): void {
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

/** HTTP/1.1 streams write chunks straight to the socket, framed once for all listeners; others use the response. */
function openStream(
  { observer, writes, halfOpen, limits }: NodeAdapterOptions,
  request: NodeRequest,
  response: ServerResponse,
  start: NonNullable<HttpResponse["stream"]>,
): void {
  const { socket } = response;
  const direct =
    response instanceof ServerResponse &&
    request.httpVersion === "1.1" &&
    response.chunkedEncoding &&
    !response.getHeader("content-encoding");
  // Over HTTP/2 all streams share the socket, so it is left alone.
  if (response instanceof ServerResponse) socket?.setNoDelay(true);
  // With pipelining, a response has no socket until the previous one has ended.
  const sink: ByteSink & NodeJS.EventEmitter = (direct && socket) || response;
  const writer = writes.writer(sink, {
    chunked: sink === socket,
    ...limits,
    onSlow: () => {
      observer.closed("sse", "too_slow");
      // A long replay may exceed the limit while `start` still runs.
      if (events) events.tooSlow();
      else queueMicrotask(() => events?.tooSlow());
      setTimeout(() => response.destroy(), LINGER_MS).unref();
    },
  });
  const drained = () => writer.drained();
  sink.on("drain", drained);
  let events: StreamEvents | undefined;
  events = start({
    write: (text, deferrable) => writer.write(text, deferrable),
    end: (last) => {
      if (response.destroyed) return writer.abandon();
      writer.end(last);
      response.end();
    },
  });
  const unwatch = halfOpen.watch(request.socket, () => {
    observer.closed("sse", "unreachable");
    response.destroy();
  });
  response.once("close", () => {
    unwatch();
    // With keep-alive the socket outlives this response.
    sink.off("drain", drained);
    writer.abandon();
    events?.closed();
  });
}
