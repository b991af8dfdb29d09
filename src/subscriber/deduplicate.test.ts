import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../protocol/types.ts";
import { Deduplicator } from "./deduplicate.ts";

let ids = 0;
const event = (fields: Record<string, unknown>): AgentEvent =>
  ({ event_id: `evt_${++ids}`, session_id: "sess_1", type: "aaep:agent.state.changed", ...fields }) as never;
const text = (chunk: string, position: number, fields: Record<string, unknown> = {}) =>
  event({
    type: "aaep:agent.output.streaming",
    output_id: "out_1",
    chunk,
    position,
    complete: false,
    ...fields,
  });
const heard = (memory: Deduplicator, given: AgentEvent) =>
  (memory.take(given, true) as { chunk?: string } | undefined)?.chunk;

describe("what was heard before", () => {
  it("is dropped by its id, and moves no cursor: TRN-06", () => {
    const memory = new Deduplicator();
    const first = event({});
    expect(memory.take(first, true)).toBe(first);
    const second = event({});
    memory.take(second, true);
    expect(memory.take(first, true)).toBeUndefined();
    expect(memory.cursor).toBe(second.event_id);
  });

  it("is dropped by output and position where text was cut another way", () => {
    const memory = new Deduplicator();
    expect(heard(memory, text("One 👩‍👩‍👧. ", 0))).toBe("One 👩‍👩‍👧. ");
    const next = [..."One 👩‍👩‍👧. "].length;
    expect(heard(memory, text("👧. Two. ", next - 3))).toBe("Two. ");
    expect(heard(memory, text("Two. ", next))).toBeUndefined();
    expect(heard(memory, text("Three. ", next + 5))).toBe("Three. ");
  });

  it("stays known after an output's end: a resume may begin before it", () => {
    const memory = new Deduplicator();
    expect(heard(memory, text("All of it.", 0, { complete: true }))).toBe("All of it.");
    expect(heard(memory, text("All of it.", 0))).toBeUndefined();
    expect(heard(memory, text("it.", 7, { complete: true }))).toBeUndefined();
  });

  it("a completion that was not heard is passed on without the text that was", () => {
    const memory = new Deduplicator();
    heard(memory, text("All of it.", 0));
    expect(memory.take(text("of it.", 4, { complete: true }), true)).toMatchObject({
      chunk: "",
      position: 10,
      complete: true,
    });
  });

  it("where outputs have no ids, the next begins when the last is complete", () => {
    const memory = new Deduplicator();
    expect(heard(memory, text("First.", 0, { output_id: undefined, complete: true }))).toBe("First.");
    expect(heard(memory, text("Other.", 0, { output_id: undefined }))).toBe("Other.");
  });

  it("is no place to resume from where it only says what stands", () => {
    const memory = new Deduplicator();
    const first = event({});
    memory.take(first, true);
    memory.reconnected();
    memory.take(event({ extensions: { earshot: { standing: true } } }), true);
    memory.take(event({ type: "aaep:agent.awaiting.confirmation" }), true);
    memory.take(event({}), false);
    expect(memory.cursor).toBe(first.event_id);
    const next = event({});
    memory.take(next, true);
    expect(memory.cursor).toBe(next.event_id);
  });
});

/** One thing in an agent's log: a chunk of one of several outputs, its end, or something else. */
interface Said {
  readonly output: number | undefined;
  readonly chunk: string;
  readonly complete: boolean;
}

/** A log as it would be sent: text of one output that stands together may go as one event, or a chunk as two. */
function cut(
  log: readonly Said[],
  cuts: readonly number[],
  from: number,
): { event: AgentEvent; to: number }[] {
  const positions = new Map<number, number>();
  const sent: { event: AgentEvent; to: number }[] = [];
  const put = ({ output = 0, complete }: Said, chunk: string, id: string, to: number) => {
    const position = positions.get(output) ?? 0;
    positions.set(output, position + [...chunk].length);
    const given = text(chunk, position, { output_id: `out_${output}`, complete, event_id: `evt_${id}` });
    sent.push({ event: given, to });
  };
  for (let at = 0; at < log.length; at++) {
    const said = log[at]!;
    if (said.output === undefined) {
      sent.push({ event: event({ event_id: `evt_${at}` }), to: at + 1 });
      continue;
    }
    const way = cuts[at % cuts.length]!;
    const next = log[at + 1];
    if (way === 1 && next && next.output === said.output && !said.complete) {
      put(next, said.chunk + next.chunk, `${at}x2`, at + 2);
      at++;
    } else if (way === 2 && [...said.chunk].length > 1) {
      const [first, ...rest] = said.chunk;
      put({ ...said, complete: false }, first!, `${at}a`, at + 0.5);
      put(said, rest.join(""), `${at}b`, at + 1);
    } else put(said, said.chunk, `${at}`, at + 1);
  }
  return sent.filter(({ to }) => to > from);
}

describe("a line that drops again and again", () => {
  it("tells every word once and in order, whatever is sent again and however it is cut then: TRN-06", () => {
    const said = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          output: fc.nat({ max: 2 }),
          chunk: fc.constantFrom("One ", "👩‍👩‍👧 ", "é", "two. ", ""),
          complete: fc.constant(false),
        }),
      },
      fc.record({
        output: fc.nat({ max: 2 }),
        chunk: fc.constantFrom("", "end."),
        complete: fc.constant(true),
      }),
      fc.constant({ output: undefined, chunk: "", complete: false }),
    );
    const line = fc.record({
      cuts: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 5 }),
      heard: fc.nat({ max: 12 }),
      early: fc.nat({ max: 4 }),
    });
    fc.assert(
      fc.property(
        fc.array(said, { minLength: 1, maxLength: 20 }),
        fc.array(line, { maxLength: 6 }),
        (saids, lines) => {
          // Nothing is said in an output after its end.
          const over = new Set<number | undefined>();
          const log = saids.filter(({ output, complete }) => {
            const after = output !== undefined && over.has(output);
            if (complete) over.add(output);
            return !after;
          });
          const memory = new Deduplicator();
          const places = new Map<string, number>();
          const surfaced: AgentEvent[] = [];
          for (const { cuts, heard, early } of [
            ...lines,
            { cuts: [0], heard: Number.POSITIVE_INFINITY, early: 0 },
          ]) {
            memory.reconnected();
            const from = Math.max(0, (places.get(memory.cursor ?? "") ?? 0) - early);
            for (const { event, to } of cut(log, cuts, from).slice(0, heard)) {
              places.set(event.event_id, to);
              const taken = memory.take(event, true);
              if (taken) surfaced.push(taken);
            }
          }
          const whole = (output: number) => log.filter((one) => one.output === output);
          for (const output of [0, 1, 2]) {
            const got = surfaced.filter(
              (one) => one["output_id" as never] === `out_${output}`,
            ) as unknown as Said[];
            expect(got.map(({ chunk }) => chunk).join("")).toBe(
              whole(output)
                .map(({ chunk }) => chunk)
                .join(""),
            );
            expect(got.filter(({ complete }) => complete)).toHaveLength(over.has(output) ? 1 : 0);
          }
          const others = surfaced.filter(({ type }) => type === "aaep:agent.state.changed");
          expect(others.map(({ event_id }) => event_id)).toEqual(
            log.flatMap(({ output }, at) => (output === undefined ? [`evt_${at}`] : [])),
          );
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it("through more outputs than are remembered: what is sent again of the last ones is known", () => {
    const memory = new Deduplicator();
    const said = Array.from({ length: 10_000 }, (_, n) => text("Words.", 0, { output_id: `out_${n}` }));
    for (const one of said) expect(memory.take(one, true)).toBe(one);
    for (const one of said.slice(-4_000)) expect(memory.take(one, true)).toBeUndefined();
    expect(memory.cursor).toBe(said.at(-1)!.event_id);
  });
});
