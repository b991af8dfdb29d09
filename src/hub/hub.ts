/**
 * The hub: every message of a listener arrives here, whatever the transport, and every event of an agent is delivered
 * from here. It implements the interface that transports use (HubPort), admission checks and the rate limit for
 * replies included. The rate of events is limited in delivery/drain.ts.
 */
import { Engine } from "../delivery/engine.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { EarshotError } from "../protocol/errors.ts";
import { extensionOffer, resumeRequest } from "../protocol/extension.ts";
import type {
  Handled,
  HubObserver,
  HubPort,
  Incoming,
  Peer,
  SubscriptionHandle,
} from "../protocol/hub-port.ts";
import { negotiate, type Offer, renegotiate, resolveTerms } from "../protocol/negotiate.ts";
import type { Clock, Ids } from "../protocol/platform.ts";
import { isExpired, mayAnswer, mayHear, type Principal, sameRights } from "../protocol/principal.ts";
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
} from "../protocol/types.ts";
import { type AppendOptions, createLog, LOG_BROKEN, type Log } from "./log.ts";
import { QuestionRegistry } from "./questions.ts";
import { type RateLimit, RateLimiter } from "./rate-limiter.ts";
import type { AuditRecord } from "./record.ts";
import { SessionSummaries, type SummaryPhrases } from "./session-summary.ts";
import type { LogStore } from "./store.ts";
import { Subscription, SubscriptionRegistry, viewOf } from "./subscription.ts";

export type { AppendOptions } from "./log.ts";

export interface HubOptions {
  readonly store: LogStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** What the producer can serve; extensions beyond our own may be added. */
  readonly offer: Offer;
  /** Sentences of status summaries by language; English by default. */
  readonly phrases?: Readonly<Record<string, SummaryPhrases>>;
  /** Most subscriptions in all. */
  readonly maxSubscriptions?: number;
  readonly maxSubscriptionsPerPrincipal?: number;
  /** An accepted subscription that does not open its stream is removed after this. */
  readonly unopenedSeconds?: number;
  /** How long the answer of a lost connection is still waited for (CON-04). */
  readonly graceSeconds?: number;
  /** How long a lost connection can be resumed. */
  readonly resumeSeconds?: number;
  /** Most open questions per principal at a time (F22). */
  readonly maxQuestionsPerPrincipal?: number;
  /** The longest a question may stay open in all; announced in the handshake. */
  readonly ceilingSeconds?: number;
  /** Rate limit for failed replies of one principal (A02): `burst` at once, one more every `refillMs`. */
  readonly replyLimit?: RateLimit;
  /** Receives what was asked, delivered, answered and done, and by whom (CNF-41). */
  readonly audit?: (record: AuditRecord) => void;
  /** Receives warnings for the operator. */
  readonly warn?: (sentence: string) => void;
}

export const HUB_DEFAULTS = {
  maxSubscriptions: 10_000,
  maxSubscriptionsPerPrincipal: 64,
  unopenedSeconds: 30,
  graceSeconds: 30,
  resumeSeconds: 3600,
  maxQuestionsPerPrincipal: 32,
  ceilingSeconds: 86_400,
  replyLimit: { burst: 20, refillMs: 3_000 },
};

/** What the hub knows of a session beyond the log. */
export interface SessionHandle {
  readonly session_id: string;
  readonly audience: readonly string[] | undefined;
  /** A person asked for it to stop. */
  cancel(reason: string | undefined): void;
  /** Settles when no approved tool is running any more. */
  finished(): Promise<unknown>;
}

export type Subscribed =
  | { readonly answer: SubscriptionRejected; readonly subscription?: undefined }
  | { readonly answer: SubscriptionAccepted; readonly subscription: Subscription };

/**
 * Required to append an irreversible `tool.invoked`. Only a session's event writer and the relay import it, so nothing
 * else can announce such a call without the approval that allows it.
 */
export const GATE_PROOF: unique symbol = Symbol("passed the gate");

const EXPIRED: SubscriptionRejected = {
  type: "subscription.rejected",
  reason_code: "authentication_required",
  reason_message: "The credentials have expired. Sign in again, reconnect, and send the request once more.",
};

const RESTARTING = "The agent is restarting. Reconnect in a moment.";

const RETRY_AFTER_RESTART: SubscriptionRejected = {
  type: "subscription.rejected",
  reason_code: "rate_limit",
  reason_message: RESTARTING,
  retry_after_seconds: 1,
};

export class Hub implements HubPort {
  readonly log: Log;
  readonly engine: Engine;
  readonly offer: Offer;
  readonly questions: QuestionRegistry;
  readonly #options: HubOptions & typeof HUB_DEFAULTS;
  readonly #subscriptions: SubscriptionRegistry;
  readonly #sessions = new Map<string, SessionHandle>();
  readonly #summaries: SessionSummaries;
  readonly #statusLimit: RateLimiter;
  readonly #replyLimit: RateLimiter;
  readonly #observers = new Set<HubObserver>();
  /** Streams whose end has not been reported yet: a subscription may detach from its peer before the stream ends. */
  readonly #streams = new WeakSet<Peer>();
  readonly #unfollow: () => void;
  #deliveryTimer: { at: number; cancel: () => void } | undefined;
  #shutdown: Promise<void> | undefined;
  #phase: "open" | "finishing" | "over" = "open";

  /** Restores everything that the store holds: the log, which is read once, then the facts. */
  constructor(options: HubOptions) {
    this.#options = { ...HUB_DEFAULTS, ...options };
    const { store, clock, ids, offer, audit } = options;
    const { graceSeconds, maxQuestionsPerPrincipal, replyLimit, ceilingSeconds } = this.#options;
    this.offer = { ...offer, extensions: [extensionOffer(ceilingSeconds), ...(offer.extensions ?? [])] };
    const now = () => clock.now();
    this.#statusLimit = new RateLimiter({ burst: 20, refillMs: 1_000 }, now);
    this.#replyLimit = new RateLimiter(replyLimit, now);
    this.#summaries = new SessionSummaries(options.phrases);
    this.engine = new Engine({
      log: store.identity,
      now,
      timestamp: () => clock.timestamp(),
      ids,
      registry: this.registry,
      words: this.#summaries,
    });
    this.log = createLog({ store, failed: () => this.closeAll("producer_shutdown", LOG_BROKEN) });
    const history = store.recent();
    for (const entry of history) this.log.restore(entry);
    this.#deliver(history);
    this.#unfollow = store.follow(this.log.next, (entries) => this.#receive(entries));
    this.#subscriptions = new SubscriptionRegistry({
      ...this.#options,
      log: this.log,
      stopWaitingFor: ({ id }) => this.questions.drop(id),
    });
    this.questions = new QuestionRegistry({
      clock,
      log: this.log,
      store,
      subscriptions: this.#subscriptions,
      extensions: this.registry,
      audit: audit && ((record) => this.audit(record)),
      maxPerPrincipal: maxQuestionsPerPrincipal,
      graceSeconds,
    });
    this.#subscriptions.restore(store, this);
  }

  /** Whether the process is about to stop, so that nothing new is asked. */
  get shuttingDown(): boolean {
    return this.#phase !== "open";
  }

  /** Extension prefixes in use, each with the URI that declares it. */
  get registry(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.offer.extensions!.map(({ prefix, uri }) => [prefix, uri]));
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** After the log has stopped, the record stops too: only the end of running tools is still recorded. */
  audit(record: AuditRecord): void {
    if (this.#phase === "over" || (this.#phase === "finishing" && record.kind !== "ended")) return;
    this.#options.audit?.(record);
  }

  /** Resolves to the first position of the write. An irreversible `tool.invoked` requires `GATE_PROOF`. */
  append(event: Record<string, unknown>, options?: AppendOptions, proof?: symbol): Promise<number> {
    if (
      event["irreversible"] === true &&
      event["type"] === "aaep:agent.tool.invoked" &&
      proof !== GATE_PROOF
    ) {
      const why = "Only session.tool, after an approval, and relay can announce an irreversible tool call.";
      return Promise.reject(new EarshotError("SEQ-14", why));
    }
    return this.log.append(event, options);
  }

  openSession(session: SessionHandle): void {
    this.#sessions.set(session.session_id, session);
  }

  endSession(session_id: string): void {
    this.#sessions.delete(session_id);
  }

  // ── Delivery ──

  #receive(entries: readonly LogEntry[]): void {
    try {
      this.#deliver(entries);
    } catch (error) {
      this.#options.warn?.(`An event could not be delivered: ${String(error)}`);
    }
    this.#scheduleDeliveries();
  }

  #deliver(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#summaries.read(entry);
    this.engine.append(entries);
  }

  /** One timer for all deliveries that wait for their rate or pace. Call it after anything that may move the next one. */
  #scheduleDeliveries(): void {
    const at = this.engine.next;
    if (this.#deliveryTimer?.at === at) return;
    this.#deliveryTimer?.cancel();
    this.#deliveryTimer = undefined;
    if (at === Infinity) return;
    const cancel = this.#options.clock.timer(at, () => {
      this.#deliveryTimer = undefined;
      this.engine.run();
      this.#scheduleDeliveries();
    });
    this.#deliveryTimer = { at, cancel };
  }

  // ── Subscriptions ──

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
    if (this.shuttingDown) return { answer: RETRY_AFTER_RESTART };
    const resume = resumeRequest(request.extensions);
    const known = resume && this.#subscriptions.find(resume.subscription_id, principal);
    if (!known) {
      const rejection = this.#subscriptions.rejectionIfFull(principal);
      if (rejection) return { answer: rejection };
    }
    const id = known?.id ?? this.#options.ids("sub");
    const answer = negotiate(request, this.offer, id);
    if (answer.type === "subscription.rejected") return { answer };
    const negotiated = this.#termsOf(request.capabilities, answer, principal);
    // The same terms again are no change: delivery resumes exactly, without resending what might overlap.
    const terms =
      known && JSON.stringify(known.terms) === JSON.stringify(negotiated) ? known.terms : negotiated;
    const subscription =
      known ??
      new Subscription(
        {
          id,
          principal,
          transport,
          aaep_version: answer.aaep_version,
          request: request.capabilities,
          terms,
          joinedAt: this.engine.endCursor,
        },
        this,
      );
    this.#subscriptions.add(subscription);
    subscription.request = request.capabilities;
    subscription.pending = { terms, lastEventId: resume?.last_event_id };
    this.#subscriptions.save(subscription);
    if (subscription.phase !== "open") {
      this.#subscriptions.expectStream(subscription);
      this.questions.reconsider(subscription);
    }
    return { answer, subscription };
  }

  /** The stream starts, or resumes after the given event. A resume point of the handshake counts for the first stream. */
  connect(subscription: Subscription, peer: Peer, after?: string): void {
    if (subscription.phase === "closed") return peer.close("not_found");
    const { pending } = subscription;
    subscription.pending = undefined;
    const lastEventId = after ?? pending?.lastEventId;
    const terms = pending?.terms ?? subscription.terms;
    this.#streams.add(peer);
    for (const observer of this.#observers)
      observer.connected(
        subscription.id,
        subscription.principal,
        subscription.transport,
        lastEventId !== undefined,
      );
    // A second stream for the same subscription replaces the first (TRN-18).
    const { peer: older } = subscription;
    // Detached first, because closing may report its end at once, and the subscription goes on.
    subscription.detach();
    older?.close("replaced");
    this.#subscriptions.connected(subscription);
    const changed = terms !== subscription.terms;
    subscription.terms = terms;
    this.#attach(subscription, peer, lastEventId);
    if (changed) this.#subscriptions.save(subscription);
    this.questions.reconsider(subscription);
    this.#scheduleDeliveries();
  }

  /** The stream ended. Unless the subscription was closed or has another stream, the connection was lost. */
  disconnect(subscription: Subscription, peer: Peer): void {
    if (this.#streams.delete(peer))
      for (const observer of this.#observers) observer.disconnected(subscription.id, subscription.principal);
    if (subscription.peer !== peer) return;
    if (subscription.phase === "open") this.#subscriptions.lost(subscription);
  }

  find(subscription_id: string, principal: Principal): Subscription | undefined {
    this.#closeIfRightsChanged(subscription_id, principal);
    return this.#isExpired(principal) ? undefined : this.#subscriptions.find(subscription_id, principal);
  }

  #isExpired(principal: Principal): boolean {
    return isExpired(principal, Date.now());
  }

  /**
   * A subscription keeps the rights it was made with. A principal that comes back with other rights starts anew, so that
   * it no longer receives what it lost the right to.
   */
  #closeIfRightsChanged(subscription_id: string | undefined, principal: Principal): void {
    const known =
      subscription_id === undefined ? undefined : this.#subscriptions.find(subscription_id, principal);
    if (!known || sameRights(known.principal, principal)) return;
    for (const observer of this.#observers) observer.rightsChanged(known.id, principal);
    this.#subscriptions.remove(known);
  }

  /** The producer closes a subscription, with a reason the listener can act on (HS-19). */
  close(subscription: Subscription, reason: string, sentence: string): void {
    const { peer } = subscription;
    peer?.tell(closeMessage(subscription, reason, sentence));
    this.#subscriptions.remove(subscription);
    peer?.close(reason);
  }

  closeAll(reason: string, sentence: string): void {
    for (const subscription of this.#subscriptions.all) this.close(subscription, reason, sentence);
  }

  /**
   * Graceful stop before another process continues on the same store. Subscribers are told to reconnect and keep their
   * place; questions keep their token and deadline. As after a crash, except that running approved tools get this long to
   * finish, so that their outcome is known.
   */
  shutdown(finishSeconds: number): Promise<void> {
    this.#shutdown ??= this.#stop(finishSeconds);
    return this.#shutdown;
  }

  async #stop(finishSeconds: number): Promise<void> {
    const { clock } = this.#options;
    this.#phase = "finishing";
    this.questions.shutdown();
    this.log.stop("completions");
    for (const subscription of this.#subscriptions.shutdown()) {
      const { peer, resumable } = subscription;
      // Those who can resume need only know that the connection ends.
      if (!resumable) peer?.tell(closeMessage(subscription, "producer_shutdown", RESTARTING));
      subscription.detach();
      peer?.close("producer_shutdown");
    }
    this.#unfollow();
    this.#deliveryTimer?.cancel();
    this.#deliveryTimer = undefined;
    let cancel = () => {};
    const timeout = new Promise<void>((resolve) => {
      cancel = clock.timer(clock.now() + finishSeconds * 1000, resolve);
    });
    const finished = Promise.all([...this.#sessions.values()].map((session) => session.finished()));
    await Promise.race([finished, timeout]);
    cancel();
    this.#phase = "over";
    this.log.stop("all");
  }

  // ── Messages ──

  /** Everything but a request. `bound` is the subscription of the connection that the message came on. */
  async handle(message: Incoming, principal: Principal, bound?: SubscriptionHandle): Promise<Handled> {
    if (this.#isExpired(principal))
      return message.type === "subscription.renegotiate" ? { answer: EXPIRED } : { taken: false };
    const found = this.#subscriptions.find(message.subscription_id, principal);
    const subscription = bound === undefined || found === bound ? found : undefined;
    // A request for more time carries a token too, so it counts like a reply.
    if ("reply_token" in message) return this.#replied(message, principal, subscription);
    switch (message.type) {
      case "subscription.renegotiate":
        return { answer: this.#renegotiate(message, subscription) };
      case "subscription.close":
        if (subscription) this.#subscriptions.remove(subscription);
        return { taken: subscription !== undefined };
      case "earshot:status":
        if (subscription?.phase !== "open" || this.#isOverStatusLimit(subscription)) return { taken: false };
        subscription.sendStatus(message.session_id);
        return { taken: true };
      case "earshot:cancel":
        return { taken: this.#cancel(message, principal, subscription) };
      case "earshot:follow":
        return { taken: this.#follow(message, subscription) };
    }
  }

  #replied(message: Reply | MoreTime, principal: Principal, subscription: Subscription | undefined): Handled {
    const allowed = this.retryAfter(principal) === undefined;
    const taken =
      message.type === "earshot:more_time"
        ? this.questions.moreTime(message.reply_token, principal, subscription, allowed)
        : this.questions.reply(message, principal, subscription, allowed);
    if (!allowed) return { taken };
    if (!taken) this.#replyLimit.charge(principal.id);
    const outcome = taken ? "taken" : "refused";
    for (const observer of this.#observers) observer.replied(message, principal, outcome);
    return { taken };
  }

  retryAfter(principal: Principal): number | undefined {
    if (this.#replyLimit.allows(principal.id)) return undefined;
    for (const observer of this.#observers) observer.rateLimited(principal);
    return this.#replyLimit.retryAfterSeconds;
  }

  #attach(subscription: Subscription, peer: Peer, lastEventId: string | undefined): void {
    const start = subscription.attach(this.engine, peer, lastEventId, (delivery, token) =>
      this.questions.sent(token, subscription, delivery),
    );
    const { missed } = subscription;
    subscription.missed = [];
    // An exact resume replays the outcomes with the rest of the log; otherwise they are sent again.
    if (start !== "resumed") this.questions.sendMissed(missed, subscription, peer, this.engine.window);
  }

  /** Summaries cost work, so their rate is limited per subscription (F22). */
  #isOverStatusLimit({ id }: Subscription): boolean {
    const allowed = this.#statusLimit.allows(id);
    if (allowed) this.#statusLimit.charge(id);
    return !allowed;
  }

  #cancel(
    { session_id, reason }: CancelSession,
    principal: Principal,
    subscription: Subscription | undefined,
  ): boolean {
    const session = this.#sessions.get(session_id);
    if (!subscription || !session || !mayAnswer(principal) || !mayHear(principal, session.audience))
      return false;
    session.cancel(reason);
    return true;
  }

  #follow({ sessions }: FollowSessions, subscription: Subscription | undefined): boolean {
    if (!subscription || this.#isOverStatusLimit(subscription)) return false;
    subscription.followed = sessions;
    subscription.view = viewOf(subscription.principal, sessions);
    const { peer, lastEventId } = subscription;
    if (peer) this.#attach(subscription, peer, lastEventId);
    this.#subscriptions.save(subscription);
    this.questions.reconsider(subscription);
    this.#scheduleDeliveries();
    return true;
  }

  #renegotiate(
    message: SubscriptionRenegotiate,
    subscription: Subscription | undefined,
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
      this.#subscriptions.remove(subscription);
      return result.answer;
    }
    subscription.request = result.request;
    subscription.renegotiate(this.#termsOf(result.request, result.answer, principal));
    this.#subscriptions.save(subscription);
    this.questions.reconsider(subscription);
    this.#scheduleDeliveries();
    return result.answer;
  }

  /** A principal who may only listen is never asked, whatever its request says. */
  #termsOf(request: SubscriptionRequest["capabilities"], answer: SubscriptionAccepted, principal: Principal) {
    if (!mayAnswer(principal)) {
      answer.honored_capabilities.supports_confirmation_reply = false;
      answer.honored_capabilities.supports_clarification_reply = false;
    }
    return resolveTerms(request, answer.honored_capabilities);
  }
}

const closeMessage = (
  { id }: Subscription,
  reason_code: string,
  reason_message: string,
): SubscriptionClose => ({ type: "subscription.close", subscription_id: id, reason_code, reason_message });
