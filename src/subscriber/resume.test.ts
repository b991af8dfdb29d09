import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../protocol/types.ts";
import { Memory } from "./resume.ts";

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
const heard = (memory: Memory, given: AgentEvent) =>
  (memory.take(given, true) as { chunk?: string } | undefined)?.chunk;

describe("what was heard before", () => {
  it("is dropped by its id, and moves no cursor: TRN-06", () => {
    const memory = new Memory();
    const first = event({});
    expect(memory.take(first, true)).toBe(first);
    const second = event({});
    memory.take(second, true);
    expect(memory.take(first, true)).toBeUndefined();
    expect(memory.cursor).toBe(second.event_id);
  });

  it("is dropped by output and position where text was cut another way", () => {
    const memory = new Memory();
    expect(heard(memory, text("One 👩‍👩‍👧. ", 0))).toBe("One 👩‍👩‍👧. ");
    const next = [..."One 👩‍👩‍👧. "].length;
    expect(heard(memory, text("👧. Two. ", next - 3))).toBe("Two. ");
    expect(heard(memory, text("Two. ", next))).toBeUndefined();
    expect(heard(memory, text("Three. ", next + 5))).toBe("Three. ");
  });

  it("stays known after an output's end: a resume may begin before it", () => {
    const memory = new Memory();
    expect(heard(memory, text("All of it.", 0, { complete: true }))).toBe("All of it.");
    expect(heard(memory, text("All of it.", 0))).toBeUndefined();
    expect(heard(memory, text("it.", 7, { complete: true }))).toBeUndefined();
  });

  it("a completion that was not heard is passed on without the text that was", () => {
    const memory = new Memory();
    heard(memory, text("All of it.", 0));
    expect(memory.take(text("of it.", 4, { complete: true }), true)).toMatchObject({
      chunk: "",
      position: 10,
      complete: true,
    });
  });

  it("where outputs have no ids, the next begins when the last is complete", () => {
    const memory = new Memory();
    expect(heard(memory, text("First.", 0, { output_id: undefined, complete: true }))).toBe("First.");
    expect(heard(memory, text("Other.", 0, { output_id: undefined }))).toBe("Other.");
  });

  it("is no place to resume from where it only says what stands", () => {
    const memory = new Memory();
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
