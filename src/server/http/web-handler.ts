/** The same site as a web-standard `(Request) => Response`, for Next.js and Hono route handlers. */
import type { HttpAnswer, OpenStream } from "../../transports/sse/server.ts";
import type { ByteSink, Writer, WriteScheduler } from "../writer.ts";
import { answerInquiry, BrokenOff, type HttpSite } from "./http.ts";
import type { NodeHttpLimits } from "./node-http.ts";

/** Bytes a reader may be behind before the stream asks to be waited for: what Node gives a socket. */
const ROOM = 16_384;

type StreamLimits = Pick<NodeHttpLimits, "queueBytes" | "blockedMs">;

export function createWebHandler(
  site: HttpSite,
  bodyBytes: number,
  limits: StreamLimits = { queueBytes: 1_048_576, blockedMs: 30_000 },
): (request: Request) => Promise<Response> {
  return async (request) => {
    const url = new URL(request.url);
    const { status, headers, body, stream } = await answerInquiry(site, {
      method: request.method,
      url,
      secure: url.protocol === "https:",
      header: (name) => request.headers.get(name) ?? (name === "host" ? url.host : undefined),
      headers: () => request.headers,
      certificate: undefined,
      body: () => readBody(request, bodyBytes),
    });
    if (!stream)
      return new Response(status === 204 ? null : ((body as BodyInit | undefined) ?? null), {
        status,
        headers,
      });
    return new Response(openStream(stream, request.signal, limits, site.writes), { status, headers });
  };
}

async function readBody(request: Request, limit: number): Promise<Uint8Array | "too_large"> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) return "too_large";
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read().catch(() => {
      throw new BrokenOff();
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

function openStream(
  start: NonNullable<HttpAnswer["stream"]>,
  signal: AbortSignal,
  limits: StreamLimits,
  writes: WriteScheduler,
): ReadableStream<Uint8Array> {
  let open: OpenStream | undefined;
  let writer: Writer;
  let finished = false;
  const finish = () => {
    if (finished) return;
    finished = true;
    signal.removeEventListener("abort", finish);
    writer.abandon();
    open?.gone();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const sink: ByteSink = {
          write: (bytes) => {
            // The same bytes may go to many, and whoever reads a web stream may do with its own what it likes.
            controller.enqueue(new Uint8Array(bytes));
            return (controller.desiredSize ?? 0) > 0;
          },
          get writableLength() {
            return Math.max(0, ROOM - (controller.desiredSize ?? 0));
          },
        };
        writer = writes.writer(sink, {
          queueBytes: limits.queueBytes,
          blockedMs: limits.blockedMs,
          // A replay may be too much before the stream has even been taken over.
          onSlow: () => (open ? open.slow() : queueMicrotask(() => open?.slow())),
        });
        open = start({
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
    new ByteLengthQueuingStrategy({ highWaterMark: ROOM }),
  );
}
