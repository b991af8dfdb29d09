/** The gate, as an agent's author and a person meet it: what runs, what does not, and what is said about it. */
import { describe, expect, it } from "vitest";
import type { AwaitingConfirmation } from "../../src/protocol/types.ts";
import { moves, openWorld, TRANSFER } from "../support/driver.ts";

describe("a tool that cannot be undone", () => {
  it("is asked about first, and runs only after a person's yes: CNF-01, CNF-02, SEQ-08, SEQ-14, SEQ-15", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const ran: unknown[] = [];
    const outcome = session.tool(TRANSFER, (params) => {
      ran.push(params);
      return "receipt 17";
    });
    await world.settle();
    expect(ran).toEqual([]);
    expect(ear.types).not.toContain("tool.invoked");
    const question = ear.question as AwaitingConfirmation;
    expect(question).toMatchObject({
      urgency: "critical",
      action: "Transfer 500 dollars to savings.",
      consequence: "The money moves at once and cannot be called back.",
      default_decision: "reject",
      risk_level: "high",
      irreversible: true,
      reversibility: "irreversible",
      allowed_replies: ["accept", "reject"],
      timeout_seconds: 300,
      extra_context: {
        params: [
          { name: "amount", label: "Amount", value: 500 },
          { name: "to", label: "To", value: "savings" },
        ],
      },
    });
    await ear.accept();
    expect(await outcome).toEqual({ ran: true, value: "receipt 17" });
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
    await world.settle();
    const invoked = ear.all("tool.invoked");
    expect(invoked).toHaveLength(1);
    expect(invoked[0]).toMatchObject({ irreversible: true, risk_level: "high" });
    expect(invoked[0]!.tool_call_id).toBe(question.extra_context?.["tool_call_id"]);
    await session.complete();
    world.check({ ended: true });
  });

  it("does not run after a no, and everyone hears that: CNF-04, SEQ-16, SEQ-17, SEQ-18", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const other = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = session.tool(TRANSFER, () => ran++);
    await world.settle();
    await ear.reject();
    expect(await outcome).toMatchObject({
      ran: false,
      outcome: "rejected",
      summary: "The answer was no, so it was not done.",
    });
    expect(((await outcome) as { forModel: string }).forModel).toMatch(/did not run.*Do not try this again/);
    expect(ran).toBe(0);
    for (const heard of [ear, other]) {
      expect(heard.spoken.at(-1)).toBe("The answer was no. It will not be done.");
      expect(moves(heard).at(-1)).toEqual(["awaiting_input", "thinking"]);
      expect(heard.settled.get(ear.question.reply_token)).toBe("rejected");
    }
    await session.complete();
    expect(ear.types).not.toContain("tool.invoked");
    world.check({ ended: true });
  });

  it("does not run when nobody answers in time: silence is the default, and the default is no (CNF-03, CNF-20)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = session.tool({ ...TRANSFER, timeout_seconds: 60 }, () => ran++);
    await world.advance(59.9);
    expect(ear.settled.size).toBe(0);
    await world.advance(0.1);
    expect(await outcome).toMatchObject({ ran: false, outcome: "timed_out" });
    expect(ran).toBe(0);
    expect(await ear.accept()).toBe(false);
    expect(ear.spoken.at(-1)).toBe("Nobody answered in time. It will not be done.");
    await session.complete();
    world.check();
  });

  it("is not even asked about when nobody could answer, and the operator learns how to listen (CON-01)", async () => {
    const world = await openWorld();
    const deaf = await world.connect({ capabilities: { supports_confirmation_reply: false } });
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = await session.tool(TRANSFER, () => 1);
    expect(outcome).toMatchObject({ ran: false, outcome: "nobody_to_ask" });
    await world.settle();
    expect(deaf.types).not.toContain("awaiting.confirmation");
    expect(deaf.spoken.at(-1)).toBe("Nobody is here who could be asked. It will not be done.");
    expect(world.warnings.join()).toContain("npx earshot listen");
    await session.complete();
    world.check();
  });

  it("waits for somebody to come, if it was told to, before it raises the question", async () => {
    const world = await openWorld();
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool({ ...TRANSFER, waitForListenerSeconds: 600 }, () => "done");
    await world.advance(500);
    expect(world.witness.types).not.toContain("awaiting.confirmation");
    const ear = await world.connect();
    expect(ear.question).toMatchObject({ timeout_seconds: 300 });
    await ear.accept();
    expect(await outcome).toEqual({ ran: true, value: "done" });
    await ear.close();
    await world.settle();
    const late = session.tool({ ...TRANSFER, waitForListenerSeconds: 5 }, () => "never");
    await world.advance(6);
    expect(await late).toMatchObject({ outcome: "nobody_to_ask" });
    const stopped = session.tool({ ...TRANSFER, waitForListenerSeconds: 5_000 }, () => "never");
    await world.settle();
    await session.cancel();
    expect(await stopped).toMatchObject({ outcome: "withdrawn" });
    world.check();
  });

  it("gives one yes one run: the next call is a new question (CON-49)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    for (const round of [1, 2]) {
      const outcome = session.tool(TRANSFER, () => ran++);
      await world.settle();
      expect(ear.questions).toHaveLength(round);
      await ear.accept();
      await outcome;
    }
    expect(ran).toBe(2);
    expect(new Set(ear.questions.map(({ reply_token }) => reply_token)).size).toBe(2);
    await session.complete();
    world.check();
  });

  it("can never run with other parameters than were shown: they are copied, frozen and bound (CON-49)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const params = { amount: 500, to: { account: "savings" } };
    const ran: unknown[] = [];
    const outcome = session.tool({ ...TRANSFER, action: "Transfer.", params }, (given) => {
      ran.push(given);
      expect(() => Object.assign(given, { amount: 1 })).toThrow(TypeError);
      expect(() => Object.assign(given.to, { account: "mine" })).toThrow(TypeError);
    });
    params.amount = 9_999;
    params.to.account = "thief";
    await world.settle();
    await ear.accept();
    await outcome;
    expect(ran).toEqual([{ amount: 500, to: { account: "savings" } }]);
    for (const bad of [new Date(), () => 1, Number.NaN, new Map(), 1n]) {
      await expect(
        session.tool({ ...TRANSFER, action: "Do.", params: { bad } }, () => 1),
      ).rejects.toMatchObject({
        code: "CON-49",
      });
    }
    await session.complete();
    world.check();
  });

  it("hides secrets from everyone who is asked, and runs with them all the same: EVT-16, SEC-09", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Signing in." });
    const ran: unknown[] = [];
    const params = { user: "ada", pin: "47-11", note: "sk-abcdefghijklmnopqrstuv", memo: "open sesame" };
    const spec = { ...TRANSFER, action: "Sign in.", params, secret: ["memo"] as const };
    const outcome = session.tool(spec, (given) => ran.push(given));
    await world.settle();
    expect((ear.question as AwaitingConfirmation).extra_context?.["params"]).toEqual([
      { name: "user", label: "User", value: "ada" },
      { name: "pin", label: "Pin", value: "hidden", masked: true },
      { name: "note", label: "Note", value: "hidden", masked: true },
      { name: "memo", label: "Memo", value: "hidden", masked: true },
    ]);
    const wire = JSON.stringify(ear.events);
    // None of them can turn up by chance in an id, which is made of hexadecimal digits.
    for (const secret of ["47-11", "sk-abc", "sesame"]) expect(wire).not.toContain(secret);
    await ear.accept();
    await outcome;
    expect(ran).toEqual([params]);
    await session.complete();
    world.check();
  });

  it("says so when it broke off and nobody knows whether it was done", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool({ ...TRANSFER, timeoutMs: 5_000 }, () => new Promise(() => {}));
    await world.settle();
    await world.advance(100);
    await ear.accept();
    await world.advance(5);
    await expect(outcome).rejects.toMatchObject({ code: "tool_timeout" });
    await world.settle();
    expect(ear.spoken).toContain("It took too long. It is not known whether it was done.");
    await session.complete();
    world.check();
  });
});

describe("an answer that asks for a change", () => {
  const MODIFIABLE = { ...TRANSFER, modifiable: ["amount"] as const };

  it("leads to a new question that shows it, where the tool allows it (CON-73)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const ran: unknown[] = [];
    const outcome = session.tool(MODIFIABLE, (params) => ran.push(params));
    await world.settle();
    const first = ear.question as AwaitingConfirmation;
    await ear.accept(first, { modified_action: { amount: 50 } });
    expect(ran).toEqual([]);
    const second = ear.question as AwaitingConfirmation;
    expect(second.action).toBe("Transfer 50 dollars to savings.");
    expect(second.reply_token).not.toBe(first.reply_token);
    expect(second.extra_context?.["params_hash"]).not.toBe(first.extra_context?.["params_hash"]);
    expect(ear.spoken).toContain("A change was asked for. The question comes again, with the change.");
    await ear.accept(second);
    expect(await outcome).toMatchObject({ ran: true });
    expect(ran).toEqual([{ amount: 50, to: "savings" }]);
    await world.settle();
    expect(ear.all("tool.invoked")[0]!.summary_normal).toBe("Transfer 50 dollars to savings.");
    await session.complete();
    world.check();
  });

  it("counts as a no where it does not: CNF-13", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    const changes = [
      { to: "thief" },
      { amount: "500" },
      { amount: 1, extra: true },
      {},
      { __proto__: null, amount: null },
    ];
    for (const spec of [TRANSFER, MODIFIABLE]) {
      for (const modified_action of changes) {
        const outcome = session.tool(spec, () => ran++);
        await world.settle();
        expect(await ear.accept(ear.question, { modified_action })).toBe(true);
        expect(await outcome).toMatchObject({ ran: false, outcome: "rejected" });
        expect(ear.spoken.at(-1)).toBe(
          "A change was asked for that cannot be made here. It will not be done.",
        );
        expect(ear.settled.get(ear.question.reply_token)).toBe("rejected");
      }
    }
    const confirmed = session.confirm({ action: "Post it.", consequence: "Everyone can read it." });
    await world.settle();
    await ear.accept(ear.question, { modified_action: { text: "x" } });
    expect(await confirmed).toMatchObject({ accepted: false, outcome: "rejected" });
    expect(ran).toBe(0);
    await session.complete();
    world.check();
  });
});

describe("a second check after the yes", () => {
  it("lets it run when passed, and stops it when not, or when the check itself fails (CNF-41)", async () => {
    const answers: (boolean | Error)[] = [true, false, new Error("the second device is off")];
    const seen: unknown[] = [];
    const world = await openWorld({
      onAccept: (accepted) => {
        seen.push(accepted);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer!;
      },
    });
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcomes = [];
    for (let i = 0; i < 3; i++) {
      const outcome = session.tool(TRANSFER, () => ran++);
      await world.settle();
      await ear.accept();
      outcomes.push(await outcome);
    }
    expect(outcomes.map(({ ran }) => ran)).toEqual([true, false, false]);
    expect(ran).toBe(1);
    expect(seen[0]).toMatchObject({ tool: "transfer_funds", params: { amount: 500 }, principal: "local" });
    expect(ear.spoken).toContain("The answer was yes. One more check comes first.");
    expect(ear.spoken.at(-1)).toBe("The second check was not passed, so it was not done.");
    await session.complete();
    world.check();
  });
});

describe("a plain yes or no", () => {
  it("takes silence for a yes only where that was announced, harmless and undoable (CON-03, CON-17)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Tidying." });
    const lenient = {
      action: "Archive old mail.",
      consequence: "You can get it back.",
      risk: "low",
      irreversible: false,
      default: "accept",
      timeout_seconds: 30,
    } as const;
    const silent = session.confirm(lenient);
    await world.settle();
    expect(ear.question).toMatchObject({ default_decision: "accept", risk_level: "low" });
    await world.advance(30);
    expect(await silent).toEqual({ accepted: true, origin: "policy" });
    expect(ear.spoken.at(-1)).toBe("Nobody answered in time. It goes ahead; it can be undone.");
    const refused = session.confirm(lenient);
    await world.settle();
    await ear.reject();
    expect(await refused).toMatchObject({ accepted: false, outcome: "rejected" });
    const strict = session.confirm({
      action: "Send it.",
      consequence: "It goes to everyone.",
      timeout_seconds: 30,
    });
    await world.settle();
    expect(ear.question).toMatchObject({ default_decision: "reject" });
    await world.advance(30);
    expect(await strict).toMatchObject({ accepted: false, outcome: "timed_out" });
    for (const harmful of [
      { irreversible: true },
      { risk: "medium" },
      { risk: "high" },
      { risk: undefined },
    ]) {
      await expect(session.confirm({ ...lenient, ...harmful } as never)).rejects.toMatchObject({
        code: "CON-03",
      });
    }
    await ear.close();
    expect(await session.confirm(lenient)).toEqual({ accepted: true, origin: "policy" });
    await session.complete();
    world.check();
  });
});
