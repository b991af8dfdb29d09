// What the announcer says, when, and what it leaves out.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Deduplicator } from "../../src/subscriber/deduplicate.ts";
import { eventsOf, TestListener } from "./support.ts";

const started = { summary_normal: "Planning your week." };
const chunk = (text: string, position: number, over: Record<string, unknown> = {}) => ({
  chunk: text,
  position,
  complete: false,
  coalesce_hint: "none",
  output_id: "out_1",
  ...over,
});

describe("the announcer", () => {
  it("announces the start, tools and the end at the person's verbosity (SUB-02, SUB-07)", () => {
    const words = {
      summary_terse: "Short.",
      summary_normal: "In one sentence.",
      summary_detailed: "The whole story.",
    };
    for (const [verbosity, heard] of [
      ["terse", "Short."],
      ["normal", "In one sentence."],
      ["detailed", "The whole story."],
    ] as const) {
      const event = eventsOf();
      const listener = new TestListener({ verbosity }).hear(
        event("session.started", words),
        event("tool.invoked", { tool: "t", ...words }),
        event("session.completed", words),
      );
      expect(listener.texts).toEqual([`Started: ${heard}`, heard, `Done: ${heard}`]);
    }
  });

  it("lets a person hear how it ended: done, failed, or stopped by whom (SUB-03)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(event("session.completed", { session_id: "sess_a", summary_normal: "All set." }));
    listener.hear(
      event("session.errored", {
        session_id: "sess_b",
        summary_normal: "All set.",
        error_category: "unknown",
      }),
    );
    listener.hear(
      event("session.cancelled", { session_id: "sess_c", summary_normal: "All set.", cancelled_by: "user" }),
    );
    listener.hear(
      event("session.cancelled", {
        session_id: "sess_d",
        summary_normal: "All set.",
        cancelled_by: "timeout",
      }),
    );
    expect(listener.texts).toEqual([
      "Done: All set.",
      "Failed: All set.",
      "Stopped, as you asked: All set.",
      "Stopped, out of time: All set.",
    ]);
  });

  it("of an end without words of its own says so in one sentence that no tool says (SUB-03)", () => {
    for (const summary_normal of ["Done.", "done", "DONE!"]) {
      const event = eventsOf();
      const listener = new TestListener().hear(
        event("tool.completed", { tool: "mail", status: "success", summary_normal: "Done." }),
        event("session.completed", { summary_normal }),
      );
      expect(listener.texts).toEqual(["Done.", "The task is done."]);
    }
    const spanish = new TestListener({ languages: ["es"] }).hear(
      eventsOf("es")("session.completed", { summary_normal: "Terminado." }),
    );
    expect(spanish.texts).toEqual(["La tarea está terminada."]);
  });

  it("tells of an error at once, with what can be done about it (SUB-06)", () => {
    const event = eventsOf();
    const listener = new TestListener({ verbosity: "terse", load: "low" }, () => 5000);
    listener.hear(
      event("session.started", started),
      event("session.errored", {
        summary_normal: "The bank did not answer.",
        error_category: "transient",
        remediation_hint: "Try again in a minute.",
      }),
    );
    expect(listener.texts.at(-1)).toBe(
      "Failed: The bank did not answer. What you can do: Try again in a minute.",
    );
    expect(listener.stopped).toHaveLength(1);
  });

  it("never announces a chunk hinted none on its own: it waits for a sentence's end or the end (DEL-23)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("output.streaming", chunk("I am thin", 0)),
      event("output.streaming", chunk("king. Now", 9)),
    );
    expect(listener.texts).toEqual(["I am thinking."]);
    listener.hear(event("output.streaming", chunk(" I know", 18)));
    expect(listener.texts).toHaveLength(1);
    listener.hear(event("session.completed", { summary_normal: "Done." }));
    expect(listener.texts.slice(1)).toEqual(["Now I know", "The task is done."]);
  });

  it("takes a word boundary for no sentence, and a paragraph for one", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("output.streaming", chunk("One ", 0, { coalesce_hint: "word" })),
      event("output.streaming", chunk("two", 4, { coalesce_hint: "paragraph" })),
    );
    expect(listener.texts).toEqual(["One two"]);
  });

  it("does not crash on types it does not know and says what they say (SUB-04, EXT-07)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("aaep:agent.dreaming", { summary_normal: "It dreams." }),
      event("aaep:agent.sleeping"),
      event("acme:robot.waved"),
      event("acme:robot.spoke", { summary_normal: "Hello." }),
    );
    expect(listener.texts).toEqual([
      "Planner reports: It dreams.",
      "Planner sent a message of a kind I do not know.",
      "Planner reports: Hello.",
    ]);
  });

  it("passes over extension data it cannot read, whatever shape it has (EXT-08)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    const context = ["https://aaep-protocol.org/context/v1", "urn:earshot:aaep:v1"];
    for (const earshot of [
      { resolves: 7 },
      { resolves: { reply_token: {} } },
      { deadline: "soon" },
      { gap: null },
      { standing: "x" },
    ])
      listener.hear(
        event("state.changed", {
          "@context": context,
          from_state: "a",
          to_state: "thinking",
          summary_normal: "Thinking.",
          extensions: { earshot, other: { x: [1] } },
        }),
      );
    listener.wait(1000);
    expect(listener.texts[0]).toBe("Thinking.");
  });

  it("says critical events at once and whatever was set: filters of taste do not touch them (SUB-05, DEL-21, DEL-22)", () => {
    const event = eventsOf();
    const listener = new TestListener({ load: "low", verbosity: "terse", stillWorking: false });
    listener.announcer.mute("planner");
    listener.do("pause");
    listener.hear(event("handoff.requested", { reason: "A person must decide.", target_kind: "human" }));
    listener.hear(
      event("state.changed", {
        urgency: "critical",
        from_state: "a",
        to_state: "b",
        summary_normal: "Something is missing.",
      }),
    );
    expect(listener.texts.slice(1)).toEqual([
      "Planner cannot finish and passes this on to a person: A person must decide.",
      "Something is missing.",
    ]);
  });

  it("keeps states quiet at low load, yet never for good: asked for, or at another load, they are there (DEL-25)", () => {
    const event = eventsOf();
    const listener = new TestListener({ load: "low" });
    const state = (summary_normal: string) =>
      event("state.changed", { from_state: "a", to_state: "thinking", summary_normal });
    listener.hear(event("session.started", started), state("Reading mail."));
    expect(listener.texts).toHaveLength(1);
    listener.do("what");
    expect(listener.texts.at(-1)).toBe("Planner: Reading mail.");
    listener.announcer.set({ load: "medium" });
    listener.hear(state("Writing mail.")).wait(1000);
    expect(listener.texts.at(-1)).toBe("Writing mail.");
    expect(
      listener.announcer.history.some(
        ({ status, utterance }) => status === "quiet" && utterance.kind === "state",
      ),
    ).toBe(true);
  });

  it("says how far it is now, not how far it was; nothing of it once the work is over; what is critical always", () => {
    const event = eventsOf();
    const slow = new TestListener({}, ({ words }) => words * 1_000);
    const far = (percent: number, over = {}) =>
      event("progress.updated", { progress: { percent }, urgency: "background", ...over });
    slow.hear(event("tool.invoked", { tool: "t", summary_normal: "Counting up to a hundred." }));
    slow.hear(far(10)).wait(1_000).hear(far(20)).wait(1_000).hear(far(30)).wait(30_000);
    expect(slow.texts.filter((text) => text.includes("percent"))).toEqual(["30 percent."]);
    slow.hear(event("tool.invoked", { tool: "u", summary_normal: "Counting down from a hundred." }));
    slow.hear(far(40), far(45, { urgency: "critical" }), far(50));
    slow.hear(event("session.completed", { summary_normal: "Counted." })).wait(60_000);
    expect(slow.texts.slice(-3)).toEqual(["45 percent.", "Counting down from a hundred.", "Done: Counted."]);
  });

  it("says nothing twice where an agent gives the same words for two things", () => {
    const event = eventsOf();
    const listener = new TestListener().hear(
      event("tool.completed", {
        tool: "t",
        status: "error",
        summary_normal: "The printer has no paper.",
        error_message: "The printer has no paper.",
      }),
      event("session.completed", { summary_normal: "Printed.", output_summary: "Printed." }),
    );
    expect(listener.texts).toEqual(["Did not work: The printer has no paper.", "Done: Printed."]);
  });

  it("does not say the same state twice in a row, nor every progress", () => {
    const event = eventsOf();
    const listener = new TestListener();
    for (let i = 0; i < 5; i++)
      listener
        .hear(event("state.changed", { from_state: "a", to_state: "thinking" }))
        .wait(500)
        .hear(event("progress.updated", { progress: { percent: i } }));
    expect(listener.texts).toEqual(["Thinking.", "0 percent."]);
  });

  it("says a state once it has lasted; one that passes at once is in the history and what it led to is said (DEL-24, DEL-25)", () => {
    const event = eventsOf();
    const state = (to_state: string) => event("state.changed", { from_state: "idle", to_state });
    const tool = (summary_normal: string) => event("tool.invoked", { tool: "mail", summary_normal });
    const listener = new TestListener();
    listener.hear(
      event("session.started", started),
      state("thinking"),
      state("calling_tool"),
      tool("Reading mail."),
    );
    expect(listener.texts.slice(1)).toEqual(["Reading mail."]);
    listener.wait(5000).hear(state("thinking")).wait(499);
    expect(listener.texts.slice(1)).toEqual(["Reading mail."]);
    listener.wait(1).hear(tool("Writing mail."));
    expect(listener.texts.slice(1)).toEqual(["Reading mail.", "Thinking.", "Writing mail."]);
    const states = listener.announcer.history.filter(({ utterance }) => utterance.kind === "state");
    expect(states.map(({ status }) => status)).toEqual(["quiet", "quiet", "said"]);
  });

  it("drops a state from the queue once something else is to be said of its session, and only of that one", () => {
    const event = eventsOf();
    const other = eventsOf("en", { session_id: "sess_2" });
    const state = { from_state: "idle", to_state: "thinking" };
    const listener = new TestListener({}, () => 3000);
    listener.hear(
      event("session.started", started),
      event("state.changed", state),
      other("state.changed", state),
    );
    listener.wait(1000).hear(event("tool.invoked", { tool: "mail", summary_normal: "Reading mail." }));
    listener.wait(20_000);
    expect(listener.texts.slice(1, 3)).toEqual([
      "Planner, task 2: Thinking.",
      "Planner, task 1: Reading mail.",
    ]);
  });

  it("names whose state it is by what is true when it is said (SUB-16)", () => {
    const event = eventsOf();
    const other = eventsOf("en", { session_id: "sess_2" });
    const listener = new TestListener().hear(
      event("state.changed", { from_state: "a", to_state: "thinking" }),
    );
    listener.wait(100).hear(other("session.started", started)).wait(1000);
    expect(listener.texts.at(-1)).toBe("Planner, task 1: Thinking.");
  });

  it("at high load leaves out no state, and a critical one never waits", () => {
    const event = eventsOf();
    const state = { from_state: "a", to_state: "thinking" };
    const tool = () => event("tool.invoked", { tool: "mail", summary_normal: "Reading mail." });
    const high = new TestListener({ load: "high" }).hear(event("state.changed", state), tool());
    expect(high.texts).toEqual(["Thinking.", "Reading mail."]);
    const urgent = new TestListener().hear(event("state.changed", { ...state, urgency: "critical" }), tool());
    expect(urgent.texts).toEqual(["Thinking.", "Reading mail."]);
  });

  it("says after 15 seconds of silence that work goes on, and on what, then ever more rarely; and can be told not to", () => {
    for (const stillWorking of [true, false]) {
      const event = eventsOf();
      const listener = new TestListener({ stillWorking });
      listener
        .hear(
          event("session.started", started),
          event("tool.invoked", { tool: "search", summary_normal: "Searching flights." }),
        )
        .wait(15_000 + 30_000 + 60_000 + 5_000);
      const reminders = listener.said
        .filter(({ utterance }) => utterance.kind === "still_working")
        .map(({ at, text }) => [at, text]);
      expect(reminders).toEqual(
        stillWorking ? [15_000, 45_000, 105_000].map((at) => [at, "Still working: Searching flights."]) : [],
      );
    }
  });

  it("repeats the last thing, says what is happening, and forgets nothing", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.do("repeat").do("what");
    expect(listener.texts).toEqual(["Nothing has been said yet.", "No agent is working right now."]);
    listener.hear(event("session.started", started)).do("repeat");
    expect(listener.texts.slice(2)).toEqual(["Started: Planning your week.", "Started: Planning your week."]);
  });

  it("pauses, and catches up with a digest instead of a flood", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(event("session.started", started)).do("pause");
    for (let i = 0; i < 9; i++)
      listener.hear(event("tool.invoked", { tool: `t${i}`, summary_normal: `Step ${i}.` }));
    listener.hear(event("session.completed", { summary_normal: "All planned." }));
    expect(listener.texts).toEqual([
      "Started: Planning your week.",
      "Paused. Urgent messages still come through.",
    ]);
    listener.do("resume");
    expect(listener.texts.slice(2)).toEqual([
      "While you were away there were 10 announcements.",
      "Done: All planned.",
    ]);
    expect(listener.announcer.history.filter(({ status }) => status === "skipped")).toHaveLength(9);
  });

  it("names agents when there are several, and tells tasks and namesakes apart (SUB-16)", () => {
    const one = eventsOf();
    const two = eventsOf("en", {
      session_id: "sess_2",
      producer: { agent_id: "mailer", agent_name: "Mailer" },
    });
    const three = eventsOf("en", { session_id: "sess_3" });
    const listener = new TestListener();
    listener.hear(
      one("session.started", started),
      two("session.started", { summary_normal: "Reading mail." }),
      three("session.started", { summary_normal: "A second plan." }),
    );
    listener.hear(one("session.completed", { summary_normal: "Planned." }));
    expect(listener.texts).toEqual([
      "Started: Planning your week.",
      "Mailer: Started: Reading mail.",
      "Planner, task 2: Started: A second plan.",
      "Planner, task 1: Done: Planned.",
    ]);
  });

  it("at low load says nothing new during a question, and afterwards one sentence of what was and was not done (CON-22)", () => {
    const event = eventsOf();
    const listener = new TestListener({ load: "low" });
    const ask = event("awaiting.confirmation", {
      action: "Send the mail.",
      consequence: "It goes out.",
      reply_token: "rpl_1",
      timeout_seconds: 600,
      default_decision: "reject",
    });
    listener.hear(event("session.started", started), ask);
    const before = listener.texts.length;
    listener.hear(
      event("tool.invoked", { tool: "sort", summary_normal: "Sorting files." }),
      event("tool.completed", { tool: "sort", status: "success" }),
    );
    listener.hear(
      event("tool.invoked", { tool: "print", summary_normal: "Printing." }),
      event("tool.completed", { tool: "print", status: "error" }),
    );
    expect(listener.texts).toHaveLength(before);
    listener.answer("no");
    expect(listener.texts.slice(before)).toEqual([
      "Refused.",
      "What was done: Sorting files; what was not done: Printing, Send the mail.",
    ]);
  });

  it("takes each event once, and in its session's order where they are numbered (SUB-13)", () => {
    const event = eventsOf();
    const numbered = (n: number, summary_normal: string) =>
      event("tool.invoked", { tool: `t${n}`, summary_normal, sequence_number: n });
    const [one, two, three] = [numbered(1, "One."), numbered(2, "Two."), numbered(3, "Three.")];
    const listener = new TestListener();
    // As in a listener: the subscriber deduplicates, the announcer reorders.
    const subscriber = new Deduplicator();
    listener.hear(...[one, three, two, two, one].filter((received) => subscriber.take(received, true)));
    expect(listener.texts).toEqual(["One.", "Two.", "Three."]);
    listener.hear(numbered(6, "Six.")).wait(1000);
    expect(listener.texts.at(-1)).toBe("Six.");
  });

  it("puts pieces of text in order, and says where one is missing", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("output.streaming", chunk("One. ", 0)),
      event("output.streaming", chunk("Three. ", 10)),
      event("output.streaming", chunk("Two. ", 5, { coalesce_hint: "sentence" })),
    );
    listener.hear(event("output.streaming", chunk("Last.", 40, { complete: true })));
    expect(listener.texts).toEqual(["One.", "Two.", "Three.", "Something is missing here.", "Last."]);
  });

  it("speaks a word of another language within a sentence with its own voice (I18N-12)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    listener.hear(
      event("output.streaming", chunk("She said ", 0)),
      event("output.streaming", chunk("hasta luego", 9, { language: "es" })),
      event("output.streaming", chunk(" and left.", 20, { complete: true })),
    );
    expect(listener.said[0]!.utterance.runs.map(({ text, language }) => [text.trim(), language])).toEqual([
      ["She said", "en"],
      ["hasta luego", "es"],
      ["and left.", "en"],
    ]);
  });

  it("keeps handling critical events however far behind it is (SUB-15, DEL-19)", () => {
    const event = eventsOf();
    const listener = new TestListener({ pace_wpm: 60 }, () => 3000);
    for (let i = 0; i < 1000; i++)
      listener.hear(event("tool.invoked", { tool: "t", summary_normal: `Step number ${i}.` }));
    listener.hear(event("session.errored", { summary_normal: "Out of space.", error_category: "permanent" }));
    expect(listener.texts.at(-1)).toContain("Failed: Out of space.");
    listener.wait(3_600_000);
    expect(
      listener.texts.some((text) => /announcements were skipped. They are in the history/.test(text)),
    ).toBe(true);
    expect(listener.announcer.history.filter(({ utterance }) => utterance.kind === "tool")).toHaveLength(
      1000,
    );
  });

  it("does nothing at the word of an extension it has not adopted (SEC-12, EXT-08)", () => {
    const event = eventsOf();
    const listener = new TestListener();
    const ask = {
      action: "Pay.",
      consequence: "Paid.",
      reply_token: "rpl_1",
      timeout_seconds: 60,
      default_decision: "reject",
    };
    listener.hear(event("awaiting.confirmation", ask));
    const evil = {
      resolves: { reply_token: "rpl_1", outcome: "accepted" },
      say: "Allowed.",
      open: "file:///etc/passwd",
    };
    listener.hear(
      event("progress.updated", {
        progress: { percent: 1 },
        summary_normal: "One percent.",
        extensions: { evil },
      }),
    );
    expect(listener.announcer.question).toBeDefined();
    expect(listener.texts.slice(1)).toEqual(["One percent."]);
    expect(listener.sent).toEqual([]);
  });

  it("marks the direction an event gives its text (CON-34)", () => {
    const event = eventsOf("ar", { localization_hints: { primary_language: "ar", text_direction: "auto" } });
    const listener = new TestListener().hear(event("session.started", { summary_normal: "دفع إيجارك." }));
    expect(listener.said.at(-1)!.utterance.runs.map(({ direction }) => direction)).toEqual(["ltr", "auto"]);
  });

  it("does not keep a whole sentence waiting for one that does not come, nor let a tool overtake it (CON-25)", () => {
    const event = eventsOf();
    const listener = new TestListener({ stillWorking: false });
    listener.hear(event("output.streaming", chunk("Let me check.", 0)));
    expect(listener.texts).toEqual([]);
    listener.wait(1000);
    expect(listener.texts).toEqual(["Let me check."]);
    listener.hear(event("output.streaming", chunk(" Dr.", 13))).wait(60_000);
    expect(listener.texts).toHaveLength(1);
    listener.hear(
      event("output.streaming", chunk(" Obi asked.", 17)),
      event("tool.invoked", { tool: "t", summary_normal: "Checking." }),
    );
    expect(listener.texts.slice(1)).toEqual(["Dr. Obi asked.", "Checking."]);
  });

  it("says the same words however the tokens were cut, in any order they come, and never part of one (DEL-23, I18N-12)", () => {
    const TEXTS = [
      "Dr. Obi paid 3.14 dollars. Is that all? Yes: 👨\u200d👩\u200d👧 are fine. Bye",
      "家賃は明日です。今払います。終わり",
      "Ẹ kú àárọ̀. Ṣé dáadáa ni? Bẹ́ẹ̀ ni.",
      "لديك مال كافٍ. هل أدفع؟ نعم",
    ];
    const script = fc.record({
      text: fc.constantFrom(...TEXTS),
      cuts: fc.array(fc.nat(80), { maxLength: 12 }),
      swap: fc.nat(12),
    });
    fc.assert(
      fc.property(script, ({ text, cuts, swap }) => {
        const event = eventsOf();
        const points = Array.from(text);
        const at = [...new Set([0, ...cuts.filter((cut) => cut < points.length), points.length])].sort(
          (a, b) => a - b,
        );
        const pieces = at
          .slice(0, -1)
          .map((from, index) => chunk(points.slice(from, at[index + 1]).join(""), from));
        const [first, ...rest] = pieces;
        const turned = [
          ...rest.slice(swap % (rest.length || 1)),
          ...rest.slice(0, swap % (rest.length || 1)),
        ];
        const listener = new TestListener({ stillWorking: false });
        for (const piece of [first!, ...turned]) listener.hear(event("output.streaming", piece));
        listener.hear(event("session.completed", { summary_normal: "End." }));
        const whole = new TestListener({ stillWorking: false }).hear(
          event("output.streaming", { ...chunk(text, 0), session_id: "sess_2", complete: true }),
        );
        expect(listener.texts.slice(0, -1)).toEqual(whole.texts);
      }),
      { numRuns: 200 },
    );
  });
});
