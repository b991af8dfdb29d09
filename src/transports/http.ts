/**
 * One vocabulary for HTTP, shared by every server and every handler: adapters for Node and for web-standard servers
 * turn what they receive into an `HttpRequest` and write an `HttpResponse`; SSE, pages and routes handle one and return
 * the other.
 */
import type { Caller, Certificate } from "../auth/authenticate.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** Whether it arrived over TLS. */
  readonly secure: boolean;
  /** By lower-case name. */
  header(name: string): string | undefined;
  headers(): Iterable<[string, string]>;
  readonly certificate: Certificate | undefined;
  /** Reads the body, up to the server's limit. */
  body(): Promise<Uint8Array | "too_large">;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** In place of a body: called once the headers are sent. */
  readonly stream?: (stream: HttpStream) => StreamEvents;
}

/** A response body that stays open. */
export interface HttpStream {
  /** A promise is backpressure. Deferrable text may wait a few milliseconds to share a write. */
  write(text: string, deferrable?: boolean): Promise<void> | undefined;
  /** Writes everything that waits, and this last text, then ends. */
  end(last: string): void;
}

/** What the owner of the stream is told. */
export interface StreamEvents {
  /** The stream is closed. */
  closed(): void;
  /** The reader does not keep up: end the stream with a reason (F14). */
  tooSlow(): void;
}

/** `path` is the path after the server's prefix. Undefined: nothing is served there. */
export type HttpHandler = (
  request: HttpRequest,
  caller: Caller,
  path: string,
) => Promise<HttpResponse | undefined>;

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): HttpResponse => ({
  status,
  headers: { ...JSON_HEADERS, ...headers },
  body: JSON.stringify(body),
});

export const methodNotAllowed = (...methods: readonly string[]): HttpResponse =>
  json(
    405,
    { error: "method_not_allowed", message: `Use ${methods.join(" or ")} here.` },
    { allow: methods.join(", ") },
  );
