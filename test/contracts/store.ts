/** What every log store promises, whatever it is made of. Run over each implementation. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLog } from "../../src/hub/log.ts";
import type { Fact, LogEntry, LogStore } from "../../src/hub/store.ts";
import { createWriter } from "../support/legal-session.ts";

export const entry = (
  seq: number,
  text = `entry ${seq}`,
  fields: Record<string, unknown> = {},
): LogEntry => ({
  seq,
  event: {
    type: "aaep:agent.session.started",
    event_id: `evt_${seq}`,
    session_id: "sess_1",
    summary_normal: text,
    ...fields,
  } as never,
});

export const fact = (kind: string, key: string, value: unknown): Fact => ({ kind, key, value });

export async function readAll(store: Pick<LogStore, "read">, from = 1): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of store.read(from)) seqs.push(seq);
  return seqs;
}

const seqsOf = (entries: readonly LogEntry[]) => entries.map(({ seq }) => seq);

/** Collects the positions that a follower receives. */
function followFrom(store: LogStore, from: number) {
  const received: number[] = [];
  const stop = store.follow(from, (entries) => void received.push(...seqsOf(entries)));
  return { received, stop };
}

export interface OpenedStore {
  readonly store: LogStore;
  close(): Promise<void>;
}

export function storeContract(name: string, open: () => Promise<OpenedStore>): void {
  const using = async (work: (store: LogStore) => Promise<void>) => {
    const { store, close } = await open();
    try {
      await work(store);
    } finally {
      await close();
    }
  };

  describe(`a log store: ${name}`, () => {
    it("keeps what it acknowledged, in order", () =>
      using(async (store) => {
        await store.append([entry(1), entry(2)]);
        await store.append([entry(3)]);
        expect(await readAll(store)).toEqual([1, 2, 3]);
        expect(await readAll(store, 3)).toEqual([3]);
        expect(store.recent().map(({ seq }) => seq)).toEqual([1, 2, 3]);
      }));

    it("answers calls in the order they were made, however many are under way", () =>
      using(async (store) => {
        const answered: number[] = [];
        await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            store
              .append([entry(i + 1)], i % 3 === 0 ? [fact("kind", `key ${i}`, i)] : [])
              .then(() => answered.push(i + 1)),
          ),
        );
        expect(answered).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
        expect(await readAll(store)).toHaveLength(200);
      }));

    it("gives entries and facts back exactly, whatever their text", () =>
      using(async (store) => {
        const text = 'Ẹ ku àárọ̀ 😀 "quoted" \\ \u0000 \u2028 line\nbreak';
        const odd = entry(1, text);
        await store.append([odd], [fact("__proto__", "constructor", { [text]: [text, 1e21, false] })]);
        for await (const found of store.read(1)) expect(found).toEqual(odd);
        expect(store.facts("__proto__")).toEqual([
          { kind: "__proto__", key: "constructor", value: { [text]: [text, 1e21, false] } },
        ]);
      }));

    it("has an identity that ids can be made of", () =>
      using(async (store) => {
        expect(store.identity.epoch).toMatch(/^[A-Za-z0-9]{6}$/);
        expect(Number.isInteger(store.identity.key)).toBe(true);
      }));

    it("answers with the position of the first entry", () =>
      using(async (store) => {
        const answers = [
          store.append([entry(1), entry(2)]),
          store.append([], [fact("kind", "key", 1)]),
          store.append([entry(3)]),
          store.append([]),
        ];
        expect(await Promise.all(answers)).toEqual([1, 3, 3, 4]);
      }));

    it("passes every entry to every follower, once and in order", () =>
      using(async (store) => {
        const followers = [followFrom(store, 1), followFrom(store, 1), followFrom(store, 1)];
        await Promise.all([store.append([entry(1), entry(2)]), store.append([]), store.append([entry(3)])]);
        for (const { received } of followers) expect(received).toEqual([1, 2, 3]);
      }));

    it("passes an entry whole to followers, with what is not for the wire", () =>
      using(async (store) => {
        const whole: LogEntry = { ...entry(1, "Ẹ ku àárọ̀ 😀"), audience: ["user:ada"], required: true };
        const received: LogEntry[] = [];
        store.follow(1, (entries) => void received.push(...entries));
        await store.append([whole]);
        expect(received).toEqual([whole]);
      }));

    it("gives a follower what is stored already first, from the position it names", () =>
      using(async (store) => {
        await store.append([entry(1), entry(2), entry(3)]);
        const [all, two, four] = [followFrom(store, 1), followFrom(store, 2), followFrom(store, 4)];
        expect([all.received, two.received, four.received]).toEqual([[1, 2, 3], [2, 3], []]);
        await store.append([entry(4)]);
        expect([all.received, two.received, four.received]).toEqual([[1, 2, 3, 4], [2, 3, 4], [4]]);
      }));

    it("gives a follower nothing before the position it names", () =>
      using(async (store) => {
        const { received } = followFrom(store, 3);
        await store.append([entry(1)]);
        await store.append([entry(2), entry(3)]);
        expect(received).toEqual([3]);
      }));

    it("passes a follower that stopped nothing more, however often it stops", () =>
      using(async (store) => {
        const first = followFrom(store, 1);
        await store.append([entry(1)]);
        const second = followFrom(store, 2);
        await store.append([entry(2)]);
        first.stop();
        first.stop();
        await store.append([entry(3)]);
        expect(first.received).toEqual([1, 2]);
        expect(second.received).toEqual([2, 3]);
      }));

    it("lets nothing a follower throws affect the others, what it receives next, or the append", () =>
      using(async (store) => {
        const before = followFrom(store, 1);
        const received: number[] = [];
        store.follow(1, (entries) => {
          received.push(...seqsOf(entries));
          throw new Error("a broken follower");
        });
        const after = followFrom(store, 1);
        for (let seq = 1; seq <= 3; seq++) expect(await store.append([entry(seq)])).toBe(seq);
        for (const one of [before.received, received, after.received]) expect(one).toEqual([1, 2, 3]);
      }));

    it("keeps the order for everyone when a follower appends, follows or stops while it receives", () =>
      using(async (store) => {
        const early = followFrom(store, 1);
        let late: ReturnType<typeof followFrom> | undefined;
        const appended: Promise<number>[] = [];
        store.follow(1, (entries) => {
          const [first] = seqsOf(entries);
          if (first !== 1) return;
          appended.push(store.append([entry(2)]));
          late = followFrom(store, 3);
          appended.push(store.append([entry(3)]));
          stopping.stop();
        });
        const stopping = followFrom(store, 1);
        const last = followFrom(store, 1);
        await store.append([entry(1)]);
        await Promise.all(appended);
        expect(early.received).toEqual([1, 2, 3]);
        expect(last.received).toEqual([1, 2, 3]);
        expect(late!.received).toEqual([3]);
        expect([[], [1]]).toContainEqual(stopping.received);
      }));

    it("followers receive what a list would give them, whoever comes and goes (property)", () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.oneof(
              fc.record({ do: fc.constant("append" as const), count: fc.nat(4), awaited: fc.boolean() }),
              fc.record({ do: fc.constant("follow" as const), back: fc.nat(3) }),
              fc.record({ do: fc.constant("stop" as const) }),
            ),
            { maxLength: 40 },
          ),
          (steps) =>
            using(async (store) => {
              let seq = 0;
              let stored: Promise<unknown> = Promise.resolve();
              const here: { from: number; to?: number; received: number[]; stop(): void }[] = [];
              for (const step of steps) {
                if (step.do === "append") {
                  stored = store.append(Array.from({ length: step.count }, () => entry(++seq)));
                  if (step.awaited) await stored;
                  continue;
                }
                if (step.do === "follow") {
                  const from = Math.max(1, seq + 1 - step.back);
                  here.push({ from, ...followFrom(store, from) });
                  continue;
                }
                await stored;
                const one = here.find(({ to }) => to === undefined);
                one?.stop();
                if (one) one.to = seq;
              }
              await stored;
              for (const { from, to = seq, received } of here)
                expect(received).toEqual(Array.from({ length: to - from + 1 }, (_, i) => from + i));
            }),
        ),
        { numRuns: 60 },
      ));

    it("passes what a log appends to followers after it is stored, and before the append resolves", () =>
      using(async (store) => {
        const received: number[] = [];
        store.follow(1, (entries) => {
          const held = seqsOf(store.recent());
          for (const seq of seqsOf(entries)) expect(held).toContain(seq);
          received.push(...seqsOf(entries));
        });
        const log = createLog({ store });
        await Promise.all(
          saying(30).map(async (event) => {
            const first = await log.append(event);
            if (first > 0) expect(received).toContain(first);
          }),
        );
        expect(received).toEqual(await readAll(store));
        expect(received.length).toBeGreaterThan(30);
      }));

    it("takes an empty batch without a word", () =>
      using(async (store) => {
        await store.append([]);
        await store.append([], []);
        expect(await readAll(store)).toEqual([]);
        expect(store.facts("anything")).toEqual([]);
      }));

    it("of a fact the newest value counts, null removes it, and each stays where it was first written", () =>
      using(async (store) => {
        await store.append(
          [],
          [fact("question", "a", 1), fact("question", "b", 1), fact("grant", "a", "other")],
        );
        await store.append([entry(1)], [fact("question", "c", 1), fact("question", "a", 2)]);
        expect(store.facts("question").map(({ key, value }) => [key, value])).toEqual([
          ["a", 2],
          ["b", 1],
          ["c", 1],
        ]);
        await store.append([], [fact("question", "b", null), fact("question", "never there", null)]);
        await store.append([], [fact("question", "a", null)]);
        await store.append([], [fact("question", "a", 3)]);
        expect(store.facts("question").map(({ key, value }) => [key, value])).toEqual([
          ["c", 1],
          ["a", 3],
        ]);
        expect(store.facts("grant")).toEqual([fact("grant", "a", "other")]);
        expect(await readAll(store)).toEqual([1]);
      }));

    it("does whatever a list and a map would do (property)", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(callArbitrary, { maxLength: 30 }), (calls) =>
          using(async (store) => {
            const model = new Model();
            for (const call of calls) {
              const written = model.next(call);
              const done = store.append(written.entries, written.facts);
              if (call.awaited) await done;
              model.apply(written);
            }
            await store.append([], [fact("end", "end", true)]);
            await model.expectIn(store);
          }),
        ),
        { numRuns: 40 },
      );
    });
  });
}

/** Where a durable store keeps things; it can be opened again, and may stop at any byte. */
export interface DurablePlace {
  open(crash?: { readonly bytes: number; readonly unsynced: number }): Promise<
    OpenedStore & {
      /** The machine stops; nothing is tidied up. */
      crash(): Promise<void>;
    }
  >;
}

export function durableStoreContract(name: string, place: () => DurablePlace): void {
  describe(`a durable log store: ${name}`, () => {
    it("finds everything under the same identity when it is opened again", async () => {
      const { open } = place();
      const first = await open();
      await first.store.append([entry(1), entry(2)], [fact("question", "a", { token: "rpl_1" })]);
      await first.store.append([entry(3)], [fact("question", "b", 1), fact("question", "a", 2)]);
      await first.close();
      const second = await open();
      expect(second.store.identity).toEqual(first.store.identity);
      expect(await readAll(second.store)).toEqual([1, 2, 3]);
      expect(second.store.recent().map(({ seq }) => seq)).toEqual([1, 2, 3]);
      expect(second.store.facts("question").map(({ key, value }) => [key, value])).toEqual([
        ["a", 2],
        ["b", 1],
      ]);
      await second.close();
    });

    it("F03: whatever byte it stops at, what was acknowledged is there, and no call is there in part (property)", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(callArbitrary, { minLength: 1, maxLength: 12 }),
          fc.nat(4000),
          fc.constantFrom(0, 0.5, 1),
          fc.array(callArbitrary, { maxLength: 5 }),
          async (calls, bytes, unsynced, after) => {
            const { open } = place();
            let first: Awaited<ReturnType<DurablePlace["open"]>>;
            try {
              first = await open({ bytes, unsynced });
            } catch {
              // It stopped before it was open: then nothing was acknowledged, and it opens the next time.
              const fresh = await open();
              expect(await readAll(fresh.store)).toEqual([]);
              await fresh.close();
              return;
            }
            // Every state it may be found in: after the last acknowledged call or after any later one.
            const model = new Model();
            const states = [model.copy()];
            let acknowledged = 0;
            const pending: Promise<unknown>[] = [];
            for (const call of calls) {
              const written = model.next(call);
              model.apply(written);
              states.push(model.copy());
              const at = states.length - 1;
              const done = first.store.append(written.entries, written.facts).then(
                () => {
                  acknowledged = Math.max(acknowledged, at);
                },
                () => undefined,
              );
              pending.push(done);
              if (call.awaited) await done;
            }
            await Promise.all(pending);
            await first.crash();
            const second = await open();
            const newest = second.store.recent().at(-1)?.seq ?? 0;
            const possible = states.slice(acknowledged);
            const found = possible.find((state) => state.matches(second.store));
            expect(
              found,
              `found ${newest} entries and ${JSON.stringify(second.store.facts("a"))}, after ${acknowledged} of ${states.length - 1} calls were acknowledged`,
            ).toBeDefined();
            await found!.expectIn(second.store);
            // It goes on from there.
            for (const call of after) {
              const written = found!.next(call);
              await second.store.append(written.entries, written.facts);
              found!.apply(written);
            }
            await second.close();
            const third = await open();
            await found!.expectIn(third.store);
            await third.close();
          },
        ),
        { numRuns: process.env["EARSHOT_LONG"] ? 500 : 50 },
      );
    });

    it(
      "F03: whatever byte it stops at, what followers received is found again, in its order (property)",
      () =>
        fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 1, max: 12 }),
            fc.nat(9000),
            fc.constantFrom(0, 0.5, 1),
            async (sentences, bytes, unsynced) => {
              const { open } = place();
              const received: number[] = [];
              // It may stop before it is open: then nobody received anything.
              const first = await open({ bytes, unsynced }).catch(() => undefined);
              if (first) {
                first.store.follow(1, (entries) => void received.push(...seqsOf(entries)));
                const log = createLog({ store: first.store });
                await Promise.allSettled(saying(sentences).map((event) => log.append(event)));
                await first.crash();
              }
              const second = await open();
              const found = await readAll(second.store);
              expect(found.slice(0, received.length)).toEqual(received);
              await second.close();
            },
          ),
          { numRuns: process.env["EARSHOT_LONG"] ? 500 : 50 },
        ),
      60_000,
    );
  });
}

/** The events of a session that says so many sentences. */
function saying(sentences: number): Record<string, unknown>[] {
  const writer = createWriter();
  const events = [
    writer.started(),
    ...Array.from({ length: sentences }, (_, i) => writer.say(`Sentence ${i}. `, 0)),
    writer.say("", 0, true),
  ];
  return events.map((event) => {
    const { event_id: _, ...rest } = event as unknown as Record<string, unknown>;
    return rest;
  });
}

interface Call {
  readonly count: number;
  readonly facts: readonly (readonly [kind: string, key: string, value: string | number | null])[];
  readonly text: string;
  readonly awaited: boolean;
}

const callArbitrary: fc.Arbitrary<Call> = fc.record({
  count: fc.nat(3),
  facts: fc.array(
    fc.tuple(
      fc.constantFrom("a", "b"),
      fc.constantFrom("x", "y", "z"),
      fc.oneof(fc.constant(null), fc.nat(99), fc.string()),
    ),
    { maxLength: 3 },
  ),
  text: fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: "grapheme", maxLength: 200 })),
  awaited: fc.boolean(),
});

interface Written {
  readonly entries: readonly LogEntry[];
  readonly facts: readonly Fact[];
}

/** A list and a map: what a store must look like from outside. */
class Model {
  entries: LogEntry[] = [];
  facts = new Map<string, Map<string, unknown>>([
    ["a", new Map()],
    ["b", new Map()],
  ]);

  next({ count, facts, text }: Call): Written {
    return {
      entries: Array.from({ length: count }, (_, i) => entry(this.entries.length + 1 + i, text)),
      facts: facts.map(([kind, key, value]) => fact(kind, key, value)),
    };
  }

  apply({ entries, facts }: Written): void {
    this.entries.push(...entries);
    for (const { kind, key, value } of facts) {
      if (value === null) this.facts.get(kind)!.delete(key);
      else this.facts.get(kind)!.set(key, value);
    }
  }

  copy(): Model {
    const copy = new Model();
    copy.entries = [...this.entries];
    copy.facts = new Map([...this.facts].map(([kind, facts]) => [kind, new Map(facts)]));
    return copy;
  }

  matches(store: LogStore): boolean {
    const found = [...this.facts.keys()].map((kind) =>
      store.facts(kind).map(({ key, value }) => [key, value]),
    );
    const wanted = [...this.facts.values()].map((facts) => [...facts]);
    return (
      (store.recent().at(-1)?.seq ?? 0) === this.entries.length &&
      JSON.stringify(found) === JSON.stringify(wanted)
    );
  }

  async expectIn(store: LogStore): Promise<void> {
    const found: LogEntry[] = [];
    for await (const one of store.read(1)) found.push(one);
    expect(found).toEqual(this.entries);
    expect(store.recent()).toEqual(this.entries);
    for (const [kind, facts] of this.facts)
      expect(store.facts(kind).map(({ key, value }) => [key, value])).toEqual([...facts]);
  }
}
