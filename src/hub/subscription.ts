/**
 * Subscriptions from handshake to close. A subscription is more than a connection: one that can resume keeps its place
 * while the connection is down, and its answer is still waited for during a grace period (CON-04).
 */
import type { Attachment, Engine } from "../delivery/engine.ts";
import type { LaneDelivery, View } from "../delivery/lane.ts";
import type { SessionTrack } from "../delivery/log-window.ts";
import type { Peer, SubscriptionHandle } from "../protocol/hub-port.ts";
import type { Terms } from "../protocol/negotiate.ts";
import type { Clock } from "../protocol/platform.ts";
import { mayAnswer, mayHear, type Principal } from "../protocol/principal.ts";
import type { Capabilities, SubscriptionRejected } from "../protocol/types.ts";
import type { Log } from "./log.ts";
import { factOf, factsOf, type LogStore, type SubscriptionFact } from "./store.ts";

type SubscriptionPhase = "unopened" | "open" | "away" | "closed";

/** A question that was sent to a subscription and settled while its connection was down. */
export interface MissedOutcome {
  readonly session_id: string;
  readonly reply_token: string;
}
const MOST_MISSED = 32;

/** What a subscription needs of its hub. */
interface SubscriptionPort {
  connect(subscription: Subscription, peer: Peer, lastEventId?: string): void;
  disconnect(subscription: Subscription, peer: Peer): void;
}

interface SubscriptionSpec {
  readonly id: string;
  readonly principal: Principal;
  readonly transport: string;
  readonly aaep_version: string;
  readonly request: Capabilities;
  readonly terms: Terms;
  readonly joinedAt: string;
  readonly under?: readonly Terms[];
  readonly followed?: readonly string[];
}

export class Subscription implements SubscriptionHandle {
  readonly id: string;
  readonly principal: Principal;
  readonly transport: string;
  readonly aaep_version: string;
  /** The end of the log when it was accepted. */
  readonly joinedAt: string;
  request: Capabilities;
  terms: Terms;
  view: View;
  /** Sessions named by `earshot:follow`; none means all it may hear. */
  followed: readonly string[];
  phase: SubscriptionPhase = "unopened";
  peer: Peer | undefined;
  /** The last event that can serve as a cursor. */
  lastEventId: string | undefined;
  /** Whether its answer is still waited for. */
  live = true;
  cancelTimer: (() => void) | undefined;
  missed: MissedOutcome[] = [];
  /** Terms and resume point of a handshake whose stream has not been opened yet. */
  pending: { readonly terms: Terms; readonly lastEventId: string | undefined } | undefined;
  /** The terms that deliveries may have been made under: as long as there is only one, a cursor is exact. */
  under: readonly Terms[];
  readonly #port: SubscriptionPort;
  #attachment: Attachment | undefined;

  constructor(spec: SubscriptionSpec, port: SubscriptionPort) {
    this.#port = port;
    this.id = spec.id;
    this.principal = spec.principal;
    this.transport = spec.transport;
    this.aaep_version = spec.aaep_version;
    this.joinedAt = spec.joinedAt;
    this.request = spec.request;
    this.terms = spec.terms;
    this.under = spec.under ?? [];
    this.followed = spec.followed ?? [];
    this.view = viewOf(spec.principal, this.followed);
  }

  connect(peer: Peer, lastEventId?: string): void {
    this.#port.connect(this, peer, lastEventId);
  }

  disconnect(peer: Peer): void {
    this.#port.disconnect(this, peer);
  }

  /** SSE always resumes; other transports need our extension; stdio ends with its process. */
  get resumable(): boolean {
    if (this.transport === "stdio") return false;
    return this.transport === "sse" || this.terms.extensionTerms["earshot"]?.["resume"] === true;
  }

  answers(type: string): boolean {
    return type === "aaep:agent.awaiting.confirmation" ? this.terms.confirmation : this.terms.clarification;
  }

  follows(session_id: string): boolean {
    return this.followed.length === 0 || this.followed.includes(session_id);
  }

  /** Answers "what is happening?": sends a summary of one session or of all, to this subscription only. */
  sendStatus(session_id?: string): void {
    this.#attachment?.summarize(session_id);
  }

  addMissed(question: MissedOutcome): void {
    this.missed.push(question);
    if (this.missed.length > MOST_MISSED) this.missed.shift();
  }

  /** `onQuestion` is called for every question before it is sent, and may return a delivery to send after it. */
  attach(
    engine: Engine,
    peer: Peer,
    lastEventId: string | undefined,
    onQuestion: (delivery: LaneDelivery, token: string) => LaneDelivery | undefined,
  ): Attachment["start"] {
    this.#attachment?.detach();
    this.peer = peer;
    this.phase = "open";
    this.live = true;
    const previous = this.under.length < 2 ? (this.under[0] ?? this.terms) : undefined;
    this.#addTerms(this.terms);
    const sink = {
      send: (delivery: LaneDelivery) => {
        const { token, cursor } = delivery;
        const next = token === undefined ? undefined : onQuestion(delivery, token);
        if (cursor) this.lastEventId = delivery.event_id;
        const sent = peer.send(delivery);
        if (!next) return sent;
        return sent ? sent.then(() => peer.send(next)) : peer.send(next);
      },
    };
    this.#attachment = engine.attach({
      sink,
      terms: this.terms,
      view: this.view,
      // Without a cursor it has received nothing since it was accepted, so it starts there.
      resume: { event_id: lastEventId ?? this.joinedAt, ...(previous ? { previous } : {}) },
    });
    return this.#attachment.start;
  }

  renegotiate(terms: Terms): void {
    this.terms = terms;
    if (!this.#attachment) return;
    this.#addTerms(terms);
    this.#attachment.renegotiate(terms);
  }

  /** A cursor may be from before a change of terms: then the subscriber drops the overlap, and nothing is lost. */
  #addTerms(terms: Terms): void {
    if (!this.under.includes(terms)) this.under = [...this.under.slice(-1), terms];
  }

  detach(): void {
    this.#attachment?.detach();
    this.#attachment = undefined;
    this.peer = undefined;
  }
}

interface RegistryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly maxSubscriptions: number;
  readonly maxSubscriptionsPerPrincipal: number;
  readonly unopenedSeconds: number;
  readonly graceSeconds: number;
  readonly resumeSeconds: number;
  /** Called when the answer of a subscription is no longer waited for. */
  readonly stopWaitingFor: (subscription: Subscription) => void;
}

/**
 * Who is subscribed, and for how long: an accepted subscription that never opens its stream expires, a lost connection
 * has a grace period and then an hour to come back, and the number per principal is limited (CON-04, F22). Resumable
 * subscriptions are stored, so that a restart is no more than a lost connection; closed ones are removed (privacy).
 */
/** Names of fields in stores written by earlier versions. */
const RENAMED: Readonly<Record<string, string>> = {
  verbosity_given: "verbosityGiven",
  signed_only: "signedOnly",
  extension_terms: "extensionTerms",
  expires_at: "expiresAt",
  max_subscriptions: "maxSubscriptions",
};

const withCurrentNames = <Value extends object>(value: Value): Value =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [RENAMED[name] ?? name, field])) as Value;

export class SubscriptionRegistry {
  readonly #options: RegistryOptions;
  readonly #all = new Map<string, Subscription>();
  readonly #stored = new Set<string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  get all(): Subscription[] {
    return [...this.#all.values()];
  }

  get(subscription_id: string): Subscription | undefined {
    return this.#all.get(subscription_id);
  }

  /** An id is no credential: a subscription is found only by the principal it belongs to (SEC-13). */
  find(subscription_id: string, principal: Principal): Subscription | undefined {
    const subscription = this.#all.get(subscription_id);
    return subscription?.principal.id === principal.id ? subscription : undefined;
  }

  add(subscription: Subscription): void {
    this.#all.set(subscription.id, subscription);
  }

  /** After a restart: every stored subscription has lost its connection just now. */
  restore(store: LogStore, port: SubscriptionPort): void {
    for (const [id, { joined_at, ...fact }] of factsOf(store, "subscription")) {
      this.#stored.add(id);
      const { principal, terms, under } = fact;
      const current = {
        ...fact,
        principal: withCurrentNames(principal),
        terms: withCurrentNames(terms),
        under: under.map(withCurrentNames),
      };
      const subscription = new Subscription({ ...current, id, joinedAt: joined_at }, port);
      this.add(subscription);
      this.lost(subscription);
    }
  }

  /** Stores the current terms. A subscription that cannot resume cannot come back after a restart either. */
  save(subscription: Subscription): void {
    const { id, principal, transport, aaep_version, request, terms, under, followed, joinedAt } =
      subscription;
    if (!subscription.resumable) return this.#deleteFact(subscription);
    this.#stored.add(id);
    this.#write(id, {
      principal,
      transport,
      aaep_version,
      request,
      terms,
      under,
      followed,
      joined_at: joinedAt,
    });
  }

  #deleteFact({ id }: Subscription): void {
    if (this.#stored.delete(id)) this.#write(id, null);
  }

  #write(id: string, fact: SubscriptionFact | null): void {
    // A log that fails closes every subscription by itself.
    this.#options.log.keep([factOf("subscription", id, fact)]).catch(() => undefined);
  }

  /** The rejection for one subscription too many. A disconnected one of the same principal is replaced first. */
  rejectionIfFull(principal: Principal): SubscriptionRejected | undefined {
    const { maxSubscriptions, maxSubscriptionsPerPrincipal } = this.#options;
    const own = this.all.filter((one) => one.principal.id === principal.id);
    const most = principal.maxSubscriptions ?? maxSubscriptionsPerPrincipal;
    const disconnected = own.length >= most ? own.find(({ live }) => !live) : undefined;
    if (disconnected) this.remove(disconnected);
    const full = own.length >= most && !disconnected;
    if (!full && this.#all.size < maxSubscriptions) return undefined;
    return {
      type: "subscription.rejected",
      reason_code: "rate_limit",
      reason_message: full
        ? `You have ${own.length} subscriptions open; close one first.`
        : "This agent has too many listeners right now. Try again shortly.",
      retry_after_seconds: 30,
    };
  }

  /** Accepted, but its stream is not open yet: its answer is waited for until it expires. */
  expectStream(subscription: Subscription): void {
    const { unopenedSeconds } = this.#options;
    subscription.cancelTimer?.();
    subscription.live = true;
    if (subscription.phase === "away") this.#startGracePeriod(subscription, unopenedSeconds);
    else subscription.cancelTimer = this.#after(unopenedSeconds, () => this.remove(subscription));
  }

  connected(subscription: Subscription): void {
    subscription.cancelTimer?.();
    subscription.cancelTimer = undefined;
  }

  /** The connection was lost: a subscription that can resume keeps its place for a while, any other is removed. */
  lost(subscription: Subscription): void {
    subscription.detach();
    if (!subscription.resumable) return this.remove(subscription);
    subscription.phase = "away";
    this.#startGracePeriod(subscription, this.#options.graceSeconds);
  }

  remove(subscription: Subscription): void {
    if (subscription.phase === "closed") return;
    subscription.cancelTimer?.();
    subscription.detach();
    subscription.phase = "closed";
    subscription.live = false;
    this.#all.delete(subscription.id);
    this.#deleteFact(subscription);
    this.#options.stopWaitingFor(subscription);
  }

  /** Before a shutdown: closes everything here, but the next process finds the stored subscriptions. */
  shutdown(): Subscription[] {
    const all = this.all;
    for (const subscription of all) {
      subscription.cancelTimer?.();
      subscription.phase = "closed";
      subscription.live = false;
    }
    this.#all.clear();
    return all;
  }

  /** After the grace period its answer is no longer waited for; it may still come back. */
  #startGracePeriod(subscription: Subscription, seconds: number): void {
    const rest = Math.max(0, this.#options.resumeSeconds - seconds);
    subscription.cancelTimer = this.#after(seconds, () => {
      subscription.live = false;
      subscription.cancelTimer = this.#after(rest, () => this.remove(subscription));
      this.#options.stopWaitingFor(subscription);
    });
  }

  #after(seconds: number, callback: () => void): () => void {
    const { clock } = this.#options;
    return clock.timer(clock.now() + seconds * 1000, callback);
  }
}

/** Whether a subscription can be asked a question of this type by this session. */
export const canBeAsked = (
  subscription: Subscription,
  type: string,
  session: { readonly session_id: string; readonly audience: readonly string[] | undefined },
): boolean =>
  subscription.live &&
  subscription.answers(type) &&
  mayAnswer(subscription.principal) &&
  subscription.follows(session.session_id) &&
  mayHear(subscription.principal, session.audience);

/** The sessions a subscription receives: all that its principal may hear, or only those it follows among them. */
export function viewOf(principal: Principal, follow: readonly string[] = []): View {
  const { audiences } = principal;
  const all = principal.role === "admin" || audiences === "all";
  const heard = all ? "all" : JSON.stringify([...audiences].sort());
  const only = follow.length > 0 ? new Set(follow) : undefined;
  return {
    key: `${heard} ${JSON.stringify([...follow].sort())}`,
    hears: (track: SessionTrack) =>
      (only === undefined || only.has(track.session_id)) && mayHear(principal, track.audience),
  };
}
