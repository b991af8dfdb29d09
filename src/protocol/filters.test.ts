import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterPatternArbitrary, filtersArbitrary } from "../../test/support/capabilities.ts";
import { CRITICAL_TYPES, compileFilters, filtersNoWider, isCritical, typePasses } from "./filters.ts";

const PROGRESS = "aaep:agent.progress.updated";
const INVOKED = "aaep:agent.tool.invoked";

describe("a filter (CON-05)", () => {
  it("knows exact types and a single * at the end, which stands for any rest (DEL-02)", () => {
    const passes = (pattern: string, type: string) => typePasses({ include: [pattern] }, type);

    expect(passes(INVOKED, INVOKED)).toBe(true);
    expect(passes(INVOKED, "aaep:agent.tool.completed")).toBe(false);
    expect(passes("aaep:agent.tool.*", INVOKED)).toBe(true);
    expect(passes("aaep:agent.tool.*", "aaep:agent.toolbox")).toBe(false);
    expect(passes("aaep:agent.tool*", "aaep:agent.toolbox")).toBe(true);
    expect(passes("aaep:agent.tool.invoked*", INVOKED)).toBe(true);
    expect(passes("*", INVOKED)).toBe(true);
    expect(passes("aaep:*.invoked", INVOKED)).toBe(false);
    expect(passes("aaep:agent.tool.invoke", INVOKED)).toBe(false);
    expect(passes("AAEP:agent.*", INVOKED)).toBe(false);
  });

  it("lets exclude win", () => {
    const filters = { include: ["aaep:agent.*"], exclude: [PROGRESS, "aaep:agent.tool.*"] };

    expect(typePasses(filters, PROGRESS)).toBe(false);
    expect(typePasses(filters, INVOKED)).toBe(false);
    expect(typePasses(filters, "aaep:agent.session.started")).toBe(true);
    expect(typePasses({ include: [PROGRESS], exclude: [PROGRESS] }, PROGRESS)).toBe(false);
  });

  it("lets every core event through where nothing is said, and excludes nothing", () => {
    expect(typePasses(undefined, PROGRESS)).toBe(true);
    expect(typePasses({}, PROGRESS)).toBe(true);
    expect(typePasses({ exclude: [PROGRESS] }, INVOKED)).toBe(true);
    expect(typePasses({ exclude: [PROGRESS] }, PROGRESS)).toBe(false);
    expect(typePasses({ include: [] }, PROGRESS)).toBe(false);
  });

  it("lets an extension's types through only where they are included", () => {
    expect(typePasses({}, "haptic:pulse")).toBe(false);
    expect(typePasses({ include: ["haptic:*"] }, "haptic:pulse")).toBe(true);
    expect(typePasses({ include: ["haptic:*"] }, INVOKED)).toBe(false);
  });

  it("takes both spellings of a core type for the same (CON-35)", () => {
    expect(typePasses({ include: ["https://aaep-protocol.org/types/agent.tool.*"] }, INVOKED)).toBe(true);
    expect(typePasses({ exclude: [INVOKED] }, "https://aaep-protocol.org/types/agent.tool.invoked")).toBe(
      false,
    );
  });

  it("agrees with the plain reading of its patterns", () => {
    const plain = (patterns: string[], type: string) =>
      patterns.some((one) => {
        const pattern = one.replace("https://aaep-protocol.org/types/", "aaep:");
        return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
      });
    const types = filterPatternArbitrary
      .map((pattern) => pattern.replace("https://aaep-protocol.org/types/", "aaep:").replace(/\*$/, ""))
      .filter((type) => !type.endsWith("*"));
    fc.assert(
      fc.property(filtersArbitrary, types, ({ include = ["aaep:agent.*"], exclude = [] }, type) => {
        expect(compileFilters({ include, exclude })(type)).toBe(
          plain(include, type) && !plain(exclude, type),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("stays quick with a hundred thousand patterns", () => {
    const include = Array.from({ length: 100_000 }, (_, i) => `x:${i}.*`);
    const passes = compileFilters({ include, exclude: include });

    expect(passes("x:77777.y")).toBe(false);
    expect(filtersNoWider({ include, exclude: include }, { include, exclude: include })).toBe(true);
  });
});

describe("comparing two filters", () => {
  const narrower: [string, object | undefined, object | undefined][] = [
    ["the same", { include: ["a*"], exclude: ["ab*"] }, { include: ["a*"], exclude: ["ab*"] }],
    ["nothing said, the default said", undefined, { include: ["aaep:agent.*"], exclude: [] }],
    ["a longer prefix", {}, { include: ["aaep:agent.tool.*"] }],
    ["an exact type", { include: ["a*"] }, { include: ["abc"] }],
    ["the prefix itself", { include: ["a*"] }, { include: ["a"] }],
    ["nothing at all", {}, { include: [] }],
    ["a wider exclude", { exclude: [PROGRESS] }, { exclude: ["aaep:agent.progress.*"] }],
    ["one more exclude", { exclude: [PROGRESS] }, { exclude: [PROGRESS, INVOKED] }],
    [
      "both spellings",
      { include: [INVOKED] },
      { include: ["https://aaep-protocol.org/types/agent.tool.invoked"] },
    ],
    ["an exclude nothing included reaches", { exclude: [PROGRESS] }, { include: [INVOKED], exclude: [] }],
    ["an include that is excluded again", { include: ["a*"] }, { include: ["a*", "b*"], exclude: ["b*"] }],
  ];
  it.each(narrower)("%s is no wider", (_, requested, honored) => {
    expect(filtersNoWider(requested, honored)).toBe(true);
  });

  const wider: [string, object | undefined, object | undefined][] = [
    ["a shorter prefix", { include: ["aaep:agent.tool.*"] }, { include: ["aaep:agent.*"] }],
    ["everything", undefined, { include: ["*"] }],
    ["another type", { include: ["abc"] }, { include: ["abc", "abd"] }],
    ["a prefix for a type", { include: ["abc"] }, { include: ["abc*"] }],
    ["a missing exclude", { exclude: [PROGRESS] }, {}],
    ["a narrower exclude", { exclude: ["aaep:agent.tool.*"] }, { exclude: [INVOKED] }],
    ["the default where less was asked for", { include: [INVOKED] }, {}],
    ["longer prefixes that look like all of a shorter one", { include: ["a0*", "a1*"] }, { include: ["a*"] }],
    ["part of an excluded area", { include: ["a*"], exclude: ["ab*"] }, { include: ["abc*"] }],
  ];
  it.each(wider)("%s is wider", (_, requested, honored) => {
    expect(filtersNoWider(requested, honored)).toBe(false);
  });

  it("agrees with what passes: no wider is what lets no new type through", () => {
    const stem = (pattern: string) => pattern.replace(/\*$/, "");
    fc.assert(
      fc.property(filtersArbitrary, filtersArbitrary, (requested, honored) => {
        const patterns = [requested, honored].flatMap(({ include = ["aaep:agent.*"], exclude = [] }) => [
          ...include,
          ...exclude,
        ]);
        const types = patterns
          .flatMap((one) => [stem(one), `${stem(one)}~unheard of`])
          .filter((type) => stem(type) === type);
        const leaks = types.some((type) => typePasses(honored, type) && !typePasses(requested, type));

        expect(filtersNoWider(requested, honored)).toBe(!leaks);
        expect(filtersNoWider(requested, requested)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a critical event", () => {
  it("is one of the four types, even without its urgency, or any event that says so (CON-14)", () => {
    expect([...CRITICAL_TYPES].sort()).toEqual([
      "aaep:agent.awaiting.clarification",
      "aaep:agent.awaiting.confirmation",
      "aaep:agent.handoff.requested",
      "aaep:agent.session.errored",
    ]);
    for (const type of CRITICAL_TYPES) expect(isCritical({ type })).toBe(true);
    expect(isCritical({ type: "aaep:agent.session.errored", urgency: "normal" })).toBe(true);
    expect(isCritical({ type: INVOKED, urgency: "critical" })).toBe(true);
    expect(isCritical({ type: INVOKED, urgency: "normal" })).toBe(false);
    expect(isCritical({ type: INVOKED })).toBe(false);
  });
});
