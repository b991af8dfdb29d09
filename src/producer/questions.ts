/**
 * Asking a person and waiting for the answer: confirmations and clarifications of one session, one at a time (CON-27).
 * The question is in the hub's registry before its event is sent, so that even the fastest reply finds it.
 */

import type { AppendOptions, SessionHandle } from "../hub/hub.ts";
import { type Question, type QuestionHooks, responseKind, type Settlement } from "../hub/questions.ts";
import type { Act } from "../hub/record.ts";
import type { QuestionFact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, type QuestionOutcome } from "../protocol/extension.ts";
import type { Resolution } from "../protocol/lifecycle.ts";
import type {
  AgentEvent,
  AwaitingClarification,
  AwaitingConfirmation,
  ConfirmationReply,
} from "../protocol/types.ts";
import { inLanguage, type Sentence, type Summary } from "./envelope.ts";
import type { EventWriter } from "./event-writer.ts";
import { fingerprintOf } from "./params.ts";
import type { AskRefusal, Phrases } from "./phrases.ts";
import type { QuestionIdentity } from "./session-facts.ts";
import type { ClarifyOutcome, ClarifySpec } from "./specs.ts";

/** How long a question stays open, how often a person may ask for more time, and the most seconds in all. */
export interface QuestionTimes {
  readonly timeout_seconds: number;
  readonly extensions: number;
  readonly ceiling_seconds: number;
}

/** What everyone who received the question is told at its end, and the session's next state. */
export interface Announcement {
  readonly outcome: QuestionOutcome;
  readonly words: (phrases: Phrases) => Summary;
  readonly state: string;
}

interface AskSpec extends QuestionIdentity {
  readonly type: "aaep:agent.awaiting.confirmation" | "aaep:agent.awaiting.clarification";
  readonly words: Readonly<Record<string, Summary | Sentence | undefined>>;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Fields that differ by language, by tag. */
  readonly localized?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly timeout_seconds: number;
  readonly waitForListenerSeconds: number | undefined;
  /** Aborting withdraws the question. */
  readonly signal: AbortSignal | undefined;
  readonly announce: (settlement: Settlement) => Announcement;
  /** Announced if there is nobody to ask. */
  readonly nobody: (phrases: Phrases) => Summary;
  /** The next question waits for this: an approved tool is announced before anything else is asked. */
  readonly released?: Promise<void>;
  /** What is asked about, for the operator. */
  readonly subject: string;
  /** What an approval would run, for the record. */
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

/** Most questions that may wait for their turn in one session (F22). */
const MOST_WAITING = 32;

export class SessionQuestions {
  readonly #writer: EventWriter;
  readonly #handle: SessionHandle;
  readonly #times: QuestionTimes;
  readonly #warn: (sentence: string) => void;
  #open: Question | undefined;
  /** After a restart, until the agent resumes the session. */
  interrupted = false;
  /** Called whenever a question has been settled. */
  onSettled: (() => void) | undefined;
  /** Settles when the last answer is in the log. */
  #stored: Promise<unknown> = Promise.resolve();
  /** The spec with which the agent asked the restored question again. */
  #claim: AskSpec | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    writer: EventWriter,
    handle: SessionHandle,
    times: QuestionTimes,
    warn: (sentence: string) => void,
  ) {
    this.#writer = writer;
    this.#handle = handle;
    this.#times = times;
    this.#warn = warn;
  }

  /** Reopens the question that was open when the process stopped. The agent's other questions wait for it. */
  restore(fact: QuestionFact): void {
    const { hub, clock } = this.#writer.options;
    const { event, extensions, ceiling_seconds, extensions_used, total_seconds } = fact;
    this.#writer.asking = true;
    const question = hub.questions.restore(
      { event, extensions, ceiling_seconds, audience: this.#handle.audience },
      this.#handle,
      this.#hooks(
        (settlement) =>
          this.#claim?.announce(settlement) ??
          unclaimed(event.type, settlement, this.interrupted ? INTERRUPTED : "thinking"),
        () => this.#claim !== undefined,
      ),
      {
        deadline: clock.now() + this.#writer.sessionFacts.msLeft(fact),
        extensionsUsed: extensions_used,
        totalSeconds: total_seconds,
      },
    );
    this.#open = question;
    this.#turn = question.result.then(() => this.#claim?.released);
  }

  ask(spec: AskSpec): Promise<Asked> {
    return this.#writer.sessionFacts.exclusive(spec.key, () => this.#queue(spec));
  }

  async #queue(spec: AskSpec): Promise<Asked> {
    const open = this.#open;
    const known = this.#writer.sessionFacts.question(spec.key);
    // Asked before the restart and still open: the same question, unless it is about something else.
    if (open && known?.event.reply_token === open.token) {
      if (known.fingerprint === spec.fingerprint) return this.#join(open, spec);
      open.withdraw();
    }
    if (this.#waiting >= MOST_WAITING) {
      throw new EarshotError(
        "too_many_questions",
        `${MOST_WAITING} questions already wait for their turn in this session. Await their answers first.`,
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

  /** The session ends: withdraws the open question (CNF-34, CNF-35). Those that wait are never asked. */
  end(): void {
    this.#open?.withdraw();
  }

  async #join(question: Question, spec: AskSpec): Promise<Asked> {
    this.#claim = spec;
    const stopped = anySignal(this.#writer.signal, spec.signal);
    stopped.signal.addEventListener("abort", () => void question.withdraw());
    if (stopped.signal.aborted) question.withdraw();
    try {
      return await this.#answerTo(question);
    } finally {
      stopped.release();
    }
  }

  /** A person's answer counts once it is stored: what is done because of it must not outlive it. */
  async #answerTo(question: Question): Promise<Settlement> {
    const settlement = await question.result;
    if (settlement.origin === "human") await this.#stored;
    return settlement;
  }

  async #ask(spec: AskSpec): Promise<Asked> {
    const writer = this.#writer;
    const { hub, ids, clock } = writer.options;
    const stopped = anySignal(writer.signal, spec.signal);
    const isOver = () => writer.ended || stopped.signal.aborted;
    try {
      // The agent asks again in the next process.
      if (hub.shuttingDown) return await new Promise<never>(() => {});
      if (isOver()) return WITHDRAWN;
      const known = writer.sessionFacts.recall(spec);
      if (known) {
        await hub.log.keep(known.facts);
        return known.settlement;
      }
      const canAsk = () => hub.questions.canAsk(spec.type, this.#handle);
      const wait = spec.waitForListenerSeconds ?? 0;
      const until = clock.now() + wait * 1000;
      if (wait > 0 && !canAsk()) {
        this.#warn(`${spec.subject} waits for somebody who can answer. Start a listener: npx earshot listen`);
      }
      let found = wait > 0 || canAsk();
      // Checked again right before asking: other sessions may be asking the same people.
      while (found && !isOver() && !canAsk()) {
        const left = (until - clock.now()) / 1000;
        found = await hub.questions.waitForListener(spec.type, this.#handle, left, stopped.signal);
      }
      if (isOver()) return WITHDRAWN;
      if (!found) {
        this.#warn(
          `${spec.subject} was not asked: nobody who can answer is connected. Start a listener: npx earshot listen`,
        );
        hub.audit({
          kind: "not_asked",
          session_id: writer.session_id,
          origin: "policy",
          question: { type: spec.type, ...writer.textFields(spec.words).fields, ...spec.fields },
          at: clock.timestamp(),
        });
        await writer.enterState(writer.state, {
          words: writer.phrase(spec.nobody),
          required: true,
          always: true,
        });
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
      // Validated before the state changes to awaiting_input.
      writer.build(spec.type, spec.words, fields);
      writer.beforeEvent();
      void writer.enterState("awaiting_input", { fields: { urgency: "normal" } });
      writer.asking = true;
      const event = writer.build(spec.type, spec.words, fields) as unknown as QuestionEvent;
      const { act } = spec;
      const { audience } = this.#handle;
      const asked = { event, extensions, ceiling_seconds, act, audience };
      const question = hub.questions.ask(asked, this.#handle, this.#hooks(spec.announce));
      this.#open = question;
      stopped.signal.addEventListener("abort", () => void question.withdraw());
      try {
        const { localized = {} } = spec;
        const facts = writer.sessionFacts.asked(question, spec);
        const logged = writer.log(event as unknown as Record<string, unknown>, { localized, facts });
        // The deadline holds even if the store never answers.
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

  #hooks(announce: AskSpec["announce"], isReceived = () => true): QuestionHooks {
    const writer = this.#writer;
    const reminder = (
      question: Question,
      msLeft: number,
      say: (phrases: Phrases, left: string) => string,
    ) => ({
      words: {
        summary: writer.phrase((phrases) => say(phrases, phrases.duration(Math.round(msLeft / 1000)))),
      },
      fields: {
        progress: { description: writer.phraseText((phrases) => phrases.waiting) },
        urgency: "normal",
        eta_ms: Math.ceil(msLeft),
        extensions: { [EXTENSION_PREFIX]: { deadline: question.deadlineNotice } },
      },
      localized: Object.fromEntries(
        Object.entries(writer.options.phrases).map(([tag, { waiting }]) => [
          tag.toLowerCase(),
          { progress: { description: waiting } },
        ]),
      ),
    });
    // Called by timers and replies, which must not fail if an author's phrases throw.
    const remind = (options: AppendOptions, ...given: Parameters<typeof reminder>) =>
      void writer.attempt(() => {
        const { words, fields, localized } = reminder(...given);
        return writer.emit(REMINDER, words, fields, { ...options, localized });
      });
    return {
      warn: (question, msLeft, last) =>
        remind({ required: last }, question, msLeft, (phrases, left) => phrases.timeLeft(left)),
      extended: (question) => {
        const options = { required: true, facts: writer.sessionFacts.extended(question) };
        remind(options, question, question.msLeft, (phrases, left) => phrases.moreTime(left));
      },
      remaining: (question) => {
        try {
          const left = reminder(question, question.msLeft, (phrases, time) => phrases.timeLeft(time));
          const event = writer.build(REMINDER, left.words, left.fields);
          const event_id = writer.options.ids("evt");
          return { event: { ...event, event_id } as unknown as AgentEvent, localized: left.localized };
        } catch (error) {
          writer.failure ??= error;
          return undefined;
        }
      },
      settled: (question, settlement) => {
        this.#stored = writer.attempt(() => {
          this.#open = undefined;
          writer.asking = false;
          const facts = writer.sessionFacts.settled(question.token, settlement, isReceived());
          const { outcome, words, state } = announce(settlement);
          writer.noteResolution(question.token, RESOLUTIONS[outcome]);
          const resolves = { reply_token: question.token, outcome };
          const next = state === "thinking" && writer.openTools.length > 0 ? "calling_tool" : state;
          return writer.enterState(next, {
            words: writer.phrase(words),
            fields: { extensions: { [EXTENSION_PREFIX]: { resolves } } },
            required: true,
            always: true,
            facts,
          });
        });
        this.onSettled?.();
      },
    };
  }
}

/** What each outcome of a question means to the lifecycle. */
export const RESOLUTIONS: Readonly<Record<QuestionOutcome, Resolution["outcome"]>> = {
  accepted: "accept",
  rejected: "reject",
  timed_out: "reject",
  disconnected: "reject",
  withdrawn: "withdrawn",
  answered: "answered",
};

/** The state of a session after a restart, until its agent resumes it. */
export const INTERRUPTED = "interrupted";
const REMINDER = "aaep:agent.progress.updated";
const WITHDRAWN: Settlement = { outcome: "withdrawn", origin: "withdrawn" };

/** The agent has not asked again yet: the answer is kept for it, and nothing runs. */
function unclaimed(type: QuestionEvent["type"], settlement: Settlement, state: string): Announcement {
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

/** "Yes, but …": an approval with a change, so not an approval of what was asked. */
export const wantsChange = (asked: Settlement | Asked): asked is Settlement & { reply: ConfirmationReply } =>
  asked.outcome === "accepted" &&
  (asked.reply as ConfirmationReply | undefined)?.modified_action !== undefined;

type Silence = "timed_out" | "disconnected" | "nobody_to_ask";

/** Asks for something the agent needs to know (6.5). Without an answer it goes on with the declared default. */
export async function clarify(
  spec: ClarifySpec,
  writer: EventWriter,
  questions: SessionQuestions,
  timeout_seconds: number,
): Promise<ClarifyOutcome> {
  const kinds = spec.kinds ?? (spec.choices ? ["multiple_choice"] : ["freetext"]);
  if (kinds.includes("multiple_choice") !== (spec.choices !== undefined)) {
    throw new EarshotError(
      "CON-29",
      "Choices and the kind multiple_choice belong together: give both, or neither.",
    );
  }
  const accepts = { accepted_response_kinds: [...kinds], ...choicesIn(spec, writer.language) };
  if (spec.default !== undefined && !responseKind(accepts, spec.default)) {
    throw new EarshotError("CON-30", "`default` must be an answer that `kinds` and `choices` allow.");
  }
  const silence = (phrases: Phrases, outcome: Silence) =>
    `${phrases.unanswered[outcome]} ${spec.default === undefined ? phrases.unanswered.goes_on : phrases.unanswered.assumes}`;
  const words = { question: spec.question, context: spec.context, summary: spec.summary ?? spec.question };
  const { language } = writer.textFields(words);
  const tags = new Set(
    spec.choices?.flatMap(({ label }) => (typeof label === "string" ? [] : Object.keys(label))),
  );
  const fingerprint = fingerprintOf("clarify", spec.question, accepts);
  const asked = await questions.ask({
    key: writer.sessionFacts.keyOf(spec.key, fingerprint),
    fingerprint,
    type: "aaep:agent.awaiting.clarification",
    words,
    fields: {
      ...accepts,
      ...choicesIn(spec, language),
      default_response: spec.default === undefined ? undefined : String(spec.default),
    },
    localized: Object.fromEntries([...tags].map((tag) => [tag, choicesIn(spec, tag)])),
    timeout_seconds: spec.timeout_seconds ?? timeout_seconds,
    waitForListenerSeconds: spec.waitForListenerSeconds,
    signal: spec.signal,
    subject: "A question",
    nobody: (phrases) => silence(phrases, "nobody_to_ask"),
    announce: ({ outcome }) => ({
      outcome,
      words: (phrases) =>
        outcome === "timed_out" || outcome === "disconnected"
          ? silence(phrases, outcome)
          : phrases.settled[outcome],
      state: "thinking",
    }),
  });
  if (asked.outcome === "answered" && asked.reply?.type === "clarification.reply") {
    const { response } = asked.reply;
    return { answered: true, response, kind: responseKind(accepts, response)! };
  }
  const outcome = asked.outcome as AskRefusal;
  const summary = writer.phraseText((phrases) =>
    outcome === "withdrawn" || outcome === "rejected"
      ? String(phrases.settled.withdrawn)
      : silence(phrases, outcome),
  );
  return { answered: false, outcome, assumed: spec.default, summary };
}

const choicesIn = ({ choices }: ClarifySpec, language: string) =>
  choices
    ? { choices: choices.map(({ value, label }) => ({ value, label: inLanguage(label, language) })) }
    : {};

/** Aborts when any of the signals does; `release` removes the listeners. */
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
