import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { capabilitiesArbitrary, offerArbitrary, requestArbitrary } from "../../test/support/capabilities.ts";
import { chooseVersion, negotiate, noMorePermissive, type Offer, renegotiate } from "./negotiate.ts";
import { isMessage } from "./parse.ts";
import type { Capabilities, SubscriptionAccepted, SubscriptionRequest } from "./types.ts";

const EXTENSION = "https://example.org/finance/v1";
const MANIFEST = "https://example.org/.well-known/aaep-manifest.json";
const SIGNED = "eyJh.eyJi.c2ln";

const offer: Offer = {
  producer: { agent_id: "planner", agent_name: "Planner" },
  versions: ["1.0.0"],
  levels: [1, 2, 3],
  languages: { available: ["en-US", "yo-NG"], primary: "en-US" },
};

const request = (capabilities: Capabilities = {}, aaep_version = "1.0.0"): SubscriptionRequest => ({
  type: "subscription.request",
  aaep_version,
  subscriber_id: "reader",
  capabilities,
});

function accept(capabilities: Capabilities, more: Partial<Offer> = {}): SubscriptionAccepted {
  const answer = negotiate(request(capabilities), { ...offer, ...more }, "sub_1");
  expect(answer).toMatchObject({ type: "subscription.accepted" });
  expect(isMessage("subscription.accepted", answer)).toBe(true);
  return answer as SubscriptionAccepted;
}

function refuse(capabilities: Capabilities, more: Partial<Offer> = {}, aaep_version?: string) {
  const answer = negotiate(request(capabilities, aaep_version), { ...offer, ...more }, "sub_1");
  expect(isMessage("subscription.rejected", answer)).toBe(true);
  return answer as Extract<typeof answer, { type: "subscription.rejected" }>;
}

const EVERYTHING: Capabilities = {
  max_events_per_second: 3,
  preferred_verbosity: "detailed",
  languages: ["yo-NG", "en-US"],
  supports_confirmation_reply: true,
  supports_clarification_reply: true,
  coalesce_boundaries: ["sentence", "completion"],
  event_filters: { include: ["aaep:agent.*"], exclude: ["aaep:agent.progress.updated"] },
  supported_conformance_levels: [1, 2],
  supported_extensions: [EXTENSION],
  cognitive_load: "high",
  pace_wpm: 180,
  accept_signed_manifests_only: false,
};

describe("an acceptance", () => {
  it("grants what was asked and offered, without notes", () => {
    expect(accept(EVERYTHING, { extensions: [{ uri: EXTENSION, prefix: "finance" }] })).toEqual({
      type: "subscription.accepted",
      subscription_id: "sub_1",
      aaep_version: "1.0.0",
      producer: { agent_id: "planner", agent_name: "Planner" },
      honored_capabilities: EVERYTHING,
    });
  });

  it("states every default where nothing was asked, and invents neither a rate nor a pace (CON-15)", () => {
    const { honored_capabilities, negotiation_notes } = accept({});

    expect(honored_capabilities).toEqual({
      preferred_verbosity: "normal",
      languages: ["en-US"],
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      coalesce_boundaries: ["sentence", "completion"],
      event_filters: { include: ["aaep:agent.*"], exclude: [] },
      supported_conformance_levels: [1],
      supported_extensions: [],
      cognitive_load: "medium",
      accept_signed_manifests_only: false,
    });
    expect(negotiation_notes).toBeUndefined();
  });

  it("never honors more than was asked, whatever is asked and offered (HS-07)", () => {
    let accepted = 0;
    fc.assert(
      fc.property(requestArbitrary, offerArbitrary, (asked, offered) => {
        const before = structuredClone(asked);
        const answer = negotiate(asked, offered, "sub_1");
        expect(asked).toEqual(before);
        if (answer.type === "subscription.rejected") {
          expect(isMessage("subscription.rejected", answer)).toBe(true);
          return;
        }
        accepted++;
        expect(isMessage("subscription.accepted", answer)).toBe(true);
        expect(noMorePermissive(asked.capabilities, answer.honored_capabilities)).toEqual([]);
        for (const field of Object.keys(answer.honored_capabilities)) {
          if (isObject(answer.honored_capabilities[field]) && field !== "event_filters") {
            expect(Object.keys(asked.capabilities)).toContain(field);
          }
        }
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(500);
  });

  it("explains itself exactly when it differs from the request (HS-12)", () => {
    fc.assert(
      fc.property(requestArbitrary, offerArbitrary, (asked, offered) => {
        const answer = negotiate(asked, offered, "sub_1");
        if (answer.type === "subscription.rejected") return;
        const { extensions: _, ...plain } = offered;
        const core = negotiate({ ...asked, capabilities: coreOnly(asked.capabilities) }, plain, "sub_1");
        const { honored_capabilities: honored, negotiation_notes: notes } = core as SubscriptionAccepted;
        const wished = { ...withoutRate(accept({}).honored_capabilities), ...coreOnly(asked.capabilities) };
        const filters = { include: ["aaep:agent.*"], exclude: [], ...asked.capabilities.event_filters };
        const same = equal(honored, { ...wished, event_filters: filters });
        const short =
          offered.verbosities && !offered.verbosities.includes(honored.preferred_verbosity ?? "normal");

        expect(notes !== undefined).toBe(!same || short === true);
      }),
      { numRuns: 1000 },
    );
  });

  it("is independent of every other: nothing is shared between two (HS-27)", () => {
    const capabilities: Capabilities = { languages: ["en-US"], event_filters: { include: ["aaep:agent.*"] } };
    const first = accept(capabilities);
    const second = accept(capabilities);
    const untouched = structuredClone(second);
    first.honored_capabilities.languages?.push("fr");
    first.honored_capabilities.coalesce_boundaries?.pop();
    first.honored_capabilities.event_filters?.include?.push("*");
    first.producer.agent_id = "other";

    expect(second).toEqual(untouched);
    expect(accept(capabilities)).toEqual(untouched);
    expect(capabilities).toEqual({ languages: ["en-US"], event_filters: { include: ["aaep:agent.*"] } });
    expect(offer.producer.agent_id).toBe("planner");
  });

  it("has notes that fit their field as whole sentences, however much there is to explain (HS-06)", () => {
    const long = "x".repeat(10_000);
    const answer = accept(
      {
        max_events_per_second: 100_000,
        preferred_verbosity: "detailed",
        languages: Array.from({ length: 32 }, (_, i) => `ha-x-${i}${"-abcdefgh".repeat(20)}`),
        coalesce_boundaries: ["none", "word", "sentence", "paragraph", "completion"],
        supported_conformance_levels: [2, 3],
        supported_extensions: Array.from({ length: 64 }, (_, i) => `https://example.org/${i}/${long}`),
        ...Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p\u0000\u202E${i}😀${long}`, { a: 1 }])),
      },
      { max_events_per_second: 1, verbosities: ["terse"], boundaries: ["completion"], levels: [1] },
    );
    const notes = answer.negotiation_notes ?? "";

    expect(notes.length).toBeLessThanOrEqual(4096);
    expect(notes.match(/\.(?= [A-Z]|$)/g)).toHaveLength(8);
    expect(notes).toContain("and 56 more");
    expect(notes).not.toMatch(/\p{C}/u);
  });
});

describe("a rejection (HS-10)", () => {
  it("of a version says what was asked, what is spoken and what to do", () => {
    expect(refuse({}, { manifest_uri: MANIFEST }, "99.99.99")).toEqual({
      type: "subscription.rejected",
      reason_code: "version_unsupported",
      reason_message:
        "AAEP 99.99.99 was requested. This agent supports 1.0.0. Send a new request with a supported aaep_version.",
      alternative_manifest_uri: MANIFEST,
    });
  });

  it("stays within its field whatever the request holds", () => {
    const { reason_message } = refuse({}, {}, `1.0.0-${"a".repeat(100_000)}`);
    expect(reason_message.length).toBeLessThan(300);
  });

  it("of disjoint languages happens only where the host is strict (CON-20)", () => {
    expect(refuse({ languages: ["ha", "ig"] }, { strictLanguages: true })).toMatchObject({
      reason_code: "capabilities_incompatible",
      reason_message:
        "Text in ha and ig was requested. This agent speaks en-US and yo-NG. Send a new request with one of these languages.",
    });
    const yoruba = { languages: { available: ["yo-NG"], primary: "yo-NG" } };
    expect(refuse({}, { ...yoruba, strictLanguages: true }).reason_message).toContain(
      "Text in en-US was requested by default.",
    );
  });

  it("of disjoint levels happens only where replies are required (CON-45)", () => {
    const levels = { levels: [1, 2] as const };
    expect(refuse({ supported_conformance_levels: [3] }, { ...levels, requireReplies: true })).toMatchObject({
      reason_code: "capabilities_incompatible",
      reason_message: expect.stringContaining(
        "This agent offers 1 and 2 and requires subscribers that can reply.",
      ),
    });
    const { honored_capabilities, negotiation_notes } = accept({ supported_conformance_levels: [3] }, levels);
    expect(honored_capabilities).not.toHaveProperty("supported_conformance_levels");
    expect(negotiation_notes).toBe("Conformance levels not offered: 3. This agent offers 1 and 2.");
  });

  it("of disjoint boundaries happens only where the host gave some up (CON-45)", () => {
    expect(
      refuse({ coalesce_boundaries: ["word"] }, { boundaries: ["sentence", "completion"] }),
    ).toMatchObject({
      reason_code: "capabilities_incompatible",
      reason_message:
        "Text boundaries not available: word. This agent offers sentence and completion. Send a new request with one of these.",
    });
    for (const boundary of ["none", "word", "sentence", "paragraph", "completion"] as const) {
      expect(accept({ coalesce_boundaries: [boundary] }).negotiation_notes).toBeUndefined();
    }
  });
});

describe("versions", () => {
  it("are stated in every acceptance (VER-01)", () => {
    expect(accept({}).aaep_version).toBe("1.0.0");
  });

  it.each([
    ["1.0.0", "1.0.0", "1.0.0"],
    ["1.0.9", "1.0.0", "1.0.0"],
    ["1.7.0", "1.0.0 1.1.0", "1.1.0"],
    ["1.1.0", "1.0.0 1.1.0 1.2.0", "1.1.0"],
    ["1.1.0", "1.0.0 1.2.0", "1.0.0"],
    ["1.0.0", "1.10.0 1.9.0 1.0.0", "1.0.0"],
    ["1.12.0", "1.9.0 1.10.0", "1.10.0"],
    ["1.0.0", "1.0.2 1.0.10", "1.0.10"],
    ["1.0.0", "1.1.0", undefined],
    ["2.0.0", "1.0.0", undefined],
    ["0.9.0", "1.0.0", undefined],
    ["99.99.99", "1.0.0", undefined],
    ["1.0.0-rc.1", "1.0.0", undefined],
    ["1.0.0-rc.1", "1.0.0 1.0.0-rc.1", "1.0.0-rc.1"],
    ["1.0.0", "1.0.0-rc.1", undefined],
    ["1.0", "1.0.0", undefined],
    ["", "1.0.0", undefined],
    ["1.0.0", "", undefined],
  ])("asked for %s where %s is spoken, %s is agreed (VER-03, CON-39)", (requested, supported, expected) => {
    expect(chooseVersion(requested, supported.split(" "))).toBe(expected);
  });
});

describe("the rate (CAP-01)", () => {
  const rate = (wish?: number, cap?: number) =>
    accept(wish ? { max_events_per_second: wish } : {}, cap ? { max_events_per_second: cap } : {});

  it("is honored as asked below the cap, and lowered to it with a note", () => {
    expect(rate(3).honored_capabilities.max_events_per_second).toBe(3);
    expect(rate(3, 5).honored_capabilities.max_events_per_second).toBe(3);
    expect(rate(3, 5).negotiation_notes).toBeUndefined();
    expect(rate(30, 5.9).honored_capabilities.max_events_per_second).toBe(5);
    expect(rate(30, 5).negotiation_notes).toBe(
      "The rate is limited to 5 events per second; 30 was requested.",
    );
  });

  it("is unlimited where none is asked for, unless the host has a cap", () => {
    expect(rate().honored_capabilities).not.toHaveProperty("max_events_per_second");
    expect(rate(undefined, 50).honored_capabilities.max_events_per_second).toBe(50);
    expect(rate(undefined, 50).negotiation_notes).toContain("no limit was requested");
    expect(rate(100_000).honored_capabilities.max_events_per_second).toBe(100_000);
    expect(rate(100_000, 1e9).honored_capabilities.max_events_per_second).toBe(100_000);
    expect(rate(undefined, 1e9).honored_capabilities).not.toHaveProperty("max_events_per_second");
    expect(rate(5, 0.2).honored_capabilities.max_events_per_second).toBe(1);
  });
});

describe("verbosity (CAP-02)", () => {
  const verbosity = (wish: "terse" | "normal" | "detailed" | undefined, verbosities?: Offer["verbosities"]) =>
    accept(wish ? { preferred_verbosity: wish } : {}, verbosities ? { verbosities } : {});

  it("is normal by default, and honored as asked or shorter", () => {
    expect(verbosity(undefined).honored_capabilities.preferred_verbosity).toBe("normal");
    expect(verbosity("detailed").honored_capabilities.preferred_verbosity).toBe("detailed");
    expect(verbosity("detailed", ["terse", "normal"]).honored_capabilities.preferred_verbosity).toBe(
      "normal",
    );
    expect(verbosity("detailed", ["terse", "normal"]).negotiation_notes).toBe(
      "Text is not available at verbosity detailed; this agent sends normal.",
    );
  });

  it("stays as asked, with a note, where only longer text is written", () => {
    expect(verbosity("terse", ["normal"]).honored_capabilities.preferred_verbosity).toBe("terse");
    expect(verbosity("terse", ["normal"]).negotiation_notes).toContain("this agent sends normal");
  });
});

describe("languages (CAP-03)", () => {
  it("are those requested that can be served, in the words of the request (I18N-07, CON-20)", () => {
    const { honored_capabilities, negotiation_notes } = accept({
      languages: ["yo", "ha-NG", "EN-nz", "zh-TW"],
    });

    expect(honored_capabilities.languages).toEqual(["yo", "EN-nz"]);
    expect(negotiation_notes).toBe("Languages not available: ha-NG and zh-TW.");
  });

  it("are left out, with a note on what comes instead, where none can be served", () => {
    const { honored_capabilities, negotiation_notes } = accept({ languages: ["ha"] });

    expect(honored_capabilities).not.toHaveProperty("languages");
    expect(negotiation_notes).toBe("Text in ha was requested but is not available; this agent uses en-US.");
  });

  it("default to en-US", () => {
    expect(accept({}).honored_capabilities.languages).toEqual(["en-US"]);
    const { honored_capabilities, negotiation_notes } = accept(
      {},
      { languages: { available: [], primary: "yo" } },
    );
    expect(honored_capabilities).not.toHaveProperty("languages");
    expect(negotiation_notes).toContain("was requested by default but is not available; this agent uses yo.");
  });
});

describe("reply support", () => {
  it("for confirmations is false by default and honored only if asked for (CAP-04)", () => {
    expect(accept({}).honored_capabilities.supports_confirmation_reply).toBe(false);
    expect(
      accept({ supports_confirmation_reply: true }).honored_capabilities.supports_confirmation_reply,
    ).toBe(true);
  });

  it("for clarifications is false by default and honored only if asked for (CAP-05)", () => {
    expect(
      accept({ supports_confirmation_reply: true }).honored_capabilities.supports_clarification_reply,
    ).toBe(false);
    expect(
      accept({ supports_clarification_reply: true }).honored_capabilities.supports_clarification_reply,
    ).toBe(true);
  });
});

describe("boundaries (CAP-06)", () => {
  it("are sentence and completion by default, and a subset of those asked for", () => {
    expect(accept({}).honored_capabilities.coalesce_boundaries).toEqual(["sentence", "completion"]);
    const answer = accept(
      { coalesce_boundaries: ["word", "none", "completion"] },
      { boundaries: ["completion", "sentence"] },
    );
    expect(answer.honored_capabilities.coalesce_boundaries).toEqual(["completion"]);
    expect(answer.negotiation_notes).toBe("Text boundaries not available: word and none.");
  });
});

describe("filters (CAP-07)", () => {
  it("are all core events by default, and honored as asked with the missing list filled in", () => {
    const filters = (event_filters: Capabilities["event_filters"] & object) =>
      accept({ event_filters }).honored_capabilities.event_filters;

    expect(filters({})).toEqual({ include: ["aaep:agent.*"], exclude: [] });
    expect(filters({ include: ["haptic:*"] })).toEqual({ include: ["haptic:*"], exclude: [] });
    expect(filters({ exclude: ["aaep:agent.tool.*"] })).toEqual({
      include: ["aaep:agent.*"],
      exclude: ["aaep:agent.tool.*"],
    });
  });
});

describe("levels (CAP-08)", () => {
  it("are [1] by default, and those asked for that are offered", () => {
    expect(accept({}).honored_capabilities.supported_conformance_levels).toEqual([1]);
    const answer = accept({ supported_conformance_levels: [3, 1] }, { levels: [1, 2] });
    expect(answer.honored_capabilities.supported_conformance_levels).toEqual([1]);
    expect(answer.negotiation_notes).toBe("Conformance levels not offered: 3.");
  });
});

describe("extensions (CAP-09)", () => {
  const other = "https://example.org/other/v1";
  const finance = { uri: EXTENSION, prefix: "finance" };

  it("are none by default, and those asked for that are offered", () => {
    expect(accept({}, { extensions: [finance] }).honored_capabilities.supported_extensions).toEqual([]);
    const answer = accept({ supported_extensions: [other, EXTENSION] }, { extensions: [finance] });
    expect(answer.honored_capabilities.supported_extensions).toEqual([EXTENSION]);
    expect(answer.negotiation_notes).toBe(`Extensions not offered: ${other}.`);
  });

  it("that share a prefix are rejected by naming it, and accepted once the clash is gone (HS-25)", () => {
    const extensions = [finance, { uri: other, prefix: "finance" }];
    expect(refuse({ supported_extensions: [EXTENSION, other] }, { extensions })).toMatchObject({
      reason_code: "capabilities_incompatible",
      reason_message: `The requested extensions ${EXTENSION} and ${other} share the prefix finance. A subscription can use only one of them. Send a new request without the other.`,
    });
    expect(
      accept({ supported_extensions: [other] }, { extensions }).honored_capabilities.supported_extensions,
    ).toEqual([other]);
    expect(
      accept({ supported_extensions: [EXTENSION] }, { extensions: [finance, finance] }).negotiation_notes,
    ).toBeUndefined();
  });

  it("answer for their own capability object", () => {
    const negotiateMinimum = (asked: Record<string, unknown>) => ({
      seconds: Math.min(Number(asked["seconds"]), 60),
    });
    const extensions = [{ ...finance, negotiate: negotiateMinimum }];

    const granted = accept({ supported_extensions: [EXTENSION], finance: { seconds: 30 } }, { extensions });
    expect(granted.honored_capabilities["finance"]).toEqual({ seconds: 30 });
    expect(granted.negotiation_notes).toBeUndefined();
    const unlisted = accept({ finance: { seconds: 90, loud: true } }, { extensions });
    expect(unlisted.honored_capabilities["finance"]).toEqual({ seconds: 60 });
    expect(unlisted.negotiation_notes).toBe(
      "Capabilities not honored as requested: finance.loud and finance.seconds.",
    );
  });

  it("of one prefix answer only where the listener says which one it means", () => {
    const extensions = [
      { ...finance, negotiate: () => ({ mine: 1 }) },
      { uri: other, prefix: "finance", negotiate: () => ({ mine: 2 }) },
    ];
    expect(accept({ finance: {} }, { extensions }).honored_capabilities).not.toHaveProperty("finance");
    const answer = accept({ finance: {}, supported_extensions: [other] }, { extensions });
    expect(answer.honored_capabilities["finance"]).toEqual({ mine: 2 });
  });

  it("nobody here knows have no effect and no echo, and cause no rejection (HS-24)", () => {
    const { honored_capabilities, negotiation_notes } = accept(
      { haptic: { patterns_supported: ["pulse"] }, finance: { seconds: 1 } },
      { extensions: [finance] },
    );
    expect(honored_capabilities).toEqual(accept({}).honored_capabilities);
    expect(negotiation_notes).toBe("Capabilities not honored as requested: finance and haptic.");
  });

  it("cannot reach a prototype through their names", () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":{"a":1},"dotted.scalar":5}',
    );
    const prefixes = ["__proto__", "constructor", "toString", "languages"];
    const extensions = prefixes.map((prefix) => ({
      uri: `x:${prefix}`,
      prefix,
      negotiate: () => ({ polluted: 1 }),
    }));
    const { honored_capabilities } = accept(hostile, { extensions });
    const { request: merged } = renegotiate({ request: {} }, hostile, { ...offer, extensions }, "sub_1");

    expect(Object.keys(honored_capabilities)).toEqual([
      ...Object.keys(accept({}).honored_capabilities),
      "toString",
    ]);
    for (const one of [honored_capabilities, merged, {}]) {
      expect(Object.getPrototypeOf(one)).toBe(Object.prototype);
      expect((one as Record<string, unknown>)["polluted"]).toBeUndefined();
    }
  });
});

describe("cognitive load (CAP-10)", () => {
  it("is medium by default and honored as asked", () => {
    expect(accept({}).honored_capabilities.cognitive_load).toBe("medium");
    for (const cognitive_load of ["low", "medium", "high"] as const) {
      expect(accept({ cognitive_load }).honored_capabilities.cognitive_load).toBe(cognitive_load);
    }
  });
});

describe("pace (CAP-11)", () => {
  it("is echoed unchanged, and absent where none was given", () => {
    expect(accept({ pace_wpm: 180 }).honored_capabilities.pace_wpm).toBe(180);
    expect(accept({}).honored_capabilities).not.toHaveProperty("pace_wpm");
  });
});

describe("a demand for a signature (CAP-12)", () => {
  const demand = { accept_signed_manifests_only: true };

  it("is met inline, and nobody else pays for it (MAN-07)", () => {
    const signed = { signed_manifest: SIGNED, manifest_uri: MANIFEST };
    const answer = accept(demand, signed);

    expect(answer.signed_manifest).toBe(SIGNED);
    expect(answer.manifest_uri).toBe(MANIFEST);
    expect(answer.honored_capabilities.accept_signed_manifests_only).toBe(true);
    expect(accept({}, signed)).not.toHaveProperty("signed_manifest");
    expect(accept({}, signed).honored_capabilities.accept_signed_manifests_only).toBe(false);
  });

  it("is rejected where nothing is signed (HS-26)", () => {
    expect(refuse(demand)).toMatchObject({
      reason_code: "manifest_signature_required",
      reason_message: expect.stringContaining("Send a new request without accept_signed_manifests_only"),
    });
  });
});

describe("renegotiation (CON-19)", () => {
  const start = (asked: SubscriptionRequest, offered: Offer) => {
    const answer = negotiate(asked, offered, "sub_1");
    fc.pre(answer.type === "subscription.accepted");
    return {
      answer,
      previous: { request: asked.capabilities, aaep_version: (answer as SubscriptionAccepted).aaep_version },
    };
  };

  it("changes nothing where it names nothing, or only what holds already (HS-15)", () => {
    fc.assert(
      fc.property(requestArbitrary, offerArbitrary, (asked, offered) => {
        const { answer, previous } = start(asked, offered);

        expect(renegotiate(previous, {}, offered, "sub_1")).toEqual({ answer, request: asked.capabilities });
        expect(renegotiate(previous, structuredClone(asked.capabilities), offered, "sub_1")).toEqual({
          answer,
          request: asked.capabilities,
        });
      }),
      { numRuns: 500 },
    );
  });

  it("replaces the fields it names, whole, and keeps the rest (HS-15)", () => {
    fc.assert(
      fc.property(requestArbitrary, capabilitiesArbitrary, offerArbitrary, (asked, change, offered) => {
        const { previous } = start(asked, offered);
        const { answer, request: merged } = renegotiate(previous, change, offered, "sub_1");
        if (answer.type === "subscription.rejected") {
          expect(merged).toBe(previous.request);
          return;
        }
        const known = (field: string) =>
          CORE.includes(field) || offered.extensions?.some(({ prefix }) => prefix === field);
        for (const field of new Set([...Object.keys(asked.capabilities), ...Object.keys(change)])) {
          const named = Object.hasOwn(change, field) && known(field);
          expect(own(merged, field)).toEqual(own(named ? change : asked.capabilities, field));
        }
        expect(noMorePermissive(merged, answer.honored_capabilities)).toEqual([]);
        expect(isMessage("subscription.accepted", answer)).toBe(true);
        const again = renegotiate({ ...previous, request: merged }, change, offered, "sub_1");
        expect(again).toEqual({ answer, request: merged });
      }),
      { numRuns: 1000 },
    );
  });

  it("replaces filters as a whole, and lifts a limit by asking for 100000", () => {
    const previous = {
      request: { max_events_per_second: 1, event_filters: { exclude: ["aaep:agent.tool.*"] } },
    };
    const change = { event_filters: { include: ["haptic:*"] }, max_events_per_second: 100_000 };
    const { answer } = renegotiate(previous, change, offer, "sub_1");

    expect((answer as SubscriptionAccepted).honored_capabilities).toMatchObject({
      event_filters: { include: ["haptic:*"], exclude: [] },
      max_events_per_second: 100_000,
    });
  });

  it("keeps the version that was agreed", () => {
    const versions = { ...offer, versions: ["1.1.0", "1.0.0"] };
    const { answer } = renegotiate({ request: {}, aaep_version: "1.0.0" }, {}, versions, "sub_1");
    expect((answer as SubscriptionAccepted).aaep_version).toBe("1.0.0");
  });

  it("does not remember what has no effect, so that changes cannot pile up", () => {
    let held = { request: { languages: ["en"], haptic: { a: 1 } } as Capabilities };
    for (let i = 0; i < 100; i++) held = renegotiate(held, { [`unknown${i}`]: { big: i } }, offer, "sub_1");
    expect(held.request).toEqual({ languages: ["en"], haptic: { a: 1 } });
  });

  it("leaves the request as it was when it is rejected", () => {
    const previous = { request: { languages: ["en"] } };
    const { answer, request: kept } = renegotiate(
      previous,
      { accept_signed_manifests_only: true },
      offer,
      "sub_1",
    );
    expect(answer.type).toBe("subscription.rejected");
    expect(kept).toEqual({ languages: ["en"] });
  });
});

const CORE = Object.keys(EVERYTHING);

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

const coreOnly = (capabilities: Capabilities): Capabilities =>
  Object.fromEntries(Object.entries(capabilities).filter(([field]) => CORE.includes(field)));

const own = (capabilities: Capabilities, field: string): unknown =>
  Object.hasOwn(capabilities, field) ? capabilities[field] : undefined;

const withoutRate = ({ max_events_per_second: _, ...rest }: Capabilities): Capabilities => rest;

const equal = (one: Capabilities, other: Capabilities) => {
  const sorted = (value: Capabilities) =>
    JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(one) === sorted(other);
};
