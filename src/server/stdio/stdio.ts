/**
 * One producer on its own stdin and stdout, for the process that started it; or on a child's, where the producer is the
 * parent (B.6). While it is served, stdout belongs to the protocol: whatever the agent prints goes to stderr.
 */

import type { Readable, Writable } from "node:stream";
import type { Producer } from "../../producer/producer.ts";
import { hubOf } from "../../producer/producer.ts";
import { LOCAL_USER, type Principal } from "../../protocol/principal.ts";
import { openStdio } from "../../transports/stdio/server.ts";
import { createLogger, type LogSink } from "../log.ts";
import { createMetrics } from "../metrics.ts";
import { createObserver } from "../observer.ts";
import { WriteScheduler } from "../writer.ts";

/** Options of `serveStdio`. */
export interface StdioOptions {
  /** Where the listener is heard and spoken to; our own stdin and stdout by default. For a child: its stdout and stdin. */
  readonly input?: Readable;
  readonly output?: Writable;
  /** Who is there: whoever started us, or whom we started. May hear and answer everything, by default (RPC-05). */
  readonly principal?: Principal;
  /** Most bytes waiting for the listener, and how long they may wait. */
  readonly limits?: { readonly queueBytes?: number; readonly blockedMs?: number };
  readonly log?: LogSink;
}

/** A running connection over standard input and output. */
export interface ServingStdio {
  /** Settles when the listener has gone, or `close` was called. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

const LIMITS = { queueBytes: 1_048_576, blockedMs: 30_000 };

/** Connects a producer to one listener over standard input and output, or over a child's. */
export function serveStdio(producer: Producer, options: StdioOptions = {}): ServingStdio {
  const { input = process.stdin, output = process.stdout, principal = LOCAL_USER } = options;
  const { queueBytes, blockedMs } = { ...LIMITS, ...options.limits };
  const own = output === process.stdout ? keepClean() : undefined;
  const write = own ?? ((bytes: Uint8Array) => output.write(bytes));
  const log = createLogger(options.log);
  const hub = hubOf(producer);
  const observer = createObserver(log, createMetrics());
  const stopObserving = hub.observe(observer);
  let settle = () => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });
  let over = false;
  const gone = () => {
    if (over) return;
    over = true;
    // Whoever ended its output may still read: the answer to its last line is not kept from it.
    writer.release();
    connection.closed();
    stopObserving();
    input.off("data", receive).off("end", gone).off("close", gone);
    // Left flowing, stdin would keep the process from ending.
    input.pause();
    settle();
  };
  const writer = new WriteScheduler().writer(
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
        // Our own stdout is not ours to close before the process ends; a child's stdin is.
        if (!own) output.end();
        setImmediate(gone);
      },
    },
    hub,
    principal,
    observer,
  );
  const receive = (chunk: Uint8Array | string) => {
    const backpressure = connection.bytes(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    if (!backpressure) return;
    input.pause();
    void backpressure.then(() => over || input.resume());
  };
  input.on("data", receive).on("end", gone).on("close", gone).on("error", gone);
  output.on("drain", () => writer.drained());
  // The reader went away: EPIPE is an end like any other.
  output.on("error", gone).on("close", gone);
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
 * RPC-04: anything but the protocol would break the line it lands in. console.log and libraries write through this one
 * function. It stays so to the end of the process: whoever reads there reads JSON-RPC, also after the last subscription.
 */
function keepClean(): (bytes: Uint8Array) => boolean {
  const { stdout, stderr } = process;
  if (!real) {
    real = stdout.write;
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }
  return (bytes) => real!.call(stdout, bytes as never);
}
