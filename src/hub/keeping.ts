/**
 * What a hub keeps of its listeners, so that a restart is no more to them than a lost line: who they are, on which
 * terms they listen, and which questions they were sent (CON-04, CON-28). What ends is forgotten (privacy).
 */
import { viewOf } from "./access.ts";
import { factOf, factsOf } from "./facts.ts";
import type { Log } from "./log.ts";
import type { Question } from "./questions.ts";
import type { LogStore } from "./store.ts";
import { HubSubscription } from "./subscription.ts";

export class Keeper {
  readonly #log: Log;
  readonly #kept = new Set<string>();
  readonly #sent = new Set<Question>();
  readonly #sentBefore: Map<string, readonly string[]>;

  constructor(log: Log, store: LogStore) {
    this.#log = log;
    this.#sentBefore = factsOf(store, "sent");
  }

  /** The listeners of the process before this one. */
  restore(store: LogStore, port: HubSubscription["port"]): HubSubscription[] {
    return [...factsOf(store, "subscription")].map(([id, fact]) => {
      this.#kept.add(id);
      const { principal, followed, joined_at, ...rest } = fact;
      const view = viewOf(principal, followed);
      return new HubSubscription({ ...rest, id, principal, view, followed, joinedAt: joined_at, port });
    });
  }

  /** Only who can come back after a lost line can come back after a restart. */
  remember(subscription: HubSubscription): void {
    const { id, principal, transport, aaep_version, request, terms, under, followed, joinedAt } =
      subscription;
    if (!subscription.resumable) return this.forget(subscription);
    this.#kept.add(id);
    const fact = { principal, transport, aaep_version, request, terms, under, followed, joined_at: joinedAt };
    this.#write(factOf("subscription", id, fact));
  }

  forget({ id }: HubSubscription): void {
    if (this.#kept.delete(id)) this.#write(factOf("subscription", id, null));
  }

  /** One write for everybody who is sent a question at the same moment. */
  sent(question: Question): void {
    if (this.#sent.size === 0) queueMicrotask(() => this.flush());
    this.#sent.add(question);
  }

  /** Who was sent a question before the restart. */
  sentBefore(token: string): readonly string[] {
    return this.#sentBefore.get(token) ?? [];
  }

  flush(): void {
    const facts = [...this.#sent].flatMap(({ open, token, sentTo }) => {
      // Once it is settled, who was sent it goes with the event that says so.
      return open ? [factOf("sent", token, [...sentTo])] : [];
    });
    this.#sent.clear();
    this.#write(...facts);
  }

  /** A log that takes nothing more has told everyone already. */
  #write(...facts: Parameters<Log["keep"]>[0]): void {
    this.#log.keep(facts).catch(() => undefined);
  }
}
