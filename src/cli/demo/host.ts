/** The demo agent on this machine: its store, and every way to it that can be opened here. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { EarshotError } from "../../index.ts";
import {
  type LogSink,
  type ServeOptions,
  type Serving,
  serve,
  socketPath,
  tokenDirectory,
} from "../../server/index.ts";
import { type EmbeddedStore, openEmbeddedStore } from "../../stores/embedded/store.ts";
import { systemClock } from "../../subscriber/index.ts";
import type { Io } from "../command.ts";
import { createDemo, DEMO_ID, type Demo } from "./agent.ts";
import { createDriverHook } from "./drivers.ts";
import { transfer } from "./household/bank.ts";
import { DEMO_PATH, demoRoutes } from "./routes.ts";

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
    token_file: tokenDirectory({ ...io.env }),
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
