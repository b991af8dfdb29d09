/** Events on their way to whoever iterates, by hand and not by a generator: a token in the queue takes no detour. */

export interface MailboxOptions<Item> {
  /** Most items waiting; beyond this the oldest goes. */
  readonly most: number;
  /** Called whenever somebody asks for an item. */
  readonly asked: () => void;
  /** Gone unread, although somebody iterates. */
  readonly lost: (item: Item) => void;
}

type Asked<Item> = (result: IteratorResult<Item>) => void;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

export class Mailbox<Item> {
  readonly #options: MailboxOptions<Item>;
  readonly #queue: Item[] = [];
  /** Who waits, first come first served; while somebody does, the queue is empty. */
  readonly #asked = new Set<Asked<Item>>();
  #iterating = false;
  #ended = false;

  constructor(options: MailboxOptions<Item>) {
    this.#options = options;
  }

  put(item: Item): void {
    if (this.#asked.size > 0) for (const hand of this.#asked) return hand({ value: item, done: false });
    if (this.#queue.length >= this.#options.most) {
      const oldest = this.#queue.shift()!;
      if (this.#iterating) this.#options.lost(oldest);
    }
    this.#queue.push(item);
  }

  /** Nothing more comes; what waits can still be read. */
  end(): void {
    this.#ended = true;
    for (const hand of this.#asked) hand(DONE);
  }

  iterate(): AsyncIterableIterator<Item> {
    const own = new Set<Asked<Item>>();
    let over = false;
    const stop = (): Promise<IteratorResult<Item>> => {
      over = true;
      this.#iterating = false;
      for (const hand of own) hand(DONE);
      return Promise.resolve(DONE);
    };
    const next = (): Promise<IteratorResult<Item>> => {
      if (over) return Promise.resolve(DONE);
      this.#iterating = true;
      this.#options.asked();
      if (this.#queue.length > 0) return Promise.resolve({ value: this.#queue.shift()!, done: false });
      if (this.#ended) return stop();
      return new Promise((resolve) => {
        const hand: Asked<Item> = (result) => {
          own.delete(hand);
          this.#asked.delete(hand);
          resolve(result);
        };
        own.add(hand);
        this.#asked.add(hand);
      });
    };
    const iterator = { next, return: stop, [Symbol.asyncIterator]: () => iterator };
    return iterator;
  }
}
