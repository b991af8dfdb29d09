/**
 * How questions are put to a person and answers are taken (chapter 6; CNF-36 to 40, CON-13, CON-75, A07): one question
 * at a time, the most serious first, in Earshot's own words. No takes one step. Yes to a serious act takes two different
 * inputs, with the parameters read back in between, and "allowed" is announced only after the producer has taken the
 * answer. `OpenQuestions` is the subscriber's only store of questions that can still be answered.
 * Pure: events, inputs and the time go in; utterances and messages to send come out.
 */
import type { Deadline, QuestionOutcome } from "../../protocol/extension.ts";
import type { AgentEvent, AwaitingClarification, AwaitingConfirmation } from "../../protocol/types.ts";
import type { MessageKey } from "../catalogs/catalog.ts";
import type { EventText } from "./phrases.ts";
import {
  type AnswerInput,
  deadlineOf,
  essenceRun,
  fingerprint,
  isGrave,
  type QuestionEvent,
  questionParts,
  readBackParts,
  silenceMeansYes,
  toResponse,
  unansweredParts,
} from "./question-text.ts";
import type { Speech } from "./speech-queue.ts";
import type { Run, Utterance, UtteranceKind, UtteranceSubject } from "./utterance.ts";

/** A message to send. The sender adds subscription id and timestamp, and reports the result with `Announcer.sent`. */
export type Outgoing =
  | {
      readonly do: "confirm";
      readonly reply_token: string;
      readonly source: string;
      readonly decision: "accept" | "reject";
      readonly decided_by?: string;
    }
  | {
      readonly do: "answer";
      readonly reply_token: string;
      readonly source: string;
      readonly response: string | boolean | number;
    }
  | { readonly do: "more_time"; readonly reply_token: string; readonly source: string };

/** A rule that answers for the person: one agent, one exact action (CON-75). */
export interface AutoAnswer {
  readonly agent_id: string;
  readonly action: string;
  readonly decision: "accept" | "reject";
}

/** The rule that applies, if any. A rule never accepts a serious act, or one that only allows a rejection. */
function ruleFor(event: AwaitingConfirmation, rules: readonly AutoAnswer[]): AutoAnswer | undefined {
  const rule = rules.find(
    ({ agent_id, action }) => agent_id === event.producer.agent_id && action === event.action,
  );
  const mustAsk = isGrave(event) || event.allowed_replies?.includes("accept") === false;
  return rule?.decision === "accept" && mustAsk ? undefined : rule;
}

export type SettledOutcome = QuestionOutcome | "ended" | "closed";

export const TERMINAL = /^aaep:agent\.session\.(?:completed|errored|cancelled)$/;

const OUTCOMES: ReadonlySet<unknown> = new Set<QuestionOutcome>([
  "accepted",
  "rejected",
  "answered",
  "timed_out",
  "withdrawn",
  "disconnected",
]);

/** A deadline notice, which only updates an open question. Other events that carry one are announced as usual. */
export function deadlineNotice(event: AgentEvent): Deadline | undefined {
  if (!/^aaep:agent\.(?:state\.changed|progress\.updated)$/.test(event.type)) return undefined;
  const deadline = event.extensions?.["earshot"]?.["deadline"] as Partial<Deadline> | undefined;
  const complete = typeof deadline?.reply_token === "string" && typeof deadline.seconds_left === "number";
  return complete ? (deadline as Deadline) : undefined;
}

/**
 * The questions an event settles (CON-13): those it names, all of a session that ends, or the only open one when the
 * session leaves `awaiting_input`. `open`: the tokens of the session's open questions.
 */
function settledBy(
  event: AgentEvent,
  open: readonly string[],
): { readonly token: string; readonly outcome: SettledOutcome }[] {
  const resolves = event.extensions?.["earshot"]?.["resolves"] as
    | { reply_token?: unknown; outcome?: unknown }
    | undefined;
  if (typeof resolves?.reply_token === "string") {
    const outcome = OUTCOMES.has(resolves.outcome) ? (resolves.outcome as QuestionOutcome) : "closed";
    return [{ token: resolves.reply_token, outcome }];
  }
  if (TERMINAL.test(event.type)) return open.map((token) => ({ token, outcome: "ended" }));
  if (event.type !== "aaep:agent.state.changed" || open.length !== 1) return [];
  const { from_state, to_state } = event as { from_state?: unknown; to_state?: unknown };
  const continues = from_state === "awaiting_input" && to_state !== "awaiting_input";
  return continues ? [{ token: open[0]!, outcome: "closed" }] : [];
}

export interface OpenQuestion {
  event: QuestionEvent;
  readonly source: string;
  readonly token: string;
  fingerprint: string;
  deadline: number;
  extensionsLeft: number;
  /** Number of `WARN_AT` warnings already given. */
  warnings: number;
  step: "ask" | "read_back";
  /** The utterance that must be heard to its end before a yes counts. */
  utterance: number | undefined;
  heard: boolean;
  sent: "accept" | "reject" | "answer" | undefined;
  /** The message sent last: a result for an earlier one is ignored. */
  message: Outgoing | undefined;
  /** When to say that it is uncertain whether the answer was taken. */
  uncertainAt: number | undefined;
  /** The answer was given while the connection was down. */
  sentOffline: boolean;
  /** Some wording of it was heard to its end. */
  everHeard: boolean;
  deadlineMoves: number;
  /** The utterance announcing that the question has changed. */
  changedNotice: number | undefined;
  readonly arrived: number;
}

/** Per connection: more than anyone could answer, and each may be as large as a message. */
const MAX_OPEN_PER_SOURCE = 256;

/** Open questions by source and token. Order: serious ones first, then by deadline, then by arrival. */
class OpenQuestions implements Iterable<OpenQuestion> {
  readonly #all = new Map<string, OpenQuestion>();

  get size(): number {
    return this.#all.size;
  }
  [Symbol.iterator](): Iterator<OpenQuestion> {
    return this.#all.values();
  }
  get(source: string, token: string): OpenQuestion | undefined {
    return this.#all.get(keyOf(source, token));
  }
  of(source: string): OpenQuestion[] {
    return [...this].filter((one) => one.source === source);
  }

  /** Returns the evicted question, if any: never the current one, nor one whose answer is on its way. */
  add(question: OpenQuestion, current: OpenQuestion | undefined): OpenQuestion | undefined {
    this.#all.set(keyOf(question.source, question.token), question);
    if (this.#all.size <= MAX_OPEN_PER_SOURCE) return undefined;
    const sameSource = this.of(question.source);
    if (sameSource.length <= MAX_OPEN_PER_SOURCE) return undefined;
    const evicted = sameSource
      .filter((one) => one !== current && !one.sent)
      .reduce((least, one) => (importance(one) < importance(least) ? one : least));
    this.remove(evicted);
    return evicted;
  }

  remove({ source, token }: OpenQuestion): void {
    this.#all.delete(keyOf(source, token));
  }

  get ordered(): OpenQuestion[] {
    return [...this].sort(
      (a, b) =>
        Number(isGrave(b.event)) - Number(isGrave(a.event)) ||
        a.deadline - b.deadline ||
        a.arrived - b.arrived,
    );
  }
}

const keyOf = (source: string, token: string): string => `${source} ${token}`;

/** A question where silence means yes is as important as a serious one: the person must be able to refuse it. */
const importance = ({ event }: OpenQuestion): number => Number(isGrave(event) || silenceMeansYes(event));

const WAITING_NOTICE_INTERVAL_MS = 5_000;
const EVICTED_NOTICE_DELAY_MS = 1_000;
const EVICTED_NOTICE_INTERVAL_MS = 30_000;

interface EvictedNotice {
  readonly agent: string;
  readonly count: number;
}

/** Rate limit for notices about questions other than the current one, so that a flood of them cannot drown it. */
class OtherQuestionNotices {
  #waitingSaidAt = Number.NEGATIVE_INFINITY;
  /** Questions arrived since the last notice. */
  #waitingDue = false;
  readonly #evicted = new Map<string, EvictedNotice & { readonly at: number }>();
  readonly #evictedSaidAt = new Map<string, number>();

  /** One more question waits; true if that should be said now. */
  addWaiting(now: number): boolean {
    this.#waitingDue = now < this.#waitingSaidAt + WAITING_NOTICE_INTERVAL_MS;
    if (!this.#waitingDue) this.#waitingSaidAt = now;
    return !this.#waitingDue;
  }

  /** Whether to say now how many questions wait. */
  takeWaiting(now: number): boolean {
    if (!this.#waitingDue || now < this.#waitingSaidAt + WAITING_NOTICE_INTERVAL_MS) return false;
    this.#waitingDue = false;
    this.#waitingSaidAt = now;
    return true;
  }

  addEvicted(source: string, agent: string, now: number): void {
    const before = this.#evictedSaidAt.get(source) ?? Number.NEGATIVE_INFINITY;
    const at = Math.max(now + EVICTED_NOTICE_DELAY_MS, before + EVICTED_NOTICE_INTERVAL_MS);
    const known = this.#evicted.get(source) ?? { at, count: 0 };
    this.#evicted.set(source, { at: known.at, agent, count: known.count + 1 });
  }

  takeEvicted(now: number): EvictedNotice[] {
    const due = [...this.#evicted].filter(([, { at }]) => at <= now);
    for (const [source] of due) {
      this.#evicted.delete(source);
      this.#evictedSaidAt.set(source, now);
    }
    return due.map(([, notice]) => notice);
  }

  get wakeAt(): number | undefined {
    const times = [...this.#evicted.values()].map(({ at }) => at);
    if (this.#waitingDue) times.push(this.#waitingSaidAt + WAITING_NOTICE_INTERVAL_MS);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

/** Warn with this much time left: enough to react (WCAG 2.2.1), without becoming a countdown. */
const WARN_AT = [60_000, 20_000];
/** Questions described one by one to a person who leaves without answering. */
const MAX_DESCRIBED = 5;
/** Smaller changes of a deadline are not announced; after this many announcements, only the warnings are. */
const DEADLINE_MOVED_MS = 5_000;
const MAX_DEADLINE_MOVES = 20;
/** An answer sent just before the deadline may have arrived: wait for the producer's word. */
const ANSWER_GRACE_MS = 10_000;
/** Most producers acknowledge within moments; only then is it worth saying that it is uncertain. */
const UNCERTAIN_AFTER_MS = 2_000;

const warningsPassed = (ms: number): number => WARN_AT.filter((left) => ms < left * 2).length;

export interface QuestionFlowOptions {
  readonly speech: Speech;
  text(event: QuestionEvent): EventText;
  agentName(event: QuestionEvent, source: string): string;
  /** Called once per question, for the summary of what was and was not done. */
  settled(event: QuestionEvent, source: string, outcome: SettledOutcome, brief: Run | undefined): void;
  /** Leave out what silence means, unless it means yes. */
  brief(): boolean;
  isConnectionLost(source: string): boolean;
  readonly autoAnswers: readonly AutoAnswer[];
}

export class QuestionFlow {
  readonly #options: QuestionFlowOptions;
  readonly #speech: Speech;
  readonly #open = new OpenQuestions();
  readonly #others = new OtherQuestionNotices();
  readonly #outgoing: Outgoing[] = [];
  #current: OpenQuestion | undefined;
  #arrivals = 0;

  constructor(options: QuestionFlowOptions) {
    this.#options = options;
    this.#speech = options.speech;
  }

  /** The question the person is being asked. */
  get current(): QuestionEvent | undefined {
    return this.#current?.event;
  }
  get size(): number {
    return this.#open.size;
  }
  /** Tokens of open questions of one source, or of one of its sessions. */
  openTokens(source: string, session_id?: string): string[] {
    return this.#open
      .of(source)
      .filter(({ event }) => (session_id ?? event.session_id) === event.session_id)
      .map(({ token }) => token);
  }
  /** Messages to send; each is returned once. */
  takeOutgoing(): Outgoing[] {
    return this.#outgoing.splice(0);
  }

  /** What happens to the open questions if the person leaves now. */
  unanswered(now: number): Run[][] {
    const first = (one: OpenQuestion) => Number(one === this.#current);
    const open = this.#open.ordered
      .filter((one) => !this.#isOnItsWay(one))
      .sort((a, b) => first(b) - first(a));
    const count = open.length - MAX_DESCRIBED;
    const { phrases } = this.#speech;
    return [
      ...(this.#current && this.#isOnItsWay(this.#current) ? [phrases.say("not_sure_taken")] : []),
      ...open
        .slice(0, MAX_DESCRIBED)
        .flatMap((one) => unansweredParts(one.event, this.#text(one), one.deadline - now)),
      ...(count > 0 ? [phrases.say("questions_waiting", { count })] : []),
    ];
  }

  ask(event: QuestionEvent, source: string, now: number): void {
    const known = this.#open.get(source, event.reply_token);
    if (known) return this.#askAgain(known, event, now);
    const seconds = deadlineOf(event)?.seconds_left ?? event.timeout_seconds;
    const question: OpenQuestion = {
      event,
      source,
      token: event.reply_token,
      fingerprint: fingerprint(event),
      deadline: now + seconds * 1000,
      extensionsLeft: deadlineOf(event)?.extensions_left ?? 0,
      warnings: warningsPassed(seconds * 1000),
      step: "ask",
      utterance: undefined,
      heard: false,
      sent: undefined,
      message: undefined,
      uncertainAt: undefined,
      sentOffline: false,
      everHeard: false,
      deadlineMoves: 0,
      changedNotice: undefined,
      arrived: this.#arrivals++,
    };
    if (this.#answerByRule(question, now)) return;
    const evicted = this.#open.add(question, this.#current);
    if (evicted) this.#others.addEvicted(source, this.#options.agentName(evicted.event, source), now);
    if (!this.#current) this.#put(question, now);
    else if (evicted !== question && this.#others.addWaiting(now)) {
      const agent = this.#options.agentName(event, source);
      this.#say(question, "question", [this.#speech.phrases.say("another_question", { agent })], now);
    }
  }

  /** The same question again, e.g. after a reconnect. If anything about it changed, consent starts again. */
  #askAgain(question: OpenQuestion, event: QuestionEvent, now: number): void {
    const deadline = deadlineOf(event);
    if (deadline) question.deadline = now + deadline.seconds_left * 1000;
    const changed = fingerprint(event);
    if (question.fingerprint === changed) return;
    this.#skipUnheard(question);
    // An answer on its way was for the old wording; the new one has none yet.
    const { sent } = question;
    Object.assign(question, { event, fingerprint: changed, step: "ask", heard: false, utterance: undefined });
    Object.assign(question, { sent: undefined, message: undefined, uncertainAt: undefined });
    // A question that was not put yet needs no notice of the change.
    if (question !== this.#current) return;
    const { phrases } = this.#speech;
    const parts = [...(sent ? [phrases.say("not_sure_taken")] : []), phrases.say("changed")];
    const notice = this.#say(question, "question", parts, now);
    // A notice about a sent answer is spoken whatever follows.
    question.changedNotice = sent ? undefined : notice;
    this.#put(question, now);
  }

  /** The person answered. */
  answer(input: AnswerInput, now: number): void {
    const question = this.#current;
    if (!question) return this.#reply("no_question", now);
    if (question.sent) return this.#reply(this.#isOnItsWay(question) ? "not_sure_taken" : "line_lost", now);
    if (input.kind === "more") return this.#moreTime(question, now);
    if (question.event.type === "aaep:agent.awaiting.clarification")
      return this.#clarify(question, question.event, input, now);
    if (input.kind === "no") return this.#decide(question, "reject", now);
    if (!question.heard) return this.#note(question, "not_heard_yet", now);
    const allowed = (question.event as AwaitingConfirmation).allowed_replies ?? ["accept", "reject"];
    if (!allowed.includes("accept")) return this.#note(question, "answer_refuse_only", now);
    if (input.kind === "yes") {
      if (!isGrave(question.event as AwaitingConfirmation) && !input.unsure)
        return this.#decide(question, "accept", now);
      // A second yes is not the second step: a repeated key must not count as a decision.
      return this.#readBack(question, now);
    }
    if (input.kind === "confirm" && question.step === "read_back")
      return this.#decide(question, "accept", now);
    this.#note(question, "not_an_answer", now);
  }

  /** The result of sending an answer: taken, refused, or undefined if it cannot be known. */
  sent(message: Outgoing, taken: boolean | undefined, now: number): void {
    const question = this.#open.get(message.source, message.reply_token);
    if (!question || question.message !== message) return;
    // Uncertain: the person is told later, unless the agent settles the question first.
    if (taken === undefined) return;
    if (!taken) {
      this.#note(question, "not_taken", now);
      return this.#remove(question, "closed", now);
    }
    this.#acknowledge(question, now);
  }

  /** Settles the questions this event settles. */
  settleBy(event: AgentEvent, source: string, now: number): void {
    for (const { token, outcome } of settledBy(event, this.openTokens(source, event.session_id)))
      this.settle(source, token, outcome, now);
  }

  /** The producer reported a question's outcome (CON-13). */
  settle(source: string, token: string, outcome: SettledOutcome, now: number): void {
    const question = this.#open.get(source, token);
    if (!question) return;
    if (question.sent && OUTCOME_OF[question.sent] === outcome) return this.#acknowledge(question, now);
    const key: MessageKey = outcome === "closed" ? "settled" : `settled_${outcome}`;
    const text = this.#text(question);
    const parts = [text.phrases.say(key, { action: essenceRun(question.event, text) })];
    // The question is over, so wording of it that is still queued is not spoken.
    const unheard = this.#skipUnheard(question);
    // The outcome of a question the person never heard is not urgent, unless their silence meant yes.
    const urgent =
      question.everHeard || (question.utterance !== undefined && !unheard) || silenceMeansYes(question.event);
    this.#say(question, "settled", parts, now, urgent ? {} : { urgency: "normal" });
    this.#remove(question, outcome, now);
  }

  /** A deadline moved, or a reminder of it arrived. */
  deadline(source: string, notice: Deadline, now: number): void {
    const question = this.#open.get(source, notice.reply_token);
    if (!question) return;
    const at = now + notice.seconds_left * 1000;
    question.extensionsLeft = notice.extensions_left;
    const longer = at > question.deadline + DEADLINE_MOVED_MS;
    const shorter = at < question.deadline - DEADLINE_MOVED_MS;
    question.deadline = at;
    if (longer) question.warnings = warningsPassed(notice.seconds_left * 1000);
    if (!(longer || shorter) || question.deadlineMoves++ >= MAX_DEADLINE_MOVES) return;
    // A subscriber that joined late was given the original time.
    if (shorter) return this.#timeLeft(question, now);
    const { phrases } = this.#speech;
    const words = phrases.say("more_time", { duration: phrases.duration(at - now) });
    this.#say(question, "question", [words], now);
  }

  /** An utterance was spoken to its end. */
  finished(utterance: number): void {
    for (const question of this.#open)
      if (question.utterance === utterance) question.heard = question.everHeard = true;
  }

  repeat(now: number): boolean {
    if (!this.#current) return false;
    if (this.#current.step === "read_back") this.#readBack(this.#current, now);
    else this.#put(this.#current, now);
    return true;
  }

  tick(now: number): void {
    this.#noticeOthers(now);
    for (const question of [...this.#open]) {
      if (now >= question.deadline + (question.sent ? ANSWER_GRACE_MS : 0)) {
        this.settle(question.source, question.token, "timed_out", now);
        continue;
      }
      if (question.uncertainAt !== undefined && question.uncertainAt <= now) {
        const onItsWay = this.#isOnItsWay(question);
        question.uncertainAt = onItsWay ? undefined : now + UNCERTAIN_AFTER_MS;
        if (onItsWay) this.#note(question, "not_sure_taken", now);
      }
      const left = question.deadline - now;
      const due = WARN_AT[question.warnings];
      if (due === undefined || left > due || question.sent) continue;
      while ((WARN_AT[question.warnings] ?? -1) >= left) question.warnings++;
      if (this.#isCurrentOrNext(question)) this.#timeLeft(question, now);
    }
  }

  get wakeAt(): number | undefined {
    const times = [...this.#open].map(({ deadline, warnings, sent, uncertainAt }) =>
      sent ? (uncertainAt ?? deadline + ANSWER_GRACE_MS) : deadline - (WARN_AT[warnings] ?? 0),
    );
    const others = this.#others.wakeAt;
    if (others !== undefined) times.push(others);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #noticeOthers(now: number): void {
    const { phrases } = this.#speech;
    for (const { agent, count } of this.#others.takeEvicted(now))
      this.#speech.say("notice", "critical", [phrases.say("too_many_questions", { agent, count })], now);
    const count = this.#open.size - 1;
    if (!this.#others.takeWaiting(now) || !this.#current || count === 0) return;
    this.#say(this.#current, "question", [phrases.say("questions_waiting", { count })], now);
  }

  /** Time warnings for further questions would be too many to act on. */
  #isCurrentOrNext(question: OpenQuestion): boolean {
    const [next] = this.#open.ordered.filter((one) => one !== this.#current);
    return question === this.#current || question === next;
  }

  #timeLeft(question: OpenQuestion, now: number): void {
    const left = question.deadline - now;
    while ((WARN_AT[question.warnings] ?? -1) >= left) question.warnings++;
    const text = this.#text(question);
    const duration = text.phrases.duration(left);
    const action = essenceRun(question.event, text);
    this.#say(question, "question", [text.phrases.say("time_left", { duration, action })], now);
  }

  #text(question: OpenQuestion): EventText {
    return this.#options.text(question.event);
  }

  #say(
    { event, source, token }: OpenQuestion,
    kind: UtteranceKind,
    parts: readonly (readonly Run[])[],
    now: number,
    { urgency = "critical", ...more }: Pick<Utterance, "asked"> & Partial<Pick<Utterance, "urgency">> = {},
  ): number {
    const essence = essenceRun(event, this.#options.text(event)).text;
    const subject: UtteranceSubject = {
      reply_token: token,
      essence,
      session_id: `${source} ${event.session_id}`,
      ...more,
    };
    return this.#speech.say(kind, urgency, parts, now, subject);
  }

  /** Removes queued wording of a question, and the notice that it changed; true if some wording was still queued. */
  #skipUnheard({ source, token, changedNotice }: OpenQuestion): boolean {
    this.#speech.skipUnheard(({ id }) => id === changedNotice);
    return this.#speech.skipUnheard(
      ({ asked, reply_token, session_id }) =>
        asked !== undefined && reply_token === token && session_id?.startsWith(`${source} `) === true,
    );
  }

  #note(question: OpenQuestion, key: MessageKey, now: number): void {
    this.#say(question, "answer", [this.#speech.phrases.say(key)], now);
  }

  #reply(key: MessageKey, now: number): void {
    const agent = this.#current ? this.#options.agentName(this.#current.event, this.#current.source) : "";
    this.#speech.say("answer", "critical", [this.#speech.phrases.say(key, { agent })], now);
  }

  #put(question: OpenQuestion, now: number): void {
    this.#current = question;
    question.heard = false;
    question.step = "ask";
    const { parts, answers } = questionParts(
      question.event,
      this.#text(question),
      this.#options.agentName(question.event, question.source),
      question.deadline - now,
      this.#options.brief(),
    );
    const asked = { step: "ask", parts } as const;
    question.utterance = this.#say(question, "question", [...parts, ...answers], now, { asked });
  }

  #readBack(question: OpenQuestion, now: number): void {
    question.step = "read_back";
    question.heard = false;
    const agent = this.#options.agentName(question.event, question.source);
    const event = question.event as AwaitingConfirmation;
    const { parts, answers } = readBackParts(event, this.#text(question), agent);
    const asked = { step: "read_back", parts } as const;
    question.utterance = this.#say(question, "question", [...parts, ...answers], now, { asked });
  }

  #decide(question: OpenQuestion, decision: "accept" | "reject", now: number): void {
    const { token, source } = question;
    this.#send(question, decision, { do: "confirm", reply_token: token, source, decision }, now);
  }

  #send(question: OpenQuestion, sent: OpenQuestion["sent"], message: Outgoing, now: number): void {
    const sentOffline = this.#options.isConnectionLost(question.source);
    Object.assign(question, { sent, message, sentOffline, uncertainAt: now + UNCERTAIN_AFTER_MS });
    this.#outgoing.push(message);
  }

  /** False for an answer given while disconnected: it is sent after the reconnect. */
  #isOnItsWay({ sent, sentOffline, source }: OpenQuestion): boolean {
    return sent !== undefined && !(sentOffline && this.#options.isConnectionLost(source));
  }

  #clarify(question: OpenQuestion, event: AwaitingClarification, input: AnswerInput, now: number): void {
    if (!question.heard) return this.#note(question, "not_heard_yet", now);
    const response = toResponse(event, input);
    if (response === undefined) return this.#note(question, "not_an_answer", now);
    const { token, source } = question;
    this.#send(question, "answer", { do: "answer", reply_token: token, source, response }, now);
  }

  #moreTime(question: OpenQuestion, now: number): void {
    if (question.extensionsLeft <= 0) return this.#note(question, "no_more_time", now);
    this.#outgoing.push({ do: "more_time", reply_token: question.token, source: question.source });
  }

  /** The producer took the answer. */
  #acknowledge(question: OpenQuestion, now: number): void {
    const outcome = OUTCOME_OF[question.sent!];
    this.#note(question, outcome, now);
    this.#remove(question, outcome, now);
  }

  #remove(question: OpenQuestion, outcome: SettledOutcome, now: number): void {
    this.#open.remove(question);
    const { event, source } = question;
    this.#options.settled(event, source, outcome, essenceRun(event, this.#text(question)));
    if (this.#current !== question) return;
    this.#current = undefined;
    const [next] = this.#open.ordered;
    if (next) this.#put(next, now);
  }

  #answerByRule(question: OpenQuestion, now: number): boolean {
    const { event, source, token } = question;
    if (event.type !== "aaep:agent.awaiting.confirmation") return false;
    const rule = ruleFor(event, this.#options.autoAnswers);
    if (!rule) return false;
    const { decision } = rule;
    const decided_by = "auto:listener-rule";
    this.#outgoing.push({ do: "confirm", reply_token: token, source, decision, decided_by });
    const text = this.#text(question);
    const key = decision === "accept" ? "auto_accepted" : "auto_rejected";
    this.#say(question, "settled", [text.phrases.say(key, { action: essenceRun(event, text) })], now);
    return true;
  }
}

const OUTCOME_OF = { accept: "accepted", reject: "rejected", answer: "answered" } as const;
