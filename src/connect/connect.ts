/** One address string, the right transport: http(s):// is SSE, ws(s):// is WebSocket. Each is loaded only when it is used. */
import { EarshotError } from "../protocol/errors.ts";
import type { ClientTransport } from "../subscriber/transport.ts";
import { type SubscribeOptions, Subscriber } from "../subscriber/subscriber.ts";
import type { Token, WebSocketLike } from "../transports/websocket/client.ts";

export interface ConnectOptions extends SubscribeOptions {
  /** A bearer token, or how to get one: a function is asked again for every connection (F18). */
  readonly token?: Token;
  readonly prefix?: string;
  /** A line that is silent for so long is taken for dead; three heartbeats by default. */
  readonly silence_ms?: number;
}

export async function transportFor(address: string, { token, prefix = "/aaep/v1", silence_ms }: ConnectOptions = {}): Promise<ClientTransport> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
  const credentials = { ...(token === undefined ? {} : { token }), ...(silence_ms === undefined ? {} : { silence_ms }) };
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
    default:
      throw new EarshotError("unknown_address", `"${address.slice(0, 80)}" is no address of an agent. Use http://, https://, ws:// or wss://.`);
  }
}

/** Browsers bring a WebSocket; under Node the ws package is used, which can send headers. */
async function webSocketFactory(): Promise<(url: string, protocol: string, headers: Readonly<Record<string, string>>) => WebSocketLike> {
  const inNode = typeof process === "object" && typeof process.versions?.node === "string";
  if (!inNode) return (url, protocol) => new WebSocket(url, protocol) as unknown as WebSocketLike;
  const { WebSocket: NodeWebSocket } = await import("ws");
  return (url, protocol, headers) => new NodeWebSocket(url, protocol, { headers, perMessageDeflate: false }) as unknown as WebSocketLike;
}

/** Subscribes at an address and resolves once the producer has accepted. */
export async function subscribe(address: string, options: ConnectOptions = {}): Promise<Subscriber> {
  const { token: _, prefix: __, silence_ms: ___, ...rest } = options;
  return new Subscriber(await transportFor(address, options), rest).connect();
}
