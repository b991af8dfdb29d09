/** What an agent's author writes, and what goes wrong: misuse is refused by name, failures are said plainly. */
import { describe, expect, it } from "vitest";
import { ENGLISH } from "../../src/producer/phrases.ts";
import type { AwaitingConfirmation } from "../../src/protocol/types.ts";
import { moves, openWorld, TRANSFER } from "../support/driver.ts";

describe("a call that would break a rule", () => {
  it("is refused with the requirement's id, and nothing of it is heard (SEQ-02, SEQ-03, SEQ-04, SEQ-21, EVT-06, ENV-07)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    const output = session.output();
    await output.end();
    await world.settle();
    const before = ear.events.length;
    const open: [Promise<unknown>, string][] = [
      [session.progress({ step: 3, total_steps: 2 }), "EVT-06"],
      [session.progress({ percent: 101 }), "EVT-06"],
      [session.progress({} as never), "EVT-06"],
      [output.say("late"), "SEQ-21"],
      [session.state("x".repeat(65)), "EVT-05"],
      [session.fail({ summary: "x", code: "not a code" }), "EVT-03"],
      [session.tool({ tool: "t", summary: "" }, () => 1), "EVT-07"],
      [session.tool({ tool: "t", summary: "T.", irreversible: true } as never, () => 1), "CNF-01"],
      [session.tool({ tool: "t", summary: "T.", irreversible: "yes" } as never, () => 1), "EVT-07"],
      [session.tool({ tool: "t", summary: "T.", risk: "extreme" } as never, () => 1), "EVT-07"],
      [session.handoff({ reason: "r", target_kind: "human", target_uri: "not a uri" }), "EVT-12"],
    ];
    for (const [call, code] of open) {
      await expect(call, code).rejects.toMatchObject({
        name: "EarshotError",
        message: expect.stringMatching(/\S/),
      });
      const error = (await call.catch((caught: unknown) => caught)) as { code: string };
      expect(error.code).toMatch(/^(?:ENV|EVT|SEQ|CNF|LIM|CON|I18N)-\d\d$/);
    }
    await world.settle();
    expect(ear.types.slice(before).filter((type) => !["state.changed"].includes(type))).toEqual([]);
    await session.complete();
    const ended = [
      session.say("more"),
      session.progress({ percent: 1 }),
      session.state("thinking"),
      session.tool({ tool: "t", summary: "T." }, () => 1),
      session.tool(TRANSFER, () => 1),
      session.confirm({ action: "a", consequence: "c" }),
      session.clarify({ question: "q" }),
      session.handoff({ reason: "r", target_kind: "human" }),
      session.complete(),
      session.fail({ summary: "x" }),
    ];
    for (const call of ended) await expect(call).rejects.toMatchObject({ code: "SEQ-03" });
    await expect(session.cancel()).resolves.toBeUndefined();
    expect(() => session.output()).toThrowError(expect.objectContaining({ code: "SEQ-03" }));
    expect(() => world.agent.start({ summary: "" })).toThrow();
    world.check({ ended: true });
  });

  it("takes nothing down when nobody awaits it: the failure is kept on the session", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    const world = await openWorld();
    const session = world.agent.start({ summary: "Hello." });
    void session.progress({ step: 2, total_steps: 1 });
    void session.tool({ tool: "t", summary: "T." }, () => Promise.reject(new Error("inside")));
    void session.complete();
    void session.say("late");
    await world.settle();
    expect(session.failure).toMatchObject({ code: "EVT-06" });
    const broken = await openWorld({
      store: {
        identity: { epoch: "AAAAAA", key: 1 },
        append: () => Promise.reject(new Error("disk full")),
        recent: () => [],
        follow: () => () => {},
        read: async function* () {},
        facts: () => [],
      },
    });
    const lost = broken.agent.start({ summary: "Hello." });
    void lost.say("a");
    await broken.settle();
    expect(lost.failure).toMatchObject({ code: "log_broken", cause: { message: "disk full" } });
    expect(lost.signal.aborted).toBe(true);
    let ran = 0;
    await expect(lost.tool({ tool: "t", summary: "T." }, () => ran++)).rejects.toMatchObject({
      code: "log_broken",
    });
    expect(ran).toBe(0);
    await world.settle();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

describe("run", () => {
  it("completes when the work returns, with its value", async () => {
    const world = await openWorld();
    expect(await world.agent.run({ summary: "Hello." }, () => 42)).toBe(42);
    await world.settle();
    expect(world.witness.types.at(-1)).toBe("session.completed");
    await world.agent.run({ summary: "Hello." }, (session) => session.complete("Finished by hand."));
    await world.settle();
    expect(world.witness.spoken.at(-1)).toBe("Finished by hand.");
    world.check({ ended: true });
  });

  it("fails when it throws: the listener hears a plain sentence, the caller gets the error: EVT-03, EVT-16", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const error = new Error("connect ECONNREFUSED 10.0.0.3 password=hunter2secret");
    await expect(
      world.agent.run({ summary: "Hello." }, (session) =>
        session.tool({ tool: "db", summary: "Reading the database." }, () => {
          throw error;
        }),
      ),
    ).rejects.toBe(error);
    await world.settle();
    expect(ear.all("session.errored")[0]).toMatchObject({ urgency: "critical", error_category: "unknown" });
    expect(ear.spoken.at(-1)).toBe("Something went wrong, so this could not be finished.");
    expect(ear.all("tool.completed")[0]).toMatchObject({
      status: "error",
      error_message: "It did not work.",
    });
    expect(JSON.stringify(ear.events)).not.toMatch(/ECONNREFUSED|hunter2|node:|\.ts:/);
    world.check({ ended: true });
  });

  it("cancels when its signal aborts, before or while it runs", async () => {
    const world = await openWorld();
    const abort = new AbortController();
    const running = world.agent.run({ summary: "Hello.", signal: abort.signal }, async (session) => {
      await new Promise((resolve) => session.signal.addEventListener("abort", resolve));
      await session.say("too late");
    });
    await world.settle();
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: "SEQ-03" });
    await world.settle();
    expect(world.witness.all("session.cancelled")[0]).toMatchObject({ cancelled_by: "system" });
    await world.agent.run({ summary: "Hello.", signal: abort.signal }, (session) =>
      expect(session.ended).toBe(true),
    );
    await world.settle();
    expect(world.witness.all("session.cancelled")).toHaveLength(2);
    world.check({ ended: true });
  });

  it("is stopped by a person who may answer, at any time, tools and questions included (CON-50, SEQ-28)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const listener = await world.connect({ principal: { id: "screen", role: "listen", audiences: "all" } });
    const session = world.agent.start({ summary: "Hello." });
    const tool = session.tool(
      { tool: "t", summary: "Working." },
      (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    );
    const gated = session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(await listener.stop(session.session_id)).toBe(false);
    expect(await ear.stop("sess_unknown")).toBe(false);
    expect(await ear.stop(session.session_id, "I changed my mind")).toBe(true);
    await expect(tool).rejects.toThrow("stopped");
    expect(await gated).toMatchObject({ outcome: "withdrawn" });
    expect(ear.all("session.cancelled")[0]).toMatchObject({
      cancelled_by: "user",
      cancellation_reason: "user_request",
    });
    expect(ear.spoken.at(-1)).toBe("Stopped, as you asked.");
    expect(ear.all("tool.completed")).toHaveLength(1);
    world.check({ ended: true });
  });
});

describe("tools", () => {
  it("may run side by side, each paired by its id, and the state follows them (SEQ-09, SEQ-10, SEQ-11)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    const results = [3, 1, 2].map((seconds) =>
      session.tool({ tool: "wait", summary: "Waiting." }, async () => {
        await world.pause(seconds);
        return seconds;
      }),
    );
    await world.advance(5);
    expect((await Promise.all(results)).map(({ value }) => value)).toEqual([3, 1, 2]);
    await world.settle();
    expect(new Set(ear.all("tool.invoked").map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
    expect(ear.all("tool.completed").map(({ duration_ms }) => duration_ms)).toEqual([1_000, 2_000, 3_000]);
    expect(moves(ear)).toEqual([
      ["idle", "thinking"],
      ["thinking", "calling_tool"],
      ["calling_tool", "thinking"],
    ]);
    await session.complete();
    expect(world.witness.all("session.completed")[0]).toMatchObject({ tool_invocations_count: 3 });
    world.check({ ended: true });
  });

  it("that never return are closed with a timeout, counted from when they start: SEQ-12", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    let stopped = false;
    const never = session.tool({ tool: "t", summary: "T.", timeoutMs: 2_000 }, (_, { signal }) => {
      signal.addEventListener("abort", () => {
        stopped = true;
      });
      return new Promise(() => {});
    });
    const forgotten = session.tool({ tool: "u", summary: "U." }, () => new Promise(() => {}));
    const gated = session.tool({ ...TRANSFER, timeoutMs: 2_000, timeout_seconds: 3_000 }, () => "in time");
    await world.advance(2);
    await expect(never).rejects.toMatchObject({ code: "tool_timeout" });
    expect(stopped).toBe(true);
    expect(ear.all("tool.completed")[0]).toMatchObject({
      status: "timeout",
      error_message: "It took too long.",
    });
    await world.advance(1_000);
    await ear.accept();
    expect(await gated).toEqual({ ran: true, value: "in time" });
    await world.advance(3_600);
    await expect(forgotten).rejects.toMatchObject({ code: "tool_timeout" });
    await session.complete();
    world.check({ ended: true });
  });

  it("that still run when the session ends are reported first, and what they return later is not (SEQ-10)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    const slow = session.tool({ tool: "t", summary: "T." }, () => world.pause(10));
    await world.settle();
    await session.complete();
    await world.advance(20);
    await slow;
    expect(ear.types.slice(-3)).toEqual(["tool.completed", "state.changed", "session.completed"]);
    expect(ear.all("tool.completed")).toHaveLength(1);
    world.check({ ended: true });
  });

  it("get a name every listener can take, and keep their own in the description (CON-42)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    await world.agent.run({ summary: "Hello." }, async (session) => {
      for (const tool of ["a/b:c", "7days", "büro", "", "x".repeat(300), "plain_name"]) {
        await session.tool({ tool, summary: "Running.", description: "Does it." }, () => 1);
      }
    });
    await world.settle();
    const invoked = ear.all("tool.invoked");
    expect(invoked.map(({ tool }) => tool)).toEqual([
      "a_b_c",
      "_7days",
      "b_ro",
      "_",
      "x".repeat(256),
      "plain_name",
    ]);
    expect(invoked[0]!.description).toBe("a/b:c: Does it.");
    expect(invoked[5]!.description).toBe("Does it.");
    expect(ear.all("tool.completed").map(({ tool }) => tool)).toEqual(invoked.map(({ tool }) => tool));
    world.check({ ended: true });
  });

  it("may say in the author's words how they ended", async () => {
    const world = await openWorld();
    const session = world.agent.start({ summary: "Hello." });
    await session.tool({ tool: "t", summary: "T.", done: "Three mails found." }, () => 3);
    const broken = session.tool(
      { tool: "t", summary: "T.", failed: "The mailbox could not be opened." },
      () => {
        throw new Error("EACCES /home/ada");
      },
    );
    await expect(broken).rejects.toThrow("EACCES");
    await session.complete();
    await world.settle();
    expect(world.witness.spoken).toContain("Three mails found.");
    expect(world.witness.spoken).toContain("The mailbox could not be opened.");
    expect(JSON.stringify(world.witness.events)).not.toContain("EACCES");
  });
});

describe("words", () => {
  const KEY = "sk-live-abcdefghijklmnop1234";

  it("are cleaned of secrets everywhere, also when they arrive in pieces: EVT-16, SEC-09", async () => {
    const world = await openWorld({ redact: (text) => text.replaceAll("Project Hush", "[name removed]") });
    const ear = await world.connect({ capabilities: { coalesce_boundaries: ["none"] } });
    const session = world.agent.start({
      summary: `Using ${KEY}.`,
      request_text: "my password: hunter2hunter",
    });
    await session.tool({ tool: "t", summary: "T.", args_summary: `key=${KEY}` }, () => 1);
    const secrets = [
      KEY,
      "ghp_abcdefghijklmnopqrstuvwxyz0123",
      "Bearer abcdefghijklmnop.qrstuvwxyz",
      "password = correcthorse",
      "AKIAABCDEFGHIJKLMNOP",
      "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
      "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    ];
    for (const size of [1, 2, 5, 1_000]) {
      for (const secret of secrets) {
        const text = `Here: ${secret} and on. `;
        for (let at = 0; at < text.length; at += size) void session.say(text.slice(at, at + size));
      }
    }
    void session.say("The task-force and the basket are fine; so is Project Hush. s");
    await session.complete();
    await world.settle();
    const wire = JSON.stringify(ear.events);
    for (const part of [
      "abcdefghijklmnop",
      "correcthorse",
      "hunter2",
      "AKIAABC",
      "eyJhbG",
      "MIIEp",
      "Project Hush",
    ]) {
      expect(wire).not.toContain(part);
    }
    const text = ear
      .all("output.streaming")
      .map(({ chunk }) => chunk)
      .join("");
    expect(text.match(/Here: \[secret removed\] and on\. /g)).toHaveLength(28);
    expect(text).toContain("The task-force and the basket are fine; so is [name removed]. s");
    world.check({ ended: true });
  });

  it("are held back no longer than a doubtful word: nothing waits for the next question", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    void session.say("Ask");
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(ear.types.indexOf("output.streaming")).toBeLessThan(ear.types.indexOf("awaiting.confirmation"));
    await session.cancel();
    await outcome;
    world.check({ ended: true });
  });

  it("that are too long are cut between characters as people see them, never inside one (CON-41, LIM-09)", async () => {
    const world = await openWorld();
    const ear = await world.connect({ capabilities: { preferred_verbosity: "terse" } });
    const family = "👩‍👩‍👧‍👦";
    const session = world.agent.start({
      summary: { terse: family.repeat(2_000), normal: "é".repeat(20_000) },
    });
    const outcome = session.tool(
      {
        ...TRANSFER,
        action: "Send it.",
        params: { body: family.repeat(1_000), deep: { a: { b: { c: { d: { e: 1 } } } } } },
      },
      () => 1,
    );
    await world.settle();
    const [started] = ear.all("session.started");
    expect(started!.summary_terse).toMatch(/^(?:👩‍👩‍👧‍👦)+…$/u);
    expect(started!.summary_normal).toMatch(/^é+…$/);
    const { extra_context } = ear.question as AwaitingConfirmation;
    const [body, deep] = (extra_context?.["params"] ?? []) as { value: string }[];
    expect(body!.value).toMatch(/^(?:👩‍👩‍👧‍👦)+… and \d+ more characters$/u);
    expect(deep!.value).toBe('{"a":{"b":{"c":{"d":{"e":1}}}}}');
    await session.cancel();
    await outcome;
    world.check({ ended: true });
  });

  it("come in each listener's language and length, questions included; what the library says itself is marked as English (I18N-01)", async () => {
    const world = await openWorld({ language: "de", languages: ["en", "fr"] });
    const german = await world.connect({ capabilities: { languages: ["de"] } });
    const french = await world.connect({
      capabilities: { languages: ["fr"], preferred_verbosity: "detailed" },
    });
    const session = world.agent.start({
      summary: { de: "Hallo.", fr: { normal: "Bonjour.", detailed: "Bonjour à tous." }, en: "Hello." },
    });
    const confirmed = session.confirm({
      action: { de: "Rechnung bezahlen.", fr: "Payer la facture." },
      consequence: { de: "Das Geld ist weg.", fr: "L'argent part." },
    });
    await world.settle();
    expect(german.question).toMatchObject({
      action: "Rechnung bezahlen.",
      localization_hints: { primary_language: "de" },
    });
    expect(french.question).toMatchObject({ action: "Payer la facture.", consequence: "L'argent part." });
    expect(french.all("session.started")[0]).toMatchObject({ summary_detailed: "Bonjour à tous." });
    await german.accept();
    await confirmed;
    for (const state of german.all("state.changed"))
      expect(state.localization_hints?.primary_language).toBe("en");
    const clarified = session.clarify({ question: { de: "Wann?", fr: "Quand ?" } });
    await world.settle();
    expect(french.question).toMatchObject({ question: "Quand ?" });
    await french.answer("demain");
    await clarified;
    await session.handoff({
      reason: { de: "Ein Mensch muss ran.", fr: "Il faut quelqu'un." },
      target_kind: "human",
    });
    await world.settle();
    expect(french.all("handoff.requested")[0]).toMatchObject({ reason: "Il faut quelqu'un." });
    await expect(
      session.confirm({ action: { fr: "Oui." }, consequence: { en: "Gone." } }),
    ).rejects.toMatchObject({ code: "I18N-01" });
    await session.complete("Fertig.");
    world.check({ ended: true });
  });

  it("of the library itself come in every language there are phrases for", async () => {
    const GERMAN = {
      ...ENGLISH,
      states: { ...ENGLISH.states, thinking: "Denkt nach." },
      refusals: { ...ENGLISH.refusals, nobody_to_ask: "Niemand war da." },
    };
    const world = await openWorld({ language: "de", languages: ["en"], phrases: { de: GERMAN } });
    const ear = await world.connect({
      capabilities: { languages: ["de"], supports_confirmation_reply: false },
    });
    const session = world.agent.start({ summary: "Hallo." });
    const refused = await session.tool(TRANSFER, () => 1);
    expect(refused).toMatchObject({ summary: "Niemand war da." });
    await world.settle();
    expect(ear.all("state.changed")[0]).toMatchObject({
      summary_normal: "Denkt nach.",
      localization_hints: { primary_language: "de" },
    });
    expect(world.witness.all("state.changed")[0]).toMatchObject({ summary_normal: "Thinking." });
  });

  it("that mix directions keep their isolates and marks, and lose overrides: I18N-15", async () => {
    const world = await openWorld({ language: "he" });
    const ear = await world.connect({ capabilities: { languages: ["he"] } });
    const isolated = "\u05d4\u05e2\u05d1\u05e8 \u2068USD 500\u2069 \u05dc-\u200eABC\u200e.";
    const session = world.agent.start({ summary: isolated });
    void session.progress({ percent: 1, summary: "safe \u202etxt.exe\u202c \u0007" });
    await world.settle();
    expect(ear.all("session.started")[0]).toMatchObject({
      summary_normal: isolated,
      localization_hints: { primary_language: "he", text_direction: "rtl" },
    });
    expect(ear.all("progress.updated")[0]!.summary_normal).toBe("safe txt.exe\u202c ");
    await session.complete("\u05e1\u05d9\u05d9\u05de\u05ea\u05d9.");
    world.check({ ended: true });
  });
});

describe("handing over", () => {
  it("is announced when the agent cannot finish and somebody else goes on: EVT-22", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Disputing a charge." });
    await session.handoff({
      reason: "Only a person at the bank can decide this.",
      target_kind: "human",
      target_uri: "tel:+15550100",
      packaged_context: { case: 17 },
      urgency: "high",
    });
    await session.complete("A person at the bank will call you.");
    await world.settle();
    expect(ear.all("handoff.requested")[0]).toMatchObject({
      urgency: "critical",
      urgency_for_handoff: "high",
      summary_normal: "Only a person at the bank can decide this.",
    });
    expect(moves(ear).at(-1)).toEqual(["thinking", "handing_off"]);
    world.check({ ended: true });
  });
});

describe("relay", () => {
  it("passes on what happened elsewhere, checked and marked, and runs nothing", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const foreign = (type: string, fields: object) => ({
      "@context": "https://aaep-protocol.org/context/v1",
      type: `aaep:agent.${type}`,
      event_id: `evt_${Math.random().toString(16).slice(2)}`,
      session_id: "sess_elsewhere",
      timestamp: world.clock.timestamp(),
      producer: { agent_id: "other" },
      localization_hints: { primary_language: "en" },
      summary_normal: "Elsewhere.",
      urgency: "normal",
      ...fields,
    });
    const { relay } = world.agent;
    await expect(relay(foreign("tool.invoked", { tool: "x" }))).rejects.toMatchObject({ code: "SEQ-01" });
    await relay(foreign("session.started", {}));
    const question = {
      action: "Pay.",
      consequence: "Gone.",
      reply_token: "rpl_1",
      timeout_seconds: 60,
      default_decision: "reject",
      urgency: "critical",
    };
    await relay(foreign("awaiting.confirmation", question));
    await relay(foreign("tool.invoked", { tool: "pay", irreversible: true, risk_level: "high" }));
    await expect(relay({ type: "subscription.close" })).rejects.toMatchObject({ code: "EVT-13" });
    await relay(foreign("tool.completed", { tool: "pay", status: "success" }));
    await relay(foreign("session.completed", {}));
    await world.settle();
    expect(ear.types).toEqual([
      "session.started",
      "state.changed",
      "tool.invoked",
      "tool.completed",
      "session.completed",
    ]);
    for (const event of ear.events) {
      expect(event.extensions?.["earshot"]).toEqual({ relayed: true });
      expect(event.session_id).not.toBe("sess_elsewhere");
    }
    expect(ear.questions).toEqual([]);
  });
});
