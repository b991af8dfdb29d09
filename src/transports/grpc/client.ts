/**
 * AAEP over gRPC, the listener's side. HTTP/2 pings tell a silent line from a dead one; resuming needs our extension,
 * without it a drop means a fresh start (GRPC-05).
 */
import { isUtf8 } from "node:buffer";
import type { ServiceError } from "@grpc/grpc-js";
import { CLOSE_REASONS } from "../../protocol/close-reasons.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { parse } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRejected } from "../../protocol/types.ts";
import {
  createAlarm,
  type LineEvents,
  lineError,
  type ResumePoint,
  SILENCE_MS,
  type Token,
  tokenOf,
  withResume,
} from "../line.ts";
import { asBytes, type Grpc, loadGrpc, SUBSCRIBE_PATH } from "./library.ts";
import { decodeJson, encodeAaepMessage } from "./message.ts";
import { closeOf } from "./status.ts";

/** In PEM. Without `ca` the authorities this machine knows are believed. */
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
  /** A line on which not even a ping is answered for so long is taken for dead (F15). */
  readonly silence_ms?: number;
  /** A stream lives at most so long, half a day by default; then the subscription goes on in another. */
  readonly deadline_ms?: number;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;
type Line = {
  answer: Answer;
  send(message: OtherMessage): Promise<{ taken: boolean | undefined; answer?: Answer }>;
  close(): void;
};

const DEFAULT_PORT = "4601";
const HALF_A_DAY = 12 * 3_600_000;
/** Whoever says goodbye waits so long for the other side's. */
const LINGER_MS = 1_000;
/** More than any message may have: one that is too large is the subscriber's to report, not the end of the line. */
const MESSAGE_BYTES = 4 * 1_048_576;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

function placeOf(url: string): { target: string; secure: boolean; local: boolean } {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "grpcs:";
  const local = LOOPBACK.test(hostname);
  if (!secure && !local) {
    throw new EarshotError(
      "unsafe_address",
      `${hostname} is another machine, and grpc:// is not encrypted: use grpcs:// there (TRN-11).`,
    );
  }
  return { target: `dns:${hostname}:${port || DEFAULT_PORT}`, secure, local };
}

export function createGrpcClient(options: GrpcClientOptions) {
  const { url, token, silence_ms = SILENCE_MS, deadline_ms = HALF_A_DAY } = options;
  const place = placeOf(url);
  return {
    name: "grpc",
    async open(request: object, resume: ResumePoint | undefined, events: LineEvents): Promise<Line> {
      const grpc = await loadGrpc();
      const credential = await tokenOf(token);
      const metadata = new grpc.Metadata();
      if (credential !== undefined) metadata.set("authorization", `Bearer ${credential}`);
      const channel = openChannel(grpc, place, options.tls, silence_ms);
      const call = channel.makeBidiStreamRequest(SUBSCRIBE_PATH, asBytes, asBytes, metadata, {
        deadline: Date.now() + deadline_ms,
      });
      const write = (message: { readonly type?: unknown }) =>
        call.write(encodeAaepMessage(JSON.stringify(message), String(message.type)));
      return new Promise<Line>((resolve, reject) => {
        const renegotiations: { settle(answer: Answer): void; fail(error: Error): void }[] = [];
        let answered = false;
        let over = false;
        const lost = () => lineError("connection_lost", "The line dropped before the answer came.", true);
        const ended = (reason: ReturnType<typeof closeOf>) => {
          if (over) return;
          over = true;
          alarm.stop();
          channel.close();
          for (const { fail } of renegotiations.splice(0)) fail(lost());
          if (answered) return events.closed(reason);
          const code = reason.code === "connection_lost" ? "unreachable" : reason.code;
          reject(lineError(code, reason.message, reason.reconnect));
        };
        // Pings are gRPC's to send; this one is for a producer that takes the stream and never answers.
        const alarm = createAlarm(silence_ms, () => {
          ended({ code: "unreachable", reconnect: true, message: CLOSE_REASONS.unreachable.sentence });
          call.cancel();
        });
        const line = (answer: Answer): Line => ({
          answer,
          async send(message) {
            if (over) throw lost();
            write(message);
            if (message.type !== "subscription.renegotiate") return { taken: undefined };
            const renegotiated = await new Promise<Answer>((settle, fail) =>
              renegotiations.push({ settle, fail }),
            );
            return { taken: renegotiated.type === "subscription.accepted", answer: renegotiated };
          },
          close() {
            if (over) return;
            call.end();
            const timer = setTimeout(() => call.cancel(), LINGER_MS);
            timer.unref();
            call.once("status", () => clearTimeout(timer));
          },
        });
        call.on("data", (bytes: Buffer) => {
          if (over) return;
          const json = decodeJson(bytes);
          // Text that is none is passed on as nothing, and so reported; guessed letters might be believed.
          const text = json && isUtf8(json) ? Buffer.from(json).toString("utf8") : "";
          // Handshake answers are few and short; everything else is the subscriber's to parse.
          const parsed = text.includes('"subscription.') ? parse(text, { mode: "tolerant" }) : undefined;
          const type = parsed?.ok ? parsed.message.type : undefined;
          if (type !== "subscription.accepted" && type !== "subscription.rejected")
            return events.message(text, true);
          const answer = (parsed as { message: unknown }).message as Answer;
          if (answered) return renegotiations.shift()?.settle(answer);
          answered = true;
          alarm.stop();
          resolve(line(answer));
        });
        // The status says it again, with the trailers.
        call.on("error", (_: ServiceError) => {});
        call.on("status", ({ code, details, metadata: trailers }) => {
          // What came before the end is heard before it.
          while (call.read() !== null);
          ended(closeOf(code, details, (name) => trailers.get(name)[0]?.toString()));
        });
        write(withResume(request, resume) as { type?: unknown });
      });
    },
  };
}

function openChannel(
  grpc: Grpc,
  { target, secure, local }: ReturnType<typeof placeOf>,
  { ca, key, cert }: GrpcClientTls = {},
  silence_ms: number,
) {
  const bytes = (pem: string | Uint8Array | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem as Uint8Array);
  const credentials = secure
    ? grpc.credentials.createSsl(bytes(ca), bytes(key), bytes(cert))
    : grpc.credentials.createInsecure();
  return new grpc.Client(target, credentials, {
    "grpc.keepalive_time_ms": Math.ceil((silence_ms * 2) / 3),
    "grpc.keepalive_timeout_ms": Math.ceil(silence_ms / 3),
    "grpc.max_receive_message_length": MESSAGE_BYTES,
    // Coming back is the subscriber's: a second hand that retries or remembers failures would only confuse it.
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.service_config_disable_resolution": 1,
    // A proxy knows nothing of this machine's own addresses.
    ...(local ? { "grpc.enable_http_proxy": 0 } : {}),
  });
}
