/** An event id is a cursor and cannot be forged (CON-76). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeId, encodeEventId, encodeResentId, encodeRunId } from "./cursor.ts";
import type { LogIdentity } from "./entry.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const digits = (length: number) => fc.stringMatching(new RegExp(`^[A-Za-z0-9]{${length}}$`));
const log: fc.Arbitrary<LogIdentity> = fc.record({
  epoch: digits(6),
  key: fc.integer({ min: 0, max: 0xffffffff }),
});
const number = fc.oneof(fc.nat(200), fc.maxSafeNat());
const place = fc.record({ seq: number, sub: number });
const made = fc.tuple(log, place, place, number, digits(6)).chain(([identity, from, to, index, tag]) =>
  fc.constantFrom(
    { identity, id: encodeEventId(identity, from.seq), cursor: { kind: "event", seq: from.seq } },
    {
      identity,
      id: encodeRunId(identity, from, to, index, tag),
      cursor: { kind: "run", from, to, index, tag },
    },
    {
      identity,
      id: encodeResentId(identity, encodeRunId(identity, from, to, index, tag), "What is told."),
      cursor: { kind: "run", from, to, index, tag },
    },
  ),
);

describe("an event id", () => {
  it("is read back as the place it was made from, and looks like any other id (ENV-10)", () => {
    fc.assert(
      fc.property(made, ({ identity, id, cursor }) => {
        expect(id).toMatch(/^evt_[A-Za-z0-9]+$/);
        expect(decodeId(identity, id)).toEqual(cursor);
      }),
      { numRuns: 1000 },
    );
  });

  it("of a run that is told again says what is told of it; an entry's own stays as it is", () => {
    fc.assert(
      fc.property(log, place, place, digits(6), (identity, from, to, tag) => {
        const [run, entry] = [encodeRunId(identity, from, to, 0, tag), encodeEventId(identity, from.seq)];
        const retold = ["One.", "Two."].map((told) => encodeResentId(identity, run, told));
        expect(new Set([run, ...retold]).size).toBe(3);
        expect(encodeResentId(identity, entry, "One.")).toBe(entry);
      }),
    );
  });

  it("is its log's own, however many logs there are in one process, and the same whenever it is asked for", () => {
    const logs = fc.uniqueArray(log, {
      minLength: 2,
      maxLength: 4,
      selector: ({ epoch, key }) => `${epoch} ${key}`,
    });
    const asked = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 200 }), fc.boolean()), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(logs, asked, (identities, questions) => {
        const given = new Map<string, string>();
        for (const [which, seq, copied] of questions) {
          const at = which % identities.length;
          const identity = identities[at]!;
          const id = encodeEventId(copied ? { ...identity } : identity, seq);
          expect(decodeId(identity, id)).toEqual({ kind: "event", seq });
          expect(given.get(`${at} ${seq}`) ?? id).toBe(id);
          given.set(`${at} ${seq}`, id);
        }
      }),
    );
  });

  it("is noticed when a single character of it is changed, left out or added", () => {
    fc.assert(
      fc.property(made, fc.nat(), fc.constantFrom(...DIGITS, "_", "-", ""), ({ identity, id }, at, digit) => {
        const index = at % (id.length + 1);
        for (const forged of [
          id.slice(0, index) + digit + id.slice(index + 1),
          id.slice(0, index) + digit + id.slice(index),
        ]) {
          if (forged !== id) expect(typeof decodeId(identity, forged)).toBe("string");
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("of another log is known to be foreign, and of another key to be forged", () => {
    fc.assert(
      fc.property(made, log, ({ identity, id }, other) => {
        if (other.epoch !== identity.epoch)
          expect(decodeId({ ...identity, epoch: other.epoch }, id)).toBe("foreign");
        if (other.key !== identity.key) expect(decodeId({ ...identity, key: other.key }, id)).toBe("forged");
      }),
      { numRuns: 1000 },
    );
  });

  it("is not found in anything a stranger may send", () => {
    const identity = { epoch: "abc123", key: 1 };
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `evt_abc123${text}`),
        ),
        (text) => {
          expect(typeof decodeId(identity, text)).toBe("string");
        },
      ),
    );
  });
});
