/**
 * The adapter between our HTTP vocabulary and the web-standard Request and Response, in both directions: it serves the
 * app to Next.js and Hono route handlers, and lets users write pages and routes as web-standard functions.
 */
import type { Principal } from "../../protocol/principal.ts";
import { type HttpRequest, type HttpResponse, json, type StreamEvents } from "../../transports/http.ts";
import type { ByteSink, Writer, WriteScheduler } from "../writer.ts";
import { IncompleteBody, type PageHandler, type RouteHandler } from "./handler.ts";
import type { StreamLimits } from "./node.ts";

type MaybeResponse = Response | undefined | Promise<Response | undefined>;

/** GET and HEAD of things anyone may see. Undefined: nothing is served there. */
export type Pages = (request: Request) => MaybeResponse;
/** Any method, for authenticated callers. Undefined: nothing is served there. */
export type Routes = (request: Request, principal: Principal) => MaybeResponse;

export interface WebAdapterOptions {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  readonly writes: WriteScheduler;
  readonly limits: StreamLimits & { readonly bodyBytes: number };
}

export function createWebHandler({
  handle,
  writes,
  limits,
}: WebAdapterOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, headers, body, stream } = await handle(fromWebRequest(request, limits.bodyBytes));
    if (stream) return new Response(openStream(stream, request.signal, limits, writes), { status, headers });
    return new Response(status === 204 ? null : ((body as BodyInit | undefined) ?? null), {
      status,
      headers,
    });
  };
}

export function fromWebRequest(request: Request, bodyBytes: number): HttpRequest {
  const url = new URL(request.url);
  return {
    method: request.method,
    url,
    secure: url.protocol === "https:",
    header: (name) => request.headers.get(name) ?? (name === "host" ? url.host : undefined),
    headers: () => request.headers,
    certificate: undefined,
    body: () => readBody(request, bodyBytes),
  };
}

async function readBody(request: Request, limit: number): Promise<Uint8Array | "too_large"> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) return "too_large";
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read().catch(() => {
      throw new IncompleteBody();
    });
    if (done) break;
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      return "too_large";
    }
    parts.push(value);
  }
  return Buffer.concat(parts);
}

/** How many bytes a reader may be behind before there is backpressure; the same as for Node's sockets. */
const HIGH_WATER_MARK = 16_384;

function openStream(
  start: NonNullable<HttpResponse["stream"]>,
  signal: AbortSignal,
  { queueBytes, blockedMs }: StreamLimits,
  writes: WriteScheduler,
): ReadableStream<Uint8Array> {
  let events: StreamEvents | undefined;
  let writer: Writer;
  let finished = false;
  const finish = () => {
    if (finished) return;
    finished = true;
    signal.removeEventListener("abort", finish);
    writer.abandon();
    events?.closed();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const sink: ByteSink = {
          write: (bytes) => {
            // A copy: the bytes are shared by all listeners, and the reader of a web stream may modify its chunks.
            controller.enqueue(new Uint8Array(bytes));
            return (controller.desiredSize ?? 0) > 0;
          },
          get writableLength() {
            return Math.max(0, HIGH_WATER_MARK - (controller.desiredSize ?? 0));
          },
        };
        writer = writes.writer(sink, {
          queueBytes,
          blockedMs,
          // A long replay may exceed the limit while `start` still runs.
          onSlow: () => (events ? events.tooSlow() : queueMicrotask(() => events?.tooSlow())),
        });
        events = start({
          write: (text, deferrable) => writer.write(text, deferrable),
          end: (last) => {
            if (finished) return;
            writer.end(last);
            controller.close();
            finish();
          },
        });
        if (signal.aborted) finish();
        else signal.addEventListener("abort", finish);
      },
      pull: () => writer.drained(),
      cancel: finish,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: HIGH_WATER_MARK }),
  );
}

export const toPageHandler =
  (pages: Pages): PageHandler =>
  async (request) => {
    const response = await pages(toWebRequest(request));
    return response && fromWebResponse(response);
  };

/** Methods that a web-standard Request cannot have. */
const UNSUPPORTED = new Set(["CONNECT", "TRACE", "TRACK"]);

export const toRouteHandler =
  (routes: Routes): RouteHandler =>
  async (request, principal) => {
    if (UNSUPPORTED.has(request.method)) return undefined;
    const body = request.method === "GET" || request.method === "HEAD" ? undefined : await request.body();
    if (body === "too_large")
      return json(413, { error: "too_large", message: "The message is larger than allowed." });
    const response = await routes(toWebRequest(request, body), principal);
    return response && fromWebResponse(response);
  };

function toWebRequest({ method, url, secure, header, headers }: HttpRequest, body?: Uint8Array): Request {
  const full = new URL(`${secure ? "https" : "http"}://${header("host")}`);
  full.pathname = url.pathname;
  full.search = url.search;
  return new Request(full, {
    method,
    headers: new Headers([...headers()]),
    ...(body?.byteLength ? { body: Buffer.from(body) } : {}),
  });
}

async function fromWebResponse(response: Response): Promise<HttpResponse> {
  const { status } = response;
  const headers: Record<string, string> = {};
  response.headers.forEach((value, name) => {
    headers[name] = value;
  });
  if (response.body && headers["content-type"]?.startsWith("text/event-stream"))
    return { status, headers, stream: forward(response.body) };
  return {
    status,
    headers,
    ...(response.body ? { body: new Uint8Array(await response.arrayBuffer()) } : {}),
  };
}

/** Forwards an event stream as it arrives, and cancels it when its reader is gone. */
const forward =
  (body: ReadableStream<Uint8Array>): NonNullable<HttpResponse["stream"]> =>
  (stream) => {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    // An empty comment: a stream cannot end with an empty chunk.
    const end = () => stream.end(":\n\n");
    const copy = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const text = decoder.decode(value, { stream: true });
        if (text !== "") await stream.write(text);
      }
    };
    copy().then(end, end);
    const cancel = () => void reader.cancel().catch(() => undefined);
    return { closed: cancel, tooSlow: cancel };
  };
