/** What every backplane promises, whatever it is made of. Run over each implementation, alone and behind a store. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Backplane, LogEntry } from "../../src/hub/backplane.ts";
import { createLog } from "../../src/hub/log.ts";
import type { LogStore } from "../../src/hub/store.ts";
import { createWriter } from "../support/legal-session.ts";
import { type DurablePlace, entry, type OpenedStore, readAll } from "./store.ts";

export interface OpenedBackplane {
  readonly backplane: Backplane;
  /** Resolves once everything announced so far has reached everyone. */
  settled(): Promise<void>;
}

export type OpenBackplane = () => Promise<OpenedBackplane>;

const seqsOf = (entries: readonly LogEntry[]) => entries.map(({ seq }) => seq);

/** Somebody who writes down what it hears. */
function ear(backplane: Backplane) {
  const heard: number[] = [];
  const leave = backplane.listen((entries) => void heard.push(...seqsOf(entries)));
  return { heard, leave };
}

export function backplaneContract(name: string, open: OpenBackplane): void {
  const using = async (work: (opened: OpenedBackplane) => Promise<void>) => {
    const opened = await open();
    try {
      await work(opened);
    } finally {
      await opened.backplane.close();
    }
  };

  describe(`a backplane: ${name}`, () => {
    it("brings every entry to everyone, once and in order", () =>
      using(async ({ backplane, settled }) => {
        const ears = [ear(backplane), ear(backplane), ear(backplane)];
        backplane.announce([entry(1), entry(2)]);
        backplane.announce([]);
        backplane.announce([entry(3)]);
        await settled();
        for (const { heard } of ears) expect(heard).toEqual([1, 2, 3]);
      }));

    it("carries an entry whole, with what is not for the wire", () =>
      using(async ({ backplane, settled }) => {
        const whole: LogEntry = { ...entry(1, "Ẹ ku àárọ̀ 😀"), audience: ["user:ada"], insist: true };
        const heard: LogEntry[] = [];
        backplane.listen((entries) => void heard.push(...entries));
        backplane.announce([whole]);
        await settled();
        expect(heard).toEqual([whole]);
      }));

    it("tells whoever joins what comes after, and whoever has left nothing more", () =>
      using(async ({ backplane, settled }) => {
        const first = ear(backplane);
        backplane.announce([entry(1)]);
        await settled();
        const second = ear(backplane);
        backplane.announce([entry(2)]);
        await settled();
        first.leave();
        first.leave();
        backplane.announce([entry(3)]);
        await settled();
        expect(first.heard).toEqual([1, 2]);
        expect(second.heard).toEqual([2, 3]);
      }));

    it("lets nothing one listener throws touch the others, what it hears next, or whoever announces", () =>
      using(async ({ backplane, settled }) => {
        const before = ear(backplane);
        const heard: number[] = [];
        backplane.listen((entries) => {
          heard.push(...seqsOf(entries));
          throw new Error("a broken listener");
        });
        const after = ear(backplane);
        for (let seq = 1; seq <= 3; seq++) expect(backplane.announce([entry(seq)])).toBeUndefined();
        await settled();
        for (const one of [before.heard, heard, after.heard]) expect(one).toEqual([1, 2, 3]);
      }));

    it("keeps the order for everyone when a listener announces, joins or leaves while it is being told", () =>
      using(async ({ backplane, settled }) => {
        const early = ear(backplane);
        let late: ReturnType<typeof ear> | undefined;
        backplane.listen((entries) => {
          const [first] = seqsOf(entries);
          if (first !== 1) return;
          backplane.announce([entry(2)]);
          late = ear(backplane);
          backplane.announce([entry(3)]);
          leaving.leave();
        });
        const leaving = ear(backplane);
        const last = ear(backplane);
        backplane.announce([entry(1)]);
        await settled();
        expect(early.heard).toEqual([1, 2, 3]);
        expect(last.heard).toEqual([1, 2, 3]);
        expect(late!.heard).toEqual([3]);
        expect([[], [1]]).toContainEqual(leaving.heard);
      }));

    it("is silent once it is closed, however often", async () => {
      const { backplane, settled } = await open();
      const one = ear(backplane);
      await backplane.close();
      await backplane.close();
      const two = ear(backplane);
      backplane.announce([entry(1)]);
      await settled();
      expect([...one.heard, ...two.heard]).toEqual([]);
    });

    it("does what a list would do, whoever comes and goes (property)", () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.oneof(
              fc.record({ do: fc.constant("announce" as const), count: fc.nat(4) }),
              fc.record({ do: fc.constantFrom("join" as const, "leave" as const) }),
            ),
            { maxLength: 40 },
          ),
          (steps) =>
            using(async ({ backplane, settled }) => {
              let seq = 0;
              const here: { from: number; to?: number; heard: number[]; leave(): void }[] = [];
              for (const step of steps) {
                if (step.do === "announce") {
                  backplane.announce(Array.from({ length: step.count }, () => entry(++seq)));
                  continue;
                }
                await settled();
                if (step.do === "join") here.push({ from: seq + 1, ...ear(backplane) });
                else {
                  const one = here.find(({ to }) => to === undefined);
                  one?.leave();
                  if (one) one.to = seq;
                }
              }
              await settled();
              for (const { from, to = seq, heard } of here)
                expect(heard).toEqual(Array.from({ length: to - from + 1 }, (_, i) => from + i));
            }),
        ),
        { numRuns: 60 },
      ));
  });
}

/** The log goes through it: with any store, what is announced is what was acknowledged, in its order. */
export function announcedContract(
  name: string,
  open: OpenBackplane,
  openStore: () => Promise<OpenedStore>,
): void {
  describe(`a log behind a backplane: ${name}`, () => {
    it("announces every entry after the store has it, and before whoever appended goes on", async () => {
      const { store, close } = await openStore();
      const { backplane, settled } = await open();
      const kept: number[] = [];
      const watched: LogStore = {
        ...store,
        append: async (entries, facts) => {
          await store.append(entries, facts);
          kept.push(...seqsOf(entries));
        },
      };
      const heard: number[] = [];
      backplane.listen((entries) => {
        for (const seq of seqsOf(entries)) expect(kept).toContain(seq);
        heard.push(...seqsOf(entries));
      });
      const log = createLog({ store: watched, acknowledged: (entries) => backplane.announce(entries) });
      await Promise.all(saying(30).map((event) => log.append(event)));
      await settled();
      expect(heard).toEqual(await readAll(store));
      expect(heard.length).toBeGreaterThan(30);
      await backplane.close();
      await close();
    });
  });
}

export function durableAnnouncedContract(name: string, open: OpenBackplane, place: () => DurablePlace): void {
  describe(`a durable log behind a backplane: ${name}`, () => {
    it(
      "F03: whatever byte it stops at, whatever was announced is found again, in its order (property)",
      () =>
        fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 1, max: 12 }),
            fc.nat(9000),
            fc.constantFrom(0, 0.5, 1),
            async (sentences, bytes, unsynced) => {
              const { open: openStore } = place();
              const { backplane, settled } = await open();
              const { heard } = ear(backplane);
              // It may stop before it is open: then nothing was announced.
              const first = await openStore({ bytes, unsynced }).catch(() => undefined);
              if (first) {
                const log = createLog({
                  store: first.store,
                  acknowledged: (entries) => backplane.announce(entries),
                });
                await Promise.allSettled(saying(sentences).map((event) => log.append(event)));
                await settled();
                await first.crash();
              }
              await backplane.close();
              const second = await openStore();
              const found = await readAll(second.store);
              expect(found.slice(0, heard.length)).toEqual(heard);
              await second.close();
            },
          ),
          { numRuns: process.env["EARSHOT_LONG"] ? 500 : 50 },
        ),
      60_000,
    );
  });
}

/** A session that says so many sentences. */
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
