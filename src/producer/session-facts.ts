/**
 * The durable facts of a session: what was asked, what a person answered, and which approvals were used. Each fact is
 * stored with the event that makes it true; all are removed when the session ends. Methods return the facts to write.
 */

import type { Question, Settlement } from "../hub/questions.ts";
import type { Act } from "../hub/record.ts";
import { type Fact, factOf, type IntentFact, type QuestionFact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Clock } from "../protocol/platform.ts";
import type { ConfirmationReply } from "../protocol/types.ts";

/** Identifies a question when it is asked again (`key`), and what exactly is asked (`fingerprint`). */
export interface QuestionIdentity {
  readonly key: string;
  readonly fingerprint: string;
}

const wall = (clock: Clock): number => Date.parse(clock.timestamp());

/** Approved as asked, without a change. */
const isApproval = ({ outcome, reply }: Settlement): boolean =>
  outcome === "accepted" && (reply as ConfirmationReply | undefined)?.modified_action === undefined;

export class SessionFacts {
  readonly #session_id: string;
  readonly #clock: Clock;
  readonly #questions = new Map<string, QuestionFact>();
  readonly #intents = new Map<string, IntentFact>();
  readonly #calls = new Map<string, number>();
  readonly #busy = new Set<string>();
  /** Keys of answers that the agent has received in this process. */
  readonly #received = new Set<string>();

  constructor(
    session_id: string,
    clock: Clock,
    questions: Iterable<QuestionFact> = [],
    intents: Iterable<IntentFact> = [],
  ) {
    this.#session_id = session_id;
    this.#clock = clock;
    for (const question of questions) this.#questions.set(question.key, question);
    for (const intent of intents) this.#intents.set(intent.key, intent);
  }

  get questions(): QuestionFact[] {
    return [...this.#questions.values()];
  }
  get intents(): IntentFact[] {
    return [...this.#intents.values()];
  }

  /**
   * The author's key, or by default what is asked and how often it was asked before: an agent that starts over asks in
   * the same order.
   */
  keyOf(given: string | undefined, fingerprint: string): string {
    if (given !== undefined) return `key ${given}`;
    const nth = this.#calls.get(fingerprint) ?? 0;
    this.#calls.set(fingerprint, nth + 1);
    return `${fingerprint} ${nth}`;
  }

  /** Runs one call at a time per key. */
  async exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy.has(key)) {
      throw new EarshotError(
        "key_in_use",
        "Another call with the same key is still running. Await it first, or give this one its own key.",
      );
    }
    this.#busy.add(key);
    try {
      return await work();
    } finally {
      this.#busy.delete(key);
    }
  }

  question(key: string): QuestionFact | undefined {
    return this.#questions.get(key);
  }
  intent(key: string): IntentFact | undefined {
    return this.#intents.get(key);
  }

  /** Milliseconds until the deadline. Setting the wall clock back gives no more time. */
  msLeft({ deadline, total_seconds }: QuestionFact): number {
    return Math.min(Math.max(0, deadline - wall(this.#clock)), total_seconds * 1000);
  }

  asked(question: Question, { key, fingerprint }: QuestionIdentity): Fact[] {
    const { spec } = question;
    const { event, extensions, ceiling_seconds } = spec;
    const session_id = this.#session_id;
    const before = this.#questions.get(key);
    const known = before?.event.reply_token === event.reply_token ? before : undefined;
    // A question asked under this key before is void.
    const old = known ? [] : this.drop(key);
    const kept = this.#keep({
      ...{ session_id, key, fingerprint, event, extensions, ceiling_seconds },
      deadline: wall(this.#clock) + question.msLeft,
      extensions_used: question.extensionsUsed,
      total_seconds: question.totalSeconds,
      gated: known?.gated ?? spec.act !== undefined,
    });
    return [...old, ...kept];
  }

  extended(question: Question): Fact[] {
    const known = this.#byToken(question.token);
    return known ? this.asked(question, known) : [];
  }

  /**
   * A person's answer is kept for an agent that asks again after a restart; silence is not, so that it may ask anew.
   * `received` says whether the agent that asked is there to receive it.
   */
  settled(token: string, settlement: Settlement, received: boolean): Fact[] {
    const known = this.#byToken(token);
    if (!known) return [];
    const sent = factOf("sent", token, null);
    if (settlement.origin !== "human") return [sent, ...this.drop(known.key)];
    if (received) this.#received.add(known.key);
    const unused = isApproval(settlement) && (known.gated || !received);
    return [sent, ...this.#keep({ ...known, settled: settlement, unused })];
  }

  /** An earlier answer to exactly this question; an approval only until its deadline. */
  recall({ key, fingerprint }: QuestionIdentity): { settlement: Settlement; facts: Fact[] } | undefined {
    const known = this.#questions.get(key);
    if (known?.fingerprint !== fingerprint || !known.settled) return undefined;
    if (known.settled.outcome === "accepted" && wall(this.#clock) >= known.deadline) return undefined;
    this.#received.add(key);
    const facts = known.unused && !known.gated ? this.#keep({ ...known, unused: false }) : [];
    return { settlement: known.settled, facts };
  }

  /** Approvals that no agent has come back for. */
  get unused(): QuestionFact[] {
    return this.questions.filter(({ unused, key }) => unused && !this.#received.has(key));
  }

  /** The answer is void or used. */
  drop(key: string): Fact[] {
    const known = this.#questions.get(key);
    if (!known) return [];
    this.#questions.delete(key);
    this.#received.delete(key);
    return [factOf("question", known.event.reply_token, null)];
  }

  /** The approval is used: from here on the outcome is unknown until the end is stored. */
  begun(key: string, asked: string, act: Pick<Act, "tool" | "tool_call_id" | "params_hash">): Fact[] {
    const event = this.#questions.get(asked)?.event;
    const words = Object.fromEntries(
      Object.entries(event ?? {}).filter(([name]) => /^action(?:_|$)|^localization_hints$/.test(name)),
    );
    const { tool, tool_call_id, params_hash } = act;
    const reply_token = event?.reply_token ?? "";
    const intent: IntentFact = {
      ...{ session_id: this.#session_id, key, tool, tool_call_id, params_hash, reply_token, words },
      state: "begun",
    };
    return [...this.drop(asked), this.#keepIntent(intent)];
  }

  /** What failed was reported as failed, so it may be asked again. */
  ended(key: string, state: "done" | "unknown" | "failed"): Fact[] {
    const intent = this.#intents.get(key);
    if (!intent) return [];
    if (state !== "failed") return [this.#keepIntent({ ...intent, state })];
    this.#intents.delete(key);
    return [factOf("intent", `${this.#session_id} ${key}`, null)];
  }

  /** The session has ended: removes all its facts. */
  close(): Fact[] {
    const facts = [
      factOf("session", this.#session_id, null),
      ...[...this.#questions.keys()].flatMap((key) => this.drop(key)),
      ...[...this.#intents.keys()].map((key) => factOf("intent", `${this.#session_id} ${key}`, null)),
    ];
    this.#intents.clear();
    return facts;
  }

  #keepIntent(intent: IntentFact): Fact {
    this.#intents.set(intent.key, intent);
    return factOf("intent", `${this.#session_id} ${intent.key}`, intent);
  }

  #keep(question: QuestionFact): Fact[] {
    this.#questions.set(question.key, question);
    return [factOf("question", question.event.reply_token, question)];
  }

  #byToken(token: string): QuestionFact | undefined {
    return this.questions.find(({ event }) => event.reply_token === token);
  }
}
