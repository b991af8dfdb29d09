/**
 * Writing to many sockets. Everything written to a socket in one turn of the event loop leaves in one write; where many
 * sockets send the same frames, the joined bytes are made once. Backpressure is per socket: one that does not drain
 * delays only itself (F14).
 */

/** Where bytes go: a socket, a response, a web stream. */
export interface ByteSink {
  /** False once it is full; its owner calls `drained` when it can take more. */
  write(bytes: Uint8Array): boolean;
  readonly writableLength: number;
}

export interface WriterOptions {
  /** Whether the sink is the body of an HTTP/1.1 response, to be written in chunks. */
  readonly chunked?: boolean;
  /** Most bytes that may wait for one sink. */
  readonly queueBytes: number;
  /** How long a sink may stay full. */
  readonly blockedMs: number;
  /** Called once, when either limit is exceeded. Waiting bytes are dropped: a resume sends them again. */
  readonly onSlow: () => void;
}

/** Beyond this a writer signals backpressure, so that a long replay does not accumulate in one turn. */
const BACKPRESSURE_BYTES = 192 * 1024;

const MAX_UTF8_BYTES_PER_UNIT = 3;

/** Written whole: bytes, or text that is encoded when it leaves, together with the rest of its batch. */
type Frame = Uint8Array | string;

/**
 * Waiting frames as a linked path: each step adds a frame. In one turn most sockets are given the same frames in the
 * same order, so they walk the same path, hold nothing of their own, and share its joined bytes.
 */
class Batch {
  readonly previous: Batch | undefined;
  readonly frame: Frame | undefined;
  /** Upper bound of the size in bytes: text is measured only where that could matter. */
  readonly maxSize: number;
  private next: Batch | undefined;
  #size: number | undefined;
  #bytes: Uint8Array | undefined;
  #chunk: Uint8Array | undefined;

  constructor(previous?: Batch, frame?: Frame) {
    const maxSize =
      typeof frame === "string" ? MAX_UTF8_BYTES_PER_UNIT * frame.length : (frame?.byteLength ?? 0);
    this.previous = previous;
    this.frame = frame;
    this.maxSize = (previous?.maxSize ?? 0) + maxSize;
  }

  and(frame: Frame): Batch {
    if (this.next?.frame !== frame) this.next = new Batch(this, frame);
    return this.next;
  }

  get size(): number {
    let size = 0;
    for (let at: Batch | undefined = this; at?.frame !== undefined; at = at.previous) {
      size += at.#size ?? Buffer.byteLength(at.frame);
      if (at.#size !== undefined) break;
    }
    this.#size = size;
    return size;
  }

  get bytes(): Uint8Array {
    if (!this.#bytes) {
      const joined = this.#join();
      this.#bytes = typeof joined === "string" ? Buffer.from(joined) : joined;
    }
    return this.#bytes;
  }

  /** The bytes as one chunk of a chunked body (RFC 9112, 7.1). */
  get chunk(): Uint8Array {
    if (!this.#chunk) {
      const joined = this.#join();
      const size = Buffer.byteLength(joined);
      const head = `${size.toString(16)}\r\n`;
      const chunk = Buffer.allocUnsafe(head.length + size + 2);
      chunk.write(head, "latin1");
      if (typeof joined === "string") chunk.write(joined, head.length);
      else chunk.set(joined, head.length);
      chunk.write("\r\n", head.length + size, "latin1");
      this.#chunk = chunk;
    }
    return this.#chunk;
  }

  #frames(): Frame[] {
    const frames: Frame[] = [];
    for (let at: Batch | undefined = this; at?.frame !== undefined; at = at.previous) frames.push(at.frame);
    return frames.reverse();
  }

  #join(): Frame {
    const frames = this.#frames();
    if (frames.length === 1) return frames[0]!;
    if (frames.every((frame) => typeof frame === "string")) return frames.join("");
    return Buffer.concat(frames.map((frame) => (typeof frame === "string" ? Buffer.from(frame) : frame)));
  }
}

export interface WriteSchedulerOptions {
  /** With at least this many sockets in one flush, deferrable frames wait after it; 64 by default. */
  readonly manySockets?: number;
  /** How long they wait, as a multiple of the time the flush took; 4 by default. */
  readonly delayFactor?: number;
  /** The longest they wait; 8 ms by default. */
  readonly maxDelayMs?: number;
}

/**
 * Decides when the writers of one server flush. With many sockets most of a server's time is spent in the kernel, one
 * write after another, and meanwhile nothing is read: a person's "stop" would have to wait. So after a flush to many
 * sockets deferrable frames wait a few milliseconds; more accumulate meanwhile and leave in the same write. With few
 * sockets nothing waits.
 */
export class WriteScheduler {
  readonly #manySockets: number;
  readonly #delayFactor: number;
  readonly #maxDelayMs: number;
  #deferUntil = 0;
  /** The next flush: in this turn, or after the delay. */
  #timer: NodeJS.Immediate | NodeJS.Timeout | undefined;
  #immediate = false;
  #pending: Writer[] = [];
  #flushing: Writer[] = [];
  /** Every path of this turn begins here; replaced after each flush, so that no bytes are retained. */
  #start = new Batch();
  readonly #flush = () => this.#flushAll();

  constructor({ manySockets = 64, delayFactor = 4, maxDelayMs = 8 }: WriteSchedulerOptions = {}) {
    this.#manySockets = manySockets;
    this.#delayFactor = delayFactor;
    this.#maxDelayMs = maxDelayMs;
  }

  writer(sink: ByteSink, options: WriterOptions): Writer {
    return new Writer(this, sink, options);
  }

  /** A first waiting frame of a writer: the batch it begins. */
  begin(writer: Writer): Batch {
    this.#pending.push(writer);
    return this.#start;
  }

  /** Makes sure that a flush is scheduled: in this turn, unless everything written may be deferred. */
  schedule(deferrable: boolean): void {
    if (this.#timer && (this.#immediate || deferrable)) return;
    const delay = deferrable ? this.#deferUntil - performance.now() : 0;
    if (delay >= 1) {
      this.#timer = setTimeout(this.#flush, delay);
      return;
    }
    if (this.#timer) clearTimeout(this.#timer as NodeJS.Timeout);
    this.#immediate = true;
    // An immediate, not a microtask: log entries are acknowledged one microtask apart, and belong in one write.
    this.#timer = setImmediate(this.#flush);
  }

  #flushAll(): void {
    this.#timer = undefined;
    this.#immediate = false;
    const began = performance.now();
    [this.#pending, this.#flushing] = [this.#flushing, this.#pending];
    for (const writer of this.#flushing) {
      try {
        writer.flush();
      } catch {
        // A failing sink must not affect the others; its owner learns of it by its close event.
        writer.abandon();
      }
    }
    if (this.#flushing.length >= this.#manySockets) {
      const ended = performance.now();
      this.#deferUntil = ended + Math.min(this.#maxDelayMs, this.#delayFactor * (ended - began));
    }
    this.#flushing.length = 0;
    this.#start = new Batch();
  }
}

/** Writes to one sink. */
export class Writer {
  readonly #scheduler: WriteScheduler;
  readonly #sink: ByteSink;
  readonly #options: WriterOptions;
  #waiting: Batch | undefined;
  #blocked: { promise: Promise<void>; release: () => void; timer: NodeJS.Timeout } | undefined;
  #closed = false;
  #ended = false;

  constructor(scheduler: WriteScheduler, sink: ByteSink, options: WriterOptions) {
    this.#scheduler = scheduler;
    this.#sink = sink;
    this.#options = options;
  }

  /** A promise is backpressure. A deferrable frame may wait a few milliseconds to share a write with others. */
  write(frame: Frame, deferrable = false): Promise<void> | undefined {
    if (this.#closed) return undefined;
    this.#waiting = (this.#waiting ?? this.#scheduler.begin(this)).and(frame);
    const { maxSize } = this.#waiting;
    const large = maxSize > BACKPRESSURE_BYTES || maxSize > this.#options.queueBytes;
    // Behind a large backlog something critical may be waiting, so it is not deferred.
    this.#scheduler.schedule(deferrable && !large);
    const blocked = this.#blocked;
    // A sink that is not full holds next to nothing. Reading its length is skipped: with many sockets that is measurable.
    if (!blocked && !large) return undefined;
    if (this.#waiting.size + this.#sink.writableLength > this.#options.queueBytes) {
      this.#tooSlow();
      return undefined;
    }
    return blocked ? blocked.promise : this.#block();
  }

  flush(): void {
    const waiting = this.#waiting;
    if (!waiting || this.#closed) return;
    this.#waiting = undefined;
    if (this.#put(waiting)) this.drained();
    else this.#block();
  }

  /** The sink can take more. */
  drained(): void {
    const blocked = this.#blocked;
    if (!blocked) return;
    this.#blocked = undefined;
    clearTimeout(blocked.timer);
    blocked.release();
  }

  /** Flushes, and accepts nothing more. */
  release(): void {
    this.flush();
    this.abandon();
  }

  /** Flushes, writes a last frame even if the sink was too slow, and accepts nothing more. Later calls do nothing. */
  end(last: Frame): void {
    this.release();
    if (this.#ended) return;
    this.#ended = true;
    this.#put(new Batch().and(last));
  }

  /** The sink is closed: drops what waits and releases the backpressure. */
  abandon(): void {
    this.#closed = true;
    this.#waiting = undefined;
    this.drained();
  }

  #put(batch: Batch): boolean {
    return this.#sink.write(this.#options.chunked ? batch.chunk : batch.bytes);
  }

  #block(): Promise<void> {
    if (!this.#blocked) {
      let release = () => {};
      const promise = new Promise<void>((resolve) => {
        release = resolve;
      });
      const timer = setTimeout(() => {
        // If this process itself was stalled, the reader may have read long ago: timers run before I/O, so the socket
        // gets one turn of the event loop to say so.
        setImmediate(() => this.#blocked?.timer === timer && this.#tooSlow());
      }, this.#options.blockedMs);
      timer.unref();
      this.#blocked = { promise, release, timer };
    }
    return this.#blocked.promise;
  }

  #tooSlow(): void {
    if (this.#closed) return;
    this.#closed = true;
    // Before the backpressure is released: code that waits for it must find the connection closed.
    this.#options.onSlow();
    this.abandon();
  }
}
