/** A lane has the same pieces wherever reading started (CON-76). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { REGISTRY, viewOf, World } from "../../test/support/delivery-harness.ts";
import { RAW, termsArbitrary, termsOf } from "../../test/support/terms.ts";
import { talk } from "../../test/support/text-sessions.ts";
import type { Piece } from "./cut.ts";
import type { LogEntry } from "./entry.ts";
import { Lane, type Run } from "./lane.ts";
import { LogWindow } from "./log-window.ts";
import { type Shape, shapeOf } from "./shape.ts";

const shapes = fc
  .oneof(
    termsArbitrary,
    fc.constantFrom(RAW, ...["word", "sentence", "paragraph", "completion"].map(cutAt), termsOf()),
  )
  .map((terms) => shapeOf(terms, REGISTRY));
function cutAt(boundary: string) {
  return termsOf({ coalesce_boundaries: [boundary as "word"] });
}

const log = fc
  .tuple(talk("s0"), talk("s1", 12), fc.array(fc.nat(1), { maxLength: 60, size: "max" }))
  .map(([first, second, order]) => {
    const left = [[...first], [...second]];
    const said = order.flatMap((which) => left[which]!.shift() ?? []);
    return [...said, ...left.flat()];
  });

async function entriesOf(
  said: readonly { event: object; required?: boolean }[],
): Promise<readonly LogEntry[]> {
  const world = new World();
  for (const { event, required } of said) await world.say(event, required ? { required } : {});
  return world.entries;
}

const identity = { epoch: "AbC123", key: 7 };
const piecesOf = (lane: Lane, from = lane.start): Piece[] =>
  Array.from({ length: lane.end - from }, (_, i) => lane.piece(from + i)!);
const told = ({ seq, sub, kind, critical, event, text, whole }: Piece) => {
  const { output: _, ...part } = text ?? { output: undefined };
  return { seq, sub, kind, critical, event, part, whole };
};
const bytesOf = ({ deliveries }: Run) =>
  deliveries.map(({ event_id, json, words }) => ({ event_id, json, words }));

/** A lane that starts at `at`. */
function lanesOf(entries: readonly LogEntry[], shape: Shape, at: number): Lane {
  const window = new LogWindow();
  const before = entries.filter(({ seq }) => seq < at);
  for (const entry of before) window.append(entry);
  const lane = new Lane(viewOf(), shape, identity, window, window.next);
  for (const entry of entries.slice(before.length)) lane.push(window.append(entry));
  return lane;
}

describe("a lane", () => {
  it("has the same pieces in the same places, from wherever it was read, on or back", async () => {
    await fc.assert(
      fc.asyncProperty(log, shapes, fc.nat(), async (said, shape, somewhere) => {
        const entries = await entriesOf(said);
        const at = 1 + (somewhere % (entries.length + 1));
        const [whole, late] = [lanesOf(entries, shape, 1), lanesOf(entries, shape, at)];
        const all = piecesOf(whole);
        expect(piecesOf(late).map(told)).toEqual(all.filter(({ seq }) => seq >= at).map(told));
        // Read back from the end to another position.
        const back = 1 + (somewhere % 7) * Math.floor(entries.length / 7);
        const from = late.indexOf({ seq: back, sub: 0 });
        expect(piecesOf(late, from).map(told)).toEqual(all.filter(({ seq }) => seq >= back).map(told));
        // The serialized events are the same, one by one and coalesced.
        const offset = whole.end - late.end;
        for (let index = from; index < late.end; index++)
          expect(bytesOf(late.single(index))).toEqual(bytesOf(whole.single(index + offset)));
        if (from < late.end) expect(bytesOf(late.take(from))).toEqual(bytesOf(whole.take(from + offset)));
      }),
      { numRuns: 400 },
    );
  });

  it("writes text as any other event would be written, whatever was written before it", async () => {
    await fc.assert(
      fc.asyncProperty(log, fc.array(shapes, { minLength: 1, maxLength: 3 }), async (said, wanted) => {
        const window = new LogWindow();
        const lanes = wanted.map((shape) => new Lane(viewOf(), shape, identity, window, 1));
        for (const entry of await entriesOf(said)) {
          const tracked = window.append(entry);
          for (const lane of lanes) {
            const before = lane.end;
            lane.push(tracked);
            // Lanes take turns, so that each meets the caches of another.
            for (let index = before; index < lane.end; index++) {
              const { event, text } = lane.piece(index)!;
              if (!text) continue;
              const { deliveries } = lane.single(index);
              const { text: chunk, position, complete, hint, timestamp } = text;
              expect(deliveries.map(({ json }) => JSON.parse(json))).toEqual([
                JSON.parse(
                  JSON.stringify({
                    ...event,
                    event_id: deliveries[0]!.event_id,
                    timestamp,
                    chunk,
                    position,
                    complete,
                    coalesce_hint: hint,
                  }),
                ),
              ]);
            }
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
