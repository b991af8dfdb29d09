/** AAEP over a Unix socket or a named pipe, the listener's side. A new connection is a new handshake (IPC-11); resuming needs our extension. */
import { connect } from "node:net";
import type { Decoder } from "../../framing/bytes.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import { CLOSE_REASONS, closeReason } from "../../protocol/close-reasons.ts";
import { parse } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRejected } from "../../protocol/types.ts";
import { type LineEvents, lineError, type ResumePoint, withResume } from "../line.ts";

interface IpcClientOptions {
  /** The socket's path, or a pipe's name (\\.\pipe\aaep\planner). */
  readonly path: string;
  /** Length prefix by default, as B.4.4 prefers it. The server answers in kind. */
  readonly framing?: "length-prefix" | "ndjson";
  /** So long the producer may take to accept and answer. */
  readonly answer_ms?: number;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;
type Line = {
  answer: Answer;
  send(message: OtherMessage): Promise<{ taken: boolean | undefined; answer?: Answer }>;
  close(): void;
};

type Reason = Parameters<LineEvents["closed"]>[0];

const ANSWER_MS = 30_000;

const reasonFor = (code: string, message?: string): Reason => {
  const { reconnect, sentence } = closeReason(code);
  return { code, reconnect, message: message ?? sentence };
};

/** What the operating system said, and what to do about it. */
function reachError(path: string, error: NodeJS.ErrnoException): Error {
  switch (error.code) {
    case "ENOENT":
      return lineError(
        "unreachable",
        `There is no socket at ${path}. Start the agent, or ask discover() where it listens.`,
        true,
        error,
      );
    case "ECONNREFUSED":
      return lineError(
        "unreachable",
        `Nobody listens at ${path} any more. Start the agent again.`,
        true,
        error,
      );
    case "EAGAIN":
      return lineError(
        "unreachable",
        `Too many are waiting at ${path} just now. Try again in a moment.`,
        true,
        error,
      );
    case "EACCES":
    case "EPERM":
      return lineError(
        "authorization_denied",
        `${path} belongs to somebody else. Run the listener as the user who runs the agent.`,
        false,
        error,
      );
    default:
      return lineError(
        "unreachable",
        `${path} cannot be reached (${error.code ?? error.message}).`,
        true,
        error,
      );
  }
}

export function createIpcClient({
  path,
  framing = "length-prefix",
  answer_ms = ANSWER_MS,
}: IpcClientOptions) {
  const encode = framing === "ndjson" ? encodeLine : encodeLengthPrefix;
  const createDecoder = framing === "ndjson" ? createLineDecoder : createLengthPrefixDecoder;
  return {
    // As manifests call it, which a listener that checks signatures compares.
    name: path.startsWith("\\\\") ? "named-pipe" : "unix-socket",
    open(request: object, resume: ResumePoint | undefined, events: LineEvents): Promise<Line> {
      return new Promise<Line>((resolve, reject) => {
        const socket = connect(path);
        const decoder: Decoder = createDecoder();
        const renegotiations: { settle(answer: Answer): void; fail(error: Error): void }[] = [];
        let answered = false;
        let over = false;
        /** Why the producer ended it, if it said so. */
        let reason: Reason | undefined;
        let failure: NodeJS.ErrnoException | undefined;
        const impatience = setTimeout(() => {
          failure = Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" });
          socket.destroy();
        }, answer_ms);
        impatience.unref();

        const write = (message: object) => void socket.write(encode(JSON.stringify(message)));
        const ended = () => {
          if (over) return;
          over = true;
          clearTimeout(impatience);
          for (const { fail } of renegotiations.splice(0))
            fail(lineError("connection_lost", "The line dropped before the answer came.", true));
          if (answered) events.closed(reason ?? reasonFor("connection_lost"));
          else
            reject(
              failure
                ? reachError(path, failure)
                : lineError("unreachable", `The agent at ${path} hung up without an answer.`, true),
            );
        };
        const line = (answer: Answer): Line => ({
          answer,
          async send(message) {
            if (over || !socket.writable)
              throw lineError("connection_lost", CLOSE_REASONS.connection_lost.sentence, true);
            write(message);
            if (message.type !== "subscription.renegotiate") return { taken: undefined };
            const renegotiated = await new Promise<Answer>((settle, fail) =>
              renegotiations.push({ settle, fail }),
            );
            return { taken: renegotiated.type === "subscription.accepted", answer: renegotiated };
          },
          close() {
            reason ??= reasonFor("subscriber_closed");
            socket.end();
            // Whoever does not hang up in turn is not waited for.
            setTimeout(() => socket.destroy(), 1_000).unref();
          },
        });
        const hear = (bytes: Uint8Array) => {
          const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
          // Handshake messages are few and short; everything else is the subscriber's to parse.
          const parsed =
            text.includes('"subscription.') || text.includes('"earshot:closing"')
              ? parse(bytes, { mode: "tolerant" })
              : undefined;
          const message = parsed?.ok && parsed.kind === "message" ? parsed.message : undefined;
          if (message?.type === "subscription.close" || message?.type === "earshot:closing") {
            reason = reasonFor(message.reason_code, message.reason_message);
            // Where only the line ends, there is nothing to tell the listener but to come back.
            if (
              message.type === "earshot:closing" ||
              (reason.reconnect && reason.code !== "producer_shutdown")
            )
              return;
          }
          if (message?.type !== "subscription.accepted" && message?.type !== "subscription.rejected") {
            return answered && events.message(text, true);
          }
          if (answered) return renegotiations.shift()?.settle(message);
          answered = true;
          clearTimeout(impatience);
          if (message.type === "subscription.rejected") reason = reasonFor("rejected");
          resolve(line(message));
        };
        socket.on("connect", () => write(withResume(request, resume)));
        socket.on("data", (chunk: Uint8Array) => {
          for (const bytes of decoder.feed(chunk)) if (!over) hear(bytes);
          // Where the next message begins is lost: a new line is the only way to hear on.
          if (decoder.fault) socket.destroy();
        });
        socket.on("error", (error) => {
          failure = error;
        });
        socket.on("close", ended);
      });
    },
  };
}
