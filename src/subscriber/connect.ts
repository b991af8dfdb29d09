/**
 * One address string, the right transport: http(s):// is SSE, ws(s):// is WebSocket, grpc(s):// is gRPC, unix:<path> a
 * socket on this machine, pipe:<name> a Windows pipe, stdio:<command> a program to start, stdio:- the one that started
 * us. Each is loaded only when it is used.
 */

import { EarshotError } from "../protocol/errors.ts";
import type { ClientTransport } from "../transports/client-connection.ts";
import type { GrpcClientTls } from "../transports/grpc/client.ts";
import type { Token, WebSocketLike } from "../transports/websocket/client.ts";
import { placeOf, splitCommand } from "./address.ts";
import { withFallback } from "./fallback.ts";
import { type SubscribeOptions, Subscriber } from "./subscriber.ts";
import type { TrustOptions } from "./trust.ts";
import type { KnownOptions } from "./trust-store.ts";

export interface ConnectOptions extends SubscribeOptions {
  /** A bearer token, or how to get one: a function is asked again for every connection (F18). */
  readonly token?: Token;
  readonly prefix?: string;
  /** A line that is silent for so long is taken for dead; three heartbeats by default. */
  readonly silenceMs?: number;
  /** For grpcs://, in PEM: an authority of your own, and your certificate where the agent asks for one. */
  readonly tls?: GrpcClientTls;
  /** Keys this agent is known by: its manifest must be signed with one of them, on every connection (MAN-08). */
  readonly trust?: TrustOptions;
  /** The agents you have met: a new one is asked about before a word of it is heard, a revoked one is refused. */
  readonly known?: KnownOptions;
}

/** The transport for an address; where `trust` is given, one that refuses an agent it does not know. */
export async function transportFor(address: string, options: ConnectOptions = {}): Promise<ClientTransport> {
  const { trust, known } = options;
  if (options.accept_signed_manifests_only && !trust) {
    throw new EarshotError(
      "untrusted",
      "Give `trust: { keys }` as well: without keys a signature proves nothing.",
    );
  }
  const transport = await plainTransport(address, options);
  if (!trust && !known) return transport;
  // Loaded only when used: checking signatures costs a library.
  const { keyIdOf, knownOnly, trusting } = await import("./trust.ts");
  const trusted = trust ? trusting(transport, trust) : transport;
  return known ? knownOnly(trusted, address, trust ? { kidOf: keyIdOf, ...known } : known) : trusted;
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
      return createIpcClient({ path: placeOf(address) });
    }
    case "stdio": {
      const { createStdioClient, ownPipes } = await import("../transports/stdio/client.ts");
      const command = address.slice("stdio:".length);
      // As elsewhere, a dash is our own stdin and stdout: the agent has started us.
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
        `"${address.slice(0, 80)}" is no address of an agent. Use http://, https://, ws://, wss://, grpc://, grpcs://, unix:<path>, pipe:<name> or stdio:<command>.`,
      );
  }
}

/** Browsers bring a WebSocket; under Node the ws package is used, which can send headers. */
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
