/**
 * The gRPC client. HTTP/2 pings detect half-open connections; resuming needs our extension, without it a new
 * connection is a new subscription (GRPC-05).
 */
import { isUtf8 } from "node:buffer";
import type { ServiceError } from "@grpc/grpc-js";
import { EarshotError } from "../../protocol/errors.ts";
import {
  type ClientTransport,
  openConnection,
  SILENCE_MS,
  type Token,
  tokenOf,
  withResume,
} from "../client-connection.ts";
import { asBytes, type Grpc, loadGrpc, SUBSCRIBE_PATH } from "./library.ts";
import { decodeJson, encodeAaepMessage } from "./protobuf.ts";
import { closeOf } from "./status.ts";

/** In PEM. Without `ca`, the certificate authorities of this machine are trusted. */
export interface GrpcClientTls {
  readonly ca?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  readonly cert?: string | Uint8Array;
}

interface GrpcClientOptions {
  /** grpc://127.0.0.1:4601 on this machine, grpcs://agent.example.com:4601 elsewhere. */
  readonly url: string;
  readonly token?: Token;
  readonly tls?: GrpcClientTls;
  /** A connection on which pings stay unanswered for this long is closed as half-open (F15). */
  readonly silenceMs?: number;
  /** How long one stream may last, half a day by default; the subscription then continues on a new one. */
  readonly deadlineMs?: number;
}

const DEFAULT_PORT = "4601";
const HALF_A_DAY = 12 * 3_600_000;
/** Above the limit of a message: the subscriber reports one that is too large, and the connection stays open. */
const MESSAGE_BYTES = 4 * 1_048_576;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

function targetOf(url: string): { target: string; secure: boolean; local: boolean } {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "grpcs:";
  const local = LOOPBACK.test(hostname);
  if (!secure && !local) {
    throw new EarshotError(
      "unsafe_address",
      `${hostname} is another machine and grpc:// is not encrypted. Use grpcs:// (TRN-11).`,
    );
  }
  return { target: `dns:${hostname}:${port || DEFAULT_PORT}`, secure, local };
}

export function createGrpcClient(options: GrpcClientOptions): ClientTransport {
  const { url, token, silenceMs = SILENCE_MS, deadlineMs = HALF_A_DAY } = options;
  const target = targetOf(url);
  return {
    name: "grpc",
    async open(request, resume, events) {
      const grpc = await loadGrpc();
      const credential = await tokenOf(token);
      const metadata = new grpc.Metadata();
      if (credential !== undefined) metadata.set("authorization", `Bearer ${credential}`);
      const channel = openChannel(grpc, target, options.tls, silenceMs);
      const call = channel.makeBidiStreamRequest(SUBSCRIBE_PATH, asBytes, asBytes, metadata, {
        deadline: Date.now() + deadlineMs,
      });
      return openConnection({
        request: withResume(request, resume),
        events,
        // gRPC sends its own pings once the stream is open; until then the answer timeout detects a silent producer.
        answerMs: silenceMs,
        connect(input) {
          call.on("data", (bytes: Buffer) => {
            const json = decodeJson(bytes);
            // Invalid UTF-8 is passed on as empty text and so reported as unreadable; replacement characters might be believed.
            input.message(json && isUtf8(json) ? Buffer.from(json).toString("utf8") : "");
          });
          // The status event says the same, with the trailers.
          call.on("error", (_: ServiceError) => {});
          call.on("status", ({ code, details, metadata: trailers }) => {
            // Messages that arrived before the end are delivered before it.
            while (call.read() !== null);
            channel.close();
            input.closed(closeOf(code, details, (name) => trailers.get(name)[0]?.toString()));
          });
          return {
            write: (message) =>
              void call.write(encodeAaepMessage(JSON.stringify(message), String(message.type))),
            close: () => call.end(),
            destroy: () => call.cancel(),
          };
        },
      });
    },
  };
}

function openChannel(
  grpc: Grpc,
  { target, secure, local }: ReturnType<typeof targetOf>,
  { ca, key, cert }: GrpcClientTls = {},
  silenceMs: number,
) {
  const bytes = (pem: string | Uint8Array | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem as Uint8Array);
  const credentials = secure
    ? grpc.credentials.createSsl(bytes(ca), bytes(key), bytes(cert))
    : grpc.credentials.createInsecure();
  return new grpc.Client(target, credentials, {
    "grpc.keepalive_time_ms": Math.ceil((silenceMs * 2) / 3),
    "grpc.keepalive_timeout_ms": Math.ceil(silenceMs / 3),
    "grpc.max_receive_message_length": MESSAGE_BYTES,
    // The subscriber reconnects: a second layer of retries and backoff would interfere.
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.service_config_disable_resolution": 1,
    // A proxy cannot reach this machine's loopback addresses.
    ...(local ? { "grpc.enable_http_proxy": 0 } : {}),
  });
}
