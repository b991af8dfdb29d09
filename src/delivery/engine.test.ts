/** The engine, one situation at a time. Invariants are in test/properties/delivery.test.ts. */
import { describe, expect, it } from "vitest";
import { isGap } from "../../test/support/checking-listener.ts";
import { type Listener, World } from "../../test/support/delivery-harness.ts";
import { createScribe, createWriter } from "../../test/support/legal-session.ts";
import { RAW, termsOf } from "../../test/support/terms.ts";
import type { Capabilities } from "../protocol/types.ts";
import { encodeEventId } from "./cursor.ts";

const writer = (tag = "a1") => createWriter(createScribe({ tag }));
const join = (world: World, terms: Capabilities | typeof RAW = {}, sessions?: string[]): Listener => {
  const listener = world.listener(
    "listener",
    "boundaries" in terms ? (terms as typeof RAW) : termsOf(terms as Capabilities),
    sessions,
  );
  world.attach(listener);
  return listener;
};
const types = (listener: Listener) => listener.events.map(({ type }) => type.replace("aaep:agent.", ""));
const chunks = (listener: Listener) =>
  listener.events.flatMap((event) => ("chunk" in event ? [event.chunk] : []));

describe("a listener over budget (DEL-07, DEL-08, DEL-09)", () => {
  it("gets what piled up merged, as soon as its budget permits", async () => {
    const world = new World();
    const { started, say } = writer();
    const slow = join(world, { max_events_per_second: 1 });
    await world.say(started());
    for (const word of "One. Two. Three. Four. Then some".split(" ")) await world.say(say(`${word} `, 0));
    expect(types(slow)).toEqual(["session.started"]);
    world.pass(999);
    expect(chunks(slow)).toEqual([]);
    world.pass(1);
    expect(chunks(slow)).toEqual(["One. Two. Three. Four. "]);
  });

  it("stays within 1.2 times its rate, whatever is said (DEL-05, DEL-29)", async () => {
    for (const rate of [1, 3, 10]) {
      const world = new World();
      const { started, say, progress, state, call, done, completed } = writer();
      const slow = join(world, { max_events_per_second: rate });
      await world.say(started());
      for (let i = 0; i < 200; i++) {
        await world.say(
          [
            say("Hi. ", 0),
            progress(),
            state("thinking", "deciding"),
            call("t", `c${i}`),
            done("t", `c${i - 1}`),
          ][i % 5]!,
        );
        world.pass(50);
      }
      await world.say(completed());
      expect(slow.sent.filter(({ delivery }) => !delivery.critical).length).toBeLessThanOrEqual(
        rate * 10 * 1.2,
      );
    }
  });

  it("is given time to speak (CON-23)", async () => {
    const world = new World();
    const { started, say, confirm } = writer();
    const voice = join(world, {
      pace_wpm: 60,
      coalesce_boundaries: ["sentence"],
      supports_confirmation_reply: true,
    });
    await world.say({ ...started(), summary_normal: "One two three." });
    await world.say(say("Four five. ", 0));
    await world.say(say("Six. Then", 0));
    world.pass(2999);
    expect(chunks(voice)).toEqual([]);
    world.pass(1);
    expect(chunks(voice)).toEqual(["Four five. Six. "]);
    // A question does not wait for the pace.
    await world.say(confirm("rpl_1", "Go."));
    expect(types(voice).at(-1)).toBe("awaiting.confirmation");
  });
});

describe("a critical event (DEL-03, DEL-04)", () => {
  it("takes the backlog along, in order, and the debt is paid back (CON-06)", async () => {
    const world = new World();
    const { started, say, call, confirm, done } = writer();
    const slow = join(world, { max_events_per_second: 1, supports_confirmation_reply: true });
    await world.say(started());
    await world.say(say("Let me che", 0));
    await world.say(say("ck", 0));
    await world.say(call("search", "call_1"));
    await world.say(confirm("rpl_1", "Go."));
    expect(types(slow)).toEqual([
      "session.started",
      "output.streaming",
      "tool.invoked",
      "awaiting.confirmation",
    ]);
    expect(chunks(slow)).toEqual(["Let me check"]);
    await world.say(done("search", "call_1"));
    world.pass(2999);
    expect(types(slow)).toHaveLength(4);
    world.pass(1);
    expect(types(slow).at(-1)).toBe("tool.completed");
  });

  it("comes after a gap that is told, where the backlog is more than may be owed (CON-06, CON-24)", async () => {
    const world = new World();
    const { started, call, done, confirm } = writer();
    const slow = join(world, { max_events_per_second: 1, supports_confirmation_reply: true });
    await world.say(started());
    for (let i = 0; i < 4; i++) {
      await world.say(call("search", `call_${i}`));
      await world.say(done("search", `call_${i}`));
    }
    await world.say(confirm("rpl_1", "Go."));
    expect(types(slow)).toEqual(["session.started", "state.changed", "awaiting.confirmation"]);
    expect(isGap(slow.events[1]!)).toBe(true);
  });
});

describe("a flood (F21, SEC-07)", () => {
  it("of 10,000 events a second leaves a 1/s listener with merged text, undelayed questions and bounded memory", async () => {
    const world = new World({ window: 5000 });
    const { started, say, confirm, progress, state } = writer();
    const slow = join(world, { max_events_per_second: 1, supports_confirmation_reply: true });
    await world.say(started());
    let asked = 0;
    for (let ms = 0; ms < 5000; ms++) {
      for (let i = 0; i < 8; i++) await world.say(say("Word one. ", 0));
      await world.say(progress());
      if (ms % 1000 === 500) {
        await world.say(confirm(`rpl_${ms}`, `Go ${ms}.`));
        asked++;
        expect(types(slow).at(-1)).toBe("awaiting.confirmation");
        expect(slow.sent.at(-1)!.at).toBe(world.now);
        await world.say(state("awaiting_input", "thinking"));
      } else await world.say(state("thinking", "thinking"));
      world.pass(1);
    }
    expect(asked).toBe(5);
    expect(slow.sent.filter(({ delivery }) => !delivery.critical).length).toBeLessThanOrEqual(5 + 7 * asked);
    expect(world.engine.window.next - world.engine.window.first).toBeLessThanOrEqual(6250);
    expect(world.engine.held).toBeLessThanOrEqual(40_000);
  }, 60_000);

  it("of unmergeable events is skipped with a word, never kept without end and never in silence (CON-24)", async () => {
    const world = new World({ lagBound: 16 });
    const { started, call, done, completed } = writer();
    const slow = join(world, { max_events_per_second: 1 });
    await world.say(started());
    for (let i = 0; i < 100; i++) {
      await world.say(call("search", `call_${i}`));
      await world.say(done("search", `call_${i}`));
    }
    world.pass(1000);
    expect(types(slow)).toEqual(["session.started", "state.changed"]);
    expect(isGap(slow.events[1]!)).toBe(true);
    await world.say(completed());
    world.pass(1000);
    expect(types(slow).at(-1)).toBe("session.completed");
  });

  it("at a blocked socket is held up to a bound; whoever comes back late is told, endings included (DEL-17)", async () => {
    const world = new World();
    const { started, progress, completed } = writer();
    const stuck = join(world, RAW);
    stuck.blocks = true;
    await world.say(started());
    await world.say(completed());
    const other = writer("b2");
    await world.say(other.started());
    for (let i = 0; i < 40_000; i++) await world.say(other.progress());
    expect(stuck.sent).toHaveLength(1);
    expect(world.engine.held).toBeLessThanOrEqual(33_000);
    stuck.blocks = false;
    await world.unblock(stuck);
    expect(types(stuck).slice(0, 4)).toEqual([
      "session.started",
      "state.changed",
      "state.changed",
      "session.completed",
    ]);
    expect(stuck.events.filter(isGap).map(({ session_id }) => session_id)).toEqual(["sess_a1", "sess_b2"]);
    await world.say(progress());
    expect(types(stuck).at(-1)).toBe("progress.updated");
  }, 60_000);
});

describe("coming back", () => {
  async function talkingWorld(options = {}) {
    const world = new World(options);
    const { started, say, call, done } = writer();
    const listener = join(world, RAW);
    await world.say(started());
    for (let i = 0; i < 6; i++) {
      await world.say(call("search", `call_${i}`));
      await world.say(say("Hello there. ", 0));
      await world.say(done("search", `call_${i}`));
    }
    return { world, listener };
  }

  it("goes on exactly after the event that was named", async () => {
    const { world, listener } = await talkingWorld();
    const all = listener.sent.map(({ delivery }) => delivery.json);
    for (let lost = 1; lost < all.length; lost++) {
      world.cut(listener, lost);
      expect(world.attach(listener, world.cursorOf(listener))).toBe("resumed");
      const seen = listener.sent
        .filter(({ delivery }) => delivery.cursor)
        .map(({ delivery }) => delivery.json);
      expect(seen).toEqual(all);
    }
  });

  it.each([
    ["forged", (id: string) => `${id.slice(0, -1)}${id.endsWith("a") ? "b" : "a"}`],
    ["forged", () => "evt_0a1b"],
    ["foreign", () => "evt_zzzzzze1100000000"],
  ])("on a %s id is answered with a gap that is told", async (reason, forge) => {
    const { world, listener } = await talkingWorld();
    const { event_id } = world.cursorOf(listener)!;
    world.cut(listener);
    const sent = listener.sent.length;
    expect(world.attach(listener, { event_id: forge(event_id) })).toBe(reason);
    expect(listener.events.slice(sent).map(isGap)).toEqual([true]);
  });

  it("on an id of an event that was never logged is answered with a gap", async () => {
    const { world, listener } = await talkingWorld();
    world.cut(listener);
    expect(world.attach(listener, { event_id: encodeEventId(world.store.identity, 10_000) })).toBe("forged");
  });

  it("on an aged id is told of the gap, and of what ended meanwhile", async () => {
    const { world, listener } = await talkingWorld({ window: 20 });
    world.cut(listener);
    const { completed } = writer();
    const other = writer("b2");
    await world.say(other.started());
    for (let i = 0; i < 30; i++) await world.say(other.progress());
    await world.say(completed());
    const sent = listener.sent.length;
    expect(world.attach(listener, world.cursorOf(listener))).toBe("aged");
    expect(types(listener).slice(sent)).toEqual(["state.changed", "state.changed", "session.completed"]);
    expect(listener.events.slice(sent).map(isGap)).toEqual([true, true, false]);
  });

  it("is told of the gap in its extension, and even where its filters leave states out (CON-74)", async () => {
    const { world } = await talkingWorld();
    const plain = world.listener(
      "plain",
      termsOf({ event_filters: { exclude: ["aaep:agent.state.changed"] } }),
    );
    world.attach(plain, { event_id: "evt_0a1b" });
    expect(plain.events.map(({ urgency }) => urgency)).toEqual(["critical"]);
    const ours = world.listener("ours", RAW);
    world.attach(ours, { event_id: "evt_0a1b" });
    expect(ours.events[0]!.extensions).toMatchObject({ earshot: { gap: { reason: "forged" } } });
  });

  it("hears where things stand and every open question, unchanged, and no settled one (CON-16)", async () => {
    const world = new World();
    const { started, confirm, state } = writer();
    await world.say(started());
    await world.say(state("idle", "awaiting_input"));
    await world.say(confirm("rpl_1", "Go."));
    const first = join(world, RAW);
    expect(types(first)).toEqual(["state.changed", "awaiting.confirmation"]);
    expect(first.sent.map(({ delivery }) => [delivery.cursor, delivery.token])).toEqual([
      [false, undefined],
      [false, "rpl_1"],
    ]);
    expect(first.events[1]!.event_id).toBe(world.entries[2]!.event.event_id);
    await world.say(state("awaiting_input", "thinking"));
    expect(types(join(world, RAW))).toEqual(["state.changed"]);
  });
});

describe("new terms (HS-16)", () => {
  it("govern everything sent from then on, mid-sentence, with nothing lost or repeated (HS-08, I18N-09)", async () => {
    const world = new World();
    const { started, say, call } = writer();
    const listener = join(world, RAW);
    await world.say(started());
    await world.say(say("One two. Thr", 0));
    world.renegotiate(listener, termsOf({ languages: ["yo"] }));
    await world.say(say("ee four. Five", 0));
    await world.say({ ...call("search"), summary_normal_yo: "Mo ń wá a." });
    expect(chunks(listener)).toEqual(["One two. Th", "ree four. ", "Five"]);
    expect(listener.events.at(-1)).toMatchObject({
      summary_normal: "Mo ń wá a.",
      localization_hints: { primary_language: "yo" },
    });
  });

  it("that allow answering ask what was only mentioned so far (CON-01)", async () => {
    const world = new World();
    const { started, confirm } = writer();
    const listener = join(world);
    await world.say(started());
    await world.say(confirm("rpl_1", "Go."));
    expect(types(listener)).toEqual(["session.started", "state.changed"]);
    world.renegotiate(listener, termsOf({ supports_confirmation_reply: true }));
    expect(types(listener)).toEqual(["session.started", "state.changed", "awaiting.confirmation"]);
    const ids = listener.events.map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(3);
  });

  it("take effect at once, even when they are agreed on while an event is being sent", async () => {
    const world = new World();
    const { started, say, done } = writer();
    const listener = join(world, { max_events_per_second: 1 });
    await world.say(started());
    listener.onSend = ({ json }) => {
      if (json.includes("Hello"))
        world.renegotiate(listener, termsOf({ event_filters: { exclude: ["aaep:agent.tool.*"] } }));
    };
    await world.say(say("Hello. Then", 0));
    await world.say(done("search"));
    world.pass(10_000);
    expect(types(listener)).toEqual(["session.started", "output.streaming"]);
  });
});

describe("a sink", () => {
  it("that causes the next entry does not change the order for anyone", async () => {
    const world = new World();
    const { started, progress } = writer();
    const echo = join(world, RAW);
    const other = join(world, RAW);
    echo.onSend = ({ json }) => {
      if (!json.includes("session.started")) return;
      const late = world.entries.length + 1;
      world.engine.append([
        { seq: late, event: { ...progress(), event_id: encodeEventId(world.store.identity, late) } },
      ]);
    };
    await world.say(started());
    for (const listener of [echo, other])
      expect(types(listener)).toEqual(["session.started", "progress.updated"]);
  });

  it("that lets someone join while it is written to gives nobody an event twice", async () => {
    const world = new World();
    const { started, progress } = writer();
    const host = join(world, RAW);
    const guests: Listener[] = [];
    host.onSend = ({ json }) => {
      if (json.includes("progress")) guests.push(join(world, RAW), join(world, { max_events_per_second: 3 }));
    };
    await world.say(started());
    await world.say(progress());
    for (const guest of guests) expect(types(guest)).toEqual(["state.changed"]);
    await world.say(progress());
    for (const guest of guests.slice(0, 2))
      expect(types(guest).filter((type) => type === "progress.updated").length).toBeLessThanOrEqual(1);
  });

  it("that asks to wait is left alone, notices included, and goes on where it stopped (DEL-17)", async () => {
    const world = new World();
    for (const tag of ["a1", "b2", "c3"]) await world.say(writer(tag).started());
    const listener = world.listener("slow", RAW);
    listener.blocks = true;
    world.attach(listener);
    expect(listener.sent).toHaveLength(1);
    await world.unblock(listener);
    expect(listener.sent).toHaveLength(2);
    listener.blocks = false;
    await world.unblock(listener);
    expect(new Set(listener.events.map(({ session_id }) => session_id)).size).toBe(3);
  });

  it("that fails takes nobody else along (DEL-15)", async () => {
    const world = new World();
    const { started, progress } = writer();
    const broken = join(world, RAW);
    const well = join(world, RAW);
    broken.onSend = () => {
      throw new Error("The socket is gone.");
    };
    await world.say(started());
    await world.say(progress());
    expect(broken.sent).toHaveLength(1);
    expect(types(well)).toEqual(["session.started", "progress.updated"]);
  });
});
