/** Whatever happens in whatever order: one outcome per question, no run without a yes, nothing but what was shown. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuditRecord } from "../../src/hub/record.ts";
import type { LogEntry } from "../../src/hub/store.ts";
import { createProducer } from "../../src/producer/producer.ts";
import { createIds, type RandomBytes } from "../../src/protocol/platform.ts";
import type { AwaitingConfirmation } from "../../src/protocol/types.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { TRANSFER } from "../support/driver.ts";
import { type AnyQuestion, HubListener } from "../support/hub-listener.ts";

type SettlementRecord = Extract<AuditRecord, { kind: "settled" }>;

const ear = fc.nat(2);
const nth = fc.nat(3);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("reply"),
      ear,
      nth,
      decision: fc.constantFrom("accept", "reject"),
      change: fc.option(fc.integer({ min: 1, max: 99 }), { freq: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("forge"), ear, nth, how: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant("wait"), seconds: fc.constantFrom(1, 10, 29, 31, 60, 300) }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("drop"), ear }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("rejoin"),
      ear,
      from: fc.constantFrom("place", "nowhere", "forged"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("close"), ear }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("join"), ear }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("renegotiate"), ear, answers: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("more_time"), ear, nth }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("take_back") }) },
);
type Step = {
  op: string;
  ear?: number;
  nth?: number;
  decision?: string;
  change?: number | null;
  how?: number;
  seconds?: number;
  from?: string;
  answers?: boolean;
};

const AUDIT_ORIGIN = {
  accepted: "human",
  rejected: "human",
  answered: "human",
  timed_out: "timeout",
  withdrawn: "withdrawn",
  disconnected: "disconnect",
};

describe("under any schedule of answers, forgeries, timeouts, lost lines, returns, changes of terms and closes", () => {
  it("each question has one outcome, logged once; what runs was asked, answered and shown; nothing open is lost (CNF-02, CNF-17, CNF-19, SEQ-14, SEQ-16)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
        await playOut(steps as Step[]);
      }),
      { numRuns: 300 },
    );
  });
});

async function playOut(steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock();
  const store = createMemoryStore();
  const settled: SettlementRecord[] = [];
  const agent = createProducer({
    agent_id: "planner",
    clock,
    store,
    warn: () => {},
    audit: (record) => {
      if (record.kind === "settled") settled.push(record);
    },
  });
  const hear = () =>
    new HubListener(agent, {
      capabilities: { earshot: { resume: true } },
      principal: { id: "ada", role: "reply", audiences: "all" },
    });
  const witness = new HubListener(agent, {
    capabilities: {
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      earshot: { view_prompts: true },
    },
    principal: { id: "witness", role: "admin", audiences: "all" },
  });
  const state = [0, 1, 2].map(() => ({ listener: hear(), up: true, closed: false, answers: true }));
  /** Replies that were taken: token, decision, whether its sender had been sent the question. */
  const taken: { token: string; decision: string; sent: boolean; change: boolean }[] = [];
  const runs: { tool: string; params: unknown }[] = [];
  const session = agent.start({ summary: "Working." });
  const back = new AbortController();
  const gate = (tool: string, irreversible: boolean) =>
    session.tool(
      {
        ...TRANSFER,
        tool,
        irreversible,
        modifiable: ["amount"],
        signal: back.signal,
        waitForListenerSeconds: 40,
      },
      (params) => void runs.push({ tool, params }),
    );
  const outcomes = Promise.all([
    gate("irreversible", true),
    gate("high_risk", false),
    session.confirm({
      action: "Tidy.",
      consequence: "Undoable.",
      risk: "low",
      irreversible: false,
      default: "accept",
    }),
    gate("last", true),
  ]);
  await clock.settle();
  const heard = (listener: HubListener): AnyQuestion[] =>
    listener.events.filter((event): event is AnyQuestion => "reply_token" in event);
  const all = () => [...new Map(heard(witness).map((question) => [question.reply_token, question])).values()];
  const send = (
    listener: HubListener,
    question: AnyQuestion | undefined,
    fields: object,
    principal?: never,
  ) => {
    const reply = {
      type: "confirmation.reply",
      reply_token: question?.reply_token ?? "rpl_none",
      subscription_id: listener.id,
      decision: "accept",
      timestamp: clock.timestamp(),
      ...fields,
    } as { reply_token: string; decision: string; modified_action?: object };
    const { reply_token: token, decision } = reply;
    void listener.send(reply as never, principal).then((handled) => {
      if (!("taken" in handled) || !handled.taken) return;
      const sent = heard(listener).some(({ reply_token }) => reply_token === token);
      taken.push({ token, decision, sent, change: reply.modified_action !== undefined });
    });
  };

  for (const { op, ear = 0, nth = 0, decision, change, how, seconds, from, answers } of steps) {
    const one = state[ear]!;
    const questions = all();
    const question = questions[questions.length - 1 - (nth % Math.max(1, questions.length))];
    if (op === "reply")
      send(one.listener, question, { decision, ...(change ? { modified_action: { amount: change } } : {}) });
    else if (op === "forge") {
      const forgeries = [
        { reply_token: "rpl_0123456789abcdef0123456789abcdef" },
        { subscription_id: state[(ear + 1) % 3]!.listener.id, timestamp: "1999-01-01T00:00:00.000Z" },
        { decision: "perhaps" },
        { subscription_id: witness.id },
        { type: "clarification.reply", response: "yes", decision: undefined },
        {},
      ];
      const stranger = { id: "mallory", role: "reply", audiences: "all" } as never;
      send(one.listener, question, forgeries[how!]!, how === 5 ? stranger : undefined);
    } else if (op === "wait") await clock.advance(seconds! * 1000);
    else if (op === "drop" && one.up && !one.closed) {
      one.listener.drop();
      one.up = false;
    } else if (op === "rejoin" && !one.up && !one.closed) {
      one.listener.connect(
        from === "place" ? one.listener.lastEventId : from === "forged" ? "evt_forged" : undefined,
      );
      one.up = one.listener.closed === undefined;
      one.closed = !one.up;
    } else if (op === "close" && !one.closed) {
      one.listener.close();
      one.closed = true;
    } else if (op === "join" && one.closed)
      state[ear] = { listener: hear(), up: true, closed: false, answers: true };
    else if (op === "renegotiate" && !one.closed) {
      one.listener.renegotiate({ supports_confirmation_reply: answers! });
      one.answers = answers!;
    } else if (op === "more_time") {
      const message = {
        type: "earshot:more_time",
        subscription_id: one.listener.id,
        reply_token: question?.reply_token ?? "rpl_none",
      } as const;
      one.listener.send(message);
    } else if (op === "take_back") back.abort();
    await clock.settle();
    // Never lost: whoever is connected and can answer has been sent every question that is still open.
    const open = all().filter(
      ({ reply_token }) => !settled.some((record) => record.reply_token === reply_token),
    );
    for (const { listener, up, closed, answers: can } of state) {
      if (!up || closed || !can) continue;
      const tokens = heard(listener).map(({ reply_token }) => reply_token);
      for (const { reply_token } of open) expect(tokens).toContain(reply_token);
    }
  }
  await session.cancel();
  await clock.settle();
  const [first, second, lenient, last] = await outcomes;

  // One outcome each, in the books and in the log.
  const entries: LogEntry[] = [];
  for await (const entry of store.read(1)) entries.push(entry);
  const logged = entries.flatMap(
    ({ event }) =>
      (event.extensions?.["earshot"]?.["resolves"] as { reply_token: string; outcome: string } | undefined) ??
      [],
  );
  const tokens = all().map(({ reply_token }) => reply_token);
  expect(logged.map(({ reply_token }) => reply_token).sort()).toEqual([...tokens].sort());
  expect(settled.map(({ reply_token }) => reply_token).sort()).toEqual([...tokens].sort());
  for (const { outcome, origin } of settled) expect(origin).toBe(AUDIT_ORIGIN[outcome]);

  // At most one answer counted for each, and only from whom it was sent to.
  expect(new Set(taken.map(({ token }) => token)).size).toBe(taken.length);
  expect(taken.every(({ sent }) => sent)).toBe(true);
  for (const { reply_token, origin } of settled) {
    expect(taken.some(({ token }) => token === reply_token)).toBe(origin === "human");
  }

  // What ran: once at most, after a plain yes to a question that showed exactly this.
  for (const [tool, outcome] of [
    ["irreversible", first],
    ["high_risk", second],
    ["last", last],
  ] as const) {
    const mine = runs.filter((run) => run.tool === tool);
    expect(mine).toHaveLength(outcome.ran ? 1 : 0);
    for (const { params } of mine) {
      const shown = (question: AnyQuestion) =>
        Object.fromEntries(
          (
            ((question as AwaitingConfirmation).extra_context?.["params"] as
              | { name: string; value: unknown }[]
              | undefined) ?? []
          ).map(({ name, value }) => [name, value]),
        );
      const approved = taken
        .filter(({ decision, change }) => decision === "accept" && !change)
        .map(({ token }) => token);
      const matching = all()
        .filter(({ reply_token }) => approved.includes(reply_token))
        .map(shown);
      expect(matching).toContainEqual(params);
    }
  }
  // Silence was a yes only where that was announced.
  if (lenient.accepted && lenient.origin === "policy") {
    const asked = all().filter((question) => (question as AwaitingConfirmation).action === "Tidy.");
    expect(asked.every(({ reply_token }) => !taken.some(({ token }) => token === reply_token))).toBe(true);
  }
  for (const question of all() as AwaitingConfirmation[]) {
    if (question.default_decision === "accept")
      expect(question).toMatchObject({ risk_level: "low", action: "Tidy." });
  }
}

/** The same numbers for the same seed. */
function seeded(seed: number): { random: () => number; bytes: RandomBytes } {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return { random, bytes: (length) => Uint8Array.from({ length }, () => Math.floor(random() * 256)) };
}

describe("races", () => {
  it("of accept, reject, timeout, withdrawal and close have one outcome each, 10,000 times (F27, A01, CNF-17)", async () => {
    const { random, bytes } = seeded(20_260_101);
    const clock = createFakeClock();
    const settled = new Map<string, SettlementRecord[]>();
    const agent = createProducer({
      agent_id: "planner",
      clock,
      warn: () => {},
      hub: { maxQuestionsPerPrincipal: 1_000 },
      audit: (record) => {
        if (record.kind === "settled")
          settled.set(record.session_id, [...(settled.get(record.session_id) ?? []), record]);
      },
    });
    const RACES = 10_000;
    const TOGETHER = 100;
    const counts: Record<string, number> = {};
    for (let done = 0; done < RACES; done += TOGETHER) {
      const people = ["ada", "bob"].map(
        (id) => new HubListener(agent, { principal: { id, role: "reply", audiences: "all" } }),
      );
      const stop = new AbortController();
      const races = Array.from({ length: TOGETHER }, (_, i) => {
        const session = agent.start({ summary: "Racing." });
        let ran = 0;
        const signal = i % 10 === 0 ? { signal: stop.signal } : {};
        const outcome = session.tool({ ...TRANSFER, timeout_seconds: 10, ...signal }, () => void ran++);
        return { session, outcome, ran: () => ran, canBeTakenBack: "signal" in signal };
      });
      await clock.settle();
      const moves: (() => unknown)[] = people[0]!.questions.flatMap((question) =>
        random() < 0.4
          ? []
          : [
              () => people[0]!.accept(question),
              () => people[1]!.reject(question),
              () => people[1]!.accept(question),
            ],
      );
      moves.push(
        () => clock.advance(10_000),
        () => stop.abort(),
      );
      if (random() < 0.5)
        moves.push(
          () => people[0]!.close(),
          () => people[1]!.close(),
        );
      for (let i = moves.length - 1; i > 0; i--) {
        const j = Math.floor(random() * (i + 1));
        [moves[i], moves[j]] = [moves[j]!, moves[i]!];
      }
      const waits: unknown[] = [];
      for (const move of moves) {
        waits.push(move());
        if (random() < 0.1) await Promise.resolve();
      }
      await Promise.all(waits);
      await clock.advance(10_000);
      for (const { session, outcome, ran, canBeTakenBack } of races) {
        const result = await outcome;
        const records = settled.get(session.session_id) ?? [];
        expect(records).toHaveLength(1);
        const [{ outcome: how }] = records as [SettlementRecord];
        // What its author takes back after the yes and before it started does not run either.
        const takenBack = how === "accepted" && canBeTakenBack && !result.ran;
        expect(result.ran).toBe(how === "accepted" && !takenBack);
        expect(ran()).toBe(result.ran ? 1 : 0);
        if (!result.ran) expect(result.outcome).toBe(takenBack ? "withdrawn" : how);
        counts[how] = (counts[how] ?? 0) + 1;
        void session.complete();
      }
      settled.clear();
      for (const person of people) person.close();
      await clock.settle();
    }
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(RACES);
    for (const how of ["accepted", "rejected", "timed_out", "disconnected", "withdrawn"]) {
      expect(counts[how], how).toBeGreaterThan(10);
    }
    expect(createIds(bytes)("rpl")).toMatch(/^rpl_[0-9a-f]{32}$/);
  });
});
