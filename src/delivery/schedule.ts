/** One schedule for all subscriptions: whoever waits lies in the slot of its millisecond; slots are found by a heap. */
export class Schedule<Item> {
  readonly #slots = new Map<number, Item[]>();
  /** A binary heap of the slots in use. */
  readonly #times: number[] = [];

  /** Answers with the slot: an item may be added again, and whoever takes it can tell the valid appointment. */
  add(item: Item, at: number): number {
    const time = Math.max(1, Math.ceil(at));
    const slot = this.#slots.get(time);
    if (slot) slot.push(item);
    else {
      this.#slots.set(time, [item]);
      this.#push(time);
    }
    return time;
  }

  /** When something falls due next; Infinity if nothing waits. */
  get next(): number {
    return this.#times[0] ?? Infinity;
  }

  /** Takes everything that is due. */
  *due(now: number): Iterable<[item: Item, at: number]> {
    while (this.next <= now) {
      const time = this.#pop();
      const slot = this.#slots.get(time)!;
      this.#slots.delete(time);
      for (const item of slot) yield [item, time];
    }
  }

  #push(time: number): void {
    const heap = this.#times;
    let at = heap.push(time) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= time) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = time;
  }

  #pop(): number {
    const heap = this.#times;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
        if (heap[child]! >= last) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
    }
    return top;
  }
}
