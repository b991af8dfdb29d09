/**
 * Deliveries per server CPU second over loopback: 1,000 subscribers in another process that parse and count everything,
 * 650-byte events that cannot be merged, through handshake, log and delivery, beside hand-written loops and libraries.
 *
 * All are up at the same time and take turns, and a ratio is the median of the rounds' ratios: whatever else the machine
 * is doing, it does to both. `x_burst_vs_y` holds ours, given ten events a tick, against the other's one write per event;
 * `x_burst_vs_y_burst` gives the other the same ten, which Node's HTTP then joins in one system call by itself.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession } from "better-sse";
import { createParser } from "eventsource-parser";
import { Server as SocketIoServer } from "socket.io";
import { io } from "socket.io-client";
import { WebSocket, WebSocketServer } from "ws";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../src/framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../src/framing/ndjson.ts";
import { createProducer } from "../src/index.ts";
import { serve, serveIpc } from "../src/node/index.ts";
import { median, print } from "./_report.ts";

const CLIENTS = Number(process.env["WIRE_CLIENTS"] ?? 800);
const SINGLE = Number(process.env["WIRE_EVENTS"] ?? 80);
const BURSTS = Number(process.env["WIRE_BURSTS"] ?? 15);
const ROUNDS = Number(process.env["WIRE_ROUNDS"] ?? 5);
const ALL = [
  "ws",
  "earshot-ws",
  "res-write",
  "earshot-sse",
  "better-sse",
  "socket-io",
  "earshot-unix",
  "earshot-unix-lines",
] as const;
type Kind = (typeof ALL)[number];
/** All of them unless some are named, e.g. WIRE_KINDS=earshot-ws WIRE_PROFILE=1. */
const KINDS: readonly Kind[] = process.env["WIRE_KINDS"]
  ? ALL.filter((kind) => process.env["WIRE_KINDS"]!.split(",").includes(kind))
  : ALL;
/** Connections that are there before memory is measured: the first ones pay for what all share. */
const EARLY = 200;

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

// ── the server's side, in a process of its own ───────────────────────────────────────────────────────────────────

interface Hall {
  port: number;
  token?: string;
  /** One event to everybody. */
  send(n: number): void;
  /** After a tick's events. */
  flush?(): void;
}

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

const HALLS: Record<Kind, () => Promise<Hall>> = {
  async ws() {
    const { server, port } = await listen((_, response) => response.end());
    const sockets = new WebSocketServer({ server, perMessageDeflate: false });
    return {
      port,
      send: (n) => {
        const text = JSON.stringify({ ...eventOf(n), event_id: `evt_${n}` });
        for (const socket of sockets.clients) socket.send(text);
      },
    };
  },
  async "res-write"() {
    const responses = new Set<ServerResponse>();
    const { port } = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.flushHeaders();
      responses.add(response);
    });
    return {
      port,
      send: (n) => {
        const text = `event: aaep.event\nid: evt_${n}\ndata: ${JSON.stringify({ ...eventOf(n), event_id: `evt_${n}` })}\n\n`;
        for (const response of responses) response.write(text);
      },
    };
  },
  async "better-sse"() {
    const sessions = new Set<Awaited<ReturnType<typeof createSession>>>();
    const { port } = await listen((request, response) => {
      void createSession(request, response).then((session) => sessions.add(session));
    });
    return {
      port,
      send: (n) => {
        const event = { ...eventOf(n), event_id: `evt_${n}` };
        for (const session of sessions) session.push(event, "aaep.event", `evt_${n}`);
      },
    };
  },
  async "socket-io"() {
    const { server, port } = await listen((_, response) => response.end());
    const hall = new SocketIoServer(server, { transports: ["websocket"] });
    return { port, send: (n) => void hall.emit("aaep.event", { ...eventOf(n), event_id: `evt_${n}` }) };
  },
  "earshot-ws": earshot,
  "earshot-sse": earshot,
  "earshot-unix": onSocket,
  "earshot-unix-lines": onSocket,
};

/** Its path travels where the others have their token. */
async function onSocket(): Promise<Hall> {
  const producer = createProducer({
    agent_id: "bench",
    hub: { max_subscriptions_per_principal: 100_000, max_subscriptions: 100_000 },
  });
  const directory = mkdtempSync(join(tmpdir(), "bench-"));
  const { path } = await serveIpc(producer, { directory, limits: { connections: 100_000 } });
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  return { port: 0, token: path, send: (n) => void producer.hub.append(eventOf(n)) };
}

async function earshot(): Promise<Hall> {
  const producer = createProducer({
    agent_id: "bench",
    hub: { max_subscriptions_per_principal: 100_000, max_subscriptions: 100_000 },
  });
  const served = await serve(producer, { port: 0, token_file: false });
  return { port: served.port, token: served.token!, send: (n) => void producer.hub.append(eventOf(n)) };
}

async function serverProcess(kind: Kind): Promise<void> {
  const hall = await HALLS[kind]();
  const idle = async () => {
    // What a handshake leaves behind goes in several rounds: finalizers, then what they let go.
    for (let i = 0; i < 5; i++) {
      (globalThis as { gc?: () => void }).gc?.();
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    return process.memoryUsage().rss;
  };
  process.send!({ ready: { port: hall.port, token: hall.token } });
  const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 4));
  process.on(
    "message",
    async (message: { go?: { events: number; burst: number; from: number }; idle?: true; stop?: true }) => {
      if (message.idle) process.send!({ rss: await idle() });
      if (message.stop) process.exit(0);
      if (!message.go) return;
      const { events, burst, from } = message.go;
      const start = process.cpuUsage();
      const finished = new Promise<void>((resolve) => process.once("message", () => resolve()));
      for (let n = 0; n < events; n += burst) {
        for (let i = 0; i < burst; i++) hall.send(from + n + i);
        await tick();
      }
      await finished;
      const { user, system } = process.cpuUsage(start);
      process.send!({ cpu: user + system });
    },
  );
}

// ── the listeners' side ──────────────────────────────────────────────────────────────────────────────────────────

async function clientProcess(kind: Kind, port: number, token: string | undefined): Promise<void> {
  let heard = 0;
  let wanted = Infinity;
  const count = (text: string | object) => {
    const event = typeof text === "string" ? JSON.parse(text) : text;
    if (event.tool_call_id === undefined) return;
    if (++heard >= wanted) {
      wanted = Infinity;
      process.send!({ heard: true });
    }
  };
  const ask = {
    type: "subscription.request",
    aaep_version: "1.0.0",
    subscriber_id: "bench",
    capabilities: {},
  };
  const authorization: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const stream = (path: string) =>
    new Promise<void>((resolve, reject) => {
      const call = request(
        { host: "127.0.0.1", port, path, headers: { accept: "text/event-stream", ...authorization } },
        (response) => {
          const parser = createParser({
            onEvent: ({ event, data }) => event === "aaep.event" && count(data),
          });
          response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
          resolve();
        },
      );
      call.on("error", reject).end();
    });
  const open: Record<Kind, () => Promise<unknown>> = {
    ws: () => socket(`ws://127.0.0.1:${port}`, []),
    "earshot-ws": () => socket(`ws://127.0.0.1:${port}/aaep/v1/ws`, ["aaep.v1"], JSON.stringify(ask)),
    "res-write": () => stream("/"),
    "better-sse": () => stream("/"),
    "earshot-sse": async () => {
      const response = await fetch(`http://127.0.0.1:${port}/aaep/v1/subscriptions`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json" },
        body: JSON.stringify(ask),
      });
      await stream(response.headers.get("location")!);
    },
    "earshot-unix": () => unix(encodeLengthPrefix, createLengthPrefixDecoder()),
    "earshot-unix-lines": () => unix(encodeLine, createLineDecoder()),
    "socket-io": () =>
      new Promise<void>((resolve) => {
        const client = io(`http://127.0.0.1:${port}`, { transports: ["websocket"], forceNew: true });
        client.on("connect", () => resolve());
        client.on("aaep.event", count);
      }),
  };
  function unix(
    encode: (text: string) => Uint8Array,
    decoder: ReturnType<typeof createLineDecoder>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const client = connect(token!, () => client.write(encode(JSON.stringify(ask))));
      client.on("error", reject);
      client.on("data", (chunk) => {
        // Answered: a Unix socket lets only so many wait at its door.
        resolve();
        for (const bytes of decoder.feed(chunk))
          count(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
      });
    });
  }
  function socket(url: string, protocols: string[], first?: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const client = new WebSocket(url, protocols, { headers: authorization, perMessageDeflate: false });
      client.on("message", (data) => count(String(data)));
      client.on("error", reject);
      client.on("open", () => {
        if (first) client.send(first);
        resolve();
      });
    });
  }
  process.on("message", async (message: { connect?: number; want?: number }) => {
    for (let i = 0; i < (message.connect ?? 0); i += 50) {
      await Promise.all(Array.from({ length: Math.min(50, message.connect! - i) }, () => open[kind]()));
    }
    // The last handshakes have been answered, not only sent.
    if (message.connect) await new Promise((resolve) => setTimeout(resolve, 300));
    heard = 0;
    wanted = message.want ?? Infinity;
    process.send!({ ready: true });
  });
  process.send!({ started: true });
}

// ── the measuring side ───────────────────────────────────────────────────────────────────────────────────────────

const next = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A benchmark process ended with code ${code}.`));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message as T);
    });
  });

interface Contender {
  /** Bytes of memory per idle connection. */
  readonly rss: number;
  /** Deliveries per CPU second of the server. */
  round(events: number, burst: number): Promise<number>;
  stop(): Promise<void>;
}

async function open(kind: Kind): Promise<Contender> {
  const start = (role: string, ...rest: string[]) =>
    fork(process.argv[1]!, [role, kind, ...rest], {
      execArgv: [
        "--expose-gc",
        ...(role === "server" && process.env["WIRE_PROFILE"]
          ? ["--cpu-prof", `--cpu-prof-name=${kind}.cpuprofile`]
          : []),
      ],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
  const server = start("server");
  const { ready } = await next<{ ready: { port: number; token?: string } }>(server);
  const clients = start("client", String(ready.port), ready.token ?? "");
  await next(clients);
  const ask = <T>(child: ChildProcess, message: object): Promise<T> => {
    const answer = next<T>(child);
    child.send(message);
    return answer;
  };
  await ask(clients, { connect: EARLY });
  const { rss: before } = await ask<{ rss: number }>(server, { idle: true });
  await ask(clients, { connect: CLIENTS });
  const { rss: after } = await ask<{ rss: number }>(server, { idle: true });
  const everybody = EARLY + CLIENTS;
  let from = 1;
  return {
    rss: (after - before) / CLIENTS,
    async round(events, burst) {
      // Nothing is sent before the listeners count: what came earlier would never be counted.
      await ask(clients, { want: events * everybody });
      const heard = next(clients);
      server.send({ go: { events, burst, from } });
      from += events;
      await heard;
      const { cpu } = await ask<{ cpu: number }>(server, { done: true });
      return (events * everybody * 1e6) / cpu;
    },
    async stop() {
      clients.kill();
      server.send({ stop: true });
      await new Promise((resolve) => server.once("exit", resolve));
    },
  };
}

interface Result {
  readonly single: number[];
  readonly burst: number[];
  readonly rss: number;
}

async function measureAll(): Promise<Record<Kind, Result>> {
  const contenders = new Map<Kind, Contender>();
  for (const one of KINDS) contenders.set(one, await open(one));
  const results = {} as Record<Kind, Result>;
  for (const [one, { rss, round }] of contenders) {
    results[one] = { single: [], burst: [], rss };
    await round(20, 1);
    await round(40, 10);
  }
  for (let i = 0; i < ROUNDS; i++) {
    for (const [one, { round }] of contenders) results[one].single.push(await round(SINGLE, 1));
    for (const [one, { round }] of contenders) results[one].burst.push(await round(BURSTS * 10, 10));
  }
  for (const { stop } of contenders.values()) await stop();
  return results;
}

const [role, kind, port, token] = process.argv.slice(2);
// Nobody is left behind when the measuring side is stopped.
if (role) process.on("disconnect", () => process.exit());
if (role === "server") await serverProcess(kind as Kind);
else if (role === "client") await clientProcess(kind as Kind, Number(port), token || undefined);
else {
  const results = await measureAll();
  const figures: Record<string, number> = { clients: EARLY + CLIENTS };
  for (const one of KINDS) {
    const name = one.replaceAll("-", "_");
    figures[`${name}_deliveries_per_cpu_second`] = median([...results[one].single]);
    figures[`${name}_burst_deliveries_per_cpu_second`] = median([...results[one].burst]);
    figures[`${name}_bytes_per_idle_connection`] = results[one].rss;
  }
  const ratio = (ours: Kind, theirs: Kind, figure: "single" | "burst", other = figure) => {
    const [mine = [], yours = []] = [results[ours]?.[figure], results[theirs]?.[other]];
    return median(mine.map((value, i) => value / (yours[i] ?? NaN))) ?? NaN;
  };
  print(
    {
      name: "wire",
      figures,
      ratios: {
        ws_vs_ws: ratio("earshot-ws", "ws", "single"),
        sse_vs_res_write: ratio("earshot-sse", "res-write", "single"),
        sse_vs_better_sse: ratio("earshot-sse", "better-sse", "single"),
        ws_vs_socketio: ratio("earshot-ws", "socket-io", "single"),
        ws_burst_vs_ws: ratio("earshot-ws", "ws", "burst", "single"),
        sse_burst_vs_res_write: ratio("earshot-sse", "res-write", "burst", "single"),
        ws_burst_vs_ws_burst: ratio("earshot-ws", "ws", "burst"),
        sse_burst_vs_res_write_burst: ratio("earshot-sse", "res-write", "burst"),
        memory_vs_ws: (results["earshot-ws"]?.rss ?? NaN) / (results.ws?.rss ?? NaN),
        unix_vs_ws: ratio("earshot-unix", "earshot-ws", "single"),
        unix_lines_vs_ws: ratio("earshot-unix-lines", "earshot-ws", "single"),
        unix_burst_vs_ws_burst: ratio("earshot-unix", "earshot-ws", "burst"),
      },
    },
    {
      ws_vs_ws: "at least 1.0",
      sse_vs_res_write: "at least 1.0",
      sse_vs_better_sse: "at least 1.8",
      ws_vs_socketio: "at least 1.8",
      ws_burst_vs_ws: "at least 3",
      sse_burst_vs_res_write: "at least 3",
      unix_vs_ws: "at least 1.0",
    },
  );
}
