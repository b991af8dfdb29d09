/** Two ends of a connection in one process: what the others are measured against. Bounded, like every queue. */
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { Connection, Sendable } from "../../protocol/connection.ts";
import { EarshotError } from "../../protocol/errors.ts";

export interface MemoryPair {
  readonly server: Connection;
  readonly client: Connection;
  /** The line drops without a word: what is under way is lost. */
  cut(): void;
}

export interface MemoryPairOptions {
  /** Messages that may wait at the far end before a sender is asked to wait. */
  readonly most?: number;
}

export function createMemoryPair({ most = 16 }: MemoryPairOptions = {}): MemoryPair {
  let end: (code: CloseCode) => void = () => {};
  const closed = new Promise<CloseCode>((resolve) => {
    end = resolve;
  });
  const [there, back] = [new Pipe(most), new Pipe(most)];
  const close = (code: CloseCode) => {
    there.close();
    back.close();
    end(code);
  };
  const side = (out: Pipe, into: Pipe): Connection => ({
    send: ({ json }: Sendable) => out.write(json),
    receive: (take) => into.read(take),
    close,
    closed,
  });
  return {
    server: side(there, back),
    client: side(back, there),
    cut() {
      there.drop();
      back.drop();
      close("connection_lost");
    },
  };
}

type Take = (text: string) => Promise<void> | undefined;

/** One direction. A reader that answers with a promise is not given more before that settles. */
class Pipe {
  readonly #most: number;
  readonly #waiting: string[] = [];
  readonly #senders: { resolve(): void; reject(error: unknown): void }[] = [];
  #take: Take | undefined;
  #busy = false;
  #closed = false;

  constructor(most: number) {
    this.#most = most;
  }

  write(text: string): Promise<void> | undefined {
    if (this.#closed)
      return Promise.reject(new EarshotError("connection_closed", "The connection has ended."));
    this.#waiting.push(text);
    this.#pump();
    // Beyond the bound it is the sender that waits; it is told so, and by contract sends no more until it may.
    if (this.#waiting.length <= this.#most) return undefined;
    return new Promise((resolve, reject) => this.#senders.push({ resolve, reject }));
  }

  read(take: Take): void {
    this.#take = take;
    this.#pump();
  }

  close(): void {
    this.#closed = true;
    this.#release();
  }

  drop(): void {
    this.#waiting.length = 0;
    const error = new EarshotError("connection_closed", "The connection was lost.");
    for (const sender of this.#senders.splice(0)) sender.reject(error);
  }

  #pump(): void {
    while (this.#take && !this.#busy && this.#waiting.length > 0) {
      this.#busy = true;
      const wait = this.#take(this.#waiting.shift()!);
      if (wait === undefined) this.#busy = false;
      else {
        const goOn = () => {
          this.#busy = false;
          this.#pump();
        };
        wait.then(goOn, goOn);
      }
    }
    if (this.#waiting.length <= this.#most) this.#release();
  }

  #release(): void {
    for (const sender of this.#senders.splice(0)) sender.resolve();
  }
}
