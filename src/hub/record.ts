/**
 * The record: what was asked, in which words, and whom; who answered what; and what happened then. Each entry is stored in
 * the same write as the event it is about, so an approval without its entry cannot exist. The record is append-only and
 * hash-chained; anyone who has a signed head can prove later that nothing before it was changed (CNF-41).
 */

import { EarshotError } from "../protocol/errors.ts";
import { type Clock, type RandomBytes, systemClock, systemRandom } from "../protocol/platform.ts";
import { sha256Hex } from "../protocol/sha256.ts";
import type { Reply } from "../protocol/types.ts";
import { canonicalJson } from "../protocol/validate.ts";
import {
  type AuditEntry,
  type AuditVerdict,
  appendAudit,
  REMOVED,
  redactAudit,
  verifyAudit,
} from "./audit-chain.ts";
import type { Settlement } from "./questions.ts";
import type { Fact, LogStore } from "./store.ts";

export { type AuditEntry, type AuditVerdict, auditField } from "./audit-chain.ts";

/** What an approval would run: the tool and the exact parameters; `secret` names those that were not shown. */
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
 * What the `audit` hook receives (CNF-41), just before the corresponding event goes to the store, or just before a
 * delivery is sent. Never sent to listeners. The record's policy decides what of it is stored.
 */
export type AuditRecord = Recorded &
  (
    | {
        readonly kind: "asked";
        readonly reply_token: string;
        /** The question as it is in the log, in every language and verbosity. */
        readonly question: Readonly<Record<string, unknown>>;
        /** If a tool asked. */
        readonly act?: Act;
      }
    | {
        readonly kind: "delivered";
        readonly reply_token: string;
        readonly subscription_id: string;
        readonly principal: string;
        /** The question exactly as this listener received it, in its language and verbosity. */
        readonly question: Readonly<Record<string, unknown>>;
        /** Sent before: the listener reconnected, or its terms changed. */
        readonly again: boolean;
      }
    | {
        readonly kind: "replied";
        readonly reply_token: string;
        readonly subscription_id: string;
        /** The authenticated sender; `reply.decided_by` is only a claim. */
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
        /** There was nobody to ask. */
        readonly kind: "not_asked";
        readonly origin: "policy";
        readonly question: Readonly<Record<string, unknown>>;
      }
    /** The approval is used; the function runs once this is stored. */
    | ({ readonly kind: "begun"; readonly reply_token: string } & ActRef)
    /** not_started: the session ended or the call was withdrawn before the function could run. */
    | ({ readonly kind: "ended"; readonly status: "success" | "error" | "timeout" | "not_started" } & ActRef)
    /** The process stopped between the two, so the outcome is not known. */
    | ({ readonly kind: "unknown" } & ActRef)
  );

type ActRef = Pick<Act, "tool" | "tool_call_id" | "params_hash">;

/** How much the record stores of each question. */
export interface RecordPolicy {
  /** Store the exact parameters that were asked about, or only their hash. Values that were not shown are never stored. */
  readonly params: "exact" | "hash";
  /** Store the text of each question, as written and as each listener received it, or only its hash. */
  readonly words: "exact" | "hash";
  /** Store the capabilities a listener declared. How somebody listens is private: off by default. */
  readonly capabilities: boolean;
}

const KIND = "audit";
const HEAD = "audit_head";

/** The newest entry at some moment, signed. Store it apart from the log. */
export interface SignedHead {
  readonly epoch: string;
  readonly index: number;
  readonly hash: string;
  readonly at: string;
  readonly key_id: string;
  /** Over the canonical JSON of the fields above. */
  readonly signature: string;
}

/** Signs the head of the record. */
export interface RecordSigner {
  readonly key_id: string;
  sign(text: string): Promise<string>;
}

/** Options of `createRecord`. */
export interface RecordOptions extends Partial<RecordPolicy> {
  /** Where it is stored, next to the events. */
  readonly store: LogStore;
  /** Entries beyond this age or number are removed from the front, and the record says so. Default: keep all. */
  readonly retain?: { readonly ageMs?: number; readonly entries?: number };
  readonly signer?: RecordSigner;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Receives warnings for the operator; console.warn by default. */
  readonly warn?: (sentence: string) => void;
}

/** The record of a producer: appends entries, returns them, and removes them by policy. */
export interface AuditLog {
  /** Pass it to `createProducer({ store })` instead of the store it was created with. */
  readonly store: LogStore;
  /** Pass it to `createProducer({ audit })`. */
  audit(record: AuditRecord): void;
  /** All stored entries, in order. */
  entries(): readonly AuditEntry[];
  /** Removes values from an entry permanently, and records that and why. */
  redact(index: number, fields: readonly string[], reason: string): Promise<void>;
  /** Removes what `retain` allows and resolves to the number removed; also happens automatically. */
  prune(): Promise<number>;
  /** The newest signed head. */
  readonly signedHead: SignedHead | undefined;
}

/** How many entries to wait before looking for expired ones again. */
const PRUNE_EVERY = 100;

/** Creates the hash-chained record of what was asked and decided, next to the log in the same store. */
export function createRecord(options: RecordOptions): AuditLog {
  const { store, retain, signer, clock = systemClock, random = systemRandom } = options;
  const { warn = (sentence: string) => console.warn(sentence) } = options;
  const policy: RecordPolicy = {
    params: options.params ?? "exact",
    words: options.words ?? "exact",
    capabilities: options.capabilities ?? false,
  };
  const salt = () => Array.from(random(16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  let last = recordOf(store).entries.at(-1) as Pick<AuditEntry, "index" | "hash"> | undefined;
  let pending: Fact[] = [];
  let sincePruned = 0;
  let signing = false;

  const add = (kind: string, at: string, fields: Readonly<Record<string, unknown>>): void => {
    const entry = appendAudit(last, { kind, at, fields }, salt);
    last = entry;
    if (pending.length === 0) queueMicrotask(() => void flush());
    pending.push({ kind: KIND, key: keyOf(entry.index), value: entry });
  };
  const takePending = (): Fact[] => {
    const facts = pending;
    pending = [];
    return facts;
  };
  /** Writes entries that no write of the hub took along. */
  async function flush(): Promise<void> {
    if (pending.length > 0) await keep([]);
  }
  async function keep(
    entries: Parameters<LogStore["append"]>[0],
    facts: readonly Fact[] = [],
  ): Promise<number> {
    const recorded = takePending();
    let position = 0;
    try {
      position = await store.append(entries, [...recorded, ...facts]);
    } catch (error) {
      if (recorded.length > 0) warn(`The record could not be stored: ${(error as Error).message}`);
      if (entries.length > 0 || facts.length > 0) throw error;
      return position;
    }
    if (recorded.length === 0) return position;
    sincePruned += recorded.length;
    if (retain && sincePruned >= Math.max(1, Math.min(PRUNE_EVERY, retain.entries ?? PRUNE_EVERY)))
      void prune();
    if (signer && !signing) void signHead(signer);
    return position;
  }

  async function signHead(by: RecordSigner): Promise<void> {
    signing = true;
    try {
      let signed: typeof last;
      while (last && last !== signed) {
        signed = last;
        const { index, hash } = last;
        const head = { epoch: store.identity.epoch, index, hash, at: clock.timestamp(), key_id: by.key_id };
        const signature = await by.sign(canonicalJson(head));
        await store.append([], [{ kind: HEAD, key: "head", value: { ...head, signature } }]);
      }
    } catch (error) {
      warn(`The record could not be signed: ${(error as Error).message}`);
    } finally {
      signing = false;
    }
  }

  async function prune(): Promise<number> {
    sincePruned = 0;
    const { entries } = recordOf(store);
    const oldest = Date.parse(clock.timestamp()) - (retain?.ageMs ?? Number.POSITIVE_INFINITY);
    const spare = Math.max(0, entries.length - (retain?.entries ?? Number.POSITIVE_INFINITY));
    const kept = entries.findIndex(({ at }, i) => i >= spare && Date.parse(at) >= oldest);
    // Keep the newest: the next entry chains to it.
    const count = kept < 0 ? Math.max(0, entries.length - 1) : Math.min(kept, entries.length - 1);
    if (count <= 0) return 0;
    const through = entries[count - 1]!;
    add(REMOVED, clock.timestamp(), { through_index: through.index, through_hash: through.hash, count });
    // The entry about the removal must not trigger the next one: with a small limit that would never end.
    sincePruned = -1;
    await keep(
      [],
      entries.slice(0, count).map(({ index }) => ({ kind: KIND, key: keyOf(index), value: null })),
    );
    return count;
  }

  const capabilitiesOf = (subscription_id: string): unknown => {
    const fact = store.facts("subscription").find(({ key }) => key === subscription_id);
    return (fact?.value as { request?: unknown } | undefined)?.request;
  };

  return {
    store: {
      identity: store.identity,
      ...(store.durable ? { durable: true } : {}),
      append: (entries, facts) => keep(entries, facts),
      recent: () => store.recent(),
      follow: (from, receive) => store.follow(from, receive),
      read: (from) => store.read(from),
      facts: (kind) => store.facts(kind),
    },
    audit: (record) => add(record.kind, record.at, fieldsOf(record, policy, capabilitiesOf)),
    entries: () => recordOf(store).entries,
    async redact(index, fields, reason) {
      const entry = recordOf(store).entries.find((one) => one.index === index);
      const unknown = entry ? fields.filter((name) => !Object.hasOwn(entry.fields, name)) : [];
      if (!entry || unknown.length > 0) {
        throw new EarshotError(
          "record_unknown",
          entry
            ? `Entry ${index} has no field ${unknown.join(", ")}. It has: ${Object.keys(entry.fields).join(", ")}.`
            : `The record has no entry ${index}.`,
        );
      }
      add("redacted", clock.timestamp(), { index, fields, reason });
      await keep([], [{ kind: KIND, key: keyOf(index), value: redactAudit(entry, fields) }]);
    },
    prune,
    get signedHead() {
      return recordOf(store).head;
    },
  };
}

const keyOf = (index: number): string => String(index);

/** Reads the record from a store. */
export function recordOf(store: Pick<LogStore, "facts">): {
  readonly entries: readonly AuditEntry[];
  readonly head: SignedHead | undefined;
} {
  const entries = store.facts(KIND).map(({ value }) => value as AuditEntry);
  return { entries, head: store.facts(HEAD)[0]?.value as SignedHead | undefined };
}

/** Checks that nothing was changed, removed, inserted or moved; with a head and its key, also its signature. */
export async function verifyRecord(
  entries: readonly AuditEntry[],
  head?: SignedHead,
  verify?: (text: string, signature: string, key_id: string) => boolean | Promise<boolean>,
): Promise<AuditVerdict> {
  if (head && verify) {
    const { signature, ...signed } = head;
    if (!(await verify(canonicalJson(signed), signature, head.key_id)))
      return {
        ok: false,
        index: head.index,
        reason: "The signature does not fit: not this key, or a changed head.",
      };
    const [first] = entries;
    // Anybody can build a chain: the signed entry must be part of it.
    if (first && head.index < first.index)
      return {
        ok: false,
        index: head.index,
        reason: "The signed entry was removed since, so no signature covers the others.",
      };
  }
  return verifyAudit(entries, head);
}

type Fields = Record<string, unknown>;

const hashed = (value: unknown): { sha256: string } => ({ sha256: sha256Hex(canonicalJson(value)) });

/** The fields to store for a record. A token is a credential, so only its hash is stored. */
function fieldsOf(
  record: AuditRecord,
  policy: RecordPolicy,
  capabilitiesOf: (subscription_id: string) => unknown,
): Fields {
  const { session_id } = record;
  const token = "reply_token" in record ? { token_hash: sha256Hex(record.reply_token) } : {};
  return { session_id, ...token, ...ownFields(record, policy, capabilitiesOf) };
}

function ownFields(
  record: AuditRecord,
  policy: RecordPolicy,
  capabilitiesOf: (subscription_id: string) => unknown,
): Fields {
  switch (record.kind) {
    case "asked":
      return { question: questionOf(record.question, policy), ...actOf(record.act, policy) };
    case "delivered":
      return {
        subscription_id: record.subscription_id,
        principal: record.principal,
        question: questionOf(record.question, policy),
        again: record.again,
        capabilities: policy.capabilities ? capabilitiesOf(record.subscription_id) : undefined,
      };
    case "replied":
      return {
        subscription_id: record.subscription_id,
        principal: record.principal,
        ...replyOf(record.reply as unknown as Fields, policy),
      };
    case "settled":
      return { outcome: record.outcome, origin: record.origin, principal: record.principal };
    case "not_asked":
      return { origin: record.origin, question: questionOf(record.question, policy) };
    default: {
      const { kind, at, session_id, ...act } = record;
      return { ...act, reply_token: undefined };
    }
  }
}

/** Claims of the listener are marked as such; the authenticated sender is the `principal`. */
function replyOf(reply: Fields, { params, words }: RecordPolicy): Fields {
  const { decision, response, decided_by, timestamp, decision_rationale, modified_action, confidence } =
    reply;
  const said = (value: unknown, how: "exact" | "hash") =>
    value === undefined || how === "exact" ? value : hashed(value);
  return {
    decision,
    response: said(response, words),
    claimed_decided_by: decided_by,
    claimed_at: timestamp,
    rationale: said(decision_rationale, words),
    modified_action: said(modified_action, params),
    confidence,
  };
}

/** Without its token; parameters in it follow the policy for parameters. */
function questionOf({ reply_token, ...question }: Fields, { params, words }: RecordPolicy): unknown {
  if (words === "hash") return hashed(question);
  const { extra_context } = question;
  if (extra_context === undefined || params === "exact") return question;
  return { ...question, extra_context: hashed(extra_context) };
}

function actOf(act: Extract<AuditRecord, { kind: "asked" }>["act"], { params: how }: RecordPolicy): Fields {
  if (!act) return {};
  const { tool, tool_call_id, params, params_hash, secret } = act;
  const shown = Object.fromEntries(Object.entries(params).filter(([name]) => !secret.includes(name)));
  return {
    tool,
    tool_call_id,
    params_hash,
    ...(how === "exact" ? { params: shown, withheld: secret } : {}),
  };
}
