/**
 * A real server on loopback for one agent, and both ends of every connection to it: with them in hand a test can wait
 * until everything that was sent has arrived, instead of sleeping and hoping.
 */

import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createProducer, hubOf, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import type { Handled, Incoming } from "../../src/protocol/hub-port.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import { createHttpApp, type HttpApp, type ServeOptions } from "../../src/server/index.ts";

/** In these tests a credential is the principal itself, written down. */
export const bearerOf = (principal: Principal): string =>
  Buffer.from(JSON.stringify(principal)).toString("base64url");

export const byBearer: NonNullable<ServeOptions["auth"]> = ({ bearer }) => {
  try {
    return bearer === undefined
      ? undefined
      : (JSON.parse(Buffer.from(bearer, "base64url").toString()) as Principal);
  } catch {
    return undefined;
  }
};

export const LOCAL: Principal = { id: "local", role: "reply", audiences: "all" };

export interface Posted {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export class TestServer {
  readonly httpApp: HttpApp;
  readonly port: number;
  /** What the hub made of each message, in order: over WebSocket nobody else is told. */
  readonly handled: Handled[] = [];
  readonly #clients = new Set<Socket>();
  readonly #servers = new Set<Socket>();
  readonly #stop: () => Promise<unknown>;

  private constructor(httpApp: HttpApp, port: number, servers: Set<Socket>, stop: () => Promise<unknown>) {
    this.httpApp = httpApp;
    this.port = port;
    this.#servers = servers;
    this.#stop = stop;
  }

  static async open(agent: Producer, options: ServeOptions = {}): Promise<TestServer> {
    const httpApp = await createHttpApp(agent, { auth: byBearer, ...options });
    const servers = new Set<Socket>();
    const server = createServer((message, response) => httpApp.node(message, response));
    server.on("connection", (socket) => {
      servers.add(socket);
      socket.once("close", () => servers.delete(socket));
    });
    const websockets = httpApp.attachWebSocket(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    let stopped: Promise<unknown> | undefined;
    const opened = new TestServer(httpApp, (server.address() as AddressInfo).port, servers, () => {
      stopped ??= Promise.all([new Promise((resolve) => server.close(resolve)), websockets.close()]);
      return stopped;
    });
    const handle = hubOf(agent).handle.bind(hubOf(agent));
    hubOf(agent).handle = async (message: Incoming, ...rest) => {
      const handled = await handle(message, ...rest);
      opened.handled.push(handled);
      return handled;
    };
    return opened;
  }

  /** In memory, a session that has ended has been heard to end; stories told for that world expect no less here. */
  hearTheEnd(agent: Producer): void {
    const heard = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } finally {
        await this.settle();
      }
    };
    const { start, run } = agent;
    const patient = agent as { -readonly [Name in keyof Producer]: Producer[Name] };
    patient.run = (...given) => heard(run(...given));
    patient.start = (...given) => {
      const session = start(...given);
      for (const end of ["complete", "fail", "cancel"] as const) {
        const call = session[end].bind(session) as (...given: unknown[]) => Promise<void>;
        session[end] = (...how: unknown[]) => heard(call(...how));
      }
      return session;
    };
  }

  get http(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  dial(): Socket {
    const socket = connect({ port: this.port, host: "127.0.0.1", noDelay: true });
    this.#clients.add(socket);
    socket.once("close", () => this.#clients.delete(socket));
    socket.on("error", () => {});
    return socket;
  }

  /** Connections the server holds. */
  get held(): number {
    return this.#servers.size;
  }

  /** The most bytes that wait for one connection on the server. */
  get mostWaiting(): number {
    return Math.max(0, ...[...this.#servers].map(({ writableLength }) => writableLength));
  }

  /** Every line drops, without a word. */
  cutAll(): void {
    for (const socket of this.#servers) socket.destroy();
  }

  /** Every byte that was sent has been read, on both sides, and every connection is known to both. */
  get quiet(): boolean {
    const unmatched = new Set(this.#servers);
    for (const client of this.#clients) {
      const server = [...this.#servers].find(({ remotePort }) => remotePort === client.localPort);
      if (!server || client.connecting) return false;
      unmatched.delete(server);
      if (client.bytesRead !== server.bytesWritten || server.bytesRead !== client.bytesWritten) return false;
    }
    return unmatched.size === 0;
  }

  /** Until nothing moves any more. What is read may cause more to be said, so it must be quiet twice. */
  async settle(turn: () => Promise<void> = oneTurn): Promise<void> {
    for (let calm = 0; calm < 2; calm = this.quiet ? calm + 1 : 0) await turn();
  }

  post(
    path: string,
    message: unknown,
    principal: Principal = LOCAL,
    headers: Record<string, string> = {},
  ): Promise<Posted> {
    const body = typeof message === "string" ? message : JSON.stringify(message);
    return new Promise((resolve, reject) => {
      const call = request(
        {
          createConnection: () => this.dial(),
          host: `127.0.0.1:${this.port}`,
          path: `/aaep/v1${path}`,
          method: "POST",
          headers: {
            host: `127.0.0.1:${this.port}`,
            connection: "close",
            "content-type": "application/json",
            authorization: `Bearer ${bearerOf(principal)}`,
            ...headers,
          },
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("end", () =>
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              body: Buffer.concat(parts).toString(),
            }),
          );
        },
      );
      call.on("error", reject).end(body);
    });
  }

  /** Opens a stream and resolves with its headers; the socket is what to destroy, pause or watch. */
  stream(
    subscription_id: string,
    principal: Principal = LOCAL,
    headers: Record<string, string> = {},
  ): Promise<{ response: IncomingMessage; socket: Socket }> {
    const socket = this.dial();
    return new Promise((resolve, reject) => {
      const call = request(
        {
          createConnection: () => socket,
          path: `/aaep/v1/events?subscription_id=${subscription_id}`,
          headers: {
            host: `127.0.0.1:${this.port}`,
            accept: "text/event-stream",
            "cache-control": "no-cache",
            authorization: `Bearer ${bearerOf(principal)}`,
            ...headers,
          },
        },
        (response) => resolve({ response, socket }),
      );
      call.on("error", reject).end();
    });
  }

  /** Takes nobody new, and waits until everybody has gone. */
  async stop(): Promise<void> {
    await this.#stop();
  }

  async close(): Promise<void> {
    for (const socket of [...this.#clients, ...this.#servers]) socket.destroy();
    await this.#stop();
  }
}

const oneTurn = async () => {
  for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
};

const servers: TestServer[] = [];

/** Closes what `open` opened. */
export async function closeAll(): Promise<void> {
  for (const server of servers.splice(0)) await server.close();
}

/** One agent on a real server, closed by `closeAll`. */
export async function open(
  producer: Partial<ProducerOptions> = {},
  site: ServeOptions = {},
): Promise<{ agent: Producer; server: TestServer }> {
  const agent = createProducer({ agent_id: "com.example.planner", warn: () => {}, ...producer });
  const server = await TestServer.open(agent, site);
  servers.push(server);
  return { agent, server };
}
