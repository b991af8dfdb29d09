import { describe, expect, it } from "vitest";
import { parse, parseValue } from "../../src/protocol/parse.ts";
import { fixtures, loadCanonical } from "./canonical.ts";

const canonical = loadCanonical();
const NEEDS = "needs the AAEP spec folder: put it at ../shared/spec or name it in AAEP_SPEC_DIR";

describe.skipIf(!canonical)(`canonical examples and fixtures (${canonical ? "found" : NEEDS})`, () => {
  it("EVT-13: all 58 examples inside the canonical schemas pass tolerantly", () => {
    const examples = canonical!.examples;
    expect(examples).toHaveLength(58);
    for (const { where, schema, message } of examples) {
      const parsed = parseValue(message, {
        mode: "tolerant",
        scope: schema === "envelope" ? "envelope" : "message",
      });
      expect(parsed.ok ? [] : parsed.issues, where).toEqual([]);
    }
  });

  it("ENV-35: strict mode names a ruling for every example it refuses", () => {
    let refused = 0;
    for (const { where, schema, message } of canonical!.examples) {
      const parsed = parseValue(message, {
        mode: "strict",
        scope: schema === "envelope" ? "envelope" : "message",
      });
      if (parsed.ok) continue;
      refused++;
      for (const issue of parsed.issues)
        expect(issue.ruling, `${where}: ${issue.message}`).toMatch(/^[A-Z0-9]+-\d\d$/);
    }
    expect(refused).toBeGreaterThan(10);
  });

  it("EVT-13: the valid fixtures pass tolerantly", () => {
    for (const { name, text } of fixtures("valid")) {
      const parsed = parse(text, { mode: "tolerant" });
      expect(parsed.ok ? [] : parsed.issues, name).toEqual([]);
    }
  });

  it("SEC-21: the invalid fixtures fail with a reason a person can read", () => {
    const reasons = Object.fromEntries(
      fixtures("invalid").map(({ name, text }) => {
        const parsed = parse(text, { mode: "tolerant" });
        return [
          name,
          parsed.ok ? "accepted" : parsed.issues.map(({ path, message }) => `${path} ${message}`),
        ];
      }),
    );
    expect(reasons).toEqual({
      "malformed-event-id.json": [
        '/event_id event_id must be evt_ followed by 1 to 64 letters or digits; found "not-following-the-pattern".',
      ],
      "missing-required-fields.json": [
        "/session_id The field session_id is missing.",
        "/timestamp The field timestamp is missing.",
        "/producer The field producer is missing.",
        "/summary_normal The field summary_normal is missing.",
      ],
      "no-critical-urgency-on-errored.json": ['/urgency urgency must be "critical"; found "normal".'],
      "wrong-default-decision.json": [
        '/risk_level Because default_decision is "accept" and irreversible is true, risk_level must be "low"; found "high".',
      ],
      // A fault of the stream, not of the message: covered by the lifecycle tests.
      "duplicate-completion-streaming.json": "accepted",
    });
  });
});
