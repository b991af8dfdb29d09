/** What every log store promises, whatever it is made of. Run over each implementation. */
import { describe, expect, it } from "vitest";
import type { LogEntry, LogStore } from "../../src/hub/store.ts";

export const entry = (seq: number, text = `entry ${seq}`): LogEntry => ({
  seq,
  event: {
    type: "aaep:agent.session.started",
    event_id: `evt_${seq}`,
    session_id: "sess_1",
    summary_normal: text,
  } as never,
});

export async function readAll(store: LogStore, from = 1): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of store.read(from)) seqs.push(seq);
  return seqs;
}

export function storeContract(
  name: string,
  open: () => Promise<{ store: LogStore; close: () => Promise<void> }>,
): void {
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
      }));

    it("answers calls in the order they were made, however many are under way", () =>
      using(async (store) => {
        const answered: number[] = [];
        await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            store.append([entry(i + 1)]).then(() => answered.push(i + 1)),
          ),
        );
        expect(answered).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
        expect(await readAll(store)).toHaveLength(200);
      }));

    it("gives entries back exactly, whatever their text", () =>
      using(async (store) => {
        const odd = entry(1, 'Ẹ ku àárọ̀ 😀 "quoted" \\ \u0000 \u2028 line\nbreak');
        await store.append([odd]);
        for await (const found of store.read(1)) expect(found).toEqual(odd);
      }));

    it("has an identity that ids can be made of", () =>
      using(async (store) => {
        expect(store.identity.epoch).toMatch(/^[A-Za-z0-9]{6}$/);
        expect(Number.isInteger(store.identity.key)).toBe(true);
      }));

    it("takes an empty batch without a word", () =>
      using(async (store) => {
        await store.append([]);
        expect(await readAll(store)).toEqual([]);
      }));
  });
}
