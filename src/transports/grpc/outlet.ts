/** Writing to one gRPC stream: waits where the reader does, and gives up on one that never reads (F14). */

/** The writing half of a stream of messages. */
export interface MessageStream {
  /** False once it would rather be waited for. `done` is called when the message has left. */
  write(message: Buffer, done: () => void): boolean;
  once(name: "drain", listener: () => void): unknown;
}

interface OutletOptions {
  /** Most bytes waiting in one stream. */
  readonly cap: number;
  readonly blockedMs: number;
  /** Too many bytes, or too long without reading; said once. */
  readonly slow: () => void;
}

export interface Outlet {
  write(message: Buffer): Promise<void> | undefined;
  /** Nothing more is sent, and nobody waits. */
  release(): void;
}

export function createOutlet(stream: MessageStream, { cap, blockedMs, slow }: OutletOptions): Outlet {
  let waiting = 0;
  /** Messages leave in order, so one callback serves all of them; with one each, Node takes a turn for every message. */
  const sizes: number[] = [];
  const left = () => {
    waiting -= sizes.shift() ?? 0;
  };
  let over = false;
  let blocked: { promise: Promise<void>; release: () => void } | undefined;

  const tooSlow = () => {
    if (over) return;
    // Told before the wait is over: whoever waits must find the line closed, and not go on into nothing.
    over = true;
    slow();
    blocked?.release();
  };
  const block = (): Promise<void> => {
    if (blocked) return blocked.promise;
    let resolve = () => {};
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    const timer = setTimeout(tooSlow, blockedMs);
    timer.unref();
    const release = () => {
      clearTimeout(timer);
      blocked = undefined;
      resolve();
    };
    blocked = { promise, release };
    stream.once("drain", release);
    return promise;
  };

  return {
    write(message) {
      if (over) return undefined;
      const size = message.byteLength;
      waiting += size;
      if (waiting > cap) return void tooSlow();
      sizes.push(size);
      return stream.write(message, left) ? undefined : block();
    },
    release() {
      over = true;
      blocked?.release();
    },
  };
}
