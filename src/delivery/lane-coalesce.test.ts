/** A backlog is sent in as few events as possible (DEL-07, DEL-09; CON-21, CON-24). */
import { describe, expect, it } from "vitest";
import { createWriter } from "../../test/support/legal-session.ts";
import { termsOf } from "../../test/support/terms.ts";
import type { AgentEvent } from "../protocol/types.ts";
import { Cutter, MAX_CHUNK_BYTES } from "./cut.ts";
import { eventOf, Grouping, groupsOf } from "./lane.ts";
import { SessionTrack } from "./log-window.ts";
import { shapeOf } from "./shape.ts";

function merged(events: AgentEvent[], boundaries: ("none" | "sentence")[] = ["none"]) {
  const track = new SessionTrack("sess_a1");
  const cutter = new Cutter(shapeOf(termsOf({ coalesce_boundaries: boundaries })));
  const pieces = events.flatMap((event, index) => cutter.cut(track.add({ seq: index + 1, event })));
  return groupsOf(pieces).map((parts) => eventOf(parts) as unknown as Record<string, unknown>);
}

describe("merging (DEL-07, DEL-09)", () => {
  it("joins the text of one output and keeps the first position, the last time and the last hint", () => {
    const { say, wait } = createWriter();
    const first = say("Hel", 0);
    wait(40);
    const last = say("lo.", 3, true);
    expect(merged([first, last])).toMatchObject([
      {
        chunk: "Hello.",
        position: 0,
        complete: true,
        coalesce_hint: "completion",
        timestamp: last.timestamp,
      },
    ]);
  });

  it("keeps outputs apart that speak in turn, each where its last words stood", () => {
    const { say } = createWriter();
    const events = [
      say("a", 0, false, "out_1"),
      say("x", 0, false, "out_2"),
      say("b", 1, false, "out_1"),
      say("y", 1, false, "out_2"),
    ];
    expect(merged(events).map(({ chunk, output_id }) => [output_id, chunk])).toEqual([
      ["out_1", "ab"],
      ["out_2", "xy"],
    ]);
  });

  it("keeps nothing of an output that is complete, so that a session which only writes does not pile up", () => {
    const { say } = createWriter();
    const track = new SessionTrack("sess_a1");
    const cutter = new Cutter(shapeOf(termsOf({ coalesce_boundaries: ["none"] })));
    const events = [say("a", 0, false, "out_1"), say("b", 1, true, "out_1")];
    const [open, complete] = events.flatMap((event, index) =>
      cutter.cut(track.add({ seq: index + 1, event })),
    );
    const grouping = new Grouping();
    expect(grouping.add(open!)).toBeUndefined();
    expect(grouping.add(complete!)).toBeDefined();
    expect(grouping.add(open!)).toBeUndefined();
  });

  it("never joins languages or content types", () => {
    const { say } = createWriter();
    const yoruba = { ...say("ọmọ", 1), language: "yo" };
    expect(merged([say("a", 0), yoruba, say("b", 4)]).map(({ chunk }) => chunk)).toEqual(["a", "ọmọ", "b"]);
  });

  it("keeps the latest progress and composes states (DEL-12, CON-26)", () => {
    const { progress, state, wait } = createWriter();
    const early = progress();
    wait(1);
    const late = progress();
    expect(merged([early, late])).toMatchObject([{ timestamp: late.timestamp }]);
    expect(merged([state("idle", "thinking"), state("thinking", "deciding")])).toMatchObject([
      { from_state: "idle", to_state: "deciding" },
    ]);
  });

  it("lets text grow across progress, but not across a state", () => {
    const { say, progress, state } = createWriter();
    expect(merged([say("a", 0), progress(), say("b", 1)]).map(({ type, chunk }) => chunk ?? type)).toEqual([
      "aaep:agent.progress.updated",
      "ab",
    ]);
    expect(
      merged([say("a", 0), state("idle", "thinking"), say("b", 1)]).map(({ type, chunk }) => chunk ?? type),
    ).toEqual(["a", "aaep:agent.state.changed", "b"]);
  });

  it("says of a composed state that it matters if any part of it did", () => {
    const { state } = createWriter();
    const quiet = { ...state("idle", "thinking"), urgency: "background" as const };
    expect(merged([quiet, state("thinking", "deciding")])).toMatchObject([{ urgency: "normal" }]);
    expect(merged([quiet, { ...quiet, from_state: "thinking", to_state: "idle" }])).toMatchObject([
      { urgency: "background" },
    ]);
  });

  it("starts another event where one would grow beyond 16 KiB (CON-41)", () => {
    const { say } = createWriter();
    const chunk = "é".repeat(4000);
    const events = merged([say(chunk, 0), say(chunk, 4000), say(chunk, 8000)]);
    expect(events.map(({ position }) => position)).toEqual([0, 8000]);
    for (const event of events)
      expect(new TextEncoder().encode(event["chunk"] as string).length).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
  });
});
