/**
 * Behind the proxies people have (F19): nginx and haproxy from Debian, with what they do by default, then with idle
 * timeouts so short that every quiet moment is cut. Run as children with a configuration of their own, on loopback.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createProducer, type Producer } from "../../src/producer/producer.ts";
import { serve } from "../../src/server/index.ts";
import { type ConfirmationAsk, type Subscriber, subscribe } from "../../src/subscriber/index.ts";
import { EventsOf } from "./events.ts";
import { findProgram, type Program, start } from "./programs.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Neither program says when it listens: its port does. */
async function reachable(port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

interface Proxy {
  readonly program: Program;
  /** With `idle_seconds`, lines that are quiet for longer are cut; without, the program's own default holds. */
  config(
    directory: string,
    port: number,
    agent: number,
    idle_seconds: number | undefined,
  ): { file: string; text: string };
  args(directory: string, file: string): string[];
}

const nginx: Proxy = {
  program: findProgram("nginx", "nginx-light"),
  config: (directory, port, agent, idle) => ({
    file: join(directory, "nginx.conf"),
    text: `
      daemon off;
      worker_processes 1;
      pid ${directory}/nginx.pid;
      events { worker_connections 256; }
      http {
        access_log off;
        ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${directory}/${name};`).join(" ")}
        ${idle === undefined ? "" : `proxy_read_timeout ${idle}s;`}
        server {
          listen 127.0.0.1:${port};
          location / { proxy_pass http://127.0.0.1:${agent}; }
          location /aaep/v1/ws {
            # What nginx needs for any WebSocket.
            proxy_pass http://127.0.0.1:${agent};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
          }
        }
      }`,
  }),
  args: (directory, file) => ["-p", directory, "-c", file, "-e", join(directory, "error.log")],
};

const haproxy: Proxy = {
  program: findProgram("haproxy", "haproxy"),
  config: (directory, port, agent, idle) => ({
    file: join(directory, "haproxy.cfg"),
    text: `
defaults
  mode http
  timeout connect 5000
  timeout client ${idle === undefined ? 50_000 : idle * 1000}
  timeout server ${idle === undefined ? 50_000 : idle * 1000}
frontend front
  bind 127.0.0.1:${port}
  default_backend agent
backend agent
  server agent 127.0.0.1:${agent}
`,
  }),
  args: (_, file) => ["-db", "-q", "-f", file],
};

async function behind(
  { program, config, args }: Proxy,
  options: { idle_seconds?: number; heartbeatMs?: number } = {},
) {
  const agent = createProducer({ agent_id: "com.example.teller", warn: () => {} });
  const served = await serve(agent, {
    port: 0,
    tokenFile: false,
    log: () => {},
    limits: { heartbeatMs: options.heartbeatMs ?? 15_000 },
  });
  cleanups.push(() => served.close());
  const directory = mkdtempSync(join(tmpdir(), "earshot-proxy-"));
  mkdirSync(join(directory, "logs"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const { file, text } = config(directory, port, served.port, options.idle_seconds);
  writeFileSync(file, text);
  const running = start(program.path, args(directory, file));
  cleanups.push(() => running.stop());
  await Promise.race([
    reachable(port),
    running.exit.then((code) => {
      throw new Error(`${program.path} ended with ${code} before it listened.`);
    }),
  ]);
  return { agent, token: served.token!, port };
}

async function listenAt(
  address: string,
  token: string,
): Promise<{ sub: Subscriber; heard: EventsOf; lines: string[] }> {
  const sub = await subscribe(address, { token, coalesce_boundaries: ["none"], random: () => 0 });
  cleanups.push(() => sub.close());
  const lines: string[] = [];
  sub.on("connection", ({ state }) => lines.push(state));
  return { sub, heard: new EventsOf(sub), lines };
}

/** Raises a question and answers it; says how long it took to arrive. */
async function ask(agent: Producer, sub: Subscriber): Promise<number> {
  let at = 0;
  const question = new Promise<ConfirmationAsk>((resolve) => {
    const off = sub.on("confirmation", (asked) => {
      at = performance.now();
      off();
      resolve(asked);
    });
  });
  const since = performance.now();
  const outcome = agent.run({ summary: "Saving." }, (session) =>
    session.confirm({ action: "Move 5 dollars.", consequence: "They move." }),
  );
  await (await question).accept();
  expect(await outcome).toMatchObject({ accepted: true });
  return at - since;
}

const address = {
  sse: (port: number) => `http://127.0.0.1:${port}`,
  websocket: (port: number) => `ws://127.0.0.1:${port}`,
};

for (const [name, proxy] of Object.entries({ nginx, haproxy })) {
  describe.skipIf(proxy.program.skip)(`behind ${name}${proxy.program.note}`, () => {
    describe.each(["sse", "websocket"] as const)("over %s", (transport) => {
      it("as it comes, a question reaches a quiet listener within a second, and its answer comes back (F19)", async () => {
        const { agent, token, port } = await behind(proxy);
        const { sub, heard, lines } = await listenAt(address[transport](port), token);
        // Small and alone: nothing behind it pushes it out of a buffer.
        await agent.run({ summary: "Short." }, (session) => session.say("One word. "));
        await heard.untilType("aaep:agent.session.completed");
        expect(heard.text).toBe("One word. ");
        expect(await ask(agent, sub)).toBeLessThan(1_000);
        expect(lines).toEqual([]);
      });

      it("with an idle timeout shorter than the quiet, it is cut, comes back, and nothing is missing (F19)", async () => {
        const { agent, token, port } = await behind(proxy, { idle_seconds: 1 });
        const { sub, heard, lines } = await listenAt(address[transport](port), token);
        const gaps: unknown[] = [];
        sub.on("gap", (gap) => gaps.push(gap));
        const session = agent.start({ summary: "Reading." });
        await session.say("Before. ");
        await heard.until(() => heard.text.startsWith("Before."));
        await new Promise<void>((resolve) =>
          sub.on("connection", ({ state }) => void (state === "lost" && resolve())),
        );
        await session.say("After. ");
        await session.complete();
        await heard.untilType("aaep:agent.session.completed");
        expect(heard.text).toBe("Before. After. ");
        expect(gaps).toEqual([]);
        expect(lines.slice(0, 2)).toEqual(["lost", "connected"]);
        expect(await ask(agent, sub)).toBeLessThan(1_500);
      });

      it("with heartbeats more frequent than the timeout, it is never cut (F19)", async () => {
        const { agent, token, port } = await behind(proxy, { idle_seconds: 2, heartbeatMs: 300 });
        const { sub, lines } = await listenAt(address[transport](port), token);
        // Seconds of the proxy, so they pass in real time; a stall of this process may last longer than a heartbeat.
        await new Promise((resolve) => setTimeout(resolve, 2_600));
        expect(await ask(agent, sub)).toBeLessThan(1_000);
        expect(lines).toEqual([]);
      });
    });
  });
}
