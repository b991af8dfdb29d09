import { generateKeyPairSync, sign, verify } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openEmbeddedStore } from "../stores/embedded/index.ts";
import { createMemoryStore } from "../stores/memory.ts";
import { createFakeClock } from "../testing/clock.ts";
import {
  type AuditRecord,
  auditField,
  createRecord,
  type RecordOptions,
  recordOf,
  verifyRecord,
} from "./record.ts";

const directory = mkdtempSync(join(tmpdir(), "earshot-record-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const TOKEN = "rpl_00112233445566778899aabbccddeeff";
const about = { session_id: "sess_1", reply_token: TOKEN, at: "2026-01-01T00:00:00.000Z" };
const question = {
  type: "aaep:agent.awaiting.confirmation",
  reply_token: TOKEN,
  action: "Transfer $500 to savings.",
  consequence: "Funds move at once.",
  extra_context: { amount: "500 dollars" },
};
const act = {
  tool: "transfer",
  tool_call_id: "call_1",
  params: { amount: 500, to: "savings", pin: "swordfish" },
  params_hash: "abc",
  secret: ["pin"],
};
const HAPPENED: readonly AuditRecord[] = [
  { kind: "asked", ...about, question, act },
  { kind: "delivered", ...about, subscription_id: "sub_1", principal: "ada", question, again: false },
  {
    kind: "replied",
    ...about,
    subscription_id: "sub_1",
    principal: "ada",
    reply: {
      type: "confirmation.reply",
      reply_token: TOKEN,
      subscription_id: "sub_1",
      decision: "accept",
      timestamp: "2026-01-01T00:00:09.000Z",
      decided_by: "user:somebody-else",
      decision_rationale: "The rent is due.",
    },
  },
  { kind: "settled", ...about, outcome: "accepted", origin: "human", principal: "ada" },
  { kind: "begun", ...about, tool: "transfer", tool_call_id: "call_1", params_hash: "abc" },
  {
    kind: "ended",
    session_id: "sess_1",
    at: about.at,
    tool: "transfer",
    tool_call_id: "call_1",
    params_hash: "abc",
    status: "success",
  },
];

async function recorded(options: Partial<RecordOptions> = {}) {
  const store = options.store ?? createMemoryStore();
  const record = createRecord({ store, clock: createFakeClock(), ...options });
  for (const one of HAPPENED) record.audit(one);
  await record.store.append([]);
  return { record, store, text: JSON.stringify(record.entries()) };
}

describe("the record", () => {
  it("CNF-41: keeps the exact parameters, the words as delivered, the decision with its origin, and who it was beside who it claims to be", async () => {
    const { record, text } = await recorded();
    const [asked, delivered, replied, settled, begun, ended] = record.entries();
    expect(auditField(asked!, "params")).toEqual({ amount: 500, to: "savings" });
    expect(auditField(asked!, "withheld")).toEqual(["pin"]);
    expect(auditField(delivered!, "question")).toMatchObject({ action: "Transfer $500 to savings." });
    expect(auditField(replied!, "principal")).toBe("ada");
    expect(auditField(replied!, "claimed_decided_by")).toBe("user:somebody-else");
    expect(auditField(settled!, "origin")).toBe("human");
    expect([begun, ended].map((one) => one?.kind)).toEqual(["begun", "ended"]);
    expect(await verifyRecord(record.entries())).toMatchObject({ ok: true, entries: 6 });
    expect(text, "a token opens a door").not.toContain(TOKEN);
    expect(text, "what was not shown is not kept").not.toContain("swordfish");
  });

  it("keeps only hashes where the policy says so", async () => {
    const params = await recorded({ params: "hash" });
    expect(params.text).not.toContain("500 dollars");
    expect(params.text).toContain("Transfer $500 to savings.");
    const both = await recorded({ params: "hash", words: "hash" });
    for (const word of ["$500", "savings", "The rent"]) expect(both.text).not.toContain(word);
    expect(auditField(both.record.entries()[0]!, "params_hash")).toBe("abc");
    expect(await verifyRecord(both.record.entries())).toMatchObject({ ok: true });
  });

  it("what a listener declared about itself is kept only where the policy asks for it", async () => {
    const store = createMemoryStore();
    const value = { request: { languages: ["yo"], preferred_verbosity: "terse" } };
    await store.append([], [{ kind: "subscription", key: "sub_1", value }]);
    expect((await recorded({ store })).text).not.toContain("terse");
    expect((await recorded({ store, capabilities: true })).text).toContain("terse");
  });

  it("each entry goes along with the write it is about: both are there, or neither", async () => {
    const store = createMemoryStore();
    const writes: string[][] = [];
    const watched = {
      ...store,
      append: (...[entries, facts = []]: Parameters<typeof store.append>) => {
        writes.push(facts.map(({ kind, key }) => `${kind} ${key}`));
        return store.append(entries, facts);
      },
    };
    const record = createRecord({ store: watched });
    record.audit(HAPPENED[3]!);
    await record.store.append([], [{ kind: "question", key: TOKEN, value: { settled: true } }]);
    expect(writes).toEqual([["audit 0", `question ${TOKEN}`]]);
    // Nothing else is written: it goes by itself, at once.
    record.audit(HAPPENED[1]!);
    await Promise.resolve();
    expect(writes[1]).toEqual(["audit 1"]);
  });

  it("goes on where it was after a restart", async () => {
    const place = join(directory, "restart");
    const first = await openEmbeddedStore({ directory: place });
    await recorded({ store: first });
    await first.close();
    const second = await openEmbeddedStore({ directory: place });
    const { record } = await recorded({ store: second });
    expect(await verifyRecord(record.entries())).toMatchObject({ ok: true, entries: 12 });
    await second.close();
  });

  it("redaction takes a value out for good, says that and why, and the record still verifies", async () => {
    const { record } = await recorded();
    await record.redact(1, ["question"], "The person asked for it.");
    const entries = record.entries();
    expect(auditField(entries[1]!, "question")).toBeUndefined();
    expect(auditField(entries[6]!, "reason")).toBe("The person asked for it.");
    expect(await verifyRecord(entries)).toMatchObject({ ok: true, entries: 7 });
    await expect(record.redact(99, ["question"], "")).rejects.toThrow("no entry 99");
    await expect(record.redact(1, ["nothing"], "")).rejects.toThrow("It has: session_id");
  });

  it("retention removes the oldest by number or age, says so, and what is left verifies", async () => {
    const { record } = await recorded({ retain: { entries: 4 } });
    await record.store.append([]);
    const left = record.entries();
    expect(left.length).toBeLessThanOrEqual(5);
    expect(await verifyRecord(left)).toMatchObject({ ok: true, removed: left[0]!.index });
    expect(left[0]!.index).toBeGreaterThan(0);
    const clock = createFakeClock("2026-03-01T00:00:00.000Z");
    const aged = await recorded({ retain: { ageMs: 86_400_000 }, clock });
    expect(await aged.record.prune()).toBe(5);
    expect(await verifyRecord(aged.record.entries())).toMatchObject({ ok: true, removed: 5 });
  });

  it("retention comes to an end, however little may be kept", async () => {
    for (const entries of [0, 1, 2]) {
      const clock = createFakeClock();
      const { record } = await recorded({ retain: { entries }, clock });
      await clock.settle();
      await record.prune();
      await clock.settle();
      expect(record.entries().length).toBeLessThan(6);
      expect(await verifyRecord(record.entries())).toMatchObject({ ok: true });
    }
  });

  it("a signed head proves everything before it; another key, or a changed head, does not", async () => {
    const keys = generateKeyPairSync("ed25519");
    const signer = {
      key_id: "operator-1",
      sign: async (text: string) => sign(null, Buffer.from(text), keys.privateKey).toString("base64url"),
    };
    const check = (key: typeof keys.publicKey) => (text: string, signature: string) =>
      verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
    const clock = createFakeClock();
    const { record, store } = await recorded({ signer, clock });
    await clock.settle();
    const head = record.signedHead!;
    expect(head).toMatchObject({ index: 5, key_id: "operator-1", epoch: store.identity.epoch });
    const { entries } = recordOf(store);
    expect(await verifyRecord(entries, head, check(keys.publicKey))).toMatchObject({ ok: true });
    const other = generateKeyPairSync("ed25519").publicKey;
    expect(await verifyRecord(entries, head, check(other))).toMatchObject({ ok: false });
    const moved = { ...head, index: 4, hash: entries[4]!.hash };
    expect(await verifyRecord(entries, moved, check(keys.publicKey))).toMatchObject({ ok: false });
    expect(await verifyRecord(entries.slice(0, 5), head, check(keys.publicKey))).toMatchObject({
      ok: false,
      reason: "Entries are missing at the end.",
    });
    // Anybody can make a chain that says what stood before it was removed: an old signature does not vouch for it.
    const forged = await recorded({ retain: { entries: 1 }, clock });
    for (const one of [...HAPPENED, ...HAPPENED]) forged.record.audit(one);
    await clock.settle();
    await forged.record.prune();
    const made = forged.record.entries();
    expect(made[0]!.index).toBeGreaterThan(5);
    expect(await verifyRecord(made, head)).toMatchObject({ ok: true });
    expect(await verifyRecord(made, head, check(keys.publicKey))).toMatchObject({
      ok: false,
      reason: expect.stringContaining("no signature covers"),
    });
  });

  it("what it cannot keep it says to the operator, and the hub hears of it with its own write", async () => {
    const warned: string[] = [];
    const store = { ...createMemoryStore(), append: () => Promise.reject(new Error("The disk is full.")) };
    const record = createRecord({ store, warn: (sentence) => warned.push(sentence) });
    record.audit(HAPPENED[0]!);
    await expect(record.store.append([], [{ kind: "a", key: "b", value: 1 }])).rejects.toThrow("full");
    expect(warned).toEqual(["The record could not be stored: The disk is full."]);
  });
});
