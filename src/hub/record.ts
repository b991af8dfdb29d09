/**
 * The record: what was asked, in which words to whom, what was answered, by whom, and what came of it. Each entry goes
 * into the store in the very write that makes it true, so that an accept without its entry cannot be. Append-only and
 * chained by hashes; whoever holds a signed head can prove later that nothing before it was changed (CNF-41).
 */
import { type Clock, systemClock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import { canonicalJson } from "../protocol/formats.ts";
import { type RandomBytes, systemRandom } from "../protocol/ids.ts";
import {
  type AuditEntry,
  type AuditVerdict,
  appendAudit,
  REMOVED,
  redactAudit,
  verifyAudit,
} from "./audit.ts";
import type { AuditRecord } from "./options.ts";
import { fieldsOf, type RecordPolicy } from "./record-policy.ts";
import type { Fact, LogStore } from "./store.ts";

export { type AuditEntry, type AuditVerdict, auditField } from "./audit.ts";
export type { AuditRecord } from "./options.ts";
export type { RecordPolicy } from "./record-policy.ts";

const KIND = "audit";
const HEAD = "audit_head";

/** The newest entry at some moment, vouched for. Keep it where the log is not. */
export interface SignedHead {
  readonly epoch: string;
  readonly index: number;
  readonly hash: string;
  readonly at: string;
  readonly key_id: string;
  /** Over the canonical JSON of the fields above. */
  readonly signature: string;
}

export interface RecordSigner {
  readonly key_id: string;
  sign(text: string): Promise<string>;
}

export interface RecordOptions extends Partial<RecordPolicy> {
  /** Where it is kept, beside the events. */
  readonly store: LogStore;
  /** Older or more entries than this are removed from the front, and the record says so; without it all are kept. */
  readonly retain?: { readonly age_ms?: number; readonly entries?: number };
  readonly signer?: RecordSigner;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Sentences for whoever operates the agent; console.warn by default. */
  readonly warn?: (sentence: string) => void;
}

export interface AuditLog {
  /** For `createProducer({ store })`, in place of the store it was made with. */
  readonly store: LogStore;
  /** For `createProducer({ audit })`. */
  audit(record: AuditRecord): void;
  /** Everything that is kept, in order. */
  entries(): readonly AuditEntry[];
  /** Takes values out of an entry for good, and records that and why. */
  redact(index: number, fields: readonly string[], reason: string): Promise<void>;
  /** Removes what `retain` lets go; it also happens by itself. Gives how many. */
  prune(): Promise<number>;
  /** The newest head that was signed. */
  readonly signed_head: SignedHead | undefined;
}

/** Looking for what may go is not worth it for every entry. */
const PRUNE_EVERY = 100;

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
  let sinceLooked = 0;
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
  /** Whatever no write of the hub took along goes by itself, at once. */
  async function flush(): Promise<void> {
    if (pending.length > 0) await keep([]);
  }
  async function keep(
    entries: Parameters<LogStore["append"]>[0],
    facts: readonly Fact[] = [],
  ): Promise<void> {
    const recorded = takePending();
    try {
      await store.append(entries, [...recorded, ...facts]);
    } catch (error) {
      if (recorded.length > 0) warn(`The record could not be kept: ${(error as Error).message}`);
      if (entries.length > 0 || facts.length > 0) throw error;
      return;
    }
    if (recorded.length === 0) return;
    sinceLooked += recorded.length;
    if (retain && sinceLooked >= Math.max(1, Math.min(PRUNE_EVERY, retain.entries ?? PRUNE_EVERY)))
      void prune();
    if (signer && !signing) void signHead(signer);
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
    sinceLooked = 0;
    const { entries } = recordOf(store);
    const oldest = Date.parse(clock.timestamp()) - (retain?.age_ms ?? Number.POSITIVE_INFINITY);
    const spare = Math.max(0, entries.length - (retain?.entries ?? Number.POSITIVE_INFINITY));
    const kept = entries.findIndex(({ at }, i) => i >= spare && Date.parse(at) >= oldest);
    // The newest stays: the next one is bound to it.
    const count = kept < 0 ? Math.max(0, entries.length - 1) : Math.min(kept, entries.length - 1);
    if (count <= 0) return 0;
    const through = entries[count - 1]!;
    add(REMOVED, clock.timestamp(), { through_index: through.index, through_hash: through.hash, count });
    // Its own entry is no reason to look again: with few kept, that would never end.
    sinceLooked = -1;
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
    get signed_head() {
      return recordOf(store).head;
    },
  };
}

const keyOf = (index: number): string => String(index);

/** The record in a store, whoever wrote it. */
export function recordOf(store: Pick<LogStore, "facts">): {
  readonly entries: readonly AuditEntry[];
  readonly head: SignedHead | undefined;
} {
  const entries = store.facts(KIND).map(({ value }) => value as AuditEntry);
  return { entries, head: store.facts(HEAD)[0]?.value as SignedHead | undefined };
}

/** Whether nothing was changed, removed, inserted or moved; with a head and its key, also up to which entry that is signed. */
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
    // A chain alone anybody can make: what the signature is about must be in it.
    if (first && head.index < first.index)
      return {
        ok: false,
        index: head.index,
        reason: "The entry that was signed was removed since, so nobody vouches for the others.",
      };
  }
  return verifyAudit(entries, head);
}
