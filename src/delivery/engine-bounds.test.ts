/** The engine at its bounds: what was skipped, who changed, and what must stay small however long it goes on. */
import { describe, expect, it } from "vitest";
import { isGap } from "../../test/support/ear.ts";
import { createScribe, createWriter } from "../../test/support/legal-session.ts";
import { RAW, termsOf } from "../../test/support/terms.ts";
import { REGISTRY, viewOf, World } from "../../test/support/world.ts";
import type { AgentEvent } from "../protocol/types.ts";

const writer = (tag = "a1") => createWriter(createScribe({ tag }));
const chunksOf = (events: readonly AgentEvent[], session_id: string) =>
  events.flatMap((event) => ("chunk" in event && event.session_id === session_id ? [event.chunk] : [])).join("");

describe("a listener that was lost behind a blocked socket", () => {
  it("can still change its terms, and is told of its gap under the new ones", async () => {
    const world = new World();
    const { started, progress } = writer();
    const stuck = world.listener("stuck", RAW);
    world.attach(stuck);
    stuck.blocks = true;
    await world.say(started());
    for (let i = 0; i < 36_000; i++) await world.say(progress());
    world.renegotiate(stuck, termsOf({ max_events_per_second: 2 }));
    stuck.blocks = false;
    await world.unblock(stuck);
    expect(stuck.events.filter(isGap)).toHaveLength(1);
  }, 60_000);
});

describe("a listener whose view changes", () => {
  it("loses nothing of the sessions it still hears, whatever its last event was merged from", async () => {
    const world = new World();
    const [a, b] = [writer("a1"), writer("b2")];
    const terms = termsOf({ max_events_per_second: 1 });
    const got: AgentEvent[] = [];
    let last = "";
    const sink = {
      send: (delivery: { json: string; event_id: string; cursor: boolean }) => {
        got.push(JSON.parse(delivery.json));
        if (delivery.cursor) last = delivery.event_id;
        return undefined;
      },
    };
    const attached = world.engine.attach({ sink, terms, view: viewOf(["sess_a1", "sess_b2"]) });
    await world.say(a.started());
    await world.say(b.started());
    world.pass(1000);
    await world.say(b.say("From b. Next ", 0));
    await world.say(a.say("From a. Next ", 0));
    world.pass(1000);
    expect(chunksOf(got, "sess_b2")).toBe("From b. ");
    expect(chunksOf(got, "sess_a1")).toBe("");
    attached.detach();
    world.engine.attach({
      sink,
      terms,
      view: viewOf(["sess_a1"]),
      resume: { event_id: last, previous: terms },
    });
    world.pass(5000);
    await world.say(a.say("end.", 0, true));
    world.pass(5000);
    expect(chunksOf(got, "sess_a1")).toBe("From a. Next end.");
  });
});

describe("how a question ended", () => {
  it("is told even where it lies in what a slow listener skips (CON-13, CON-24)", async () => {
    const world = new World({ lag_bound: 20 });
    const { started, call, done, confirm, state, event } = writer();
    const slow = world.listener(
      "slow",
      termsOf({
        max_events_per_second: 1,
        supports_confirmation_reply: true,
        supported_extensions: [REGISTRY.earshot],
      }),
    );
    world.attach(slow);
    await world.say(started());
    await world.say(state("idle", "awaiting_input"));
    await world.say(confirm("rpl_1", "Go."));
    const settled = event("state.changed", {
      from_state: "awaiting_input",
      to_state: "thinking",
      summary_normal: "Rejected.",
      extensions: { earshot: { resolves: { reply_token: "rpl_1", outcome: "rejected" } } },
    } as never);
    await world.say({ ...settled, "@context": [settled["@context"], REGISTRY.earshot] }, { insist: true });
    for (let i = 0; i < 30; i++) {
      await world.say(call("search", `call_${i}`));
      await world.say(done("search", `call_${i}`));
    }
    world.pass(60_000);
    const told = slow.events.filter((one) => one.extensions?.["earshot"]?.["resolves"] !== undefined);
    expect(slow.events.filter(isGap)).toHaveLength(1);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ summary_normal: "Rejected." });
  });
});
