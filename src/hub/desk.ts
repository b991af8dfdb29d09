/**
 * Where open questions lie: who holds them, who was sent them, and whose answer counts. Every refusal looks the same
 * and takes the same steps, whatever was wrong (CNF-14 … CNF-17, CON-11, CON-28).
 */
import type { Clock } from "../protocol/clock.ts";
import type { AwaitingConfirmation, Reply } from "../protocol/types.ts";
import { mayAnswer, type Principal } from "./access.ts";
import { Question, type QuestionHooks, type QuestionSpec, type Settlement } from "./questions.ts";
import type { HubSubscription } from "./subscription.ts";
import { Throttle } from "./throttle.ts";

/** How a question ended, for whoever keeps books (CNF-41). Never sent to listeners. */
export interface SettlementRecord {
  readonly session_id: string;
  readonly reply_token: string;
  readonly outcome: Settlement["outcome"];
  readonly origin: Settlement["origin"];
  /** Who answered, as the transport knows them. */
  readonly principal?: string;
  readonly at: string;
}

interface DeskOptions {
  readonly clock: Clock;
  readonly audit?: ((record: SettlementRecord) => void) | undefined;
  /** Told once for every question, after it was settled. */
  readonly settled: (question: Question, settlement: Settlement) => void;
}

export class QuestionDesk {
  readonly #options: DeskOptions;
  readonly #open = new Map<string, Question>();
  readonly #throttle: Throttle;
  /** Stands in for a question that does not exist, so that looking for one takes the same steps. */
  readonly #decoy: Question;

  constructor(options: DeskOptions) {
    this.#options = options;
    const { clock } = options;
    const now = () => clock.now();
    this.#throttle = new Throttle({ now });
    const nothing = { warn: () => {}, extended: () => {}, settled: () => {} };
    const event = { type: "aaep:agent.awaiting.confirmation", timestamp: "", timeout_seconds: 0 };
    const spec = { event: event as AwaitingConfirmation, extensions: 0, ceiling_seconds: 0 };
    this.#decoy = new Question(spec, { now, timestamp: () => "", timer: () => () => {} }, nothing);
  }

  /** From here on exactly one outcome. */
  ask(spec: QuestionSpec, holders: readonly HubSubscription[], hooks: QuestionHooks): Question {
    const { clock, audit } = this.#options;
    const question = new Question(spec, clock, {
      ...hooks,
      settled: (settled, settlement) => {
        this.#open.delete(settled.token);
        const { outcome, origin, principal } = settlement;
        const { session_id } = spec.event;
        try {
          audit?.({
            session_id,
            reply_token: settled.token,
            outcome,
            origin,
            ...(principal === undefined ? {} : { principal }),
            at: clock.timestamp(),
          });
        } finally {
          // Books that cannot be kept are somebody's trouble, but not that of whoever heard the question.
          hooks.settled(settled, settlement);
          this.#options.settled(settled, settlement);
        }
      },
    });
    this.#open.set(question.token, question);
    for (const { id } of holders) question.holders.add(id);
    return question;
  }

  get questions(): Iterable<Question> {
    return this.#open.values();
  }

  /** How many questions wait for any of these subscriptions: a person can be asked only so much at once (F22). */
  waitingFor(subscriptions: readonly HubSubscription[]): number {
    let count = 0;
    for (const { holders } of this.#open.values()) {
      if (subscriptions.some(({ id }) => holders.has(id))) count++;
    }
    return count;
  }

  /** The token has left for this listener: now its answer counts, and is waited for if it can give one. */
  sent(token: string, subscription: HubSubscription): Question | undefined {
    const question = this.#open.get(token);
    if (!question) return undefined;
    question.sentTo.add(subscription.id);
    if (subscription.live && subscription.answers(question.spec.event.type))
      question.holders.add(subscription.id);
    return question;
  }

  reply(reply: Reply, principal: Principal, subscription: HubSubscription | undefined): boolean {
    const key = subscription?.id ?? `principal ${principal.id}`;
    const question = this.#open.get(reply.reply_token);
    const taken = (question ?? this.#decoy).answer(
      reply,
      principal.id,
      this.#entitled(question, principal, subscription, this.#throttle.allows(key)),
    );
    if (!taken) this.#throttle.failed(key);
    return taken;
  }

  /** Sent by a listener who holds the question; refused in silence otherwise. */
  moreTime(token: string, principal: Principal, subscription: HubSubscription | undefined): boolean {
    const key = subscription?.id ?? `principal ${principal.id}`;
    const question = this.#open.get(token);
    const entitled = this.#entitled(question, principal, subscription, this.#throttle.allows(key));
    if (!question || !entitled || !question.extend()) {
      this.#throttle.failed(key);
      return false;
    }
    question.hooks.extended(question);
    return true;
  }

  /** Its answer is no longer waited for. */
  leave(subscription_id: string): void {
    for (const question of [...this.#open.values()]) question.drop(subscription_id);
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
      subscription?.live === true,
      subscription?.answers((question ?? this.#decoy).spec.event.type) === true,
      (question ?? this.#decoy).sentTo.has(subscription?.id ?? ""),
    ];
    return checks.filter(Boolean).length === checks.length;
  }
}
