// A misbehaving producer: floods, disorder, repeats, hostile text, endless output, death in mid-question. The listener
// neither crashes nor says anything false, and no critical event goes unspoken.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { textOf } from "../../src/subscriber/announcer.ts";
import { Deduplicator } from "../../src/subscriber/deduplicate.ts";
import { terminalLine } from "../../src/voices/terminal.ts";
import { eventsOf, type Fields, TestListener } from "./support.ts";

const nasty = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "\u202egnp.exe",
    "\u001b]8;;http://x\u0007go\u001b\\",
    "\u001b[2J\u001b[H",
    "</speak><break/>",
    "{agent} {0}",
    "constructor",
    "__proto__",
    "\u0000",
    "ALLOWED. Allowed.",
    "pаypal",
    "🏴\u{e0067}\u{e0062}",
    "\ud800",
    "```\n",
    "| a |\n|---|\n",
    "a\u200b\u200d\u2066b",
    "\r\n.\r\nQUIT",
  ),
);
const text = nasty.map((one) => (one.trim() === "" ? "x" : one));
const TYPES = [
  "session.started",
  "session.completed",
  "session.errored",
  "session.cancelled",
  "state.changed",
  "progress.updated",
  "tool.invoked",
  "tool.completed",
  "output.streaming",
  "awaiting.confirmation",
  "awaiting.clarification",
  "handoff.requested",
  "odd.thing",
];

const wild = fc.record({
  name: fc.constantFrom(...TYPES),
  words: text,
  more: text,
  session: fc.constantFrom("sess_1", "sess_2"),
  sequence_number: fc.option(fc.nat(20), { nil: undefined }),
  position: fc.nat(60),
  complete: fc.boolean(),
  token: fc.constantFrom("rpl_1", "rpl_2"),
  id: fc.nat(40),
  outcome: text,
  input: fc.option(
    fc.constantFrom("yes", "no", "confirm", "more", "what", "repeat", "pause", "resume", "details"),
    { nil: undefined },
  ),
  wait: fc.nat(20_000),
});

function fieldsOf(one: {
  words: string;
  more: string;
  position: number;
  complete: boolean;
  token: string;
  outcome: string;
}): Fields {
  const { words, more } = one;
  return {
    summary_normal: words,
    summary_terse: more,
    error_category: "unknown",
    remediation_hint: more,
    cancelled_by: "system",
    from_state: "awaiting_input",
    to_state: "constructor",
    progress: { percent: 5, description: more },
    tool: "t",
    status: "error",
    error_message: more,
    chunk: words,
    position: one.position,
    complete: one.complete,
    action: words,
    consequence: more,
    question: words,
    reply_token: one.token,
    timeout_seconds: 60,
    default_decision: "reject",
    irreversible: true,
    reason: more,
    target_kind: "human",
    extra_context: { params: [{ name: more, label: words, value: more }, null, 7], __x: { y: [words] } },
    extensions: { earshot: { resolves: { reply_token: one.token, outcome: one.outcome } } },
  };
}

const build = (
  name: string,
  fields: Fields,
  id: string,
  session_id: string,
  sequence_number: number | undefined,
): AgentEvent =>
  ({
    "@context": "https://aaep-protocol.org/context/v1",
    type: `aaep:agent.${name}`,
    event_id: id,
    session_id,
    timestamp: "2026-01-01T00:00:00.000Z",
    producer: { agent_id: "evil", agent_name: "Evil: Bank. Allowed" },
    localization_hints: { primary_language: "en" },
    ...(/errored|awaiting|handoff/.test(name) ? { urgency: "critical" } : {}),
    ...(sequence_number === undefined ? {} : { sequence_number }),
    ...fields,
  }) as unknown as AgentEvent;

describe("a misbehaving producer", () => {
  it("never crashes the listener, never gets an accept out of it unasked, never steers a terminal (A16)", () => {
    fc.assert(
      fc.property(
        fc.array(wild, { maxLength: 40 }),
        fc.constantFrom("low", "medium", "high"),
        (script, load) => {
          const listener = new TestListener({ load: load as "low", pace_wpm: 180 });
          listener.taken = "later";
          let confirms = 0;
          for (const one of script) {
            listener
              .hear(build(one.name, fieldsOf(one), `evt_${one.id}`, one.session, one.sequence_number))
              .wait(one.wait);
            if (one.input === "confirm") confirms++;
            if (one.input && ["yes", "no", "confirm", "more"].includes(one.input))
              listener.answer(one.input as "yes");
            else if (one.input) listener.do(one.input as "what");
          }
          listener.wait(600_000);
          const accepts = listener.sent.filter(
            (message) => message.do === "confirm" && message.decision === "accept",
          ).length;
          expect(accepts).toBeLessThanOrEqual(confirms);
          // Nobody took an answer: so nobody may have been told that it was.
          const own = listener.said
            .filter(({ utterance }) => utterance.kind === "answer")
            .map((said) => said.text);
          expect(own).not.toContain("Allowed.");
          for (const { utterance } of listener.said)
            expect(terminalLine(utterance)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/u);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("cannot keep a critical event from being said, by flood, disorder or repeats (DEL-21, SUB-05)", () => {
    fc.assert(
      fc.property(fc.array(wild, { maxLength: 30 }), fc.nat(30), (script, at) => {
        const listener = new TestListener({ load: "low" });
        // As in a listener: the subscriber deduplicates before the announcer hears anything.
        const subscriber = new Deduplicator();
        const receive = (event: AgentEvent) => {
          const received = subscriber.take(event, true);
          if (received) listener.hear(received);
        };
        const critical = build(
          "session.errored",
          { summary_normal: "The very bad news.", error_category: "unknown" },
          "evt_critical",
          "sess_9",
          99,
        );
        script.forEach((one, index) => {
          if (index === at) receive(critical);
          receive(build(one.name, fieldsOf(one), `evt_${one.id}`, one.session, one.sequence_number));
        });
        receive(critical);
        expect(listener.texts.filter((said) => said.includes("The very bad news."))).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });

  it("cannot make it talk faster than the person asked, in any minute without something critical, nor lose a word it said", () => {
    fc.assert(
      fc.property(
        fc.array(wild, { maxLength: 40 }),
        fc.integer({ min: 60, max: 240 }),
        fc.integer({ min: 50, max: 400 }),
        (script, pace_wpm, msPerWord) => {
          const listener = new TestListener({ pace_wpm }, ({ words }) => words * msPerWord);
          listener.taken = "later";
          for (const one of script)
            listener
              .hear(build(one.name, fieldsOf(one), `evt_${one.id}`, one.session, one.sequence_number))
              .wait(one.wait);
          listener.wait(1_800_000);
          for (const { at } of listener.said) {
            const minute = listener.said.filter((one) => one.at > at - 60_000 && one.at <= at);
            if (minute.some(({ utterance }) => utterance.urgency === "critical")) continue;
            const words = minute.reduce((sum, { utterance }) => sum + utterance.words, 0);
            // A sentence longer than a minute's words is said alone.
            if (minute.length > 1) expect(words).toBeLessThanOrEqual(pace_wpm);
          }
          const kept = new Map(
            listener.announcer.history.map(({ utterance, status }) => [utterance.id, { utterance, status }]),
          );
          for (const { utterance } of listener.said)
            expect(kept.get(utterance.id)?.utterance).toEqual(utterance);
          // And what is critical was said, all of it: a question's words only give way to newer word of the same question.
          for (const { utterance, status } of kept.values()) {
            if (utterance.urgency !== "critical" || status === "said") continue;
            const newer = listener.said.filter(
              ({ utterance: { id, reply_token } }) =>
                id > utterance.id && reply_token === utterance.reply_token,
            );
            expect([status, utterance.kind, newer.length > 0]).toEqual(["skipped", "question", true]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("that changes the amount after the first yes is asked about anew: the old consent is worth nothing (A06, CNF-40)", () => {
    const listener = new TestListener();
    const ask = (amount: number, id: string) =>
      build(
        "awaiting.confirmation",
        {
          action: "Transfer to savings.",
          consequence: "It is sent.",
          reply_token: "rpl_1",
          timeout_seconds: 60,
          default_decision: "reject",
          irreversible: true,
          risk_level: "high",
          extra_context: { params: [{ name: "amount", label: "Amount", value: amount }] },
        },
        id,
        "sess_1",
        undefined,
      );
    listener.hear(ask(5, "evt_1")).answer("yes");
    expect(listener.texts.at(-1)).toContain("Amount: 5.");
    listener.hear(ask(5000, "evt_2"));
    expect(listener.texts).toContain("Something about this question changed, so it starts again.");
    listener.answer("confirm");
    expect(listener.sent).toEqual([]);
    listener.answer("yes");
    expect(listener.texts.at(-1)).toContain("Amount: 5,000.");
    listener.answer("confirm");
    expect(listener.sent).toMatchObject([{ decision: "accept" }]);
  });

  it("that never ends its sentence is heard in whole words, and memory stays bounded", () => {
    const event = eventsOf();
    const listener = new TestListener();
    for (let i = 0; i < 3000; i++)
      listener.hear(
        event("output.streaming", {
          chunk: "word ",
          position: i * 5,
          complete: false,
          coalesce_hint: "none",
        }),
      );
    expect(listener.said.length).toBeGreaterThan(1);
    expect(listener.texts.every((said) => /^(?:word ?)+$/.test(said))).toBe(true);
    const glued = new TestListener();
    for (let i = 0; i < 800; i++)
      glued.hear(
        event("output.streaming", {
          session_id: "sess_2",
          chunk: "👨\u200d👩\u200d👧e\u0301",
          position: i * 7,
          complete: false,
          coalesce_hint: "none",
        }),
      );
    expect(glued.texts.join("")).not.toMatch(/\ufffd|^\u200d|^\u0301/u);
  });

  it("that dies in mid-question leaves nothing open and nothing claimed", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.taken = undefined;
    listener.hear(
      event("awaiting.confirmation", {
        action: "Pay.",
        consequence: "Paid.",
        reply_token: "rpl_1",
        timeout_seconds: 60,
        default_decision: "reject",
      }),
    );
    listener.announcer.connection("lost", "Planner", listener.now);
    listener.answer("yes").wait(120_000);
    expect(listener.announcer.question).toBeUndefined();
    expect(listener.texts).not.toContain("Allowed.");
    expect(listener.texts.at(-1)).toBe("Time is up for this question: Pay.");
  });

  it("that talks after the end is kept for the record, not said as if it were still at work", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("session.completed", { summary_normal: "Done." }),
      event("tool.invoked", { tool: "t", summary_normal: "Working on it." }),
    );
    expect(listener.texts).toEqual(["The task is done."]);
    listener.hear(
      event("awaiting.confirmation", {
        action: "Pay.",
        consequence: "Paid.",
        reply_token: "rpl_1",
        timeout_seconds: 60,
        default_decision: "reject",
      }),
    );
    expect(listener.texts.at(-1)).toBe("This question is void, because its session has ended: Pay.");
  });

  it("cannot pass its words off as the listener's: names and labels lose their punctuation and their length", () => {
    const listener = new TestListener();
    listener.hear(
      build(
        "awaiting.confirmation",
        {
          ...fieldsOf({ words: "Ok.", more: "y", position: 0, complete: false, token: "rpl_1", outcome: "" }),
          extensions: {},
        },
        "evt_1",
        "sess_1",
        undefined,
      ),
    );
    expect(listener.texts[0]).toContain("Evil Bank Allowed asks for permission: Ok.");
  });

  const half = (session_id: string, output_id: string, chunk: string) =>
    build(
      "output.streaming",
      { chunk, position: 0, complete: false, output_id },
      `evt_${session_id}${output_id}`,
      session_id,
      undefined,
    );

  it("that opens more texts than anyone keeps apart loses none of their words", () => {
    const listener = new TestListener();
    for (let number = 0; number < 200; number++)
      listener.hear(half("sess_1", `out_${number}`, `half number ${number}`));
    listener.hear(build("session.completed", { summary_normal: "Over." }, "evt_end", "sess_1", undefined));
    for (let number = 0; number < 200; number++) expect(listener.texts).toContain(`half number ${number}`);
  });

  it("that opens more sessions than anyone keeps apart loses none of their words", () => {
    const listener = new TestListener();
    for (let number = 0; number < 700; number++)
      listener.hear(half(`sess_${number}`, "out_1", `half number ${number}`)).wait(50);
    listener.announcer.connection("ended", "Evil", listener.now);
    listener.pump();
    const kept = listener.announcer.history.map(({ utterance }) => textOf(utterance)).join("\n");
    for (let number = 0; number < 700; number++)
      expect(kept).toMatch(new RegExp(`half number ${number}$`, "mu"));
  });

  it("that speaks in a thousand tongues is not announced a thousand times", () => {
    const listener = new TestListener({ can: (language) => language === "en" });
    for (let number = 0; number < 1_000; number++) {
      const localization_hints = { primary_language: `qaa-x-l${number}` };
      listener.hear(
        build(
          "session.started",
          { summary_normal: "?", localization_hints },
          `evt_${number}`,
          "sess_1",
          undefined,
        ),
      );
    }
    expect(
      listener.texts.filter((text) => text.startsWith("There is no voice for")).length,
    ).toBeLessThanOrEqual(20);
  });

  it("that changes its question all the time is heard once, as it is in the end", () => {
    const listener = new TestListener({}, () => 2_000);
    const ask = (number: number) =>
      build(
        "awaiting.confirmation",
        {
          action: `Pay ${number}.`,
          consequence: "Paid.",
          reply_token: "rpl_1",
          timeout_seconds: 600,
          default_decision: "reject",
        },
        `evt_${number}`,
        "sess_1",
        undefined,
      );
    for (let number = 0; number < 500; number++) listener.hear(ask(number));
    listener.wait(60_000);
    expect(
      listener.texts.filter((text) => text.startsWith("Something about this question changed")),
    ).toHaveLength(1);
    expect(listener.texts.at(-1)).toContain("Pay 499.");
  });

  it("that asks and takes back, or fails, without end fills no memory, and the person is told how much there was", () => {
    const listener = new TestListener({}, () => 5_000);
    for (let number = 0; number < 3_000; number++) {
      const reply_token = `rpl_${number}`;
      const asked = {
        action: `Pay ${number}.`,
        consequence: "Paid.",
        reply_token,
        timeout_seconds: 600,
        default_decision: "reject",
      };
      const resolves = { resolves: { reply_token, outcome: "withdrawn" } };
      const taken = { from_state: "awaiting_input", to_state: "thinking", extensions: { earshot: resolves } };
      const failed = { summary_normal: `Failure ${number}.`, error_category: "unknown" };
      listener.hear(
        build("awaiting.confirmation", asked, `evt_a${number}`, "sess_1", undefined),
        build("state.changed", taken, `evt_b${number}`, "sess_1", undefined),
        build("session.errored", failed, `evt_c${number}`, `sess_e${number}`, undefined),
      );
    }
    const waiting = listener.announcer.history.filter(({ status }) => status === "waiting");
    expect(waiting.length).toBeLessThan(3_000);
    listener.wait(10_000);
    expect(listener.texts.some((text) => /^[\d,]+ announcements were skipped\./u.test(text))).toBe(true);
    // And a question is asked all the same.
    const last = {
      action: "Pay at last.",
      consequence: "Paid.",
      reply_token: "rpl_x",
      timeout_seconds: 9_000,
      default_decision: "reject",
    };
    listener.hear(build("awaiting.confirmation", last, "evt_last", "sess_2", undefined)).wait(4_000_000);
    expect(listener.texts.some((text) => text.includes("asks for permission: Pay at last."))).toBe(true);
  });

  it("that fails and fails does not keep a person from being asked, or answered, in time", () => {
    const listener = new TestListener({}, () => 3_000);
    for (let number = 0; number < 400; number++) {
      const failed = { summary_normal: `Failure ${number}.`, error_category: "unknown" };
      listener.hear(build("session.errored", failed, `evt_${number}`, `sess_${number}`, undefined));
    }
    const asked = {
      action: "Pay the rent.",
      consequence: "Paid.",
      reply_token: "rpl_1",
      timeout_seconds: 120,
      default_decision: "reject",
    };
    listener.hear(build("awaiting.confirmation", asked, "evt_ask", "sess_ask", undefined)).wait(25_000);
    expect(listener.texts.at(-1)).not.toContain("Pay the rent");
    expect(listener.texts.some((text) => text.includes("asks for permission: Pay the rent."))).toBe(true);
    listener.answer("yes").wait(20_000);
    expect(listener.texts).toContain("Allowed.");
    listener.wait(2_000_000);
    for (let number = 0; number < 400; number++)
      expect(listener.texts.some((text) => text.includes(`Failure ${number}.`))).toBe(true);
  });

  it("cannot hide an ending behind a word on some question's time", () => {
    const listener = new TestListener();
    const extensions = {
      earshot: { deadline: { reply_token: "rpl_1", seconds_left: 5, extensions_left: 0 } },
    };
    listener.hear(
      build(
        "session.errored",
        { summary_normal: "It broke.", error_category: "unknown", extensions },
        "evt_1",
        "sess_1",
        undefined,
      ),
      build(
        "handoff.requested",
        { reason: "Stuck.", target_kind: "human", extensions },
        "evt_2",
        "sess_2",
        undefined,
      ),
    );
    expect(listener.texts.join(" ")).toMatch(/Failed: It broke\..*passes this on to a person: Stuck\./u);
  });
});
