/** Questions and answers: whose answer counts, when, and what everyone else is told (chapter 6). */
import { describe, expect, it } from "vitest";
import type { AwaitingClarification, ProgressUpdated } from "../../src/protocol/types.ts";
import { type Ear, openWorld, TRANSFER, type World } from "../support/driver.ts";

const ADA = { id: "ada", role: "reply", audiences: "all" } as const;
const BOB = { id: "bob", role: "reply", audiences: "all" } as const;

async function asked(world: World, spec: Partial<typeof TRANSFER> & { timeout_seconds?: number } = {}) {
  const session = world.agent.start({ summary: "Moving money." });
  const state = { ran: 0, session };
  const outcome = session.tool({ ...TRANSFER, ...spec }, () => {
    state.ran++;
  });
  await world.settle();
  return Object.assign(state, { outcome });
}
const reply = (ear: Ear, world: World, fields: object) => ({
  type: "confirmation.reply" as const,
  reply_token: ear.question.reply_token,
  subscription_id: ear.id,
  decision: "accept" as const,
  timestamp: world.clock.timestamp(),
  ...fields,
});

describe("an answer", () => {
  it("counts once, from the first who gives it; the rest are ignored: CNF-17, SEC-04", async () => {
    const world = await openWorld();
    const one = await world.connect();
    const two = await world.connect();
    const { outcome } = await asked(world);
    expect(await two.reject()).toBe(true);
    expect(await one.accept(two.question)).toBe(false);
    expect(await two.accept(two.question)).toBe(false);
    expect(await outcome).toMatchObject({ ran: false, outcome: "rejected" });
  });

  it("is checked against everything before it counts, and every refusal looks the same: CNF-14, CNF-15, CNF-16, CNF-19, CNF-43, SEC-03, SEC-13", async () => {
    const world = await openWorld();
    const ada = await world.connect({ principal: ADA });
    const bob = await world.connect({ principal: { ...BOB, audiences: ["bobs"] } });
    const { outcome, ran, session } = await asked(world);
    const elsewhere = world.agent.start({ summary: "Another.", audience: ["bobs"] });
    void elsewhere.tool(TRANSFER, () => 1);
    await world.settle();
    const forged: [string, object, typeof ADA | typeof BOB | undefined][] = [
      ["unknown token", { reply_token: "rpl_00000000000000000000000000000000" }, undefined],
      [
        "another session's token, sent to somebody else",
        { reply_token: bob.questions.at(-1)!.reply_token, subscription_id: "sub_unknown" },
        undefined,
      ],
      [
        "a subscription that does not exist",
        { subscription_id: "sub_00000000000000000000000000000000" },
        undefined,
      ],
      ["somebody else's subscription", {}, BOB],
      ["a time far from now", { timestamp: "2020-01-01T00:00:00.000Z" }, undefined],
      ["a decision nobody offered", { decision: "maybe" }, undefined],
      ["the wrong kind of reply", { type: "clarification.reply", response: "yes" }, undefined],
    ];
    const answers = [];
    for (const [, fields, as] of forged) answers.push(await ada.send(reply(ada, world, fields) as never, as));
    expect(answers).toEqual(forged.map(() => ({ taken: false })));
    expect(ran).toBe(0);
    expect(await ada.accept(ada.questions[0]!)).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
    void session.complete();
  });

  it("is taken only from whom the transport knows, on a subscription that was sent the question: CNF-10", async () => {
    const world = await openWorld();
    const private_session = world.agent.start({ summary: "For Ada.", audience: ["adas"] });
    const ada = await world.connect({ principal: { ...ADA, audiences: ["adas"] } });
    const bob = await world.connect({ principal: { ...BOB, audiences: ["bobs"] } });
    const listener = await world.connect({ principal: { id: "screen", role: "listen", audiences: "all" } });
    const viewer = await world.connect({
      capabilities: { supports_confirmation_reply: false, earshot: { view_prompts: true } },
    });
    const outcome = private_session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(bob.questions).toEqual([]);
    expect(listener.questions).toEqual([]);
    expect(listener.spoken).toContain("Transfer 500 dollars to savings.");
    expect(viewer.questions).toHaveLength(1);
    for (const ear of [bob, listener, viewer]) {
      expect(await ear.send(reply(ada, world, { subscription_id: ear.id }))).toEqual({ taken: false });
    }
    expect(await ada.reject()).toBe(true);
    expect(await outcome).toMatchObject({ outcome: "rejected" });
  });

  it("of the wrong kind is no answer; the question stays open: CNF-28, CNF-29, EVT-21, CNF-06", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Planning." });
    const cases = [
      {
        spec: { question: "How many?", kinds: ["numeric"] },
        wrong: ["5", true, ""],
        right: 5,
        kind: "numeric",
      },
      { spec: { question: "Sure?", kinds: ["yes_no"] }, wrong: ["true", 1], right: false, kind: "yes_no" },
      {
        spec: {
          question: "Which?",
          choices: [
            { value: "a", label: "A" },
            { value: "b", label: "B" },
          ],
        },
        wrong: ["c", "A", 1],
        right: "b",
        kind: "multiple_choice",
      },
      { spec: { question: "Why?" }, wrong: [true, 7, ""], right: "Because.", kind: "freetext" },
    ] as const;
    for (const { spec, wrong, right, kind } of cases) {
      let settled = false;
      const outcome = session.clarify(spec);
      void outcome.then(() => {
        settled = true;
      });
      await world.settle();
      expect((ear.question as AwaitingClarification).accepted_response_kinds).toEqual([kind]);
      for (const response of wrong) expect(await ear.answer(response)).toBe(false);
      expect(settled).toBe(false);
      expect(await ear.answer(right)).toBe(true);
      expect(await outcome).toEqual({ answered: true, response: right, kind });
    }
    await session.complete();
    world.check();
  });

  it("to a question that was taken back is ignored: CNF-35", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const taken = new AbortController();
    const session = world.agent.start({ summary: "Moving money." });
    let ran = 0;
    const outcome = session.tool({ ...TRANSFER, signal: taken.signal }, () => ran++);
    await world.settle();
    taken.abort();
    await world.settle();
    expect(await ear.accept()).toBe(false);
    expect(await outcome).toMatchObject({ ran: false, outcome: "withdrawn" });
    expect(ear.spoken.at(-1)).toBe("The question was taken back. There is nothing to answer any more.");
    const other = session.tool(TRANSFER, () => ran++);
    await world.settle();
    const question = ear.question;
    await session.cancel();
    expect(await ear.accept(question)).toBe(false);
    expect(await other).toMatchObject({ outcome: "withdrawn" });
    expect(ran).toBe(0);
    world.check({ ended: true });
  });
});

describe("a question", () => {
  it("reaches everyone who may have it, whatever their filters and rate: CNF-32, DEL-03", async () => {
    const world = await openWorld();
    const ears = [
      await world.connect({ capabilities: { max_events_per_second: 1 } }),
      await world.connect({ capabilities: { event_filters: { include: ["aaep:agent.session.*"] } } }),
      await world.connect({ capabilities: { cognitive_load: "low" }, extension: false }),
    ];
    const { outcome } = await asked(world);
    for (const ear of ears) expect(ear.questions).toHaveLength(1);
    await ears[1]!.reject();
    await outcome;
    await world.advance(10);
    for (const ear of ears) expect(ear.spoken.at(-1)).toBe("The answer was no. It will not be done.");
    expect(ears[1]!.events.at(-1)!.urgency).toBe("critical");
  });

  it("waits its turn: one at a time, and the state stays with it until it is settled (CON-27, SEQ-19)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const first = session.tool(TRANSFER, () => 1);
    const second = session.clarify({ question: "Why?" });
    void session.say("Meanwhile, the weather is fine.");
    const tool = session.tool({ tool: "look", summary: "Looking." }, () => 1);
    await tool;
    await world.settle();
    expect(ear.questions).toHaveLength(1);
    expect(session.currentState).toBe("awaiting_input");
    await ear.reject();
    await first;
    await world.settle();
    expect(ear.questions).toHaveLength(2);
    await ear.answer("So.");
    expect(await second).toMatchObject({ answered: true });
    expect(session.currentState).toBe("thinking");
    await session.complete();
    world.check();
  });

  it("is bounded in number: too many waiting in one session are refused, too many for one person are not asked (F22)", async () => {
    const world = await openWorld({ hub: { maxQuestionsPerPrincipal: 2 } });
    const ear = await world.connect({ principal: ADA });
    const session = world.agent.start({ summary: "Flooding." });
    const flood = Array.from({ length: 33 }, () => session.clarify({ question: "Again?" }));
    await expect(flood.at(-1)).rejects.toMatchObject({ code: "too_many_questions" });
    void asked(world);
    await world.settle();
    const { outcome } = await asked(world);
    expect(await outcome).toMatchObject({ outcome: "nobody_to_ask" });
    expect(ear.questions).toHaveLength(2);
    const patient = world.agent.start({ summary: "Waiting." });
    const waits = patient.tool({ ...TRANSFER, waitForListenerSeconds: 60 }, () => "done");
    await world.settle();
    await session.cancel();
    await world.settle();
    expect(ear.questions).toHaveLength(3);
    await ear.accept();
    expect(await waits).toMatchObject({ ran: true });
  });

  it("without an answer leads to what the agent said it would assume, or to going on without (CNF-30)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Planning." });
    const assumed = session.clarify({
      question: "How many?",
      kinds: ["numeric"],
      default: 2,
      timeout_seconds: 90,
    });
    await world.settle();
    expect(ear.question).toMatchObject({ default_response: "2" });
    await world.advance(90);
    expect(await assumed).toMatchObject({ answered: false, outcome: "timed_out", assumed: 2 });
    expect(ear.spoken.at(-1)).toBe("Nobody answered in time. The agent goes on with its own assumption.");
    for (const bad of [
      { kinds: ["numeric"], default: "2" },
      { kinds: ["multiple_choice"] },
      {
        choices: [
          { value: "a", label: "A" },
          { value: "b", label: "B" },
        ],
        default: "c",
      },
    ]) {
      await expect(session.clarify({ question: "?", ...bad } as never)).rejects.toThrow();
    }
    await session.complete();
    world.check();
  });
});

describe("time to answer", () => {
  const deadlineOf = ({ extensions }: { extensions?: Record<string, Record<string, unknown>> }) =>
    extensions?.["earshot"]?.["deadline"] as {
      seconds_left: number;
      extensions_left: number;
      ceiling_seconds: number;
    };

  it("is counted down for those who wait long, and the last warning reaches everyone (CNF-24, CON-48)", async () => {
    const world = await openWorld();
    const quiet = await world.connect({
      capabilities: { cognitive_load: "low", event_filters: { exclude: ["aaep:agent.progress.updated"] } },
    });
    const ear = await world.connect();
    const { outcome } = await asked(world, { timeout_seconds: 120 });
    await world.advance(119);
    const notices = ear.all("progress.updated") as ProgressUpdated[];
    expect(notices.map(({ summary_normal, eta_ms }) => [summary_normal, eta_ms])).toEqual([
      ["1 minute left to answer.", 60_000],
      ["20 seconds left to answer.", 20_000],
    ]);
    for (const { progress } of notices) expect(progress).not.toHaveProperty("percent");
    expect(quiet.all("progress.updated").map(({ urgency, eta_ms }) => [urgency, eta_ms])).toEqual([
      ["critical", 20_000],
    ]);
    await world.advance(1);
    await outcome;
    const short = await asked(world, { timeout_seconds: 60 });
    await world.advance(60);
    await short.outcome;
    expect(ear.all("progress.updated")).toHaveLength(2);
    world.check();
  });

  it("can be had ten times more by one message each, with a warning after each; the ceiling is known up front (CON-47)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const other = await world.connect();
    const { outcome } = await asked(world, { timeout_seconds: 120 });
    expect(deadlineOf(ear.question)).toEqual({
      reply_token: ear.question.reply_token,
      seconds_left: 120,
      extensions_left: 10,
      ceiling_seconds: 86_400,
    });
    for (let left = 9; left >= 0; left--) {
      await world.advance(119);
      const warned = ear.all("progress.updated").at(-1)!;
      expect(warned.eta_ms).toBe(20_000);
      expect(await ear.moreTime()).toBe(true);
      const notice = other.all("progress.updated").at(-1)!;
      expect(notice.summary_normal).toBe("There is more time: 2 minutes and 1 second left to answer.");
      expect(deadlineOf(notice)).toMatchObject({ seconds_left: 121, extensions_left: left });
      await world.advance(1);
    }
    expect(await ear.moreTime()).toBe(false);
    await world.advance(119.5);
    expect(await ear.accept()).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
    world.check();
  });

  it("ends at the operator's ceiling, which is announced in the handshake and on the question", async () => {
    const world = await openWorld({ questions: { ceiling_seconds: 300 } });
    const ear = await world.connect({ capabilities: { earshot: { minimum_timeout_seconds: 900 } } });
    expect(ear.wire.accepted.honored_capabilities["earshot"]).toEqual({
      minimum_timeout_seconds: 300,
      ceiling_seconds: 300,
    });
    const { outcome } = await asked(world, { timeout_seconds: 120 });
    expect(ear.question.timeout_seconds).toBe(300);
    expect(deadlineOf(ear.question)).toMatchObject({ extensions_left: 0, ceiling_seconds: 300 });
    expect(await ear.moreTime()).toBe(false);
    await ear.reject();
    await outcome;
    await ear.close();
    const plain = await world.connect();
    const next = await asked(world, { timeout_seconds: 120 });
    expect(deadlineOf(plain.question)).toMatchObject({ extensions_left: 2 });
    expect([await plain.moreTime(), await plain.moreTime(), await plain.moreTime()]).toEqual([
      true,
      true,
      false,
    ]);
    await world.advance(299);
    expect(plain.settled.has(plain.question.reply_token)).toBe(false);
    await world.advance(1);
    expect(await next.outcome).toMatchObject({ outcome: "timed_out" });
  });

  it("is as long as the slowest listener asked for beforehand, at least ten times the usual", async () => {
    const world = await openWorld();
    await world.connect();
    const slow = await world.connect({ capabilities: { earshot: { minimum_timeout_seconds: 1_200 } } });
    const session = world.agent.start({ summary: "Asking." });
    void session.confirm({ action: "Post it.", consequence: "It is public." });
    await world.settle();
    expect(slow.question.timeout_seconds).toBe(1_200);
  });

  it("cannot be had by someone who was not asked", async () => {
    const world = await openWorld();
    const ear = await world.connect({ principal: ADA });
    await asked(world);
    const { reply_token } = ear.question;
    const bob = await world.connect({ principal: { ...BOB, audiences: [], role: "listen" } });
    expect(await bob.send({ type: "earshot:more_time", subscription_id: bob.id, reply_token })).toEqual({
      taken: false,
    });
    expect(await bob.send({ type: "earshot:more_time", subscription_id: ear.id, reply_token }, BOB)).toEqual({
      taken: false,
    });
  });
});

describe("when the line drops", () => {
  it("the default applies at once if nobody else could answer, and only then: CNF-37, HS-21 (CON-04)", async () => {
    const world = await openWorld();
    const one = await world.connect();
    const two = await world.connect();
    const { outcome, ran } = await asked(world);
    await one.drop();
    expect(world.witness.settled.size).toBe(0);
    await two.close();
    expect(await outcome).toMatchObject({ outcome: "disconnected" });
    expect(ran).toBe(0);
    expect(world.witness.spoken.at(-1)).toBe("Everyone who could answer has left. It will not be done.");
    world.check();
  });

  it("a listener that can resume has thirty seconds, and never longer than the question itself (CON-04)", async () => {
    const world = await openWorld();
    const ear = await world.connect({ resume: true });
    const first = await asked(world);
    await ear.drop();
    await world.advance(29);
    expect(world.witness.settled.size).toBe(0);
    await ear.reconnect(ear.wire.lastEventId);
    expect(await ear.accept()).toBe(true);
    expect(await first.outcome).toMatchObject({ ran: true });
    const second = await asked(world);
    await ear.drop();
    await world.advance(30);
    expect(await second.outcome).toMatchObject({ outcome: "disconnected" });
    await ear.reconnect(ear.wire.lastEventId);
    const third = await asked(world, { timeout_seconds: 10 });
    await ear.drop();
    await world.advance(10);
    expect(await third.outcome).toMatchObject({ outcome: "timed_out" });
    world.check();
  });

  it("who comes back hears the open question again, unchanged, and may answer it (CON-16)", async () => {
    const world = await openWorld();
    const ear = await world.connect({ resume: true });
    const { outcome } = await asked(world);
    const [question] = ear.questions;
    await ear.drop();
    await world.advance(5);
    await ear.reconnect();
    const again = ear.events.filter((event) => "reply_token" in event);
    expect(again).toEqual([question, question]);
    await ear.accept();
    expect(await outcome).toMatchObject({ ran: true });
  });

  it("who comes back is told of a question that was settled meanwhile, with the reason, with or without a place to go on from", async () => {
    for (const from of ["place", "nowhere", "forged"] as const) {
      const world = await openWorld();
      const away = await world.connect({ resume: true });
      const here = await world.connect();
      const { outcome } = await asked(world);
      const { reply_token } = away.question;
      await away.drop();
      await here.reject();
      await outcome;
      expect(away.settled.size).toBe(0);
      const place =
        from === "place" ? away.wire.lastEventId : from === "forged" ? "evt_000000forged" : undefined;
      await away.reconnect(place);
      expect(away.settled.get(reply_token)).toBe("rejected");
      expect(away.spoken.filter((line) => line === "The answer was no. It will not be done.")).toHaveLength(
        1,
      );
    }
  });

  it("someone who joins late hears where things stand and the open question, and is waited for from then on (CON-16, CON-26)", async () => {
    const world = await openWorld();
    const early = await world.connect();
    const { outcome } = await asked(world);
    const late = await world.connect();
    expect(late.spoken[0]).toBe("The agent is waiting for an answer.");
    expect(late.question).toEqual(early.question);
    await early.close();
    expect(world.witness.settled.size).toBe(0);
    expect(await late.accept()).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
  });
});

describe("what is happening?", () => {
  it("is answered with what runs, how far it is, how much was said and what is open, to the one who asks", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const other = await world.connect();
    const session = world.agent.start({ summary: "Planning your week." });
    void session.say("I will look at the calendar first.");
    const tool = session.tool({ tool: "calendar", summary: "Reading your calendar." }, () => world.pause(60));
    await world.settle();
    void session.progress({ step: 2, total_steps: 5 });
    await world.settle();
    const before = other.events.length;
    expect(await ear.status()).toBe(true);
    expect(ear.spoken.at(-1)).toBe(
      "The agent is working on something. Under way: Reading your calendar. Last progress: Step 2 of 5. It has said about 7 words so far.",
    );
    expect(other.events).toHaveLength(before);
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    await ear.status(session.session_id);
    expect(ear.events.at(-1)).toEqual(ear.question);
    await world.advance(60);
    await tool;
    await session.cancel();
    await outcome;
    const { length } = ear.events;
    await ear.status();
    expect(ear.events).toHaveLength(length);
    world.check();
  });
});
