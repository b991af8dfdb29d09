/** Each transport as bytes: what a peer nobody here wrote would send and see, for tests that must see it too. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Decoder } from "../../src/framing/bytes.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../src/framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../src/framing/ndjson.ts";
import type { Producer } from "../../src/producer/producer.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";
import { serveStdio } from "../../src/server/stdio/stdio.ts";

// biome-ignore lint/suspicious/noExplicitAny: whatever came
export type Heard = any;

export interface Raw {
  /** Everything heard, as AAEP messages, and as the text it came in. */
  readonly heard: Heard[];
  readonly texts: string[];
  readonly closed: boolean;
  /** Why it closed, where that is not a message but the transport's own: a close code, a status. */
  readonly reason?: string | undefined;
  send(message: object): void;
  /** A message as text, for what JSON.stringify would never write. */
  text(json: string, method?: string): void;
  bytes(bytes: Uint8Array): void;
  drop(): void;
  pause(): void;
  resume(): void;
}

export interface Limits {
  readonly queueBytes?: number;
  readonly blockedMs?: number;
}

export interface Transport {
  readonly name: string;
  /** One word for it. */
  readonly key: string;
  /** Whether a subscription may come back on another connection. */
  readonly outlived: boolean;
  serve(agent: Producer, limits?: Limits): Promise<{ connect(): Promise<Raw>; close(): Promise<void> }>;
}

const METHODS: Record<string, string> = {
  "subscription.request": "aaep.subscribe",
  "subscription.renegotiate": "aaep.renegotiate",
  "subscription.close": "aaep.close",
};

const unwrap = (json: string, rpc: boolean): Heard => {
  const value = JSON.parse(json);
  return rpc ? (value.params ?? value.result ?? value.error) : value;
};

function overSocket(
  name: string,
  key: string,
  encode: (text: string) => Uint8Array,
  createDecoder: () => Decoder,
): Transport {
  return {
    name,
    key,
    outlived: true,
    async serve(agent, limits = {}) {
      const directory = mkdtempSync(join(tmpdir(), "desk-"));
      const serving = await serveIpc(agent, { directory, limits, log: () => {} });
      return {
        connect: () =>
          new Promise((resolve, reject) => {
            const socket = connect(serving.path);
            const decoder = createDecoder();
            const raw = {
              heard: [] as Heard[],
              texts: [] as string[],
              closed: false,
              send: (message: object) => void socket.write(encode(JSON.stringify(message))),
              text: (json: string) => void socket.write(encode(json)),
              bytes: (bytes: Uint8Array) => void socket.write(bytes),
              drop: () => void socket.destroy(),
              pause: () => void socket.pause(),
              resume: () => void socket.resume(),
            };
            socket.on("data", (chunk) => {
              for (const bytes of decoder.feed(chunk)) {
                const text = Buffer.from(bytes).toString("utf8");
                raw.texts.push(text);
                raw.heard.push(JSON.parse(text));
              }
            });
            socket.on("close", () => {
              raw.closed = true;
            });
            socket.on("error", reject);
            socket.on("connect", () => resolve(raw));
          }),
        async close() {
          await serving.close();
          rmSync(directory, { recursive: true, force: true });
        },
      };
    },
  };
}

const overStdio: Transport = {
  name: "stdio",
  key: "stdio",
  outlived: false,
  async serve(agent, limits = {}) {
    const all: { close(): Promise<void> }[] = [];
    return {
      async connect() {
        const [there, back] = [new PassThrough(), new PassThrough()];
        all.push(serveStdio(agent, { input: there, output: back, limits, log: () => {} }));
        const decoder = createLineDecoder(2_000_000);
        let id = 0;
        const wrap = (json: string, method: string) => {
          const asked = method === "aaep.subscribe" || method === "aaep.renegotiate";
          there.write(
            encodeLine(
              `{"jsonrpc":"2.0",${asked ? `"id":${++id},` : ""}"method":"${method}","params":${json}}`,
            ),
          );
        };
        const raw = {
          heard: [] as Heard[],
          texts: [] as string[],
          closed: false,
          send: (message: object) =>
            wrap(JSON.stringify(message), METHODS[(message as { type: string }).type] ?? "aaep.reply"),
          text: (json: string, method = "aaep.reply") => wrap(json, method),
          bytes: (bytes: Uint8Array) => void there.write(bytes),
          drop: () => void there.end(),
          pause: () => void back.pause(),
          resume: () => void back.resume(),
        };
        back.on("data", (chunk) => {
          for (const bytes of decoder.feed(chunk)) {
            const line = Buffer.from(bytes).toString("utf8");
            raw.texts.push(line.replace(/^\{"jsonrpc":"2\.0","method":"[a-z.]+","params":(.*)\}$/s, "$1"));
            raw.heard.push(unwrap(line, true));
          }
        });
        back.on("end", () => {
          raw.closed = true;
        });
        return raw;
      },
      async close() {
        for (const one of all) await one.close();
      },
    };
  },
};

export const RAW_TRANSPORTS: readonly Transport[] = [
  overSocket("unix socket, length prefix", "unix", encodeLengthPrefix, createLengthPrefixDecoder),
  overSocket("unix socket, lines", "unix-lines", encodeLine, createLineDecoder),
  overStdio,
];

/** Waits for something to become true; the limit is for the case that it never does. */
export async function until(
  condition: () => boolean,
  what = "what was expected",
  ms = 10_000,
): Promise<void> {
  for (const limit = Date.now() + ms; !condition(); ) {
    if (Date.now() > limit) throw new Error(`In vain: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export const REQUEST = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "raw",
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_conformance_levels: [1, 2, 3],
  },
};

export const RESUMABLE = {
  ...REQUEST,
  capabilities: {
    ...REQUEST.capabilities,
    supported_extensions: ["urn:earshot:aaep:v1"],
    earshot: { resume: true },
  },
};
