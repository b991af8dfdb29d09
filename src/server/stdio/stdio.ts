/**
 * Serves one producer on its stdin and stdout, for the process that started it, or on a child's, if the producer is the
 * parent (B.6). Meanwhile stdout belongs to the protocol: whatever the agent prints goes to stderr.
 */

import type { Readable, Writable } from "node:stream";
import type { Producer } from "../../producer/producer.ts";
import { LOCAL_USER, type Principal } from "../../protocol/principal.ts";
import { openStdio } from "../../transports/stdio/server.ts";
import { createContext } from "../context.ts";
import type { LogSink } from "../telemetry.ts";

/** Options of `serveStdio`. */
export interface StdioOptions {
  /** Where messages are read and written; stdin and stdout by default. For a child: its stdout and stdin. */
  readonly input?: Readable;
  readonly output?: Writable;
  /** Who the other process is; by default the local user, who may receive and answer everything (RPC-05). */
  readonly principal?: Principal;
  /** Most bytes that may wait for the listener, and how long it may take none. */
  readonly limits?: { readonly queueBytes?: number; readonly blockedMs?: number };
  readonly log?: LogSink;
}

/** A running connection over standard input and output. */
export interface ServingStdio {
  /** Settles when the listener has disconnected, or after `close`. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

const LIMITS = { queueBytes: 1_048_576, blockedMs: 30_000 };

/** Connects a producer to one listener over standard input and output, or over a child's. */
export function serveStdio(producer: Producer, options: StdioOptions = {}): ServingStdio {
  const { input = process.stdin, output = process.stdout, principal = LOCAL_USER } = options;
  const { queueBytes, blockedMs } = { ...LIMITS, ...options.limits };
  const own = output === process.stdout ? redirectStdout() : undefined;
  const write = own ?? ((bytes: Uint8Array) => output.write(bytes));
  const context = createContext(producer, { log: options.log, connections: 1 });
  let settle = () => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });
  let over = false;
  const ended = () => {
    if (over) return;
    over = true;
    // A process that ended its output may still read: flush the answer to its last line.
    writer.release();
    connection.closed();
    context.close();
    input.off("data", receive).off("end", ended).off("close", ended);
    // A flowing stdin would keep the process alive.
    input.pause();
    settle();
  };
  const writer = context.writes.writer(
    {
      write,
      get writableLength() {
        return output.writableLength;
      },
    },
    { queueBytes: queueBytes, blockedMs: blockedMs, onSlow: () => connection.close("too_slow") },
  );
  const connection = openStdio(
    {
      write: (bytes) => writer.write(bytes),
      end() {
        writer.release();
        // A child's stdin is closed; our own stdout stays open until the process ends.
        if (!own) output.end();
        setImmediate(ended);
      },
    },
    context.hub,
    principal,
    context.observer,
  );
  const receive = (chunk: Uint8Array | string) => {
    const backpressure = connection.bytes(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    if (!backpressure) return;
    input.pause();
    void backpressure.then(() => over || input.resume());
  };
  input.on("data", receive).on("end", ended).on("close", ended).on("error", ended);
  output.on("drain", () => writer.drained());
  // EPIPE means that the reader is gone.
  output.on("error", ended).on("close", ended);
  return {
    closed,
    async close() {
      if (!over) connection.close("producer_shutdown");
      await closed;
    },
  };
}

let real: typeof process.stdout.write | undefined;

/**
 * RPC-04: other output would break the line it lands in, so everything written to stdout goes to stderr. It stays so
 * until the process ends, because the reader expects JSON-RPC even after the last subscription.
 */
function redirectStdout(): (bytes: Uint8Array) => boolean {
  const { stdout, stderr } = process;
  if (!real) {
    real = stdout.write;
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }
  return (bytes) => real!.call(stdout, bytes as never);
}
