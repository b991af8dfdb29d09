/**
 * What is served beside AAEP: a page for people, an endpoint for a demo. Both are web-standard functions from Request to
 * Response, and both stand behind the same checks of Host and Origin as everything else. Pages are for anyone who gets
 * that far; routes are called only for callers whose credentials were checked.
 */
import type { Principal } from "../../protocol/principal.ts";
import { type HttpAnswer, json } from "../../transports/sse/server.ts";
import type { Logger } from "../log.ts";
import type { Inquiry } from "./http.ts";

type Answered = Response | undefined | Promise<Response | undefined>;

/** GET and HEAD of things anyone may see. Undefined: nothing is here. */
export type Pages = (request: Request) => Answered;
/** Any method, for a caller who is known. Undefined: nothing is here. */
export type Routes = (request: Request, principal: Principal) => Answered;

export interface Beside {
  readonly pages: ((inquiry: Inquiry) => Promise<HttpAnswer | undefined>) | undefined;
  readonly routes: ((inquiry: Inquiry, principal: Principal) => Promise<HttpAnswer | undefined>) | undefined;
}

/** Somebody is asked to approve things here: no other page may lay itself over this one. A page may say so better. */
const UNFRAMED = {
  "content-security-policy": "frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export function createBeside(pages: Pages | undefined, routes: Routes | undefined, log: Logger): Beside {
  const safely = async (work: () => Answered): Promise<HttpAnswer | undefined> => {
    try {
      const response = await work();
      return response && (await answerOf(response));
    } catch (error) {
      log("error", "route_failed", { message: "A page or route threw, so its caller got nothing.", error });
      return json(500, { error: "failed", message: "That did not work, and it was not your fault." });
    }
  };
  return {
    pages:
      pages &&
      (async (inquiry) =>
        inquiry.method === "GET" || inquiry.method === "HEAD"
          ? safely(() => pages(requestOf(inquiry)))
          : undefined),
    routes:
      routes &&
      (async (inquiry, principal) => {
        if (IMPOSSIBLE.has(inquiry.method)) return undefined;
        const bodied = inquiry.method !== "GET" && inquiry.method !== "HEAD";
        const body = bodied ? await inquiry.body() : undefined;
        if (body === "too_large")
          return json(413, { error: "too_large", message: "The message is larger than allowed." });
        return safely(() => routes(requestOf(inquiry, body), principal));
      }),
  };
}

/** A web-standard Request cannot have them. */
const IMPOSSIBLE = new Set(["CONNECT", "TRACE", "TRACK"]);

function requestOf({ method, url, secure, header, headers }: Inquiry, body?: Uint8Array): Request {
  const here = new URL(`${secure ? "https" : "http"}://${header("host")}`);
  here.pathname = url.pathname;
  here.search = url.search;
  return new Request(here, {
    method,
    headers: new Headers([...headers()]),
    ...(body?.byteLength ? { body: Buffer.from(body) } : {}),
  });
}

/** Passes a body on as it comes, and lets go of it when its reader does. */
const passOn =
  (body: ReadableStream<Uint8Array>): NonNullable<HttpAnswer["stream"]> =>
  (stream) => {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    // An empty comment: a stream cannot end with nothing.
    const end = () => stream.end(":\n\n");
    const pass = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const text = decoder.decode(value, { stream: true });
        if (text !== "") await stream.write(text);
      }
    };
    pass().then(end, end);
    const leave = () => void reader.cancel().catch(() => undefined);
    return { gone: leave, slow: leave };
  };

async function answerOf(response: Response): Promise<HttpAnswer> {
  const headers: Record<string, string> = { ...UNFRAMED };
  response.headers.forEach((value, name) => {
    headers[name] = value;
  });
  if (response.body && headers["content-type"]?.startsWith("text/event-stream"))
    return { status: response.status, headers, stream: passOn(response.body) };
  return {
    status: response.status,
    headers,
    ...(response.body ? { body: new Uint8Array(await response.arrayBuffer()) } : {}),
  };
}
