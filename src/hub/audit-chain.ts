/**
 * The hash chain of the record: each entry includes the hash of the one before it, so a changed, removed, inserted or
 * moved entry breaks the chain. Fields can be redacted later without breaking it, because the chain covers a salted hash
 * of each field, not the field. Entries may be removed from the front if a later entry says up to which one.
 */

import { sha256Hex } from "../protocol/sha256.ts";
import { canonicalJson } from "../protocol/validate.ts";

/** One entry as it is stored. `fields` may lose values to redaction; `digests` never change. */
export interface AuditEntry {
  readonly index: number;
  readonly at: string;
  readonly kind: string;
  readonly fields: Readonly<
    Record<string, { readonly value: unknown; readonly salt: string } | { readonly redacted: true }>
  >;
  readonly digests: Readonly<Record<string, string>>;
  readonly previous: string;
  readonly hash: string;
}

/** Whether a record is complete and unchanged, and where it is not. */
export type AuditVerdict =
  | {
      readonly ok: true;
      readonly entries: number;
      readonly head: string;
      /** How many entries were removed from the front, as the chain itself declares. */
      readonly removed: number;
    }
  | { readonly ok: false; readonly index: number; readonly reason: string };

/** The `previous` hash of the first entry. */
const GENESIS = "0".repeat(64);
/** The kind of entry that declares a removal from the front, by `through_index` and `through_hash`. */
export const REMOVED = "removed";

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The salt keeps a redacted value from being guessed from its hash. */
const digestOf = (name: string, value: unknown, salt: string): string =>
  sha256Hex(`${name}\n${salt}\n${canonicalJson(value)}`);

const hashOf = ({ index, at, kind, digests, previous }: Omit<AuditEntry, "hash" | "fields">): string =>
  sha256Hex(canonicalJson({ index, at, kind, digests, previous }));

export function appendAudit(
  previous: Pick<AuditEntry, "index" | "hash"> | undefined,
  record: { readonly at: string; readonly kind: string; readonly fields: Readonly<Record<string, unknown>> },
  salt: () => string,
): AuditEntry {
  const fields: Record<string, { value: unknown; salt: string }> = {};
  const digests: Record<string, string> = {};
  for (const [name, value] of Object.entries(record.fields)) {
    if (value === undefined) continue;
    const field = { value: JSON.parse(canonicalJson(value)) as unknown, salt: salt() };
    fields[name] = field;
    digests[name] = digestOf(name, field.value, field.salt);
  }
  const bare = {
    index: (previous?.index ?? -1) + 1,
    at: record.at,
    kind: record.kind,
    digests,
    previous: previous?.hash ?? GENESIS,
  };
  return { ...bare, fields, hash: hashOf(bare) };
}

/** Removes values permanently; the entry still proves that there was a value and that nothing was changed. */
export function redactAudit(entry: AuditEntry, names: readonly string[]): AuditEntry {
  const fields = { ...entry.fields };
  for (const name of names) if (Object.hasOwn(fields, name)) fields[name] = { redacted: true };
  return { ...entry, fields };
}

/** A field's value; undefined if it was redacted or never there. */
export function auditField(entry: AuditEntry, name: string): unknown {
  const field = Object.hasOwn(entry.fields, name) ? entry.fields[name] : undefined;
  return field && "value" in field ? field.value : undefined;
}

/** `head` is the newest entry, stored elsewhere: with it, entries removed from the end are detected too. */
export function verifyAudit(
  entries: readonly AuditEntry[],
  head?: { readonly index: number; readonly hash: string },
): AuditVerdict {
  let previous: string | undefined;
  let index: number | undefined;
  let passed = head === undefined;
  for (const entry of entries) {
    const reason = problemWith(entry, previous, index);
    if (reason !== undefined) return { ok: false, index: Number(entry?.index), reason };
    previous = entry.hash;
    index = entry.index;
    if (head?.index === index) {
      if (head.hash !== previous)
        return { ok: false, index, reason: "This entry is not the one that was signed." };
      passed = true;
    }
  }
  const [first] = entries;
  if (first && !(first.index === 0 && first.previous === GENESIS) && !saysRemoved(entries, first))
    return { ok: false, index: first.index, reason: "Entries before this one are missing." };
  // The signed entry may have been removed from the front since, which the chain declares.
  if (!passed && !(head && first && head.index < first.index))
    return { ok: false, index: (index ?? -1) + 1, reason: "Entries are missing at the end." };
  return { ok: true, entries: entries.length, head: previous ?? GENESIS, removed: first?.index ?? 0 };
}

const saysRemoved = (entries: readonly AuditEntry[], first: AuditEntry): boolean =>
  entries.some(
    (entry) =>
      entry.kind === REMOVED &&
      auditField(entry, "through_index") === first.index - 1 &&
      auditField(entry, "through_hash") === first.previous,
  );

/** The entry may come from an edited file, so nothing about its shape is certain. */
function problemWith(
  entry: AuditEntry,
  previous: string | undefined,
  index: number | undefined,
): string | undefined {
  if (!isRecord(entry) || !isRecord(entry.digests) || !isRecord(entry.fields))
    return "This entry was changed.";
  if (index !== undefined && entry.index !== index + 1) return "An entry before this one is missing.";
  if (previous !== undefined && entry.previous !== previous)
    return "This entry does not follow the one before it.";
  if (hashOf(entry) !== entry.hash) return "This entry was changed.";
  const names = Object.keys(entry.digests).sort().join();
  if (Object.keys(entry.fields).sort().join() !== names) return "A field was added or removed.";
  for (const [name, field] of Object.entries(entry.fields)) {
    if (!isRecord(field)) return `The field ${name} was changed.`;
    if ("redacted" in field) continue;
    if (digestOf(name, field.value, field.salt) !== entry.digests[name])
      return `The field ${name} was changed.`;
  }
  return undefined;
}
