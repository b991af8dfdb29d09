/**
 * Deliveries per server CPU second over loopback: 1,000 subscribers in another process that parse and count everything,
 * 650-byte events that cannot be merged, through handshake, log and delivery, beside hand-written loops and libraries.
 *
 * All are up at the same time and take turns, and a ratio is the median of the rounds' ratios: whatever else the machine
 * is doing, it does to both. CPU time is the whole process's, the system's share included; that share (printed for each)
 * is the kernel's TCP, the same for everybody, and bounds what can be won by anything but writing less often. `floor`
 * shows how far: bytes that are ready, written to bare sockets at once. No server on Node that writes every event to
 * every socket on its own can be above `floor_vs_socketio`.
 *
 * Four ways for events to come. `single`: one at a time, the next 4 ms after saying it has returned. `alone`: the next
 * only once everybody has heard the last, so that no two can ever share a write. `burst`: ten a tick, each in a callback
 * of its own, as events that arrive from a model or a network do. `joined`: ten in one synchronous go, where Node's HTTP,
 * which corks until the callback is over, joins a bare loop's writes by itself. Each ratio has both sides in the same mode.
 *
 * For a thousand listeners 4 ms are too short to write to each, and there the sides differ in more than speed. Whoever
 * writes while it is told holds up the agent, which therefore says less in a second. Ours gathers: it rests after a round
 * of writes, 8 ms at most, unless an event is critical, and what was said meanwhile
 * goes out in one write. So most of what `single` shows is fewer writes, bought with a wait: `ms_until_all_have_heard` is
 * that wait. `alone` is the comparison of one write with one write.
 *
 * socket.io is as its guide shows it: `io.emit`, WebSocket only, which encodes an event once for all sockets.
 * `socketio_recovery` has its connection state recovery on, which is nearer to a listener that can come back.
 */
import { type ChildProcess, fork } from "node:child_process";
import { median, print } from "./_report.ts";
import { clientProcess } from "./_wire-clients.ts";
import { KINDS as ALL, type Go, type Kind, type Mode, type Moments, serverProcess } from "./_wire-servers.ts";

const CLIENTS = Number(process.env["WIRE_CLIENTS"] ?? 800);
const EVENTS = Number(process.env["WIRE_EVENTS"] ?? 80);
const BURSTS = Number(process.env["WIRE_BURSTS"] ?? 12);
const ROUNDS = Number(process.env["WIRE_ROUNDS"] ?? 5);
/** All of them unless some are named, e.g. WIRE_KINDS=earshot-ws WIRE_PROFILE=1. */
const KINDS: readonly Kind[] = process.env["WIRE_KINDS"]
  ? ALL.filter((kind) => process.env["WIRE_KINDS"]!.split(",").includes(kind))
  : ALL;
/** Connections that are there before memory is measured: the first ones pay for what all share. */
const EARLY = 200;
const ALONE = Number(process.env["WIRE_ALONE"] ?? 10);
const WAYS = ["single", "alone", "burst", "joined"] as const;
type Way = (typeof WAYS)[number];

const next = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A benchmark process ended with code ${code}.`));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message as T);
    });
  });

/** Microseconds of the server's CPU for one delivery, and how long people waited for it. */
interface Cost {
  readonly user: number;
  readonly system: number;
  /** Milliseconds from saying an event until the last listener had it, for each event. */
  readonly waits: readonly number[];
}

interface Contender {
  /** Bytes of memory per idle connection, in the heap and beside it. */
  readonly bytes: number;
  round(events: number, way: Way): Promise<Cost>;
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
  const { ready } = await next<{ ready: { at: string; token?: string } }>(server);
  const clients = start("client", ready.at, ready.token ?? "");
  await next(clients);
  const ask = <T>(child: ChildProcess, message: object): Promise<T> => {
    const answer = next<T>(child);
    child.send(message);
    return answer;
  };
  await ask(clients, { connect: EARLY });
  const { bytes: before } = await ask<{ bytes: number }>(server, { idle: true });
  await ask(clients, { connect: CLIENTS });
  const { bytes: after } = await ask<{ bytes: number }>(server, { idle: true });
  const everybody = EARLY + CLIENTS;
  let from = 1;
  const send = async (events: number, mode: Mode): Promise<Cost> => {
    // Nothing is sent before the listeners count: what came earlier would never be counted.
    await ask(clients, { want: events });
    const all = next<{ heard: Moments }>(clients);
    const go: Go = { events, mode, from };
    server.send({ go });
    from += events;
    const { heard } = await all;
    const { user, system, said } = await ask<{ user: number; system: number; said: Moments }>(server, {
      done: true,
    });
    return { user, system, waits: Object.entries(said).map(([n, at]) => heard[Number(n)]! - at) };
  };
  return {
    bytes: (after - before) / CLIENTS,
    async round(events, way) {
      let [user, system] = [0, 0];
      const waits: number[] = [];
      for (let sent = 0; sent < events; ) {
        const most = way === "alone" ? 1 : events;
        const cost = await send(most, way === "alone" ? "single" : way);
        user += cost.user;
        system += cost.system;
        waits.push(...cost.waits);
        sent += most;
      }
      return { user: user / (events * everybody), system: system / (events * everybody), waits };
    },
    async stop() {
      clients.kill();
      server.send({ stop: true });
      await new Promise((resolve) => server.once("exit", resolve));
    },
  };
}

type Result = Record<Way, Cost[]> & { readonly bytes: number };

async function measureAll(): Promise<Map<Kind, Result>> {
  const contenders = new Map<Kind, Contender>();
  for (const one of KINDS) contenders.set(one, await open(one));
  const results = new Map<Kind, Result>();
  for (const [one, { bytes, round }] of contenders) {
    results.set(one, { single: [], alone: [], burst: [], joined: [], bytes });
    await round(20, "single");
    await round(40, "burst");
  }
  for (let i = 0; i < ROUNDS; i++) {
    for (const way of WAYS) {
      const events = { single: EVENTS, alone: ALONE, burst: BURSTS * 10, joined: BURSTS * 10 }[way];
      for (const [one, { round }] of contenders) results.get(one)![way].push(await round(events, way));
    }
  }
  for (const { stop } of contenders.values()) await stop();
  return results;
}

const total = ({ user, system }: Cost): number => user + system;

function report(results: Map<Kind, Result>): void {
  const figures: Record<string, number> = { clients: EARLY + CLIENTS };
  for (const [one, result] of results) {
    const name = one.replaceAll("-", "_");
    for (const way of WAYS) {
      const marked = way === "single" ? name : `${name}_${way}`;
      figures[`${marked}_deliveries_per_cpu_second`] = 1e6 / median(result[way].map(total));
      if (way === "single" || way === "alone")
        figures[`${marked}_ms_until_all_have_heard`] = median(result[way].flatMap(({ waits }) => waits));
    }
    figures[`${name}_system_share`] = median(result.single.map((cost) => cost.system / total(cost)));
    figures[`${name}_bytes_per_idle_connection`] = result.bytes;
  }
  const ratio = (ours: Kind, theirs: Kind, way: Way = "single"): number => {
    const [mine = [], others = []] = [results.get(ours)?.[way], results.get(theirs)?.[way]];
    return median(mine.flatMap((cost, i) => (others[i] ? [total(others[i]) / total(cost)] : [])));
  };
  print(
    {
      name: "wire",
      figures,
      ratios: {
        ws_vs_ws: ratio("earshot-ws", "ws"),
        sse_vs_res_write: ratio("earshot-sse", "res-write"),
        sse_vs_better_sse: ratio("earshot-sse", "better-sse"),
        ws_vs_socketio: ratio("earshot-ws", "socket-io"),
        ws_vs_socketio_recovery: ratio("earshot-ws", "socket-io-recovery"),
        ws_alone_vs_ws: ratio("earshot-ws", "ws", "alone"),
        sse_alone_vs_res_write: ratio("earshot-sse", "res-write", "alone"),
        sse_alone_vs_better_sse: ratio("earshot-sse", "better-sse", "alone"),
        ws_alone_vs_socketio: ratio("earshot-ws", "socket-io", "alone"),
        floor_vs_socketio: ratio("floor", "socket-io"),
        floor_alone_vs_socketio: ratio("floor", "socket-io", "alone"),
        ws_burst_vs_ws: ratio("earshot-ws", "ws", "burst"),
        sse_burst_vs_res_write: ratio("earshot-sse", "res-write", "burst"),
        ws_joined_vs_ws: ratio("earshot-ws", "ws", "joined"),
        sse_joined_vs_res_write: ratio("earshot-sse", "res-write", "joined"),
        memory_vs_ws: (results.get("earshot-ws")?.bytes ?? NaN) / (results.get("ws")?.bytes ?? NaN),
        unix_vs_ws: ratio("earshot-unix", "earshot-ws"),
        unix_lines_vs_ws: ratio("earshot-unix-lines", "earshot-ws"),
        unix_burst_vs_ws: ratio("earshot-unix", "earshot-ws", "burst"),
        grpc_vs_ws: ratio("earshot-grpc", "earshot-ws"),
        grpc_burst_vs_ws: ratio("earshot-grpc", "earshot-ws", "burst"),
      },
    },
    {
      ws_vs_ws: "at least 1.0",
      sse_vs_res_write: "at least 1.0",
      sse_vs_better_sse: "at least 1.8",
      ws_vs_socketio: "at least 1.8",
      ws_alone_vs_ws: "at least 1.0",
      sse_alone_vs_res_write: "at least 1.0",
      ws_burst_vs_ws: "at least 3",
      sse_burst_vs_res_write: "at least 3",
      unix_vs_ws: "at least 1.0",
    },
  );
}

const [role, kind, at, token] = process.argv.slice(2);
// Nobody is left behind when the measuring side is stopped.
if (role) process.on("disconnect", () => process.exit());
if (role === "server") await serverProcess(kind as Kind);
else if (role === "client") await clientProcess(kind as Kind, at!, token ?? "");
else report(await measureAll());
