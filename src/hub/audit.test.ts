import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AuditEntry, appendAudit, GENESIS, redactAudit, verifyAudit } from "./audit.ts";

async function chain(count: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (let i = 0; i < count; i++) {
    entries.push(
      await appendAudit(
        entries.at(-1),
        {
          at: `2026-01-01T00:00:0${i % 10}.000Z`,
          kind: i % 2 ? "decision" : "question",
          fields: { amount: 500 + i, to: "savings", decided_by: `user:${i}`, nothing: undefined },
        },
        () => `salt${i}`,
      ),
    );
  }
  return entries;
}

describe("the record", () => {
  it("an untouched record verifies, from the start or from a known place", async () => {
    const entries = await chain(6);
    expect(await verifyAudit(entries)).toEqual({ ok: true, entries: 6, head: entries.at(-1)!.hash });
    expect(await verifyAudit(entries.slice(3), { after: entries[2]!.hash })).toMatchObject({
      ok: true,
      entries: 3,
    });
    expect(await verifyAudit([])).toEqual({ ok: true, entries: 0, head: GENESIS });
  });

  it("any single flipped, removed, inserted or reordered entry is noticed", async () => {
    const entries = await chain(8);
    const head = entries.at(-1)!.hash;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(7),
        fc.nat(7),
        fc.constantFrom("flip", "remove", "insert", "swap"),
        fc.nat(),
        async (at, other, how, place) => {
          const damaged = structuredClone(entries) as AuditEntry[];
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
          expect((await verifyAudit(damaged, { head })).ok).toBe(false);
        },
      ),
      { numRuns: 400 },
    );
  });

  it("entries cut off the end are noticed by whoever kept the newest hash", async () => {
    const entries = await chain(3);
    expect(await verifyAudit(entries.slice(0, 2), { head: entries[2]!.hash })).toMatchObject({
      ok: false,
      reason: "Entries are missing at the end.",
    });
  });

  it("redaction takes the value and keeps the chain; what is left still cannot be changed", async () => {
    const entries = await chain(3);
    const redacted = [entries[0]!, redactAudit(entries[1]!, ["amount", "unknown"]), entries[2]!];
    expect(JSON.stringify(redacted)).not.toContain("501");
    expect(await verifyAudit(redacted)).toMatchObject({ ok: true, entries: 3 });
    const forged = structuredClone(redacted) as AuditEntry[];
    (forged[1]!.fields as Record<string, unknown>)["amount"] = { value: 5, salt: "x" };
    expect(await verifyAudit(forged)).toMatchObject({ ok: false, reason: "The field amount was changed." });
  });
});
