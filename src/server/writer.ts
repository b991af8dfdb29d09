/**
 * Writing to many sockets: what is said in one turn of the event loop goes out in one write per socket, and where many
 * sockets send the same frames, the joined bytes are made once. A socket that does not drain holds up nobody but
 * itself (F14).
 */

/** Where bytes go: a socket, a response, a web stream. */
export interface Outlet {
  /** False once it would rather be waited for; its owner calls `drained` when it can take more. */
  write(bytes: Uint8Array): boolean;
  readonly writableLength: number;
}

export interface WriterOptions {
  /** Whether the outlet is the body of an HTTP/1.1 response, to be written in chunks. */
  readonly chunked?: boolean;
  /** Most bytes waiting for one outlet. */
  readonly cap: number;
  readonly blocked_ms: number;
  /** Too many bytes, or too long without draining; said once. What was waiting is dropped: a resume brings it again. */
  readonly slow: () => void;
}

/** Beyond this a writer asks to be waited for, so that a long replay does not pile up in one turn. */
const WAIT_ABOVE = 192 * 1024;

/** In UTF-8. */
const MOST_BYTES_PER_UNIT = 3;

/** What is written whole: bytes, or text that becomes bytes when it leaves, together with what leaves beside it. */
type Frame = Uint8Array | string;

/**
 * What is waiting, as a path: each step adds a frame. In one turn most sockets are given the same frames in the same
 * order, so they walk the same path, keep nothing of their own, and share its joined bytes.
 */
class Batch {
  readonly before: Batch | undefined;
  readonly frame: Frame | undefined;
  /** At least as many bytes as there are: text is measured only where that could matter. */
  readonly most: number;
  private next: Batch | undefined;
  #size: number | undefined;
  #bytes: Uint8Array | undefined;
  #chunk: Uint8Array | undefined;

  constructor(before?: Batch, frame?: Frame) {
    const most = typeof frame === "string" ? MOST_BYTES_PER_UNIT * frame.length : (frame?.byteLength ?? 0);
    this.before = before;
    this.frame = frame;
    this.most = (before?.most ?? 0) + most;
  }

  and(frame: Frame): Batch {
    if (this.next?.frame !== frame) this.next = new Batch(this, frame);
    return this.next;
  }

  get size(): number {
    let size = 0;
    for (let at: Batch | undefined = this; at?.frame !== undefined; at = at.before) {
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
    for (let at: Batch | undefined = this; at?.frame !== undefined; at = at.before) frames.push(at.frame);
    return frames.reverse();
  }

  #join(): Frame {
    const frames = this.#frames();
    if (frames.length === 1) return frames[0]!;
    if (frames.every((frame) => typeof frame === "string")) return frames.join("");
    return Buffer.concat(frames.map((frame) => (typeof frame === "string" ? Buffer.from(frame) : frame)));
  }
}

/** Where every path of this turn begins; a new one each turn, so that nothing is held. */
let nothing = new Batch();
let dirty: Writer[] = [];
let flushing: Writer[] = [];

/**
 * With many sockets most of a server's time is the system's, one write after another, and meanwhile nothing is read: a
 * person's "stop" would have to wait. So after a round of writes what can wait does, a few milliseconds at most;
 * meanwhile more gathers, and goes out in the same write. Where there are few sockets nothing waits.
 */
const MANY = 64;
const REST = 4;
const MOST_REST_MS = 8;
let restUntil = 0;
/** Whether a round of writes is on its way: in this turn, or after the rest. */
let coming: NodeJS.Immediate | NodeJS.Timeout | undefined;
let soon = false;

/** An immediate, not a microtask: log entries are acknowledged one microtask after another, and belong in one write. */
function schedule(patient: boolean): void {
  const rest = patient ? restUntil - performance.now() : 0;
  if (rest >= 1) {
    coming ??= setTimeout(flushAll, rest);
    return;
  }
  if (coming) clearTimeout(coming as NodeJS.Timeout);
  soon = true;
  coming = setImmediate(flushAll);
}

function flushAll(): void {
  coming = undefined;
  soon = false;
  const began = performance.now();
  [dirty, flushing] = [flushing, dirty];
  for (const writer of flushing) {
    try {
      writer.flush();
    } catch {
      // An outlet that fails takes nobody else along; its owner hears of it by its closing.
      writer.abandon();
    }
  }
  if (flushing.length >= MANY) {
    const ended = performance.now();
    restUntil = ended + Math.min(MOST_REST_MS, REST * (ended - began));
  }
  flushing.length = 0;
  nothing = new Batch();
}

export class Writer {
  readonly #outlet: Outlet;
  readonly #options: WriterOptions;
  #waiting: Batch | undefined;
  #blocked: { promise: Promise<void>; release: () => void; timer: NodeJS.Timeout } | undefined;
  #gone = false;
  #ended = false;

  constructor(outlet: Outlet, options: WriterOptions) {
    this.#outlet = outlet;
    this.#options = options;
  }

  /** A promise where the outlet cannot take more now. What is patient may wait a moment if there is much to write. */
  write(frame: Frame, patient = false): Promise<void> | undefined {
    if (this.#gone) return undefined;
    if (!this.#waiting) dirty.push(this);
    this.#waiting = (this.#waiting ?? nothing).and(frame);
    const { most } = this.#waiting;
    const much = most > WAIT_ABOVE || most > this.#options.cap;
    // Where much waits, something critical may be waiting behind it.
    const rests = patient && !much;
    if (!coming || !(soon || rests)) schedule(rests);
    const blocked = this.#blocked;
    // An outlet that asked for no pause holds next to nothing: it is not even looked at, which counts where there are many.
    if (!blocked && !much) return undefined;
    if (this.#waiting.size + this.#outlet.writableLength > this.#options.cap) {
      this.#tooSlow();
      return undefined;
    }
    return blocked ? blocked.promise : this.#block();
  }

  flush(): void {
    const waiting = this.#waiting;
    if (!waiting || this.#gone) return;
    this.#waiting = undefined;
    if (this.#put(waiting)) this.drained();
    else this.#block();
  }

  /** The outlet can take more. */
  drained(): void {
    const blocked = this.#blocked;
    if (!blocked) return;
    this.#blocked = undefined;
    clearTimeout(blocked.timer);
    blocked.release();
  }

  /** Sends what is waiting, then nothing more. */
  release(): void {
    this.flush();
    this.abandon();
  }

  /** Sends what is waiting, and these last words even where it was too slow; then nothing more, whoever else says its last. */
  end(last: Frame): void {
    this.release();
    if (this.#ended) return;
    this.#ended = true;
    this.#put(new Batch().and(last));
  }

  /** The outlet is gone: nothing is sent any more, and nobody waits. */
  abandon(): void {
    this.#gone = true;
    this.#waiting = undefined;
    this.drained();
  }

  #put(batch: Batch): boolean {
    return this.#outlet.write(this.#options.chunked ? batch.chunk : batch.bytes);
  }

  #block(): Promise<void> {
    if (!this.#blocked) {
      let release = () => {};
      const promise = new Promise<void>((resolve) => {
        release = resolve;
      });
      const timer = setTimeout(() => this.#tooSlow(), this.#options.blocked_ms);
      timer.unref();
      this.#blocked = { promise, release, timer };
    }
    return this.#blocked.promise;
  }

  #tooSlow(): void {
    if (this.#gone) return;
    this.#gone = true;
    // Told before the wait is over: whoever waits must find the line closed, and not go on into nothing.
    this.#options.slow();
    this.abandon();
  }
}
