/**
 * The record: what was asked, what was answered, by whom, and when, each entry bound to the one before it by a hash. A
 * changed, removed, inserted or moved entry breaks the chain. Fields can be redacted afterwards without breaking it:
 * the chain binds each field's own salted hash, not the field.
 */
import { canonicalJson } from "../protocol/formats.ts";

/** One entry as it is kept. `fields` may lose values to redaction; `digests` never change. */
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

export type AuditVerdict =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly index: number; readonly reason: string };

/** What an empty record's first entry follows. */
export const GENESIS = "0".repeat(64);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

const sha256 = async (text: string): Promise<string> =>
  hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

/** The salt keeps a redacted value from being guessed from its hash. */
const digestOf = (name: string, value: unknown, salt: string): Promise<string> =>
  sha256(`${name}\n${salt}\n${canonicalJson(value)}`);

const hashOf = ({
  index,
  at,
  kind,
  digests,
  previous,
}: Omit<AuditEntry, "hash" | "fields">): Promise<string> =>
  sha256(canonicalJson({ index, at, kind, digests, previous }));

export async function appendAudit(
  previous: AuditEntry | undefined,
  record: { readonly at: string; readonly kind: string; readonly fields: Readonly<Record<string, unknown>> },
  salt: () => string,
): Promise<AuditEntry> {
  const fields: Record<string, { value: unknown; salt: string }> = {};
  const digests: Record<string, string> = {};
  for (const [name, value] of Object.entries(record.fields)) {
    if (value === undefined) continue;
    const field = { value: JSON.parse(canonicalJson(value)) as unknown, salt: salt() };
    fields[name] = field;
    digests[name] = await digestOf(name, field.value, field.salt);
  }
  const bare = {
    index: (previous?.index ?? -1) + 1,
    at: record.at,
    kind: record.kind,
    digests,
    previous: previous?.hash ?? GENESIS,
  };
  return { ...bare, fields, hash: await hashOf(bare) };
}

/** Takes values out for good; the entry still proves that something stood there, and that it was not changed. */
export function redactAudit(entry: AuditEntry, names: readonly string[]): AuditEntry {
  const fields = { ...entry.fields };
  for (const name of names) if (Object.hasOwn(fields, name)) fields[name] = { redacted: true };
  return { ...entry, fields };
}

/** `head` is the newest hash kept elsewhere: with it, entries cut off the end are noticed too. */
export async function verifyAudit(
  entries: Iterable<AuditEntry>,
  expected: { readonly after?: string; readonly head?: string } = {},
): Promise<AuditVerdict> {
  let previous = expected.after ?? GENESIS;
  let index: number | undefined;
  let count = 0;
  for (const entry of entries) {
    const broken = (reason: string): AuditVerdict => ({ ok: false, index: entry.index, reason });
    // It comes from a file somebody may have edited: nothing about its shape is certain.
    if (!isRecord(entry.digests) || !isRecord(entry.fields)) return broken("This entry was changed.");
    if (index !== undefined ? entry.index !== index + 1 : expected.after === undefined && entry.index !== 0)
      return broken("An entry before this one is missing.");
    if (entry.previous !== previous) return broken("This entry does not follow the one before it.");
    if ((await hashOf(entry)) !== entry.hash) return broken("This entry was changed.");
    const names = Object.keys(entry.digests).sort().join();
    if (Object.keys(entry.fields).sort().join() !== names) return broken("A field was added or removed.");
    for (const [name, field] of Object.entries(entry.fields)) {
      if (!isRecord(field)) return broken(`The field ${name} was changed.`);
      if ("redacted" in field) continue;
      if ((await digestOf(name, field.value, field.salt)) !== entry.digests[name])
        return broken(`The field ${name} was changed.`);
    }
    previous = entry.hash;
    index = entry.index;
    count++;
  }
  if (expected.head !== undefined && previous !== expected.head)
    return { ok: false, index: (index ?? -1) + 1, reason: "Entries are missing at the end." };
  return { ok: true, entries: count, head: previous };
}
