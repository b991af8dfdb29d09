/** The chapter's complete lifecycle (5.11), and what every session looks like from its first event to its last. */
import { describe, expect, it } from "vitest";
import { moves, openWorld, TRANSFER } from "../support/driver.ts";

describe("a complete subscription lifecycle, as in chapter 5.11", () => {
  it("has every event of the chapter in its order, with only state.changed between (HS-01, HS-21, SEQ-15)", async () => {
    const world = await openWorld();
    const ear = await world.connect({
      subscriber_id: "narrator",
      extension: false,
      capabilities: { max_events_per_second: 3, languages: ["en-US"], supported_conformance_levels: [2] },
    });
    expect(ear.wire.accepted.honored_capabilities).toMatchObject({ max_events_per_second: 3 });
    const ran: unknown[] = [];
    const done = world.agent.run({ summary: "Moving money to savings." }, async (session) => {
      await world.pause(3);
      await session.tool({ tool: "fetch_balance", summary: "Checking your balance." }, () => world.pause(2));
      await world.pause(4);
      const sent = await session.tool(TRANSFER, async (params) => {
        ran.push(params);
        await world.pause(2);
      });
      expect(sent.ran).toBe(true);
      await world.pause(2);
      await session.say("The transfer is done. ");
      await session.say("Your savings ");
      await world.pause(3);
      await session.say("have grown by 500 dollars.");
      await world.pause(1);
    });
    await world.advance(15);
    expect(await ear.accept()).toBe(true);
    await world.advance(20);
    await done;
    await ear.close();

    expect(ear.types.filter((type) => type !== "state.changed")).toEqual([
      "session.started",
      "tool.invoked",
      "tool.completed",
      "awaiting.confirmation",
      "tool.invoked",
      "tool.completed",
      "output.streaming",
      "output.streaming",
      "session.completed",
    ]);
    expect(ear.all("tool.invoked").map(({ tool }) => tool)).toEqual(["fetch_balance", "transfer_funds"]);
    expect(ear.all("tool.completed").map(({ status }) => status)).toEqual(["success", "success"]);
    expect(
      ear.all("output.streaming").map(({ coalesce_hint, complete }) => [coalesce_hint, complete]),
    ).toEqual([
      ["sentence", false],
      ["completion", true],
    ]);
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
    const before = ear.events.length;
    await world.agent.run({ summary: "Another request." }, () => undefined);
    await world.settle();
    expect(ear.events).toHaveLength(before);
    world.check({ ended: true });
  });

  it("reports every move into and out of thinking, tools and answers (SEQ-05, SEQ-06, SEQ-07, SEQ-13, SEQ-19)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const done = world.agent.run({ summary: "Hello." }, async (session) => {
      await session.tool({ tool: "look", summary: "Looking." }, () => 1);
      await session.tool(TRANSFER, () => 2);
      await session.say("Here you are.");
    });
    await world.settle();
    await ear.accept();
    await done;
    await world.settle();
    expect(moves(ear)).toEqual([
      ["idle", "thinking"],
      ["thinking", "calling_tool"],
      ["calling_tool", "thinking"],
      ["thinking", "awaiting_input"],
      ["awaiting_input", "calling_tool"],
      ["calling_tool", "thinking"],
      ["thinking", "writing_output"],
    ]);
    const completed = ear.types.indexOf("tool.completed");
    expect(ear.events[completed + 1]).toMatchObject({ from_state: "calling_tool", to_state: "thinking" });
    world.check({ ended: true });
  });
});

describe("every session", () => {
  it("is strictly valid from first to last: ENV-01, ENV-02, ENV-05, ENV-07, ENV-09, ENV-10, ENV-11, ENV-13, ENV-15, ENV-28, ENV-31, ENV-33, ENV-34, ENV-35, EVT-01, EVT-02, EVT-04, EVT-05, EVT-06, EVT-07, EVT-08, EVT-09, EVT-10, EVT-11, EVT-12, EVT-13, EVT-15, SEQ-01, SEQ-02, SEQ-09, SEQ-10, SEQ-11, SEQ-20, SEQ-22, I18N-02, LIM-09", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({
      summary: {
        terse: "Planning.",
        normal: "Planning your week.",
        detailed: "Planning your week, day by day.",
      },
      requested_by: "user:ada",
      request_text: "Plan my week",
      expected_duration_ms: 60_000,
      tools_available: ["calendar"],
      correlation_id: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    void session.progress({ percent: 12.5 });
    void session.progress({ step: 2, total_steps: 5, description: "Reading the calendar." });
    const tool = session.tool({ tool: "calendar", summary: "Reading." }, () => 1);
    const asked = session.clarify({
      question: "Which day?",
      choices: [
        { value: "mo", label: "Monday" },
        { value: "tu", label: "Tuesday" },
      ],
    });
    await tool;
    await world.settle();
    expect(await ear.answer("mo")).toBe(true);
    expect(await asked).toEqual({ answered: true, response: "mo", kind: "multiple_choice" });
    void session.say("Monday it is.", { content_type: "text/markdown" });
    void session.state("checking_rules", "Checking the rules.");
    void session.handoff({ reason: "A person has to sign this.", target_kind: "human", urgency: "low" });
    void session.cancel({ reason: "handed_over", partial_result: "A draft." });
    await world.settle();
    expect(session.failure).toBeUndefined();
    expect(ear.types.at(0)).toBe("session.started");
    expect(ear.types.at(-1)).toBe("session.cancelled");
    world.check({ ended: true });
  });

  it("speaks on every event but streamed text, and names the language: EVT-14, I18N-01", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const done = world.agent.run({ summary: "Hello." }, async (session) => {
      await session.tool({ tool: "look", summary: "Looking." }, () => 1);
      await session.tool(TRANSFER, () => 2);
      await session.say("Hi.");
    });
    await world.settle();
    await ear.accept();
    await done;
    await world.settle();
    for (const event of ear.events) {
      expect(event.localization_hints).toMatchObject({ primary_language: "en", text_direction: "ltr" });
      expect(event.urgency).toBeDefined();
      if (event.type !== "aaep:agent.output.streaming") expect(event.summary_normal).toMatch(/\S/);
    }
  });

  it("is stamped with the moment it happens, and never goes back when the wall clock does: ENV-14, ENV-15", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    const stamps = async () => {
      await world.settle();
      return ear.events.at(-1)!.timestamp;
    };
    expect(await stamps()).toBe(world.clock.timestamp());
    await world.advance(2);
    void session.progress({ percent: 10 });
    expect(await stamps()).toBe(world.clock.timestamp());
    world.clock.jump(-3_600_000);
    void session.progress({ percent: 20 });
    expect(await stamps()).toBe("2026-01-01T00:00:02.000Z");
    await session.complete();
    world.check();
  });

  it("answers one request: another request is another session, under one agent_id without a version (ENV-16, ENV-39)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    await world.agent.run({ summary: "One." }, () => undefined);
    await world.agent.run({ summary: "Two." }, () => undefined);
    await world.settle();
    expect(new Set(ear.all("session.started").map(({ session_id }) => session_id)).size).toBe(2);
    expect(new Set(ear.events.map(({ producer }) => producer.agent_id))).toEqual(
      new Set(["com.example.planner"]),
    );
    const { createProducer } = await import("../../src/producer/producer.ts");
    for (const agent_id of ["", " ", "planner@1.2.0", "planner-v1.2"]) {
      expect(() => createProducer({ agent_id })).toThrowError(expect.objectContaining({ code: "ENV-16" }));
    }
    expect(() => createProducer({ agent_id: "planner-2.0.1", agent_version: "2.0.1" })).toThrow();
  });

  it("counts positions from the start of each output, in code points: EVT-18", async () => {
    const world = await openWorld();
    const ear = await world.connect({ capabilities: { coalesce_boundaries: ["none"] } });
    const session = world.agent.start({ summary: "Hello." });
    const other = session.output();
    void session.say("A 👩‍👩‍👧 here. ");
    void other.say("Elsewhere. ");
    void session.say("Then more.");
    void other.end();
    await session.complete();
    await world.settle();
    const chunks = ear.all("output.streaming");
    for (const id of new Set(chunks.map(({ output_id }) => output_id))) {
      let at = 0;
      for (const { chunk, position } of chunks.filter(({ output_id }) => output_id === id)) {
        expect(position).toBe(at);
        at += [...chunk].length;
      }
    }
    expect(new Set(chunks.map(({ output_id }) => output_id)).size).toBe(2);
    world.check({ ended: true });
  });

  it("closes open text before it ends, however it ends (CON-46, SEQ-20)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    for (const end of ["complete", "fail", "cancel"] as const) {
      const session = world.agent.start({ summary: "Hello." });
      void session.say("Half a sen");
      if (end === "fail") await session.fail({ summary: "It broke." });
      else await session[end]();
      await world.settle();
      expect(ear.types.at(-2)).toBe("output.streaming");
      expect(ear.all("output.streaming").at(-1)).toMatchObject({ complete: true, chunk: "Half a sen" });
    }
    world.check({ ended: true });
  });
});
