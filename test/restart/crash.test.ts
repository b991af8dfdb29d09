/**
 * The process dies at any append, once or several times, with that append kept or lost, and the agent starts over each
 * time. Whatever happens: nothing runs twice or without a yes, nobody is asked twice, and everyone is told the truth.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EXTENSION_PREFIX } from "../../src/protocol/extension.ts";
import { checkStream } from "../../src/protocol/lifecycle.ts";
import type { AwaitingConfirmation, CoreEvent } from "../../src/protocol/types.ts";
import { expectValid, TRANSFER } from "../support/driver.ts";
import { type AgentProcess, AgentProcesses, Phone } from "./agent-processes.ts";

const LONG = process.env["EARSHOT_LONG"] === "1";
const numRuns = LONG ? 3_000 : 100;

const AMOUNTS = [500, 20, 500];

interface Fate {
  /** Dies at this append after it began, which is kept or not; 0 for a death between two appends. */
  readonly append: number;
  readonly kept: boolean;
  /** Whether the agent resumes, and whether the person answers before that. */
  readonly resumes: boolean;
  readonly answersFirst: boolean;
  /** Whether the person answers at all in this life. */
  readonly answers: boolean;
}

const fate: fc.Arbitrary<Fate> = fc.record({
  append: fc.nat(30),
  kept: fc.boolean(),
  resumes: fc.oneof(
    { weight: 4, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  answersFirst: fc.boolean(),
  answers: fc.oneof(
    { weight: 3, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
});

class Story {
  readonly lives = new AgentProcesses();
  readonly phone = new Phone();
  /** What the bank did, and what the person said yes to. */
  readonly bank: { readonly amount: number; readonly token: string | undefined }[] = [];
  readonly yes = new Set<string>();
  readonly no = new Set<string>();
  readonly #decisions: readonly boolean[];
  session_id = "";

  constructor(decisions: readonly boolean[]) {
    this.#decisions = decisions;
  }

  /** What the agent does, from its beginning: it remembers nothing itself. */
  async work(life: AgentProcess): Promise<void> {
    const session = this.session_id
      ? life.agent.resume(this.session_id)
      : life.agent.start({ summary: "Paying the bills." });
    this.session_id = session.session_id;
    void session.say("Let me see. ");
    for (const amount of AMOUNTS) {
      await session.tool({ ...TRANSFER, params: { amount, to: "savings" } }, async (params) => {
        const { reply_token } = this.phone.questions.at(-1) ?? {};
        this.bank.push({ amount: params.amount, token: reply_token });
        await new Promise((resolve) => life.clock.timer(life.clock.now() + 500, () => resolve(undefined)));
      });
      void session.say(`So much for ${amount}. `);
    }
    await session.complete();
  }

  /** The person answers what is open, the same way each time the same question comes. */
  answer(): void {
    for (const question of this.phone.questions as AwaitingConfirmation[]) {
      const { reply_token } = question;
      const known = [...this.phone.tokens].indexOf(reply_token);
      const yes = this.#decisions[known % this.#decisions.length]!;
      const replied = yes ? this.phone.accept(question) : this.phone.reject(question);
      void replied.then((taken) => taken && (yes ? this.yes : this.no).add(reply_token));
    }
  }

  async live(life: AgentProcess, { resumes, answers, answersFirst }: Fate): Promise<void> {
    if (answersFirst && answers) this.answer();
    await life.settle();
    // What was not even begun when the power went is begun anew.
    if (!this.lives.events.some((event) => event.session_id === this.session_id)) this.session_id = "";
    const isThere = life.agent.interrupted.some(({ session_id }) => session_id === this.session_id);
    if (!this.session_id || (resumes && isThere)) void this.work(life).catch(() => undefined);
    for (let i = 0; i < 8 && !life.dead; i++) {
      await life.settle();
      if (answers) this.answer();
      await life.pass(1);
    }
  }

  async run(fates: readonly Fate[]): Promise<void> {
    const [first, ...rest] = fates;
    // The listener is there before anything happens.
    this.phone.join(this.lives.life);
    await this.lives.life.settle();
    await this.restartInto(first!, 0);
    for (const next of rest) await this.restartInto(next, 1);
    const last = await this.lives.restart(1);
    this.phone.rejoin(last);
    await this.live(last, { append: 0, kept: true, resumes: true, answers: true, answersFirst: false });
    await last.pass(400);
  }

  private async restartInto(next: Fate, seconds: number): Promise<void> {
    const death = next.append > 0 ? { append: next.append, kept: next.kept } : undefined;
    const life = await this.lives.restart(seconds, death);
    expect(this.phone.rejoin(life)).toBe(true);
    await this.live(life, next);
  }

  get settlements(): { reply_token: string; outcome: string }[] {
    return this.lives.events.flatMap(({ extensions }) => {
      const resolves = extensions?.[EXTENSION_PREFIX]?.["resolves"];
      return resolves ? [resolves as { reply_token: string; outcome: string }] : [];
    });
  }
}

const textOf = (events: readonly CoreEvent[]): string =>
  events.map((event) => (event.type === "aaep:agent.output.streaming" ? event.chunk : "")).join("");

describe("a process that dies at any append, and an agent that starts over", () => {
  it(
    "runs each act at most once and only after its yes, settles each question once, asks nobody twice, and hides nothing (F01, F02, F27, A04, CNF-17, SEQ-14)",
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fate, { minLength: 1, maxLength: 4 }),
          fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
          async (fates, decisions) => {
            const story = new Story(decisions);
            await story.run(fates);
            const { lives, phone, bank, yes, session_id } = story;
            const { events } = lives;
            // Nothing illegal was ever said, whichever life said it.
            for (const event of events) expectValid(event);
            const found = checkStream(events, { replies: "unseen", ended: true });
            expect(found.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
            // As often as the agent wanted it, and no more; each after a yes of its own.
            for (const amount of new Set(AMOUNTS)) {
              const wanted = AMOUNTS.filter((one) => one === amount).length;
              expect(bank.filter((one) => one.amount === amount).length).toBeLessThanOrEqual(wanted);
            }
            expect(new Set(bank.map(({ token }) => token)).size).toBe(bank.length);
            for (const { token } of bank) expect(yes.has(token ?? "")).toBe(true);
            // One token for each question, settled once; nobody is asked about the same thing again after an answer.
            const tokens = events.flatMap((event) => ("reply_token" in event ? [event.reply_token] : []));
            expect(new Set(tokens).size).toBe(tokens.length);
            expect(story.settlements.map(({ reply_token }) => reply_token).sort()).toEqual(
              [...tokens].sort(),
            );
            expect(tokens.length).toBeLessThanOrEqual(AMOUNTS.length);
            // What ran was reported as done, or as not known.
            const invoked = events.filter(({ type }) => type === "aaep:agent.tool.invoked").length;
            const done = events.filter(
              (event) => event.type === "aaep:agent.tool.completed" && event.status === "success",
            ).length;
            const unknown = events.filter(
              (event) =>
                event.type === "aaep:agent.tool.completed" &&
                event.status === "error" &&
                /^It is not known whether this was done: Transfer/.test(event.summary_normal ?? ""),
            ).length;
            expect(done + unknown).toBe(invoked);
            expect(bank.length).toBeGreaterThanOrEqual(done);
            expect(bank.length).toBeLessThanOrEqual(invoked);
            // The listener heard all of it, once.
            expect(phone.text).toBe(textOf(events));
            expect(phone.spoken.some((words) => words.startsWith("Some of what"))).toBe(false);
            // Over is over: nothing is kept of it.
            expect(events.some((event) => event.session_id === session_id)).toBe(true);
            for (const kind of ["session", "question", "intent", "sent"])
              expect(lives.store.facts(kind)).toEqual([]);
          },
        ),
        { numRuns },
      );
    },
    LONG ? 1_800_000 : 120_000,
  );

  it("says to the very end what it had to say, at every single append (F01, F02)", async () => {
    // How many appends there are when nothing goes wrong.
    const smooth = new Story([true]);
    smooth.phone.join(smooth.lives.life);
    await smooth.live(smooth.lives.life, {
      append: 0,
      kept: true,
      resumes: true,
      answers: true,
      answersFirst: false,
    });
    const { appends } = smooth.lives.life;
    expect(smooth.bank).toHaveLength(AMOUNTS.length);
    for (let append = 1; append <= appends; append++) {
      for (const kept of [true, false]) {
        const story = new Story([true]);
        await story.run([{ append, kept, resumes: true, answers: true, answersFirst: false }]);
        const { bank, lives } = story;
        const unknown = lives.told.filter((words) => words.startsWith("It is not known")).length;
        // Everything was done, but for what was cut off after it had been begun.
        expect(bank.length + unknown).toBeGreaterThanOrEqual(AMOUNTS.length);
        expect(bank.length).toBeLessThanOrEqual(AMOUNTS.length);
        expect(unknown).toBeLessThanOrEqual(1);
      }
    }
  }, 60_000);
});
