/** Sentences of a catalog filled with content: the frame in the listener's language, content in its own, as runs. */

import type { Catalog, MessageKey } from "../catalogs/catalog.ts";
import { catalogFor } from "../catalogs/index.ts";
import { type Run, run } from "./utterance.ts";

type Slot = string | number | Run | readonly Run[];
type Slots = Readonly<Record<string, Slot>>;

const primary = (tag: string): string => tag.toLowerCase().split("-")[0]!;
const ENDED = /[.!?…。！？؟۔:：]["'”’»）)」』]*\s*$/u;

export class Phrases {
  readonly catalog: Catalog;
  readonly language: string;
  /** False where the listener's first language has no catalog, or no voice for it. */
  readonly fitting: boolean;
  readonly #plural: Intl.PluralRules;
  /** Made once: making one takes longer than saying the sentence. */
  readonly #numbers: Intl.NumberFormat;
  readonly #percents: Intl.NumberFormat;
  readonly #can: (language: string) => boolean;

  constructor(languages: readonly string[], can: (language: string) => boolean) {
    const found = catalogFor(languages, can);
    this.catalog = found.catalog;
    this.language = found.language;
    this.fitting = found.fitting;
    const { language } = this.catalog;
    const numberingSystem = "latn";
    this.#plural = new Intl.PluralRules(language);
    this.#numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 2, numberingSystem });
    this.#percents = new Intl.NumberFormat(language, {
      style: "unit",
      unit: "percent",
      unitDisplay: "long",
      numberingSystem,
      maximumFractionDigits: 0,
    });
    this.#can = can;
  }

  /** Content in its own language; a close relative of the frame's is not worth another voice in mid-sentence. */
  content(text: string, language: string | undefined): Run {
    return run(
      text,
      language !== undefined && primary(language) === primary(this.language) ? this.language : language,
    );
  }

  own(text: string): Run {
    return run(text, this.language);
  }

  speakable(language: string | undefined): boolean {
    return language === undefined || primary(language) === primary(this.language) || this.#can(language);
  }

  say(key: MessageKey, slots: Slots = {}): Run[] {
    const message = this.catalog.messages[key];
    const count = slots["count"];
    const template =
      typeof message === "string"
        ? message
        : (message[typeof count === "number" ? this.#plural.select(count) : "other"] ?? message.other ?? "");
    const runs: Run[] = [];
    let at = 0;
    for (const place of template.matchAll(/\{(\w+)\}/g)) {
      runs.push(this.own(template.slice(at, place.index)));
      const value = slots[place[1]!] ?? "";
      if (typeof value === "string") runs.push(this.own(value));
      else if (typeof value === "number") runs.push(this.own(this.number(value)));
      else if ("text" in value) runs.push(value);
      else runs.push(...value);
      at = place.index + place[0].length;
    }
    let rest = template.slice(at);
    const before = runs.map(({ text }) => text).join("");
    // "Savings.." would be heard as a stumble.
    if (/^[.。]/.test(rest) && /[.!?…。！？؟]["'”’»）)」』]*$/u.test(before.trimEnd())) rest = rest.slice(1);
    runs.push(this.own(rest));
    return merge(runs);
  }

  text(key: MessageKey, slots: Slots = {}): string {
    return this.say(key, slots)
      .map(({ text }) => text)
      .join("");
  }

  number(value: number): string {
    return this.#numbers.format(value);
  }

  percent(value: number): string {
    return this.#percents.format(value);
  }

  /** "1 minute and 30 seconds"; the longer, the rounder. */
  duration(ms: number): string {
    // Nobody needs to hear "4 minutes and 59 seconds".
    const step = ms > 120_000 ? 10 : 1;
    const seconds = Math.max(1, Math.round(ms / 1000 / step) * step);
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const parts: [number, "hour" | "minute" | "second"][] = [
      [hours, "hour"],
      [minutes, "minute"],
      [hours > 0 || minutes >= 10 ? 0 : seconds % 60, "second"],
    ];
    const said = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => this.#unit(amount, unit));
    const { and, language } = this.catalog;
    if (and !== undefined) return said.join(and);
    return new Intl.ListFormat(language, { type: "conjunction", style: "long" }).format(said);
  }

  #unit(amount: number, unit: "hour" | "minute" | "second"): string {
    const own = this.catalog.units?.[unit];
    if (own) return own.replace("{count}", String(amount));
    return new Intl.NumberFormat(this.catalog.language, {
      style: "unit",
      unit,
      unitDisplay: "long",
      numberingSystem: "latn",
    }).format(amount);
  }

  languageName(tag: string): string {
    try {
      return new Intl.DisplayNames(this.catalog.language, { type: "language" }).of(tag) ?? tag;
    } catch {
      return tag;
    }
  }

  /** Sentences one after the other, each closed before the next begins. */
  join(parts: readonly (readonly Run[])[]): Run[] {
    const runs: Run[] = [];
    for (const part of parts) {
      if (part.every(({ text }) => text.trim() === "")) continue;
      const last = runs.at(-1);
      if (last) {
        const gap = /[。！？、」]$/u.test(last.text) ? "" : ENDED.test(last.text) ? " " : ". ";
        runs[runs.length - 1] = { ...last, text: last.text.trimEnd() + gap };
      }
      runs.push(...part);
    }
    return merge(runs);
  }

  /** Text no voice can read is marked as kept, and a word about it is said in its stead. */
  keepUnspeakable(runs: readonly Run[]): { runs: readonly Run[]; languages: string[] } {
    const languages = [
      ...new Set(runs.flatMap(({ language }) => (this.speakable(language) ? [] : [language!]))),
    ];
    if (languages.length === 0) return { runs, languages };
    const marked = runs.flatMap((one): Run[] => {
      if (this.speakable(one.language) || one.text.trim() === "") return [one];
      const instead = this.text("text_in", { language: this.languageName(one.language!) });
      return [
        { ...one, kept: true },
        { ...this.own(` ${instead} `), stand_in: true },
      ];
    });
    return { runs: marked, languages };
  }
}

/** Neighbours in one language are one run: a voice change in mid-sentence is a break in the sentence. */
export function merge(runs: readonly Run[]): Run[] {
  const merged: Run[] = [];
  for (const one of runs) {
    if (one.text === "") continue;
    const last = merged.at(-1);
    // Blanks and full stops have no language of their own.
    const neutral = !/[\p{L}\p{N}]/u.test(one.text);
    if (last && (neutral || (last.language === one.language && last.direction === one.direction)))
      merged[merged.length - 1] = { ...last, text: last.text + one.text };
    else merged.push(one);
  }
  return merged;
}
