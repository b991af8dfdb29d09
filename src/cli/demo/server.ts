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

export interface HostOptions {
  /** Undefined: the usual one, or any other if that is taken. */
  readonly port: number | undefined;
  /** Where the store is; a new place that goes with the demo, by default. */
  readonly data: string | undefined;
  readonly speed: number;
  readonly insecureLoopback: boolean;
  readonly compat: boolean;
  readonly log: LogSink;
  readonly warn: (sentence: string) => void;
}

export interface Host {
  readonly demo: Demo;
  readonly serving: Serving;
  close(): Promise<void>;
}

export async function openHost(io: Io, options: HostOptions): Promise<Host> {
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
      failed: (name, error) => options.warn(`The scenario ${name} broke off: ${String(error)}`),
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

interface Ways {
  readonly port: number;
  readonly grpc: { readonly port: number } | false;
  readonly unix: { readonly path: string } | false;
}

/** What is tried in place of ways that could not be opened: other ports, another socket, or none. HTTP there must be. */
function instead(error: unknown, tried: Ways, wanted: number | undefined, own: string): Ways | undefined {
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

async function open(io: Io, demo: Demo, options: HostOptions): Promise<Serving> {
  const { port = DEFAULT_PORT, insecureLoopback, compat, log } = options;
  const common: ServeOptions = {
    insecureLoopback,
    tokenFile: tokenDirectory({ ...io.env }),
    compat: compat && createDriverHook(demo, systemClock),
    routes: demoRoutes(demo),
    inspector: { prompt: DEMO_PATH, example: transfer.examples!.en! },
    log,
  };
  const runtime = io.env["XDG_RUNTIME_DIR"];
  const directory = runtime && isAbsolute(runtime) ? join(runtime, "aaep") : undefined;
  // By convention an agent has one socket. Where a script starts several demos, each has its own.
  const own = socketPath(`${DEMO_ID}.${process.pid}`, directory);
  let ways: Ways = {
    port,
    grpc: { port: port === 0 || port === LAST_PORT ? 0 : port + 1 },
    unix: { path: port === 0 ? own : socketPath(DEMO_ID, directory) },
  };
  for (;;) {
    try {
      return await serve(demo.producer, { ...common, ...ways });
    } catch (error) {
      const next = instead(error, ways, options.port, own);
      if (!next) throw error;
      const { message } = error as Error;
      log({ at: systemClock.timestamp(), level: "info", event: "tried_in_vain", message });
      ways = next;
    }
  }
}

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
      return refuse(400, "bad_request", `That is no JSON. ${EXAMPLE}`);
    }
    const { text, scenario } = (typeof body === "object" && body !== null ? body : {}) as Record<
      string,
      unknown
    >;
    if ((typeof text === "string") === (typeof scenario === "string"))
      return refuse(400, "bad_request", `There must be one text, or one scenario. ${EXAMPLE}`);
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

type Tell = (message: Readonly<Record<string, unknown>>) => void;

/** A driver may speak before its stream is open; so long it is waited for. */
const STREAM_MS = 2_000;
const LOOK_MS = 25;

export function createDriverHook(
  demo: Demo,
  clock: Clock,
): (value: unknown, who: unknown, tell: Tell) => void {
  const start = (text: string, tell: Tell): void => {
    try {
      tell({ kind: "user_input.received", session_id: demo.start(text) });
    } catch (error) {
      tell({ kind: "user_input.refused", message: (error as Error).message });
    }
  };
  return (value, _who, tell) => {
    const { kind, text } = value as { kind?: unknown; text?: unknown };
    if (kind !== "user_input" || typeof text !== "string") return;
    const until = clock.now() + STREAM_MS;
    const look = (): void => {
      if (demo.producer.subscriptions > 0 || clock.now() >= until) return start(text, tell);
      clock.timer(clock.now() + LOOK_MS, look);
    };
    look();
  };
}
