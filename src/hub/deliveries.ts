/** From what was announced to whoever hears it: one engine, and one timer for all deliveries that wait for their moment. */
import { Engine } from "../delivery/engine.ts";
import type { LogEntry } from "../delivery/entry.ts";
import type { ExtensionRegistry } from "../delivery/shape.ts";
import type { Clock } from "../protocol/clock.ts";
import { Digest } from "./digest.ts";
import type { HubOptions } from "./options.ts";

export class Deliveries {
  readonly engine: Engine;
  readonly #clock: Clock;
  readonly #digest: Digest;
  readonly #leave: () => void;
  #timer: { at: number; cancel: () => void } | undefined;

  /** Begins with what the log holds already. */
  constructor(options: HubOptions, registry: ExtensionRegistry, history: readonly LogEntry[]) {
    const { store, clock, ids, phrases, backplane } = options;
    this.#clock = clock;
    this.#digest = new Digest(phrases);
    this.engine = new Engine({
      log: store.identity,
      now: () => clock.now(),
      timestamp: () => clock.timestamp(),
      ids,
      registry,
      words: this.#digest,
    });
    this.#hear(history);
    this.#leave = backplane.listen((entries) => this.#hear(entries));
  }

  #hear(entries: readonly LogEntry[]): void {
    this.#digest.feed(entries);
    this.engine.append(entries);
    this.arm();
  }

  /** After anything that may have moved the next appointment. */
  arm(): void {
    const at = this.engine.next;
    if (this.#timer?.at === at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at === Infinity) return;
    const cancel = this.#clock.timer(at, () => {
      this.#timer = undefined;
      this.engine.run();
      this.arm();
    });
    this.#timer = { at, cancel };
  }

  stop(): void {
    this.#leave();
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
