/** The listeners' side of the wire benchmark: a crowd in one process that parses and counts everything. */
import { request } from "node:http";
import { connect, type NetConnectOpts } from "node:net";
import * as grpc from "@grpc/grpc-js";
import { createParser } from "eventsource-parser";
import { io } from "socket.io-client";
import { WebSocket } from "ws";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../src/framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../src/framing/ndjson.ts";
import { decodeJson, encodeAaepMessage } from "../src/transports/grpc/protobuf.ts";
import type { Kind, Moments } from "./_wire-servers.ts";

const ASK = JSON.stringify({
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "bench",
  capabilities: {},
});
const asText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

/** How one listener of each kind comes in; it resolves once it is there. */
function openers(at: string, token: string, count: (text: string | object) => void) {
  const authorization = { authorization: `Bearer ${token}` };
  const stream = (path: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { accept: "text/event-stream", ...authorization };
      const call = request({ host: "127.0.0.1", port: Number(at), path, headers }, (response) => {
        const parser = createParser({ onEvent: ({ event, data }) => event === "aaep.event" && count(data) });
        response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
        resolve();
      });
      call.on("error", reject).end();
    });
  const bytes = (
    where: NetConnectOpts,
    decoder: ReturnType<typeof createLineDecoder>,
    first?: Uint8Array,
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      const client = connect(where, () => (first ? client.write(first) : resolve()));
      client.on("error", reject);
      client.on("data", (chunk) => {
        // Answered: a Unix socket lets only so many wait at its door.
        resolve();
        for (const message of decoder.feed(chunk)) count(asText(message));
      });
    });
  const socket = (path: string, protocols: string[], first?: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const client = new WebSocket(`ws://127.0.0.1:${at}${path}`, protocols, {
        headers: authorization,
        perMessageDeflate: false,
      });
      client.on("message", (data) => count(String(data)));
      client.on("error", reject);
      client.on("open", () => {
        if (first) client.send(first);
        resolve();
      });
    });
  const socketIo = () =>
    new Promise<void>((resolve) => {
      const client = io(`http://127.0.0.1:${at}`, { transports: ["websocket"], forceNew: true });
      client.on("connect", () => resolve());
      client.on("aaep.event", count);
    });
  const same = (given: Buffer): Buffer => given;
  /** A connection for each, as listeners on different desks have. */
  const call = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const client = new grpc.Client(`dns:${new URL(at).host}`, grpc.credentials.createInsecure(), {
        "grpc.use_local_subchannel_pool": 1,
      });
      const metadata = new grpc.Metadata();
      metadata.set("authorization", authorization.authorization);
      const line = client.makeBidiStreamRequest("/aaep.v1.AaepService/Subscribe", same, same, metadata);
      line.on("error", reject);
      line.on("data", (message: Buffer) => {
        resolve();
        count(asText(decodeJson(message)!));
      });
      line.write(Buffer.from(encodeAaepMessage(ASK, "subscription.request")));
    });
  const path = at.replace(/^unix:/, "");
  return {
    floor: () => bytes({ port: Number(at), host: "127.0.0.1" }, createLineDecoder()),
    ws: () => socket("/", []),
    "earshot-ws": () => socket("/aaep/v1/ws", ["aaep.v1"], ASK),
    "res-write": () => stream("/"),
    "better-sse": () => stream("/"),
    "earshot-sse": async () => {
      const response = await fetch(`http://127.0.0.1:${at}/aaep/v1/subscriptions`, {
        method: "POST",
        headers: { ...authorization, "content-type": "application/json" },
        body: ASK,
      });
      await response.text();
      await stream(response.headers.get("location")!);
    },
    "earshot-unix": () => bytes({ path }, createLengthPrefixDecoder(), encodeLengthPrefix(ASK)),
    "earshot-unix-lines": () => bytes({ path }, createLineDecoder(), encodeLine(ASK)),
    "earshot-grpc": call,
    "socket-io": socketIo,
    "socket-io-recovery": socketIo,
  } satisfies Record<Kind, () => Promise<unknown>>;
}

export async function clientProcess(kind: Kind, at: string, token: string): Promise<void> {
  let listeners = 0;
  let wanted = Infinity;
  let ears = new Map<string, number>();
  let heard: Moments = {};
  const open = openers(at, token, (text) => {
    const event = typeof text === "string" ? JSON.parse(text) : text;
    const call: string | undefined = event.tool_call_id;
    if (call === undefined) return;
    const count = (ears.get(call) ?? 0) + 1;
    ears.set(call, count);
    if (count < listeners) return;
    heard[Number(call.slice("call_".length))] = Date.now();
    if (--wanted === 0) process.send!({ heard });
  })[kind];
  process.on("message", async (message: { connect?: number; want?: number }) => {
    for (let i = 0; i < (message.connect ?? 0); i += 50) {
      await Promise.all(Array.from({ length: Math.min(50, message.connect! - i) }, () => open()));
    }
    // The last handshakes have been answered, not only sent.
    if (message.connect) await new Promise((resolve) => setTimeout(resolve, 300));
    listeners += message.connect ?? 0;
    ears = new Map();
    heard = {};
    wanted = message.want ?? Infinity;
    process.send!({ ready: true });
  });
  process.send!({ started: true });
}
