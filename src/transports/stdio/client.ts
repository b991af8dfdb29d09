/**
 * AAEP as JSON-RPC over a process's pipes, the listener's side. The producer is a child it starts, or the parent that
 * started it; either way the process's end is the subscription's, so a drop is never followed by another try there
 * unless the command can be started afresh.
 */
import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { MOST_MESSAGE_BYTES } from "../../framing/bytes.ts";
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
import { closeReason } from "../../protocol/close-reasons.ts";
import { parseValue } from "../../protocol/parse.ts";
import type { OtherMessage, SubscriptionAccepted, SubscriptionRejected } from "../../protocol/types.ts";
import { type LineEvents, lineError, type ResumePoint } from "../line.ts";

/** Both ends of a conversation with a producer. */
interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends it; the producer gets a moment to end by itself. */
  close(): void;
  /** Why it could not be started. */
  failed?(listener: (error: Error) => void): void;
}

interface StdioClientOptions {
  /** The agent's program and its arguments. Its stderr goes to ours: it is for people (RPC-04). */
  readonly command?: readonly [string, ...string[]];
  /** Or pipes that are there already, such as our own stdin and stdout where the producer started us. */
  readonly pipes?: () => Pipes;
  readonly env?: NodeJS.ProcessEnv;
  readonly answer_ms?: number;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;
type Line = {
  answer: Answer;
  send(message: OtherMessage): Promise<{ taken: boolean | undefined; answer?: Answer }>;
  close(): void;
};
interface Pending {
  settle(result: unknown): void;
  fail(error: Error): void;
}

/** A child that does not go when its input ends is asked, then made, to. */
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

export function createStdioClient({ command, pipes, env, answer_ms = ANSWER_MS }: StdioClientOptions) {
  return {
    name: "stdio",
    // Nothing to resume: whatever was subscribed ended with the process (RPC-05).
    open(request: object, _resume: ResumePoint | undefined, events: LineEvents): Promise<Line> {
      const { input, output, close, failed } = pipes ? pipes() : start(command!, env);
      const decoder = createLineDecoder(MOST_MESSAGE_BYTES + 4_096);
      const waiting = new Map<number, Pending>();
      let next = 0;
      let over = false;
      let reason: string | undefined;
      let lost: Error = lineError("connection_lost", "The agent's process has ended.", false);

      const line = (text: string) => void (over || output.write(encodeLine(text)));
      const ask = (method: string, message: object): Promise<unknown> =>
        new Promise((settle, fail) => {
          const id = ++next;
          const timer = setTimeout(() => {
            waiting.delete(id);
            fail(lineError("unreachable", "The agent did not answer in time.", false));
          }, answer_ms);
          const done =
            <T>(job: (value: T) => void) =>
            (value: T) => {
              clearTimeout(timer);
              job(value);
            };
          waiting.set(id, { settle: done(settle), fail: done(fail) });
          line(rpcRequest(id, method, JSON.stringify(message)));
        });
      const ended = () => {
        if (over) return;
        over = true;
        for (const { fail } of waiting.values()) fail(lost);
        waiting.clear();
        const code = reason ?? "connection_lost";
        // A restart is announced; a process that is simply gone may be gone for a reason.
        events.closed({
          code,
          reconnect: command !== undefined && code === "producer_shutdown",
          message: reason ? closeReason(code).sentence : lost.message,
        });
      };
      const take = (bytes: Uint8Array) => {
        const text = lineText(bytes);
        const message = parseRpc(text);
        switch (message.kind) {
          case "result":
          case "error": {
            const pending = waiting.get(message.id as number);
            waiting.delete(message.id as number);
            if (message.kind === "result") pending?.settle(message.result);
            else
              pending?.fail(
                lineError("protocol_violation", message.message || "The agent refused the call.", false),
              );
            return;
          }
          case "request":
            return line(
              message.method === "aaep.ping"
                ? rpcResult(message.id, "{}")
                : rpcError(message.id, RPC_ERRORS.method),
            );
          case "notification":
            if (message.method === "aaep.close")
              reason = String(
                (message.params as { reason_code?: unknown } | undefined)?.reason_code ?? "producer_closed",
              );
            if (message.method === "aaep.event" || message.method === "aaep.close")
              events.message(message.json ?? JSON.stringify(message.params), true);
            return;
          case "fault":
            // Somebody printed where the protocol is spoken. One stray line is passed over; the subscriber hears of it.
            return events.message(text ?? "", false);
        }
      };
      input.on("data", (chunk: Uint8Array | string) => {
        for (const bytes of decoder.feed(typeof chunk === "string" ? Buffer.from(chunk) : chunk))
          if (!over) take(bytes);
        if (decoder.fault) close();
      });
      input.on("end", ended).on("close", ended).on("error", ended);
      // A broken pipe; that the process has ended is heard from its output.
      output.on("error", () => {});
      failed?.((error) => {
        lost = lineError(
          "unreachable",
          `${command?.[0]} could not be started (${(error as NodeJS.ErrnoException).code ?? error.message}). Check the command.`,
          false,
          error,
        );
        ended();
      });

      const answerOf = (result: unknown): Answer => {
        const parsed = parseValue(result, { mode: "tolerant" });
        const message = parsed.ok && parsed.kind === "message" ? parsed.message : undefined;
        if (message?.type === "subscription.accepted" || message?.type === "subscription.rejected")
          return message;
        throw lineError(
          "protocol_violation",
          "The agent's answer is neither an acceptance nor a rejection.",
          false,
        );
      };
      return ask("aaep.subscribe", request).then(
        (result): Line => ({
          answer: answerOf(result),
          async send(message) {
            if (over) throw lost;
            if (message.type === "subscription.renegotiate") {
              const answer = answerOf(await ask("aaep.renegotiate", message));
              return { taken: answer.type === "subscription.accepted", answer };
            }
            line(
              rpcNotification(
                message.type === "subscription.close" ? "aaep.close" : "aaep.reply",
                JSON.stringify(message),
              ),
            );
            return { taken: undefined };
          },
          close() {
            reason ??= "subscriber_closed";
            close();
          },
        }),
        (error: Error) => {
          close();
          throw error;
        },
      );
    },
  };
}
