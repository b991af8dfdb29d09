// Several agents at once: kept apart, named where it matters, each answered over its own line.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Announcer, createListener, textOf } from "../../src/subscriber/announcer.ts";
import { Subscriber } from "../../src/subscriber/index.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { FakeProducer } from "./fake-producer.ts";

async function setUp(...names: [id: string, name: string][]) {
  const clock = createFakeClock();
  const announcer = new Announcer();
  const said: string[] = [];
  const changed = () => {
    announcer.tick(clock.now());
    for (
      let actions = announcer.advance(clock.now());
      actions.length > 0;
      actions = announcer.advance(clock.now())
    )
      for (const { utterance } of actions) {
        said.push(textOf(utterance));
        announcer.finished(utterance.id, clock.now());
      }
  };
  const listener = createListener(announcer, { clock, changed });
  const producers = names.map(([id, name]) => new FakeProducer(id, name));
  const sources: string[] = [];
  for (const { transport } of producers)
    sources.push(listener.add(await new Subscriber(transport, { clock, random: () => 0.5 }).connect()));
  await clock.settle();
  return { clock, announcer, listener, said, producers, sources };
}

const replies = (producer: FakeProducer) =>
  producer.sent.flatMap((message) =>
    message.type === "confirmation.reply" ? [[message.reply_token, message.decision]] : [],
  );

describe("several agents at once", () => {
  it("are named as soon as it is unclear who speaks, and not before (SUB-16)", async () => {
    const { clock, said, producers } = await setUp(["a", "Planner"], ["b", "Bank"]);
    const [one, two] = producers as [FakeProducer, FakeProducer];
    one.say(one.event("session.started", { summary_normal: "Planning." }));
    one.say(one.event("tool.invoked", { tool: "t", summary_normal: "Looking at flights." }));
    two.say(two.event("session.started", { summary_normal: "Checking." }));
    one.say(one.event("tool.invoked", { tool: "u", summary_normal: "Looking at trains." }));
    two.say(two.event("session.completed", { summary_normal: "Checked." }));
    one.say(one.event("tool.invoked", { tool: "v", summary_normal: "Looking at buses." }));
    await clock.settle();
    expect(said).toEqual([
      "Started: Planning.",
      "Looking at flights.",
      "Bank: Started: Checking.",
      "Planner: Looking at trains.",
      "Bank: Done: Checked.",
      "Looking at buses.",
    ]);
  });

  it("cannot use up one another's ids and numbers: each hears its own (SUB-13)", async () => {
    const { clock, said, producers } = await setUp(["a", "Planner"], ["b", "Bank"]);
    const [one, two] = producers as [FakeProducer, FakeProducer];
    const started = one.event("session.started", { summary_normal: "Planning.", sequence_number: 1 });
    const forged = two.event("session.started", { summary_normal: "Nothing." });
    two.say({ ...forged, event_id: started.event_id, session_id: started.session_id, sequence_number: 99 });
    one.say(started);
    await clock.settle();
    expect(said.at(-1)).toBe("Planner: Started: Planning.");
  });

  it("of the same name are told apart by their ids (SUB-16)", async () => {
    const { clock, said, producers } = await setUp(["a-1", "Planner"], ["b-2", "Planner"]);
    for (const one of producers) one.say(one.event("session.started", { summary_normal: "Planning." }));
    await clock.settle();
    expect(said).toEqual(["Started: Planning.", "Planner, b-2: Started: Planning."]);
  });

  it("are named with whatever they begin, once several were heard, and when a line drops (SUB-16)", async () => {
    const { clock, said, producers } = await setUp(["a-1", "Planner"], ["b-2", "Planner"]);
    for (const one of producers) {
      one.say(one.event("session.started", { summary_normal: "Planning." }));
      one.say(one.event("session.completed", { summary_normal: "Planned." }));
    }
    const [first] = producers as [FakeProducer];
    first.say(first.event("session.started", { session_id: "sess_2", summary_normal: "More." }));
    first.say(first.event("tool.invoked", { session_id: "sess_2", tool: "t", summary_normal: "Looking." }));
    await clock.settle();
    first.say(first.ask("rpl_1", { session_id: "sess_2" }));
    await clock.settle();
    expect(said.pop()).toContain("Planner, a-1 asks for permission:");
    first.drop();
    await clock.settle();
    expect(said).toEqual([
      "Started: Planning.",
      "Done: Planned.",
      "Planner, b-2: Started: Planning.",
      "Done: Planned.",
      "Planner, a-1: Started: More.",
      "Looking.",
      "The connection to Planner, a-1 was lost. Trying again.",
    ]);
  });

  it("that come back without knowing us are not said to work until they speak again", async () => {
    const { clock, announcer, said, producers } = await setUp(["a", "Planner"]);
    const [one] = producers as [FakeProducer];
    one.say(one.event("session.started", { summary_normal: "Planning." }));
    one.next = [{ subscription_id: "sub_other" }];
    one.drop();
    for (let second = 0; second < 600; second++) {
      await clock.advance(1_000);
      announcer.tick(clock.now());
    }
    const heard = () => announcer.history.map(({ utterance }) => textOf(utterance));
    expect(heard().filter((text) => text.startsWith("Still"))).toEqual([]);
    announcer.what(clock.now());
    expect(heard().at(-1)).toBe("No agent is working right now.");
    one.say(one.event("tool.invoked", { tool: "t", summary_normal: "Looking." }));
    await clock.settle();
    expect(said).toContain("Looking.");
    announcer.what(clock.now());
    expect(heard().at(-1)).toBe("Planner: Looking.");
  });

  it("cannot use up one another's urgency, and what is called critical is said (CON-74)", async () => {
    const { clock, announcer, said, producers } = await setUp(["a", "Flood"], ["b", "Bank"]);
    const [a, b] = producers as [FakeProducer, FakeProducer];
    const alert = (of: FakeProducer, n: number) =>
      of.event("state.changed", {
        from_state: "thinking",
        to_state: "deciding",
        urgency: "critical",
        summary_normal: `Alert ${n}.`,
      });
    for (let n = 0; n < 50; n++) a.say(alert(a, n));
    b.say(alert(b, 99));
    await clock.settle();
    expect(said.filter((text) => text.includes("Alert"))).toHaveLength(51);
    const last = announcer.history.find(({ utterance }) => textOf(utterance).includes("Alert 99"));
    expect(last?.utterance.urgency).toBe("critical");
  });

  it("whose names sound the same, or that claim one and the same id, are told apart too (SUB-16)", async () => {
    const { clock, said, producers } = await setUp(
      ["a-1", "Planner"],
      ["b-2", "PLANNER!"],
      ["a-1", "Planner"],
    );
    for (const one of producers) one.say(one.event("session.started", { summary_normal: "Planning." }));
    await clock.settle();
    expect(said).toEqual([
      "Started: Planning.",
      "PLANNER, b-2: Started: Planning.",
      "Planner, a-1, 2: Started: Planning.",
    ]);
  });

  it("with the same session ids and tokens stay apart; every answer goes to whoever asked (SUB-16, SUB-10)", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ who: fc.nat(2), grave: fc.boolean(), yes: fc.boolean() }), { maxLength: 8 }),
        async (script) => {
          const { clock, listener, announcer, producers } = await setUp(["a", "A"], ["b", "B"], ["c", "C"]);
          const asked = new Map<string, { who: number; yes: boolean }>();
          script.forEach(({ who, grave, yes }, n) => {
            // The same tokens from everybody: a token is the producer's own business.
            const token = `rpl_${script.slice(0, n).filter((one) => one.who === who).length}`;
            asked.set(`${who} ${token}`, { who, yes });
            const one = producers[who]!;
            one.say(one.ask(token, { action: `Do ${who} ${token}.`, risk_level: grave ? "high" : "low" }));
          });
          await clock.settle();
          for (let i = 0; i < script.length; i++) {
            const question = announcer.question as unknown as {
              producer: { agent_id: string };
              reply_token: string;
            };
            const who = ["a", "b", "c"].indexOf(question.producer.agent_id);
            const { yes } = asked.get(`${who} ${question.reply_token}`)!;
            if (!yes) listener.answer({ kind: "no" });
            else {
              listener.answer({ kind: "yes" });
              await clock.settle();
              if (announcer.question === (question as never)) listener.answer({ kind: "confirm" });
            }
            await clock.settle();
          }
          expect(announcer.question).toBeUndefined();
          producers.forEach((one, who) => {
            const wanted = [...asked].filter(([, of]) => of.who === who);
            expect(new Map(replies(one) as [string, string][])).toEqual(
              new Map(wanted.map(([key, { yes }]) => [key.split(" ")[1], yes ? "accept" : "reject"])),
            );
            expect(replies(one)).toHaveLength(wanted.length);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it("ask in a stated order: the gravest first, then whose time is up first, then who came first (SUB-16)", async () => {
    const { clock, announcer, listener, producers } = await setUp(["a", "A"], ["b", "B"], ["c", "C"]);
    const [a, b, c] = producers as [FakeProducer, FakeProducer, FakeProducer];
    a.say(a.ask("rpl_a1", { timeout_seconds: 300 }));
    b.say(b.ask("rpl_b1", { timeout_seconds: 200 }));
    c.say(c.ask("rpl_c1", { timeout_seconds: 100 }));
    b.say(b.ask("rpl_b2", { timeout_seconds: 250, risk_level: "high" }));
    const order: string[] = [];
    for (let i = 0; i < 4; i++) {
      order.push((announcer.question as never as { reply_token: string }).reply_token);
      listener.answer({ kind: "no" });
      await clock.settle();
    }
    expect(order).toEqual(["rpl_a1", "rpl_b2", "rpl_c1", "rpl_b1"]);
  });

  it("can be muted one by one, but for what is critical (SUB-16, DEL-21)", async () => {
    const { clock, announcer, said, producers } = await setUp(["a", "A"], ["b", "B"]);
    const [a, b] = producers as [FakeProducer, FakeProducer];
    announcer.mute("a");
    a.say(a.event("session.started", { summary_normal: "Noise." }));
    b.say(b.event("session.started", { summary_normal: "News." }));
    a.say(a.event("session.errored", { summary_normal: "Broken.", error_category: "unknown" }));
    await clock.settle();
    expect(said).toEqual(["A: Failed: Broken.", "B: Started: News."]);
    expect(announcer.history.map(({ status }) => status)).toContain("quiet");
  });

  it("may leave one by one: what they asked is closed and explained, the others are heard on (CNF-36)", async () => {
    const { clock, announcer, listener, said, producers, sources } = await setUp(["a", "A"], ["b", "B"]);
    const [a, b] = producers as [FakeProducer, FakeProducer];
    a.say(a.event("output.streaming", { chunk: "I was about to", position: 0, complete: false }));
    a.say(a.ask("rpl_1"));
    await clock.settle();
    await listener.remove(sources[0]!);
    await clock.settle();
    expect(announcer.question).toBeUndefined();
    expect(said.slice(-3)).toEqual([
      "This question was closed because the connection was lost: Pay 5.",
      "The connection to A has ended.",
      "I was about to",
    ]);
    expect(a.sent).toMatchObject([{ type: "subscription.close" }]);
    b.say(b.event("session.started", { summary_normal: "Still here." }));
    await clock.settle();
    expect(said.at(-1)).toBe("Started: Still here.");
    await listener.close();
    expect(b.sent).toMatchObject([{ type: "subscription.close" }]);
  });

  it("that end for good are not said to be tried again", async () => {
    const { clock, announcer, said, producers } = await setUp(["a", "A"]);
    const [a] = producers as [FakeProducer];
    a.say(a.event("session.started", { summary_normal: "Working." }));
    a.say({ type: "subscription.close", subscription_id: "sub_1", reason_code: "producer_closed" });
    await clock.advance(60_000);
    announcer.what(clock.now());
    expect(said.slice(1)).toEqual(["The connection to A has ended."]);
    expect(announcer.advance(clock.now()).map(({ utterance }) => textOf(utterance))).toEqual([
      "No agent is working right now.",
    ]);
  });

  it("say what leaving does to every open question", async () => {
    const { clock, announcer, producers } = await setUp(["a", "A"], ["b", "B"]);
    const [a, b] = producers as [FakeProducer, FakeProducer];
    expect(announcer.unanswered(clock.now())).toEqual([]);
    a.say(a.ask("rpl_1"));
    b.say(
      b.event("awaiting.clarification", {
        question: "Which one?",
        reply_token: "rpl_1",
        timeout_seconds: 30,
        default_response: "both",
      }),
    );
    await clock.advance(10_000);
    expect(textOf({ runs: announcer.unanswered(clock.now()) })).toBe(
      "You leave this question unanswered: Pay 5. Without an answer within 50 seconds, it will not be done. " +
        "You leave this question unanswered: Which one? Without an answer within 20 seconds, the agent assumes: both.",
    );
  });
});

describe("an agent that floods", () => {
  it("is heard for a while, then counted; the other agent and all that is critical are heard throughout (DEL-27, SUB-15)", async () => {
    const { clock, announcer, said, producers } = await setUp(["a", "Flood"], ["b", "Bank"]);
    const [a, b] = producers as [FakeProducer, FakeProducer];
    for (let i = 0; i < 3000; i++)
      a.say(a.event("tool.invoked", { tool: "t", tool_call_id: `call_${i}`, summary_normal: `Look ${i}.` }));
    a.say(
      a.event("session.errored", {
        session_id: "sess_2",
        summary_normal: "Really broken.",
        error_category: "unknown",
      }),
    );
    b.say(b.event("session.started", { summary_normal: "Your balance." }));
    await clock.settle();
    expect(said.filter((one) => one.includes("Look"))).toHaveLength(100);
    expect(said[0]).toBe("Flood, task 2: Failed: Really broken.");
    expect(said.at(-1)).toBe("Bank: Started: Your balance.");
    await clock.advance(10_000);
    announcer.tick(clock.now());
    expect(announcer.advance(clock.now()).map(({ utterance }) => textOf(utterance))).toEqual([
      "Flood: 2,900 announcements were skipped. They are in the history.",
    ]);
    expect(announcer.history.filter(({ utterance }) => textOf(utterance).includes("Look"))).toHaveLength(
      3000,
    );
  });

  it("of text in an answer is read to its end", async () => {
    const { clock, said, producers } = await setUp(["a", "A"]);
    const [a] = producers as [FakeProducer];
    const text = Array.from({ length: 600 }, (_, n) => `This is sentence ${n}.`).join(" ");
    a.say(a.event("output.streaming", { chunk: text, position: 0, complete: true }));
    await clock.settle();
    expect(said.join(" ") === text).toBe(true);
  });
});
