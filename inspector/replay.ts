/**
 * A recording, event by event, as each listener would have got it: the same engine that delivers for an agent, on a clock
 * that follows the recording. Nothing is sent anywhere.
 */
import { type Attachment, Engine, encodeEventId } from "../src/delivery/index.ts";
import {
  type AgentEvent,
  type Capabilities,
  createIds,
  resolveTerms,
  type Terms,
} from "../src/protocol/index.ts";
import type { Board } from "./board.ts";
import { readMessage } from "./heard.ts";
import { type ListenerKind, RAW } from "./listeners.ts";
import type { Source } from "./source.ts";

const LOG = { epoch: "replay", key: 1 };
/** What is left to deliver after the last event is waited for so long, on the recording's clock. */
const LAST_WORDS_MS = 600_000;
/** Work for so long, then let the page breathe. */
const SLICE_MS = 24;

/** The lines of a recording that hold something. */
export const linesIn = (text: string): string[] =>
  text
    .replace(/^\ufeff/, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export class Replay implements Source {
  readonly #board: Board;
  readonly #lines: readonly string[];
  readonly #wishes: Capabilities[];
  #engine!: Engine;
  #lanes: (Attachment | undefined)[] = [];
  #next = 0;
  #seq = 0;
  #now = 0;
  #stopped = false;

  constructor(board: Board, lines: readonly string[], kinds: readonly ListenerKind[]) {
    this.#board = board;
    this.#lines = lines;
    this.#wishes = kinds.map(({ capabilities }) => capabilities);
    this.restart();
  }

  get length(): number {
    return this.#lines.length;
  }
  get place(): number {
    return this.#next;
  }

  restart(): void {
    this.#board.clear();
    this.#next = this.#seq = 0;
    this.#now = 0;
    this.#engine = new Engine({
      log: LOG,
      now: () => this.#now,
      timestamp: () => new Date(this.#now).toISOString(),
      ids: createIds(),
    });
    this.#lanes = this.#wishes.map((wish, index) => {
      this.#board.columns[index]!.terms(wish);
      return index === RAW ? undefined : this.#attach(index, wish);
    });
  }

  /** At most so many events further; gives the type of the last one. */
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
    if (this.#next === this.#lines.length) this.#until(this.#now + LAST_WORDS_MS);
    return last;
  }

  async renegotiate(index: number, capabilities: Capabilities): Promise<Capabilities> {
    const wish = { ...this.#wishes[index], ...capabilities };
    this.#wishes[index] = wish;
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
          this.#board.hear(index, { at: this.#now, text: json, event: JSON.parse(json) as AgentEvent });
          return undefined;
        },
      },
      terms: this.#terms(wish),
      view: { key: "all", hears: () => true },
    });
  }

  /** Gives the event's type. */
  #play(line: string): string {
    const { event, type, issues } = readMessage(line);
    if (!event) {
      this.#board.hear(RAW, { at: this.#now, text: line, event, issues });
      return type ?? "something unreadable";
    }
    const at = Date.parse(event.timestamp);
    // A clock that was set back must not turn the order around.
    if (at > this.#now) this.#until(at);
    this.#now = Math.max(this.#now, at || 0);
    this.#board.hear(RAW, { at: this.#now, text: line, event, issues });
    const seq = ++this.#seq;
    const event_id = encodeEventId(LOG, seq);
    this.#engine.append([{ seq, event: { ...event, event_id } as AgentEvent }]);
    this.#board.pump(this.#now);
    return event.type;
  }

  /** Everything that is due by then goes out at its time. */
  #until(at: number): void {
    while (this.#engine.next <= at) {
      this.#now = this.#engine.next;
      this.#engine.run();
      this.#board.pump(this.#now);
    }
  }
}
