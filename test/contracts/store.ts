/** What every log store promises, whatever it is made of. Run over each implementation. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fact, LogEntry, LogStore } from "../../src/hub/store.ts";

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
