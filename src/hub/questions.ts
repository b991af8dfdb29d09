/**
 * Open questions of the hub (chapter 6). Each has one single-use token; the first valid reply wins; the deadline runs on
 * a monotonic clock; silence and a lost connection mean the default, which never does harm (CON-01 … CON-17). A question
 * is settled exactly once, and only here. Every refused reply looks the same and takes the same steps, whatever was wrong
 * with it (CNF-14 … CNF-17, CON-11, CON-28).
 */
import type { LogEntry } from "../delivery/entry.ts";
import { encodeDelivery, type LaneDelivery } from "../delivery/lane.ts";
import type { LogWindow } from "../delivery/log-window.ts";
import { applyShape, type ExtensionRegistry, shapeOf, variantsOf } from "../delivery/shape.ts";
import {
  type Deadline,
  EXTENSION_PREFIX,
  type QuestionOutcome,
  type Resolves,
} from "../protocol/extension.ts";
import type { Peer } from "../protocol/hub-port.ts";
import type { Clock } from "../protocol/platform.ts";
import { mayAnswer, mayHear, type Principal } from "../protocol/principal.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  ClarificationReply,
  ConfirmationReply,
  Reply,
} from "../protocol/types.ts";
import type { Log } from "./log.ts";
import type { Act, AuditRecord } from "./record.ts";
import { factOf, factsOf, type LogStore } from "./store.ts";
import {
  canBeAsked,
  type MissedOutcome,
  type Subscription,
  type SubscriptionRegistry,
} from "./subscription.ts";

export type Origin = "human" | "timeout" | "disconnect" | "withdrawn";

export interface Settlement {
  readonly outcome: QuestionOutcome;
  readonly origin: Origin;
  /** The reply that settled it, and the authenticated sender. */
  readonly reply?: Reply;
  readonly principal?: string;
}

/** The state of an open question, which a restart restores. */
export interface QuestionState {
  /** On the monotonic clock. */
  readonly deadline: number;
  readonly extensionsUsed: number;
  readonly totalSeconds: number;
}

export interface QuestionSpec {
  /** What an approval would run, for the record. */
  readonly act?: Act | undefined;
  /** Who may hear the session that asks; absent means everyone. */
  readonly audience?: readonly string[] | undefined;
  readonly event: AwaitingConfirmation | AwaitingClarification;
  /** How often a person may ask for more time, and the most seconds in all. */
  readonly extensions: number;
  readonly ceiling_seconds: number;
}

/** The session that asks. */
interface AskingSession {
  readonly session_id: string;
  readonly audience: readonly string[] | undefined;
}

/** A reply's timestamp may be off by this much (CON-12). The time of arrival decides. */
const SKEW_MS = 300_000;
/** Only questions that stay open longer than this send countdown notices (CNF-24, CON-48). */
const WARN_ABOVE_SECONDS = 60;
/** A person gets at least this long to ask for more time (WCAG 2.2.1). */
const LAST_WARNING_MS = 20_000;
const LEAST_EXTENSION_SECONDS = 20;
/** Holds a restored question open during the grace period, in place of all who may come back. */
const RESTART = "restart";

export interface QuestionHooks {
  /** Time is running out; `last` is the final warning. */
  warn(question: Question, msLeft: number, last: boolean): void;
  /** A person asked for more time and got it. */
  extended(question: Question): void;
  /** An event with the time left, sent after a question that is sent again (CON-47). */
  remaining?(question: Question): Pick<LogEntry, "event" | "localized"> | undefined;
  settled(question: Question, settlement: Settlement): void;
}

export class Question implements QuestionState {
  readonly token: string;
  readonly spec: QuestionSpec;
  /** The subscriptions whose answer is waited for: live, hearing the session, able to reply (CON-04). */
  readonly holders = new Set<string>();
  /** The subscriptions that were sent the token: only their answer counts (CON-28). */
  readonly sentTo = new Set<string>();
  readonly result: Promise<Settlement>;
  readonly hooks: QuestionHooks;
  extensionsUsed = 0;
  deadline: number;
  readonly #clock: Clock;
  readonly #askedAt: number;
  #resolve!: (settlement: Settlement) => void;
  #open = true;
  #timers: (() => void)[] = [];
  #totalSeconds: number;

  constructor(spec: QuestionSpec, clock: Clock, hooks: QuestionHooks, state?: QuestionState) {
    this.spec = spec;
    this.token = spec.event.reply_token;
    this.#clock = clock;
    this.hooks = hooks;
    this.#askedAt = Date.parse(spec.event.timestamp);
    this.#totalSeconds = state?.totalSeconds ?? spec.event.timeout_seconds;
    this.extensionsUsed = state?.extensionsUsed ?? 0;
    this.deadline = state?.deadline ?? clock.now() + spec.event.timeout_seconds * 1000;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#arm();
  }

  get open(): boolean {
    return this.#open;
  }
  /** All the time it was given so far. */
  get totalSeconds(): number {
    return this.#totalSeconds;
  }
  get msLeft(): number {
    return Math.max(0, this.deadline - this.#clock.now());
  }
  get extensionsLeft(): number {
    if (this.#nextSeconds === 0) return 0;
    const room = Math.ceil(
      (this.spec.ceiling_seconds - this.#totalSeconds) / this.spec.event.timeout_seconds,
    );
    return Math.min(this.spec.extensions - this.extensionsUsed, room);
  }
  get deadlineNotice(): Deadline {
    return {
      reply_token: this.token,
      seconds_left: Math.ceil(this.msLeft / 1000),
      extensions_left: this.extensionsLeft,
      ceiling_seconds: this.spec.ceiling_seconds,
    };
  }

  /**
   * True if this reply settles the question. Takes the same steps whatever the reason for a refusal, so that the time it
   * takes reveals nothing (CNF-16, A02). `entitled` is what the registry knows of the sender.
   */
  answer(reply: Reply, principal: string, entitled: boolean): boolean {
    const now = this.#clock.now();
    const inTime = now < this.deadline;
    const at = Date.parse(reply.timestamp);
    const total = this.#totalSeconds * 1000;
    // When it was asked: as written then, and as the wall clock would write it now if it was set since.
    const askedAt = [this.#askedAt, Date.parse(this.#clock.timestamp()) + this.deadline - now - total];
    const plausible =
      askedAt.filter((start) => at >= start - SKEW_MS && at <= start + total + SKEW_MS).length > 0;
    const outcome = outcomeOf(this.spec.event, reply);
    // A process that was suspended past the deadline gets the reply and the timer at once: the deadline wins (F26).
    if (!inTime) this.#settle({ outcome: "timed_out", origin: "timeout" });
    if (!entitled || !inTime || !plausible || outcome === undefined) return false;
    return this.#settle({ outcome, origin: "human", reply, principal });
  }

  /** Adds the initial time once more, or as much of it as the operator's ceiling allows (WCAG 2.2.1). */
  extend(): boolean {
    const seconds = this.#nextSeconds;
    if (!this.#open || this.extensionsLeft <= 0 || seconds === 0 || this.msLeft === 0) return false;
    this.extensionsUsed++;
    this.#totalSeconds += seconds;
    this.deadline += seconds * 1000;
    this.#arm();
    return true;
  }

  /** One holder less; without any, it is settled as disconnected (CON-04, CNF-37). */
  drop(subscription_id: string): void {
    if (this.holders.delete(subscription_id) && this.holders.size === 0) {
      this.#settle({ outcome: "disconnected", origin: "disconnect" });
    }
  }

  withdraw(): boolean {
    return this.#settle({ outcome: "withdrawn", origin: "withdrawn" });
  }

  /** Before a shutdown: the question stays open for the next process to settle. */
  leaveOpen(): void {
    this.#open = false;
    this.#disarm();
  }

  get #nextSeconds(): number {
    const { timeout_seconds } = this.spec.event;
    const seconds = Math.min(timeout_seconds, this.spec.ceiling_seconds - this.#totalSeconds);
    return seconds >= Math.min(timeout_seconds, LEAST_EXTENSION_SECONDS) ? seconds : 0;
  }

  #settle(settlement: Settlement): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#disarm();
    try {
      this.hooks.settled(this, settlement);
    } finally {
      // Even if announcing the outcome fails, the agent gets it.
      this.#resolve(settlement);
    }
    return true;
  }

  #disarm(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers = [];
  }

  #arm(): void {
    this.#disarm();
    const end = () => void this.#settle({ outcome: "timed_out", origin: "timeout" });
    this.#timers.push(this.#clock.timer(this.deadline, end));
    if (this.#totalSeconds <= WARN_ABOVE_SECONDS) return;
    const total = this.spec.event.timeout_seconds * 1000;
    const last = Math.max(total / 10, LAST_WARNING_MS);
    this.#warnAt(last, true);
    if (total / 2 > last) this.#warnAt(total / 2, false);
  }

  #warnAt(left: number, last: boolean): void {
    const at = this.deadline - left;
    if (at <= this.#clock.now()) return;
    this.#timers.push(this.#clock.timer(at, () => this.hooks.warn(this, left, last)));
  }
}

interface RegistryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: LogStore;
  readonly subscriptions: SubscriptionRegistry;
  readonly extensions: ExtensionRegistry;
  readonly audit: ((record: AuditRecord) => void) | undefined;
  /** Most open questions per principal at a time (F22). */
  readonly maxPerPrincipal: number;
  readonly graceSeconds: number;
}

/** The open questions: whose answer is waited for, who was sent them, and whose reply counts. */
export class QuestionRegistry {
  readonly #options: RegistryOptions;
  readonly #all = new Map<string, Question>();
  /** Stands in for a question that does not exist, so that an unknown token takes the same steps. */
  readonly #decoy: Question;
  /** Who was sent a question before the restart. */
  readonly #sentBefore: Map<string, readonly string[]>;
  /** Questions whose recipients have yet to be stored. */
  readonly #unsaved = new Set<Question>();
  /** Checks of `waitForListener`, run whenever the answer may have changed. */
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#sentBefore = factsOf(options.store, "sent");
    const { clock } = options;
    const noHooks = { warn: () => {}, extended: () => {}, settled: () => {} };
    const event = { type: "aaep:agent.awaiting.confirmation", timestamp: "", timeout_seconds: 0 };
    const spec = { event: event as AwaitingConfirmation, extensions: 0, ceiling_seconds: 0 };
    const timer = () => () => {};
    this.#decoy = new Question(spec, { now: () => clock.now(), timestamp: () => "", timer }, noHooks);
  }

  // ── Asking ──

  /** Live subscriptions that can answer this session (CON-04: unopened and disconnected within grace included). */
  answerable(type: string, session: AskingSession): Subscription[] {
    return this.#options.subscriptions.all.filter((subscription) => canBeAsked(subscription, type, session));
  }

  /** Whether somebody could be asked now who does not have too many open questions already. */
  canAsk(type: string, session: AskingSession): boolean {
    const people = new Map<string, Subscription[]>();
    for (const one of this.answerable(type, session)) {
      people.set(one.principal.id, [...(people.get(one.principal.id) ?? []), one]);
    }
    const { maxPerPrincipal } = this.#options;
    return [...people.values()].some((subscriptions) => this.#countFor(subscriptions) < maxPerPrincipal);
  }

  #countFor(subscriptions: readonly Subscription[]): number {
    let count = 0;
    for (const { holders } of this.#all.values()) {
      if (subscriptions.some(({ id }) => holders.has(id))) count++;
    }
    return count;
  }

  /** Resolves to true once somebody can be asked; to false when the time is up or `signal` aborts. */
  waitForListener(
    type: string,
    session: AskingSession,
    seconds: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    if (this.#stopped) return new Promise(() => {});
    if (this.canAsk(type, session)) return Promise.resolve(true);
    if (seconds <= 0 || signal?.aborted) return Promise.resolve(false);
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const done = (found: boolean) => {
        if (this.#stopped) return;
        this.#waiting.delete(check);
        cancel();
        signal?.removeEventListener("abort", giveUp);
        resolve(found);
      };
      const check = () => {
        if (this.canAsk(type, session)) done(true);
      };
      const giveUp = () => done(false);
      const cancel = clock.timer(clock.now() + seconds * 1000, giveUp);
      signal?.addEventListener("abort", giveUp);
      this.#waiting.add(check);
    });
  }

  #wake(): void {
    for (const check of [...this.#waiting]) check();
  }

  /** The longest time any of the listeners needs, within the operator's ceiling (CON-47). */
  timeoutFor(type: string, session: AskingSession, seconds: number): number {
    const needs = this.answerable(type, session).map(({ terms }) =>
      Number(terms.extensionTerms[EXTENSION_PREFIX]?.["minimum_timeout_seconds"] ?? 0),
    );
    return Math.min(86_400, Math.max(seconds, ...needs));
  }

  /** Opens a question, which from here on has exactly one outcome. Append its event next. */
  ask(spec: QuestionSpec, session: AskingSession, hooks: QuestionHooks): Question {
    const { clock, audit } = this.#options;
    const { event, act } = spec;
    const { session_id, reply_token } = event;
    const asked = { session_id, reply_token, question: { ...event }, ...(act ? { act } : {}) };
    audit?.({ kind: "asked", ...asked, at: clock.timestamp() });
    return this.#add(new Question(spec, clock, this.#hooks(session_id, hooks)), session);
  }

  /**
   * Restores a question of the previous process, with its token and deadline. Everyone who could answer has the grace
   * period to come back, by resuming or with a new subscription (CON-04).
   */
  restore(spec: QuestionSpec, session: AskingSession, hooks: QuestionHooks, state: QuestionState): Question {
    const { clock, graceSeconds } = this.#options;
    const question = new Question(spec, clock, this.#hooks(spec.event.session_id, hooks), state);
    this.#add(question, session);
    for (const id of this.#sentBefore.get(question.token) ?? []) question.sentTo.add(id);
    question.holders.add(RESTART);
    const cancel = clock.timer(clock.now() + graceSeconds * 1000, () => question.drop(RESTART));
    void question.result.then(cancel);
    return question;
  }

  #add(question: Question, session: AskingSession): Question {
    this.#all.set(question.token, question);
    for (const { id } of this.answerable(question.spec.event.type, session)) question.holders.add(id);
    return question;
  }

  #hooks(session_id: string, hooks: QuestionHooks): QuestionHooks {
    const { clock, audit } = this.#options;
    const settled: QuestionHooks["settled"] = (question, settlement) => {
      this.#all.delete(question.token);
      const { outcome, origin, principal, reply } = settlement;
      const about = { session_id, reply_token: question.token, at: clock.timestamp() };
      const by = principal === undefined ? {} : { principal };
      try {
        if (reply && principal !== undefined)
          audit?.({ kind: "replied", ...about, principal, subscription_id: reply.subscription_id, reply });
        audit?.({ kind: "settled", ...about, outcome, origin, ...by });
      } finally {
        // A failing audit hook must not keep listeners from hearing the outcome.
        hooks.settled(question, settlement);
        this.#wake();
        this.#noteMissed(question);
      }
    };
    return { ...hooks, settled };
  }

  // ── Subscriptions that join, change, leave and come back ──

  /** After any change of a subscription: it joins the questions it can answer now and leaves the others (CON-01, CON-19). */
  reconsider(subscription: Subscription): void {
    for (const question of [...this.#all.values()]) {
      const { event, audience } = question.spec;
      if (canBeAsked(subscription, event.type, { session_id: event.session_id, audience }))
        question.holders.add(subscription.id);
      else question.drop(subscription.id);
    }
    this.#wake();
  }

  /** The answer of this subscription is no longer waited for. */
  drop(subscription_id: string): void {
    for (const question of [...this.#all.values()]) question.drop(subscription_id);
  }

  /**
   * Called when a question is sent: from now on this subscription's reply counts, and is waited for if it can reply. A
   * question that is sent again is unchanged, its first deadline included; the returned delivery corrects it (CON-47).
   */
  sent(token: string, subscription: Subscription, delivery: LaneDelivery): LaneDelivery | undefined {
    const { clock, audit } = this.#options;
    const question = this.#all.get(token);
    if (!question) return undefined;
    const { event } = question.spec;
    audit?.({
      kind: "delivered",
      session_id: event.session_id,
      reply_token: token,
      subscription_id: subscription.id,
      principal: subscription.principal.id,
      question: JSON.parse(delivery.json) as Record<string, unknown>,
      again: !delivery.cursor,
      at: clock.timestamp(),
    });
    if (!question.sentTo.has(subscription.id)) {
      question.sentTo.add(subscription.id);
      this.#save(question);
    }
    if (subscription.live && subscription.answers(event.type)) question.holders.add(subscription.id);
    return delivery.cursor ? undefined : this.#correctedDeadline(question, subscription);
  }

  #correctedDeadline(question: Question, { terms }: Subscription): LaneDelivery | undefined {
    const moved = Math.abs(question.msLeft - question.spec.event.timeout_seconds * 1000) >= 1000;
    const entry = moved ? question.hooks.remaining?.(question) : undefined;
    const shape = shapeOf(terms, this.#options.extensions);
    const event = entry && applyShape({ ...entry, seq: 0, required: true }, shape, variantsOf(entry.event));
    return event && redelivery(event);
  }

  /** One write for all recipients of the same moment. */
  #save(question: Question): void {
    if (this.#unsaved.size === 0) queueMicrotask(() => this.#flush());
    this.#unsaved.add(question);
  }

  #flush(): void {
    // Once it is settled, its recipients are removed with the event that says so.
    const facts = [...this.#unsaved].flatMap(({ open, token, sentTo }) =>
      open ? [factOf("sent", token, [...sentTo])] : [],
    );
    this.#unsaved.clear();
    // A log that fails closes every subscription by itself.
    this.#options.log.keep(facts).catch(() => undefined);
  }

  #noteMissed({ token, sentTo, spec }: Question): void {
    const missed = { session_id: spec.event.session_id, reply_token: token };
    for (const id of sentTo) {
      const subscription = this.#options.subscriptions.get(id);
      if (subscription?.phase === "away") subscription.addMissed(missed);
    }
  }

  /** Tells a subscription that comes back how questions it had received were settled meanwhile. */
  sendMissed(
    missed: readonly MissedOutcome[],
    subscription: Subscription,
    peer: Peer,
    window: LogWindow,
  ): void {
    const shape = shapeOf(subscription.terms, this.#options.extensions);
    for (const { session_id, reply_token } of missed) {
      const track = window.tracks.get(session_id);
      if (!track || !subscription.view.hears(track)) continue;
      const marked = track.entries.find(({ entry }) => {
        const resolves = entry.event.extensions?.[EXTENSION_PREFIX]?.["resolves"] as Resolves | undefined;
        return resolves?.reply_token === reply_token;
      });
      const event = marked && applyShape(marked.entry, shape, marked.variants);
      if (event) peer.send(redelivery(event))?.catch(() => undefined);
    }
  }

  // ── Replies ──

  /** `allowed` is the rate limiter's verdict: a reply beyond the limit takes the same steps and is refused. */
  reply(
    reply: Reply,
    principal: Principal,
    subscription: Subscription | undefined,
    allowed: boolean,
  ): boolean {
    const question = this.#all.get(reply.reply_token);
    const entitled = this.#entitled(question, principal, subscription, allowed);
    return (question ?? this.#decoy).answer(reply, principal.id, entitled);
  }

  /** Grants more time to a listener who may answer the question; otherwise refused without a reason. */
  moreTime(
    token: string,
    principal: Principal,
    subscription: Subscription | undefined,
    allowed: boolean,
  ): boolean {
    const question = this.#all.get(token);
    const entitled = this.#entitled(question, principal, subscription, allowed);
    if (!question || !entitled || !question.extend()) return false;
    question.hooks.extended(question);
    return true;
  }

  #entitled(
    question: Question | undefined,
    principal: Principal,
    subscription: Subscription | undefined,
    allowed: boolean,
  ): boolean {
    const { spec, sentTo } = question ?? this.#decoy;
    const checks = [
      allowed,
      question !== undefined,
      mayAnswer(principal),
      // With the rights of now, which may have changed since the question was sent.
      mayHear(principal, spec.audience),
      subscription?.live === true,
      subscription?.answers(spec.event.type) === true,
      sentTo.has(subscription?.id ?? ""),
    ];
    return checks.filter(Boolean).length === checks.length;
  }

  /** Before a shutdown: stores what is unsaved and settles nothing more. Call it before the log stops. */
  shutdown(): void {
    this.#flush();
    this.#stopped = true;
    this.#waiting.clear();
    for (const question of this.#all.values()) question.leaveOpen();
    this.#all.clear();
  }
}

/** Sent outside the log's order, so its id is no cursor. */
function redelivery(event: LogEntry["event"]): LaneDelivery {
  const fields = event as unknown as Record<string, unknown>;
  return encodeDelivery(fields, event.event_id, event.urgency === "critical", false);
}

/** The outcome a reply stands for, if this question accepts such a reply (CNF-14, CNF-28, CON-29). */
function outcomeOf(
  event: AwaitingConfirmation | AwaitingClarification,
  reply: Reply,
): QuestionOutcome | undefined {
  if (event.type === "aaep:agent.awaiting.confirmation") {
    if (reply.type !== "confirmation.reply") return undefined;
    const { decision } = reply as ConfirmationReply;
    if (!(event.allowed_replies ?? ["accept", "reject"]).includes(decision)) return undefined;
    return decision === "accept" ? "accepted" : "rejected";
  }
  if (reply.type !== "clarification.reply") return undefined;
  return responseKind(event, (reply as ClarificationReply).response) ? "answered" : undefined;
}

export type ResponseKind = "freetext" | "yes_no" | "multiple_choice" | "numeric";

/** Which of the accepted kinds a response is, without coercion. A choice is tried before free text. */
export function responseKind(
  event: Pick<AwaitingClarification, "accepted_response_kinds" | "choices">,
  response: string | boolean | number,
): ResponseKind | undefined {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  const fits: Record<ResponseKind, boolean> = {
    multiple_choice:
      typeof response === "string" && (event.choices ?? []).some(({ value }) => value === response),
    freetext: typeof response === "string" && response !== "",
    yes_no: typeof response === "boolean",
    numeric: typeof response === "number" && Number.isFinite(response),
  };
  return (["multiple_choice", "yes_no", "numeric", "freetext"] as const).find(
    (kind) => kinds.includes(kind) && fits[kind],
  );
}
