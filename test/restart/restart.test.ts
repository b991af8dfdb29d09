/** The power goes, and comes back. Afterwards there is one truth about what happened, and everyone is told. */

import { describe, expect, it } from "vitest";
import type { AuditRecord } from "../../src/hub/record.ts";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { checkStream } from "../../src/protocol/lifecycle.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { cpuMs } from "../support/cpu.ts";
import { expectValid, TRANSFER } from "../support/driver.ts";
import { AgentProcesses, Phone } from "./agent-processes.ts";

const hang = () => new Promise<never>(() => {});

/** Everything in the log is valid, and every session lawful, from one life to the next. */
function check({ events }: AgentProcesses): void {
  for (const event of events) expectValid(event);
  expect(checkStream(events, { replies: "unseen" }).map(({ id, message }) => `${id}: ${message}`)).toEqual(
    [],
  );
}

/** A transfer is being asked about, and a person has heard it. */
async function asked(options: ConstructorParameters<typeof AgentProcesses>[0] = {}, key?: string) {
  const lives = new AgentProcesses(options);
  const phone = new Phone().join(lives.life);
  const session = lives.life.agent.start({ summary: "Moving money.", correlation_id: "job-7" });
  const ran: unknown[] = [];
  const spec = { ...TRANSFER, ...(key === undefined ? {} : { key }) };
  const run = (params: unknown) => void ran.push(params);
  void session.tool(spec, run);
  await lives.life.settle();
  return { lives, phone, session_id: session.session_id, ran, spec, run };
}

describe("a question that was open when the process was killed (F01, CON-04, CON-16)", () => {
  it("comes back with the same token and deadline, and nothing has run", async () => {
    const { lives, phone, session_id, ran } = await asked();
    const [before] = phone.questions;
    await lives.life.pass(100);
    const life = await lives.restart(5);
    expect(phone.rejoin(life)).toBe(true);
    const late = new Phone({ principal: { id: "bob", role: "reply", audiences: "all" } }).join(life);
    expect(late.questions).toEqual([before]);
    expect(phone.tokens).toEqual([before!.reply_token]);
    expect(ran).toEqual([]);
    // 300 seconds from when it was asked, 105 of which are gone.
    await life.pass(194);
    expect(phone.settled).toEqual([]);
    await life.pass(1);
    expect(phone.settled).toEqual(["timed_out"]);
    expect(phone.spoken).toContain("Nobody answered in time. It will not be done.");
    expect(ran).toEqual([]);
    expect(lives.events.at(-1)).toMatchObject({
      type: "aaep:agent.session.errored",
      session_id,
      error_code: "AGENT_INTERRUPTED",
      recoverable: true,
      summary_normal: "The agent stopped before it finished.",
    });
    check(lives);
  });

  it("keeps the time somebody had asked for", async () => {
    const { lives, phone } = await asked();
    expect(await phone.moreTime()).toBe(true);
    await lives.life.pass(10);
    const life = await lives.restart(10);
    phone.rejoin(life);
    await life.pass(570);
    expect(phone.settled).toEqual([]);
    await life.pass(10);
    expect(phone.settled).toEqual(["timed_out"]);
  });

  it("is settled at once where its deadline passed while nobody was there (F26)", async () => {
    const { lives, phone, ran } = await asked();
    const life = await lives.restart(301);
    phone.rejoin(life);
    expect(await phone.accept()).toBe(false);
    await life.settle();
    expect(phone.settled).toEqual(["timed_out"]);
    expect(ran).toEqual([]);
    check(lives);
  });

  it("has one outcome where an answer races the deadline after the restart (F27)", async () => {
    for (let ms = -2; ms <= 2; ms++) {
      const { lives, phone, session_id, ran, spec, run } = await asked();
      const life = await lives.restart(10);
      phone.rejoin(life);
      const outcome = life.agent.resume(session_id).tool(spec, run);
      let taken = false;
      life.clock.timer(290_000 + ms, () => {
        void phone.accept().then((result) => {
          taken = result;
        });
      });
      await life.pass(291);
      expect(taken).toBe(ms < 0);
      expect((await outcome).ran).toBe(ms < 0);
      expect(phone.settled).toEqual([ms < 0 ? "accepted" : "timed_out"]);
      expect(ran).toHaveLength(ms < 0 ? 1 : 0);
    }
  });

  it("does not move with the wall clock once the process is back (F23)", async () => {
    const { lives, phone } = await asked();
    const life = await lives.restart(10);
    phone.rejoin(life);
    life.clock.jump(3_600_000);
    await life.pass(289);
    expect(phone.settled).toEqual([]);
    await life.pass(1);
    expect(phone.settled).toEqual(["timed_out"]);
  });

  it("has no more time because the wall clock was set back meanwhile (F23)", async () => {
    const { lives, phone } = await asked();
    const life = await lives.restart(-3600);
    phone.rejoin(life);
    await life.pass(300);
    expect(phone.settled).toEqual(["timed_out"]);
  });

  it("waits a grace for those who could answer, and is then settled as if they had left", async () => {
    const { lives, ran } = await asked();
    const life = await lives.restart();
    await life.pass(29);
    expect(lives.told).not.toContain("Everyone who could answer has left. It will not be done.");
    await life.pass(1);
    expect(lives.told).toContain("Everyone who could answer has left. It will not be done.");
    expect(ran).toEqual([]);
    check(lives);
  });

  it("can be answered before the stream is back, by who had been sent it and by nobody else (CON-28)", async () => {
    const { lives, phone } = await asked();
    const deaf = new Phone({ principal: { id: "eve", role: "reply", audiences: "all" } }).join(lives.life);
    deaf.drop();
    const life = await lives.restart();
    const other = new Phone({ principal: { id: "mal", role: "reply", audiences: "all" } }).join(life);
    other.drop();
    const [question] = phone.questions;
    other.subscription_id = phone.subscription_id;
    expect(await other.accept(question)).toBe(false);
    phone.reach(life);
    expect(await phone.accept(question)).toBe(true);
    expect(await phone.accept(question)).toBe(false);
  });

  it("is not for those who may not hear the session any more (SEC-15, SEC-18)", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone({ principal: { id: "ada", role: "reply", audiences: ["money"] } }).join(
      lives.life,
    );
    const session = lives.life.agent.start({ summary: "Moving money.", audience: ["money"] });
    void session.tool(TRANSFER, () => 1);
    await lives.life.settle();
    const life = await lives.restart();
    const [question] = phone.questions;
    for (const changed of [
      { id: "ada", role: "reply", audiences: ["garden"] },
      { id: "ada", role: "listen", audiences: ["money"] },
      { id: "ada", role: "reply", audiences: [] },
    ] as const) {
      const now = new Phone({ principal: changed });
      now.subscription_id = phone.subscription_id;
      now.reach(life);
      expect(await now.accept(question)).toBe(false);
    }
    phone.reach(life);
    expect(await phone.accept(question)).toBe(true);
  });

  it("is taken back when a person stops the session, agent or no agent", async () => {
    const { lives, phone, session_id, ran } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    expect(await phone.stop(session_id)).toBe(true);
    await life.settle();
    expect(phone.settled).toEqual(["withdrawn"]);
    expect(phone.events.at(-1)).toMatchObject({ type: "aaep:agent.session.cancelled", cancelled_by: "user" });
    await life.pass(400);
    expect(ran).toEqual([]);
    expect(() => life.agent.resume(session_id)).toThrow(/it has ended/);
    check(lives);
  });
});

describe("an agent that comes back and asks again (F01, F02)", () => {
  it("gets the same question, and the person is asked once", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    expect(life.agent.interrupted).toEqual([{ session_id, correlation_id: "job-7" }]);
    const session = life.agent.resume(session_id);
    expect(life.agent.interrupted).toEqual([]);
    const outcome = session.tool(spec, run);
    await life.settle();
    expect(phone.tokens).toHaveLength(1);
    expect(await phone.accept()).toBe(true);
    expect(await outcome).toMatchObject({ ran: true });
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
    expect(phone.spoken).toContain("The agent is back and goes on.");
    expect(phone.spoken).toContain("The answer was yes. It goes ahead now.");
    await session.complete();
    await life.pass(1000);
    expect(lives.events.at(-1)!.type).toBe("aaep:agent.session.completed");
    expect(lives.events.filter(({ type }) => type.includes("awaiting"))).toHaveLength(1);
    check(lives);
  });

  it("gets a yes that came before it did, runs once, and asks nobody again", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    let life = await lives.restart();
    phone.rejoin(life);
    expect(await phone.accept()).toBe(true);
    await life.settle();
    expect(phone.spoken.at(-1)).toBe(
      "The answer was yes. The agent was interrupted: it goes ahead if the agent comes back in time.",
    );
    expect(ran).toEqual([]);
    // Another restart does not lose it.
    life = await lives.restart();
    phone.rejoin(life);
    const session = life.agent.resume(session_id);
    expect(await session.tool(spec, run)).toMatchObject({ ran: true });
    expect(ran).toHaveLength(1);
    expect(phone.tokens).toHaveLength(1);
    // The yes is spent: the same call again is another question.
    void session.tool(spec, run);
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    expect(ran).toHaveLength(1);
    check(lives);
  });

  it("gets a no that came before it did", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    phone.reject();
    await life.settle();
    const outcome = await life.agent.resume(session_id).tool(spec, run);
    expect(outcome).toMatchObject({ ran: false, outcome: "rejected" });
    expect(ran).toEqual([]);
    expect(phone.tokens).toHaveLength(1);
  });

  it("may not use a yes after the time there was to answer, and the person hears that it was not done", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    phone.accept();
    await life.settle();
    const session = life.agent.resume(session_id);
    await life.pass(300);
    expect(phone.spoken.at(-1)).toBe("The agent did not come back in time. It was not done.");
    void session.tool(spec, run);
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    expect(ran).toEqual([]);
    check(lives);
  });

  it("asks anew about other parameters under the same key, and the old question is taken back (A06)", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked({}, "rent");
    const life = await lives.restart();
    phone.rejoin(life);
    const [old] = phone.questions;
    const session = life.agent.resume(session_id);
    const outcome = session.tool({ ...spec, params: { amount: 900, to: "savings" } }, run);
    await life.settle();
    expect(phone.settled).toEqual(["withdrawn"]);
    expect(await phone.accept(old)).toBe(false);
    expect(phone.questions.at(-1)).toMatchObject({ action: "Transfer 900 dollars to savings." });
    phone.accept();
    expect(await outcome).toMatchObject({ ran: true });
    expect(ran).toEqual([{ amount: 900, to: "savings" }]);
    check(lives);
  });

  it("cannot use a yes to other parameters (A06)", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked({}, "rent");
    const life = await lives.restart();
    phone.rejoin(life);
    phone.accept();
    await life.settle();
    void life.agent.resume(session_id).tool({ ...spec, params: { amount: 900, to: "savings" } }, run);
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    expect(ran).toEqual([]);
  });

  it("asks again where a parameter was hidden: nothing of a secret is kept, its hash included", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const spec = {
      ...TRANSFER,
      params: { amount: 500, to: "savings", pin: "47-11" },
      action: "Transfer 500 dollars.",
    };
    const first = lives.life.agent.start({ summary: "Moving money." });
    void first.tool(spec, () => 1);
    await lives.life.settle();
    expect(
      JSON.stringify([lives.events, ["question", "intent"].map((kind) => lives.store.facts(kind))]),
    ).not.toContain("47-11");
    const life = await lives.restart();
    phone.rejoin(life);
    void life.agent.resume(first.session_id).tool(spec, () => 1);
    await life.settle();
    expect(phone.settled).toEqual(["withdrawn"]);
    expect(phone.tokens).toHaveLength(2);
  });

  it("goes through a person's change once, not twice (CON-73)", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const spec = { ...TRANSFER, modifiable: ["amount"] as const };
    const first = lives.life.agent.start({ summary: "Moving money." });
    void first.tool(spec, () => 1);
    await lives.life.settle();
    phone.accept(undefined, { modified_action: { amount: 50 } });
    await lives.life.settle();
    expect(phone.questions.at(-1)).toMatchObject({ action: "Transfer 50 dollars to savings." });
    const life = await lives.restart();
    phone.rejoin(life);
    const ran: unknown[] = [];
    const outcome = life.agent.resume(first.session_id).tool(spec, (params) => void ran.push(params));
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    phone.accept();
    expect(await outcome).toMatchObject({ ran: true });
    expect(ran).toEqual([{ amount: 50, to: "savings" }]);
    check(lives);
  });

  it("finds the answers to its other questions, too", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const confirm = { action: "Use the blue folder.", consequence: "It can be changed." };
    const clarify = { question: "Which colour?" };
    const first = lives.life.agent.start({ summary: "Sorting." });
    const folder = first.confirm(confirm);
    await lives.life.settle();
    phone.accept();
    expect(await folder).toEqual({ accepted: true, origin: "human" });
    void first.clarify(clarify);
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    expect(await phone.answer("green")).toBe(true);
    await life.settle();
    const session = life.agent.resume(first.session_id);
    expect(await session.confirm(confirm)).toEqual({ accepted: true, origin: "human" });
    expect(await session.clarify(clarify)).toMatchObject({ answered: true, response: "green" });
    expect(phone.tokens).toHaveLength(2);
    check(lives);
  });

  it("may ask something else first: it comes after the question that is open", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    const session = life.agent.resume(session_id);
    const colour = session.clarify({ question: "Which colour?" });
    await life.settle();
    expect(phone.tokens).toHaveLength(1);
    phone.accept();
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    phone.answer("green");
    expect(await colour).toMatchObject({ answered: true });
    expect(await session.tool(spec, run)).toMatchObject({ ran: true });
    expect(ran).toHaveLength(1);
    check(lives);
  });

  it("is refused with a reason where there is nothing to resume", async () => {
    const { lives, session_id } = await asked();
    expect(() => lives.life.agent.resume(session_id)).toThrow(/no open session of that id/);
    const life = await lives.restart();
    life.agent.resume(session_id);
    expect(() => life.agent.resume(session_id)).toThrow(/resumed already/);
    expect(() => life.agent.resume("sess_none")).toThrow(/producer\.interrupted/);
  });

  it("may hand a resumed session to run, which ends it", async () => {
    const { lives, phone, session_id, spec } = await asked();
    const life = await lives.restart();
    phone.rejoin(life);
    const done = life.agent.run(life.agent.resume(session_id), (session) => session.tool(spec, () => "sent"));
    await life.settle();
    phone.accept();
    expect(await done).toEqual({ ran: true, value: "sent" });
    expect(lives.events.at(-1)!.type).toBe("aaep:agent.session.completed");
  });
});

describe("a tool that was running when the process was killed (F02)", () => {
  async function running(spec: typeof TRANSFER & { key?: string } = TRANSFER, options = {}) {
    const lives = new AgentProcesses(options);
    const phone = new Phone().join(lives.life);
    const first = lives.life.agent.start({ summary: "Moving money." });
    let ran = 0;
    const run = () => {
      ran++;
      return hang();
    };
    void first.tool(spec, run);
    await lives.life.settle();
    phone.accept();
    await lives.life.settle();
    expect(ran).toBe(1);
    return { lives, phone, session_id: first.session_id, spec, ran: () => ran, run };
  }
  const UNKNOWN =
    "It is not known whether this was done: Transfer 500 dollars to savings. Check before trying again.";

  it("has an unknown outcome: everyone is told, in words, and it is never run again in silence", async () => {
    const { lives, phone, session_id, spec, ran, run } = await running();
    const life = await lives.restart();
    phone.rejoin(life);
    expect(phone.spoken).toContain(UNKNOWN);
    const outcome = await life.agent.resume(session_id).tool(spec, run);
    expect(outcome).toMatchObject({
      ran: false,
      outcome: "unknown_outcome",
      summary:
        "It is not known whether this was done, because the agent was interrupted. Check before trying again.",
    });
    expect((outcome as { forModel: string }).forModel).toMatch(/Do not call it again/);
    expect(ran()).toBe(1);
    expect(phone.tokens).toHaveLength(1);
    expect(await phone.accept()).toBe(false);
    check(lives);
  });

  it("is told to a listener that filters tools away, and to one that comes much later", async () => {
    const { lives } = await running();
    const life = await lives.restart();
    const filters = { include: ["aaep:agent.session.*"], exclude: ["aaep:agent.tool.*"] };
    const quiet = new Phone({ capabilities: { event_filters: filters } }).join(life);
    await life.pass(60);
    expect(quiet.spoken.at(-1)).toBe(`The agent stopped before it finished. ${UNKNOWN}`);
    expect(lives.events.at(-1)).toMatchObject({ type: "aaep:agent.session.errored", recoverable: true });
    check(lives);
  });

  it("stays unknown under its key, whatever the parameters, and after another restart", async () => {
    const { lives, phone, session_id, spec, ran, run } = await running({ ...TRANSFER, key: "rent" });
    await lives.restart();
    const life = await lives.restart();
    phone.rejoin(life);
    const session = life.agent.resume(session_id);
    const other = { ...spec, params: { amount: 1, to: "savings" } };
    expect(await session.tool(other, run)).toMatchObject({ outcome: "unknown_outcome" });
    expect(ran()).toBe(1);
    // Under another key it is another act, and asked about.
    void session.tool({ ...spec, key: "rent, second try" }, run);
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
    expect(ran()).toBe(1);
    expect(phone.spoken.filter((words) => words === UNKNOWN)).toHaveLength(1);
    check(lives);
  });

  it("is told in the listener's language, as far as there are words for it", async () => {
    const { ENGLISH } = await import("../../src/producer/phrases.ts");
    const de = { ...ENGLISH, unknown: (action: string) => `Unklar ist: ${action}` };
    const action = { en: "Transfer 500 dollars.", de: "500 Dollar überweisen." };
    const spec = { ...TRANSFER, action, consequence: { en: "It is final.", de: "Es ist endgültig." } };
    const { lives } = await running(spec as never, { phrases: { de }, languages: ["de"] });
    const life = await lives.restart();
    const phone = new Phone({ capabilities: { languages: ["de"] } }).join(life);
    await life.pass(60);
    expect(phone.spoken.at(-1)).toContain("Unklar ist: 500 Dollar überweisen.");
  });

  it("that asked nobody was cut off, and says so", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const first = lives.life.agent.start({ summary: "Looking." });
    void first.tool({ tool: "search", summary: "Searching." }, hang);
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    expect(phone.spoken).toContain("It was cut off, because the agent was interrupted.");
    expect(phone.spoken).toContain("The agent was interrupted. It may come back and go on.");
    check(lives);
  });

  it("is not done again where it was done before", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    phone.accept();
    await lives.life.settle();
    expect(ran).toHaveLength(1);
    const life = await lives.restart();
    phone.rejoin(life);
    const outcome = await life.agent.resume(session_id).tool(spec, run);
    expect(outcome).toMatchObject({ ran: false, outcome: "already_done" });
    expect(ran).toHaveLength(1);
    expect(phone.tokens).toHaveLength(1);
  });

  it("runs once for each key, restart or no restart", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Moving money." });
    const keyed = { ...TRANSFER, key: "rent" };
    let ran = 0;
    const both = [session.tool(keyed, () => ++ran), session.tool(keyed, () => ++ran)] as const;
    await expect(both[1]).rejects.toMatchObject({ code: "key_in_use" });
    await lives.life.settle();
    phone.accept();
    expect(await both[0]).toEqual({ ran: true, value: 1 });
    expect(await session.tool(keyed, () => ++ran)).toMatchObject({ outcome: "already_done" });
    expect(ran).toBe(1);
  });

  it("may be tried again where it failed: that was told, and the person is asked", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Moving money." });
    const keyed = { ...TRANSFER, key: "rent" };
    const failing = session.tool(keyed, () => Promise.reject(new Error("no funds")));
    await lives.life.settle();
    phone.accept();
    await expect(failing).rejects.toThrow("no funds");
    void session.tool(keyed, () => 1);
    await lives.life.settle();
    expect(phone.tokens).toHaveLength(2);
  });
});

describe("an answer", () => {
  it("counts for the agent once it is kept: what cannot be remembered is not acted on", async () => {
    const lives = new AgentProcesses();
    const { life } = lives;
    const phone = new Phone().join(life);
    const outcomes: unknown[] = [];
    const session = life.agent.start({ summary: "Sorting." });
    void session.confirm({ action: "Sort it.", consequence: "It moves." }).then((one) => outcomes.push(one));
    await life.settle();
    const { reply_token } = phone.questions[0]!;
    // From here on nothing reaches the disk.
    life.kill();
    const { subscription_id } = phone;
    const timestamp = life.clock.timestamp();
    const reply = { type: "confirmation.reply", decision: "accept" } as const;
    const principal = { id: "ada", role: "reply", audiences: "all" } as const;
    expect(
      await hubOf(life.agent).handle({ ...reply, reply_token, subscription_id, timestamp }, principal),
    ).toEqual({
      taken: true,
    });
    await life.settle();
    expect(outcomes).toEqual([]);
  });

  it("is good for the same key as long as there was time to give it, and no longer", async () => {
    const { life } = new AgentProcesses();
    const phone = new Phone().join(life);
    const session = life.agent.start({ summary: "Sorting." });
    const spec = { action: "Sort it.", consequence: "It moves.", key: "sort" };
    const first = session.confirm(spec);
    await life.settle();
    phone.accept();
    expect(await first).toEqual({ accepted: true, origin: "human" });
    await life.pass(119);
    expect(await session.confirm(spec)).toEqual({ accepted: true, origin: "human" });
    await life.pass(1);
    void session.confirm(spec);
    await life.settle();
    expect(phone.tokens).toHaveLength(2);
  });
});

describe("an answer that is given again (A04, CNF-17)", () => {
  it("counts once, before and after a restart, whoever sends it", async () => {
    const { lives, phone, session_id, ran, spec, run } = await asked();
    phone.accept();
    await lives.life.settle();
    expect(ran).toHaveLength(1);
    const life = await lives.restart();
    phone.rejoin(life);
    expect(await phone.accept(phone.questions[0])).toBe(false);
    const session = life.agent.resume(session_id);
    expect(await phone.accept(phone.questions[0])).toBe(false);
    void session.tool({ ...spec, params: { amount: 2, to: "savings" } }, run);
    await life.settle();
    expect(await phone.accept(phone.questions[0])).toBe(false);
    expect(ran).toHaveLength(1);
  });
});

describe("listeners across a restart (CON-04, CON-16, SSE-05)", () => {
  it("go on where they were, with no gap and no repeat, and text keeps its place", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Telling a story." });
    for (const part of ["Once upon ", "a time. There ", "was a fox. It "]) void session.say(part);
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    const again = life.agent.resume(session.session_id);
    void again.say("It was red. ");
    void again.complete();
    await life.settle();
    // A character is said when it is known to be whole: the blank after "It" had not been said when the power went.
    expect(phone.text).toBe("Once upon a time. There was a fox. ItIt was red. ");
    expect(phone.spoken.some((words) => words.startsWith("Some of what"))).toBe(false);
    const chunks = lives.events.filter((event) => event.type === "aaep:agent.output.streaming");
    expect(chunks.map(({ position, complete }) => [position, complete]).slice(-3)).toEqual([
      [37, true],
      [0, false],
      [11, true],
    ]);
    check(lives);
  });

  it("may come back within the hour, by resume request as well, and not after it (HS-20)", async () => {
    const lives = new AgentProcesses();
    const capabilities = { earshot: { resume: true } } as never;
    const sse = new Phone().join(lives.life);
    const socket = new Phone({ transport: "websocket", capabilities }).join(lives.life);
    const plain = new Phone({ transport: "websocket" }).join(lives.life);
    const pipe = new Phone({ transport: "stdio", capabilities }).join(lives.life);
    const closed = new Phone().join(lives.life);
    closed.close();
    await lives.life.settle();
    const life = await lives.restart();
    expect(life.agent.subscriptions).toBe(2);
    await life.pass(3599);
    expect([sse, socket].map((one) => one.rejoin(life))).toEqual([true, true]);
    expect([plain, pipe, closed].map((one) => one.rejoin(life))).toEqual([false, false, false]);
    sse.drop();
    const later = await lives.restart();
    await later.pass(3600);
    expect(later.agent.subscriptions).toBe(0);
    expect(lives.store.facts("subscription")).toEqual([]);
  });

  it("keep what they follow and may hear", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone({ principal: { id: "ada", role: "reply", audiences: ["ada"] } }).join(lives.life);
    const one = lives.life.agent.start({ summary: "One.", audience: ["ada"] });
    const two = lives.life.agent.start({ summary: "Two.", audience: ["ada"] });
    const three = lives.life.agent.start({ summary: "Three.", audience: ["bob"] });
    phone.follow(one.session_id);
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    for (const { session_id } of [one, two, three]) {
      const session = life.agent.resume(session_id);
      void session.say(`${session_id}.`);
      void session.complete();
    }
    await life.settle();
    expect(phone.text).toContain(one.session_id);
    expect(phone.text).not.toContain(two.session_id);
    expect(phone.text).not.toContain(three.session_id);
  });

  it("of another log are told that something is missing (F06)", async () => {
    const { lives, phone } = await asked();
    const other = new AgentProcesses({}, createMemoryStore());
    void other.life.agent.start({ summary: "Something else." });
    await other.life.settle();
    expect(phone.rejoin(other.life)).toBe(false);
    const stranger = new Phone().join(other.life);
    stranger.drop();
    stranger.lastEventId = phone.lastEventId;
    stranger.rejoin(other.life);
    expect(stranger.spoken.some((words) => words.startsWith("Some of what the agent said is missing"))).toBe(
      true,
    );
    void lives;
  });
});

describe("a session nobody comes back for", () => {
  it("says nothing was left undone where the agent had got its answers", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Sorting." });
    const spec = { action: "Sort it.", consequence: "It moves." };
    const sorted = session.confirm(spec);
    await lives.life.settle();
    phone.accept();
    await sorted;
    let life = await lives.restart();
    phone.rejoin(life);
    await life.pass(60);
    expect(phone.spoken.at(-1)).toBe("The agent stopped before it finished.");
    // The same where it comes back and goes on.
    const other = life.agent.start({ summary: "Sorting again." });
    void other.confirm(spec);
    await life.settle();
    life = await lives.restart();
    phone.rejoin(life);
    phone.accept();
    await life.settle();
    const again = life.agent.resume(other.session_id);
    expect(await again.confirm(spec)).toEqual({ accepted: true, origin: "human" });
    life = await lives.restart();
    phone.rejoin(life);
    life.agent.resume(other.session_id);
    await life.pass(300);
    expect(phone.spoken).not.toContain("The agent did not come back in time. It was not done.");
    check(lives);
  });

  it("says that it was not done where the power went between the yes and the act", async () => {
    const lives = new AgentProcesses({ onAccept: () => hang() });
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Moving money." });
    void session.tool(TRANSFER, () => 1);
    await lives.life.settle();
    phone.accept();
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    await life.pass(300);
    expect(phone.spoken.at(-1)).toBe(
      "The agent stopped before it finished. The agent did not come back in time. It was not done.",
    );
    check(lives);
  });

  it("lets a slow second check finish with a yes that was used in time", async () => {
    const check2: ((yes: boolean) => void)[] = [];
    const onAccept = () => new Promise<boolean>((resolve) => check2.push(resolve));
    const { lives, phone, session_id, ran, spec, run } = await asked({ onAccept });
    const life = await lives.restart();
    phone.rejoin(life);
    phone.accept();
    await life.settle();
    const outcome = life.agent.resume(session_id).tool(spec, run);
    await life.pass(400);
    expect(phone.spoken).not.toContain("The agent did not come back in time. It was not done.");
    check2.at(-1)!(true);
    expect(await outcome).toMatchObject({ ran: true });
    expect(ran).toHaveLength(1);
    check(lives);
  });

  it("asks again, with the change a person had asked for, if the agent comes back (CON-73)", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const spec = { ...TRANSFER, modifiable: ["amount"] as const };
    const first = lives.life.agent.start({ summary: "Moving money." });
    void first.tool(spec, () => 1);
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    phone.accept(undefined, { modified_action: { amount: 50 } });
    await life.settle();
    expect(phone.spoken.at(-1)).toBe(
      "A change was asked for. The agent was interrupted: the question comes again if the agent comes back.",
    );
    void life.agent.resume(first.session_id).tool(spec, () => 1);
    await life.settle();
    expect(phone.questions.at(-1)).toMatchObject({ action: "Transfer 50 dollars to savings." });
    expect(phone.tokens).toHaveLength(2);
    check(lives);
  });

  it("is closed after a minute, honestly, and leaves nothing behind", async () => {
    const lives = new AgentProcesses();
    const phone = new Phone().join(lives.life);
    const session = lives.life.agent.start({ summary: "Thinking." });
    await lives.life.settle();
    const life = await lives.restart();
    phone.rejoin(life);
    await life.pass(59);
    expect(phone.events.at(-1)).toMatchObject({ to_state: "interrupted" });
    await life.pass(1);
    expect(phone.events.at(-1)).toMatchObject({
      type: "aaep:agent.session.errored",
      error_category: "transient",
      summary_normal: "The agent stopped before it finished.",
      remediation_hint: "Nothing more will be done here. Ask the agent again if you still want this.",
    });
    expect(() => life.agent.resume(session.session_id)).toThrow(/it has ended/);
    for (const kind of ["session", "question", "intent", "sent"]) expect(lives.store.facts(kind)).toEqual([]);
    const last = await lives.restart();
    expect(last.agent.interrupted).toEqual([]);
    check(lives);
  });

  it("waits as long as a yes could still be used, then says that it was not done", async () => {
    const { lives, phone, ran } = await asked({ resumeWithinSeconds: 5 });
    const life = await lives.restart();
    phone.rejoin(life);
    phone.accept();
    await life.pass(290);
    expect(life.agent.interrupted).toHaveLength(1);
    await life.pass(10);
    expect(phone.spoken.at(-1)).toBe(
      "The agent stopped before it finished. The agent did not come back in time. It was not done.",
    );
    expect(ran).toEqual([]);
    check(lives);
  });

  it("is closed where it was relayed, too", async () => {
    const lives = new AgentProcesses();
    await lives.life.agent.relay({
      "@context": "https://aaep-protocol.org/context/v1",
      aaep_version: "1.0.0",
      type: "aaep:agent.session.started",
      event_id: "evt_1",
      session_id: "sess_1",
      timestamp: lives.life.clock.timestamp(),
      producer: { agent_id: "elsewhere" },
      localization_hints: { primary_language: "en" },
      summary_normal: "Elsewhere.",
    });
    await lives.restart();
    expect(lives.events.at(-1)).toMatchObject({
      type: "aaep:agent.session.cancelled",
      cancelled_by: "system",
    });
    check(lives);
  });
});

describe("the record of it all (CNF-41)", () => {
  it("tells what was asked, in which words to whom, who answered, and what came of it", async () => {
    const records: AuditRecord[] = [];
    const { lives, phone, session_id, spec, run } = await asked({ audit: (record) => records.push(record) });
    phone.accept(undefined, { decided_by: "Grandma" });
    await lives.life.settle();
    const call = expect.stringMatching(/^call_/);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(records.map(({ kind }) => kind)).toEqual([
      "asked",
      "delivered",
      "replied",
      "settled",
      "begun",
      "ended",
    ]);
    expect(records).toMatchObject([
      {
        act: {
          tool: "transfer_funds",
          params: spec.params,
          params_hash: hash,
          tool_call_id: call,
          secret: [],
        },
      },
      {
        subscription_id: phone.subscription_id,
        principal: "ada",
        again: false,
        question: { action: "Transfer 500 dollars to savings." },
      },
      { principal: "ada", reply: { decision: "accept", decided_by: "Grandma" } },
      { outcome: "accepted", origin: "human", principal: "ada" },
      { tool: "transfer_funds", params_hash: hash, reply_token: phone.tokens[0] },
      { status: "success" },
    ]);
    expect(records.every((record) => record.session_id === session_id && record.at !== "")).toBe(true);
    void run;
  });

  it("tells of what nobody knows, and of questions nobody was there for", async () => {
    const records: AuditRecord[] = [];
    const lives = new AgentProcesses({ audit: (record) => records.push(record) });
    const first = lives.life.agent.start({ summary: "Moving money." });
    await first.tool(TRANSFER, () => 1);
    expect(records).toMatchObject([
      { kind: "not_asked", origin: "policy", question: { risk_level: "high" } },
    ]);
    const phone = new Phone().join(lives.life);
    void first.tool(TRANSFER, hang);
    await lives.life.settle();
    phone.accept();
    await lives.life.settle();
    await lives.restart();
    expect(records.at(-1)).toMatchObject({ kind: "unknown", tool: "transfer_funds" });
  });
});

describe("a store with a long history", () => {
  it("is taken up within two seconds for 100,000 events", async () => {
    const clock = createFakeClock();
    const store = createMemoryStore();
    const agent = createProducer({ agent_id: "com.example.writer", clock, store });
    await agent.start({ summary: "Writing." }).say("Word by word. ");
    const [last] = store.recent().slice(-1);
    const { event, seq } = last!;
    const more = Array.from({ length: 100_000 }, (_, i) => ({
      seq: seq + 1 + i,
      event: { ...event, event_id: `evt_${i}`, position: 13 * (i + 1) },
    }));
    await store.append(more as never);
    const begun = cpuMs();
    const again = createProducer({ agent_id: "com.example.writer", clock, store });
    expect(cpuMs() - begun).toBeLessThan(2_000);
    expect(again.interrupted).toHaveLength(1);
  });
});
