/**
 * The switchboard: everything a listener can say arrives here, whatever the transport, and everything an agent does
 * leaves from here. It knows who is connected, on which terms, and which questions wait for whom.
 */
import type { Engine } from "../delivery/engine.ts";
import type { LaneDelivery } from "../delivery/lane.ts";
import { EXTENSION_PREFIX, extensionOffer, resumeRequest } from "../protocol/extension.ts";
import type {
  Handled,
  HubObserver,
  HubPort,
  Incoming,
  Peer,
  SubscriptionHandle,
} from "../protocol/hub-port.ts";
import { negotiate, type Offer, renegotiate, resolveTerms } from "../protocol/negotiate.ts";
import { isExpired, type Principal, sameRights } from "../protocol/principal.ts";
import type {
  CancelSession,
  FollowSessions,
  MoreTime,
  Reply,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRenegotiate,
  SubscriptionRequest,
} from "../protocol/types.ts";
import { mayAnswer, mayHear, mayHold, viewOf } from "./access.ts";
import { Deliveries } from "./deliveries.ts";
import { QuestionDesk } from "./desk.ts";
import { Keeper } from "./keeping.ts";
import { COME_BACK, closeOf, Leaving } from "./leaving.ts";
import { createLog, LOG_BROKEN, type Log } from "./log.ts";
import {
  type AppendOptions,
  type AuditRecord,
  HUB_DEFAULTS,
  type HubOptions,
  type SessionHandle,
  unproven,
} from "./options.ts";
import type { Question, QuestionHooks, QuestionSpec, Standing } from "./questions.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { movedDeadline, retell } from "./retell.ts";
import { Roster } from "./roster.ts";
import { HubSubscription } from "./subscription.ts";
import { WaitingRoom } from "./waiting.ts";

export type { AppendOptions, HubOptions, SessionHandle } from "./options.ts";

export type Subscribed =
  | { readonly answer: SubscriptionRejected; readonly subscription?: undefined }
  | { readonly answer: SubscriptionAccepted; readonly subscription: HubSubscription };

const EXPIRED: SubscriptionRejected = {
  type: "subscription.rejected",
  reason_code: "authentication_required",
  reason_message: "The credentials have expired. Sign in again, reconnect, and send the request once more.",
};

export class Hub implements HubPort {
  readonly log: Log;
  readonly offer: Offer;
  readonly #options: HubOptions & typeof HUB_DEFAULTS;
  readonly #deliveries: Deliveries;
  readonly #roster: Roster;
  readonly #desk: QuestionDesk;
  readonly #keeper: Keeper;
  readonly #sessions = new Map<string, SessionHandle>();
  readonly #waiting: WaitingRoom;
  readonly #summaries: RateLimiter;
  readonly #replies: RateLimiter;
  readonly #observers = new Set<HubObserver>();
  readonly #leaving: Leaving;

  constructor(options: HubOptions) {
    this.#options = { ...HUB_DEFAULTS, ...options };
    const { store, clock, offer, backplane } = options;
    const own = extensionOffer(this.#options.ceiling_seconds);
    this.offer = { ...offer, extensions: [own, ...(offer.extensions ?? [])] };
    this.#waiting = new WaitingRoom(clock);
    const now = () => clock.now();
    this.#summaries = new RateLimiter({ burst: 20, refillMs: 1_000 }, now);
    this.#replies = new RateLimiter(this.#options.reply_limit, now);
    const history = store.recent();
    this.#deliveries = new Deliveries(options, this.registry, history);
    this.log = createLog({
      store,
      history,
      acknowledged: (entries) => backplane.announce(entries),
      failed: () => this.closeAll("producer_shutdown", LOG_BROKEN),
    });
    this.#keeper = new Keeper(this.log, store);
    this.#desk = new QuestionDesk({
      clock,
      audit: options.audit,
      sent: (question) => this.#keeper.sent(question),
      settled: (question) => this.#settled(question),
    });
    this.#roster = new Roster({
      ...this.#options,
      left: ({ id }) => this.#desk.leave(id),
      gone: (subscription) => this.#keeper.forget(subscription),
    });
    for (const subscription of this.#keeper.restore(store, this)) this.#roster.restore(subscription);
    this.#leaving = new Leaving({
      clock,
      log: this.log,
      keeper: this.#keeper,
      desk: this.#desk,
      waiting: this.#waiting,
      roster: this.#roster,
      deliveries: this.#deliveries,
      sessions: () => this.#sessions.values(),
    });
  }

  /** Whether the process is about to stop: nobody is asked anything any more. */
  get leaving(): boolean {
    return this.#leaving.begun;
  }

  get engine(): Engine {
    return this.#deliveries.engine;
  }

  /** Extension prefixes in use, each with the address that declares it. */
  get registry(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.offer.extensions!.map(({ prefix, uri }) => [prefix, uri]));
  }

  audit(record: AuditRecord): void {
    if (!this.#leaving.silences(record)) this.#options.audit?.(record);
  }

  append(event: Record<string, unknown>, options?: AppendOptions, proof?: symbol): Promise<void> {
    return unproven(event, proof) ?? this.log.append(event, options);
  }

  open(session: SessionHandle): void {
    this.#sessions.set(session.session_id, session);
  }

  end(session_id: string): void {
    this.#sessions.delete(session_id);
  }

  // ── listeners ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Reports what happens at the port, to every observer, until the returned function is called. */
  observe(observer: HubObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** A request always gets an answer (HS-04). With our extension it may resume an earlier subscription. */
  subscribe(request: SubscriptionRequest, principal: Principal, transport: string): Subscribed {
    if (this.#isExpired(principal)) return { answer: EXPIRED };
    this.#closeIfRightsChanged(resumeRequest(request.extensions)?.subscription_id, principal);
    const subscribed = this.#subscribe(request, principal, transport);
    for (const observer of this.#observers) observer.handshake(request, subscribed, principal, transport);
    return subscribed;
  }

  #subscribe(request: SubscriptionRequest, principal: Principal, transport: string): Subscribed {
    if (this.#leaving.begun) return { answer: COME_BACK };
    const resume = resumeRequest(request.extensions);
    const known = resume && this.#roster.own(resume.subscription_id, principal);
    if (!known) {
      const full = this.#roster.full(principal);
      if (full) return { answer: full };
    }
    const id = known?.id ?? this.#options.ids("sub");
    const answer = negotiate(request, this.offer, id);
    if (answer.type === "subscription.rejected") return { answer };
    const terms = this.#termsOf(request.capabilities, answer, principal);
    const subscription =
      known ??
      new HubSubscription({
        id,
        principal,
        transport,
        aaep_version: answer.aaep_version,
        request: request.capabilities,
        terms,
        view: viewOf(principal),
        joinedAt: this.engine.endCursor,
        port: this,
      });
    this.#roster.add(subscription);
    subscription.request = request.capabilities;
    subscription.pending = { terms, lastEventId: resume?.last_event_id };
    this.#keeper.remember(subscription);
    if (subscription.phase !== "open") {
      this.#roster.expect(subscription);
      this.#reconsider(subscription);
    }
    return { answer, subscription };
  }

  /** The stream starts, or resumes after the given event. A resume point of the handshake counts for the first stream. */
  connect(subscription: HubSubscription, peer: Peer, after?: string): void {
    if (subscription.phase === "closed") return peer.close("not_found");
    const { pending } = subscription;
    subscription.pending = undefined;
    const lastEventId = after ?? pending?.lastEventId;
    const terms = pending?.terms ?? subscription.terms;
    for (const observer of this.#observers)
      observer.connected(
        subscription.id,
        subscription.principal,
        subscription.transport,
        lastEventId !== undefined,
      );
    // A second stream for the same subscription: the newer one is where the person is (TRN-18).
    const { peer: older } = subscription;
    // It is let go of first: its end, which closing may report at once, is not the subscription's.
    subscription.detach();
    older?.close("replaced");
    this.#roster.arrived(subscription);
    const changed = terms !== subscription.terms;
    subscription.terms = terms;
    this.#attach(subscription, peer, lastEventId);
    if (changed) this.#keeper.remember(subscription);
    this.#reconsider(subscription);
    this.#deliveries.arm();
  }

  /** The connection was lost without a close message. */
  disconnect(subscription: HubSubscription, peer: Peer): void {
    if (subscription.peer !== peer) return;
    for (const observer of this.#observers) observer.disconnected(subscription.id, subscription.principal);
    if (subscription.phase === "open") this.#roster.lost(subscription);
  }

  find(subscription_id: string, principal: Principal): HubSubscription | undefined {
    this.#closeIfRightsChanged(subscription_id, principal);
    return this.#isExpired(principal) ? undefined : this.#roster.own(subscription_id, principal);
  }

  #isExpired(principal: Principal): boolean {
    return isExpired(principal, Date.now());
  }

  /**
   * A subscription keeps the rights it was made with. A principal that comes back with other rights starts anew, so that
   * it no longer receives what it lost the right to.
   */
  #closeIfRightsChanged(subscription_id: string | undefined, principal: Principal): void {
    const known = subscription_id === undefined ? undefined : this.#roster.own(subscription_id, principal);
    if (!known || sameRights(known.principal, principal)) return;
    for (const observer of this.#observers) observer.rightsChanged(known.id, principal);
    this.#roster.remove(known);
  }

  /** The producer ends a subscription, with a reason the listener can act on (HS-19). */
  close(subscription: HubSubscription, reason: string, sentence: string): void {
    const { peer } = subscription;
    peer?.tell(closeOf(subscription, reason, sentence));
    this.#roster.remove(subscription);
    peer?.close(reason);
  }

  closeAll(reason: string, sentence: string): void {
    for (const subscription of this.#roster.all) this.close(subscription, reason, sentence);
  }

  /**
   * The process is about to stop, and the next one goes on from the same log. Listeners are told to come back, and keep
   * their place and their questions. What runs on somebody's yes has this long to end, so that its outcome is known.
   */
  leaveOpen(finish_seconds: number): Promise<void> {
    return this.#leaving.leave(finish_seconds);
  }

  get subscriptions(): number {
    return this.#roster.size;
  }

  /** Anything but a request, from an authenticated sender. `bound` is the subscription of the connection it came on. */
  async handle(message: Incoming, principal: Principal, bound?: SubscriptionHandle): Promise<Handled> {
    if (this.#isExpired(principal))
      return message.type === "subscription.renegotiate" ? { answer: EXPIRED } : { taken: false };
    const found = this.#roster.own(message.subscription_id, principal);
    const subscription = bound === undefined || found === bound ? found : undefined;
    // A request for more time names a token too, so it counts like a reply.
    if ("reply_token" in message) return this.#replied(message, principal, subscription);
    switch (message.type) {
      case "subscription.renegotiate":
        return { answer: this.#renegotiate(message, subscription) };
      case "subscription.close":
        if (subscription) this.#roster.remove(subscription);
        return { taken: subscription !== undefined };
      case "earshot:status":
        if (subscription?.phase !== "open" || this.#isTooOften(subscription)) return { taken: false };
        subscription.standing(message.session_id);
        return { taken: true };
      case "earshot:cancel":
        return { taken: this.#cancel(message, principal, subscription) };
      case "earshot:follow":
        return { taken: this.#follow(message, subscription) };
    }
  }

  #replied(
    message: Reply | MoreTime,
    principal: Principal,
    subscription: HubSubscription | undefined,
  ): Handled {
    const allowed = this.retryAfter(principal) === undefined;
    const taken =
      message.type === "earshot:more_time"
        ? this.#desk.moreTime(message.reply_token, principal, subscription, allowed)
        : this.#desk.reply(message, principal, subscription, allowed);
    if (!allowed) return { taken };
    if (!taken) this.#replies.failed(principal.id);
    const outcome = taken ? "taken" : "refused";
    for (const observer of this.#observers) observer.replied(message, principal, outcome);
    return { taken };
  }

  retryAfter(principal: Principal): number | undefined {
    if (this.#replies.allows(principal.id)) return undefined;
    for (const observer of this.#observers) observer.rateLimited(principal);
    return this.#replies.retryAfterSeconds;
  }

  // ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Live subscriptions that can answer a question of this session (CON-04: unopened and in grace included). */
  answerable(type: string, session: SessionHandle): HubSubscription[] {
    return this.#roster.all.filter((subscription) => mayHold(subscription, type, session));
  }

  /** Whether somebody could be asked now who does not have more than enough questions already. */
  canAsk(type: string, session: SessionHandle): boolean {
    const { max_questions_per_principal: most } = this.#options;
    const people = new Map<string, HubSubscription[]>();
    for (const one of this.answerable(type, session)) {
      people.set(one.principal.id, [...(people.get(one.principal.id) ?? []), one]);
    }
    return [...people.values()].some((subscriptions) => this.#desk.waitingFor(subscriptions) < most);
  }

  /** Resolves true once somebody could answer; false when the time is up, or when `signal` says not to wait. */
  waitForListener(
    type: string,
    session: SessionHandle,
    seconds: number,
    signal?: AbortSignal,
  ): Promise<boolean> {
    return this.#waiting.until(() => this.canAsk(type, session), seconds, signal);
  }

  /** The longest any of the listeners needs, within the operator's ceiling (CON-47). */
  timeoutFor(type: string, session: SessionHandle, seconds: number): number {
    const needs = this.answerable(type, session).map(({ terms }) =>
      Number(terms.extension_terms[EXTENSION_PREFIX]?.["minimum_timeout_seconds"] ?? 0),
    );
    return Math.min(86_400, Math.max(seconds, ...needs));
  }

  /** Raises a question: from here on exactly one outcome. Its event goes into the log next. */
  ask(spec: QuestionSpec, session: SessionHandle, hooks: QuestionHooks): Question {
    return this.#desk.ask(spec, this.answerable(spec.event.type, session), this.#waking(hooks));
  }

  /** A question of the process before this one, with the token and the deadline it has (CON-04). */
  askAgain(spec: QuestionSpec, session: SessionHandle, hooks: QuestionHooks, standing: Standing): Question {
    const { reply_token, type } = spec.event;
    const before = {
      ...standing,
      sentTo: this.#keeper.sentBefore(reply_token),
      grace_seconds: this.#options.grace_seconds,
    };
    return this.#desk.askAgain(spec, this.answerable(type, session), this.#waking(hooks), before);
  }

  #waking(hooks: QuestionHooks): QuestionHooks {
    const settled: QuestionHooks["settled"] = (question, settlement) => {
      hooks.settled(question, settlement);
      this.#waiting.wake();
    };
    return { ...hooks, settled };
  }

  #settled({ token, sentTo, spec }: Question): void {
    const missed = { session_id: spec.event.session_id, reply_token: token };
    for (const id of sentTo) {
      const subscription = this.#roster.get(id);
      if (subscription?.phase === "away") subscription.miss(missed);
    }
  }

  #attach(subscription: HubSubscription, peer: Peer, lastEventId: string | undefined): void {
    const asked = (delivery: LaneDelivery, token: string) => {
      const question = this.#desk.sent(token, subscription, delivery);
      return !delivery.cursor && question ? movedDeadline(question, subscription, this.registry) : undefined;
    };
    const start = subscription.attach(this.engine, peer, lastEventId, asked);
    const { missed } = subscription;
    subscription.missed = [];
    // Whoever goes on exactly where it was hears the outcome with the rest; the others are told it again.
    if (start === "resumed") return;
    retell(missed, subscription, peer, this.engine.window, this.registry);
  }

  /** Telling everything again costs something: a person needs it now and then, a flood gets no more (F22). */
  #isTooOften({ id }: HubSubscription): boolean {
    const allowed = this.#summaries.allows(id);
    if (allowed) this.#summaries.failed(id);
    return !allowed;
  }

  #cancel(
    { session_id, reason }: CancelSession,
    principal: Principal,
    subscription: HubSubscription | undefined,
  ): boolean {
    const session = this.#sessions.get(session_id);
    if (!subscription || !session || !mayAnswer(principal) || !mayHear(principal, session.audience))
      return false;
    session.cancel(reason);
    return true;
  }

  #follow({ sessions }: FollowSessions, subscription: HubSubscription | undefined): boolean {
    if (!subscription || this.#isTooOften(subscription)) return false;
    subscription.followed = sessions;
    subscription.view = viewOf(subscription.principal, sessions);
    const { peer, lastEventId } = subscription;
    if (peer) this.#attach(subscription, peer, lastEventId);
    this.#keeper.remember(subscription);
    this.#reconsider(subscription);
    this.#deliveries.arm();
    return true;
  }

  #renegotiate(
    message: SubscriptionRenegotiate,
    subscription: HubSubscription | undefined,
  ): SubscriptionAccepted | SubscriptionRejected {
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
      this.#roster.remove(subscription);
      return result.answer;
    }
    subscription.request = result.request;
    subscription.renegotiate(this.#termsOf(result.request, result.answer, principal));
    this.#keeper.remember(subscription);
    this.#reconsider(subscription);
    this.#deliveries.arm();
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

  /** After any change: joins every open question it can answer now, leaves those it cannot (CON-01, CON-04, CON-19). */
  #reconsider(subscription: HubSubscription): void {
    for (const question of [...this.#desk.questions]) {
      const { type, session_id } = question.spec.event;
      const audience = this.#sessions.get(session_id)?.audience;
      if (mayHold(subscription, type, { session_id, audience })) question.holders.add(subscription.id);
      else question.drop(subscription.id);
    }
    this.#waiting.wake();
  }
}
