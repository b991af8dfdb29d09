/**
 * Asking a person and waiting for the answer: confirmations and clarifications of one session, one at a time (CON-27).
 * The question is known to the hub before it leaves, so that the fastest answer finds it.
 */

import type { AppendOptions, SessionHandle } from "../hub/hub.ts";
import type { Question, QuestionHooks, Settlement } from "../hub/questions.ts";
import type { Act } from "../hub/record.ts";
import type { QuestionFact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, type QuestionOutcome } from "../protocol/extension.ts";
import type { AgentEvent, AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";
import { wantsChange } from "./changes.ts";
import type { Identity } from "./ledger.ts";
import { NOTED } from "./past.ts";
import type { Phrases } from "./phrases.ts";
import type { Stage } from "./stage.ts";
import type { Sentence, Summary } from "./words.ts";

/** How long a question stays open, how often more time can be had, and the most in all. */
export interface QuestionTimes {
  readonly timeout_seconds: number;
  readonly extensions: number;
  readonly ceiling_seconds: number;
}

/** What everyone who heard the question is told at its end, and where the session goes then. */
export interface Verdict {
  readonly outcome: QuestionOutcome;
  readonly words: (phrases: Phrases) => Summary;
  readonly state: string;
}

interface AskSpec extends Identity {
  readonly type: "aaep:agent.awaiting.confirmation" | "aaep:agent.awaiting.clarification";
  readonly words: Readonly<Record<string, Summary | Sentence | undefined>>;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Fields that differ by language, by tag. */
  readonly localized?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly timeout_seconds: number;
  readonly wait_for_listener_seconds: number | undefined;
  /** Aborting takes the question back. */
  readonly signal: AbortSignal | undefined;
  readonly verdict: (settlement: Settlement) => Verdict;
  /** Said where there is nobody to ask. */
  readonly nobody: (phrases: Phrases) => Summary;
  /** The next question waits for this too: what was just agreed to is announced before anything else is asked. */
  readonly released?: Promise<void>;
  /** What is asked about, for whoever operates the agent. */
  readonly subject: string;
  /** What a yes would run, for the record. */
  readonly act?: Act;
}

type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

export type Asked =
  | Settlement
  | {
      readonly outcome: "nobody_to_ask";
      readonly origin: "policy";
      readonly reply?: undefined;
      readonly principal?: undefined;
    };

/** Questions that may wait for their turn in one session (F22). */
const MOST_WAITING = 32;

export class Asking {
  readonly #stage: Stage;
  readonly #handle: SessionHandle;
  readonly #times: QuestionTimes;
  readonly #warn: (sentence: string) => void;
  #open: Question | undefined;
  /** No agent drives this session now. */
  abandoned = false;
  /** Called whenever a question has been settled. */
  settled: (() => void) | undefined;
  /** Settles when the last answer is in the log. */
  #kept: Promise<unknown> = Promise.resolve();
  /** Who asked again after a restart for the question that was open. */
  #claim: AskSpec | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(stage: Stage, handle: SessionHandle, times: QuestionTimes, warn: (sentence: string) => void) {
    this.#stage = stage;
    this.#handle = handle;
    this.#times = times;
    this.#warn = warn;
  }

  /** The question that was open when the process stopped. It waits for its answer, and the agent's others for it. */
  restore(fact: QuestionFact): void {
    const { hub, clock } = this.#stage.options;
    const { event, extensions, ceiling_seconds, extensions_used, total_seconds } = fact;
    this.#stage.asking = true;
    const question = hub.questions.restore(
      { event, extensions, ceiling_seconds, audience: this.#handle.audience },
      this.#handle,
      this.#hooks(
        (settlement) =>
          this.#claim?.verdict(settlement) ??
          unclaimed(event.type, settlement, this.abandoned ? INTERRUPTED : "thinking"),
        () => this.#claim !== undefined,
      ),
      {
        deadline: clock.now() + this.#stage.ledger.msLeft(fact),
        extensionsUsed: extensions_used,
        totalSeconds: total_seconds,
      },
    );
    this.#open = question;
    this.#turn = question.result.then(() => this.#claim?.released);
  }

  ask(spec: AskSpec): Promise<Asked> {
    return this.#stage.ledger.alone(spec.key, () => this.#queue(spec));
  }

  async #queue(spec: AskSpec): Promise<Asked> {
    const open = this.#open;
    const known = this.#stage.ledger.question(spec.key);
    // Asked before the restart and still open: the same question. About anything else it would be another one.
    if (open && known?.event.reply_token === open.token) {
      if (known.fingerprint === spec.fingerprint) return this.#join(open, spec);
      open.withdraw();
    }
    if (this.#waiting >= MOST_WAITING) {
      throw new EarshotError(
        "too_many_questions",
        `${MOST_WAITING} questions already wait for their turn in this session; wait for their answers first.`,
      );
    }
    this.#waiting++;
    const asked = this.#turn.then(() => this.#ask(spec)).finally(() => this.#waiting--);
    this.#turn = asked.then(
      () => spec.released,
      () => undefined,
    );
    return asked;
  }

  /** The session ends: the open question is void (CNF-34, CNF-35). Those that wait are never asked. */
  end(): void {
    this.#open?.withdraw();
  }

  async #join(question: Question, spec: AskSpec): Promise<Asked> {
    this.#claim = spec;
    const stopped = anySignal(this.#stage.signal, spec.signal);
    stopped.signal.addEventListener("abort", () => void question.withdraw());
    if (stopped.signal.aborted) question.withdraw();
    try {
      return await this.#answerTo(question);
    } finally {
      stopped.release();
    }
  }

  /** An answer counts once it is kept: what is done because of it must not be forgotten before it. */
  async #answerTo(question: Question): Promise<Settlement> {
    const settlement = await question.result;
    if (settlement.origin === "human") await this.#kept;
    return settlement;
  }

  async #ask(spec: AskSpec): Promise<Asked> {
    const stage = this.#stage;
    const { hub, ids, clock } = stage.options;
    const stopped = anySignal(stage.signal, spec.signal);
    const isOver = () => stage.ended || stopped.signal.aborted;
    try {
      // The process is about to stop: the agent asks again in the next one.
      if (hub.shuttingDown) return await new Promise<never>(() => {});
      if (isOver()) return WITHDRAWN;
      const known = stage.ledger.recall(spec);
      if (known) {
        await hub.log.keep(known.facts);
        return known.settlement;
      }
      const canAsk = () => hub.questions.canAsk(spec.type, this.#handle);
      const wait = spec.wait_for_listener_seconds ?? 0;
      const until = clock.now() + wait * 1000;
      if (wait > 0 && !canAsk()) {
        this.#warn(
          `${spec.subject} waits for somebody who can be asked. Start a listener: npx earshot listen`,
        );
      }
      let found = wait > 0 || canAsk();
      // Between finding somebody and asking nothing else may happen: others may be asking them too.
      while (found && !isOver() && !canAsk()) {
        const left = (until - clock.now()) / 1000;
        found = await hub.questions.waitForListener(spec.type, this.#handle, left, stopped.signal);
      }
      if (isOver()) return WITHDRAWN;
      if (!found) {
        this.#warn(
          `${spec.subject} was not asked about: nobody is connected who could answer. Start a listener: npx earshot listen`,
        );
        hub.audit({
          kind: "not_asked",
          session_id: stage.session_id,
          origin: "policy",
          question: { type: spec.type, ...stage.speak(spec.words).fields, ...spec.fields },
          at: clock.timestamp(),
        });
        await stage.enter(stage.state, { words: stage.own(spec.nobody), insist: true, always: true });
        return { outcome: "nobody_to_ask", origin: "policy" };
      }
      const timeout_seconds = hub.questions.timeoutFor(spec.type, this.#handle, spec.timeout_seconds);
      const ceiling_seconds = Math.min(86_400, Math.max(this.#times.ceiling_seconds, timeout_seconds));
      const { extensions } = this.#times;
      const reply_token = ids("rpl");
      const room = Math.ceil((ceiling_seconds - timeout_seconds) / timeout_seconds);
      const extensions_left = Math.min(extensions, room);
      const deadline = { reply_token, seconds_left: timeout_seconds, extensions_left, ceiling_seconds };
      const extended = { [EXTENSION_PREFIX]: { deadline } };
      const fields = { ...spec.fields, reply_token, timeout_seconds, extensions: extended };
      // What cannot be asked is refused before anybody is told to expect a question.
      stage.build(spec.type, spec.words, fields);
      stage.beforeEvent();
      void stage.enter("awaiting_input", { fields: { urgency: "normal" } });
      stage.asking = true;
      const event = stage.build(spec.type, spec.words, fields) as unknown as QuestionEvent;
      const { act } = spec;
      const { audience } = this.#handle;
      const asked = { event, extensions, ceiling_seconds, act, audience };
      const question = hub.questions.ask(asked, this.#handle, this.#hooks(spec.verdict));
      this.#open = question;
      stopped.signal.addEventListener("abort", () => void question.withdraw());
      try {
        const { localized = {} } = spec;
        const facts = stage.ledger.asked(question, spec);
        const logged = stage.log(event as unknown as Record<string, unknown>, { localized, facts });
        // A store that never answers must not keep the deadline from being one.
        await Promise.race([logged, question.result]);
      } catch (error) {
        question.withdraw();
        throw error;
      }
      return await this.#answerTo(question);
    } finally {
      stopped.release();
    }
  }

  #hooks(verdict: AskSpec["verdict"], isHeard = () => true): QuestionHooks {
    const stage = this.#stage;
    const reminder = (
      question: Question,
      msLeft: number,
      say: (phrases: Phrases, left: string) => string,
    ) => ({
      words: {
        summary: stage.own((phrases) => say(phrases, phrases.duration(Math.round(msLeft / 1000)))),
      },
      fields: {
        progress: { description: stage.ownText((phrases) => phrases.waiting) },
        urgency: "normal",
        eta_ms: Math.ceil(msLeft),
        extensions: { [EXTENSION_PREFIX]: { deadline: question.deadlineNotice } },
      },
      localized: Object.fromEntries(
        Object.entries(stage.options.phrases).map(([tag, { waiting }]) => [
          tag.toLowerCase(),
          { progress: { description: waiting } },
        ]),
      ),
    });
    // Called by timers and by listeners, who must not pay for an author's phrases that throw.
    const remind = (options: AppendOptions, ...given: Parameters<typeof reminder>) =>
      void stage.attempt(() => {
        const { words, fields, localized } = reminder(...given);
        return stage.emit(REMINDER, words, fields, { ...options, localized });
      });
    return {
      warn: (question, msLeft, last) =>
        remind({ insist: last }, question, msLeft, (phrases, left) => phrases.time_left(left)),
      extended: (question) => {
        const options = { insist: true, facts: stage.ledger.extended(question) };
        remind(options, question, question.msLeft, (phrases, left) => phrases.more_time(left));
      },
      remaining: (question) => {
        try {
          const left = reminder(question, question.msLeft, (phrases, time) => phrases.time_left(time));
          const event = stage.build(REMINDER, left.words, left.fields);
          const event_id = stage.options.ids("evt");
          return { event: { ...event, event_id } as unknown as AgentEvent, localized: left.localized };
        } catch (error) {
          stage.failure ??= error;
          return undefined;
        }
      },
      settled: (question, settlement) => {
        this.#kept = stage.attempt(() => {
          this.#open = undefined;
          stage.asking = false;
          const facts = stage.ledger.settled(question.token, settlement, isHeard());
          const { outcome, words, state } = verdict(settlement);
          stage.note(question.token, NOTED[outcome]);
          const resolves = { reply_token: question.token, outcome };
          const next = state === "thinking" && stage.openTools.length > 0 ? "calling_tool" : state;
          return stage.enter(next, {
            words: stage.own(words),
            fields: { extensions: { [EXTENSION_PREFIX]: { resolves } } },
            insist: true,
            always: true,
            facts,
          });
        });
        this.settled?.();
      },
    };
  }
}

/** Where a session is whose process stopped, until its agent comes back. */
export const INTERRUPTED = "interrupted";
const REMINDER = "aaep:agent.progress.updated";
const WITHDRAWN: Settlement = { outcome: "withdrawn", origin: "withdrawn" };

/** The agent that asked is gone, or has not asked again yet: what was answered is kept for it, and nothing goes ahead. */
function unclaimed(type: QuestionEvent["type"], settlement: Settlement, state: string): Verdict {
  const { outcome } = settlement;
  if (wantsChange(settlement))
    return { outcome: "withdrawn", words: ({ interrupted }) => interrupted.changed, state };
  const asksForYes = type === "aaep:agent.awaiting.confirmation";
  const silence = outcome === "timed_out" || outcome === "disconnected";
  const words = (phrases: Phrases): Summary =>
    outcome === "accepted"
      ? phrases.interrupted.accepted
      : silence && !asksForYes
        ? phrases.unanswered[outcome]
        : phrases.settled[outcome];
  return { outcome, words, state };
}

/** Aborts when either does; `release` lets go of both. */
export function anySignal(...given: (AbortSignal | undefined)[]): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const signals = given.filter((signal) => signal !== undefined);
  for (const signal of signals) {
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  }
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of signals) signal.removeEventListener("abort", abort);
    },
  };
}
