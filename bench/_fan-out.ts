/** Fan-out to many subscriptions: log, store and engine on a clock the benchmark moves, with sinks that count. */
import { Engine } from "../src/delivery/engine.ts";
import type { LaneDelivery } from "../src/delivery/lane.ts";
import { createLog } from "../src/hub/log.ts";
import type { Terms } from "../src/protocol/negotiate.ts";
import { createIds } from "../src/protocol/platform.ts";
import { createMemoryStore } from "../src/stores/memory.ts";
import { createRandom, type Script } from "./_session.ts";

const EVERYTHING = { key: "all", hears: () => true };

/** What all sinks together were handed. */
export interface Tally {
  deliveries: number;
  bytes: number;
  /** Events written as JSON: all others were handed bytes that somebody else had been handed before. */
  written: number;
  /** Summaries, gaps and re-sent questions: made for one listener alone. */
  notices: number;
}

/** Handed an event, it does what any transport must at least do: know its bytes, once for all who get it. */
class CountingSink {
  readonly #tally: Tally;
  constructor(tally: Tally) {
    this.#tally = tally;
  }
  send(delivery: LaneDelivery): undefined {
    if (delivery.frame === undefined) {
      delivery.frame = Buffer.byteLength(delivery.json);
      this.#tally.written++;
    }
    this.#tally.deliveries++;
    this.#tally.bytes += delivery.frame as number;
    if (!delivery.cursor) this.#tally.notices++;
  }
}

export function createFanOut() {
  const tally: Tally = { deliveries: 0, bytes: 0, written: 0, notices: 0 };
  const random = createRandom(5);
  const store = createMemoryStore({ random: (length) => Uint8Array.from({ length }, () => random() * 256) });
  const engine = new Engine({
    log: store.identity,
    now: () => now,
    timestamp: () => new Date(now).toISOString(),
    ids: createIds((length) => Uint8Array.from({ length }, () => random() * 256)),
  });
  let now = 0;
  store.follow(1, (entries) => engine.append(entries));
  const log = createLog({ store });
  /** The clock stops wherever the schedule has an appointment, as a timer would. */
  const advance = (to: number) => {
    while (engine.next <= to) {
      now = Math.max(now, engine.next);
      engine.run();
    }
    now = Math.max(now, to);
  };
  return {
    tally,
    engine,
    join: (terms: Terms) => engine.attach({ sink: new CountingSink(tally), terms, view: EVERYTHING }),
    advance,
    async play(script: Script, from: number, to: number): Promise<void> {
      for (const { at, event } of script) {
        if (at < from || at >= to) continue;
        advance(at);
        await log.append(event);
      }
      advance(to - 1);
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

/** A share of the listeners comes late, one by one, at any millisecond until `until`; the rest is there from the start. */
export async function fill(
  fanOut: FanOut,
  script: Script,
  listeners: readonly Terms[],
  until: number,
  late_share = 0.5,
): Promise<void> {
  const random = createRandom(11);
  const late: { at: number; terms: Terms }[] = [];
  for (const [index, terms] of listeners.entries()) {
    // Neither half of the budgets is always the late one.
    if ((index % 4) / 4 < 1 - late_share) fanOut.join(terms);
    else late.push({ at: 1 + Math.floor(random() * (until - 1)), terms });
  }
  late.sort((a, b) => a.at - b.at);
  let from = 0;
  for (const { at, terms } of late) {
    if (at > from) await fanOut.play(script, from, at);
    from = at;
    fanOut.join(terms);
  }
  await fanOut.play(script, from, until);
}
