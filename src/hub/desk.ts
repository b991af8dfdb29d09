/**
 * Where open questions lie: who holds them, who was sent them, and whose answer counts. Every refusal looks the same
 * and takes the same steps, whatever was wrong (CNF-14 … CNF-17, CON-11, CON-28).
 */
import type { LaneDelivery } from "../delivery/lane.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Principal } from "../protocol/principal.ts";
import type { AwaitingConfirmation, Reply } from "../protocol/types.ts";
import { mayAnswer, mayHear } from "./access.ts";
import type { AuditRecord } from "./options.ts";
import {
  Question,
  type QuestionHooks,
  type QuestionSpec,
  type Settlement,
  type Standing,
} from "./questions.ts";
import type { HubSubscription } from "./subscription.ts";

interface DeskOptions {
  readonly clock: Clock;
  readonly audit: ((record: AuditRecord) => void) | undefined;
  /** Whoever was sent an open question has changed. */
  readonly sent: (question: Question) => void;
  /** Told once for every question, after it was settled. */
  readonly settled: (question: Question, settlement: Settlement) => void;
}

/** Holds a question after a restart, in place of everyone who may come back. */
const RESTART = "restart";

export class QuestionDesk {
  readonly #options: DeskOptions;
  readonly #all = new Map<string, Question>();
  /** Stands in for a question that does not exist, so that looking for one takes the same steps. */
  readonly #decoy: Question;

  constructor(options: DeskOptions) {
    this.#options = options;
    const { clock } = options;
    const now = () => clock.now();
    const nothing = { warn: () => {}, extended: () => {}, settled: () => {} };
    const event = { type: "aaep:agent.awaiting.confirmation", timestamp: "", timeout_seconds: 0 };
    const spec = { event: event as AwaitingConfirmation, extensions: 0, ceiling_seconds: 0 };
    this.#decoy = new Question(spec, { now, timestamp: () => "", timer: () => () => {} }, nothing);
  }

  /** From here on exactly one outcome. */
  ask(spec: QuestionSpec, holders: readonly HubSubscription[], hooks: QuestionHooks): Question {
    const { clock, audit } = this.#options;
    const { event, act } = spec;
    const { session_id, reply_token } = event;
    const asked = { session_id, reply_token, question: { ...event }, ...(act ? { act } : {}) };
    audit?.({ kind: "asked", ...asked, at: clock.timestamp() });
    return this.#open(spec, holders, hooks);
  }

  /**
   * A question of the process before this one. Whoever could answer has the grace to come back: on a line that can
   * resume, or with a new subscription (CON-04).
   */
  askAgain(
    spec: QuestionSpec,
    holders: readonly HubSubscription[],
    hooks: QuestionHooks,
    before: Standing & { readonly sentTo: readonly string[]; readonly grace_seconds: number },
  ): Question {
    const question = this.#open(spec, holders, hooks, before);
    for (const id of before.sentTo) question.sentTo.add(id);
    question.holders.add(RESTART);
    const { clock } = this.#options;
    const cancel = clock.timer(clock.now() + before.grace_seconds * 1000, () => question.drop(RESTART));
    void question.result.then(cancel);
    return question;
  }

  #open(
    spec: QuestionSpec,
    holders: readonly HubSubscription[],
    hooks: QuestionHooks,
    standing?: Standing,
  ): Question {
    const { clock, audit } = this.#options;
    const { session_id } = spec.event;
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
        // Books that cannot be kept are somebody's trouble, but not that of whoever heard the question.
        hooks.settled(question, settlement);
        this.#options.settled(question, settlement);
      }
    };
    const question = new Question(spec, clock, { ...hooks, settled }, standing);
    this.#all.set(question.token, question);
    for (const { id } of holders) question.holders.add(id);
    return question;
  }

  /** The process is about to stop: nothing is settled here any more. */
  leaveOpen(): void {
    for (const question of this.#all.values()) question.leaveOpen();
    this.#all.clear();
  }

  get questions(): Iterable<Question> {
    return this.#all.values();
  }

  /** How many questions wait for any of these subscriptions: a person can be asked only so much at once (F22). */
  waitingFor(subscriptions: readonly HubSubscription[]): number {
    let count = 0;
    for (const { holders } of this.#all.values()) {
      if (subscriptions.some(({ id }) => holders.has(id))) count++;
    }
    return count;
  }

  /** The token has left for this listener: now its answer counts, and is waited for if it can give one. */
  sent(
    token: string,
    subscription: HubSubscription,
    { json, cursor }: Pick<LaneDelivery, "json" | "cursor">,
  ): Question | undefined {
    const { clock, audit } = this.#options;
    const question = this.#all.get(token);
    if (!question) return undefined;
    const { session_id } = question.spec.event;
    audit?.({
      kind: "delivered",
      session_id,
      reply_token: token,
      subscription_id: subscription.id,
      principal: subscription.principal.id,
      question: JSON.parse(json) as Record<string, unknown>,
      again: !cursor,
      at: clock.timestamp(),
    });
    if (!question.sentTo.has(subscription.id)) {
      question.sentTo.add(subscription.id);
      this.#options.sent(question);
    }
    if (subscription.live && subscription.answers(question.spec.event.type))
      question.holders.add(subscription.id);
    return question;
  }

  /** `allowed` is what the rate limiter says: a reply beyond it takes the same steps, and is refused. */
  reply(
    reply: Reply,
    principal: Principal,
    subscription: HubSubscription | undefined,
    allowed: boolean,
  ): boolean {
    const question = this.#all.get(reply.reply_token);
    const entitled = this.#entitled(question, principal, subscription, allowed);
    return (question ?? this.#decoy).answer(reply, principal.id, entitled);
  }

  /** Sent by a listener who holds the question; refused in silence otherwise. */
  moreTime(
    token: string,
    principal: Principal,
    subscription: HubSubscription | undefined,
    allowed: boolean,
  ): boolean {
    const question = this.#all.get(token);
    const entitled = this.#entitled(question, principal, subscription, allowed);
    if (!question || !entitled || !question.extend()) return false;
    question.hooks.extended(question);
    return true;
  }

  /** Its answer is no longer waited for. */
  leave(subscription_id: string): void {
    for (const question of [...this.#all.values()]) question.drop(subscription_id);
  }

  #entitled(
    question: Question | undefined,
    principal: Principal,
    subscription: HubSubscription | undefined,
    allowed: boolean,
  ): boolean {
    const checks = [
      allowed,
      question !== undefined,
      mayAnswer(principal),
      // As they are known now: what they may hear can have changed since they were sent it.
      mayHear(principal, (question ?? this.#decoy).spec.audience),
      subscription?.live === true,
      subscription?.answers((question ?? this.#decoy).spec.event.type) === true,
      (question ?? this.#decoy).sentTo.has(subscription?.id ?? ""),
    ];
    return checks.filter(Boolean).length === checks.length;
  }
}
