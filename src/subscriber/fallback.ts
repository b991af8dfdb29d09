/** Several ways to one agent (TRN-14): the next is tried where one cannot be opened; the handshake simply happens again there. */
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { ProducerManifest } from "../protocol/types.ts";
import type { ClientTransport } from "../transports/client-connection.ts";

/** The ways a manifest names, best first, as addresses. `base` is where the manifest was fetched, for those over HTTP. */
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

/** What worked last is tried first: a person should not wait for the same failure twice. */
export function withFallback(transports: readonly [ClientTransport, ...ClientTransport[]]): ClientTransport {
  let order = [...transports];
  return {
    get name() {
      return order[0]!.name;
    },
    async open(request, resume, events) {
      let failure: unknown;
      for (const transport of order) {
        try {
          const line = await transport.open(request, resume, events);
          order = [transport, ...order.filter((one) => one !== transport)];
          return line;
        } catch (error) {
          // A refusal of these credentials here says nothing about the next door.
          failure = error;
        }
      }
      throw failure;
    },
  };
}
