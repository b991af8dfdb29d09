/**
 * Who is subscribed, and for how long they are waited for: an accepted subscription that never opens its stream
 * expires, a lost line has a grace and then an hour to come back, and nobody may have too many (CON-04, F22).
 */
import type { Clock } from "../protocol/clock.ts";
import type { Principal } from "../protocol/principal.ts";
import type { SubscriptionRejected } from "../protocol/types.ts";
import type { HubSubscription } from "./subscription.ts";

interface RosterOptions {
  readonly clock: Clock;
  readonly max_subscriptions: number;
  readonly max_subscriptions_per_principal: number;
  readonly unopened_seconds: number;
  readonly grace_seconds: number;
  readonly resume_seconds: number;
  /** Its answer is no longer waited for. */
  readonly left: (subscription: HubSubscription) => void;
  /** It will not come back. */
  readonly gone: (subscription: HubSubscription) => void;
}

export class Roster {
  readonly #options: RosterOptions;
  readonly #all = new Map<string, HubSubscription>();

  constructor(options: RosterOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  get all(): HubSubscription[] {
    return [...this.#all.values()];
  }

  get(subscription_id: string): HubSubscription | undefined {
    return this.#all.get(subscription_id);
  }

  /** An id is no credential: a subscription is found only by the principal it belongs to (SEC-13). */
  own(subscription_id: string, principal: Principal): HubSubscription | undefined {
    const subscription = this.#all.get(subscription_id);
    return subscription?.principal.id === principal.id ? subscription : undefined;
  }

  add(subscription: HubSubscription): void {
    this.#all.set(subscription.id, subscription);
  }

  /** The rejection for one subscription too many. One's own line that is long gone makes room first. */
  full(principal: Principal): SubscriptionRejected | undefined {
    const { max_subscriptions, max_subscriptions_per_principal } = this.#options;
    const mine = this.all.filter((one) => one.principal.id === principal.id);
    const most = principal.max_subscriptions ?? max_subscriptions_per_principal;
    const gone = mine.length >= most ? mine.find(({ live }) => !live) : undefined;
    if (gone) this.remove(gone);
    const full = mine.length >= most && !gone;
    if (!full && this.#all.size < max_subscriptions) return undefined;
    return {
      type: "subscription.rejected",
      reason_code: "rate_limit",
      reason_message: full
        ? `You have ${mine.length} subscriptions open; close one first.`
        : "This agent has too many listeners right now. Try again shortly.",
      retry_after_seconds: 30,
    };
  }

  /** Accepted, its stream not open yet: its answer is waited for until it turns out not to come. */
  expect(subscription: HubSubscription): void {
    const { unopened_seconds } = this.#options;
    subscription.cancelTimer?.();
    subscription.live = true;
    if (subscription.phase === "away") this.#letGo(subscription, unopened_seconds);
    else subscription.cancelTimer = this.#after(unopened_seconds, () => this.remove(subscription));
  }

  arrived(subscription: HubSubscription): void {
    subscription.cancelTimer?.();
    subscription.cancelTimer = undefined;
  }

  /** The line dropped: a listener that can resume keeps its place for a while, any other has left. */
  lost(subscription: HubSubscription): void {
    subscription.detach();
    if (!subscription.resumable) return this.remove(subscription);
    subscription.phase = "away";
    this.#letGo(subscription, this.#options.grace_seconds);
  }

  /** The process that served it is gone, and its line with it: the same grace, the same time to come back. */
  restore(subscription: HubSubscription): void {
    this.add(subscription);
    this.lost(subscription);
  }

  remove(subscription: HubSubscription): void {
    if (subscription.phase === "closed") return;
    subscription.cancelTimer?.();
    subscription.detach();
    subscription.phase = "closed";
    subscription.live = false;
    this.#all.delete(subscription.id);
    this.#options.gone(subscription);
    this.#options.left(subscription);
  }

  /**
   * The process is about to stop, and the next one finds those who can come back where they were. Nobody has left
   * because of it.
   */
  stop(): HubSubscription[] {
    const all = this.all;
    for (const subscription of all) {
      subscription.cancelTimer?.();
      subscription.phase = "closed";
      subscription.live = false;
    }
    this.#all.clear();
    return all;
  }

  /** After the grace its answer is no longer waited for; it may still come back. */
  #letGo(subscription: HubSubscription, grace_seconds: number): void {
    const rest = Math.max(0, this.#options.resume_seconds - grace_seconds);
    subscription.cancelTimer = this.#after(grace_seconds, () => {
      subscription.live = false;
      subscription.cancelTimer = this.#after(rest, () => this.remove(subscription));
      this.#options.left(subscription);
    });
  }

  #after(seconds: number, callback: () => void): () => void {
    const { clock } = this.#options;
    return clock.timer(clock.now() + seconds * 1000, callback);
  }
}
