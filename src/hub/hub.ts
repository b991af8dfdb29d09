/**
 * The switchboard: everything a listener can say arrives here, whatever the transport, and everything an agent does
 * leaves from here. It knows who is connected, on which terms, and which questions wait for whom.
 */
import { Engine } from "../delivery/engine.ts";
import type { NoticeWords } from "../delivery/notices.ts";
import type { Clock } from "../protocol/clock.ts";
import { type Deadline, EXTENSION_PREFIX, EXTENSION_URI, negotiateExtension, resumeRequest } from "../protocol/extension.ts";
import type { Ids } from "../protocol/ids.ts";
import { type Offer, negotiate, renegotiate } from "../protocol/negotiate.ts";
import { resolveTerms, type Terms } from "../protocol/terms.ts";
import type {
  CancelSession,
  FollowSessions,
  MoreTime,
  Reply,
  SubscriptionAccepted,
  SubscriptionClose,
  SubscriptionRejected,
  SubscriptionRenegotiate,
  SubscriptionRequest,
  WhatIsHappening,
} from "../protocol/types.ts";
import { mayAnswer, mayHear, type Principal, viewOf } from "./access.ts";
import { createLog, type EntryOptions, type Log } from "./log.ts";
import { Question, type QuestionHooks, type QuestionSpec } from "./questions.ts";
import type { LogStore } from "./store.ts";
import { HubSubscription, type Peer } from "./subscription.ts";

export interface HubOptions {
  readonly store: LogStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** What the producer can serve; extensions beyond our own may be added. */
  readonly offer: Offer;
  readonly words?: NoticeWords;
  readonly max_subscriptions?: number;
  readonly max_subscriptions_per_principal?: number;
  /** An accepted subscription that never opens its stream goes after this. */
  readonly unopened_seconds?: number;
  /** How long a lost line may stay lost before it counts as silence (CON-04). */
  readonly grace_seconds?: number;
  readonly resume_seconds?: number;
}

const DEFAULTS = {
  max_subscriptions: 10_000,
  max_subscriptions_per_principal: 64,
  unopened_seconds: 30,
  grace_seconds: 30,
  resume_seconds: 3600,
};

/** What came of a message: an answer to send back, or whether it was taken. */
export type Handled =
  | { readonly answer: SubscriptionAccepted | SubscriptionRejected }
  | { readonly taken: boolean };

/** The answer to a request and, where it was accepted, what `connect` needs to start the stream. */
export type Subscribed =
  | { readonly answer: SubscriptionRejected; readonly subscription?: undefined }
  | {
      readonly answer: SubscriptionAccepted;
      readonly subscription: HubSubscription;
      readonly terms: Terms;
      readonly lastEventId: string | undefined;
    };

/** What the hub knows of a session beyond the log: how to stop it, and who may hear it. */
export interface SessionHandle {
  readonly session_id: string;
  readonly audience: readonly string[] | undefined;
  /** A person asked for it to stop. */
  cancel(reason: string | undefined): void;
}

export class Hub {
  readonly engine: Engine;
  readonly log: Log;
  readonly offer: Offer;
  readonly #options: HubOptions & typeof DEFAULTS;
  readonly #subscriptions = new Map<string, HubSubscription>();
  readonly #questions = new Map<string, Question>();
  readonly #sessions = new Map<string, SessionHandle>();
  readonly #waiting = new Set<() => void>();
  #timer: { at: number; cancel: () => void } | undefined;

  constructor(options: HubOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { store, clock, ids, words, offer } = options;
    const own = { uri: EXTENSION_URI, prefix: EXTENSION_PREFIX, negotiate: negotiateExtension };
    this.offer = { ...offer, extensions: [own, ...(offer.extensions ?? [])] };
    this.engine = new Engine({
      log: store.identity,
      now: clock.now,
      timestamp: clock.timestamp,
      ids,
      registry: Object.fromEntries(this.offer.extensions!.map(({ prefix, uri }) => [prefix, uri])),
      ...(words ? { words } : {}),
    });
    this.log = createLog({
      store,
      acknowledged: (entries) => {
        this.engine.append(entries);
        this.#arm();
      },
    });
  }

  append(event: Record<string, unknown>, options?: EntryOptions): Promise<void> {
    return this.log.append(event, options);
  }

  // ── sessions ──────────────────────────────────────────────────────────────────────────────────────────────────

  open(session: SessionHandle): void {
    this.#sessions.set(session.session_id, session);
  }

  end(session_id: string): void {
    this.#sessions.delete(session_id);
  }

  // ── listeners ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** A request always gets an answer (HS-04). With our extension it may go on where an earlier subscription was. */
  subscribe(
    request: SubscriptionRequest,
    principal: Principal,
    transport: string,
  ): Subscribed {
    const resume = resumeRequest(request.extensions);
    const known = resume && this.#own(resume.subscription_id, principal);
    if (!known) {
      const full = this.#full(principal);
      if (full) return { answer: full };
    }
    const id = known?.id ?? this.#options.ids("sub");
    const answer = negotiate(request, this.offer, id);
    if (answer.type === "subscription.rejected") return { answer };
    const terms = this.#termsOf(request.capabilities, answer, principal);
    const lastEventId = resume?.last_event_id;
    if (known) {
      this.#comeBack(known);
      known.request = request.capabilities;
      return { answer, subscription: known, terms, lastEventId };
    }
    const subscription = new HubSubscription({
      id,
      principal,
      transport,
      aaep_version: answer.aaep_version,
      request: request.capabilities,
      terms,
      view: viewOf(principal),
    });
    this.#subscriptions.set(id, subscription);
    this.#hold(subscription);
    subscription.cancelTimer = this.#after(this.#options.unopened_seconds, () => this.#remove(subscription));
    return { answer, subscription, terms, lastEventId };
  }

  /** The stream starts, or starts again after the given event. */
  connect(subscription: HubSubscription, peer: Peer, lastEventId?: string, terms = subscription.terms): void {
    if (subscription.phase === "closed") return peer.close("not_found");
    // A second stream for the same subscription: the newer one is where the person is (TRN-18).
    if (subscription.phase === "open") subscription.peer?.close("replaced");
    this.#comeBack(subscription);
    const previous = subscription.terms;
    subscription.terms = terms;
    this.#hold(subscription);
    subscription.attach(this.engine, peer, lastEventId, previous);
    this.#arm();
  }

  /** The line dropped, without a word. */
  disconnect(subscription: HubSubscription, peer: Peer): void {
    if (subscription.peer !== peer || subscription.phase !== "open") return;
    subscription.detach();
    if (!subscription.resumable) return this.#remove(subscription);
    subscription.phase = "away";
    const { grace_seconds, resume_seconds } = this.#options;
    subscription.cancelTimer = this.#after(grace_seconds, () => {
      this.#release(subscription);
      subscription.cancelTimer = this.#after(Math.max(0, resume_seconds - grace_seconds), () => this.#remove(subscription));
    });
  }

  find(subscription_id: string, principal: Principal): HubSubscription | undefined {
    return this.#own(subscription_id, principal);
  }

  /** The producer ends a subscription, with a reason the listener can act on (HS-19). */
  close(subscription: HubSubscription, reason: string, sentence: string): void {
    const { peer } = subscription;
    peer?.tell({ type: "subscription.close", subscription_id: subscription.id, reason_code: reason, reason_message: sentence });
    this.#remove(subscription);
    peer?.close(reason);
  }

  closeAll(reason: string, sentence: string): void {
    for (const subscription of [...this.#subscriptions.values()]) this.close(subscription, reason, sentence);
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Anything but a request, from an authenticated sender. `bound` is the subscription of the connection it came on. */
  handle(
    message: Reply | SubscriptionRenegotiate | SubscriptionClose | MoreTime | WhatIsHappening | CancelSession | FollowSessions,
    principal: Principal,
    bound?: HubSubscription,
  ): Handled {
    const found = this.#own(message.subscription_id, principal);
    const subscription = bound === undefined || found === bound ? found : undefined;
    switch (message.type) {
      case "confirmation.reply":
      case "clarification.reply":
        return { taken: this.#reply(message, principal, subscription) };
      case "subscription.renegotiate":
        return { answer: this.#renegotiate(message, subscription) };
      case "subscription.close":
        if (subscription) this.#remove(subscription);
        return { taken: subscription !== undefined };
      case "earshot:more_time":
        return { taken: this.#moreTime(message, subscription) };
      case "earshot:status":
        return { taken: this.#status(subscription, message.session_id) };
      case "earshot:cancel":
        return { taken: this.#cancel(message, principal, subscription) };
      case "earshot:follow":
        return { taken: this.#follow(message, subscription) };
    }
  }

  // ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Subscriptions that could answer a question of this session right now. */
  answerable(type: string, session: SessionHandle): HubSubscription[] {
    return [...this.#subscriptions.values()].filter(
      (subscription) => subscription.live && this.#mayHold(subscription, type, session.session_id, session.audience),
    );
  }

  /** Resolves true once somebody could answer, false when the time is up. */
  waitForListener(type: string, session: SessionHandle, seconds: number): Promise<boolean> {
    if (this.answerable(type, session).length > 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const done = (found: boolean) => {
        this.#waiting.delete(check);
        cancel();
        resolve(found);
      };
      const check = () => {
        if (this.answerable(type, session).length > 0) done(true);
      };
      const cancel = this.#after(seconds, () => done(false));
      this.#waiting.add(check);
    });
  }

  /** The longest any of the listeners needs (CON-47). */
  timeoutFor(type: string, session: SessionHandle, seconds: number): number {
    const needs = this.answerable(type, session).map(({ terms }) => Number(terms.extension_terms[EXTENSION_PREFIX]?.["minimum_timeout_seconds"] ?? 0));
    return Math.min(86_400, Math.max(seconds, ...needs));
  }

  /** Raises a question: from here on exactly one outcome. The event must be in the log already. */
  ask(spec: QuestionSpec, session: SessionHandle, hooks: QuestionHooks): Question {
    const question = new Question(spec, this.#options.clock, {
      ...hooks,
      settled: (settled, settlement) => {
        this.#questions.delete(settled.token);
        hooks.settled(settled, settlement);
      },
    });
    this.#questions.set(question.token, question);
    for (const { id } of this.answerable(spec.event.type, session)) question.holders.add(id);
    return question;
  }

  #reply(reply: Reply, principal: Principal, subscription: HubSubscription | undefined): boolean {
    const question = this.#questions.get(reply.reply_token);
    const entitled =
      subscription !== undefined &&
      subscription.phase === "open" &&
      mayAnswer(principal) &&
      question !== undefined &&
      subscription.answers(question.spec.event.type) &&
      subscription.asked.has(reply.reply_token);
    return entitled && question.answer(reply, principal.id);
  }

  #moreTime({ reply_token }: MoreTime, subscription: HubSubscription | undefined): boolean {
    const question = this.#questions.get(reply_token);
    if (!question || !subscription?.asked.has(reply_token) || !mayAnswer(subscription.principal) || !question.extend()) return false;
    question.hooks.extended(question);
    return true;
  }

  #status(subscription: HubSubscription | undefined, session_id: string | undefined): boolean {
    if (subscription?.phase !== "open") return false;
    subscription.standing(session_id);
    return true;
  }

  #cancel({ session_id, reason }: CancelSession, principal: Principal, subscription: HubSubscription | undefined): boolean {
    const session = this.#sessions.get(session_id);
    if (!subscription || !session || !mayAnswer(principal) || !mayHear(principal, session.audience)) return false;
    session.cancel(reason);
    return true;
  }

  #follow({ sessions }: FollowSessions, subscription: HubSubscription | undefined): boolean {
    if (!subscription) return false;
    subscription.followed = sessions;
    subscription.view = viewOf(subscription.principal, sessions);
    const { peer, lastEventId, terms } = subscription;
    if (peer) subscription.attach(this.engine, peer, lastEventId, terms);
    this.#hold(subscription);
    this.#arm();
    return true;
  }

  #renegotiate(message: SubscriptionRenegotiate, subscription: HubSubscription | undefined): SubscriptionAccepted | SubscriptionRejected {
    if (!subscription) {
      return {
        type: "subscription.rejected",
        reason_code: "authorization_denied",
        reason_message: "This subscription is not yours, or it has ended. Send a new subscription.request.",
      };
    }
    const { request, aaep_version, principal } = subscription;
    const result = renegotiate({ request, aaep_version }, message.capabilities, this.offer, subscription.id);
    if (result.answer.type === "subscription.rejected") {
      this.#remove(subscription);
      return result.answer;
    }
    subscription.request = result.request;
    subscription.renegotiate(this.#termsOf(result.request, result.answer, principal));
    for (const question of this.#questions.values()) {
      // Losing reply support is leaving; gaining it is joining (CON-01, CON-19).
      if (!subscription.answers(question.spec.event.type)) question.drop(subscription.id);
    }
    this.#hold(subscription);
    this.#arm();
    return result.answer;
  }

  /** A listener who may only listen is never asked, whatever it declares. */
  #termsOf(request: SubscriptionRequest["capabilities"], answer: SubscriptionAccepted, principal: Principal) {
    if (!mayAnswer(principal)) {
      answer.honored_capabilities.supports_confirmation_reply = false;
      answer.honored_capabilities.supports_clarification_reply = false;
    }
    return resolveTerms(request, answer.honored_capabilities);
  }

  #own(subscription_id: string, principal: Principal): HubSubscription | undefined {
    const subscription = this.#subscriptions.get(subscription_id);
    return subscription?.principal.id === principal.id ? subscription : undefined;
  }

  #full(principal: Principal): SubscriptionRejected | undefined {
    const mine = [...this.#subscriptions.values()].filter((one) => one.principal.id === principal.id && one.live).length;
    const most = principal.max_subscriptions ?? this.#options.max_subscriptions_per_principal;
    if (mine < most && this.#subscriptions.size < this.#options.max_subscriptions) return undefined;
    return {
      type: "subscription.rejected",
      reason_code: "rate_limit",
      reason_message: mine < most ? "This agent has too many listeners right now. Try again shortly." : `You have ${mine} subscriptions open; close one first.`,
      retry_after_seconds: 30,
    };
  }

  #mayHold(subscription: HubSubscription, type: string, session_id: string, audience: readonly string[] | undefined): boolean {
    return (
      subscription.phase !== "closed" &&
      subscription.answers(type) &&
      mayAnswer(subscription.principal) &&
      subscription.follows(session_id) &&
      mayHear(subscription.principal, audience)
    );
  }

  /** A listener that can answer joins every open question it may hear, and wakes whoever waits for one. */
  #hold(subscription: HubSubscription): void {
    for (const question of this.#questions.values()) {
      const { type, session_id } = question.spec.event;
      if (subscription.live && this.#mayHold(subscription, type, session_id, this.#sessions.get(session_id)?.audience)) {
        question.holders.add(subscription.id);
      }
    }
    for (const check of [...this.#waiting]) check();
  }

  #comeBack(subscription: HubSubscription): void {
    subscription.cancelTimer?.();
    subscription.cancelTimer = undefined;
    subscription.live = true;
  }

  /** Its answer is no longer waited for; it may still come back. */
  #release(subscription: HubSubscription): void {
    subscription.live = false;
    for (const question of [...this.#questions.values()]) question.drop(subscription.id);
  }

  #remove(subscription: HubSubscription): void {
    if (subscription.phase === "closed") return;
    subscription.cancelTimer?.();
    subscription.detach();
    subscription.phase = "closed";
    this.#subscriptions.delete(subscription.id);
    this.#release(subscription);
  }

  #after(seconds: number, callback: () => void): () => void {
    const { clock } = this.#options;
    return clock.timer(clock.now() + seconds * 1000, callback);
  }

  /** One timer for all deliveries that wait for their moment. */
  #arm(): void {
    const at = this.engine.next;
    if (this.#timer?.at === at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at === Infinity) return;
    const cancel = this.#options.clock.timer(at, () => {
      this.#timer = undefined;
      this.engine.run();
      this.#arm();
    });
    this.#timer = { at, cancel };
  }
}

export const deadlineOf = (question: Question): Deadline => ({
  reply_token: question.token,
  seconds_left: Math.ceil(question.msLeft / 1000),
  extensions_left: question.extensionsLeft,
  ceiling_seconds: question.spec.ceiling_seconds,
});
