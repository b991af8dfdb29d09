/** One rule at a time. Random sessions are in lifecycle-properties.test.ts. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createScribe, createWriter, resolved } from "../../test/support/legal-session.ts";
import { specDir } from "../../test/support/spec.ts";
import {
  type CheckOptions,
  checkSession,
  checkStream,
  gapLifecycle,
  type Lifecycle,
  type LifecycleInput,
  type LifecycleOptions,
  startLifecycle,
  stepLifecycle,
} from "./lifecycle.ts";
import type { OutputStreaming } from "./types.ts";

const ids = (events: Iterable<LifecycleInput>, options?: CheckOptions) =>
  checkSession(events, options).map(({ id }) => id);

/** The violations of the last event of a session; earlier events must have none. */
function atLast(events: readonly LifecycleInput[], options?: LifecycleOptions): string[] {
  expect(checkSession(events.slice(0, -1), options)).toEqual([]);
  return ids(events, options);
}

function fold(events: Iterable<LifecycleInput>, state: Lifecycle = startLifecycle()): Lifecycle {
  let next = state;
  for (const event of events) next = stepLifecycle(next, event).state;
  return next;
}

const seen = { replies: "seen" } as const;
const mid = { joined: "mid" } as const;

describe("the session's bracket", () => {
  it("SEQ-01: a session that begins with something else, or twice, is named", () => {
    const w = createWriter();
    expect(ids([w.progress()])).toEqual(["SEQ-01"]);
    expect(atLast([w.started(), w.started()])).toEqual(["SEQ-01"]);
    expect(ids([w.progress(), w.started(), w.started()], mid)).toEqual(["SEQ-01"]);
    const missed = gapLifecycle(fold([w.started()]));
    expect(stepLifecycle(missed, w.started()).violations.map(({ id }) => id)).toEqual(["SEQ-01"]);
  });

  it("SEQ-02: a second terminal event is named, and a missing one once the stream has ended", () => {
    const w = createWriter();
    const events = [w.started(), w.completed()];
    expect(atLast([...events, w.cancelled()])).toEqual(["SEQ-02"]);
    expect(atLast([...events, w.completed()])).toEqual(["SEQ-02"]);
    expect(ids(events, { ended: true })).toEqual([]);
    expect(ids(events.slice(0, 1))).toEqual([]);
    expect(checkSession(events.slice(0, 1), { ended: true })).toEqual([
      { id: "SEQ-02", event_id: events[0]!.event_id, message: expect.stringContaining("never ended") },
    ]);
  });

  it("SEQ-03: events before the start and after the end are named, extension events among them", () => {
    const w = createWriter();
    expect(ids([w.progress(), w.started()])).toEqual(["SEQ-01", "SEQ-03"]);
    expect(atLast([w.started(), w.errored(), w.progress()])).toEqual(["SEQ-03"]);
    expect(atLast([w.started(), w.errored(), w.extension("medai:case.opened")])).toEqual(["SEQ-03"]);
    expect(atLast([w.started(), w.errored(), w.started()])).toEqual(["SEQ-03"]);
  });

  it("SEQ-04: completed after errored or cancelled is named", () => {
    const w = createWriter();
    expect(atLast([w.started(), w.errored(), w.completed()])).toEqual(["SEQ-04"]);
    expect(atLast([w.started(), w.cancelled(), w.completed()])).toEqual(["SEQ-04"]);
  });
});

describe("the chain of states", () => {
  it("SEQ-05: the first state.changed leaves idle", () => {
    const w = createWriter();
    expect(ids([w.started(), w.state("idle", "idle"), w.state("idle", "thinking")])).toEqual([]);
    expect(atLast([w.started(), w.state("thinking", "deciding")])).toEqual(["SEQ-05"]);
    expect(atLast([w.started(), w.call("search", "call_1"), w.state("calling_tool", "thinking")])).toEqual([
      "SEQ-05",
    ]);
  });

  it("SEQ-06: each state.changed starts where the last one ended, or where other events led", () => {
    const w = createWriter();
    const start = [w.started(), w.state("idle", "thinking")];
    expect(atLast([...start, w.state("deciding", "idle")])).toEqual(["SEQ-06"]);
    expect(atLast([...start, w.state("deciding", "deciding")])).toEqual(["SEQ-06"]);
    expect(ids([...start, w.state("thinking", "thinking"), w.state("thinking", "idle")])).toEqual([]);
    expect(ids([...start, w.call("search", "call_1"), w.state("calling_tool", "idle")])).toEqual([]);
  });

  it("may jump where states are sampled, and where the stream was joined midway", () => {
    const w = createWriter();
    const jump = [w.started(), w.state("deciding", "thinking"), w.state("idle", "deciding")];
    expect(ids(jump, { stateChain: "sampled" })).toEqual([]);
    expect(ids([w.state("deciding", "thinking"), w.state("thinking", "idle")], mid)).toEqual([]);
    expect(ids([w.state("deciding", "thinking"), w.state("idle", "deciding")], mid)).toEqual(["SEQ-06"]);
  });

  it("is not judged by a summary that runs ahead of a replay", () => {
    const w = createWriter();
    const summary = w.state("writing_output", "writing_output");
    expect(
      ids([summary, w.state("thinking", "calling_tool"), summary], { ...mid, eventIds: "trusted" }),
    ).toEqual([]);
    expect(fold([summary], startLifecycle(mid)).currentState).toBe("writing_output");
  });

  it("shows awaiting_input around a question", () => {
    const w = createWriter();
    const start = [w.started(), w.state("idle", "thinking")];
    const question = w.confirm("rpl_1", "Send it.");
    expect(ids([...start, question, w.state("thinking", "awaiting_input")])).toEqual([]);
    expect(
      ids([...start, w.state("thinking", "awaiting_input"), question, w.state("awaiting_input", "idle")]),
    ).toEqual([]);
    const without = [...start, question, w.state("thinking", "deciding")];
    expect(atLast(without)).toEqual(["SEQ-19"]);
    expect(ids(without, { stateChain: "sampled" })).toEqual([]);
  });
});

describe("tools", () => {
  it("SEQ-09: a completion without its invocation is named", () => {
    const w = createWriter();
    expect(atLast([w.started(), w.done("search", "call_1")])).toEqual(["SEQ-09"]);
    expect(atLast([w.started(), w.done("search")])).toEqual(["SEQ-09"]);
    expect(ids([w.done("search", "call_1"), w.done("search")], mid)).toEqual([]);
    const visible = (type: string) => type !== "aaep:agent.tool.invoked";
    expect(ids([w.started(), w.done("search", "call_2")], { visible })).toEqual([]);
  });

  it("SEQ-10: every call is completed, and once", () => {
    const w = createWriter();
    const call = [w.started(), w.call("search", "call_1")];
    expect(atLast([...call, w.completed()])).toEqual(["SEQ-10"]);
    expect(atLast([...call, w.done("search", "call_1"), w.done("search", "call_1")])).toEqual(["SEQ-10"]);
    expect(atLast([w.started(), w.call("search"), w.done("search"), w.done("search")])).toEqual(["SEQ-10"]);
    expect(ids([w.done("search", "call_9"), w.done("search", "call_9")], mid)).toEqual(["SEQ-10"]);
  });

  it("SEQ-11: a tool_call_id is used for one call, under one name", () => {
    const w = createWriter();
    const call = [w.started(), w.call("search", "call_1")];
    expect(atLast([...call, w.call("search", "call_1")])).toEqual(["SEQ-11"]);
    expect(atLast([...call, w.done("search", "call_1"), w.call("fetch", "call_1")])).toEqual(["SEQ-11"]);
    expect(atLast([...call, w.done("fetch", "call_1")])).toEqual(["SEQ-11"]);
  });

  it("pair by id first, then by name", () => {
    const w = createWriter();
    const calls = [w.started(), w.call("search", "call_1"), w.call("search"), w.call("fetch")];
    const pairs = [w.done("search"), w.done("search", "call_1"), w.done("fetch", "call_7"), w.completed()];
    expect(ids([...calls, ...pairs])).toEqual([]);
    // Joined mid-session, a completion without an id may end a call that was not seen.
    expect(ids([w.call("mail", "call_2"), w.done("mail"), w.done("mail", "call_2")], mid)).toEqual([]);
  });
});

describe("consent", () => {
  it("SEQ-14: an irreversible call needs a question and a real accept, for this one call", () => {
    const w = createWriter();
    const call = w.call("transfer", "call_1", true);
    const asked = [w.started(), w.confirm("rpl_1", "Transfer $500.", "call_1")];
    expect(atLast([w.started(), call])).toEqual(["SEQ-14"]);
    expect(atLast([...asked, call], seen)).toEqual(["SEQ-14"]);
    expect(atLast([...asked, resolved("rpl_1", "timeout_accept"), call], seen)).toEqual(["SEQ-14"]);
    expect(atLast([...asked, resolved("rpl_1", "withdrawn"), call], seen)).toEqual(["SEQ-14"]);
    expect(atLast([...asked, resolved("rpl_1", "accept"), w.call("transfer", "call_2", true)], seen)).toEqual(
      ["SEQ-14"],
    );
    expect(ids([...asked, resolved("rpl_1", "accept"), call], seen)).toEqual([]);
    expect(ids([...asked, call])).toEqual([]);
  });

  it("SEQ-14: one yes is spent by one call", () => {
    const w = createWriter();
    const asked = [w.started(), w.confirm("rpl_1", "Transfer $500."), resolved("rpl_1", "accept")];
    const twice = [...asked, w.call("transfer", "call_1", true), w.call("transfer", "call_2", true)];
    expect(atLast(twice, seen)).toEqual(["SEQ-14"]);
    expect(atLast(twice)).toEqual(["SEQ-14"]);
    expect(ids(twice, mid)).toEqual([]);
    expect(ids(twice, { visible: (type) => !type.includes("awaiting") })).toEqual([]);
  });

  it("SEQ-16: a call whose action was rejected is named, reversible or not, until it is asked again", () => {
    const w = createWriter();
    const rejected = [
      w.started(),
      w.confirm("rpl_1", "Transfer $500.", "call_1"),
      resolved("rpl_1", "reject"),
    ];
    expect(atLast([...rejected, w.call("transfer", "call_1")], seen)).toEqual(["SEQ-16"]);
    expect(atLast([...rejected, w.call("transfer", "call_1", true)], seen)).toEqual(["SEQ-16"]);
    const again = [...rejected, w.confirm("rpl_2", "Transfer $5.", "call_1"), resolved("rpl_2", "accept")];
    expect(ids([...again, w.call("transfer", "call_1", true)], seen)).toEqual([]);
    const unlinked = [w.started(), w.confirm("rpl_3", "Transfer $500."), resolved("rpl_3", "reject")];
    expect(atLast([...unlinked, w.call("transfer", "call_3", true)], seen)).toEqual(["SEQ-16"]);
    expect(ids([...unlinked, w.call("search", "call_4")], seen)).toEqual([]);
  });

  it("is judged by the newest question about a call, also when joined midway", () => {
    const w = createWriter();
    const accepted = [w.started(), w.confirm("rpl_1", "Transfer $5.", "call_1"), resolved("rpl_1", "accept")];
    const changed = [...accepted, w.confirm("rpl_2", "Transfer $500.", "call_1")];
    const call = w.call("transfer", "call_1", true);
    expect(atLast([...changed, call], seen)).toEqual(["SEQ-14"]);
    expect(atLast([...changed.slice(1), call], { ...seen, ...mid })).toEqual(["SEQ-14"]);
    expect(atLast([...changed.slice(1), resolved("rpl_2", "reject"), call], { ...seen, ...mid })).toEqual([
      "SEQ-16",
    ]);
    expect(ids([...changed, resolved("rpl_2", "accept"), call], seen)).toEqual([]);
  });

  it("is waited for by reversible calls too, when they asked", () => {
    const w = createWriter();
    const asked = [w.started(), w.confirm("rpl_1", "Send it.", "call_1")];
    expect(atLast([...asked, w.call("mail", "call_1")], seen)).toEqual(["CNF-02"]);
    expect(ids([...asked, resolved("rpl_1", "timeout_accept"), w.call("mail", "call_1")], seen)).toEqual([]);
  });

  it("SEQ-25: a second question about the same action, by text or by call, waits for the first", () => {
    const w = createWriter();
    const first = [w.started(), w.state("idle", "awaiting_input"), w.confirm("rpl_1", "Send it.", "call_1")];
    for (const options of [{}, seen]) {
      expect(atLast([...first, w.confirm("rpl_2", "Send it.", "call_2")], options)).toEqual(["SEQ-25"]);
      expect(atLast([...first, w.confirm("rpl_3", "Send it now.", "call_1")], options)).toEqual(["SEQ-25"]);
      expect(ids([...first, w.confirm("rpl_4", "Send that.", "call_4")], options)).toEqual([]);
    }
    expect(ids([...first, resolved("rpl_1", "reject"), w.confirm("rpl_5", "Send it.")], seen)).toEqual([]);
  });

  it("may be asked for again as soon as the first question can be over", () => {
    const w = createWriter();
    const first = [w.started(), w.state("idle", "awaiting_input"), w.confirm("rpl_1", "Send it.")];
    expect(ids([...first, w.state("awaiting_input", "thinking"), w.confirm("rpl_2", "Send it.")])).toEqual(
      [],
    );
    expect(
      ids([...first, w.state("awaiting_input", "awaiting_input"), w.confirm("rpl_3", "Send it.")]),
    ).toEqual([]);
    w.wait(300_000);
    expect(ids([...first, w.confirm("rpl_4", "Send it.")])).toEqual([]);
    expect(ids([...first, w.confirm("rpl_5", "Send it.")], seen)).toEqual(["SEQ-25"]);
  });

  it("is asked for unchanged when someone rejoins, and that is no repetition", () => {
    const w = createWriter();
    const question = w.confirm("rpl_1", "Send it.");
    const events = [w.started(), question, w.progress(), question];
    expect(ids(events)).toEqual([]);
    expect(ids([w.progress(), question, question], mid)).toEqual([]);
    const after = fold([question], gapLifecycle(fold(events)));
    expect(stepLifecycle(gapLifecycle(fold(events)), question).violations).toEqual([]);
    expect(after.openQuestions.get("rpl_1")?.text).toBe("Send it.");
  });
});

describe("outputs", () => {
  it("SEQ-20: an output without complete: true is named at the end of the session", () => {
    const w = createWriter();
    const said = [w.started(), w.say("Hel", 0), w.say("Hm", 0, false, "out_1")];
    expect(atLast([...said, w.cancelled()])).toEqual(["SEQ-20", "SEQ-20"]);
    expect(ids([...said, w.say("", 3, true), w.say("", 2, true, "out_1"), w.cancelled()])).toEqual([]);
  });

  it("SEQ-21: a chunk after complete: true is named", () => {
    const w = createWriter();
    const done = [w.started(), w.say("Hello.", 0, true, "out_1"), w.say("Hi.", 0, true)];
    expect(atLast([...done, w.say("More.", 6, false, "out_1")])).toEqual(["SEQ-21"]);
    expect(atLast([...done, w.say("", 6, true, "out_1")])).toEqual(["SEQ-21"]);
    expect(atLast([...done, w.say("", 3, true)])).toEqual(["SEQ-21"]);
    expect(stepLifecycle(gapLifecycle(fold(done)), w.say("", 6, true, "out_1")).violations).toHaveLength(1);
  });

  it("SEQ-22: a position that goes back, or stands still between texts, is named", () => {
    const w = createWriter();
    const said = [w.started(), w.say("", 0), w.say("Hello.", 0), w.say("", 6), w.say("World.", 6)];
    expect(ids(said)).toEqual([]);
    expect(atLast([...said, w.say("Back.", 3)])).toEqual(["SEQ-22"]);
    expect(atLast([...said, w.say("", 5)])).toEqual(["SEQ-22"]);
    expect(atLast([...said, w.say("Same.", 6)])).toEqual(["SEQ-22"]);
    expect(atLast([...said, w.say("", 6), w.say("Same.", 6)])).toEqual(["SEQ-22"]);
    expect(ids([...said, w.say("Other.", 0, false, "out_1"), w.say("", 6, true)])).toEqual([]);
  });

  it.runIf(fixture())("of the upstream fixture are told apart from a first completion (SEQ-21)", () => {
    const second = JSON.parse(readFileSync(fixture()!, "utf8")) as OutputStreaming;
    const first = { ...second, event_id: "evt_firstcomp001", position: 0 };
    const found = checkSession([first, second], mid);
    expect(found).toEqual([{ id: "SEQ-21", event_id: "evt_secondcomp001", message: expect.any(String) }]);
  });
  if (!fixture())
    console.info("No AAEP spec folder (AAEP_SPEC_DIR or ../shared/spec): its fixture was not read.");
});

function fixture(): string | undefined {
  const path = specDir && `${specDir}/fixtures/invalid/duplicate-completion-streaming.json`;
  return path && existsSync(path) ? path : undefined;
}

describe("the envelope", () => {
  it("ENV-10: an event_id that comes again is named, in one session or across those of a producer", () => {
    const w = createWriter();
    const other = createWriter(createScribe({ tag: "b2" })).started();
    const first = w.started();
    expect(atLast([first, { ...w.progress(), event_id: first.event_id }])).toEqual(["ENV-10"]);
    expect(checkStream([first, { ...other, event_id: first.event_id }]).map(({ id }) => id)).toEqual([
      "ENV-10",
    ]);
    const stranger = { ...other, event_id: first.event_id, producer: { agent_id: "other" } };
    expect(checkStream([first, stranger])).toEqual([]);
  });

  it("ENV-15: time that goes back within a session is named, however it is written", () => {
    const w = createWriter();
    const at = (timestamp: string) => ({ ...w.progress(), timestamp });
    const session = (...times: string[]) => [
      { ...w.started(), timestamp: times[0]! },
      ...times.slice(1).map(at),
    ];
    const z = "2026-05-24T14:22:11.342Z";
    expect(ids(session(z, z, "2026-05-24T14:22:11.343Z"))).toEqual([]);
    expect(ids(session(z, "2026-05-24T16:22:11.342+02:00", z))).toEqual([]);
    expect(ids(session("2026-05-24T14:22:11.342500Z", "2026-05-24T16:22:11.342500+02:00"))).toEqual([]);
    expect(ids(session("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00.100Z"))).toEqual(
      [],
    );
    expect(atLast(session(z, "2026-05-24T14:22:11.341Z"))).toEqual(["ENV-15"]);
    expect(atLast(session("2026-05-24T14:22:11.342500Z", z))).toEqual(["ENV-15"]);
    expect(atLast(session(z, "2026-05-24T15:22:11.342+02:00"))).toEqual(["ENV-15"]);
  });

  it("does not hold the times of a recap against what is replayed after it", () => {
    const w = createWriter();
    const [question, replayed] = [w.confirm("rpl_1", "Send it."), w.progress()];
    w.wait(1000);
    const summary = w.state("awaiting_input", "awaiting_input");
    expect(ids([summary, question, replayed], mid)).toEqual([]);
    expect(ids([w.progress(), replayed], mid)).toEqual(["ENV-15"]);
  });

  it("ENV-24: sequence numbers that do not count 0, 1, 2 are named", () => {
    const w = createWriter();
    const numbered = (...numbers: number[]) =>
      numbers.map((sequence_number, i) => ({ ...(i === 0 ? w.started() : w.progress()), sequence_number }));
    expect(ids(numbered(0, 1, 2))).toEqual([]);
    expect(ids(numbered(1, 2))).toEqual(["ENV-24"]);
    expect(atLast(numbered(0, 1, 3))).toEqual(["ENV-24"]);
    expect(atLast(numbered(0, 1, 1))).toEqual(["ENV-24"]);
    expect(ids(numbered(7, 8).slice(1), mid)).toEqual([]);
    expect(ids(numbered(0, 4, 9), { visible: () => true })).toEqual([]);
    expect(ids(numbered(0, 4, 2), { visible: () => true })).toEqual(["ENV-24"]);
  });

  it("ENV-25: sequence numbers on some events only are named, once", () => {
    const w = createWriter();
    const started = { ...w.started(), sequence_number: 0 };
    expect(ids([started, w.progress(), w.progress(), { ...w.progress(), sequence_number: 1 }])).toEqual([
      "ENV-25",
    ]);
    expect(atLast([w.started(), { ...w.progress(), sequence_number: 1 }])).toEqual(["ENV-25"]);
  });

  it("names an event of another session", () => {
    const stray = createWriter(createScribe({ tag: "b2" })).progress();
    expect(ids([createWriter().started(), stray])).toEqual(["ENV-11"]);
    expect(checkStream([createWriter().started(), stray]).map(({ id }) => id)).toEqual(["SEQ-01"]);
  });
});

it("a critical copy that passes a filter is not held against the events the filter kept back", () => {
  const w = createWriter();
  const hidden = ["state.changed", "tool.completed", "output.streaming"].map((name) => `aaep:agent.${name}`);
  const events = [
    w.started(),
    w.state("awaiting_input", "thinking"),
    w.call("search", "call_1"),
    w.done("search", "call_1"),
    w.call("fetch"),
    w.say("Careful.", 12),
    w.completed(),
  ];
  expect(ids(events, { visible: (type) => !hidden.includes(type), ended: true })).toEqual([]);
});

describe("the state", () => {
  it("shows a producer what is open", () => {
    const w = createWriter();
    const state = fold([
      w.started(),
      w.state("idle", "thinking"),
      w.call("search", "call_1"),
      w.say("Héllo 👋", 0),
      w.confirm("rpl_1", "Send it.", "call_2"),
    ]);
    expect(state).toMatchObject({
      phase: "open",
      terminal: undefined,
      currentState: "thinking",
      openTools: [{ tool: "search", tool_call_id: "call_1" }],
      openOutputs: new Map([["", { position: 0, nextPosition: 7 }]]),
      openQuestions: new Map([["rpl_1", { text: "Send it.", tool_call_id: "call_2" }]]),
    });
    const ended = fold([w.cancelled()], state);
    expect(ended).toMatchObject({ phase: "ended", terminal: "aaep:agent.session.cancelled" });
    expect(gapLifecycle(ended)).toBe(ended);
    expect([ended.openTools.length, ended.openOutputs.size, ended.openQuestions.size]).toEqual([0, 0, 0]);
    expect(startLifecycle().phase).toBe("before");
    expect(startLifecycle(mid)).toMatchObject({ phase: "unknown", currentState: undefined });
  });
});
