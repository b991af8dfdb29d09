/**
 * Replays a recording as each listener would have received it: through the delivery engine of a producer, on a clock that
 * follows the recording. Nothing is sent anywhere.
 */
import { type Attachment, Engine, encodeEventId } from "../src/delivery/index.ts";
import {
  type AgentEvent,
  type Capabilities,
  createIds,
  resolveTerms,
  type Terms,
} from "../src/protocol/index.ts";
import type { Dashboard } from "./dashboard.ts";
import { type ListenerKind, RAW } from "./listeners.ts";
import { readMessage } from "./messages.ts";
import type { Source } from "./sources.ts";

const LOG = { epoch: "replay", key: 1 };
/** How far the clock goes on after the last event, for what is still to be delivered. */
const DRAIN_MS = 600_000;
/** Yields to the page after working this long. */
const SLICE_MS = 24;

/** The non-empty lines of a recording. */
export const linesIn = (text: string): string[] =>
  text
    .replace(/^\ufeff/, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export class Replay implements Source {
  readonly #dashboard: Dashboard;
  readonly #lines: readonly string[];
  readonly #requested: Capabilities[];
  #engine!: Engine;
  #lanes: (Attachment | undefined)[] = [];
  #next = 0;
  #seq = 0;
  #now = 0;
  #stopped = false;

  constructor(dashboard: Dashboard, lines: readonly string[], kinds: readonly ListenerKind[]) {
    this.#dashboard = dashboard;
    this.#lines = lines;
    this.#requested = kinds.map(({ capabilities }) => capabilities);
    this.restart();
  }

  get length(): number {
    return this.#lines.length;
  }
  get position(): number {
    return this.#next;
  }

  restart(): void {
    this.#dashboard.clear();
    this.#next = this.#seq = 0;
    this.#now = 0;
    this.#engine = new Engine({
      log: LOG,
      now: () => this.#now,
      timestamp: () => new Date(this.#now).toISOString(),
      ids: createIds(),
    });
    this.#lanes = this.#requested.map((wish, index) => {
      this.#dashboard.columns[index]!.terms(wish);
      return index === RAW ? undefined : this.#attach(index, wish);
    });
  }

  /** Plays up to `count` events; resolves to the type of the last one. */
  async forward(count: number): Promise<string | undefined> {
    const end = Math.min(this.#lines.length, this.#next + count);
    let last: string | undefined;
    let began = performance.now();
    while (this.#next < end && !this.#stopped) {
      last = this.#play(this.#lines[this.#next++]!);
      if (performance.now() - began < SLICE_MS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      began = performance.now();
    }
    if (this.#next === this.#lines.length) this.#advanceTo(this.#now + DRAIN_MS);
    return last;
  }

  async renegotiate(index: number, capabilities: Capabilities): Promise<Capabilities> {
    const wish = { ...this.#requested[index], ...capabilities };
    this.#requested[index] = wish;
    this.#lanes[index]?.renegotiate(this.#terms(wish));
    return wish;
  }

  stop(): void {
    this.#stopped = true;
  }

  #terms(wish: Capabilities): Terms {
    return resolveTerms(
      {
        supports_confirmation_reply: true,
        supports_clarification_reply: true,
        supported_conformance_levels: [1, 2, 3],
        ...wish,
      },
      {},
    );
  }

  #attach(index: number, wish: Capabilities): Attachment {
    return this.#engine.attach({
      sink: {
        send: ({ json }) => {
          this.#dashboard.add(index, { at: this.#now, text: json, event: JSON.parse(json) as AgentEvent });
          return undefined;
        },
      },
      terms: this.#terms(wish),
      view: { key: "all", hears: () => true },
    });
  }

  /** Returns the event's type. */
  #play(line: string): string {
    const { event, type, issues } = readMessage(line);
    if (!event) {
      this.#dashboard.add(RAW, { at: this.#now, text: line, event, issues });
      return type ?? "something unreadable";
    }
    const at = Date.parse(event.timestamp);
    // Timestamps may go backwards; the order of events does not.
    if (at > this.#now) this.#advanceTo(at);
    this.#now = Math.max(this.#now, at || 0);
    this.#dashboard.add(RAW, { at: this.#now, text: line, event, issues });
    const seq = ++this.#seq;
    const event_id = encodeEventId(LOG, seq);
    this.#engine.append([{ seq, event: { ...event, event_id } as AgentEvent }]);
    this.#dashboard.pump(this.#now);
    return event.type;
  }

  /** Advances the clock, delivering what is due on the way. */
  #advanceTo(at: number): void {
    while (this.#engine.next <= at) {
      this.#now = this.#engine.next;
      this.#engine.run();
      this.#dashboard.pump(this.#now);
    }
  }
}
