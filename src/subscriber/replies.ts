/**
 * How questions are put to a person and their answers taken (chapter 6; CNF-36 to 40, CON-13, CON-75, A07): one at a
 * time, the gravest first, inside a frame of our own. No is one action away; yes to a grave act takes two different
 * inputs with the parameters read back in between, and "allowed" is said only once the producer took it.
 * Pure: events, inputs and the time in; words and messages to send out.
 */
import type { Deadline, QuestionOutcome } from "../protocol/extension.ts";
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";
import { Crowd } from "./announcer/crowd.ts";
import type { Reader } from "./announcer/reader.ts";
import type { Run, UtteranceKind } from "./announcer/utterance.ts";
import { type AnswerInput, type Outgoing, ruleFor } from "./answers.ts";
import type { MessageKey } from "./catalogs/catalog.ts";
import type { DeskOptions, Line } from "./desk-port.ts";
import { OpenQuestions, type Question } from "./open-questions.ts";
import {
  deadlineOf,
  essenceRun,
  fingerprint,
  isGrave,
  leavingParts,
  type QuestionEvent,
  questionParts,
  readBackParts,
  silentYes,
  toResponse,
} from "./question-words.ts";

/** Warnings with so much time left: enough to react (WCAG 2.2.1), too few to be a countdown. */
const WARN_AT = [60_000, 20_000];

/** Whoever leaves does not wait for sixty questions to be read out. */
const MOST_NAMED = 5;
/** By less than this a deadline has not moved for a person; one that moves more often than that is only warned of. */
const MOVED_MS = 5_000;
const MOST_MOVES = 20;
const ANSWER_GRACE_MS = 10_000;
/** Most agents say within moments that they took an answer, by the line or by what they do; then that is all there is to say. */
const UNSURE_AFTER_MS = 2_000;

export class Desk {
  readonly #options: DeskOptions;
  readonly #open = new OpenQuestions();
  readonly #crowd = new Crowd();
  #current: Question | undefined;
  #arrivals = 0;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  get current(): QuestionEvent | undefined {
    return this.#current?.event;
  }
  get size(): number {
    return this.#open.size;
  }
  /** The tokens of open questions, of one session or of all. */
  openIn(source: string, session_id?: string): string[] {
    return this.#open
      .of(source)
      .filter(({ event }) => (session_id ?? event.session_id) === event.session_id)
      .map(({ token }) => token);
  }
  leaving(now: number): Run[][] {
    const first = (one: Question) => Number(one === this.#current);
    const open = this.#open.inTurn.filter((one) => !this.#onItsWay(one)).sort((a, b) => first(b) - first(a));
    const count = open.length - MOST_NAMED;
    const { phrases } = this.#options;
    return [
      ...(this.#current && this.#onItsWay(this.#current) ? [phrases().say("not_sure_taken")] : []),
      ...open
        .slice(0, MOST_NAMED)
        .flatMap((one) => leavingParts(one.event, this.#reader(one), one.deadline - now)),
      ...(count > 0 ? [phrases().say("questions_waiting", { count })] : []),
    ];
  }

  ask(event: QuestionEvent, source: string, now: number): void {
    const token = event.reply_token;
    const known = this.#open.get(source, token);
    const print = fingerprint(event);
    if (known) {
      const moved = deadlineOf(event);
      if (moved) known.deadline = now + moved.seconds_left * 1000;
      if (known.print === print) return;
      this.#options.unsay(source, token, known.changed);
      // An answer on its way was to other words: whatever comes of it, this one has none yet.
      const { sent } = known;
      Object.assign(known, { event, print, step: "ask", heard: false, awaiting: undefined });
      Object.assign(known, { sent: undefined, message: undefined, unsureAt: undefined });
      // One that was not put yet has changed for nobody.
      if (known !== this.#current) return;
      const { phrases } = this.#reader(known);
      const parts = [...(sent ? [phrases.say("not_sure_taken")] : []), phrases.say("changed")];
      const told = this.#say(known, "question", parts, now);
      // What became of an answer is said whatever comes next.
      known.changed = sent ? undefined : told;
      this.#put(known, now);
      return;
    }
    const seconds = deadlineOf(event)?.seconds_left ?? event.timeout_seconds;
    const question: Question = {
      event,
      source,
      token,
      print,
      deadline: now + seconds * 1000,
      more: deadlineOf(event)?.extensions_left ?? 0,
      warned: WARN_AT.filter((left) => seconds * 1000 < left * 2).length,
      step: "ask",
      awaiting: undefined,
      heard: false,
      sent: undefined,
      message: undefined,
      unsureAt: undefined,
      unsent: false,
      known: false,
      moves: 0,
      changed: undefined,
      arrived: this.#arrivals++,
    };
    if (this.#auto(question, now)) return;
    const aside = this.#open.add(question, this.#current);
    if (aside) this.#crowd.aside(source, this.#options.name(aside.event, source), now);
    if (!this.#current) this.#put(question, now);
    else if (aside !== question && this.#crowd.waits(now)) this.#another(question, now);
  }

  #another(question: Question, now: number): void {
    const agent = this.#options.name(question.event, question.source);
    this.#say(question, "question", [this.#reader(question).phrases.say("another_question", { agent })], now);
  }

  /** What became of those that came in a row, in one sentence each. */
  #others(now: number): void {
    const { phrases } = this.#options;
    for (const { agent, count } of this.#crowd.putAside(now))
      this.#options.say(
        { kind: "notice", parts: [phrases().say("too_many_questions", { agent, count })] },
        now,
      );
    const count = this.#open.size - 1;
    if (!this.#crowd.row(now) || !this.#current || count === 0) return;
    this.#say(this.#current, "question", [phrases().say("questions_waiting", { count })], now);
  }

  /** A person said something. */
  answer(input: AnswerInput, now: number): void {
    const question = this.#current;
    if (!question) return this.#own("no_question", now);
    if (question.sent) return this.#own(this.#onItsWay(question) ? "not_sure_taken" : "line_lost", now);
    if (input.kind === "more") return this.#more(question, now);
    if (question.event.type === "aaep:agent.awaiting.clarification")
      return this.#clarify(question, question.event, input, now);
    if (input.kind === "no") return this.#decide(question, "reject", now);
    if (!question.heard) return this.#note(question, "not_heard_yet", now);
    const allowed = (question.event as AwaitingConfirmation).allowed_replies ?? ["accept", "reject"];
    if (!allowed.includes("accept")) return this.#note(question, "answer_refuse_only", now);
    if (input.kind === "yes") {
      if (!isGrave(question.event as AwaitingConfirmation) && !input.unsure)
        return this.#decide(question, "accept", now);
      // Saying yes again is not the second step: a repeated key must not pass for a decision.
      return this.#readBack(question, now);
    }
    if (input.kind === "confirm" && question.step === "read_back")
      return this.#decide(question, "accept", now);
    this.#note(question, "not_an_answer", now);
  }

  /** The line's word on an answer: taken, refused, or no way to tell. */
  sent(message: Outgoing, taken: boolean | undefined, now: number): void {
    const question = this.#open.get(message.source, message.reply_token);
    if (!question || question.message !== message) return;
    // Nobody can tell yet: the person is told so unless the agent speaks first.
    if (taken === undefined) return;
    if (!taken) {
      this.#note(question, "not_taken", now);
      return this.#remove(question, "closed", now);
    }
    this.#thank(question, now);
  }

  /** The producer says how a question came out (CON-13). */
  settle(source: string, token: string, outcome: QuestionOutcome | "ended" | "closed", now: number): void {
    const question = this.#open.get(source, token);
    if (!question) return;
    const mine = { accept: "accepted", reject: "rejected", answer: "answered" }[question.sent ?? "answer"];
    if (question.sent && mine === outcome) return this.#thank(question, now);
    const key: MessageKey = outcome === "closed" ? "settled" : `settled_${outcome}`;
    const reader = this.#reader(question);
    const parts = [reader.phrases.say(key, { action: essenceRun(question.event, reader) })];
    // Nobody is asked any more: what they would only have heard after this is not asked.
    const unsaid = this.#options.unsay(source, token, question.changed);
    // What a person never heard of is no urgent news, unless something was done because they were silent.
    const news = question.known || (question.awaiting !== undefined && !unsaid) || silentYes(question.event);
    this.#say(question, "settled", parts, now, news ? {} : { urgency: "normal" });
    this.#remove(question, outcome, now);
  }

  /** A deadline that moved, or a reminder: our own warnings are counted from it. */
  deadline(source: string, notice: Deadline, now: number): void {
    const question = this.#open.get(source, notice.reply_token);
    if (!question) return;
    const at = now + notice.seconds_left * 1000;
    question.more = notice.extensions_left;
    const longer = at > question.deadline + MOVED_MS;
    const shorter = at < question.deadline - MOVED_MS;
    question.deadline = at;
    if (longer) question.warned = WARN_AT.filter((left) => notice.seconds_left * 1000 < left * 2).length;
    if (!(longer || shorter) || question.moves++ >= MOST_MOVES) return;
    // Whoever joined late was told the time there was at first.
    if (shorter) return this.#timeLeft(question, now);
    const { phrases } = this.#reader(question);
    const words = phrases.say("more_time", { duration: phrases.duration(at - now) });
    this.#say(question, "question", [words], now);
  }

  finished(utterance: number): void {
    for (const question of this.#open)
      if (question.awaiting === utterance) question.heard = question.known = true;
  }

  repeat(now: number): boolean {
    if (!this.#current) return false;
    if (this.#current.step === "read_back") this.#readBack(this.#current, now);
    else this.#put(this.#current, now);
    return true;
  }

  tick(now: number): void {
    this.#others(now);
    for (const question of [...this.#open]) {
      // An answer on its way may have made it: then it is the producer's word that counts.
      if (now >= question.deadline + (question.sent ? ANSWER_GRACE_MS : 0)) {
        this.settle(question.source, question.token, "timed_out", now);
        continue;
      }
      if (question.unsureAt !== undefined && question.unsureAt <= now) {
        const known = this.#onItsWay(question);
        question.unsureAt = known ? undefined : now + UNSURE_AFTER_MS;
        if (known) this.#note(question, "not_sure_taken", now);
      }
      const left = question.deadline - now;
      const due = WARN_AT[question.warned];
      if (due === undefined || left > due || question.sent) continue;
      while ((WARN_AT[question.warned] ?? -1) >= left) question.warned++;
      if (this.#isNear(question)) this.#timeLeft(question, now);
    }
  }

  /** Of those that wait only the one that comes next: to hurry for it makes sense, and nobody can for a hundred. */
  #isNear(question: Question): boolean {
    const [next] = this.#open.inTurn.filter((one) => one !== this.#current);
    return question === this.#current || question === next;
  }

  #timeLeft(question: Question, now: number): void {
    const left = question.deadline - now;
    while ((WARN_AT[question.warned] ?? -1) >= left) question.warned++;
    const reader = this.#reader(question);
    const duration = reader.phrases.duration(left);
    const action = essenceRun(question.event, reader);
    this.#say(question, "question", [reader.phrases.say("time_left", { duration, action })], now);
  }

  get wakeAt(): number | undefined {
    const times = [...this.#open].map(({ deadline, warned, sent, unsureAt }) =>
      sent ? (unsureAt ?? deadline + ANSWER_GRACE_MS) : deadline - (WARN_AT[warned] ?? 0),
    );
    const crowd = this.#crowd.wakeAt;
    if (crowd !== undefined) times.push(crowd);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #reader(question: Question): Reader {
    return this.#options.reader(question.event);
  }

  #say(
    question: Question,
    kind: UtteranceKind,
    parts: readonly (readonly Run[])[],
    now: number,
    more: Pick<Line, "asked" | "urgency"> = {},
  ): number {
    const reader = this.#reader(question);
    const essence = essenceRun(question.event, reader).text;
    const session_id = `${question.source} ${question.event.session_id}`;
    const about = { reply_token: question.token, essence, session_id, ...more };
    return this.#options.say({ kind, parts, ...about }, now);
  }

  #note(question: Question, key: MessageKey, now: number): void {
    this.#say(question, "answer", [this.#reader(question).phrases.say(key)], now);
  }

  #own(key: MessageKey, now: number): void {
    const agent = this.#current ? this.#options.name(this.#current.event, this.#current.source) : "";
    this.#options.say({ kind: "answer", parts: [this.#options.phrases().say(key, { agent })] }, now);
  }

  #put(question: Question, now: number): void {
    this.#current = question;
    question.heard = false;
    question.step = "ask";
    const agent = this.#options.name(question.event, question.source);
    const { parts, answers } = questionParts(
      question.event,
      this.#reader(question),
      agent,
      question.deadline - now,
      this.#options.brief(),
    );
    const asked = { step: "ask", parts } as const;
    question.awaiting = this.#say(question, "question", [...parts, ...answers], now, { asked });
  }

  #readBack(question: Question, now: number): void {
    question.step = "read_back";
    question.heard = false;
    const agent = this.#options.name(question.event, question.source);
    const event = question.event as AwaitingConfirmation;
    const { parts, answers } = readBackParts(event, this.#reader(question), agent);
    const asked = { step: "read_back", parts } as const;
    question.awaiting = this.#say(question, "question", [...parts, ...answers], now, { asked });
  }

  #decide(question: Question, decision: "accept" | "reject", now: number): void {
    const { token, source } = question;
    this.#send(question, decision, { do: "confirm", reply_token: token, source, decision }, now);
  }

  #send(question: Question, sent: Question["sent"], message: Outgoing, now: number): void {
    const unsent = this.#options.lost(question.source);
    Object.assign(question, { sent, message, unsent, unsureAt: now + UNSURE_AFTER_MS });
    this.#options.send(message);
  }

  /** An answer given while the line is down goes out when it is back. */
  #onItsWay({ sent, unsent, source }: Question): boolean {
    return sent !== undefined && !(unsent && this.#options.lost(source));
  }

  #clarify(question: Question, event: AwaitingClarification, input: AnswerInput, now: number): void {
    if (!question.heard) return this.#note(question, "not_heard_yet", now);
    const response = toResponse(event, input);
    if (response === undefined) return this.#note(question, "not_an_answer", now);
    const { token, source } = question;
    this.#send(question, "answer", { do: "answer", reply_token: token, source, response }, now);
  }

  #more(question: Question, now: number): void {
    if (question.more <= 0) return this.#note(question, "no_more_time", now);
    this.#options.send({ do: "more_time", reply_token: question.token, source: question.source });
  }

  #thank(question: Question, now: number): void {
    const outcomes = { accept: "accepted", reject: "rejected", answer: "answered" } as const;
    const outcome = outcomes[question.sent!];
    this.#note(question, outcome, now);
    this.#remove(question, outcome, now);
  }

  #remove(question: Question, outcome: QuestionOutcome | "ended" | "closed", now: number): void {
    this.#open.remove(question);
    const reader = this.#reader(question);
    this.#options.settled(question.event, question.source, outcome, essenceRun(question.event, reader));
    if (this.#current !== question) return;
    this.#current = undefined;
    const [next] = this.#open.inTurn;
    if (next) this.#put(next, now);
  }

  #auto(question: Question, now: number): boolean {
    const { event, source, token } = question;
    if (event.type !== "aaep:agent.awaiting.confirmation") return false;
    const rule = ruleFor(event, this.#options.auto_answers);
    if (!rule) return false;
    this.#options.send({
      do: "confirm",
      reply_token: token,
      source,
      decision: rule.decision,
      decided_by: "auto:listener-rule",
    });
    const reader = this.#reader(question);
    const key = rule.decision === "accept" ? "auto_accepted" : "auto_rejected";
    this.#say(question, "settled", [reader.phrases.say(key, { action: essenceRun(event, reader) })], now);
    return true;
  }
}
