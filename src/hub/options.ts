/** What a hub is made of and what its methods answer with. */
import type { Clock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Ids } from "../protocol/ids.ts";
import type { Offer } from "../protocol/negotiate.ts";
import type { Reply } from "../protocol/types.ts";
import type { Backplane } from "./backplane.ts";
import type { DigestPhrases } from "./digest.ts";
import type { EntryOptions } from "./log.ts";
import type { Settlement } from "./questions.ts";
import type { RateLimit } from "./rate-limiter.ts";
import type { Fact, LogStore } from "./store.ts";

/**
 * Shown with an event that says something irreversible runs: only the gate and the relay hold it. It is exported to them
 * and from nowhere else, so that nobody can announce such an act without the yes that allows it.
 */
export const PASSED: unique symbol = Symbol("passed the gate");

/** Refuses to announce something irreversible for anyone who does not hold the proof. */
export function unproven(
  event: Record<string, unknown>,
  proof: symbol | undefined,
): Promise<never> | undefined {
  if (event["irreversible"] !== true || event["type"] !== "aaep:agent.tool.invoked" || proof === PASSED)
    return;
  const what = "Something irreversible is announced only by session.tool, after a yes, or by relay.";
  return Promise.reject(new EarshotError("SEQ-14", what));
}

/** What an entry may carry besides its event; fields in other languages replace those of the event (CON-49). */
export interface AppendOptions extends EntryOptions {
  readonly localized?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Kept together with the event, or not at all. */
  readonly facts?: readonly Fact[];
}

/** What a yes would run: the tool, and the exact parameters, of which `secret` names those that were not shown. */
export interface Act {
  readonly tool: string;
  readonly tool_call_id: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly params_hash: string;
  readonly secret: readonly string[];
}

interface Recorded {
  readonly session_id: string;
  readonly at: string;
}

/**
 * What the record is told (CNF-41), just before the event that says so goes to the store; a delivery, just before it
 * leaves. Never sent to listeners; what of it is kept is the keeper's policy.
 */
export type AuditRecord = Recorded &
  (
    | {
        readonly kind: "asked";
        readonly reply_token: string;
        /** The question as it went into the log, in every language and length it comes in. */
        readonly question: Readonly<Record<string, unknown>>;
        /** Where a tool asked. */
        readonly act?: Act;
      }
    | {
        readonly kind: "delivered";
        readonly reply_token: string;
        readonly subscription_id: string;
        readonly principal: string;
        /** The question exactly as this listener got it, in its language and verbosity. */
        readonly question: Readonly<Record<string, unknown>>;
        /** Sent before: the listener had joined again, or its terms had changed. */
        readonly again: boolean;
      }
    | {
        readonly kind: "replied";
        readonly reply_token: string;
        readonly subscription_id: string;
        /** Who answered, as the transport knows them; `reply.decided_by` is only what the listener says. */
        readonly principal: string;
        readonly reply: Reply;
      }
    | {
        readonly kind: "settled";
        readonly reply_token: string;
        readonly outcome: Settlement["outcome"];
        readonly origin: Settlement["origin"];
        readonly principal?: string;
      }
    | {
        /** Nobody could be asked, so nothing was. */
        readonly kind: "not_asked";
        readonly origin: "policy";
        readonly question: Readonly<Record<string, unknown>>;
      }
    /** The yes is spent; the function runs once this is kept. */
    | ({ readonly kind: "begun"; readonly reply_token: string } & ActRef)
    /** not_started: the session ended, or it was taken back, before the function could run. */
    | ({ readonly kind: "ended"; readonly status: "success" | "error" | "timeout" | "not_started" } & ActRef)
    /** The process stopped between the two: nobody knows. */
    | ({ readonly kind: "unknown" } & ActRef)
  );

type ActRef = Pick<Act, "tool" | "tool_call_id" | "params_hash">;

export interface HubOptions {
  readonly store: LogStore;
  /** What it appends is announced here, and what it delivers is heard here. */
  readonly backplane: Backplane;
  readonly clock: Clock;
  readonly ids: Ids;
  /** What the producer can serve; extensions beyond our own may be added. */
  readonly offer: Offer;
  /** The digest's sentences by language; English by default. */
  readonly phrases?: Readonly<Record<string, DigestPhrases>>;
  readonly max_subscriptions?: number;
  readonly max_subscriptions_per_principal?: number;
  /** An accepted subscription that never opens its stream goes after this. */
  readonly unopened_seconds?: number;
  /** How long a lost line may stay lost before it counts as silence (CON-04). */
  readonly grace_seconds?: number;
  readonly resume_seconds?: number;
  /** Most questions that may wait for one principal at a time (F22). */
  readonly max_questions_per_principal?: number;
  /** The longest a question may stay open in all, announced in the handshake. */
  readonly ceiling_seconds?: number;
  /** Failed replies a principal may send (A02): so many at once, one more every `refillMs`. */
  readonly reply_limit?: RateLimit;
  /** Told what was asked, delivered, answered and done, and by whom (CNF-41). */
  readonly audit?: (record: AuditRecord) => void;
}

export const HUB_DEFAULTS = {
  max_subscriptions: 10_000,
  max_subscriptions_per_principal: 64,
  unopened_seconds: 30,
  grace_seconds: 30,
  resume_seconds: 3600,
  max_questions_per_principal: 32,
  ceiling_seconds: 86_400,
  reply_limit: { burst: 20, refillMs: 3_000 },
};

/** What the hub knows of a session beyond the log: how to stop it, and who may hear it. */
export interface SessionHandle {
  readonly session_id: string;
  readonly audience: readonly string[] | undefined;
  /** A person asked for it to stop. */
  cancel(reason: string | undefined): void;
  /** Settles when nothing runs any more that was begun on somebody's yes. */
  finished(): Promise<unknown>;
}
