/**
 * The transcripts of docs/wire.md, from real runs: a real agent, a real socket or pair of pipes, and a listener that
 * writes and reads bytes. Clock, ids and randomness are fixed, so that the same run gives the same page.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import * as grpc from "@grpc/grpc-js";
import { WebSocket } from "ws";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../src/framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../src/framing/ndjson.ts";
import { createProducer, type Producer } from "../../src/producer/producer.ts";
import { serveGrpc } from "../../src/server/grpc/grpc.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";
import { serve } from "../../src/server/serve.ts";
import { serveStdio } from "../../src/server/stdio/stdio.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { asBytes, SUBSCRIBE_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson, encodeAaepMessage, readFields } from "../../src/transports/grpc/protobuf.ts";
import { BEHAVIOURS } from "./behaviours.ts";
import { TRANSPORTS } from "./transports.ts";

const REQUEST = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "org.example.narrator",
  capabilities: { supports_confirmation_reply: true, supported_conformance_levels: [1, 2, 3] },
};

/** One listener's line, whatever carries it: text goes out, text comes in. */
interface Ends {
  write(bytes: Uint8Array): void;
  read(take: (chunk: Uint8Array) => void): void;
  close(): Promise<void>;
}

interface Kind {
  readonly title: string;
  readonly notes: string;
  open(agent: Producer): Promise<Ends>;
  encode(json: string, method: string): Uint8Array;
  /** Complete messages as the page shows them. */
  decoder(): (chunk: Uint8Array) => string[];
  /** How bytes that were sent are shown. */
  show(bytes: Uint8Array): string;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const hex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

async function overSocket(agent: Producer): Promise<Ends> {
  const directory = mkdtempSync(join(tmpdir(), "wire-"));
  const serving = await serveIpc(agent, { directory, log: () => {} });
  const socket = await new Promise<Socket>((resolve) => {
    const one = connect(serving.path, () => resolve(one));
  });
  return {
    write: (bytes) => void socket.write(bytes),
    read: (take) => void socket.on("data", take),
    async close() {
      socket.destroy();
      await serving.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function overPipes(agent: Producer): Promise<Ends> {
  const [there, back] = [new PassThrough(), new PassThrough()];
  serveStdio(agent, { input: there, output: back, log: () => {} });
  return {
    write: (bytes) => void there.write(bytes),
    read: (take) => void back.on("data", take),
    close: async () => void there.end(),
  };
}

async function overWebSocket(agent: Producer): Promise<Ends> {
  const serving = await serve(agent, { port: 0, tokenFile: false, log: () => {} });
  const socket = new WebSocket(serving.ws, "aaep.v1", {
    headers: { authorization: `Bearer ${serving.token}` },
  });
  await new Promise((resolve) => socket.on("open", resolve));
  return {
    write: (bytes) => socket.send(decode(bytes)),
    read: (take) => void socket.on("message", (data: Buffer) => take(data)),
    async close() {
      socket.terminate();
      await serving.close();
    },
  };
}

/** Calls go out, and the stream that the first of them opens comes in. */
async function overSse(agent: Producer): Promise<Ends> {
  const serving = await serve(agent, { port: 0, tokenFile: false, log: () => {} });
  const headers = { authorization: `Bearer ${serving.token}`, "content-type": "application/json" };
  const abort = new AbortController();
  const encoder = new TextEncoder();
  let take: (chunk: Uint8Array) => void = () => {};
  const call = async (body: string) => {
    const first = body.includes('"subscription.request"');
    const answer = await fetch(`${serving.http}/aaep/v1/${first ? "subscriptions" : "replies"}`, {
      method: "POST",
      headers,
      body,
    });
    if (!first) return;
    const text = await answer.text();
    take(encoder.encode(`${answer.status} ${answer.statusText}\n${text}`));
    const { subscription_id } = JSON.parse(text);
    const stream = await fetch(`${serving.http}/aaep/v1/events?subscription_id=${subscription_id}`, {
      headers,
      signal: abort.signal,
    });
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) take(chunk);
  };
  return {
    write: (bytes) => void call(decode(bytes)).catch(() => undefined),
    read: (reader) => {
      take = reader;
    },
    async close() {
      abort.abort();
      await serving.close();
    },
  };
}

/** An event's lines belong together; comments keep the line open and are no part of the story. */
function sseBlocks(): (chunk: Uint8Array) => string[] {
  let rest = "";
  return (chunk) => {
    if (/^\d{3} /.test(decode(chunk.subarray(0, 4)))) return [decode(chunk)];
    const blocks = (rest + decode(chunk)).split("\n\n");
    rest = blocks.pop()!;
    return blocks.filter((block) => /^data:/m.test(block));
  };
}

/** The end of a call is a status with trailers, and comes in like a message here. */
async function overGrpc(agent: Producer): Promise<Ends> {
  const serving = await serveGrpc(agent, { port: 0, log: () => {} });
  const client = new grpc.Client(`127.0.0.1:${serving.port}`, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${serving.token}`);
  const call = client.makeBidiStreamRequest(SUBSCRIBE_PATH, asBytes, asBytes, metadata);
  call.on("error", () => {});
  return {
    write: (bytes) => void call.write(Buffer.from(bytes)),
    read(take) {
      call.on("data", take);
      call.on("status", ({ code, metadata: trailers }) =>
        take(
          new TextEncoder().encode(
            `status ${grpc.status[code]}, aaep-close-reason: ${trailers.get("aaep-close-reason").join()}`,
          ),
        ),
      );
    },
    async close() {
      client.close();
      await serving.close();
    },
  };
}

/** Both fields of an AaepMessage. */
const withType = (bytes: Uint8Array): string =>
  `message_type: ${decode(readFields(bytes)?.get(2) ?? new Uint8Array())}\njson: ${decode(decodeJson(bytes)!)}`;

const withPrefix = (json: string): string => `[${hex(encodeLengthPrefix(json).subarray(0, 4))}] ${json}`;
let rpcId = 0;

export const KINDS: readonly Kind[] = [
  {
    title: "HTTP with server-sent events",
    notes:
      "Every call carries `Authorization: Bearer <token>`. After the acceptance, the listener opens `GET /aaep/v1/events?subscription_id=<subscription_id>` to receive events. Each reply is answered with 204.",
    open: overSse,
    encode: (json) => new TextEncoder().encode(json),
    decoder: sseBlocks,
    show(bytes) {
      const json = decode(bytes);
      return `POST /aaep/v1/${json.includes('"subscription.request"') ? "subscriptions" : "replies"}\n${json}`;
    },
  },
  {
    title: "WebSocket",
    notes:
      "At `/aaep/v1/ws`, subprotocol `aaep.v1`, with `Authorization: Bearer <token>`. Each message is one text frame.",
    open: overWebSocket,
    encode: (json) => new TextEncoder().encode(json),
    decoder: () => (chunk) => [decode(chunk)],
    show: decode,
  },
  {
    title: "Unix socket or named pipe, length prefix",
    notes: "The four bytes before each message are shown in brackets, as hex.",
    open: overSocket,
    encode: encodeLengthPrefix,
    decoder: () => {
      const decoder = createLengthPrefixDecoder();
      return (chunk) => decoder.feed(chunk).map((bytes) => withPrefix(decode(bytes)));
    },
    show: (bytes) => withPrefix(decode(bytes.subarray(4))),
  },
  {
    title: "Unix socket or named pipe, lines",
    notes: "Each message is one line, terminated by LF.",
    open: overSocket,
    encode: encodeLine,
    decoder: () => {
      const decoder = createLineDecoder();
      return (chunk) => decoder.feed(chunk).map(decode);
    },
    show: (bytes) => decode(bytes).trimEnd(),
  },
  {
    title: "stdio JSON-RPC",
    notes: "The listener's lines go to the agent's stdin; the agent's come from its stdout.",
    open: overPipes,
    encode: (json, method) =>
      encodeLine(
        method === "aaep.subscribe"
          ? `{"jsonrpc":"2.0","id":${++rpcId},"method":"${method}","params":${json}}`
          : `{"jsonrpc":"2.0","method":"${method}","params":${json}}`,
      ),
    decoder: () => {
      const decoder = createLineDecoder();
      return (chunk) => decoder.feed(chunk).map(decode);
    },
    show: (bytes) => decode(bytes).trimEnd(),
  },
  {
    title: "gRPC",
    notes:
      "`aaep.v1.AaepService/Subscribe` of `proto/aaep/v1/aaep.proto`, with `authorization: Bearer <token>` in the metadata. Each message is one `AaepMessage`. Its `json` is authoritative; `message_type` repeats the type.",
    open: overGrpc,
    encode: (json) => encodeAaepMessage(json, (JSON.parse(json) as { type: string }).type),
    decoder: () => (chunk) => [/^status /.test(decode(chunk)) ? decode(chunk) : withType(chunk)],
    show: withType,
  },
];

const marked = (mark: string, text: string): string => text.replaceAll(/^/gm, `${mark} `);

/** A short session: a question, a yes, a sentence, and the listener's close. `>` is the listener, `<` the agent. */
export async function transcript(kind: Kind): Promise<string> {
  rpcId = 0;
  const clock = createFakeClock("2026-01-01T12:00:00.000Z");
  let count = 0;
  const random = (length: number) => {
    const bytes = new Uint8Array(length);
    new DataView(bytes.buffer).setUint32(Math.max(0, length - 4), ++count);
    return bytes;
  };
  const agent = createProducer({
    agent_id: "com.example.bank",
    agent_name: "Bank",
    clock,
    random,
    warn: () => {},
  });
  const ends = await kind.open(agent);
  const lines: string[] = [];
  const heard: string[] = [];
  const unframe = kind.decoder();
  ends.read((chunk) => {
    for (const text of unframe(chunk)) {
      heard.push(text);
      lines.push(marked("<", text));
    }
  });
  const say = (message: object, method = "aaep.reply") => {
    const bytes = kind.encode(JSON.stringify(message), method);
    lines.push(marked(">", kind.show(bytes)));
    ends.write(bytes);
  };
  const settle = async (text: string) => {
    for (let i = 0; i < 10_000 && !heard.at(-1)?.includes(text); i++)
      await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const find = (name: string): string => new RegExp(`"${name}":"([^"]+)"`).exec(heard.join("\n"))![1]!;

  say(REQUEST, "aaep.subscribe");
  await settle("subscription.accepted");
  const work = agent.run({ summary: "Moving money." }, async (session) => {
    const sent = await session.tool(
      {
        tool: "transfer_funds",
        summary: "Transferring 500 dollars to savings.",
        risk: "high",
        irreversible: true,
        params: { amount: 500, to: "savings" },
        action: (p) => `Transfer ${p.amount} dollars to ${p.to}.`,
        consequence: "The money moves at once and cannot be called back.",
      },
      () => "moved",
    );
    await session.say(sent.ran ? "Done. Your savings have grown." : "Nothing was moved.");
  });
  await settle("awaiting.confirmation");
  await clock.advance(4_000);
  const subscription_id = find("subscription_id");
  say({
    type: "confirmation.reply",
    reply_token: find("reply_token"),
    decision: "accept",
    subscription_id,
    timestamp: clock.timestamp(),
  });
  await work;
  await settle("session.completed");
  say({ type: "subscription.close", subscription_id, reason_code: "subscriber_shutdown" }, "aaep.close");
  await settle("never");
  await ends.close();
  return `### ${kind.title}\n\n${kind.notes}\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`;
}

const BEGIN =
  "<!-- transcripts: made by scripts/transcripts.mjs, checked by test/transports/wire.test.ts -->";
const END = "<!-- /transcripts -->";

const TABLE_BEGIN =
  "<!-- behaviours: made by scripts/transcripts.mjs, each tested by test/transports/behaviours.test.ts -->";
const TABLE_END = "<!-- /behaviours -->";

/** Every transport times every behaviour; where one is otherwise, how. */
function behaviours(): string {
  const row = (...cells: string[]) => `| ${cells.join(" | ")} |`;
  return [
    row("", ...TRANSPORTS.map(({ name }) => name)),
    row("---", ...TRANSPORTS.map(() => "---")),
    ...BEHAVIOURS.map(({ says, not, but }) =>
      row(says, ...TRANSPORTS.map(({ key }) => not?.[key] ?? but?.[key] ?? "yes")),
    ),
  ].join("\n");
}

const between = (page: string, begin: string, end: string, made: string): string => {
  const [before, rest] = page.split(begin);
  const [, after] = rest!.split(end);
  return `${before}${begin}\n\n${made}\n\n${end}${after}`;
};

/** The page with its table and transcripts made anew. */
export async function renew(page: string): Promise<string> {
  const made: string[] = [];
  for (const kind of KINDS) made.push((await transcript(kind)).trimEnd());
  return between(between(page, TABLE_BEGIN, TABLE_END, behaviours()), BEGIN, END, made.join("\n\n"));
}
