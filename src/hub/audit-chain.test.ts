import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AuditEntry,
  appendAudit,
  auditField,
  REMOVED,
  redactAudit,
  verifyAudit,
} from "./audit-chain.ts";

function chain(count: number): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (let i = 0; i < count; i++) {
    entries.push(
      appendAudit(
        entries.at(-1),
        {
          at: `2026-01-01T00:00:0${i % 10}.000Z`,
          kind: i % 2 ? "settled" : "asked",
          fields: { amount: 500 + i, to: "savings", decided_by: `user:${i}`, nothing: undefined },
        },
        () => `salt${i}`,
      ),
    );
  }
  return entries;
}

/** The same with the first ones removed, and an entry that says so. */
function pruned(count: number, gone: number): AuditEntry[] {
  const entries = chain(count);
  const through = entries[gone - 1]!;
  const fields = { through_index: through.index, through_hash: through.hash };
  const says = appendAudit(
    entries.at(-1),
    { at: "2026-01-02T00:00:00.000Z", kind: REMOVED, fields },
    () => "salt",
  );
  return [...entries, says].slice(gone);
}

describe("the record's chain", () => {
  it("an untouched record verifies", () => {
    const entries = chain(6);
    expect(verifyAudit(entries)).toEqual({ ok: true, entries: 6, head: entries.at(-1)!.hash, removed: 0 });
    expect(verifyAudit(entries, entries[3])).toMatchObject({ ok: true });
    expect(verifyAudit([])).toEqual({ ok: true, entries: 0, head: "0".repeat(64), removed: 0 });
  });

  it("any single flipped, removed, inserted or reordered entry is noticed (property)", () => {
    for (const entries of [chain(8), pruned(8, 3)]) {
      const head = entries.at(-1)!;
      fc.assert(
        fc.property(
          fc.nat(entries.length - 1),
          fc.nat(entries.length - 1),
          fc.constantFrom("flip", "remove", "insert", "swap"),
          fc.nat(),
          (at, other, how, place) => {
            const damaged = structuredClone(entries);
            if (how === "remove") damaged.splice(at, 1);
            else if (how === "insert") damaged.splice(at, 0, structuredClone(entries[other]!));
            else if (how === "swap") {
              if (at === other) return;
              [damaged[at], damaged[other]] = [damaged[other]!, damaged[at]!];
            } else {
              // One character anywhere in the entry's text.
              const text = JSON.stringify(damaged[at]);
              const i = 1 + (place % (text.length - 2));
              const flipped = text.slice(0, i) + (text[i] === "7" ? "8" : "7") + text.slice(i + 1);
              try {
                damaged[at] = JSON.parse(flipped);
              } catch {
                return;
              }
            }
            expect(verifyAudit(damaged, head).ok).toBe(false);
          },
        ),
        { numRuns: process.env["EARSHOT_LONG"] ? 20_000 : 400 },
      );
    }
  });

  it("an entry that somebody makes up and hashes well does not fit between two others", () => {
    const entries = chain(5);
    const made = appendAudit(
      entries[1],
      { at: "2026-01-01T00:00:02.000Z", kind: "settled", fields: { amount: 1 } },
      () => "s",
    );
    expect(verifyAudit([...entries.slice(0, 2), made, ...entries.slice(3)])).toEqual({
      ok: false,
      index: 3,
      reason: "This entry does not follow the one before it.",
    });
  });

  it("entries cut off the end are noticed by whoever kept the newest hash", () => {
    const entries = chain(3);
    expect(verifyAudit(entries.slice(0, 2), entries[2])).toEqual({
      ok: false,
      index: 2,
      reason: "Entries are missing at the end.",
    });
    expect(verifyAudit([], entries[2])).toMatchObject({ ok: false });
    expect(verifyAudit(chain(4), { index: 2, hash: "0".repeat(64) })).toMatchObject({ ok: false, index: 2 });
  });

  it("what was removed from the front is fine where a later entry says so, and missed where none does", () => {
    expect(verifyAudit(pruned(8, 3))).toMatchObject({ ok: true, entries: 6, removed: 3 });
    expect(verifyAudit(chain(8).slice(3))).toMatchObject({ ok: false, index: 3 });
    expect(verifyAudit(pruned(8, 3).slice(1)), "one more than was said").toMatchObject({
      ok: false,
      index: 4,
    });
  });

  it("redaction takes the value and keeps the chain; what is left still cannot be changed", () => {
    const entries = chain(3);
    const redacted = [entries[0]!, redactAudit(entries[1]!, ["amount", "unknown"]), entries[2]!];
    expect(JSON.stringify(redacted)).not.toContain("501");
    expect(auditField(redacted[1]!, "amount")).toBeUndefined();
    expect(auditField(redacted[0]!, "amount")).toBe(500);
    expect(verifyAudit(redacted)).toMatchObject({ ok: true, entries: 3 });
    const forged = structuredClone(redacted);
    (forged[1]!.fields as Record<string, unknown>)["amount"] = { value: 5, salt: "x" };
    expect(verifyAudit(forged)).toMatchObject({ ok: false, reason: "The field amount was changed." });
  });
});
