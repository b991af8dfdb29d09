/** Renegotiation in mid-stream: pending events are delivered once, in order, with timestamps that never go back. */
import { describe, expect, it } from "vitest";
import { Ear } from "../../test/support/checking-listener.ts";
import { type Listener, World } from "../../test/support/delivery-harness.ts";
import { createScribe, createWriter } from "../../test/support/legal-session.ts";
import { RAW, termsOf } from "../../test/support/terms.ts";

const writer = () => createWriter(createScribe({ tag: "a1" }));
const SENTENCES = termsOf({ coalesce_boundaries: ["sentence"] });

const complaints = (world: World, listener: Listener) =>
  new Ear(listener, world.entries, world.store.identity).complaints;
const times = (listener: Listener) => listener.events.map(({ timestamp }) => timestamp);
const textOf = (listener: Listener, output_id: string) =>
  listener.events
    .flatMap((event) => ("chunk" in event && event.output_id === output_id ? [event.chunk] : []))
    .join("");

describe("text of two outputs that is held back when the terms change", () => {
  it("comes no earlier than the piece that was just sent, where that was half of what an entry became (ENV-15, HS-16)", async () => {
    const world = new World();
    const { started, say, wait, completed } = writer();
    const listener = world.listener("listener", SENTENCES);
    world.attach(listener);
    await world.say(started());
    await world.say(say("Held back until", 0, false, "out_held"));
    wait(40);
    listener.blocks = true;
    // Two sentences in one entry: the first goes out, the second waits for the socket.
    await world.say(say("One. Two. Three", 0, false, "out_sent"));
    expect(textOf(listener, "out_sent")).toBe("One. ");
    world.renegotiate(listener, RAW);
    await world.settle();
    expect(textOf(listener, "out_held")).toBe("Held back unti");
    expect(times(listener)).toEqual([...times(listener)].sort());
    await world.say(completed());
    expect(textOf(listener, "out_held")).toBe("Held back until");
    expect(textOf(listener, "out_sent")).toBe("One. Two. Three");
    expect(complaints(world, listener)).toEqual([]);
  });

  it("comes no earlier than what was sent since, however long the socket is blocked (ENV-15, HS-16)", async () => {
    const world = new World({ window: 8 });
    const { started, say, wait, state, completed } = writer();
    const listener = world.listener("listener", SENTENCES);
    world.attach(listener);
    await world.say(started());
    await world.say(say("Held back until", 0, false, "out_held"));
    wait(40);
    listener.blocks = true;
    await world.say(state("idle", "thinking"));
    world.renegotiate(listener, RAW);
    // By now the window holds neither what was sent last nor what was pending.
    for (let i = 0; i < 20; i++) await world.say(state("thinking", "thinking"));
    expect(world.engine.window.first).toBeGreaterThan(4);
    await world.settle();
    await world.say(completed());
    expect(textOf(listener, "out_held")).toBe("Held back until");
    expect(times(listener)).toEqual([...times(listener)].sort());
    expect(complaints(world, listener)).toEqual([]);
  });

  it("closes in the same order for whoever reads it again, so that coming back loses none of it (DEL-16)", async () => {
    const world = new World();
    const { started, say, call, done, completed } = writer();
    const listener = world.listener("listener", SENTENCES);
    world.attach(listener);
    await world.say(started());
    // The first output's open text starts after the second's: a cutter that reads only open text meets that one first.
    await world.say(say("A sentence. ", 0, false, "out_a"));
    await world.say(say("Second output", 0, false, "out_b"));
    await world.say(say("And more", 0, false, "out_a"));
    await world.say(call("search"));
    // Of the two pieces that the tool call closed, only the first is delivered.
    world.cut(listener, 2);
    expect(listener.sent.at(-1)?.event.type).toBe("aaep:agent.output.streaming");
    world.attach(listener, world.cursorOf(listener));
    await world.say(done("search"));
    await world.say(completed());
    expect(textOf(listener, "out_a")).toBe("A sentence. And more");
    expect(textOf(listener, "out_b")).toBe("Second output");
    expect(complaints(world, listener)).toEqual([]);
  });

  it("has ids of its own, so that whoever drops repeats by id drops none of it (HS-16)", async () => {
    const world = new World({ window: 8 });
    const { started, say, progress, completed } = writer();
    const words = termsOf({ max_events_per_second: 1, coalesce_boundaries: ["word"] });
    const listener = world.listener("listener", words);
    world.attach(listener);
    await world.say(started());
    await world.say(say("Yo", 0, false, "out_a"));
    // A change of language: text and end of the output are two pieces of one entry.
    await world.say({ ...say("", 2, true, "out_a"), language: "yo" });
    await world.say(say("One. Tw", 0, false, "out_b"));
    world.pass(1000);
    expect(textOf(listener, "out_a")).toBe("Yo");
    world.renegotiate(listener, termsOf({ max_events_per_second: 1, coalesce_boundaries: ["none"] }));
    // The text ages out, so that the end of the output is now the first piece.
    while (world.engine.window.first < 4) await world.say(progress());
    world.renegotiate(listener, words);
    await world.settle();
    await world.say(completed());
    await world.settle();
    const ids = listener.events.map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(complaints(world, listener)).toEqual([]);
  });
});
