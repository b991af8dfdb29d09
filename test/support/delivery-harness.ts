/**
 * A small world for delivery: one clock, one log, an engine over it, and listeners that join, lose their line after any
 * prefix of what was sent, come back under the same or other terms, and change their minds. Nothing sleeps.
 */
import { Engine } from "../../src/delivery/engine.ts";
import type { LogEntry } from "../../src/delivery/entry.ts";
import type { LaneDelivery, View } from "../../src/delivery/lane.ts";
import { createLog } from "../../src/hub/log.ts";
import type { Terms } from "../../src/protocol/negotiate.ts";
import { createIds } from "../../src/protocol/platform.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";

export const REGISTRY = {
  earshot: "https://earshot.example/context/v1",
  medai: "https://medai.example/context/v1",
};

/** Bytes that look random and are not. */
function countingBytes(seed = 1): (length: number) => Uint8Array {
  let state = seed;
  return (length) =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    });
}

export const viewOf = (sessions?: readonly string[]): View => ({
  key: sessions ? [...sessions].sort().join() : "*",
  hears: (track) => !sessions || sessions.includes(track.session_id),
});

/** One thing that happened on a line, in order. */
export type Moment =
  | {
      readonly what: "attach";
      readonly start: string;
      readonly terms: Terms;
      readonly at: number;
      readonly known: ReadonlySet<string>;
    }
  | {
      readonly what: "terms";
      readonly terms: Terms;
      readonly at: number;
      readonly known: ReadonlySet<string>;
    }
  | {
      readonly what: "sent";
      readonly delivery: LaneDelivery;
      readonly event: AgentEvent;
      readonly terms: Terms;
      readonly at: number;
    };

export class Listener {
  readonly name: string;
  readonly view: View;
  terms: Terms;
  /** What arrived, over all its connections. */
  readonly heard: Moment[] = [];
  /** What was sent over earlier connections, arrived or not. */
  readonly wire: Moment[] = [];
  /** What was sent over the present connection; it may be lost on the way. */
  line: Moment[] = [];
  attachment: ReturnType<Engine["attach"]> | undefined;
  /** Whether the sink asks to wait, and how to let it go on. */
  blocks = false;
  release: (() => void) | undefined;
  onSend: ((delivery: LaneDelivery) => void) | undefined;

  constructor(name: string, view: View, terms: Terms) {
    this.name = name;
    this.view = view;
    this.terms = terms;
  }

  /** Everything so far, what is still on its way included. */
  get moments(): Moment[] {
    return [...this.heard, ...this.line];
  }

  get sent(): Extract<Moment, { what: "sent" }>[] {
    return this.moments.filter((moment) => moment.what === "sent");
  }

  get events(): AgentEvent[] {
    return this.sent.map(({ event }) => event);
  }
}

export interface WorldOptions {
  readonly lagBound?: number;
  readonly window?: number;
  readonly seed?: number;
}

export class World {
  now = 1000;
  readonly entries: LogEntry[] = [];
  readonly listeners: Listener[] = [];
  readonly sessions = new Set<string>();
  readonly store;
  readonly log;
  engine: Engine;
  /** Deliveries that reached listeners of two views: there must be none. */
  readonly shared: LaneDelivery[] = [];
  readonly #owners = new WeakMap<LaneDelivery, string>();
  readonly #options: WorldOptions;
  readonly #ids;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#ids = createIds(countingBytes(options.seed ?? 7));
    this.store = createMemoryStore({ random: countingBytes(3) });
    this.engine = this.#engine();
    this.store.follow(1, (entries) => {
      this.entries.push(...entries);
      for (const { event } of entries) this.sessions.add(event.session_id);
      this.engine.append(entries);
    });
    this.log = createLog({ store: this.store });
  }

  #engine(): Engine {
    const { lagBound, window } = this.#options;
    return new Engine({
      log: this.store.identity,
      now: () => this.now,
      timestamp: () => new Date(Date.UTC(2026, 5, 1) + this.now).toISOString(),
      ids: this.#ids,
      registry: REGISTRY,
      ...(lagBound === undefined ? {} : { lagBound }),
      ...(window === undefined ? {} : { window }),
    });
  }

  async say(event: object, options?: { required?: boolean; audience?: readonly string[] }): Promise<void> {
    const { event_id: _, ...rest } = event as Record<string, unknown>;
    await this.log.append(rest, options);
  }

  /** Lets time pass, with every appointment kept on the millisecond. */
  pass(ms: number): void {
    const until = this.now + ms;
    while (this.engine.next <= until) {
      this.now = Math.max(this.now, this.engine.next);
      this.engine.run();
    }
    this.now = until;
  }

  listener(name: string, terms: Terms, sessions?: readonly string[]): Listener {
    const listener = new Listener(name, viewOf(sessions), terms);
    this.listeners.push(listener);
    return listener;
  }

  attach(listener: Listener, resume?: { event_id: string; previous?: Terms }): string {
    // A line's own moments: what a dead connection still gets is nobody's.
    const line: Moment[] = [];
    listener.line = line;
    const { terms } = listener;
    const known = new Set(this.sessions);
    const opening = { what: "attach" as const, start: "", terms, at: this.now, known };
    line.push(opening);
    listener.attachment = this.engine.attach({
      terms,
      view: listener.view,
      ...(resume ? { resume } : {}),
      sink: {
        send: (delivery) => {
          const event = JSON.parse(delivery.json) as AgentEvent;
          if ((this.#owners.get(delivery) ?? listener.view.key) !== listener.view.key)
            this.shared.push(delivery);
          this.#owners.set(delivery, listener.view.key);
          line.push({ what: "sent", delivery, event, terms: listener.terms, at: this.now });
          listener.onSend?.(delivery);
          if (!listener.blocks || listener.line !== line) return undefined;
          return new Promise<void>((resolve) => {
            listener.release = resolve;
          });
        },
      },
    });
    line[0] = { ...opening, start: listener.attachment.start };
    return listener.attachment.start;
  }

  /** The line breaks: the last `lost` of what was sent on it never arrived. */
  cut(listener: Listener, lost = 0): void {
    listener.attachment?.detach();
    listener.attachment = undefined;
    const { line } = listener;
    listener.line = [];
    listener.release = undefined;
    listener.wire.push(...line);
    listener.heard.push(...line.slice(0, Math.max(1, line.length - lost)));
  }

  /** Where a listener would go on: the last event it has that is a cursor, and the terms that came under. */
  cursorOf(listener: Listener): { event_id: string; previous: Terms } | undefined {
    const last = listener.sent.filter(({ delivery }) => delivery.cursor).at(-1);
    return last && { event_id: last.delivery.event_id, previous: last.terms };
  }

  renegotiate(listener: Listener, terms: Terms): void {
    listener.terms = terms;
    listener.line.push({ what: "terms", terms, at: this.now, known: new Set(this.sessions) });
    listener.attachment?.renegotiate(terms);
  }

  async unblock(listener: Listener): Promise<void> {
    const { release } = listener;
    listener.release = undefined;
    release?.();
    // A promise and whoever waits for it.
    await Promise.resolve();
    await Promise.resolve();
  }

  /** The process dies; another one reads the log. All lines are lost. */
  restart(): void {
    for (const listener of this.listeners) if (listener.attachment) this.cut(listener);
    this.engine = this.#engine();
    this.engine.append(this.entries);
  }

  /** Everyone reads again, and time passes until nobody waits. */
  async settle(): Promise<void> {
    for (const listener of this.listeners) listener.blocks = false;
    for (let i = 0; i < 10_000; i++) {
      for (const listener of this.listeners) if (listener.release) await this.unblock(listener);
      if (this.engine.next === Infinity) {
        // Always the same hour, however long the last one took.
        this.now = Math.ceil((this.now + 1) / 1e7) * 1e7;
        return;
      }
      this.pass(Math.max(0, this.engine.next - this.now));
    }
    throw new Error("The world never came to rest.");
  }
}
