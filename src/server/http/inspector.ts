/**
 * The Inspector: a page at `/` that shows a session as several listeners get it. Its files contain no data and are
 * served to anyone who passes the Host and Origin checks; everything it shows needs a credential. On loopback that is
 * the token of the run; elsewhere it is off by default, and for admins only.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { parseValue } from "../../protocol/parse.ts";
import { AAEP_VERSION, type AgentEvent, type Capabilities } from "../../protocol/types.ts";
import { type ClientTransport, Subscriber, transportFor } from "../../subscriber/index.ts";
import { type HttpRequest, type HttpResponse, json, methodNotAllowed } from "../../transports/http.ts";
import { readTokenFiles } from "../token-file.ts";
import { isLoopback } from "./guard.ts";
import type { PageHandler, RouteHandler } from "./handler.ts";

/** Options of the Inspector page. */
export interface InspectorOptions {
  /** A path that accepts a POST of {"text": …} as a task for the agent; the page then has an input for it. */
  readonly prompt?: string;
  /** An example task, shown next to the input. */
  readonly example?: string;
  /** Where the page's files are; those of this package by default. */
  readonly directory?: string;
}

interface InspectorContext extends InspectorOptions {
  readonly prefix: string;
  readonly adminsOnly: boolean;
  /** Whether the page may listen to other agents: only if the caller is the person who started this process. */
  readonly elsewhere: boolean;
  /** Where the tokens of this person's other agents are. */
  readonly tokenDirectory: string | undefined;
}

/** Only the page's own files and this server: no markup from strings, no frames, no forms to other servers. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};
const FILES = "/inspector/";
const ABOUT = "/inspector/about";
const LISTEN = "/inspector/listen";
/** Subscriptions that may be open for pages at a time; a page needs four. */
const MAX_SUBSCRIPTIONS = 16;
/** Most characters that may wait for a page that does not read; beyond this the stream ends and says so. */
const MAX_WAITING = 4 * 1024 * 1024;

/** Messages remembered until their events are delivered. */
const MAX_TEXTS = 256;

/** Capabilities a page may request: other names would be options of this process. */
const CAPABILITIES = [
  "languages",
  "max_events_per_second",
  "pace_wpm",
  "preferred_verbosity",
  "coalesce_boundaries",
  "event_filters",
  "cognitive_load",
];

/** Not stdio:, which starts programs; that is for a terminal, where the person sees which. */
const ADDRESS = /^(?:https?|wss?|grpcs?):\/\/|^(?:unix|pipe):/i;

export interface Inspector {
  readonly pages: PageHandler;
  readonly routes: RouteHandler;
}

function createInspector(context: InspectorContext): Inspector {
  const { prefix, adminsOnly, elsewhere, prompt, example } = context;
  let files: ReadonlyMap<string, Uint8Array> | undefined;
  const open = { count: 0 };
  return {
    async pages({ url: { pathname }, header }) {
      if (pathname === ABOUT || pathname === LISTEN) return undefined;
      const name =
        pathname === "/" ? "index.html" : pathname.startsWith(FILES) ? pathname.slice(FILES.length) : "";
      files ??= readFiles(context.directory);
      const body = files.get(name);
      if (name === "index.html" && !body) return NOT_BUILT;
      if (!body) return undefined;
      const gzip = /\bgzip\b/.test(header("accept-encoding") ?? "");
      return {
        status: 200,
        headers: {
          "content-type": TYPES[name.split(".").at(-1)!]!,
          "content-security-policy": POLICY,
          "cross-origin-opener-policy": "same-origin",
          vary: "accept-encoding",
          ...(gzip ? { "content-encoding": "gzip" } : {}),
        },
        body: gzip ? gzipSync(body) : body,
      };
    },
    async routes(request, principal) {
      const { pathname } = request.url;
      if (pathname !== ABOUT && pathname !== LISTEN) return undefined;
      if (adminsOnly && principal.role !== "admin")
        return refuse(403, "The Inspector of this agent is for admins. Ask the person who runs it.");
      if (pathname === ABOUT)
        return json(200, { prefix, elsewhere, prompt: prompt ?? null, example: example ?? null });
      if (request.method !== "POST") return methodNotAllowed("POST");
      if (!elsewhere)
        return refuse(
          403,
          "Listening to other agents requires a server on this machine that uses the token of the run.",
        );
      if (open.count >= MAX_SUBSCRIPTIONS)
        return refuse(429, "Too many subscriptions are open. Close another page first.");
      return listen(request, context.tokenDirectory, open);
    },
  };
}

interface ListenRequest {
  readonly address: string;
  readonly token: string | undefined;
  readonly capabilities: Capabilities;
}

/** Subscribes to another agent for a page that may not call other servers itself, and forwards events over SSE. */
async function listen(
  request: HttpRequest,
  tokenDirectory: string | undefined,
  open: { count: number },
): Promise<HttpResponse> {
  const wanted = await parseListenRequest(request);
  if (typeof wanted === "string") return refuse(400, wanted);
  const token = wanted.token ?? ownToken(wanted.address, tokenDirectory);
  const texts = createTexts();
  let subscriber: Subscriber;
  open.count++;
  try {
    const transport = await transportFor(wanted.address, token === undefined ? {} : { token });
    subscriber = new Subscriber(texts.tap(transport), {
      ...wanted.capabilities,
      // The page shows questions but cannot answer from here, so no agent should wait for it.
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      earshot: { resume: true, view_prompts: true },
      subscriber_id: "earshot-inspector",
    });
    await subscriber.connect();
  } catch (error) {
    open.count--;
    return refuse(502, `Cannot listen to that agent: ${(error as Error).message}`);
  }
  let ended = false;
  const close = () => {
    if (ended) return;
    ended = true;
    open.count--;
    void subscriber.close();
  };
  return {
    status: 200,
    headers: { "content-type": "text/event-stream" },
    stream: (stream) => {
      const queue: string[] = [];
      let waiting = 0;
      let writing = false;
      const flush = async () => {
        if (writing) return;
        writing = true;
        for (let text = queue.shift(); text !== undefined && !ended; text = queue.shift()) {
          waiting -= text.length;
          await stream.write(text);
        }
        writing = false;
      };
      const encode = (kind: string, value: unknown) => `data: ${JSON.stringify({ kind, value })}\n\n`;
      const tell = (kind: string, value: unknown) => {
        if (ended) return;
        const text = encode(kind, value);
        queue.push(text);
        waiting += text.length;
        if (waiting > MAX_WAITING) end(NOT_KEPT_UP);
        else void flush();
      };
      const end = (message: string) => {
        if (ended) return;
        const rest = waiting > MAX_WAITING ? "" : queue.join("");
        close();
        stream.end(`${rest}${encode("closed", message)}`);
      };
      tell("accepted", subscriber.accepted);
      subscriber.on("event", (event) => tell("message", texts.of(event)));
      subscriber.on("violation", () => tell("message", texts.last));
      subscriber.on("connection", ({ state, message }) => tell("line", { state, message }));
      subscriber.on("closed", ({ message }) => end(message));
      return { closed: close, tooSlow: () => end(NOT_KEPT_UP) };
    },
  };
}

const NOT_KEPT_UP = "The page did not read fast enough.";

/** Messages as they arrived: the page checks those, not what was parsed from them. */
function createTexts() {
  const kept = new Map<string, string>();
  let last = "";
  return {
    get last() {
      return last;
    },
    of: (event: AgentEvent): string => kept.get(event.event_id) ?? JSON.stringify(event),
    tap: (transport: ClientTransport): ClientTransport => ({
      name: transport.name,
      open: (request, resume, events) =>
        transport.open(request, resume, {
          ...events,
          message(text, cursor) {
            last = text;
            const id = /"event_id"\s*:\s*"([^"]{1,200})"/.exec(text)?.[1];
            if (id !== undefined) kept.set(id, text);
            if (kept.size > MAX_TEXTS) kept.delete(kept.keys().next().value!);
            events.message(text, cursor);
          },
        }),
    }),
  };
}

async function parseListenRequest(request: HttpRequest): Promise<ListenRequest | string> {
  const { address, token, capabilities } = await readJson(request);
  if (typeof address !== "string" || !ADDRESS.test(address))
    return "Give the address of an agent: http://, https://, ws://, wss://, grpc://, grpcs://, unix:<path> or pipe:<name>.";
  const wanted = Object.fromEntries(
    Object.entries(capabilities ?? {}).filter(([name]) => CAPABILITIES.includes(name)),
  );
  const parsed = parseValue(
    {
      type: "subscription.request",
      aaep_version: AAEP_VERSION,
      subscriber_id: "inspector",
      capabilities: wanted,
    },
    { mode: "tolerant" },
  );
  if (!parsed.ok) return `Those capabilities cannot be requested: ${parsed.issues[0]?.message}`;
  return {
    address,
    token: typeof token === "string" && token !== "" ? token : undefined,
    capabilities: wanted,
  };
}

async function readJson(request: HttpRequest): Promise<Record<string, unknown>> {
  const bytes = await request.body();
  try {
    const value: unknown = bytes === "too_large" ? undefined : JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The token of another agent of the same person on this machine, so that it need not be typed. */
function ownToken(address: string, directory: string | undefined): (() => string | undefined) | undefined {
  if (!/^(?:http|ws):/i.test(address) || !URL.canParse(address)) return undefined;
  const { hostname, port } = new URL(address);
  if (!isLoopback(hostname)) return undefined;
  return () => readTokenFiles(directory).find(({ url }) => new URL(url).port === port)?.token;
}

const refuse = (status: number, message: string): HttpResponse => json(status, { error: "refused", message });

const NOT_BUILT: HttpResponse = {
  status: 503,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "The Inspector has not been built. Run: npm run build\n",
};

/** In the built package, and in a clone that runs from its sources. */
const FOLDERS = ["../../inspector/", "../../../dist/inspector/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

function readFiles(directory?: string): ReadonlyMap<string, Uint8Array> {
  for (const folder of directory === undefined ? FOLDERS : [directory]) {
    try {
      const names = readdirSync(folder).filter((name) => /^[\w-]+\.(?:html|js|css)$/.test(name));
      if (names.includes("index.html"))
        return new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]));
    } catch {
      // Not here: try the next folder.
    }
  }
  return new Map();
}

interface ServeContext {
  readonly local: boolean;
  readonly prefix?: string;
  readonly auth?: unknown;
  readonly insecureLoopback?: boolean;
  readonly tokenFile?: string | false;
  readonly inspector?: boolean | InspectorOptions;
}

/** The Inspector of `serve`, unless it is off. */
export function inspectorFor(options: ServeContext): Inspector | undefined {
  const { local, inspector: wanted = local, prefix = "/aaep/v1" } = options;
  if (wanted === false) return undefined;
  return createInspector({
    ...(wanted === true ? {} : wanted),
    prefix,
    adminsOnly: !local,
    elsewhere: local && !options.auth && !options.insecureLoopback,
    tokenDirectory: options.tokenFile === false ? undefined : options.tokenFile,
  });
}
