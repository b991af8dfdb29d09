/** Any terms a subscription can be on, biased towards what makes delivery work hard. */
import fc from "fast-check";
import { resolveTerms, type Terms } from "../../src/protocol/negotiate.ts";
import type { Capabilities } from "../../src/protocol/types.ts";
import { capabilitiesArbitrary } from "./capabilities.ts";
import { REGISTRY } from "./delivery-harness.ts";

export const termsOf = (capabilities: Capabilities = {}): Terms =>
  resolveTerms(capabilities, { languages: capabilities.languages ?? ["en-US"], ...capabilities });

/** Everything that is said, as it is said. */
export const RAW = termsOf({
  coalesce_boundaries: ["none"],
  supports_confirmation_reply: true,
  supports_clarification_reply: true,
  event_filters: { include: ["*"] },
  supported_extensions: Object.values(REGISTRY),
});

const hard = fc.record(
  {
    max_events_per_second: fc.constantFrom(1, 2, 3, 10, 250),
    coalesce_boundaries: fc.shuffledSubarray(
      ["none", "word", "sentence", "paragraph", "completion"] as const,
      { minLength: 1 },
    ),
    cognitive_load: fc.constantFrom("low" as const, "medium" as const),
    pace_wpm: fc.constantFrom(60, 180, 1000),
    preferred_verbosity: fc.constantFrom("terse" as const, "detailed" as const),
    languages: fc.constantFrom(["en-US"], ["yo"], ["fr", "yo-NG", "en"]),
    supports_confirmation_reply: fc.boolean(),
    supports_clarification_reply: fc.boolean(),
    supported_extensions: fc.shuffledSubarray(Object.values(REGISTRY)),
    event_filters: fc.constantFrom(
      { include: ["*"] },
      { exclude: ["aaep:agent.state.*", "aaep:agent.progress.updated"] },
      { exclude: ["aaep:agent.tool.*"] },
      { exclude: ["aaep:agent.output.streaming"] },
      { include: ["aaep:agent.output.*", "aaep:agent.session.*"] },
    ),
  },
  { requiredKeys: [] },
);

export const termsArbitrary: fc.Arbitrary<Terms> = fc
  .oneof(
    { weight: 4, arbitrary: hard as unknown as fc.Arbitrary<Capabilities> },
    { weight: 1, arbitrary: capabilitiesArbitrary },
  )
  .map(termsOf);
