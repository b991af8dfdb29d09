// Catalogs: every language has every sentence, in every plural form it needs, with every slot.
import { describe, expect, it } from "vitest";
import { Phrases } from "../../src/subscriber/announcer/phrases.ts";
import { CATALOGS, catalogFor } from "../../src/subscriber/announcer.ts";
import { MESSAGE_KEYS, type Message } from "../../src/subscriber/catalogs/catalog.ts";
import { en } from "../../src/subscriber/catalogs/en.ts";
import { eventsOf, TestListener } from "./support.ts";

const forms = (message: Message): [string, string][] =>
  typeof message === "string" ? [["", message]] : (Object.entries(message) as [string, string][]);
const places = (text: string) => new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!));

describe.each(CATALOGS.map((catalog) => [catalog.language, catalog] as const))(
  "the words in %s",
  (language, catalog) => {
    it("are all there, and no others", () => {
      expect(Object.keys(catalog.messages).sort()).toEqual([...MESSAGE_KEYS].sort());
    });

    it("have every plural form their language needs", () => {
      const wanted = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      for (const key of MESSAGE_KEYS) {
        const message = catalog.messages[key];
        expect(typeof message, key).toBe(typeof en.messages[key]);
        if (typeof message !== "string") expect(Object.keys(message).sort(), key).toEqual([...wanted].sort());
      }
    });

    it("fill the places the English has; only a number may be in words", () => {
      for (const key of MESSAGE_KEYS) {
        const wanted = new Set(forms(en.messages[key]).flatMap(([, text]) => [...places(text)]));
        for (const [form, text] of forms(catalog.messages[key])) {
          expect(text.trim(), `${key} ${form}`).not.toBe("");
          const given = places(text);
          const lacking = [...wanted].filter((name) => !given.has(name) && name !== "count");
          expect([...lacking, ...[...given].filter((name) => !wanted.has(name))], `${key} ${form}`).toEqual(
            [],
          );
          if (form === "other" && wanted.has("count")) expect(given, key).toContain("count");
        }
      }
    });

    it("tell answers apart: no word means two things", () => {
      const words = MESSAGE_KEYS.filter((key) => key.startsWith("word_")).map((key) =>
        String(catalog.messages[key]),
      );
      expect(new Set(words).size).toBe(words.length);
    });

    it("begin and end a quotation with one and the same word, so that no other can pass for its end (A07)", () => {
      const longest = (text: string) =>
        (text.match(/[\p{L}\p{M}]+/gu) ?? []).sort((a, b) => b.length - a.length)[0]!.toLowerCase();
      const word = longest(String(catalog.messages.quote).replace("{text}", ""));
      const [before, after] = String(catalog.messages.quoted).toLowerCase().split("{text}");
      expect(before).toContain(word);
      expect(after).toContain(word);
    });

    it("say times in words, and let endings be told apart (SUB-03)", () => {
      const phrases = new Phrases([language], () => true);
      expect(phrases.duration(90_000)).toMatch(/30/u);
      expect(phrases.duration(90_000)).not.toMatch(/\b(?:s|min|sec)\b/u);
      const endings = ["completed", "errored", "cancelled_user", "cancelled_system"] as const;
      expect(new Set(endings.map((key) => phrases.text(key, { summary: "x" }))).size).toBe(endings.length);
    });
  },
);

describe("a language", () => {
  it("without a native speaker's review is marked as such", () => {
    expect(CATALOGS.filter(({ status }) => status !== "full").map(({ language }) => language)).toEqual([
      "yo",
      "ha",
      "ig",
      "sw",
    ]);
  });

  it("nobody has translated yet is answered in English, marked as English, and said so once (I18N-06)", () => {
    expect(catalogFor(["de-DE"]).language).toBe("en");
    const event = eventsOf("de");
    const listener = new TestListener({ languages: ["de-DE"] });
    listener.hear(
      event("session.started", { summary_normal: "Die Miete wird bezahlt." }),
      event("session.completed", { summary_normal: "Fertig." }),
    );
    expect(listener.texts).toEqual([
      "I have no words of my own in German (Germany) yet, so I use English.",
      "Started: Die Miete wird bezahlt.",
      "Done: Fertig.",
    ]);
    expect(listener.said[1]!.utterance.runs.map(({ language }) => language)).toEqual(["en", "de"]);
  });

  it("is matched by its region or without it (I18N-04)", () => {
    expect(catalogFor(["pt-BR"])).toMatchObject({ language: "pt-BR", fitting: true });
    expect(catalogFor(["es-MX", "en"]).catalog.language).toBe("es");
  });

  it("with no voice is kept, said once, and never read by a wrong voice (I18N-06)", () => {
    const event = eventsOf("yo");
    const listener = new TestListener({ languages: ["en"], can: (language) => !language.startsWith("yo") });
    listener.hear(
      event("session.started", { summary_normal: "Mo ń san owó ilé." }),
      event("session.completed", { summary_normal: "Ó ti parí." }),
    );
    expect(listener.texts).toEqual([
      "There is no voice for Yoruba. Text in it is kept, not read aloud.",
      "Started: Mo ń san owó ilé.",
      "Done: Ó ti parí.",
    ]);
    const [, started] = listener.said;
    expect(started!.utterance.runs.filter(({ kept }) => !kept).map(({ text }) => text.trim())).toEqual([
      "Started:",
      "Text in Yoruba.",
    ]);
  });
});
