/**
 * What delivery costs, from the log to a sink in memory, on a clock the benchmark moves. Costs are CPU time of this
 * process, at the margin: what one more delivery, or one more shape, adds to a server that is already busy. The unit is
 * one JSON.stringify of an event of the same log, measured in the same trial. Half of the listeners have a budget that
 * binds, half come late and one by one; both halves overlap. A delivery is an event handed to a sink.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Terms } from "../src/protocol/negotiate.ts";
import { SENTENCE, WORD } from "../src/text/segmenter/scan-state.ts";
import { createSegmenter } from "../src/text/segmenter/segmenter.ts";
import { createFanOut, fill } from "./_fan-out.ts";
import { median, print } from "./_report.ts";
import { createRandom, distinctShape, type Event, mixedRates, type Script, writeScript } from "./_session.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function cpuNanoseconds(work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1000;
}

interface Measured {
  ns: number;
  deliveries: number;
  bytes: number;
  notices: number;
}

/** How late the last listener comes; measuring starts after that. */
const SETTLED_MS = 2000;

async function measure(script: Script, listeners: readonly Terms[], seconds: number): Promise<Measured> {
  const fanOut = createFanOut();
  await fill(fanOut, script, listeners, SETTLED_MS);
  const before = { ...fanOut.tally };
  collect();
  const ns = await cpuNanoseconds(() => fanOut.play(script, SETTLED_MS, SETTLED_MS + seconds * 1000));
  const { deliveries, bytes, notices } = fanOut.tally;
  return {
    ns,
    deliveries: deliveries - before.deliveries,
    bytes: bytes - before.bytes,
    notices: notices - before.notices,
  };
}

const crowd = (size: number, terms: (index: number) => Terms): Terms[] =>
  Array.from({ length: size }, (_, index) => terms(index));

/** Nanoseconds per extra delivery between two crowds. */
const slope = (less: Measured, more: Measured): number =>
  (more.ns - less.ns) / (more.deliveries - less.deliveries);

/** Whole sentences of the log, as they leave: the events a listener gets most. */
const WHOLE = { sessions: 1, sentence_ms: 125, chunks: 1 };
const typical: Event[] = writeScript({ seconds: 8, ...WHOLE })
  .filter(({ event }) => event["type"] === "aaep:agent.output.streaming")
  .map(({ event }, index) => ({ ...event, event_id: `evt_a1B2c3r3${100_000 + index}12Zk9QwXyTu` }));
const typicalBytes = JSON.stringify(typical).length / typical.length;

async function stringifyNs(): Promise<number> {
  const rounds = 400;
  let length = 0;
  const ns = await cpuNanoseconds(() => {
    for (let round = 0; round < rounds; round++)
      for (const event of typical) length += JSON.stringify(event).length;
  });
  if (length === 0) throw new Error("Nothing was written.");
  return ns / rounds / typical.length;
}

/** Medians of interleaved trials, so that a noisy neighbour hits all sizes alike. */
async function deliveryRatios() {
  const seconds = 30;
  const script = writeScript({ seconds: seconds + SETTLED_MS / 1000, ...WHOLE, chunks: 5 });
  const sizes = [100, 1000, 5000, 10_000] as const;
  const crowds = sizes.map((size) => crowd(size, mixedRates));
  const trials: Measured[][] = sizes.map(() => []);
  const unit: number[] = [];
  await measure(script, crowds[1]!, seconds);
  await stringifyNs();
  for (let i = 0; i < 9; i++) {
    unit.push(await stringifyNs());
    for (const [at, listeners] of crowds.entries())
      trials[at]!.push(await measure(script, listeners, seconds));
  }
  const [hundred, thousand, half, whole] = trials.map(
    (runs): Measured => ({ ...runs[0]!, ns: median(runs.map(({ ns }) => ns)) }),
  ) as [Measured, Measured, Measured, Measured];
  const stringify = median(unit);
  const cost = slope(half, whole);
  return {
    stringify,
    cost,
    ratio: cost / stringify,
    growth: slope(thousand, whole) / slope(hundred, thousand),
    small: slope(hundred, thousand),
    large: slope(thousand, whole),
    deliveries: whole.deliveries,
    notices: whole.notices,
    bytes: whole.bytes / whole.deliveries,
  };
}

async function shapeRatios() {
  const seconds = 20;
  const whole = writeScript({ seconds: seconds + SETTLED_MS / 1000, ...WHOLE });
  const tokens = writeScript({ seconds: seconds + SETTLED_MS / 1000, ...WHOLE, chunks: 25 });
  const few = crowd(60, distinctShape);
  const many = crowd(180, distinctShape);
  const spoken = (script: Script) => script.filter(({ at }) => at >= SETTLED_MS).length;
  const perEvent: number[] = [];
  const perEntry: number[] = [];
  const perToken: number[] = [];
  await measure(whole, many, seconds);
  for (let i = 0; i < 7; i++) {
    const stringify = await stringifyNs();
    const [less, more] = [await measure(whole, few, seconds), await measure(whole, many, seconds)];
    perEvent.push(slope(less, more) / stringify);
    perEntry.push((more.ns - less.ns) / (many.length - few.length) / spoken(whole) / stringify);
    if (i % 2 === 1) continue;
    const [lessTokens, moreTokens] = [
      await measure(tokens, few, seconds),
      await measure(tokens, many, seconds),
    ];
    perToken.push((moreTokens.ns - lessTokens.ns) / (many.length - few.length) / spoken(tokens));
  }
  return { perEvent: median(perEvent), perEntry: median(perEntry), perToken: median(perToken) };
}

/** How often an event is written for every hundred handed out: budgets mixed, everyone joins at a random moment. */
async function serializations(): Promise<number> {
  const seconds = 30;
  const script = writeScript({
    seconds: seconds + SETTLED_MS / 1000,
    ...WHOLE,
    chunks: 5,
  });
  const fanOut = createFanOut();
  await fill(fanOut, script, crowd(1000, mixedRates), SETTLED_MS, 1);
  const before = { ...fanOut.tally };
  await fanOut.play(script, SETTLED_MS, SETTLED_MS + seconds * 1000);
  return (100 * (fanOut.tally.written - before.written)) / (fanOut.tally.deliveries - before.deliveries);
}

async function heapPerIdleListener(): Promise<{ bytes: number; join_us: number }> {
  const script = writeScript({ seconds: 2, ...WHOLE });
  const size = 20_000;
  const listeners = crowd(size, mixedRates);
  const bytes: number[] = [];
  const joins: number[] = [];
  for (let i = 0; i < 3; i++) {
    const fanOut = createFanOut();
    fanOut.join(listeners[0]!);
    await fanOut.play(script, 0, 1000);
    const attached = new Array<unknown>(size);
    collect();
    const before = process.memoryUsage().heapUsed;
    const ns = await cpuNanoseconds(() => {
      for (const [index, terms] of listeners.entries()) attached[index] = fanOut.join(terms);
    });
    fanOut.advance(600_000);
    collect();
    bytes.push((process.memoryUsage().heapUsed - before) / attached.length);
    joins.push(ns / 1000 / size);
  }
  return { bytes: median(bytes), join_us: median(joins) };
}

const TEXTS: Record<string, [language: string, text: string]> = {
  latin: [
    "en",
    "I checked three things. The rent is due on 1 May, Dr. Osei moved to 5 p.m., and v2.3.1 is out! Is that all? ",
  ],
  cjk: [
    "zh",
    "我查了三件事。房租五月一日到期，医生改到下午五点，新版本也出来了！就这些吗？还要我再看看别的吗？",
  ],
  arabic: [
    "ar",
    "راجعت ثلاثة أمور. الإيجار مستحق في أول مايو، والطبيب غيّر الموعد إلى الخامسة مساءً. هل هذا كل شيء؟ ",
  ],
  thai: ["th", "ฉันตรวจสอบสามเรื่อง ค่าเช่าครบกำหนดวันที่หนึ่งพฤษภาคม คุณหมอเลื่อนนัดเป็นห้าโมงเย็น มีอะไรอีกไหม "],
};

/** Tokens of 1 to 8 characters through the segmenter, at sentence level and with words too, as the log reads them. */
function tokensPerSecond(): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [name, [language, text]] of Object.entries(TEXTS)) {
    const random = createRandom(3);
    const whole = text.repeat(Math.ceil(200_000 / text.length));
    const tokens: string[] = [];
    for (let at = 0; at < whole.length; ) {
      const length = 1 + Math.floor(random() * 8);
      tokens.push(whole.slice(at, at + length));
      at += length;
    }
    const levels = [
      ["", SENTENCE],
      ["_with_words", WORD],
    ] as const;
    const speeds: [number[], number[]] = [[], []];
    for (let i = 0; i < 9; i++) {
      for (const [level, [, finest]] of levels.entries()) {
        let boundaries = 0;
        const before = process.cpuUsage();
        const segmenter = createSegmenter({ language, finest }, () => void boundaries++);
        for (const token of tokens) segmenter.push(token);
        segmenter.end();
        const { user, system } = process.cpuUsage(before);
        if (boundaries === 0) throw new Error(`No boundary was found in ${name}.`);
        if (i > 1) speeds[level]!.push((tokens.length * 1e6) / (user + system));
      }
    }
    for (const [level, [suffix]] of levels.entries())
      figures[`tokens_per_second_${name}${suffix}`] = median(speeds[level]!);
  }
  return figures;
}

const heap = await heapPerIdleListener();
const delivery = await deliveryRatios();
const shape = await shapeRatios();
const figures = {
  typical_event_bytes: typicalBytes,
  stringify_ns: delivery.stringify,
  delivery_ns: delivery.cost,
  delivery_ns_from_100_to_1000: delivery.small,
  delivery_ns_from_1000_to_10000: delivery.large,
  deliveries_counted_at_10000: delivery.deliveries,
  bytes_per_delivery: delivery.bytes,
  notices_per_1000_deliveries: (1000 * delivery.notices) / delivery.deliveries,
  shape_vs_stringify_per_log_entry: shape.perEntry,
  shape_ns_per_token: shape.perToken,
  serializations_per_100_deliveries: await serializations(),
  heap_bytes_per_idle_subscription: heap.bytes,
  join_cpu_us: heap.join_us,
  ...tokensPerSecond(),
};
print(
  {
    name: "delivery",
    figures,
    ratios: {
      delivery_vs_stringify: delivery.ratio,
      shape_vs_stringify: shape.perEvent,
      growth: delivery.growth,
    },
  },
  { delivery_vs_stringify: "at most 0.2", shape_vs_stringify: "at most 2", growth: "at most 1.5" },
);
