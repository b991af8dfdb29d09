// The announcer at the end of a subscription: events in, a person's answers out, and what came of them said.
import { describe, expect, it } from "vitest";
import { Announcer, attach, textOf } from "../../src/subscriber/announcer.ts";
import type { Subscriber } from "../../src/subscriber/index.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { eventsOf, type Fields } from "./support.ts";

function setUp(taken: boolean | undefined, options: ConstructorParameters<typeof Announcer>[0] = {}) {
  const handlers = new Map<string, ((value: unknown) => void)[]>();
  const sent: unknown[] = [];
  const decided: string[] = [];
  const fake = {
    id: "sub_1",
    accepted: { producer: { agent_id: "planner", agent_name: "Planner" } },
    on: (name: string, handler: (value: unknown) => void) => {
      handlers.set(name, [...(handlers.get(name) ?? []), handler]);
      return () => handlers.delete(name);
    },
    send: async (message: unknown) => {
      sent.push(message);
      return { taken };
    },
    reply: async (fields: { reply_token: string; decision: string }) => {
      sent.push(fields);
      decided.push(`${fields.decision} ${fields.reply_token}`);
      return taken;
    },
  };
  const emit = (name: string, value: unknown) =>
    handlers.get(name)?.forEach((handler) => void handler(value));
  const clock = createFakeClock();
  const announcer = new Announcer(options);
  const said: string[] = [];
  const changed = () => {
    for (
      let actions = announcer.advance(clock.now());
      actions.length > 0;
      actions = announcer.advance(clock.now())
    ) {
      for (const { utterance } of actions) {
        said.push(textOf(utterance));
        announcer.finished(utterance.id, clock.now());
      }
    }
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 50) {
      await clock.advance(50);
      announcer.tick(clock.now());
      changed();
    }
  };
  const attached = attach(announcer, fake as unknown as Subscriber, { clock, changed });
  const event = eventsOf();
  const ask = (reply_token = "rpl_1", over: Fields = {}) => {
    const asked = event("awaiting.confirmation", {
      action: "Pay.",
      consequence: "Paid.",
      ...over,
      reply_token,
      timeout_seconds: 60,
      default_decision: "reject",
    });
    emit("event", asked);
  };
  return { announcer, attached, clock, said, sent, decided, ask, emit, pass };
}

describe("an announcer attached to a subscription", () => {
  it.each([
    [true, "Allowed."],
    [false, "Your answer came too late: the question was already closed."],
    [undefined, "Your answer was sent, but the agent has not said that it took it."],
  ])("sends the person's answer and says what came of it (taken: %s) (SUB-10)", async (taken, words) => {
    const { announcer, attached, clock, said, decided, ask, pass } = setUp(taken);
    ask();
    await clock.settle();
    announcer.answer({ kind: "yes" }, clock.now());
    attached.flush();
    await pass(2_000);
    expect(decided).toEqual(["accept rpl_1"]);
    expect(said.at(-1)).toBe(words);
  });

  it("can still send the answer to the first of a thousand questions", async () => {
    const { announcer, attached, clock, said, decided, ask } = setUp(true);
    ask("rpl_first", { risk_level: "high" });
    for (let number = 0; number < 1_000; number++) ask(`rpl_${number}`);
    await clock.settle();
    announcer.answer({ kind: "no" }, clock.now());
    attached.flush();
    await clock.settle();
    expect(decided).toEqual(["reject rpl_first"]);
    expect(said).toContain("Refused.");
  });

  it("marks an answer by rule as such", async () => {
    const { clock, sent, ask } = setUp(true, {
      autoAnswers: [{ agent_id: "planner", action: "Pay.", decision: "reject" }],
    });
    ask();
    await clock.settle();
    expect(sent).toMatchObject([
      {
        type: "confirmation.reply",
        reply_token: "rpl_1",
        decision: "reject",
        decided_by: "auto:listener-rule",
      },
    ]);
  });

  const LOST = "The connection to Planner was lost. Trying again.";
  const BACK = "Connected to Planner again.";

  it("says when the line is lost and back, not when it first opens", async () => {
    const { said, emit, pass } = setUp(true);
    emit("connection", { state: "connected" });
    await pass(5_000);
    emit("connection", { state: "lost" });
    emit("connection", { state: "connected" });
    await pass(1_000);
    expect(said).toEqual([LOST, BACK]);
  });

  it("believes that it is back at once where the agent speaks", async () => {
    const { clock, said, emit } = setUp(true);
    emit("connection", { state: "lost" });
    emit("connection", { state: "connected" });
    emit("event", eventsOf()("session.started", { summary_normal: "Planning." }));
    await clock.settle();
    expect(said).toEqual([LOST, BACK, "Started: Planning."]);
  });

  it("says only once that it is back, where the agent was still leaving the first time", async () => {
    const { said, emit, pass } = setUp(true);
    emit("connection", { state: "lost" });
    await pass(100);
    emit("connection", { state: "connected" });
    await pass(200);
    emit("connection", { state: "lost" });
    await pass(500);
    emit("connection", { state: "connected" });
    await pass(30_000);
    expect(said).toEqual([LOST, BACK]);
  });

  it("of a line that keeps dropping speaks now and then, and ends with how it is (T4)", async () => {
    const { said, emit, pass } = setUp(true);
    const event = eventsOf();
    for (let round = 0; round < 1_000; round++) {
      emit("connection", { state: "lost" });
      await pass(50);
      emit("connection", { state: "connected" });
      emit("event", event("state.changed", { from_state: "idle", to_state: `s${round}` }));
      await pass(50);
    }
    const told = said.filter((text) => text === LOST || text === BACK);
    expect(told.length).toBeLessThanOrEqual(24);
    emit("connection", { state: "lost" });
    await pass(10_000);
    expect(said.filter((text) => text === LOST || text === BACK).at(-1)).toBe(LOST);
  });
});
