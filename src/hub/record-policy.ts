/** What of each happening is kept in the record, and in which form. A token is a key: only its hash is ever kept. */
import { canonicalJson } from "../protocol/formats.ts";
import { sha256Hex } from "../protocol/sha256.ts";
import type { AuditRecord } from "./options.ts";

export interface RecordPolicy {
  /** The exact parameters of what was asked about, or only their hash; values that were not shown are never kept. */
  readonly params: "exact" | "hash";
  /** The words of each question, as written and as each listener got them, or only their hash. */
  readonly words: "exact" | "hash";
  /** What a listener declared about itself. How somebody listens is private: off by default. */
  readonly capabilities: boolean;
}

type Fields = Record<string, unknown>;

export const hashed = (value: unknown): { sha256: string } => ({ sha256: sha256Hex(canonicalJson(value)) });

/** `capabilitiesOf` is asked only where the policy wants to know. */
export function fieldsOf(
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

/** What only a listener says about itself is marked as such; who it was is the `principal`. */
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

/** Without its token; the parameters it shows go by the policy for parameters. */
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
