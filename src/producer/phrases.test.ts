/** Every sentence the library speaks, read as a person hears it: plain, whole, and without jargon. */
import { describe, expect, it } from "vitest";
import { ENGLISH, REFUSALS, refusalOf, SETTLED, SETTLED_LENIENTLY, UNANSWERED } from "./phrases.ts";

const words = (value: unknown): string[] =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(words)
      : [];

const SPOKEN: string[] = [
  ...words([REFUSALS, SETTLED, SETTLED_LENIENTLY]),
  ...(["timed_out", "disconnected", "nobody_to_ask"] as const).flatMap((how) =>
    (["assumes", "goes_on"] as const).map((then) => `${UNANSWERED[how]} ${UNANSWERED[then]}`),
  ),
  ...words(ENGLISH),
  ...[0, 1, 20, 60, 61, 90, 119, 600, 3_600, 7_200, 86_400].flatMap((seconds) => [
    ENGLISH.timeLeft(ENGLISH.duration(seconds)),
    ENGLISH.moreTime(ENGLISH.duration(seconds)),
  ]),
  ENGLISH.percent(50),
  ENGLISH.step(2, 5),
  ENGLISH.said(1),
  ENGLISH.said(120),
  ENGLISH.tool("Reading your calendar."),
  ENGLISH.progress("Step 2 of 5."),
  ENGLISH.otherState("checking_rules"),
  ENGLISH.gap("lagging"),
  ENGLISH.gap("aged"),
];

const JARGON =
  /token|time-?out|\bnull\b|undefined|error|code|json|subscription|session|event|prompt|default|param|payload|invalid|abort|exception|tool|irreversible|producer|client|server|_|\bid\b|NaN|object Object/i;

describe("what the library says", () => {
  it.each([...new Set(SPOKEN)])("%s", (sentence) => {
    expect(sentence).not.toMatch(JARGON);
    expect(sentence).toMatch(/^[A-Z0-9].*[.]$/);
    expect(sentence.length).toBeLessThan(140);
  });

  it("never says who answered, nor from where", () => {
    for (const sentence of SPOKEN)
      expect(sentence).not.toMatch(/\byou said\b|another device|somebody else|by ada/i);
  });

  it("tells the model for each refusal that nothing ran, and what to do instead of trying again", () => {
    for (const outcome of ["rejected", "timed_out", "withdrawn", "disconnected", "nobody_to_ask"] as const) {
      for (const reason of [undefined, "cannot_change", "too_many_changes", "second_check"] as const) {
        const { forModel, summary, ran } = refusalOf(outcome, "transfer_funds", reason);
        expect(ran).toBe(false);
        expect(forModel).toMatch(/^The tool transfer_funds did not run \(\w+\)\. .*(?:Do not|Ask|Find out)/);
        expect(summary).toMatch(/not done\.$/);
      }
    }
  });

  it("says durations as one would say them", () => {
    const said = [0, 1, 59, 60, 61, 90, 599, 600, 659, 3_599, 3_600, 7_200, 7_260, 86_400].map(
      ENGLISH.duration,
    );
    expect(said).toEqual([
      "0 seconds",
      "1 second",
      "59 seconds",
      "1 minute",
      "1 minute and 1 second",
      "1 minute and 30 seconds",
      "9 minutes and 59 seconds",
      "10 minutes",
      "10 minutes",
      "59 minutes",
      "60 minutes",
      "2 hours",
      "2 hours and 1 minute",
      "24 hours",
    ]);
  });
});
