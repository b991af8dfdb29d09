// Arbitrary capability declarations, requests and offers, for any test about what a subscription is agreed on.

import fc from "fast-check";
import type { ExtensionOffer, Offer } from "../../src/protocol/negotiate.ts";
import type { Boundary, Capabilities, SubscriptionRequest, Verbosity } from "../../src/protocol/types.ts";

const BOUNDARIES: readonly Boundary[] = ["none", "word", "sentence", "paragraph", "completion"];
const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];
const LEVELS = [1, 2, 3] as const;
const PREFIXES = ["earshot", "haptic", "azlearn", "toString"];

const some = <T>(items: readonly T[], minLength = 0): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray([...items], { minLength });

/** Rejections end an exchange early, so what leads to them is kept rare. */
const mostly = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

/** Real languages with the regions and scripts that make matching hard, and well-formed tags nobody speaks. */
export const languageTagArbitrary: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          "en",
          "es",
          "pt",
          "zh",
          "sr",
          "yo",
          "ha",
          "ar",
          "he",
          "iw",
          "no",
          "nb",
          "nn",
          "pa",
          "xx",
          "und",
        ),
        fc.constantFrom("", "-Latn", "-Cyrl", "-Arab", "-Hans", "-Hant"),
        fc.constantFrom(
          "",
          "-US",
          "-GB",
          "-NZ",
          "-MX",
          "-419",
          "-ES",
          "-BR",
          "-TW",
          "-CN",
          "-RS",
          "-ME",
          "-NG",
          "-PK",
        ),
        fc.constantFrom("", "", "", "-x-whale", "-1996"),
      )
      .map((parts) => parts.join("")),
  },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/) },
);

export const filterPatternArbitrary: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "*",
    "aaep:*",
    "aaep:agent.*",
    "aaep:agent.t*",
    "aaep:agent.tool.*",
    "aaep:agent.tool.invoked",
    "aaep:agent.tool.invoked*",
    "aaep:agent.progress.updated",
    "aaep:agent.state.changed",
    "haptic:*",
    "haptic:pulse",
    "https://aaep-protocol.org/types/agent.tool.*",
  ),
  fc.string({ minLength: 1, maxLength: 12 }),
);

const patterns = fc.uniqueArray(filterPatternArbitrary, { maxLength: 5 });

export const filtersArbitrary = fc.record({ include: patterns, exclude: patterns }, { requiredKeys: [] });

const uri = (number: number) => `https://example.org/extension/${number}/v1`;
const uris = fc.uniqueArray(fc.nat(9).map(uri), { maxLength: 4 });

const core = fc.record(
  {
    max_events_per_second: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100_000 })),
    preferred_verbosity: fc.constantFrom(...VERBOSITIES),
    languages: fc.uniqueArray(languageTagArbitrary, { minLength: 1, maxLength: 5 }),
    supports_confirmation_reply: fc.boolean(),
    supports_clarification_reply: fc.boolean(),
    coalesce_boundaries: some(BOUNDARIES, 1),
    event_filters: filtersArbitrary,
    supported_conformance_levels: some(LEVELS, 1),
    supported_extensions: uris,
    cognitive_load: fc.constantFrom("low", "medium", "high"),
    pace_wpm: fc.integer({ min: 50, max: 1000 }),
    accept_signed_manifests_only: mostly(false, fc.constant(true)),
  },
  { requiredKeys: [] },
);

const extensionCapabilities = fc.dictionary(
  fc.constantFrom(...PREFIXES),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  { maxKeys: 2 },
);

/** Any valid declaration: every field may be missing, extensions may have their say. */
export const capabilitiesArbitrary: fc.Arbitrary<Capabilities> = fc
  .tuple(extensionCapabilities, core)
  .map(([extensions, fields]) => ({ ...extensions, ...fields }));

const versionArbitrary = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("1.0.0", "1.0.7", "1.2.0") },
  { weight: 1, arbitrary: fc.constantFrom("2.0.0", "1.0.0-rc.1", "0.9.0", "99.99.99") },
);

export const requestArbitrary: fc.Arbitrary<SubscriptionRequest> = fc.record(
  {
    type: fc.constant("subscription.request"),
    aaep_version: versionArbitrary,
    subscriber_id: fc.string({ minLength: 1, maxLength: 20 }),
    subscriber_name: fc.string({ maxLength: 20 }),
    correlation_id: fc.string(),
    capabilities: capabilitiesArbitrary,
  },
  { requiredKeys: ["type", "aaep_version", "subscriber_id", "capabilities"] },
);

const extensionOfferArbitrary: fc.Arbitrary<ExtensionOffer> = fc.record(
  {
    uri: fc.nat(9).map(uri),
    prefix: fc.oneof(fc.constantFrom(...PREFIXES), fc.stringMatching(/^[a-z]{3,12}$/)),
    negotiate: fc.constantFrom<NonNullable<ExtensionOffer["negotiate"]>>(
      (asked) => ({ ...asked }),
      () => ({ granted: true }),
      () => undefined,
    ),
  },
  { requiredKeys: ["uri", "prefix"] },
);

const languageOfferArbitrary: fc.Arbitrary<Offer["languages"]> = fc.record(
  {
    available: fc.array(languageTagArbitrary, { maxLength: 5 }),
    primary: languageTagArbitrary,
    fallback_chain: fc.array(languageTagArbitrary, { maxLength: 3 }),
  },
  { requiredKeys: ["available", "primary"] },
);

/** Any offer, down to one that has next to nothing in common with anybody. */
export const offerArbitrary: fc.Arbitrary<Offer> = fc.record(
  {
    producer: fc.constant({ agent_id: "planner", agent_name: "Planner" }),
    versions: fc.constantFrom(
      ["1.0.0"],
      ["1.0.0", "1.1.0"],
      ["1.2.0", "1.0.0"],
      ["1.0.0", "1.0.0-rc.1"],
      ["2.0.0"],
    ),
    levels: some(LEVELS),
    languages: languageOfferArbitrary,
    max_events_per_second: fc.oneof(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0.1, max: 200_000, noNaN: true }),
    ),
    boundaries: mostly(BOUNDARIES, some(BOUNDARIES)),
    verbosities: some(VERBOSITIES),
    extensions: fc.array(extensionOfferArbitrary, { maxLength: 6 }),
    manifest_uri: fc.constant("https://example.org/.well-known/aaep-manifest.json"),
    signed_manifest: fc.constant("eyJh.eyJi.c2ln"),
    strictLanguages: mostly(false, fc.constant(true)),
    requireReplies: mostly(false, fc.constant(true)),
  },
  { requiredKeys: ["producer", "versions", "levels", "languages"] },
);
