/**
 * The Inspector: one page at `/` that shows a session as several listeners get it. Its files hold no data and are for
 * anyone who gets past the checks of Host and Origin; everything it shows needs a credential. On loopback that is the
 * token of the run; elsewhere it is offered only if asked for, and only to admins.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { parseValue } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { AAEP_VERSION, type AgentEvent, type Capabilities } from "../../protocol/types.ts";
import { type ClientTransport, Subscriber, transportFor } from "../../subscriber/index.ts";
import { readTokenFiles } from "../token-file.ts";
import { isLoopback } from "./guard.ts";
import type { Pages, Routes } from "./routes.ts";

/** Options of the Inspector page. */
export interface InspectorOptions {
  /** Where a POST of {"text": …} gives the agent something to do; the page then has a box for it. */
  readonly prompt?: string;
  /** Something to type there, shown beside the box. */
  readonly example?: string;
  /** Where the page's files are; those of this package by default. */
  readonly directory?: string;
}

interface Place extends InspectorOptions {
  readonly prefix: string;
  /** Only admins get an answer. */
  readonly admins: boolean;
  /** Other agents may be listened to from here: only where whoever calls is the person who started this process. */
  readonly elsewhere: boolean;
  /** Where tokens of other agents of this person are kept. */
  readonly tokens: string | undefined;
}

/** Nothing but the page's own files and this server; no markup from strings, no frames, no forms that leave. */
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
/** Subscriptions that may be held for pages at a time; a page needs four. */
const MOST_LINES = 16;
/** Text that waits for a page that does not read; beyond this the line ends and says so. */
const MOST_WAITING = 4 * 1024 * 1024;

/** Messages remembered until they are heard. */
const MOST_TEXTS = 256;

/** What a page may ask for: other names would be options of this process. */
const WISHES = [
  "languages",
  "max_events_per_second",
  "pace_wpm",
  "preferred_verbosity",
  "coalesce_boundaries",
  "event_filters",
  "cognitive_load",
];

/** stdio: starts programs; that is for a terminal, where the person sees which. */
const ADDRESS = /^(?:https?|wss?|grpcs?):\/\/|^(?:unix|pipe):/i;

function createInspector(place: Place): { readonly pages: Pages; readonly routes: Routes } {
  const { prefix, admins, elsewhere, prompt, example } = place;
  let kept: ReadonlyMap<string, Uint8Array<ArrayBuffer>> | undefined;
  const lines = { open: 0 };
  return {
    pages(request) {
      const { pathname } = new URL(request.url);
      if (pathname === ABOUT || pathname === LISTEN) return undefined;
      const name =
        pathname === "/" ? "index.html" : pathname.startsWith(FILES) ? pathname.slice(FILES.length) : "";
      kept ??= readFiles(place.directory);
      const body = kept.get(name);
      if (name === "index.html" && !body) return notBuilt();
      if (!body) return undefined;
      const zips = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
      return new Response(zips ? gzipSync(body) : body, {
        headers: {
          "content-type": TYPES[name.split(".").at(-1)!]!,
          "content-security-policy": POLICY,
          "cross-origin-opener-policy": "same-origin",
          vary: "accept-encoding",
          ...(zips ? { "content-encoding": "gzip" } : {}),
        },
      });
    },
    async routes(request, principal) {
      const { pathname } = new URL(request.url);
      if (pathname !== ABOUT && pathname !== LISTEN) return undefined;
      if (admins && principal.role !== "admin")
        return refuse(403, "The Inspector of this agent is for admins. Ask whoever runs it.");
      if (pathname === ABOUT)
        return Response.json({ prefix, elsewhere, prompt: prompt ?? null, example: example ?? null });
      if (request.method !== "POST") return refuse(405, "Send a POST with an address here.");
      if (!elsewhere)
        return refuse(
          403,
          "Other agents can be listened to only from a server on this machine that has a token of its own.",
        );
      if (lines.open >= MOST_LINES) return refuse(429, "Too many lines are open. Close another page first.");
      return listen(request, place, lines);
    },
  };
}

interface Wish {
  readonly address: string;
  readonly token: string | undefined;
  readonly capabilities: Capabilities;
}

/** One subscription elsewhere, held here for a page that may not call other servers itself, as server-sent events. */
async function listen(request: Request, { tokens }: Place, lines: { open: number }): Promise<Response> {
  const wish = await wishOf(request);
  if (typeof wish === "string") return refuse(400, wish);
  const token = wish.token ?? ownToken(wish.address, tokens);
  const texts = createTexts();
  let subscriber: Subscriber;
  lines.open++;
  try {
    const transport = await transportFor(wish.address, token === undefined ? {} : { token });
    subscriber = new Subscriber(texts.tap(transport), {
      ...wish.capabilities,
      // A page is shown what is asked and cannot answer from here, so no agent should wait for it to.
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      earshot: { resume: true, view_prompts: true },
      subscriber_id: "earshot-inspector",
    });
    await subscriber.connect();
  } catch (error) {
    lines.open--;
    return refuse(502, `That agent cannot be listened to: ${(error as Error).message}`);
  }
  let ended = false;
  const leave = () => {
    if (ended) return;
    ended = true;
    lines.open--;
    void subscriber.close();
  };
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const tell = (kind: string, value: unknown) => {
          if (!ended) controller.enqueue(encoder.encode(`data: ${JSON.stringify({ kind, value })}\n\n`));
        };
        const end = (message: string) => {
          if (ended) return;
          tell("closed", message);
          leave();
          controller.close();
        };
        tell("accepted", subscriber.accepted);
        subscriber.on("event", (event) => {
          tell("message", texts.of(event));
          if ((controller.desiredSize ?? 0) <= 0) end("The page did not keep up with what came.");
        });
        subscriber.on("violation", () => tell("message", texts.last));
        subscriber.on("connection", ({ state, message }) => tell("line", { state, message }));
        subscriber.on("closed", ({ message }) => end(message));
      },
      cancel: leave,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MOST_WAITING }),
  );
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Messages as they came: the page judges those, not what was understood of them. */
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
            if (kept.size > MOST_TEXTS) kept.delete(kept.keys().next().value!);
            events.message(text, cursor);
          },
        }),
    }),
  };
}

async function wishOf(request: Request): Promise<Wish | string> {
  const body: unknown = await request.json().catch(() => undefined);
  const { address, token, capabilities } = (typeof body === "object" && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  if (typeof address !== "string" || !ADDRESS.test(address))
    return "Give the address of an agent: http://, https://, ws://, wss://, grpc://, grpcs://, unix:<path> or pipe:<name>.";
  const wished = Object.entries(capabilities ?? {}).filter(([name]) => WISHES.includes(name));
  const terms = Object.fromEntries(wished);
  const asked = parseValue(
    {
      type: "subscription.request",
      aaep_version: AAEP_VERSION,
      subscriber_id: "inspector",
      capabilities: terms,
    },
    { mode: "tolerant" },
  );
  if (!asked.ok) return `Those terms cannot be asked for: ${asked.issues[0]?.message}`;
  return {
    address,
    token: typeof token === "string" && token !== "" ? token : undefined,
    capabilities: terms,
  };
}

/** Agents of the same person on this machine need no token to be typed. */
function ownToken(address: string, directory: string | undefined): (() => string | undefined) | undefined {
  if (!/^(?:http|ws):/i.test(address) || !URL.canParse(address)) return undefined;
  const { hostname, port } = new URL(address);
  if (!isLoopback(hostname)) return undefined;
  return () => readTokenFiles(directory).find(({ url }) => new URL(url).port === port)?.token;
}

const refuse = (status: number, message: string): Response =>
  Response.json({ error: "refused", message }, { status });

const notBuilt = (): Response =>
  new Response("The Inspector has not been built. Run: npm run build\n", {
    status: 503,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });

/** Beside this file once it is built; in a clone that runs from its sources, where the build puts it. */
const PLACES = ["../../inspector/", "../../../dist/inspector/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

function readFiles(directory?: string): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  for (const folder of directory === undefined ? PLACES : [directory]) {
    try {
      const names = readdirSync(folder).filter((name) => /^[\w-]+\.(?:html|js|css)$/.test(name));
      if (names.includes("index.html"))
        return new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]));
    } catch {
      // Not here: perhaps in the next place.
    }
  }
  return new Map();
}

interface Surroundings {
  readonly local: boolean;
  readonly prefix?: string;
  readonly pages?: Pages;
  readonly routes?: Routes;
  readonly auth?: unknown;
  readonly insecureLoopback?: boolean;
  readonly tokenFile?: string | false;
  readonly inspector?: boolean | InspectorOptions;
}

/** What `serve` adds to its own pages and routes: the Inspector, where it is offered. A page of the agent's own goes first. */
export function withInspector(options: Surroundings): { readonly pages?: Pages; readonly routes?: Routes } {
  const { local, pages, routes, inspector: wanted = local, prefix = "/aaep/v1" } = options;
  if (wanted === false) return {};
  const inspector = createInspector({
    ...(wanted === true ? {} : wanted),
    prefix,
    admins: !local,
    elsewhere: local && !options.auth && !options.insecureLoopback,
    tokens: options.tokenFile === false ? undefined : options.tokenFile,
  });
  return {
    pages: async (request) => (await pages?.(request)) ?? inspector.pages(request),
    routes: async (request, principal: Principal) =>
      (await inspector.routes(request, principal)) ?? routes?.(request, principal),
  };
}
