import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { languageTagArbitrary } from "../../test/support/capabilities.ts";
import { isMessage } from "../protocol/parse.ts";
import { CORE_CONTEXT } from "../protocol/types.ts";
import {
  directionOf,
  localizationHints,
  matchLanguage,
  pickVariant,
  resolveLanguage,
  scriptOf,
  VARIANT_BASES,
  type VariantBase,
  variantSuffix,
} from "./language.ts";

const tags = (text: string) => text.split(" ").filter((tag) => tag !== "");

// requested, available, what comes ("-" is nothing)
const TABLE: [string, string, string][] = [
  // exact, in any case
  ["en-US", "en-GB en-US", "en-US"],
  ["EN-us", "en-GB en-US", "en-US"],
  ["zh-hant-tw", "zh-Hant-TW", "zh-Hant-TW"],
  ["en", "en-US en", "en"],
  ["x-whale", "en x-whale", "x-whale"],
  ["i-klingon", "en i-klingon", "i-klingon"],
  // drop the region, the script, the variant, the extension (RFC 4647, 3.4)
  ["en-US", "de en", "en"],
  ["yo-NG", "en-US yo", "yo"],
  ["de-CH-1996", "de de-CH", "de-CH"],
  ["zh-Hant-CN-x-private1-private2", "zh zh-Hant", "zh-Hant"],
  ["de-DE-u-co-phonebk", "fr de", "de"],
  ["sr-Latn-RS", "sr sr-Latn", "sr-Latn"],
  ["pt-BR", "pt-PT pt", "pt"],
  // a bare language takes any region, the likely one first
  ["en", "en-US", "en-US"],
  ["en", "en-GB en-US", "en-US"],
  ["en", "en-GB en-AU", "en-GB"],
  ["pt", "pt-PT pt-BR", "pt-BR"],
  ["yo", "en-US yo-NG", "yo-NG"],
  ["zh-Hant", "zh-CN zh-HK zh-TW", "zh-TW"],
  ["sr-Latn", "sr-Cyrl-RS sr-Latn-RS", "sr-Latn-RS"],
  ["sr-Latn", "sr-RS sr-ME", "sr-ME"],
  ["zh", "zh-TW zh-SG", "zh-SG"],
  // scripts never mix
  ["zh-TW", "zh-CN", "-"],
  ["zh-TW", "zh", "-"],
  ["zh-TW", "zh-Hans zh-CN", "-"],
  ["zh-TW", "zh-CN zh-Hant", "zh-Hant"],
  ["zh-TW", "zh-Hant-TW zh-Hant", "zh-Hant-TW"],
  ["zh-Hant-TW", "zh-TW", "zh-TW"],
  ["zh-HK", "zh-CN zh-TW", "zh-TW"],
  ["zh-MO", "zh-TW zh-HK", "zh-HK"],
  ["zh-CN", "zh-TW", "-"],
  ["zh-CN", "zh-TW zh-Hans", "zh-Hans"],
  ["zh", "zh-Hant", "-"],
  ["sr-Latn", "sr-Cyrl", "-"],
  ["sr-Latn", "sr", "-"],
  ["sr", "sr-Latn", "-"],
  ["sr", "sr-Cyrl", "sr-Cyrl"],
  ["pa-PK", "pa-IN", "-"],
  ["az-Arab", "az", "-"],
  // another region, when no tag has a better answer
  ["en-NZ", "en-US en-GB", "en-GB"],
  ["en-NZ", "en-US en-AU", "en-AU"],
  ["en-NZ", "en-AU en-GB", "en-GB"],
  ["en-NZ", "en-GB en-001", "en-001"],
  ["en-NZ", "en-US en-GB en", "en"],
  ["en-NZ", "en-US", "en-US"],
  ["en-NG en-NZ", "en-US en-NZ", "en-NZ"],
  ["en-NZ fr", "en-GB fr-FR", "fr-FR"],
  ["en-PH", "en-GB en-US", "en-US"],
  ["es-MX", "es-ES es-419", "es-419"],
  ["es-MX", "es-ES es-AR", "es-AR"],
  ["es-MX en-US", "en-US es-419", "es-419"],
  ["es-419", "es-ES es-MX", "es-MX"],
  ["es-ES", "es-419 es-GQ", "es-GQ"],
  ["pt-AO", "pt-BR pt-PT", "pt-PT"],
  ["pt-BR", "pt-PT", "pt-PT"],
  ["fr-CA", "fr-BE fr-FR", "fr-FR"],
  ["yo-BJ", "en-US yo-NG", "yo-NG"],
  // the same language under another name
  ["he", "iw", "iw"],
  ["he", "iw he", "he"],
  ["iw-IL", "en he", "he"],
  ["cmn-Hans", "zh-CN", "zh-CN"],
  ["zh-cmn-Hans", "zh-TW zh-CN", "zh-CN"],
  ["zh-yue", "zh-CN yue-HK", "yue-HK"],
  ["nb-NO", "da no", "no"],
  ["no", "nn nb", "nb"],
  ["nn", "nb", "nb"],
  ["nb", "sv da", "-"],
  // the next tag, and nothing at all
  ["ha yo en", "en-US yo-NG", "yo-NG"],
  ["ha", "en-US", "-"],
  ["", "en-US", "-"],
  ["en", "", "-"],
  ["und", "en", "-"],
  ["xx-NG", "xx", "xx"],
  ["en-toolongasubtag", "fr en", "en"],
  ["a en--US", "en", "en"],
];

describe("matching languages (I18N-04, I18N-05, CON-33)", () => {
  it.each(TABLE)("asking for %s where there is %s gives %s", (requested, available, expected) => {
    expect(matchLanguage(tags(requested), tags(available))?.available ?? "-").toBe(expected);
  });

  it("has the steps in their order: exact, fewer subtags, next tag, sibling region, fallback chain, primary", () => {
    const offered = { primary: "sw", fallback_chain: ["ff", "am"] };
    const resolve = (...available: string[]) => resolveLanguage(["en-NZ", "fr"], { available, ...offered });

    expect(resolve("sw", "am", "en-GB", "fr-FR", "en", "en-NZ")).toBe("en-NZ");
    expect(resolve("sw", "am", "en-GB", "fr-FR", "en")).toBe("en");
    expect(resolve("sw", "am", "en-GB", "fr-FR")).toBe("fr-FR");
    expect(resolve("sw", "am", "en-GB")).toBe("en-GB");
    expect(resolve("sw", "am")).toBe("am");
    expect(resolve("sw")).toBe("sw");
  });

  it("says which of the requested tags was answered", () => {
    expect(matchLanguage(["ha", "en"], ["en-US"])).toEqual({ requested: "en", available: "en-US" });
  });

  it("always yields a language, even when nothing matches (I18N-06)", () => {
    expect(resolveLanguage(["ha"], { available: [], primary: "yo" })).toBe("yo");
    expect(resolveLanguage([], { available: ["en"], primary: "yo", fallback_chain: ["xx"] })).toBe("yo");
    expect(resolveLanguage(["yo-NG"], { available: ["en"], primary: "yo" })).toBe("yo");
    fc.assert(
      fc.property(
        fc.array(languageTagArbitrary),
        fc.array(languageTagArbitrary),
        languageTagArbitrary,
        fc.array(languageTagArbitrary),
        (requested, available, primary, fallback_chain) => {
          expect([...available, primary]).toContain(
            resolveLanguage(requested, { available, primary, fallback_chain }),
          );
        },
      ),
    );
  });

  it("answers only with an available tag in the script of the requested one", () => {
    fc.assert(
      fc.property(fc.array(languageTagArbitrary), fc.array(languageTagArbitrary), (requested, available) => {
        const match = matchLanguage(requested, available);
        if (!match) return;
        expect(requested).toContain(match.requested);
        expect(available).toContain(match.available);
        expect(scriptOf(match.available)).toBe(scriptOf(match.requested));
      }),
      { numRuns: 1000 },
    );
  });

  it("prefers an exact match to anything else", () => {
    fc.assert(
      fc.property(languageTagArbitrary, fc.array(languageTagArbitrary), (tag, others) => {
        expect(matchLanguage([tag.toUpperCase()], [...others, tag])?.available.toLowerCase()).toBe(
          tag.toLowerCase(),
        );
      }),
    );
  });

  it("survives tags that are none, and tags of any length", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (requested, available) => {
        matchLanguage([requested], [available]);
        directionOf(requested);
        localizationHints(requested, [available]);
      }),
    );
    const endless = "a-b".repeat(300_000);
    expect(matchLanguage([endless, "en"], [endless, `${endless}-c`, "en"])?.available).toBe("en");
  });
});

describe("script and direction (CON-34)", () => {
  it.each([
    ["ar", "Arab", "rtl"],
    ["fa-IR", "Arab", "rtl"],
    ["ur", "Arab", "rtl"],
    ["ckb", "Arab", "rtl"],
    ["pa-PK", "Arab", "rtl"],
    ["ha-Arab", "Arab", "rtl"],
    ["iw", "Hebr", "rtl"],
    ["yi", "Hebr", "rtl"],
    ["syr", "Syrc", "rtl"],
    ["dv", "Thaa", "rtl"],
    ["nqo", "Nkoo", "rtl"],
    ["ff-Adlm", "Adlm", "rtl"],
    ["rhg", "Rohg", "rtl"],
    ["mid", "Mand", "rtl"],
    ["sam", "Samr", "rtl"],
    ["ff", "Latn", "ltr"],
    ["ar-Latn", "Latn", "ltr"],
    ["zh-TW", "Hant", "ltr"],
    ["sr", "Cyrl", "ltr"],
    ["und-Hebr", "Hebr", "rtl"],
    ["und", undefined, "ltr"],
    ["x-whale", undefined, "ltr"],
    ["", undefined, "ltr"],
  ] as const)("%s is written in %s, %s", (tag, script, direction) => {
    expect(scriptOf(tag)).toBe(script);
    expect(directionOf(tag)).toBe(direction);
  });
});

describe("localization hints (CON-32)", () => {
  const valid = (localization_hints: unknown) =>
    isMessage("aaep:agent.session.started", {
      "@context": CORE_CONTEXT,
      type: "aaep:agent.session.started",
      event_id: "evt_1",
      session_id: "sess_1",
      timestamp: "2026-01-01T00:00:00.000Z",
      producer: { agent_id: "a" },
      summary_normal: "Hello.",
      localization_hints,
    });

  it("say language and direction, and no more than is known", () => {
    expect(localizationHints("ar-EG")).toEqual({ primary_language: "ar-EG", text_direction: "rtl" });
    expect(localizationHints("yo-NG", ["yo-NG", "en", "en"], ["en"])).toEqual({
      primary_language: "yo-NG",
      text_direction: "ltr",
      available_languages: ["yo-NG", "en"],
      fallback_chain: ["en"],
    });
    expect(localizationHints("xx")).toEqual({ primary_language: "xx", text_direction: "auto" });
  });

  it("carry BCP 47 tags only, whatever they are given (I18N-02)", () => {
    expect(localizationHints("english, please", ["not a tag", "fr"])).toEqual({
      primary_language: "und",
      text_direction: "auto",
      available_languages: ["fr"],
    });
    const anything = fc.oneof(languageTagArbitrary, fc.string());
    fc.assert(
      fc.property(
        anything,
        fc.array(anything, { maxLength: 40 }),
        fc.array(anything),
        (tag, available, chain) => {
          expect(valid(localizationHints(tag, available, chain))).toBe(true);
        },
      ),
    );
    const many = Array.from({ length: 50 }, (_, i) => `en-x-${i}`);
    expect(valid(localizationHints("en", many, many))).toBe(true);
  });
});

describe("language variants of a text (CON-08)", () => {
  const event = {
    localization_hints: { primary_language: "en-US" },
    summary_normal: "Hello.",
    summary_normal_yo: "Bawo.",
    summary_normal_yo_ng: "Bawo ni.",
    Summary_Normal_FR: "Bonjour.",
    summary_normal_zh_hant: "你好（繁）",
    summary_normal_: "no tag",
    summary_normal_de: 5,
    event_id: "evt_1",
    duration_ms: "Malay?",
  };
  const pick = (...languages: string[]) => pickVariant(event, "summary_normal", languages);

  it("are written with the tag in lower case and underscores", () => {
    expect(variantSuffix("yo-NG")).toBe("yo_ng");
    expect(variantSuffix("zh-Hant-TW")).toBe("zh_hant_tw");
  });

  it("are read in any case, the longest tag that fits first", () => {
    expect(pick("yo-NG")).toEqual({ text: "Bawo ni.", language: "yo-ng" });
    expect(pick("yo-BJ")).toEqual({ text: "Bawo.", language: "yo" });
    expect(pick("fr-CA")?.text).toBe("Bonjour.");
    expect(pick("zh-TW")?.text).toBe("你好（繁）");
  });

  it("give way to the text itself where that is the language asked for, or nothing fits", () => {
    expect(pick("en-GB", "yo")).toEqual({ text: "Bawo.", language: "yo" });
    expect(pick("en", "yo")).toEqual({ text: "Hello.", language: "en-US" });
    expect(pick("en-GB")).toEqual({ text: "Hello.", language: "en-US" });
    expect(pick("zh-CN")).toEqual({ text: "Hello.", language: "en-US" });
    expect(pick("de")).toEqual({ text: "Hello.", language: "en-US" });
    expect(pick()).toEqual({ text: "Hello.", language: "en-US" });
  });

  it("serve an event that does not name its language", () => {
    const unnamed = { action: "Send.", action_fr: "Envoyer." };
    expect(pickVariant(unnamed, "action", ["fr"])).toEqual({ text: "Envoyer.", language: "fr" });
    expect(pickVariant(unnamed, "action", ["en"])).toEqual({ text: "Send.", language: undefined });
    expect(pickVariant({ action_fr: "Envoyer." }, "action", ["en"])).toBeUndefined();
  });

  it("exist for thirteen fields and for nothing that merely ends like a language", () => {
    expect(VARIANT_BASES).toHaveLength(13);
    expect(pickVariant(event, "event" as VariantBase, ["id"])).toBeUndefined();
    expect(pickVariant(event, "duration" as VariantBase, ["ms"])).toBeUndefined();
    expect(pickVariant({}, "constructor" as VariantBase, ["en"])).toBeUndefined();
  });
});
