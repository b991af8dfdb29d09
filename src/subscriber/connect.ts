/**
 * Selects the transport for an address: http(s):// is SSE, ws(s):// is WebSocket, grpc(s):// is gRPC, unix:<path> a
 * socket on this machine, pipe:<name> a Windows pipe, stdio:<command> a program to start, stdio:- the process that
 * started us. Each transport is loaded only when it is used.
 */

import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { ProducerManifest } from "../protocol/types.ts";
import type { ClientTransport } from "../transports/client-connection.ts";
import type { GrpcClientTls } from "../transports/grpc/client.ts";
import type { Token, WebSocketLike } from "../transports/websocket/client.ts";
import type { KnownOptions } from "./known-producers.ts";
import { type SubscribeOptions, Subscriber } from "./subscriber.ts";
import type { TrustOptions } from "./trust.ts";

export interface ConnectOptions extends SubscribeOptions {
  /** A bearer token, or a function that is called before every connection (F18). */
  readonly token?: Token;
  readonly prefix?: string;
  /** A connection that is silent for this long is treated as half-open; three heartbeats by default. */
  readonly silenceMs?: number;
  /** For grpcs://, in PEM: your own certificate authority, and your certificate where the agent asks for one. */
  readonly tls?: GrpcClientTls;
  /** Keys trusted for this agent: its manifest must be signed with one of them, on every connection (MAN-08). */
  readonly trust?: TrustOptions;
  /** The known agents: the person is asked about a new one before it is heard; a revoked one is refused. */
  readonly known?: KnownOptions;
}

/** The transport for an address. With `trust` or `known` it refuses agents that are not trusted. */
export async function transportFor(address: string, options: ConnectOptions = {}): Promise<ClientTransport> {
  const { trust, known } = options;
  if (options.accept_signed_manifests_only && !trust) {
    throw new EarshotError(
      "untrusted",
      "Give `trust: { keys }` as well: a signature without trusted keys proves nothing.",
    );
  }
  const transport = await plainTransport(address, options);
  if (!trust && !known) return transport;
  // Loaded only when used: checking signatures needs a library.
  const { keyIdOf, requireKnown, requireSigned } = await import("./trust.ts");
  const trusted = trust ? requireSigned(transport, trust) : transport;
  return known ? requireKnown(trusted, address, trust ? { kidOf: keyIdOf, ...known } : known) : trusted;
}

async function plainTransport(
  address: string,
  { token, prefix = "/aaep/v1", silenceMs, tls }: ConnectOptions = {},
): Promise<ClientTransport> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
  const credentials = {
    ...(token === undefined ? {} : { token }),
    ...(silenceMs === undefined ? {} : { silenceMs }),
  };
  switch (scheme) {
    case "http":
    case "https": {
      const { createSseClient } = await import("../transports/sse/client.ts");
      return createSseClient({ url: address, prefix, ...credentials });
    }
    case "ws":
    case "wss": {
      const { createWebSocketClient } = await import("../transports/websocket/client.ts");
      const url = new URL(address);
      if (url.pathname === "/") url.pathname = `${prefix}/ws`;
      return createWebSocketClient({ url: url.href, create: await webSocketFactory(), ...credentials });
    }
    case "unix":
    case "pipe": {
      const { createIpcClient } = await import("../transports/ipc/client.ts");
      return createIpcClient({ path: socketPath(address) });
    }
    case "stdio": {
      const { createStdioClient, ownPipes } = await import("../transports/stdio/client.ts");
      const command = address.slice("stdio:".length);
      // A dash means our own stdin and stdout: the agent started us.
      return createStdioClient(command === "-" ? { pipes: ownPipes } : { command: splitCommand(command) });
    }
    case "grpc":
    case "grpcs": {
      const { createGrpcClient } = await import("../transports/grpc/client.ts");
      return createGrpcClient({ url: address, ...credentials, ...(tls === undefined ? {} : { tls }) });
    }
    default:
      throw new EarshotError(
        "unknown_address",
        `"${address.slice(0, 80)}" is not the address of an agent. Use http://, https://, ws://, wss://, grpc://, grpcs://, unix:<path>, pipe:<name> or stdio:<command>.`,
      );
  }
}

/** The browser's own WebSocket; under Node the ws package, which can send headers. */
async function webSocketFactory(): Promise<
  (url: string, protocol: string, headers: Readonly<Record<string, string>>) => WebSocketLike
> {
  const inNode = typeof process === "object" && typeof process.versions?.node === "string";
  if (!inNode) return (url, protocol) => new WebSocket(url, protocol) as unknown as WebSocketLike;
  const { WebSocket: NodeWebSocket } = await import("ws");
  return (url, protocol, headers) =>
    new NodeWebSocket(url, protocol, { headers, perMessageDeflate: false }) as unknown as WebSocketLike;
}

/** Subscribes at an address, or at the first of several that can be reached, and resolves once the producer has accepted. */
export async function subscribe(
  address: string | readonly [string, ...string[]],
  options: ConnectOptions = {},
): Promise<Subscriber> {
  const { token, prefix, silenceMs, tls, trust, known, ...rest } = options;
  const [first, ...others] = typeof address === "string" ? [address] : address;
  const transport = await transportFor(first, options);
  if (others.length === 0) return new Subscriber(transport, rest).connect();
  const more = await Promise.all(others.map((one) => transportFor(one, options)));
  return new Subscriber(withFallback([transport, ...more]), rest).connect();
}

/** The addresses a manifest lists, best first. `base` is where the manifest was fetched, for those over HTTP. */
export function addressesIn(manifest: ProducerManifest, base?: string): string[] {
  const own = (manifest[EXTENSION_PREFIX] ?? {}) as Record<"socket" | "websocket" | "grpc_port", unknown>;
  return manifest.transports_supported.flatMap((name) => {
    if (name === "unix-socket" && typeof own.socket === "string") return [`unix:${own.socket}`];
    if (name === "named-pipe" && typeof own.socket === "string") return [`pipe:${own.socket}`];
    if (base === undefined || !/^https?:/.test(base)) return [];
    if (name === "sse") return [new URL(base).origin];
    if (name === "websocket" && typeof own.websocket === "string")
      return [new URL(own.websocket, base).href.replace(/^http/, "ws")];
    if (name === "grpc" && Number.isInteger(own.grpc_port)) {
      const { protocol, hostname } = new URL(base);
      return [`${protocol === "https:" ? "grpcs" : "grpc"}://${hostname}:${own.grpc_port}`];
    }
    return [];
  });
}

/** Tries several transports to one agent in turn (TRN-14), starting with the one that worked last. Each does its own handshake. */
function withFallback(transports: readonly [ClientTransport, ...ClientTransport[]]): ClientTransport {
  let order = [...transports];
  return {
    get name() {
      return order[0]!.name;
    },
    async open(request, resume, events) {
      let failure: unknown;
      for (const transport of order) {
        try {
          const connection = await transport.open(request, resume, events);
          order = [transport, ...order.filter((one) => one !== transport)];
          return connection;
        } catch (error) {
          // The next transport may accept the credentials that this one refused.
          failure = error;
        }
      }
      throw failure;
    },
  };
}

const PIPES = "\\\\.\\pipe\\aaep\\";

/** The path in `unix:/run/…/planner.sock` or `unix:///run/…`; the name in `pipe:planner`, or a pipe's full name. */
export function socketPath(address: string): string {
  const path = address.slice(address.indexOf(":") + 1);
  if (path === "")
    throw new EarshotError(
      "unknown_address",
      `"${address}" has no path. Write unix:/path/to/agent.sock or pipe:planner.`,
    );
  if (/^unix:/i.test(address)) return path.replace(/^\/\/(?=\/)/, "");
  return /^\\\\[.?]\\pipe\\/i.test(path) ? path : `${PIPES}${path}`;
}

/** Splits a command into words and quoted strings. Nothing is expanded and no shell is involved: an address is data. */
export function splitCommand(text: string): [string, ...string[]] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && (text[i + 1] === '"' || text[i + 1] === "\\"))
        word += text[++i]!;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "")
    throw new EarshotError(
      "unknown_address",
      `A quotation mark (${quote}) in "stdio:${text.slice(0, 80)}" is not closed.`,
    );
  if (word !== undefined) words.push(word);
  const [program, ...args] = words;
  if (!program)
    throw new EarshotError("unknown_address", "stdio: needs a command, such as stdio:node agent.mjs.");
  return [program, ...args];
}
