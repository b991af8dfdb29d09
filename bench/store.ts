/**
 * What it costs to keep things. Durable appends, one after another and many at a time, beside a bare loop of write and
 * fdatasync on the same disk with the same bytes, and beside libsql (WAL, synchronous=FULL): entries a second, because
 * there the disk is what one waits for. Trials alternate, so that a noisy neighbour hits all alike; figures are medians.
 *
 * Then a talk to 1,000 listeners of mixed rates, its log on disk, beside the same talk with its log in memory: four
 * sessions at once, a sentence every eighth of a second in five chunks, twenty seconds of it, said without waiting for
 * each chunk to be safe. A machine that others use too has no steady wall time, so the ratio is of deliveries per second
 * of CPU, all threads of this process, the writes included; events per second by the clock on the wall are beside it.
 */

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { Engine } from "../src/delivery/engine.ts";
import { createLog } from "../src/hub/log.ts";
import type { LogEntry, LogStore } from "../src/hub/store.ts";
import { createProducer, hubOf } from "../src/producer/producer.ts";
import { createIds } from "../src/protocol/platform.ts";
import { openEmbeddedStore } from "../src/stores/embedded/index.ts";
import { createMemoryStore } from "../src/stores/memory.ts";
import { median, print } from "./_report.ts";
import { mixedRates, writeScript } from "./_session.ts";

const folder = mkdtempSync(join(process.env["EARSHOT_BENCH_DIR"] ?? tmpdir(), "earshot-bench-store-"));
let places = 0;
const place = (): string => join(folder, `place-${++places}`);

const script = writeScript({ seconds: 60, sessions: 4, sentence_ms: 125, chunks: 5 });
/** A part of it is enough for a talk, so that there can be many by turns. */
const said = script.filter(({ at }) => at < 20_000);
const entries = (count: number, from = 0): LogEntry[] =>
  Array.from({ length: count }, (_, i) => ({
    seq: from + i + 1,
    event: { ...script[(from + i) % script.length]!.event, event_id: `evt_${from + i}` } as never,
  }));
const encoded = (list: readonly LogEntry[]): Buffer[] =>
  list.map((entry) => Buffer.from(JSON.stringify(entry)));

/** How many calls are under way at a time: what a busy agent with many sessions has. */
const TOGETHER = 64;
/** Events an agent may have said that are not on disk yet. */
const UNDER_WAY = 1024;
/** Short, many and alternating: a disk that others use too is never the same for long. */
const GROUPS = 12;
const TRIALS = 60;

const seconds = async (work: () => Promise<void> | void): Promise<number> => {
  const before = performance.now();
  await work();
  return (performance.now() - before) / 1000;
};

/** Something that keeps entries, each group of them acknowledged before the next. */
interface Keeper {
  keep(group: readonly LogEntry[]): Promise<void> | void;
  close(): Promise<void> | void;
}

async function embedded(): Promise<Keeper> {
  const store = await openEmbeddedStore({ directory: place() });
  return {
    keep: async (group) => void (await Promise.all(group.map((entry) => store.append([entry])))),
    close: () => store.close(),
  };
}

/** No log can be faster than this and keep its word: one write and one sync for each group. */
function bare(): Keeper {
  const file = openSync(place(), "a");
  return {
    keep(group) {
      writeSync(file, Buffer.concat(encoded(group)));
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}

function libsql(): Keeper {
  const database = new Database(place());
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE log (seq INTEGER PRIMARY KEY, entry TEXT NOT NULL)");
  const insert = database.prepare("INSERT INTO log VALUES (?, ?)");
  return {
    keep(group) {
      database.exec("BEGIN");
      for (const entry of group) insert.run(entry.seq, JSON.stringify(entry));
      database.exec("COMMIT");
    },
    close: () => void database.close(),
  };
}

interface Talk {
  readonly deliveries_per_cpu_second: number;
  readonly events_per_second: number;
}

/** To 1,000 listeners in this process, as fast as the log takes it. */
async function talk(open: () => Promise<{ store: LogStore; close: () => Promise<void> }>): Promise<Talk> {
  const { store, close } = await open();
  let now = 0;
  const engine = new Engine({
    log: store.identity,
    now: () => now,
    timestamp: () => new Date(now).toISOString(),
    ids: createIds(),
  });
  let deliveries = 0;
  const sink = {
    send(delivery: { json: string; frame?: unknown }): undefined {
      delivery.frame ??= Buffer.byteLength(delivery.json);
      deliveries++;
    },
  };
  const view = { key: "all", hears: () => true };
  for (let i = 0; i < 1000; i++) engine.attach({ sink: sink as never, terms: mixedRates(i), view });
  store.follow(1, (entries) => engine.append(entries));
  const log = createLog({ store });
  const before = process.cpuUsage();
  const took = await seconds(async () => {
    const pending: Promise<number>[] = [];
    for (const { at, event } of said) {
      // Said as tokens come, without waiting for each: only so many may be on their way.
      if (pending.length >= UNDER_WAY) await pending.shift();
      if (at > now) {
        while (engine.next <= at) {
          now = Math.max(now, engine.next);
          engine.run();
        }
        now = at;
      }
      pending.push(log.append(event));
    }
    await Promise.all(pending);
  });
  const { user, system } = process.cpuUsage(before);
  await close();
  if (deliveries < said.length * 50) throw new Error(`Only ${deliveries} deliveries.`);
  return {
    deliveries_per_cpu_second: deliveries / ((user + system) / 1e6),
    events_per_second: said.length / took,
  };
}

const onDisk = async () => {
  const store = await openEmbeddedStore({ directory: place() });
  return { store, close: () => store.close() };
};
const inMemory = async () => ({ store: createMemoryStore(), close: async () => {} });

const results: Record<string, number[]> = {};
const note = (name: string, result: number) => {
  results[name] = [...(results[name] ?? []), result];
};

/** Entries a second, for each keeper by turns; the first tenth warms up. */
async function compare(kind: string, together: number): Promise<void> {
  const keepers = { embedded: await embedded(), bare: bare(), libsql: libsql() };
  for (let trial = 0; trial < TRIALS; trial++) {
    const list = entries(GROUPS * together, trial * GROUPS * together);
    for (const [name, keeper] of Object.entries(keepers)) {
      const took = await seconds(async () => {
        for (let i = 0; i < list.length; i += together) await keeper.keep(list.slice(i, i + together));
      });
      if (trial >= TRIALS / 10) note(`${kind}_${name}`, list.length / took);
    }
  }
  for (const keeper of Object.values(keepers)) await keeper.close();
}

await compare("single", 1);
await compare("group", TOGETHER);
for (let trial = 0; trial < 32; trial++) {
  const [disk, memory] = [await talk(onDisk), await talk(inMemory)];
  if (trial < 2) continue;
  for (const [name, { deliveries_per_cpu_second, events_per_second }] of Object.entries({ disk, memory })) {
    note(`talk_${name}_deliveries_per_cpu_second`, deliveries_per_cpu_second);
    note(`talk_${name}_events`, events_per_second);
  }
}
const figure = (name: string): number => median([...results[name]!]);
/** The median of each trial's own ratio: both sides of it met the same moment. */
const ratio = (one: string, other: string): number =>
  median(results[one]!.map((value, i) => value / results[other]![i]!));

/** Until an agent stands on it again: by the clock on the wall, and of CPU. */
async function reopen(): Promise<{ wall: number; cpu: number }> {
  const directory = place();
  const many = entries(100_000);
  const store = await openEmbeddedStore({ directory, durability: "none" });
  for (let i = 0; i < many.length; i += 1000) await store.append(many.slice(i, i + 1000));
  await store.close();
  const before = process.cpuUsage();
  const wall = await seconds(async () => {
    const again = await openEmbeddedStore({ directory });
    const hub = hubOf(createProducer({ agent_id: "org.example.bench", store: again, warn: () => {} }));
    if (hub.engine.window.next !== many.length + 1) throw new Error("Not everything came back.");
    await again.close();
  });
  const { user, system } = process.cpuUsage(before);
  return { wall, cpu: (user + system) / 1e6 };
}

const reopened = await reopen();
print(
  {
    name: "store",
    figures: {
      ...Object.fromEntries(
        Object.keys(results).map((name) => [
          name.endsWith("_second") ? name : `${name}_per_second`,
          figure(name),
        ]),
      ),
      entry_bytes: JSON.stringify(entries(1000)).length / 1000,
      reopen_100000_entries_seconds: reopened.wall,
      reopen_100000_entries_cpu_seconds: reopened.cpu,
    },
    ratios: {
      group_vs_bare_log: ratio("group_embedded", "group_bare"),
      single_vs_bare_log: ratio("single_embedded", "single_bare"),
      group_vs_libsql: ratio("group_embedded", "group_libsql"),
      single_vs_libsql: ratio("single_embedded", "single_libsql"),
      embedded_vs_memory: ratio(
        "talk_disk_deliveries_per_cpu_second",
        "talk_memory_deliveries_per_cpu_second",
      ),
      embedded_vs_memory_wall: ratio("talk_disk_events", "talk_memory_events"),
    },
  },
  { group_vs_bare_log: "at least 0.7", embedded_vs_memory: "at least 0.8" },
);
rmSync(folder, { recursive: true, force: true });
