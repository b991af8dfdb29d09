// A listener checks a received message before anyone hears it, and an agent checks a message before it sends it.
// Run it with: node examples/validate-a-message/main.mjs

import assert from "node:assert/strict";
import { describeIssues, parse, parseValue } from "earshot/protocol";

// A received message is text. This one comes from an agent with a newer version.
const received = JSON.stringify({
  "@context": "https://aaep-protocol.org/context/v1",
  type: "aaep:agent.awaiting.confirmation",
  event_id: "evt_7f3a",
  session_id: "sess_01",
  timestamp: "2026-05-24T14:22:11.342Z",
  producer: { agent_id: "planner", agent_name: "Planner" },
  urgency: "critical",
  localization_hints: { primary_language: "en-US", text_direction: "ltr" },
  summary_normal: "Shall I transfer 500 dollars to savings?",
  action: "Transfer 500 dollars to savings.",
  consequence: "The money moves at once.",
  reply_token: "rpl_9c1d",
  timeout_seconds: 300,
  default_decision: "reject",
  risk_level: "extreme",
  mood: "cheerful",
});

console.log("Received: a question from an agent that uses words we do not know.");
const heard = parse(received, { mode: "tolerant" });
assert(heard.ok && heard.kind === "event");
assert.equal(heard.message.risk_level, "high");
assert.deepEqual(
  heard.diagnostics.map(({ path, code }) => `${path} ${code}`),
  ["/risk_level enum", "/mood unknown_field"],
);
console.log("It is heard nevertheless, with the unknown risk read as high. Notes for the log:");
console.log(indent(describeIssues(heard.diagnostics)));

console.log("To send: the same question, with silence taken as a yes.");
const draft = { ...JSON.parse(received), risk_level: "high", irreversible: true, default_decision: "accept" };
const sendable = parseValue(draft, { mode: "strict" });
assert(!sendable.ok);
assert(sendable.issues.some(({ path, ruling }) => path === "/risk_level" && ruling === "CNF-20"));
console.log("It must not leave. What to change:");
console.log(indent(describeIssues(sendable.issues)));

delete draft.mood;
const mended = parseValue({ ...draft, default_decision: "reject" }, { mode: "strict" });
assert(mended.ok, mended.ok ? "" : describeIssues(mended.issues));
console.log("With default_decision reject and without the custom field it is a valid AAEP 1.0 event.");

function indent(text) {
  return text.replace(/^/gm, "  ");
}
