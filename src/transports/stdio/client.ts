/**
 * The JSON-RPC client over a process's pipes. The producer is a child process it starts, or the parent process that
 * started it. The subscription ends with the process, so it reconnects only where the command can be started again.
 */
import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { MAX_MESSAGE_BYTES } from "../../framing/bytes.ts";
import {
  lineText,
  parseRpc,
  RPC_ERRORS,
  rpcError,
  rpcNotification,
  rpcRequest,
  rpcResult,
} from "../../framing/json-rpc.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import { parseValue } from "../../protocol/parse.ts";
import { type Answer, type ClientTransport, ConnectionError, openConnection } from "../client-connection.ts";

/** The two pipes to a producer. */
interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
  /** Closes them; the producer gets a moment to exit by itself. */
  close(): void;
  /** Reports that the process could not be started. */
  failed?(listener: (error: Error) => void): void;
}

interface StdioClientOptions {
  /** The agent's program and its arguments. Its stderr is inherited: it is for people (RPC-04). */
  readonly command?: readonly [string, ...string[]];
  /** Or pipes that exist already, such as our own stdin and stdout where the producer started us. */
  readonly pipes?: () => Pipes;
  readonly env?: NodeJS.ProcessEnv;
  /** How long the producer may take to answer a call. */
  readonly answerMs?: number;
}

/** A child that does not exit when its input ends gets SIGTERM after this time, and SIGKILL after twice as long. */
const GRACE_MS = 2_000;
const ANSWER_MS = 30_000;

function start(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv | undefined,
): Pipes {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], ...(env ? { env } : {}) });
  const kill = (signal: NodeJS.Signals, ms: number) =>
    setTimeout(() => child.exitCode === null && child.kill(signal), ms).unref();
  return {
    input: child.stdout!,
    output: child.stdin!,
    close() {
      child.stdin!.end();
      kill("SIGTERM", GRACE_MS);
      kill("SIGKILL", 2 * GRACE_MS);
    },
    failed: (listener) => void child.on("error", listener),
  };
}

/** Our own stdin and stdout, where the producer is the parent. */
export const ownPipes = (): Pipes => ({
  input: process.stdin,
  output: process.stdout,
  close: () => process.stdout.end(),
});

const METHODS: Readonly<Record<string, string>> = {
  "subscription.request": "aaep.subscribe",
  "subscription.renegotiate": "aaep.renegotiate",
  "subscription.close": "aaep.close",
};

export function createStdioClient({
  command,
  pipes,
  env,
  answerMs = ANSWER_MS,
}: StdioClientOptions): ClientTransport {
  return {
    name: "stdio",
    // There is nothing to resume: the subscription ended with the process (RPC-05).
    open(request, _resume, events) {
      const { input, output, close, failed } = pipes ? pipes() : start(command!, env);
      const decoder = createLineDecoder(MAX_MESSAGE_BYTES + 4_096);
      return openConnection({
        request,
        answerMs,
        retryAfterTimeout: false,
        events: {
          message: events.message,
          // A restart is announced. A process that just exits may have a reason to.
          closed: (reason) =>
            events.closed({
              ...reason,
              reconnect: command !== undefined && reason.code === "producer_shutdown",
            }),
        },
        connect(connection) {
          const write = (text: string) => void output.write(encodeLine(text));
          const receive = (bytes: Uint8Array) => {
            const text = lineText(bytes);
            const message = parseRpc(text);
            switch (message.kind) {
              case "result": {
                const answer = answerIn(message.result);
                if (answer) return connection.answered(answer, message.id as number);
                return connection.refused(NO_ANSWER, message.id as number);
              }
              case "error": {
                const refusal = message.message || "The agent refused the call.";
                const error = new ConnectionError("protocol_violation", refusal, false);
                return connection.refused(error, message.id as number);
              }
              case "request":
                return write(
                  message.method === "aaep.ping"
                    ? rpcResult(message.id, "{}")
                    : rpcError(message.id, RPC_ERRORS.method),
                );
              case "notification":
                if (message.method === "aaep.event" || message.method === "aaep.close")
                  connection.message(message.json ?? JSON.stringify(message.params));
                return;
              case "fault":
                // Something printed to stdout between messages: the subscriber reports the line and goes on.
                return events.message(text ?? "", false);
            }
          };
          const ended = () =>
            connection.closed({
              code: "connection_lost",
              reconnect: false,
              message: "The agent's process has ended.",
            });
          input.on("data", (chunk: Uint8Array | string) => {
            for (const bytes of decoder.feed(typeof chunk === "string" ? Buffer.from(chunk) : chunk))
              receive(bytes);
            if (decoder.fault) close();
          });
          input.on("end", ended).on("close", ended).on("error", ended);
          // A broken pipe: the end of the input says that the process has exited.
          output.on("error", () => {});
          failed?.((error) => {
            const why = (error as NodeJS.ErrnoException).code ?? error.message;
            const message = `${command?.[0]} could not be started (${why}). Check the command.`;
            connection.closed({ code: "unreachable", reconnect: false, message }, error);
          });
          return {
            write(message, id) {
              const method = METHODS[message.type] ?? "aaep.reply";
              const json = JSON.stringify(message);
              write(id === undefined ? rpcNotification(method, json) : rpcRequest(id, method, json));
            },
            close,
            destroy: close,
          };
        },
      });
    },
  };
}

const NO_ANSWER = new ConnectionError(
  "protocol_violation",
  "The agent's answer is neither an acceptance nor a rejection.",
  false,
);

function answerIn(result: unknown): Answer | undefined {
  const parsed = parseValue(result, { mode: "tolerant" });
  const message = parsed.ok && parsed.kind === "message" ? parsed.message : undefined;
  return message?.type === "subscription.accepted" || message?.type === "subscription.rejected"
    ? message
    : undefined;
}
