/** The transports of the network as bytes, beside those of the desk: the columns of the table of behaviours. */
import { type IncomingMessage, request } from "node:http";
import * as grpc from "@grpc/grpc-js";
import { createParser } from "eventsource-parser";
import { WebSocket } from "ws";
import { serveGrpc } from "../../src/server/grpc/grpc.ts";
import { type Serving, serve } from "../../src/server/serve.ts";
import { SUBSCRIBE_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson, encodeAaepMessage } from "../../src/transports/grpc/protobuf.ts";
import { closeOf } from "../../src/transports/websocket/client.ts";
import { type Heard, RAW_TRANSPORTS, type Raw, type Transport } from "./raw.ts";

/** What came, kept as it came. */
class Kept {
  readonly heard: Heard[] = [];
  readonly texts: string[] = [];
  closed = false;
  reason: string | undefined;
  take(text: string): void {
    this.texts.push(text);
    this.heard.push(JSON.parse(text));
  }
}

function onServer(name: string, key: string, connect: (serving: Serving) => Promise<Raw>): Transport {
  return {
    name,
    key,
    outlived: true,
    async serve(agent, limits = {}) {
      const serving = await serve(agent, { port: 0, tokenFile: false, limits, log: () => {} });
      return { connect: () => connect(serving), close: () => serving.close() };
    },
  };
}

const overWebSocket = onServer("websocket", "websocket", async ({ ws, token }) => {
  const kept = new Kept();
  const socket = new WebSocket(ws, "aaep.v1", { headers: { authorization: `Bearer ${token}` } });
  socket.on("message", (data) => kept.take(String(data)));
  socket.on("close", (code, sentence) => {
    kept.closed = true;
    kept.reason = closeOf(code, String(sentence)).code;
  });
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  return Object.assign(kept, {
    send: (message: object) => socket.send(JSON.stringify(message)),
    text: (json: string) => socket.send(json),
    bytes: (bytes: Uint8Array) => socket.send(bytes),
    drop: () => socket.terminate(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  });
});

const overSse = onServer("sse", "sse", async ({ http, token }) => {
  const kept = new Kept();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  let stream: IncomingMessage | undefined;
  const listen = (location: string, answer: string) =>
    new Promise<void>((resolve, reject) => {
      request(`${http}${location}`, { headers, agent: false }, (response) => {
        stream = response;
        // Only now is the listener there.
        kept.take(answer);
        const parser = createParser({
          onEvent: ({ data }) => {
            const closing = /^\{"type":"earshot:closing","reason_code":"(\w+)"/.exec(data);
            if (closing) kept.reason = closing[1];
            else kept.take(data);
          },
        });
        response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
        response.on("error", () => {});
        response.on("close", () => {
          kept.closed = true;
        });
        resolve();
      })
        .on("error", reject)
        .end();
    });
  const call = async (body: string) => {
    const first = body.includes('"subscription.request"');
    const path = first ? "subscriptions" : "replies";
    const answer = await fetch(`${http}/aaep/v1/${path}`, { method: "POST", headers, body });
    const text = await answer.text();
    if (first && answer.status === 201) return listen(answer.headers.get("location")!, text);
    if (text.startsWith('{"type":')) kept.take(text);
    kept.closed ||= first;
  };
  /** One call after another, as they were made. */
  let last: Promise<unknown> = Promise.resolve();
  const text = (json: string) => {
    last = last.then(() => call(json)).catch(() => undefined);
  };
  return Object.assign(kept, {
    send: (message: object) => text(JSON.stringify(message)),
    text,
    bytes: () => {
      throw new Error("Over HTTP there are no bytes but calls.");
    },
    drop: () => stream?.destroy(),
    pause: () => stream?.pause(),
    resume: () => stream?.resume(),
  });
});

const asIs = (bytes: Buffer): Buffer => bytes;

const overGrpc: Transport = {
  name: "grpc",
  key: "grpc",
  outlived: true,
  async serve(agent, limits = {}) {
    const serving = await serveGrpc(agent, { port: 0, limits, log: () => {} });
    return {
      close: () => serving.close(),
      async connect() {
        const kept = new Kept();
        const client = new grpc.Client(`127.0.0.1:${serving.port}`, grpc.credentials.createInsecure(), {
          "grpc.use_local_subchannel_pool": 1,
        });
        const metadata = new grpc.Metadata();
        metadata.set("authorization", `Bearer ${serving.token}`);
        const line = client.makeBidiStreamRequest(SUBSCRIBE_PATH, asIs, asIs, metadata);
        line.on("data", (bytes: Buffer) => kept.take(Buffer.from(decodeJson(bytes)!).toString()));
        line.on("error", () => {});
        line.on("status", ({ code, metadata: trailers }) => {
          kept.closed = true;
          const own = trailers.get("aaep-close-reason")[0];
          kept.reason = String(own ?? (code === grpc.status.RESOURCE_EXHAUSTED ? "too_large" : code));
          client.close();
        });
        const text = (json: string) => void line.write(encodeAaepMessage(json, ""));
        return Object.assign(kept, {
          send: (message: object) => text(JSON.stringify(message)),
          text,
          bytes: (bytes: Uint8Array) => void line.write(Buffer.from(bytes)),
          drop: () => line.cancel(),
          pause: () => line.pause(),
          resume: () => line.resume(),
        });
      },
    };
  },
};

export const TRANSPORTS: readonly Transport[] = [overSse, overWebSocket, ...RAW_TRANSPORTS, overGrpc];
