/** Serves the demo agent on this machine, on every transport that can be opened, with its store and its own HTTP route. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { type Clock, EarshotError } from "../../index.ts";
import {
  type LogSink,
  type Routes,
  type ServeOptions,
  type Serving,
  serve,
  socketPath,
  tokenDirectory,
} from "../../server/index.ts";
import { type EmbeddedStore, openEmbeddedStore } from "../../stores/embedded/index.ts";
import { systemClock } from "../../subscriber/index.ts";
import type { Io } from "../command.ts";
import { createDemo, DEMO_ID, type Demo } from "./agent.ts";
import { transfer } from "./household/bank.ts";

export const DEFAULT_PORT = 4600;
const LAST_PORT = 65_535;

export interface DemoServerOptions {
  /** Undefined means the default port, or another one if that is in use. */
  readonly port: number | undefined;
  /** Directory of the store; by default a temporary one that is deleted at the end. */
  readonly data: string | undefined;
  readonly speed: number;
  readonly insecureLoopback: boolean;
  readonly compat: boolean;
  readonly log: LogSink;
  readonly warn: (sentence: string) => void;
}

export interface DemoServer {
  readonly demo: Demo;
  readonly serving: Serving;
  close(): Promise<void>;
}

export async function openDemoServer(io: Io, options: DemoServerOptions): Promise<DemoServer> {
  const data = options.data === undefined ? undefined : resolve(io.cwd, options.data);
  const directory = data ?? mkdtempSync(join(tmpdir(), "earshot-demo-"));
  let store: EmbeddedStore | undefined;
  const release = async () => {
    await store?.close();
    if (data === undefined) rmSync(directory, { recursive: true, force: true });
  };
  try {
    store = await openEmbeddedStore({ directory });
    const demo = createDemo({
      store,
      speed: options.speed,
      warn: options.warn,
      failed: (name, error) => options.warn(`The scenario ${name} failed: ${String(error)}`),
    });
    await demo.recover(store);
    const serving = await open(io, demo, options);
    return {
      demo,
      serving,
      async close() {
        await demo.stop();
        await serving.close();
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

interface Endpoints {
  readonly port: number;
  readonly grpc: { readonly port: number } | false;
  readonly unix: { readonly path: string } | false;
}

/** What to try next after an endpoint could not be opened: other ports, another socket, or none. HTTP is mandatory. */
function fallback(
  error: unknown,
  tried: Endpoints,
  wanted: number | undefined,
  own: string,
): Endpoints | undefined {
  const { code } = error as { code?: string };
  const { port, grpc, unix } = tried;
  if (code === "grpc_missing") return { ...tried, grpc: false };
  if (code === "port_in_use") {
    const other = grpc && { port: 0 };
    if (wanted === undefined && port !== 0) return { unix, port: 0, grpc: other };
    return grpc && grpc.port !== 0 ? { ...tried, grpc: other } : undefined;
  }
  if (!(error instanceof EarshotError) || !unix) return undefined;
  return { ...tried, unix: unix.path === own ? false : { path: own } };
}

async function open(io: Io, demo: Demo, options: DemoServerOptions): Promise<Serving> {
  const { port = DEFAULT_PORT, insecureLoopback, compat, log } = options;
  const common: ServeOptions = {
    insecureLoopback,
    tokenFile: tokenDirectory({ ...io.env }),
    compat: compat && createTestDriverHook(demo, systemClock),
    routes: demoRoutes(demo),
    inspector: { prompt: DEMO_PATH, example: transfer.examples!.en! },
    log,
  };
  const runtime = io.env["XDG_RUNTIME_DIR"];
  const directory = runtime && isAbsolute(runtime) ? join(runtime, "aaep") : undefined;
  // By convention an agent has one socket. If a script starts several demos, each needs its own.
  const own = socketPath(`${DEMO_ID}.${process.pid}`, directory);
  let endpoints: Endpoints = {
    port,
    grpc: { port: port === 0 || port === LAST_PORT ? 0 : port + 1 },
    unix: { path: port === 0 ? own : socketPath(DEMO_ID, directory) },
  };
  for (;;) {
    try {
      return await serve(demo.producer, { ...common, ...endpoints });
    } catch (error) {
      const next = fallback(error, endpoints, options.port, own);
      if (!next) throw error;
      const { message } = error as Error;
      log({ at: systemClock.timestamp(), level: "info", event: "endpoint_unavailable", message });
      endpoints = next;
    }
  }
}

/** `POST` here starts a session, from a script or a page. */
export const DEMO_PATH = "/demo/sessions";
const EXAMPLE = 'Send JSON such as {"text":"book a room"}, or {"scenario":"flood"}.';

const refuse = (status: number, error: string, message: string, headers: Record<string, string> = {}) =>
  Response.json({ error, message }, { status, headers });

export const demoRoutes =
  (demo: Demo): Routes =>
  async (request) => {
    if (new URL(request.url).pathname !== DEMO_PATH) return undefined;
    if (request.method !== "POST")
      return refuse(405, "method_not_allowed", `Send a POST here. ${EXAMPLE}`, { allow: "POST" });
    let body: unknown;
    try {
      body = await request.json();
    } catch {
      return refuse(400, "bad_request", `The body is not JSON. ${EXAMPLE}`);
    }
    const { text, scenario } = (typeof body === "object" && body !== null ? body : {}) as Record<
      string,
      unknown
    >;
    if ((typeof text === "string") === (typeof scenario === "string"))
      return refuse(400, "bad_request", `Give either text or scenario. ${EXAMPLE}`);
    try {
      const session_id = typeof text === "string" ? demo.start(text) : demo.play(scenario as string);
      return Response.json({ session_id }, { status: 202 });
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      if (code === "too_many_sessions") return refuse(429, code, message, { "retry-after": "5" });
      if (error instanceof EarshotError) return refuse(400, code ?? "bad_request", message);
      throw error;
    }
  };

type Send = (message: Readonly<Record<string, unknown>>) => void;

/** A driver may send input before it opens its stream. Wait this long for the stream. */
const STREAM_MS = 2_000;
const POLL_MS = 25;

/**
 * Existing test drivers send `{"kind":"user_input","text":…}` and take the next message as the acknowledgement. So they get
 * one, which is not an event, before the session's own events.
 */
function createTestDriverHook(demo: Demo, clock: Clock): (value: unknown, who: unknown, send: Send) => void {
  const start = (text: string, send: Send): void => {
    try {
      send({ kind: "user_input.received", session_id: demo.start(text) });
    } catch (error) {
      send({ kind: "user_input.refused", message: (error as Error).message });
    }
  };
  return (value, _who, send) => {
    const { kind, text } = value as { kind?: unknown; text?: unknown };
    if (kind !== "user_input" || typeof text !== "string") return;
    const until = clock.now() + STREAM_MS;
    const poll = (): void => {
      if (demo.producer.subscriptions > 0 || clock.now() >= until) return start(text, send);
      clock.timer(clock.now() + POLL_MS, poll);
    };
    poll();
  };
}
