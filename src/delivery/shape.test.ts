/** What a subscription's terms make of an event (CAP-02, CAP-03, CAP-07, CAP-09, CAP-10; CON-01, CON-05, CON-22). */
import { describe, expect, it } from "vitest";
import { REGISTRY } from "../../test/support/delivery-harness.ts";
import { createWriter } from "../../test/support/legal-session.ts";
import { termsOf } from "../../test/support/terms.ts";
import { parseValue } from "../protocol/parse.ts";
import { type AgentEvent, type Capabilities, CORE_CONTEXT } from "../protocol/types.ts";
import { applyShape, shapeOf, variantsOf } from "./shape.ts";

function dressed(
  event: object,
  terms: Capabilities = {},
  required = false,
): Record<string, unknown> | undefined {
  const entry = { seq: 1, event: event as AgentEvent, ...(required ? { required } : {}) };
  const worn = applyShape(entry, shapeOf(termsOf(terms), REGISTRY), variantsOf(entry.event));
  if (worn) expect(parseValue(worn, { mode: "strict", extensions: REGISTRY }).ok).toBe(true);
  return worn as Record<string, unknown> | undefined;
}

const { state, progress, confirm, call, completed } = createWriter();

describe("verbosity", () => {
  const event = { ...call("search"), summary_terse: "Search.", summary_detailed: "Searching the whole web." };

  it("picks a string and never leaves an event out (ENV-21)", () => {
    for (const preferred_verbosity of ["terse", "normal", "detailed"] as const) {
      for (const plain of [event, call("search")])
        expect(dressed(plain, { preferred_verbosity })).toBeDefined();
    }
    expect(dressed(event, { preferred_verbosity: "terse" })).toMatchObject({
      verbosity: "terse",
      summary_terse: "Search.",
    });
    expect(dressed(event, { preferred_verbosity: "terse" })).not.toHaveProperty("summary_detailed");
    expect(dressed(call("search"), { preferred_verbosity: "detailed" })).toMatchObject({
      verbosity: "normal",
    });
  });

  it("is terse at low load unless it was chosen (CON-22)", () => {
    expect(dressed(event, { cognitive_load: "low" })).toHaveProperty("summary_terse");
    expect(dressed(event, { cognitive_load: "low", preferred_verbosity: "detailed" })).toHaveProperty(
      "summary_detailed",
    );
  });
});

describe("low load", () => {
  const background = { urgency: "background" };

  it("drops background progress and states, but no move to or from a question (CON-22)", () => {
    const low = { cognitive_load: "low" } as const;
    expect(dressed(progress(), low)).toBeUndefined();
    expect(dressed({ ...state("idle", "thinking"), ...background }, low)).toBeUndefined();
    expect(dressed({ ...state("thinking", "awaiting_input"), ...background }, low)).toBeDefined();
    expect(dressed({ ...state("awaiting_input", "thinking"), ...background }, low)).toBeDefined();
    expect(dressed(state("idle", "thinking"), low)).toBeDefined();
    expect(dressed(progress(), {})).toBeDefined();
  });
});

describe("filters", () => {
  it("let critical events through, and required events, marked critical (DEL-01, DEL-02, DEL-03, CON-13)", () => {
    const none = { event_filters: { exclude: ["aaep:agent.*"] }, supports_confirmation_reply: true };
    expect(dressed(state("idle", "thinking"), none)).toBeUndefined();
    expect(dressed(state("idle", "thinking"), none, true)).toMatchObject({ urgency: "critical" });
    expect(dressed(state("idle", "thinking"), {}, true)).toMatchObject({ urgency: "normal" });
    expect(dressed(confirm("rpl_1", "Go."), none)).toMatchObject({ reply_token: "rpl_1" });
    expect(dressed({ ...progress() }, { cognitive_load: "low" }, true)).toMatchObject({
      urgency: "critical",
    });
    expect(dressed(completed(), { event_filters: { include: ["aaep:agent.session.*"] } })).toBeDefined();
    expect(dressed(call("search"), { event_filters: { include: ["aaep:agent.session.*"] } })).toBeUndefined();
  });
});

describe("language", () => {
  const event = {
    ...call("search"),
    summary_normal: "Searching.",
    summary_terse: "Search.",
    summary_normal_yo: "Mo ń wá a.",
    summary_normal_fr: "Je cherche.",
  };

  it("is the first that is wanted and there, with hints that say so, and no other variant (DEL-16)", () => {
    expect(dressed(event, { languages: ["de", "yo-NG", "fr"] })).toMatchObject({
      summary_normal: "Mo ń wá a.",
      localization_hints: { primary_language: "yo" },
    });
    expect(
      Object.keys(dressed(event, { languages: ["fr"] })!).filter((key) => /_(yo|fr)$/.test(key)),
    ).toEqual([]);
    // The terse text is English only, so it is dropped.
    expect(dressed(event, { languages: ["fr"], preferred_verbosity: "terse" })).not.toHaveProperty(
      "summary_terse",
    );
  });

  it("falls back to what the producer speaks, rather than to silence (DEL-18)", () => {
    expect(dressed(event, { languages: ["de"] })).toMatchObject({
      summary_normal: "Searching.",
      localization_hints: { primary_language: "en-US" },
    });
  });

  it("never asks half a question in another language", () => {
    const half = { ...confirm("rpl_1", "Pay."), action_yo: "Sanwó." };
    expect(dressed(half, { languages: ["yo"], supports_confirmation_reply: true })).toMatchObject({
      action: "Pay.",
      localization_hints: { primary_language: "en-US" },
    });
    const whole = { ...half, summary_normal_yo: "Ṣé kí n san?", consequence_yo: "Owó á lọ." };
    expect(dressed(whole, { languages: ["yo"], supports_confirmation_reply: true })).toMatchObject({
      action: "Sanwó.",
      consequence: "Owó á lọ.",
    });
  });
});

describe("extensions", () => {
  it("reach those who know them, and nobody else", () => {
    const event = {
      ...call("search"),
      "@context": [CORE_CONTEXT, REGISTRY.medai],
      extensions: { medai: { ward: "7" } },
    };
    expect(dressed(event, { supported_extensions: [REGISTRY.medai] })).toHaveProperty("extensions");
    expect(dressed(event)).not.toHaveProperty("extensions");
    expect(dressed(event)).toMatchObject({ "@context": CORE_CONTEXT });
    const both = {
      ...event,
      "@context": [CORE_CONTEXT, REGISTRY.medai, REGISTRY.earshot],
      extensions: { medai: { ward: "7" }, earshot: { a: 1 } },
    };
    expect(dressed(both, { supported_extensions: [REGISTRY.earshot] })).toMatchObject({
      extensions: { earshot: { a: 1 } },
    });
  });
});

describe("who cannot answer", () => {
  it("hears what is asked, at once, and never holds the token (CON-01)", () => {
    for (const terms of [{}, { supports_clarification_reply: true }]) {
      const notice = dressed(confirm("rpl_secret", "Transfer $500."), terms)!;
      expect(notice).toMatchObject({
        type: "aaep:agent.state.changed",
        urgency: "critical",
        to_state: "awaiting_input",
      });
      expect(JSON.stringify(notice)).not.toContain("rpl_secret");
    }
    const mute = { ...confirm("rpl_secret", "Transfer $500."), summary_normal: undefined };
    expect(dressed(JSON.parse(JSON.stringify(mute)))).toMatchObject({ summary_normal: "Transfer $500." });
  });

  it("sees the question if it only forwards it (CON-01)", () => {
    const forwarder = { ...termsOf(), extensionTerms: { earshot: { view_prompts: true } } };
    const event = confirm("rpl_1", "Go.");
    expect(applyShape({ seq: 1, event }, shapeOf(forwarder), undefined)).toMatchObject({
      reply_token: "rpl_1",
    });
  });
});

it("two sets of terms share a shape exactly if rate and pace are all that differs", () => {
  const base = shapeOf(termsOf({ event_filters: { include: ["a", "b"] } }));
  expect(
    shapeOf(termsOf({ event_filters: { include: ["b", "a"] }, max_events_per_second: 3, pace_wpm: 200 })),
  ).toBe(base);
  expect(shapeOf(termsOf({ event_filters: { include: ["b"] } })).key).not.toBe(base.key);
});
