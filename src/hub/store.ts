/**
 * The store port: keeps log entries and facts, says when they are stored, and hands stored entries to followers. The
 * stores are in src/stores; test/contracts/store.ts says what each of them promises.
 */
import type { LogEntry, LogIdentity } from "../delivery/entry.ts";
import type { Terms } from "../protocol/negotiate.ts";
import type { Principal } from "../protocol/principal.ts";
import type { AwaitingClarification, AwaitingConfirmation, Capabilities } from "../protocol/types.ts";
import type { Settlement } from "./questions.ts";
import type { Act } from "./record.ts";

export type { LogEntry, LogIdentity };

/**
 * Durable key/value data next to the log: a question and its token, a reply, a grant, a subscription, an entry of the
 * record. The newest value of a kind and key counts; `null` removes it.
 */
export interface Fact {
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
}

export interface LogStore {
  readonly identity: LogIdentity;
  /** True if the log outlives the process: an agent that stops then leaves its sessions open for the next process. */
  readonly durable?: boolean;
  /**
   * Resolves to the position of the first entry once entries and facts are stored: all of one call or none of it. Calls
   * are answered in the order they were made.
   */
  append(entries: readonly LogEntry[], facts?: readonly Fact[]): Promise<number>;
  /** The newest entries, oldest first, without holes: a snapshot from which a hub restores its state. */
  recent(): readonly LogEntry[];
  /**
   * Passes every entry from a position on to `receive`, once and in order: entries already in memory before `follow`
   * returns, later ones once they are stored and before their `append` resolves. A follower that throws affects neither
   * the others nor the append. Returns a function that stops it.
   */
  follow(from: number, receive: (entries: readonly LogEntry[]) => void): () => void;
  /** Every stored entry from a position on. */
  read(from: number): AsyncIterable<LogEntry>;
  /** The stored facts of a kind, each key where it was first written. */
  facts(kind: string): readonly Fact[];
}

// ── The facts that a restart needs. Each is written together with the event that makes it true, and removed together
// with the event that ends it. ──

/** By session_id, while the session is open. */
export interface SessionFact {
  readonly language: string;
  readonly audience?: readonly string[];
  readonly correlation_id?: string;
}

/** By reply_token: a question, and a person's answer until it is used or the session ends. */
export interface QuestionFact {
  readonly session_id: string;
  /** Identifies the question when the agent asks again. */
  readonly key: string;
  /** A hash of what was asked: the answer applies to exactly this. */
  readonly fingerprint: string;
  readonly event: AwaitingConfirmation | AwaitingClarification;
  readonly extensions: number;
  readonly ceiling_seconds: number;
  /** Wall-clock milliseconds, because the monotonic clock starts anew with each process. */
  readonly deadline: number;
  readonly extensions_used: number;
  readonly total_seconds: number;
  /** A tool asked: its approval is used when the tool starts, and not before. */
  readonly gated: boolean;
  readonly settled?: Settlement;
  /** Approved, but not used yet. */
  readonly unused?: boolean;
}

/** By session and key: an approval that was used. Written before the function runs. */
export interface IntentFact extends Pick<Act, "tool" | "tool_call_id" | "params_hash"> {
  readonly session_id: string;
  readonly key: string;
  readonly reply_token: string;
  /** begun: it runs, or its outcome is not known. unknown: the process stopped meanwhile, and listeners were told. */
  readonly state: "begun" | "done" | "unknown";
  /** What the person approved: the question's `action` in every language it came in. */
  readonly words: Readonly<Record<string, unknown>>;
}

/** By subscription_id: a subscription that may be resumed. */
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

interface Facts {
  readonly session: SessionFact;
  readonly question: QuestionFact;
  readonly intent: IntentFact;
  readonly subscription: SubscriptionFact;
  /** By reply_token: the subscriptions that were sent the question, so that their reply counts (CON-28). */
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
