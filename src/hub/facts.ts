/**
 * What is kept beside the events so that a restart finds it, one kind each. Written with the event that makes it true,
 * and removed with the one that ends it: what is here is open, or may still be needed.
 */

import type { Terms } from "../protocol/negotiate.ts";
import type { Principal } from "../protocol/principal.ts";
import type { AwaitingClarification, AwaitingConfirmation, Capabilities } from "../protocol/types.ts";
import type { Act } from "./options.ts";
import type { Settlement } from "./questions.ts";
import type { Fact, LogStore } from "./store.ts";

/** By session_id, while the session is open. */
export interface SessionFact {
  readonly language: string;
  readonly audience?: readonly string[];
  readonly correlation_id?: string;
}

/** By reply_token: a question, and a person's answer to it until it is used or the session ends. */
export interface QuestionFact {
  readonly session_id: string;
  /** What makes an agent's question the same one when it asks again. */
  readonly key: string;
  /** What was asked about, hashed: an answer is to this and nothing else. */
  readonly fingerprint: string;
  readonly event: AwaitingConfirmation | AwaitingClarification;
  readonly extensions: number;
  readonly ceiling_seconds: number;
  /** Wall-clock milliseconds; the clock that never jumps begins anew with the process. */
  readonly deadline: number;
  readonly extensions_used: number;
  readonly total_seconds: number;
  /** A tool asks: a yes to it is used when the tool begins, and not before. */
  readonly gated: boolean;
  readonly settled?: Settlement;
  /** The answer was a yes, and nothing has come of it yet. */
  readonly unused?: boolean;
}

/** By session and key: a yes that was spent. Written before the function runs. */
export interface IntentFact extends Pick<Act, "tool" | "tool_call_id" | "params_hash"> {
  readonly session_id: string;
  readonly key: string;
  readonly reply_token: string;
  /** begun: it runs, or nobody knows. unknown: the process stopped meanwhile, and everyone was told. */
  readonly state: "begun" | "done" | "unknown";
  /** What the person agreed to, in their words: the question's `action` in every language it came in. */
  readonly words: Readonly<Record<string, unknown>>;
}

/** By subscription_id: a listener that may come back. */
export interface SubscriptionFact {
  readonly principal: Principal;
  readonly transport: string;
  readonly aaep_version: string;
  readonly request: Capabilities;
  readonly terms: Terms;
  readonly under: readonly Terms[];
  readonly followed: readonly string[];
  readonly joined_at: string;
}

export interface Facts {
  readonly session: SessionFact;
  readonly question: QuestionFact;
  readonly intent: IntentFact;
  readonly subscription: SubscriptionFact;
  /** By reply_token: the subscriptions that were sent the question, whose answer therefore counts (CON-28). */
  readonly sent: readonly string[];
}

/** A fact to write; `null` removes it. */
export const factOf = <Kind extends keyof Facts>(
  kind: Kind,
  key: string,
  value: Facts[Kind] | null,
): Fact => ({
  kind,
  key,
  value,
});

/** The facts of one kind, by key. */
export const factsOf = <Kind extends keyof Facts>(
  store: Pick<LogStore, "facts">,
  kind: Kind,
): Map<string, Facts[Kind]> =>
  new Map(store.facts(kind).map(({ key, value }) => [key, value as Facts[Kind]]));
