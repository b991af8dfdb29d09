import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { capabilitiesArbitrary, offerArbitrary, requestArbitrary } from "../../test/support/capabilities.ts";
import { negotiate, noMorePermissive, resolveTerms } from "./negotiate.ts";
import type { Capabilities } from "./types.ts";

describe("comparing what is honored with what was asked", () => {
  // field, request, just within, one step beyond
  const FIELDS: [string, Capabilities, Capabilities, Capabilities][] = [
    [
      "max_events_per_second (CAP-01)",
      { max_events_per_second: 3 },
      { max_events_per_second: 3 },
      { max_events_per_second: 4 },
    ],
    [
      "preferred_verbosity (CAP-02)",
      {},
      { preferred_verbosity: "normal" },
      { preferred_verbosity: "detailed" },
    ],
    [
      "preferred_verbosity (CAP-02)",
      { preferred_verbosity: "terse" },
      { preferred_verbosity: "terse" },
      { preferred_verbosity: "normal" },
    ],
    ["languages (CAP-03)", {}, { languages: ["en-US"] }, { languages: ["en"] }],
    [
      "languages (CAP-03)",
      { languages: ["yo", "en"] },
      { languages: ["en"] },
      { languages: ["en", "EN-US"] },
    ],
    [
      "supports_confirmation_reply (CAP-04)",
      {},
      { supports_confirmation_reply: false },
      { supports_confirmation_reply: true },
    ],
    [
      "supports_clarification_reply (CAP-05)",
      { supports_confirmation_reply: true },
      {},
      { supports_clarification_reply: true },
    ],
    [
      "coalesce_boundaries (CAP-06)",
      {},
      { coalesce_boundaries: ["completion"] },
      { coalesce_boundaries: ["completion", "word"] },
    ],
    [
      "event_filters (CAP-07)",
      {},
      { event_filters: { include: ["aaep:agent.tool.*"] } },
      { event_filters: { include: ["aaep:*"] } },
    ],
    [
      "event_filters (CAP-07)",
      { event_filters: { exclude: ["aaep:agent.tool.*"] } },
      { event_filters: { exclude: ["aaep:agent.t*"] } },
      { event_filters: { exclude: ["aaep:agent.tool.invoked"] } },
    ],
    [
      "supported_conformance_levels (CAP-08)",
      {},
      { supported_conformance_levels: [1] },
      { supported_conformance_levels: [1, 2] },
    ],
    ["supported_extensions (CAP-09)", {}, { supported_extensions: [] }, { supported_extensions: ["x:y"] }],
    ["cognitive_load (CAP-10)", {}, { cognitive_load: "low" }, { cognitive_load: "high" }],
    ["pace_wpm (CAP-11)", { pace_wpm: 200 }, { pace_wpm: 200 }, { pace_wpm: 199 }],
    ["pace_wpm (CAP-11)", {}, {}, { pace_wpm: 200 }],
    [
      "accept_signed_manifests_only (CAP-12)",
      { accept_signed_manifests_only: true },
      { accept_signed_manifests_only: true },
      { accept_signed_manifests_only: false },
    ],
  ];

  it.each(FIELDS)("%s: the same or less is fine, more is found", (field, request, within, beyond) => {
    expect(noMorePermissive(request, within)).toEqual([]);
    expect(noMorePermissive(request, {})).toEqual([]);
    expect(noMorePermissive(request, beyond)).toEqual([field.split(" ")[0]]);
  });

  it("takes any rate where none was asked for, and a stricter demand for signatures", () => {
    expect(
      noMorePermissive({}, { max_events_per_second: 100_000, accept_signed_manifests_only: true }),
    ).toEqual([]);
  });

  it("leaves extension capabilities to their extensions, and scalars it does not know alone", () => {
    expect(noMorePermissive({}, { haptic: { loud: true }, "dotted.scalar": 5 })).toEqual([]);
  });

  it("finds an excess in any one field, whatever else was agreed (HS-07)", () => {
    const excesses: ((asked: Capabilities) => Capabilities | undefined)[] = [
      ({ max_events_per_second: rate }) => (rate ? { max_events_per_second: rate + 1 } : undefined),
      ({ preferred_verbosity: verbosity }) =>
        verbosity === "detailed" ? undefined : { preferred_verbosity: "detailed" },
      ({ languages = ["en-US"] }) => ({ languages: [...languages, "tlh"] }),
      ({ supports_confirmation_reply: yes }) => (yes ? undefined : { supports_confirmation_reply: true }),
      ({ supports_clarification_reply: yes }) => (yes ? undefined : { supports_clarification_reply: true }),
      ({ coalesce_boundaries: asked = ["sentence"] }) =>
        asked.includes("none") ? undefined : { coalesce_boundaries: ["none"] },
      ({ event_filters: { include = [], exclude = [] } = {} }) =>
        [...include, ...exclude].some((one) => one === "*")
          ? undefined
          : { event_filters: { include: ["*"] } },
      ({ supported_conformance_levels: asked = [1] }) =>
        asked.includes(3) ? undefined : { supported_conformance_levels: [3] },
      ({ supported_extensions: asked = [] }) => ({ supported_extensions: [...asked, "x:more"] }),
      ({ cognitive_load: load }) => (load === "high" ? undefined : { cognitive_load: "high" }),
      ({ pace_wpm: pace = 100 }) => ({ pace_wpm: pace + 1 }),
      ({ accept_signed_manifests_only: yes }) => (yes ? { accept_signed_manifests_only: false } : undefined),
    ];
    const found = new Set<string>();
    fc.assert(
      fc.property(requestArbitrary, offerArbitrary, ({ capabilities, ...rest }, offer) => {
        const answer = negotiate({ ...rest, capabilities }, offer, "sub_1");
        if (answer.type === "subscription.rejected") return;
        for (const exceed of excesses) {
          const excess = exceed(capabilities);
          if (!excess) continue;
          const fields = Object.keys(excess);
          expect(noMorePermissive(capabilities, { ...answer.honored_capabilities, ...excess })).toEqual(
            fields,
          );
          found.add(fields[0]!);
        }
      }),
      { numRuns: 500 },
    );
    expect(found.size).toBe(12);
  });

  it("finds nothing in a request held against itself", () => {
    fc.assert(
      fc.property(capabilitiesArbitrary, (asked) => {
        expect(noMorePermissive(asked, asked)).toEqual([]);
      }),
    );
  });
});

describe("reading an acceptance (CON-15)", () => {
  it("takes what is missing as requested, else as the default; languages and levels as none", () => {
    expect(resolveTerms({}, {})).toEqual({
      max_events_per_second: Number.POSITIVE_INFINITY,
      verbosity: "normal",
      verbosityGiven: false,
      languages: [],
      confirmation: false,
      clarification: false,
      boundaries: ["sentence", "completion"],
      filters: { include: ["aaep:agent.*"], exclude: [] },
      levels: [],
      extensions: [],
      load: "medium",
      signedOnly: false,
      extensionTerms: {},
    });
    const request: Capabilities = {
      max_events_per_second: 2,
      preferred_verbosity: "terse",
      languages: ["yo"],
      supports_confirmation_reply: true,
      supports_clarification_reply: true,
      coalesce_boundaries: ["paragraph"],
      event_filters: { exclude: ["x"] },
      supported_conformance_levels: [3],
      supported_extensions: ["x:y"],
      cognitive_load: "low",
      pace_wpm: 120,
      accept_signed_manifests_only: true,
      haptic: { loud: true },
    };
    expect(resolveTerms(request, {})).toEqual({
      max_events_per_second: 2,
      verbosity: "terse",
      verbosityGiven: true,
      languages: [],
      confirmation: true,
      clarification: true,
      boundaries: ["paragraph"],
      filters: { include: ["aaep:agent.*"], exclude: ["x"] },
      levels: [],
      extensions: ["x:y"],
      load: "low",
      pace_wpm: 120,
      signedOnly: true,
      extensionTerms: {},
    });
  });

  it("is bound by what was accepted, not by what was asked (HS-29)", () => {
    const terms = resolveTerms(
      {
        max_events_per_second: 5,
        languages: ["yo", "en"],
        supports_confirmation_reply: true,
        event_filters: { exclude: ["x"] },
      },
      {
        max_events_per_second: 2,
        languages: ["en"],
        supports_confirmation_reply: false,
        event_filters: { include: ["aaep:agent.tool.*"] },
        supported_conformance_levels: [1],
        haptic: { loud: false },
      },
    );
    expect(terms).toMatchObject({
      max_events_per_second: 2,
      languages: ["en"],
      confirmation: false,
      filters: { include: ["aaep:agent.tool.*"], exclude: [] },
      levels: [1],
      extensionTerms: { haptic: { loud: false } },
    });
  });

  it("takes 100000 events a second for no limit (CON-19)", () => {
    expect(resolveTerms({}, { max_events_per_second: 100_000 }).max_events_per_second).toBe(
      Number.POSITIVE_INFINITY,
    );
    expect(resolveTerms({}, { max_events_per_second: 99_999 }).max_events_per_second).toBe(99_999);
  });

  it("keeps hostile names away from prototypes", () => {
    const { extensionTerms } = resolveTerms(
      {},
      JSON.parse('{"__proto__":{"polluted":1},"prototype":{},"scalar":1}'),
    );
    expect(extensionTerms).toEqual({});
    expect(Object.getPrototypeOf(extensionTerms)).toBe(Object.prototype);
  });
});
