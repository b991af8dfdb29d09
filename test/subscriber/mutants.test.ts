// Events with one mistake each: whatever still counts as an event is announced.
import { describe, expect, it } from "vitest";
import { createStreamParser } from "../../src/protocol/parse.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { terminalLine } from "../../src/voices/terminal.ts";
import { type Fields, TestListener } from "./support.ts";

const common = {
  "@context": ["https://aaep-protocol.org/context/v1", "urn:earshot:aaep:v1"],
  session_id: "sess_1",
  timestamp: "2026-01-01T00:00:00.000Z",
  producer: { agent_id: "planner", agent_name: "Planner", agent_version: "1.0.0" },
  localization_hints: {
    primary_language: "en",
    text_direction: "ltr",
    alternatives: { es: { summary_normal: "Hola." } },
  },
  correlation_id: "c1",
  sequence_number: 1,
  urgency: "normal",
  summary_terse: "Short.",
  summary_normal: "As usual.",
  summary_normal_es: "Como siempre.",
  summary_detailed: "At length.",
  extensions: {
    earshot: {
      deadline: { reply_token: "rpl_1", seconds_left: 30, extensions_left: 1, ceiling_seconds: 60 },
      resolves: { reply_token: "rpl_0", outcome: "accepted" },
      gap: { reason: "evicted" },
      standing: true,
    },
  },
};

const SAMPLES: Readonly<Record<string, Fields>> = {
  "session.started": { user_intent: "x", expected_duration_ms: 5 },
  "session.completed": { duration_ms: 5_000, output_summary: "It is done well." },
  "session.errored": { error_category: "transient", remediation_hint: "Try again.", error_message: "No." },
  "session.cancelled": { cancelled_by: "user", partial_result: "Half." },
  "state.changed": { from_state: "idle", to_state: "thinking", reason: "x" },
  "progress.updated": { progress: { percent: 5, step: 1, total_steps: 2, description: "d" }, eta_ms: 5_000 },
  "tool.invoked": {
    tool: "t",
    tool_call_id: "call_1",
    description: "d",
    args_summary: "a",
    irreversible: true,
  },
  "tool.completed": {
    tool: "t",
    tool_call_id: "call_1",
    status: "error",
    error_message: "e",
    duration_ms: 5,
  },
  "output.streaming": {
    chunk:
      "# One\n\n```ts\nlet a;\n```\n\n- a\n  1. b\n\n| a | b |\n|---|---|\n| c | d |\n\nSee [it](https://a.org).",
    position: 0,
    complete: true,
    content_type: "text/markdown",
    output_id: "out_1",
    coalesce_hint: "paragraph",
    language: "en",
  },
  "awaiting.confirmation": {
    action: "Pay.",
    consequence: "Paid.",
    reply_token: "rpl_1",
    timeout_seconds: 60,
    default_decision: "reject",
    irreversible: true,
    reversibility: "irreversible",
    risk_level: "high",
    allowed_replies: ["accept", "reject"],
    extra_context: {
      params: [{ name: "amount", label: "Amount", value: 5, masked: false }],
      params_hash: "h",
      tool_call_id: "call_1",
      other: { deep: [1, { x: null }] },
    },
  },
  "awaiting.clarification": {
    question: "Which?",
    context: "There are two.",
    reply_token: "rpl_1",
    timeout_seconds: 60,
    accepted_response_kinds: ["multiple_choice", "yes_no", "numeric", "freetext"],
    choices: [
      { value: "a", label: "First" },
      { value: "b", label: "Second" },
    ],
    default_response: "a",
  },
  "handoff.requested": { target_kind: "human", reason: "Stuck.", context_summary: "x" },
  "x.unheard": { anything: ["goes"] },
};

const WRONG: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  "",
  " ",
  "constructor",
  "__proto__",
  "toString",
  "\u0000\ud800\u202e",
  "x".repeat(5_000),
  "{agent} {text} $& $1",
  "```constructor\nx\n```\n~~~__proto__\n",
  [],
  [null],
  ["constructor"],
  [{}],
  {},
  { constructor: null, length: -1, text: 1 },
  JSON.parse('{"__proto__":{"x":1}}'),
];

/** Every place in it, itself excluded. */
function places(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...places(inner, [...path, key])]);
}

function changed(given: Fields, path: readonly string[], value: unknown): Fields {
  const copy = structuredClone(given);
  const inside = path.slice(0, -1).reduce((at, key) => at[key] as Fields, copy);
  inside[path.at(-1)!] = value;
  return copy;
}

describe.each(Object.entries(SAMPLES))("an event of type %s with one thing wrong", (name, fields) => {
  it("is passed over or heard, never a crash, an answer of its own or a mark on the terminal (A16)", () => {
    const critical = /errored|awaiting|handoff/.test(name) ? { urgency: "critical" } : {};
    const sample = { ...common, type: `aaep:agent.${name}`, event_id: "evt_1", ...critical, ...fields };
    const variants = places(sample).flatMap((path) => WRONG.map((value) => changed(sample, path, value)));
    let heard = 0;
    for (const [index, variant] of variants.entries()) {
      const parsed = createStreamParser()(JSON.stringify(variant));
      if (!parsed.ok || parsed.kind === "message") continue;
      heard++;
      const settings = { load: (["low", "medium", "high"] as const)[index % 3]!, pace_wpm: 300 };
      const listener = new TestListener({
        ...settings,
        verbosity: (["terse", "detailed"] as const)[index % 2]!,
      });
      const what = JSON.stringify(variant);
      try {
        listener
          .hear(parsed.message as AgentEvent)
          .do("what")
          .do("repeat")
          .do("details");
        listener.answer("more").answer("confirm").wait(2_000).do("pause").do("resume");
        listener.announcer.unanswered(listener.now);
        listener.wait(120_000);
      } catch (error) {
        throw new Error(what, { cause: error });
      }
      expect(
        listener.sent.filter((message) => message.do === "confirm"),
        what,
      ).toEqual([]);
      for (const { utterance } of listener.said)
        expect(terminalLine(utterance), what).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/u);
    }
    // Otherwise the samples are wrong, and nothing was tried.
    expect(heard).toBeGreaterThan(50);
  });
});
