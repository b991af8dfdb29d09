/**
 * Asking a person and waiting for the answer: confirmations and clarifications of one session, one at a time (CON-27).
 * The question is known to the hub before it leaves, so that the fastest answer finds it.
 */
import { type Hub, deadlineOf, type SessionHandle } from "../hub/hub.ts";
import type { Question, QuestionHooks, Settlement } from "../hub/questions.ts";
import { EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { Ids } from "../protocol/ids.ts";
import type { AwaitingClarification, AwaitingConfirmation, CoreEventType } from "../protocol/types.ts";
import { spokenDuration } from "./durations.ts";
import { SETTLED } from "./refusals.ts";

type QuestionType = "aaep:agent.awaiting.confirmation" | "aaep:agent.awaiting.clarification";

/** What asking needs of its session. */
export interface Asker {
  readonly hub: Hub;
  readonly handle: SessionHandle;
  readonly ids: Ids;
  /** Builds an event and puts it into the log, in order. */
  emit(type: CoreEventType, fields: Record<string, unknown>, options?: { insist?: boolean; language?: string }): Promise<void>;
  build(type: QuestionType, fields: Record<string, unknown>, language: string): Record<string, unknown>;
  log(event: Record<string, unknown>): Promise<void>;
  enter(state: string, fields?: Record<string, unknown>, options?: { insist?: boolean }): Promise<void>;
  /** A fact no event carries: how a question was settled. */
  note(reply_token: string, outcome: Settlement["outcome"]): void;
}

export interface AskSpec {
  readonly type: QuestionType;
  readonly fields: Record<string, unknown>;
  readonly language: string;
  readonly timeout_seconds: number;
  readonly wait_for_listener_seconds: number | undefined;
  /** Where the session goes once it is settled. */
  readonly next: (settlement: Settlement) => string;
  readonly extensions: number;
  readonly ceiling_seconds: number;
}

export type Asked = Settlement | { readonly outcome: "nobody_to_ask"; readonly origin: "policy"; readonly reply?: undefined };

export class Asking {
  readonly #asker: Asker;
  readonly #open = new Set<Question>();
  #turn: Promise<unknown> = Promise.resolve();
  #over = false;

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  ask(spec: AskSpec): Promise<Asked> {
    const asked = this.#turn.then(() => this.#ask(spec));
    this.#turn = asked.catch(() => undefined);
    return asked;
  }

  /** The session ends or changes its mind: every open question is void (CNF-34, CNF-35). */
  withdrawAll(): void {
    for (const question of [...this.#open]) question.withdraw();
  }

  end(): void {
    this.#over = true;
    this.withdrawAll();
  }

  async #ask(spec: AskSpec): Promise<Asked> {
    const { hub, handle, ids, enter, emit, build, log } = this.#asker;
    if (this.#over) return { outcome: "withdrawn", origin: "withdrawn" };
    const found = await hub.waitForListener(spec.type, handle, spec.wait_for_listener_seconds ?? 0);
    if (this.#over) return { outcome: "withdrawn", origin: "withdrawn" };
    if (!found) {
      await enter("same", { summary_normal: SETTLED.nobody_to_ask, urgency: "normal" }, { insist: true });
      return { outcome: "nobody_to_ask", origin: "policy" };
    }
    const timeout_seconds = hub.timeoutFor(spec.type, handle, spec.timeout_seconds);
    const ceiling_seconds = Math.min(86_400, Math.max(spec.ceiling_seconds, timeout_seconds));
    const { reply_token, extensions } = { reply_token: ids("rpl"), extensions: spec.extensions };
    void enter("awaiting_input", { summary_normal: "Waiting for your answer." });
    const deadline = { reply_token, seconds_left: timeout_seconds, extensions_left: extensions, ceiling_seconds };
    const event = build(
      spec.type,
      { ...spec.fields, reply_token, timeout_seconds, extensions: { [EXTENSION_PREFIX]: { deadline } } },
      spec.language,
    ) as unknown as AwaitingConfirmation | AwaitingClarification;
    const hooks: QuestionHooks = {
      warn: (question, msLeft, last) => {
        const seconds = Math.round(msLeft / 1000);
        void emit(
          "aaep:agent.progress.updated",
          {
            ...waiting(question),
            eta_ms: Math.ceil(msLeft),
            summary_normal: `${spokenDuration(seconds)} left to answer.`,
          },
          { insist: last },
        );
      },
      extended: (question) => {
        const seconds = Math.ceil(question.msLeft / 1000);
        void emit(
          "aaep:agent.progress.updated",
          {
            ...waiting(question),
            eta_ms: Math.ceil(question.msLeft),
            summary_normal: `There is more time: ${spokenDuration(seconds)} left to answer.`,
          },
          { insist: true },
        );
      },
      settled: (question, settlement) => {
        this.#open.delete(question);
        this.#asker.note(question.token, settlement.outcome);
        const resolves = { reply_token: question.token, outcome: settlement.outcome };
        const state = this.#open.size > 0 ? "awaiting_input" : spec.next(settlement);
        void enter(
          state,
          { summary_normal: SETTLED[settlement.outcome], urgency: "normal", extensions: { [EXTENSION_PREFIX]: { resolves } } },
          { insist: true },
        );
      },
    };
    const question = hub.ask({ event, extensions, ceiling_seconds }, handle, hooks);
    this.#open.add(question);
    try {
      await log(event as unknown as Record<string, unknown>);
    } catch (error) {
      question.withdraw();
      throw error;
    }
    return question.result;
  }
}

const waiting = (question: Question): Record<string, unknown> => ({
  progress: { description: "Waiting for an answer." },
  urgency: "normal",
  extensions: { [EXTENSION_PREFIX]: { deadline: deadlineOf(question) } },
});
