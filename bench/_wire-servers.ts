/** The servers' side of the wire benchmark: one server for each contender, in a process of its own. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession } from "better-sse";
import { type ServerOptions, Server as SocketIoServer } from "socket.io";
import { WebSocketServer } from "ws";
import { createProducer } from "../src/index.ts";
import { hubOf } from "../src/producer/producer.ts";
import { serve } from "../src/server/index.ts";

export const KINDS = [
  "floor",
  "ws",
  "earshot-ws",
  "res-write",
  "earshot-sse",
  "better-sse",
  "socket-io",
  "socket-io-recovery",
  "earshot-unix",
  "earshot-unix-lines",
  "earshot-grpc",
] as const;
export type Kind = (typeof KINDS)[number];

interface BenchServer {
  /** Where the listeners go: a port, or a socket's path. */
  readonly at: string;
  readonly token?: string;
  /** One event to everybody. */
  send(n: number): void;
}

const eventOf = (n: number): Record<string, unknown> => ({
  "@context": "https://aaep-protocol.org/context/v1",
  aaep_version: "1.0.0",
  type: "aaep:agent.tool.invoked",
  session_id: "sess_0123456789abcdef0123456789abcdef",
  timestamp: "2026-05-24T14:22:11.342Z",
  producer: { agent_id: "bench", agent_version: "1.0.0", agent_name: "Benchmark agent" },
  urgency: "normal",
  verbosity: "normal",
  localization_hints: { primary_language: "en", text_direction: "ltr" },
  tool: "fetch_balance",
  tool_call_id: `call_${n}`,
  summary_normal: `Checking the balance of account number ${n}, which takes a moment, because the bank is asked in person.`,
  args_summary: "account: checking-7821, currency: euro, as of: today, including pending transfers: yes",
});
const withId = (n: number) => ({ ...eventOf(n), event_id: `evt_${n}` });

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return String((server.address() as AddressInfo).port);
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const nothing: Handler = (_, response) => void response.end();

/** As its guide shows it, on WebSocket alone: an event is encoded once for all. */
async function socketIo(options: Partial<ServerOptions>): Promise<BenchServer> {
  const server = createServer(nothing);
  const io = new SocketIoServer(server, { transports: ["websocket"], ...options });
  return { at: await listen(server), send: (n) => void io.emit("aaep.event", withId(n)) };
}

/** Ours: handshake, log, delivery, and the way that is measured. */
async function earshot(way: "http" | "unix" | "grpc"): Promise<BenchServer> {
  const producer = createProducer({
    agent_id: "bench",
    hub: { maxSubscriptionsPerPrincipal: 100_000, maxSubscriptions: 100_000 },
  });
  const directory = mkdtempSync(join(tmpdir(), "bench-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const serving = await serve(producer, {
    port: 0,
    tokenFile: false,
    unix: way === "unix" && { directory },
    grpc: way === "grpc",
    limits: { connections: 100_000 },
    log: () => {},
  });
  const addresses = { http: String(serving.port), unix: serving.unix!, grpc: serving.grpc! };
  return { at: addresses[way], token: serving.token!, send: (n) => void hubOf(producer).append(eventOf(n)) };
}

export const SERVERS: Record<Kind, () => Promise<BenchServer>> = {
  /** Bytes that are ready, written to bare sockets: what Node and the system take at least, whoever asks them to. */
  async floor() {
    const sockets = new Set<Socket>();
    const server = createNetServer((socket) => {
      socket.setNoDelay(true).resume();
      sockets.add(socket);
    });
    return {
      at: await listen(server),
      send: (n) => {
        const bytes = Buffer.from(`${JSON.stringify(withId(n))}\n`);
        for (const socket of sockets) socket.write(bytes);
      },
    };
  },
  async ws() {
    const server = createServer(nothing);
    const sockets = new WebSocketServer({ server, perMessageDeflate: false });
    return {
      at: await listen(server),
      send: (n) => {
        const text = JSON.stringify(withId(n));
        for (const socket of sockets.clients) socket.send(text);
      },
    };
  },
  async "res-write"() {
    const responses = new Set<ServerResponse>();
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.flushHeaders();
      responses.add(response);
    });
    return {
      at: await listen(server),
      send: (n) => {
        const text = `event: aaep.event\nid: evt_${n}\ndata: ${JSON.stringify(withId(n))}\n\n`;
        for (const response of responses) response.write(text);
      },
    };
  },
  async "better-sse"() {
    const sessions = new Set<Awaited<ReturnType<typeof createSession>>>();
    const server = createServer((request, response) => {
      void createSession(request, response).then((session) => sessions.add(session));
    });
    return {
      at: await listen(server),
      send: (n) => {
        const event = withId(n);
        for (const session of sessions) session.push(event, "aaep.event", `evt_${n}`);
      },
    };
  },
  "socket-io": () => socketIo({}),
  /** With its own way to come back after a drop, which is nearer to what ours does. */
  "socket-io-recovery": () => socketIo({ connectionStateRecovery: {} }),
  "earshot-ws": () => earshot("http"),
  "earshot-sse": () => earshot("http"),
  "earshot-unix": () => earshot("unix"),
  "earshot-unix-lines": () => earshot("unix"),
  "earshot-grpc": () => earshot("grpc"),
};

/** How a tick's events come: one; ten, each in a callback of its own; ten in one go. */
export type Mode = "single" | "burst" | "joined";
export interface Go {
  readonly events: number;
  readonly mode: Mode;
  readonly from: number;
}

/** By the number of an event, when it was said, or when the last listener had it. */
export type Moments = Record<number, number>;

const BURST = 10;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function idle(): Promise<number> {
  // What a handshake leaves behind goes in several rounds: finalizers, then what they let go.
  for (let i = 0; i < 5; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await pause(40);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export async function serverProcess(kind: Kind): Promise<void> {
  const contender = await SERVERS[kind]();
  let said: Moments = {};
  const say = (n: number) => {
    said[n] = Date.now();
    contender.send(n);
  };
  const send = ({ events, mode, from }: Go, finished: Promise<void>) => {
    const tick = async (n: number) => {
      if (mode === "single") say(n);
      else {
        for (let i = 0; i < BURST; i++) {
          if (mode === "joined") say(n + i);
          else setImmediate(() => say(n + i));
        }
      }
      await pause(4);
    };
    return (async () => {
      const step = mode === "single" ? 1 : BURST;
      for (let n = 0; n < events; n += step) await tick(from + n);
      await finished;
    })();
  };
  process.on("message", async (message: { go?: Go; idle?: true; stop?: true }) => {
    if (message.idle) process.send!({ bytes: await idle() });
    if (message.stop) process.exit(0);
    if (!message.go) return;
    const finished = new Promise<void>((resolve) => process.once("message", () => resolve()));
    said = {};
    const start = process.cpuUsage();
    await send(message.go, finished);
    const { user, system } = process.cpuUsage(start);
    process.send!({ user, system, said });
  });
  process.send!({ ready: { at: contender.at, token: contender.token } });
}
